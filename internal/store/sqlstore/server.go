package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/loci-memory/loci/internal/retry"
	"github.com/loci-memory/loci/memory"
)

// server is how a PostgreSQL server is written to: in transactions that hold their owner's
// row from the start. So writes of one owner are serial, whichever replica makes them,
// while different owners do not wait for each other. Calls of one owner that wait for each
// other share a transaction: see [group].
type server struct {
	db        *sql.DB
	into      *translator
	now       func() time.Time // nil: the server's clock
	log       *slog.Logger     // nil: nobody's
	reads     *reader
	notifier  *notifier
	swept     atomic.Int64 // when hints were last made of all jobs, since the start; 0: never
	hinted    atomic.Bool  // the last hint was written, or others were in its way
	missed    sync.Map     // of owners whose hints others were in the way of
	failpoint func(point string)

	groups

	mu   sync.RWMutex // held for reading by those who write; guards done
	done bool
}

func (p *server) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running.Wait() // for those whom nobody waits for any more
	if p.done = true; p.notifier != nil {
		p.notifier.close()
	}
	return p.db.Close()
}

// erasing waits for nothing: a server's own files are its keeper's.
func (p *server) erasing(context.Context) (done func(), err error) { return func() {}, nil }

func (p *server) write(ctx context.Context, owner memory.Owner, do func(*tx) error) error {
	if owner != "" {
		return p.together(ctx, owner, nil, do)
	}
	_, err := p.hold(ctx, owner, patient, nil, do)
	return err
}

// How the row of an owner is taken that somebody else holds.
type taking string

const (
	patient taking = `` // when they are done
	willing taking = ` SKIP LOCKED`
)

// hold runs do in a transaction that holds the owner's row, and asks for it what is known
// before. held is false if a willing caller did not get the row; then nothing was done.
func (p *server) hold(ctx context.Context, owner memory.Owner, how taking, asks []question, do func(*tx) error) (held bool, err error) {
	if err := p.enter(ctx); err != nil {
		return false, err
	}
	defer p.mu.RUnlock()
	err = persist(ctx, retry.WritePatience, func() (bool, error) {
		asking := &call{asks: asks}
		a := &attempt{server: p, owner: owner, how: how, asks: []*call{asking}}
		err := a.run(ctx, func(t *tx) error {
			t.ahead = asking.ahead
			return do(t)
		})
		held = a.held
		if err != nil && a.committing && !refused(err) {
			err = p.outcome(ctx, a, err)
		}
		if err == nil && a.queued {
			p.notifier.ring()
		}
		return true, err
	})
	return held, p.answer(ctx, err)
}

// enter begins to write, unless ctx ended or the store is closed; p.mu is to be unlocked in
// the end.
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

// answer is what callers are told of an error that explainServer explained. It panics for
// those whose function did.
func (p *server) answer(ctx context.Context, err error) error {
	repanic(err)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded): // it is ours
		return memory.Errorf(memory.Unavailable, "the database took too long to write: %w", err)
	}
	return withhold(p.log, err)
}

// attempt is one transaction.
type attempt struct {
	*server
	owner memory.Owner
	how   taking
	asks  []*call // whose questions are asked on the way

	id         string    // of the transaction, as the server has it
	witness    statement // of what it did
	held       bool
	queued     bool // a job was
	due        bool // it gives hints
	committing bool // the server was told to commit
}

