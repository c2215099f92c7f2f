package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/internal/retry"
	"github.com/loci-memory/loci/memory"
)

// reader is a pool of read-only connections. With SQLite each connection has its own prepared
// statements: a statement prepared through sql.DB may need a second connection while the first is in
// use, which can deadlock.
type reader struct {
	db         *sql.DB
	translator *translator
	damage     *damage       // nil with PostgreSQL
	log        *slog.Logger  // receives failures of the server; nil disables it
	tokens     chan struct{} // contains one token for each free connection
	closed     chan struct{} // closed by close

	mu           sync.Mutex // guards free
	freeSessions []*session // most recently used last; the last session is used next, since its pages are cached
}

// newReader returns a reader with at most maxConns connections.
func newReader(db *sql.DB, maxConns int, sqlTranslator *translator) *reader {
	db.SetMaxOpenConns(maxConns)
	db.SetMaxIdleConns(maxConns)
	r := &reader{db: db, translator: sqlTranslator, tokens: make(chan struct{}, maxConns), closed: make(chan struct{})}
	for range maxConns {
		r.putBackSession(&session{translator: sqlTranslator})
	}
	return r
}

// retryRead calls do. After a lost connection to a server it calls do again, if do returned mayRepeat.
func (r *reader) retryRead(ctx context.Context, do func() (mayRepeat bool, err error)) error {
	if r.translator == nil {
		_, err := do()
		return r.damage.recordError(err)
	}
	return hideDetails(r.log, withRetries(ctx, retry.Patience(ctx), do))
}

// poolUsage returns the number of connections in use, and their maximum.
func (r *reader) poolUsage(name string) obs.Pool {
	return obs.Pool{Name: name, Busy: cap(r.tokens) - len(r.tokens), Size: cap(r.tokens)}
}

// close waits for the reads in progress and closes the connections. It must be called only once.
func (r *reader) close() error {
	close(r.closed)
	for range cap(r.tokens) {
		<-r.tokens
		r.acquireSession().closeConn()
	}
	return r.db.Close()
}

// acquireSession returns a free session. The caller must have received a token from r.tokens.
func (r *reader) acquireSession() *session {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.freeSessions) - 1
	c := r.freeSessions[last]
	r.freeSessions = r.freeSessions[:last]
	return c
}

func (r *reader) putBackSession(c *session) {
	r.mu.Lock()
	r.freeSessions = append(r.freeSessions, c)
	r.mu.Unlock()
	r.tokens <- struct{}{}
}

// view reads one owner's data through a session. Only one goroutine may use it.
type view struct {
	ctx        context.Context
	session    *session
	owner      memory.Owner
	hasYielded *bool // true if the caller has received results, so that the read must not be repeated
}

// withSnapshot calls do with a view in a transaction. It waits for a free connection, so a do that calls
// withSnapshot or withConnection could deadlock. It may repeat do, like withConnection.
func (r *reader) withSnapshot(ctx context.Context, owner memory.Owner, do func(*view) error) error {
	return r.withConnection(ctx, owner, func(v *view) error {
		if _, err := v.session.exec(ctx, "BEGIN"); err != nil {
			v.session.closeConn()
			return fmt.Errorf("begin to read: %w", err)
		}
		defer v.session.rollback(ctx)
		return do(v)
	})
}

// withConnection is withSnapshot without a transaction, for a single statement. It repeats do after a
// lost connection to a server, so do must clear earlier results.
func (r *reader) withConnection(ctx context.Context, owner memory.Owner, do func(*view) error) error {
	if err := errors.Join(checkOwner(owner), ctx.Err()); err != nil {
		return err
	}
	hasYielded := false
	return r.retryRead(ctx, func() (bool, error) {
		err := r.readOnce(ctx, owner, &hasYielded, do)
		return !hasYielded, err
	})
}

func (r *reader) readOnce(ctx context.Context, owner memory.Owner, hasYielded *bool, do func(*view) error) error {
	select {
	case <-r.tokens:
	case <-r.closed:
		return memory.Errorf(memory.Unavailable, "the store is closed")
	case <-ctx.Done():
		return ctx.Err()
	}
	c := r.acquireSession()
	defer r.putBackSession(c)
	if c.conn == nil {
		conn, err := r.db.Conn(ctx)
		if err != nil {
			return fmt.Errorf("open a connection to read: %w", err)
		}
		c.conn, c.prepared = conn, map[string]*sql.Stmt{}
	}
	if r.translator != nil {
		defer c.release()
	}
	err := do(&view{ctx: ctx, session: c, owner: owner, hasYielded: hasYielded})
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		c.closeConn()
	}
	return err
}

// queryOwner reads the rows of one query whose first argument is the owner.
func queryOwner[T any](ctx context.Context, r *reader, owner memory.Owner, query string, args []any, scan func(scanner) (T, error)) (results []T, err error) {
	err = r.withConnection(ctx, owner, func(v *view) (err error) {
		rows, err := v.query(query, args...)
		results, err = collect(rows, err, scan)
		return err
	})
	return results, err
}

// queryAll is queryOwner for a query about all owners: args are its only arguments.
func queryAll[T any](ctx context.Context, r *reader, query string, args []any, scan func(scanner) (T, error)) (results []T, err error) {
	err = r.retryRead(ctx, func() (bool, error) {
		return true, r.readOnce(ctx, "", new(bool), func(v *view) (err error) {
			rows, err := v.session.query(ctx, query, args...)
			results, err = collect(rows, err, scan)
			return err
		})
	})
	return results, err
}

// queryOne returns the only value of a query's only row, or the zero value if there is no row.
func queryOne[T any](ctx context.Context, r *reader, query string, args ...any) (value T, err error) {
	_, err = queryAll(ctx, r, query, args, func(row scanner) (struct{}, error) { return struct{}{}, row.Scan(&value) })
	return value, err
}

// withoutCancel returns a view that ignores the end of its context, for short reads: with SQLite, watching
// the context would take longer than the read.
func (v *view) withoutCancel() *view {
	if v.session.translator != nil { // a server's driver watches ctx at no cost
		return v
	}
	brief := *v
	brief.ctx = context.WithoutCancel(v.ctx)
	return &brief
}

// query runs a statement whose first argument is the owner. Statements are cached by their text, so
// pass values as args.
func (v *view) query(query string, args ...any) (rows, error) {
	return v.session.query(v.ctx, query, append([]any{string(v.owner)}, args...)...)
}

// forceCustomPlan makes PostgreSQL plan each statement of the transaction for the statement's values. A
// cached plan, made for owners with little data, would read and sort all rows of a large owner for each
// page.
const forceCustomPlan = `SELECT set_config('plan_cache_mode', 'force_custom_plan', true)`

// runPageBatch runs queries for one page of a long list: see forceCustomPlan.
func (v *view) runPageBatch(statements ...statement) error {
	if v.session.translator != nil {
		statements = append([]statement{newExecStatement(forceCustomPlan)}, statements...)
	}
	return v.session.runBatch(v.ctx, statements...)
}
