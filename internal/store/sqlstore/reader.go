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

// reader is a pool of read-only connections. With SQLite each connection keeps its own prepared
// statements: a statement prepared through the pool would need a second connection while it holds
// the first, which can deadlock.
type reader struct {
	db     *sql.DB
	into   *translator
	damage *damage       // set for a file
	log    *slog.Logger  // receives a server's failures; nil: no log
	tokens chan struct{} // one for each free connection
	closed chan struct{} // closed by close

	mu   sync.Mutex // guards the rest
	free []*session // the most recently used is last, and is used next since its pages are cached
}

// newReader returns a reader with conns connections.
func newReader(db *sql.DB, conns int, into *translator) *reader {
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	r := &reader{db: db, into: into, tokens: make(chan struct{}, conns), closed: make(chan struct{})}
	for range conns {
		r.give(&session{into: into})
	}
	return r
}

// again calls with, and repeats it if allowed while the connection to a server is lost.
func (r *reader) again(ctx context.Context, with func() (again bool, err error)) error {
	if r.into == nil {
		_, err := with()
		return r.damage.note(err)
	}
	return withhold(r.log, persist(ctx, retry.Patience(ctx), with))
}

// pool returns the usage of the connections.
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
	yielded *bool // set when results were passed on; then the read must not be repeated
}

// see calls with with a snapshot. It waits for a free connection, so with must not call see or
// look. Like look, it may repeat with.
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

// look is see for one statement, which needs no transaction. It repeats with after a lost
// connection to a server, so with must start with empty results each time.
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

// queryAll is queryOwner for a query without the owner as argument.
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

// queryOne is queryAll for one row with one value; without a row it returns the zero value.
func queryOne[T any](ctx context.Context, r *reader, query string, args ...any) (value T, err error) {
	_, err = queryAll(ctx, r, query, args, func(row scanner) (struct{}, error) { return struct{}{}, row.Scan(&value) })
	return value, err
}

// brief returns a view for reading a few rows by an index. It ignores the end of ctx, since
// watching ctx would take longer than the read.
func (v *view) brief() *view {
	if v.conn.into != nil { // a server's driver watches ctx at no cost
		return v
	}
	brief := *v
	brief.ctx = context.WithoutCancel(v.ctx)
	return &brief
}

// query runs a statement whose first argument is the owner. Prepared statements are kept, so the
// text must not contain values: pass them as args.
func (v *view) query(query string, args ...any) (rows, error) {
	return v.conn.query(v.ctx, query, append([]any{string(v.owner)}, args...)...)
}

// pageByPage makes a server plan each statement of the transaction for its actual values. A cached
// plan suits typical owners, who have little data: it reads and sorts all rows, for a large owner
// at every page.
const pageByPage = `SELECT set_config('plan_cache_mode', 'force_custom_plan', true)`

// askPage runs queries for pages of long lists.
func (v *view) askPage(asks ...ask) error {
	if v.conn.into != nil {
		asks = append([]ask{say(pageByPage)}, asks...)
	}
	return v.conn.ask(v.ctx, asks...)
}