func (a *attempt) run(ctx context.Context, do func(*tx) error) error {
	conn, err := a.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("open a connection to write: %w", err)
	}
	s := &session{conn: conn, into: a.into}
	defer s.release()
	t := &tx{session: s, now: a.clock(nil)}
	if err := a.begin(ctx, t); err != nil {
		s.rollback(ctx)
		return fmt.Errorf("begin to write: %w", err)
	}
	if !a.held {
		s.rollback(ctx)
		return nil
	}
	// A caller who leaves now finds it done: to break off would cost the connection.
	within, stop := context.WithTimeout(context.WithoutCancel(ctx), retry.WritePatience)
	defer stop()
	t.ctx = within
	if err := safely(a.log, do, t); err != nil {
		s.rollback(ctx)
		return a.withoutPgvector(err)
	}
	a.witness, a.queued, a.due = t.witness, t.queues, len(t.queued) > 0
	a.point(beforeCommit)
	if err := a.commit(within, t); err != nil {
		s.rollback(ctx)
		return fmt.Errorf("commit: %w", a.withoutPgvector(err))
	}
	a.point(afterCommit)
	if a.owner == "" && len(t.queued) > 0 {
		a.sweepNext()
	}
	return nil
}

func (a *attempt) point(name string) {
	if a.failpoint != nil {
		a.failpoint(name)
	}
}

// clock is the store's: the server's, unless there is one to go by.
func (p *server) clock(at *time.Time) func() (time.Time, error) {
	return func() (time.Time, error) {
		if p.now != nil {
			return p.now(), nil
		}
		return *at, nil
	}
}

