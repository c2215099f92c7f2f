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
	db     *sql.DB
	into   *translator
	damage *damage       // nil with PostgreSQL
	log    *slog.Logger  // receives failures of the server; nil disables it
	tokens chan struct{} // contains one token for each free connection
	closed chan struct{} // closed by close

	mu   sync.Mutex // guards free
	free []*session // most recently used last; that session is used next, since its pages are cached
}

// newReader returns a reader with at most maxConns connections.
func newReader(db *sql.DB, conns int, into *translator) *reader {
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	r := &reader{db: db, into: into, tokens: make(chan struct{}, conns), closed: make(chan struct{})}
	for range conns {
		r.give(&session{into: into})
	}
	return r
}

// retryRead calls do. It repeats do after a lost connection to a server, if do allows it.
func (r *reader) again(ctx context.Context, with func() (again bool, err error)) error {
	if r.into == nil {
		_, err := with()
		return r.damage.note(err)
	}
	return withhold(r.log, persist(ctx, retry.Patience(ctx), with))
}

// poolUsage returns how many connections are in use.
func (r *reader) pool(name string) obs.Pool {
	return obs.Pool{Name: name, Busy: cap(r.tokens) - len(r.tokens), Size: cap(r.tokens)}
}

// close waits for the snapshots in progress. It must be called once.
func (r *reader) close() error {
	close(r.closed)
	for range cap(r.tokens) {
		<-r.tokens
		r.acquire().drop()
	}
	return r.db.Close()
}

// acquire returns a free connection. The caller must hold a token.
func (r *reader) acquire() *session {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.free) - 1
	c := r.free[last]
	r.free = r.free[:last]
	return c
}

func (r *reader) give(c *session) {
	r.mu.Lock()
	r.free = append(r.free, c)
	r.mu.Unlock()
	r.tokens <- struct{}{}
}

// view is one owner's snapshot of the database, for one goroutine.
type view struct {
	ctx     context.Context
	conn    *session
	owner   memory.Owner
	yielded *bool // set when the caller received results, after which the read must not be repeated
}

// withSnapshot calls do with a view in a transaction. It waits for a free connection, so do must not
// call withSnapshot or withConnection. It may repeat do, like withConnection.
func (r *reader) see(ctx context.Context, owner memory.Owner, with func(*view) error) error {
	return r.look(ctx, owner, func(v *view) error {
		if _, err := v.conn.exec(ctx, "BEGIN"); err != nil {
			v.conn.drop()
			return fmt.Errorf("begin to read: %w", err)
		}
		defer v.conn.rollback(ctx)
		return with(v)
	})
}

// withConnection is withSnapshot without a transaction, for a single statement. It repeats do after a
// lost connection to a server, so do must clear earlier results.
func (r *reader) look(ctx context.Context, owner memory.Owner, with func(*view) error) error {
	if err := errors.Join(checkOwner(owner), ctx.Err()); err != nil {
		return err
	}
	yielded := false
	return r.again(ctx, func() (bool, error) {
		err := r.once(ctx, owner, &yielded, with)
		return !yielded, err
	})
}

func (r *reader) once(ctx context.Context, owner memory.Owner, yielded *bool, with func(*view) error) error {
	select {
	case <-r.tokens:
	case <-r.closed:
		return memory.Errorf(memory.Unavailable, "the store is closed")
	case <-ctx.Done():
		return ctx.Err()
	}
	c := r.acquire()
	defer r.give(c)
	if c.conn == nil {
		conn, err := r.db.Conn(ctx)
		if err != nil {
			return fmt.Errorf("open a connection to read: %w", err)
		}
		c.conn, c.kept = conn, map[string]*sql.Stmt{}
	}
	if r.into != nil {
		defer c.release()
	}
	err := with(&view{ctx: ctx, conn: c, owner: owner, yielded: yielded})
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		c.drop()
	}
	return err
}

// queryOwner reads the rows of one query whose first argument is the owner.
func queryOwner[T any](ctx context.Context, r *reader, owner memory.Owner, query string, args []any, scan func(scanner) (T, error)) (all []T, err error) {
	err = r.look(ctx, owner, func(v *view) (err error) {
		rows, err := v.query(query, args...)
		all, err = collect(rows, err, scan)
		return err
	})
	return all, err
}

// queryAll is queryOwner for a query without the owner as its first argument.
func queryAll[T any](ctx context.Context, r *reader, query string, args []any, scan func(scanner) (T, error)) (all []T, err error) {
	err = r.again(ctx, func() (bool, error) {
		return true, r.once(ctx, "", new(bool), func(v *view) (err error) {
			rows, err := v.conn.query(ctx, query, args...)
			all, err = collect(rows, err, scan)
			return err
		})
	})
	return all, err
}

// queryOne returns the only value of a query's only row, or the zero value if there is no row.
func queryOne[T any](ctx context.Context, r *reader, query string, args ...any) (value T, err error) {
	_, err = queryAll(ctx, r, query, args, func(row scanner) (struct{}, error) { return struct{}{}, row.Scan(&value) })
	return value, err
}

// withoutCancel returns a view for short reads, which ignores the end of ctx: with SQLite, watching
// ctx would take longer than the read.
func (v *view) brief() *view {
	if v.conn.into != nil { // a server's driver watches ctx at no cost
		return v
	}
	brief := *v
	brief.ctx = context.WithoutCancel(v.ctx)
	return &brief
}

// query runs a statement whose first argument is the owner. Statements are cached by their text, so
// pass values as args.
func (v *view) query(query string, args ...any) (rows, error) {
	return v.conn.query(v.ctx, query, append([]any{string(v.owner)}, args...)...)
}

// forceCustomPlan makes a server plan each statement of the transaction for its actual values. A
// cached plan, made for owners with little data, would read and sort all of a large owner's rows
// for each page.
const pageByPage = `SELECT set_config('plan_cache_mode', 'force_custom_plan', true)`

// runPageBatch runs queries for one page of long lists.
func (v *view) askPage(asks ...ask) error {
	if v.conn.into != nil {
		asks = append([]ask{say(pageByPage)}, asks...)
	}
	return v.conn.ask(v.ctx, asks...)
}
