package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// reader is a pool of connections that cannot write.
type reader struct {
	db *sql.DB

	mu         sync.Mutex // guards statements
	statements map[string]*sql.Stmt
}

func newReader(db *sql.DB) *reader { return &reader{db: db, statements: map[string]*sql.Stmt{}} }

func (r *reader) close() error { return r.db.Close() }

// maxStatements bounds what is kept for the mixes of filters that people ask for.
const maxStatements = 512

// prepare returns the statement that is kept for a text, nil if there are too
// many of them.
func (r *reader) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.statements[query]; ok {
		return s, nil
	}
	if len(r.statements) >= maxStatements {
		return nil, nil
	}
	s, err := r.db.PrepareContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", query, err)
	}
	r.statements[query] = s
	return s, nil
}

// view is one owner's snapshot of the database: everything read through it was
// there at the same moment.
type view struct {
	ctx   context.Context
	r     *reader
	tx    *sql.Tx
	owner memory.Owner
}

// see calls with with a snapshot.
func (r *reader) see(ctx context.Context, owner memory.Owner, with func(*view) error) error {
	if err := checkOwner(owner); err != nil {
		return err
	}
	t, err := r.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin to read: %w", err)
	}
	defer t.Rollback() //nolint:errcheck // it only read
	return with(&view{ctx: ctx, r: r, tx: t, owner: owner})
}

// query runs a statement whose first argument is the owner. Statements are kept,
// so values belong into args: what is left are few texts.
func (v *view) query(query string, args ...any) (*sql.Rows, error) {
	args = append([]any{string(v.owner)}, args...)
	s, err := v.r.prepare(v.ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return v.tx.QueryContext(v.ctx, query, args...)
	}
	return v.tx.StmtContext(v.ctx, s).QueryContext(v.ctx, args...)
}

// collect reads rows to their end.
func collect[T any](rows *sql.Rows, err error, scan func(scanner) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}
