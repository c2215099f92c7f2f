package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// reader is a pool of connections that cannot write. Each keeps its own
// statements: one prepared through the pool would want a second connection while
// it holds the first, and enough of those at once wait for each other for ever.
type reader struct {
	db     *sql.DB
	tokens chan struct{} // one for each free connection
	closed chan struct{} // closed by close

	mu   sync.Mutex  // guards what follows
	free []*readConn // the last used last: its pages are at hand
}

// readConn is a connection with the statements it keeps. Its conn is nil until it
// is used, and again after it broke.
type readConn struct {
	conn *sql.Conn
	kept map[string]*sql.Stmt
}

// apart is how many connections are left for questions that need no snapshot.
const apart = 2

// newReader returns a reader of so many snapshots at a time.
func newReader(db *sql.DB, conns int) *reader {
	db.SetMaxOpenConns(conns + apart)
	db.SetMaxIdleConns(conns + apart)
	r := &reader{db: db, tokens: make(chan struct{}, conns), closed: make(chan struct{})}
	for range conns {
		r.give(&readConn{})
	}
	return r
}

// close waits for the snapshots under way. It is called once.
func (r *reader) close() error {
	close(r.closed)
	for range cap(r.tokens) {
		<-r.tokens
		r.take().drop()
	}
	return r.db.Close()
}

// take takes a free connection, for which the caller has a token.
func (r *reader) take() *readConn {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.free) - 1
	c := r.free[last]
	r.free = r.free[:last]
	return c
}

func (r *reader) give(c *readConn) {
	r.mu.Lock()
	r.free = append(r.free, c)
	r.mu.Unlock()
	r.tokens <- struct{}{}
}

// maxStatements bounds what a connection keeps for the mixes of filters that
// people ask for.
const maxStatements = 256

// statement returns the statement that is kept for a text, making it if need be;
// keep is false if there are too many and the caller must close it.
func (c *readConn) statement(ctx context.Context, query string) (s *sql.Stmt, keep bool, err error) {
	if s, ok := c.kept[query]; ok {
		return s, true, nil
	}
	if s, err = c.conn.PrepareContext(ctx, query); err != nil {
		return nil, false, fmt.Errorf("prepare %q: %w", query, err)
	}
	if len(c.kept) >= maxStatements {
		return s, false, nil
	}
	c.kept[query] = s
	return s, true, nil
}

func (c *readConn) exec(ctx context.Context, query string) error {
	s, _, err := c.statement(ctx, query)
	if err == nil {
		_, err = s.ExecContext(ctx)
	}
	return err
}

// drop gives up the connection; the next use opens another.
func (c *readConn) drop() {
	if c.conn == nil {
		return
	}
	_ = c.conn.Raw(func(any) error { return driver.ErrBadConn }) // the pool forgets it
	_ = c.conn.Close()
	c.conn, c.kept = nil, nil
}

// view is one owner's snapshot of the database: everything read through it was
// there at the same moment. It is for one goroutine.
type view struct {
	ctx   context.Context
	conn  *readConn
	owner memory.Owner
}

// see calls with with a snapshot. It waits for a free connection, so with must not
// ask for another snapshot.
func (r *reader) see(ctx context.Context, owner memory.Owner, with func(*view) error) error {
	return r.look(ctx, owner, func(v *view) error {
		if err := v.conn.exec(ctx, "BEGIN"); err != nil {
			v.conn.drop()
			return fmt.Errorf("begin to read: %w", err)
		}
		defer func() {
			if v.conn.exec(context.WithoutCancel(ctx), "ROLLBACK") != nil {
				v.conn.drop()
			}
		}()
		return with(v)
	})
}

// look is see for who asks a single question: what one statement reads was there
// at the same moment anyway.
func (r *reader) look(ctx context.Context, owner memory.Owner, with func(*view) error) error {
	if err := errors.Join(checkOwner(owner), ctx.Err()); err != nil {
		return err
	}
	select {
	case <-r.tokens:
	case <-r.closed:
		return memory.Errorf(memory.Unavailable, "the store is closed")
	case <-ctx.Done():
		return ctx.Err()
	}
	c := r.take()
	defer r.give(c)
	if c.conn == nil {
		conn, err := r.db.Conn(ctx)
		if err != nil {
			return fmt.Errorf("open a connection to read: %w", err)
		}
		c.conn, c.kept = conn, map[string]*sql.Stmt{}
	}
	err := with(&view{ctx: ctx, conn: c, owner: owner})
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		c.drop()
	}
	return err
}

// brief is the view for what reads few rows by an index: to watch for the end of
// ctx would take longer.
func (v *view) brief() *view {
	return &view{ctx: context.WithoutCancel(v.ctx), conn: v.conn, owner: v.owner}
}

// query runs a statement whose first argument is the owner. Statements are kept,
// so values belong into args: what is left are few texts.
func (v *view) query(query string, args ...any) (*sql.Rows, error) {
	args = append([]any{string(v.owner)}, args...)
	s, kept, err := v.conn.statement(v.ctx, query)
	if err != nil {
		return nil, err
	}
	if !kept {
		defer s.Close() //nolint:errcheck // its rows hold what they need until they are closed
	}
	return s.QueryContext(v.ctx, args...)
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