const (
	// serverTime is the server's clock in microseconds since the year 1.
	serverTime = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint + 62135596800000000`
	lockOwner  = `SELECT pg_current_xact_id()::text, ` + serverTime + `, version, clock FROM owners WHERE owner = $1 FOR UPDATE`
	lockNobody = `SELECT pg_current_xact_id()::text, ` + serverTime + `, 0, 0`
	newOwner   = `INSERT INTO owners (owner, version, clock) VALUES ($1, 0, 0) ON CONFLICT DO NOTHING`
)

// begin begins the transaction and takes the owner's row, both in one go.
func (a *attempt) begin(ctx context.Context, t *tx) error {
	return raw(t.session, func(c *pgx.Conn) error {
		b := &pgx.Batch{}
		b.Queue("BEGIN")
		a.queueLock(b)
		found, err := a.lock(ctx, c, b, t)
		if err != nil || found {
			return err
		}
		if a.how == willing {
			return nil
		}
		b = &pgx.Batch{} // it is the owner's first write
		b.Queue(newOwner, string(a.owner))
		a.queueLock(b)
		if found, err = a.lock(ctx, c, b, t); err == nil && !found {
			err = errors.New("the owner's row is gone")
		}
		return err
	})
}

func (a *attempt) queueLock(b *pgx.Batch) {
	if a.owner == "" {
		b.Queue(lockNobody)
		return
	}
	b.Queue(lockOwner+string(a.how), string(a.owner))
	for _, c := range a.asks {
		for _, q := range c.asks {
			b.Queue(a.into.text(q.text), a.into.values(q.args)...)
		}
	}
}

// lock sends the batch, whose second statement takes the row, and reports whether it
// is there.
func (a *attempt) lock(ctx context.Context, c *pgx.Conn, b *pgx.Batch, t *tx) (found bool, err error) {
	sent := c.SendBatch(ctx, b)
	defer func() { err = errors.Join(err, sent.Close()) }()
	if _, err := sent.Exec(); err != nil {
		return false, err
	}
	var now, clock int64
	h := head{owner: a.owner}
	err = sent.QueryRow().Scan(&a.id, &now, &h.version, &clock)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	a.held = true
	for _, c := range a.asks {
		c.ahead = c.ahead[:0]
		for _, q := range c.asks {
			answer, err := readAnswer(q, sent)
			if err != nil {
				return false, err
			}
			c.ahead = append(c.ahead, answer.apart()...)
		}
	}
	at := fromMicros(now)
	t.now = a.clock(&at)
	if h.clock = fromMicros(clock); a.owner != "" {
		t.locked = &h
	}
	return true, nil
}

// commit says what the server was not told yet, that it may commit and, on the same way,
// what there is to be done since.
func (a *attempt) commit(ctx context.Context, t *tx) error {
	// In a transaction that failed, and whose failure nobody minded, it would roll back.
	err := raw(t.session, func(c *pgx.Conn) error {
		if state := c.PgConn().TxStatus(); state != 'T' {
			return fmt.Errorf("the transaction is in state %q", state)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if t.erases && a.notifier != nil {
		t.later = append(t.later, a.notifier.ofErasure(a.owner))
	}
	hints := append(a.hints(t), t.after...)
	last := append(t.take(), statement{text: "COMMIT"})
	a.committing = true
	if !a.hinted.Load() { // a server that does not understand one would not commit with it
		if err := t.session.send(ctx, last...); err != nil {
			return err
		}
		a.heard(len(hints), t.session.send(ctx, hints...))
		return nil
	}
	missed, err := t.session.sendBoth(ctx, last, hints)
	if err != nil {
		return err
	}
	a.heard(len(hints), missed)
	return nil
}

// send runs statements in order, all in one go. After one that fails none is run.
func (s *session) send(ctx context.Context, all ...statement) error {
	missed, err := s.sendBoth(ctx, nil, all)
	return cmp.Or(err, missed)
}

// sendBoth is send for statements and more, where it matters which of them failed: err is of
// the first, missed of more.
func (s *session) sendBoth(ctx context.Context, first, more []statement) (missed, err error) {
	if len(first)+len(more) == 0 {
		return nil, nil
	}
	err = raw(s, func(c *pgx.Conn) error {
		b := &pgx.Batch{}
		for _, one := range slices.Concat(first, more) {
			b.Queue(one.text, one.args...)
		}
		sent := c.SendBatch(ctx, b)
		for range first {
			if _, err := sent.Exec(); err != nil {
				_ = sent.Close() // which says the same
				return err
			}
		}
		missed = sent.Close()
		return nil
	})
	return missed, err
}

// raw runs do on the driver's own connection.
func raw(s *session, do func(*pgx.Conn) error) error {
	return s.conn.Raw(func(c any) error {
		conn := c.(*stdlib.Conn).Conn()
		if conn.IsClosed() {
			return driver.ErrBadConn
		}
		return do(conn)
	})
}

// outcome finds out whether a transaction was committed whose connection was lost while
// it was told to: nil if it was, cause if it was not and may be done again. A server that
// crashed gives the numbers of transactions that left nothing on its disk to others: what
// is committed under ours has to have left what ours leaves.
func (p *server) outcome(ctx context.Context, a *attempt, cause error) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), retry.WritePatience)
	defer stop()
	committed := false
	err := persist(ctx, retry.WritePatience, func() (bool, error) {
		var state sql.NullString
		err := p.db.QueryRowContext(ctx, `SELECT pg_xact_status($1::text::xid8)`, a.id).Scan(&state)
		var e *pgconn.PgError
		switch {
		case errors.As(err, &e) && e.Code == "22023": // of the future: it was never heard of
			return true, nil
		case err != nil:
			return true, err
		case state.String == "in progress":
			return true, driver.ErrBadConn // look again
		case state.String == "aborted":
			return true, nil
		case state.String != "committed":
			return true, errors.New("it is too long ago")
		case a.witness.text == "":
			committed = true
			return true, nil
		}
		found, err := p.db.QueryContext(ctx, p.into.text(a.witness.text), p.into.values(a.witness.args)...)
		if err == nil {
			committed = found.Next()
			err = errors.Join(found.Err(), found.Close())
		}
		return true, err
	})
	switch {
	case err != nil:
		p.sweepNext() // it may have been, without its hints
		if p.log != nil {
			p.log.Warn("whether something was written is not known", "err", err, "cause", cause)
		}
		return errUnknown
	case committed:
		if a.due { // its hints may be lost
			p.remind(ctx, a.owner)
		}
		return nil
	}
	return &notDone{cause}
}

var errUnknown = memory.Errorf(memory.Unavailable, "the database server does not answer: whether it was written is not known")

// notDone is the error of a transaction that is known to have done nothing.
type notDone struct{ cause error }

func (n *notDone) Error() string { return n.cause.Error() }
func (n *notDone) Unwrap() error { return n.cause }
