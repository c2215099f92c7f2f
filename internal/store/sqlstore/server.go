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
	db          *sql.DB
	translator  *translator
	now         func() time.Time // nil uses the server's clock
	log         *slog.Logger     // nil disables the log
	notifier    *notifier
	observeWait func(time.Duration)
	failpoint   func(point string)

	waitingMu    sync.Mutex
	waitingCalls map[memory.Owner][]*call // guarded by waitingMu; for each owner with an entry, a goroutine runs writeWaitingCalls

	mu     sync.RWMutex // guards closed; read-locked during writes, so that close waits for them
	closed bool
}

func (p *server) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed = true; p.notifier != nil {
		p.notifier.close()
	}
	return p.db.Close()
}

// beginErasure does nothing, since the operator of a server is responsible for its files.
func (p *server) beginErasure(context.Context) (end func(), err error) { return func() {}, nil }

// write runs do in a transaction with the owner's other waiting writes, to save disk syncs. If one of
// the writes fails, each is repeated in a transaction of its own.
func (p *server) write(ctx context.Context, owner memory.Owner, do func(*tx) error) error {
	if err := p.lockIfOpen(ctx); err != nil {
		return err
	}
	defer p.mu.RUnlock()
	if owner == "" {
		return p.callerError(ctx, p.runTransaction(ctx, owner, do))
	}
	c := newCall(ctx, do)
	p.waitingMu.Lock()
	waiting, running := p.waitingCalls[owner]
	p.waitingCalls[owner] = append(waiting, c)
	p.waitingMu.Unlock()
	if !running {
		go p.writeWaitingCalls(owner)
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		if c.claimed.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		<-c.done
	}
	return p.callerError(ctx, c.err)
}

// writeWaitingCalls runs an owner's waiting calls until no call is waiting.
func (p *server) writeWaitingCalls(owner memory.Owner) {
	for {
		p.waitingMu.Lock()
		calls := p.waitingCalls[owner]
		if len(calls) == 0 {
			delete(p.waitingCalls, owner)
			p.waitingMu.Unlock()
			return
		}
		p.waitingCalls[owner] = nil
		p.waitingMu.Unlock()
		calls = slices.DeleteFunc(calls, func(c *call) bool { return !c.claim(p.observeWait) })
		p.writeGroup(owner, calls)
		for _, c := range calls {
			close(c.done)
		}
	}
}

func (p *server) writeGroup(owner memory.Owner, calls []*call) {
	if len(calls) > 1 {
		err := p.runTransaction(context.Background(), owner, func(t *tx) error {
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
		c.err = p.runTransaction(c.ctx, owner, c.do)
	}
}

// runTransaction runs do in a transaction, and repeats it after transient failures. The table commits
// shows whether an unanswered COMMIT succeeded.
func (p *server) runTransaction(ctx context.Context, owner memory.Owner, do func(*tx) error) error {
	within, stop := context.WithTimeout(ctx, retry.WritePatience)
	defer stop()
	a := &retriedWrite{server: p, owner: owner, id: rand.Text(), do: do}
	err := withRetries(within, retry.WritePatience, func() (bool, error) { return true, a.run(within) })
	if err != nil && a.outcomeUnknown {
		if p.log != nil {
			p.log.Warn("a write may have succeeded", "err", err)
		}
		return errOutcomeUnknown
	}
	if err == nil && a.hasQueuedJob {
		p.notifier.notifySoon()
	}
	return err
}

// lockIfOpen read-locks p.mu, or returns an error if ctx has ended or the store is closed.
func (p *server) lockIfOpen(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p.mu.RLock()
	if p.closed {
		p.mu.RUnlock()
		return memory.Errorf(memory.Unavailable, "the store is closed")
	}
	return nil
}

// callerError turns an error from explainServer into an error for callers. If the caller's function
// panicked, it raises the panic.
func (p *server) callerError(ctx context.Context, err error) error {
	repanic(err)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded): // a deadline that Loci itself set
		return memory.Errorf(memory.Unavailable, "the database took too long to write: %w", err)
	}
	return hideDetails(p.log, err)
}

// retriedWrite is a write to the server. Each call of run attempts it once, in a transaction of its own.
type retriedWrite struct {
	*server
	owner memory.Owner
	id    string // id of the write's transactions in the table commits
	do    func(*tx) error

	outcomeUnknown bool // the last attempt sent COMMIT, but received no answer
	hasQueuedJob   bool // the write queued a job
}

