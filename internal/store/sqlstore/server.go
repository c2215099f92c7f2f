package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/loci-memory/loci/internal/retry"
	"github.com/loci-memory/loci/memory"
)

// server writes to a PostgreSQL server. Each transaction first locks its owner's row, so that writes of
// one owner are serial across all stores, while different owners do not block each other.
type server struct {
	db        *sql.DB
	into      *translator
	now       func() time.Time // nil uses the server's clock
	log       *slog.Logger     // nil disables the log
	notifier  *notifier
	waited    func(time.Duration)
	failpoint func(point string)

	joining sync.Mutex
	waiting map[memory.Owner][]*call // guarded by the mutex above; an owner with an entry has a goroutine in writeWaiting

	mu   sync.RWMutex // guards the field below; read-locked during writes
	done bool
}

func (p *server) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done = true; p.notifier != nil {
		p.notifier.close()
	}
	return p.db.Close()
}

// beginErasure does nothing, since the operator of a server is responsible for its files.
func (p *server) erasing(context.Context) (done func(), err error) { return func() {}, nil }

// write runs do in a transaction that other waiting writes of the owner share, to save disk syncs. If
// one of the writes fails, each is repeated in its own transaction.
func (p *server) write(ctx context.Context, owner memory.Owner, do func(*tx) error) error {
	if err := p.enter(ctx); err != nil {
		return err
	}
	defer p.mu.RUnlock()
	if owner == "" {
		return p.answer(ctx, p.try(ctx, owner, do))
	}
	c := newCall(ctx, do)
	p.joining.Lock()
	waiting, running := p.waiting[owner]
	p.waiting[owner] = append(waiting, c)
	p.joining.Unlock()
	if !running {
		go p.writeAll(owner)
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		if c.taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		<-c.done
	}
	return p.answer(ctx, c.err)
}

// writeWaiting runs an owner's waiting calls until none is waiting.
func (p *server) writeAll(owner memory.Owner) {
	for {
		p.joining.Lock()
		calls := p.waiting[owner]
		if len(calls) == 0 {
			delete(p.waiting, owner)
			p.joining.Unlock()
			return
		}
		p.waiting[owner] = nil
		p.joining.Unlock()
		calls = slices.DeleteFunc(calls, func(c *call) bool { return !c.take(p.waited) })
		p.writeTogether(owner, calls)
		for _, c := range calls {
			close(c.done)
		}
	}
}

func (p *server) writeTogether(owner memory.Owner, calls []*call) {
	if len(calls) > 1 {
		err := p.try(context.Background(), owner, func(t *tx) error {
			for _, c := range calls {
				if err := c.do(t); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil || errors.Is(err, memory.Unavailable) || errors.Is(err, context.DeadlineExceeded) {
			for _, c := range calls {
				c.err = err
			}
			return
		}
	}
	for _, c := range calls {
		c.err = p.try(c.ctx, owner, c.do)
	}
}

// runTransaction runs do in a transaction, and repeats it after transient failures. The table commits
// shows whether an unanswered COMMIT succeeded.
func (p *server) try(ctx context.Context, owner memory.Owner, do func(*tx) error) error {
	within, stop := context.WithTimeout(ctx, retry.WritePatience)
	defer stop()
	a := &attempt{server: p, owner: owner, id: rand.Text(), do: do}
	err := persist(within, retry.WritePatience, func() (bool, error) { return true, a.run(within) })
	if err != nil && a.unknown {
		if p.log != nil {
			p.log.Warn("a write may have succeeded", "err", err)
		}
		return errUnknown
	}
	if err == nil && a.queues {
		p.notifier.ring()
	}
	return err
}

// lockOpen read-locks p.mu, unless ctx has ended or the store is closed. The caller unlocks p.mu.
func (p *server) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p.mu.RLock()
	if p.done {
		p.mu.RUnlock()
		return memory.Errorf(memory.Unavailable, "the store is closed")
	}
	return nil
}

// callerError turns an error from explainServer into an error for callers. If the caller's function
// panicked, it raises the panic.
func (p *server) answer(ctx context.Context, err error) error {
	repanic(err)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded): // a deadline that Loci itself set
		return memory.Errorf(memory.Unavailable, "the database took too long to write: %w", err)
	}
	return withhold(p.log, err)
}

// writeAttempt runs a write, which may be repeated, each time in its own transaction.
type attempt struct {
	*server
	owner memory.Owner
	id    string // the transaction's id in the table commits
	do    func(*tx) error

	unknown bool // the server did not answer COMMIT
	queues  bool // the write queued a job
}