func (a *retriedWrite) run(ctx context.Context) error {
	conn, err := a.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("open a connection for writing: %w", err)
	}
	s := &session{conn: conn, translator: a.translator}
	defer s.release()
	// The write continues if the caller gives up, since an interruption would close the connection.
	within, stop := context.WithTimeout(context.WithoutCancel(ctx), retry.WritePatience)
	defer stop()
	t := &tx{ctx: ctx, session: s}
	done := a.begin(t, func() { t.ctx = within })
	if a.outcomeUnknown {
		if err := t.runBatch(); err != nil {
			s.rollback(ctx)
			return fmt.Errorf("begin to write: %w", err)
		}
		if a.outcomeUnknown = false; *done {
			s.rollback(ctx)
			return nil
		}
	}
	if err := runRecovered(a.log, a.do, t); err != nil {
		s.rollback(ctx)
		return a.retryWithoutPgvector(err)
	}
	a.hasQueuedJob = t.hasQueuedJob
	a.callFailpoint(beforeCommit)
	if err := a.commit(t); err != nil {
		s.rollback(ctx)
		return fmt.Errorf("commit: %w", a.retryWithoutPgvector(err))
	}
	a.callFailpoint(afterCommit)
	return nil
}

func (a *retriedWrite) callFailpoint(name string) {
	if a.failpoint != nil {
		a.failpoint(name)
	}
}

const (
	// serverTimeExpr is the SQL expression of the server's time in microseconds since the year 1.
	serverTimeExpr = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint + 62135596800000000`
	insertOwner    = `INSERT INTO owners (owner, version, clock) VALUES (?, 0, 0) ON CONFLICT DO NOTHING`
	lockOwnerQuery = `SELECT ` + serverTimeExpr + `, version, clock FROM owners WHERE owner = ? FOR UPDATE`
	insertCommit   = `INSERT INTO commits (owner, id, at) VALUES (?, ?, ` + serverTimeExpr + `) ON CONFLICT DO NOTHING RETURNING id`
	// deleteOldCommits removes ids of transactions that began over a minute ago: no retry needs them.
	deleteOldCommits = `DELETE FROM commits WHERE owner = ? AND id IN (SELECT id FROM commits WHERE owner = ? AND at < ` + serverTimeExpr + ` - 60000000 FOR UPDATE SKIP LOCKED)`
)

// begin queues the statements that begin the transaction and lock the owner's row. The first query sends
// them, and markBegun is called when they have run. From then on, *isCommitted tells whether an earlier
// attempt was committed.
func (a *retriedWrite) begin(t *tx, markBegun func()) (isCommitted *bool) {
	var now, clock int64
	h, isDone := ownerVersion{owner: a.owner}, true
	t.isBeginUnsent = true
	t.unsentStatements = []statement{newExecStatement("BEGIN"), {insertCommit, []any{a.owner, a.id}, func(scanner) error { isDone = false; return nil }}}
	if a.owner == "" {
		t.unsentStatements = append(t.unsentStatements, statement{`SELECT ` + serverTimeExpr, nil, func(row scanner) error { markBegun(); return row.Scan(&now) }})
	} else {
		t.unsentStatements = append(t.unsentStatements, newExecStatement(insertOwner, a.owner), statement{lockOwnerQuery, []any{a.owner}, func(row scanner) error {
			markBegun()
			err := row.Scan(&now, &h.version, &clock)
			h.lastWrite = fromMicros(clock)
			return err
		}})
		t.lockedOwner = &h
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
func (a *retriedWrite) commit(t *tx) error {
	// If do ignored a failed statement, COMMIT would roll back the transaction without an error.
	err := withDriverConn(t.session, func(c *pgx.Conn) error {
		if state := c.PgConn().TxStatus(); state == 'E' {
			return fmt.Errorf("the transaction is in state %q", state)
		}
		return nil
	})
	if err != nil {
		return err
	}
	var last []statement
	if t.erasesText && a.notifier != nil {
		last = append(last, a.notifier.erasureStatement(a.owner))
	}
	if mathrand.N(64) == 0 {
		last = append(last, newExecStatement(deleteOldCommits, a.owner, a.owner))
	}
	err = t.runBatch(append(last, newExecStatement("COMMIT"))...)
	a.outcomeUnknown = err != nil && !isRefusal(err)
	return err
}

// withDriverConn calls do with the pgx connection of a session.
func withDriverConn(s *session, do func(*pgx.Conn) error) error {
	return s.conn.Raw(func(c any) error {
		conn := c.(*stdlib.Conn).Conn()
		if conn.IsClosed() {
			return driver.ErrBadConn
		}
		return do(conn)
	})
}

var errOutcomeUnknown = memory.Errorf(memory.Unavailable, "the database server does not answer: the write may have succeeded")

// notWrittenError is the error of an attempt that wrote nothing, and may therefore be repeated.
type notWrittenError struct{ cause error }

func (n *notWrittenError) Error() string { return n.cause.Error() }
func (n *notWrittenError) Unwrap() error { return n.cause }