func (a *attempt) run(ctx context.Context) error {
	conn, err := a.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("open a connection for writing: %w", err)
	}
	s := &session{conn: conn, into: a.into}
	defer s.release()
	// The write continues if the caller gives up: interrupting it would close the connection.
	within, stop := context.WithTimeout(context.WithoutCancel(ctx), retry.WritePatience)
	defer stop()
	t := &tx{ctx: ctx, session: s}
	done := a.begin(t, func() { t.ctx = within })
	if a.unknown {
		if err := t.ask(); err != nil {
			s.rollback(ctx)
			return fmt.Errorf("begin to write: %w", err)
		}
		if a.unknown = false; *done {
			s.rollback(ctx)
			return nil
		}
	}
	if err := safely(a.log, a.do, t); err != nil {
		s.rollback(ctx)
		return a.withoutPgvector(err)
	}
	a.queues = t.queues
	a.point(beforeCommit)
	if err := a.commit(t); err != nil {
		s.rollback(ctx)
		return fmt.Errorf("commit: %w", a.withoutPgvector(err))
	}
	a.point(afterCommit)
	return nil
}

func (a *attempt) point(name string) {
	if a.failpoint != nil {
		a.failpoint(name)
	}
}

const (
	// serverTime is the server's clock in microseconds since the year 1.
	serverTime = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint + 62135596800000000`
	newOwner   = `INSERT INTO owners (owner, version, clock) VALUES (?, 0, 0) ON CONFLICT DO NOTHING`
	lockOwner  = `SELECT ` + serverTime + `, version, clock FROM owners WHERE owner = ? FOR UPDATE`
	newCommit  = `INSERT INTO commits (owner, id, at) VALUES (?, ?, ` + serverTime + `) ON CONFLICT DO NOTHING RETURNING id`
	// deleteOldCommits removes ids of transactions that began over a minute ago, after any retry.
	oldCommits = `DELETE FROM commits WHERE owner = ? AND id IN (SELECT id FROM commits WHERE owner = ? AND at < ` + serverTime + ` - 60000000 FOR UPDATE SKIP LOCKED)`
)

// begin queues the statements that begin the transaction and lock the owner's row. The first query
// sends them, and onBegun is called when they have run. *isCommitted then tells whether an earlier
// attempt was committed.
func (a *attempt) begin(t *tx, begun func()) (done *bool) {
	var now, clock int64
	h, isDone := head{owner: a.owner}, true
	t.begins = true
	t.later = []ask{say("BEGIN"), {newCommit, []any{a.owner, a.id}, func(scanner) error { isDone = false; return nil }}}
	if a.owner == "" {
		t.later = append(t.later, ask{`SELECT ` + serverTime, nil, func(row scanner) error { begun(); return row.Scan(&now) }})
	} else {
		t.later = append(t.later, say(newOwner, a.owner), ask{lockOwner, []any{a.owner}, func(row scanner) error {
			begun()
			err := row.Scan(&now, &h.version, &clock)
			h.clock = fromMicros(clock)
			return err
		}})
		t.locked = &h
	}
	t.now = func() (time.Time, error) {
		if a.now != nil {
			return a.now(), nil
		}
		return fromMicros(now), nil
	}
	return &isDone
}

// commit sends the unsent statements and COMMIT.
func (a *attempt) commit(t *tx) error {
	// If do ignored a failed statement, COMMIT would roll back without an error.
	err := raw(t.session, func(c *pgx.Conn) error {
		if state := c.PgConn().TxStatus(); state == 'E' {
			return fmt.Errorf("the transaction is in state %q", state)
		}
		return nil
	})
	if err != nil {
		return err
	}
	var last []ask
	if t.erases && a.notifier != nil {
		last = append(last, a.notifier.ofErasure(a.owner))
	}
	if mathrand.N(64) == 0 {
		last = append(last, say(oldCommits, a.owner, a.owner))
	}
	err = t.ask(append(last, say("COMMIT"))...)
	a.unknown = err != nil && !refused(err)
	return err
}

// withDriverConn calls do with the pgx connection of a session.
func raw(s *session, do func(*pgx.Conn) error) error {
	return s.conn.Raw(func(c any) error {
		conn := c.(*stdlib.Conn).Conn()
		if conn.IsClosed() {
			return driver.ErrBadConn
		}
		return do(conn)
	})
}

var errUnknown = memory.Errorf(memory.Unavailable, "the database server does not answer: the write may have succeeded")

// notWrittenError is the error of an attempt that wrote nothing, and may therefore be repeated.
type notDone struct{ cause error }

func (n *notDone) Error() string { return n.cause.Error() }
func (n *notDone) Unwrap() error { return n.cause }
