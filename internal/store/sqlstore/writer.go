package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/memory"
)

// maxGroupSize limits how many calls share a commit, so that the first call does not wait for long.
const maxGroupSize = 256

// Points of a commit at which a test can crash the process.
const (
	beforeCommit  = "before commit"
	afterCommit   = "after commit"
	betweenGroups = "between groups"
)

// writer runs all writes to an SQLite file, in one goroutine with its own connection.
type writer struct {
	db          *sql.DB
	session     *session
	now         func() time.Time
	reader      *reader // used by claim to check for due jobs
	cache       *memoryCache
	damage      *damage
	log         *slog.Logger // nil disables the log
	observeWait func(time.Duration)
	failpoint   func(point string)
	path        string        // path of the SQLite file
	copyToken   chan struct{} // holds a token while the file is copied, erased from, or rewritten
	done        chan struct{} // closed when run has returned
	changedKeys []memoryKey   // memories changed by the current transaction

	mu          sync.RWMutex // guards the fields below; read-locked while a call is sent on calls
	closed      bool
	vacuumState vacuumState
	calls       chan *call
}

// call is a call of write that waits in a queue.
type call struct {
	ctx      context.Context
	do       func(*tx) error
	err      error         // result of the call; set before done is closed
	done     chan struct{} // closed when the call has ended
	claimed  atomic.Bool   // set by the writer when it starts the call, or by a caller that gives up
	queuedAt time.Time     // time at which the call was queued
}

// newCall returns a call that is queued now.
func newCall(ctx context.Context, do func(*tx) error) *call {
	return &call{ctx: ctx, do: do, done: make(chan struct{}), queuedAt: time.Now()}
}

// claim marks the call as started, and calls observeWait with its queueing time. It returns false if
// the caller gave up.
func (c *call) claim(observeWait func(time.Duration)) bool {
	if !c.claimed.CompareAndSwap(false, true) {
		return false
	}
	if observeWait != nil {
		observeWait(time.Since(c.queuedAt))
	}
	return true
}

func startWriter(ctx context.Context, db *sql.DB, path string, o Options, cache *memoryCache, d *damage) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("open a connection for writing: %w", err)
	}
	if o.failpoint == nil {
		o.failpoint = func(string) {}
	}
	w := &writer{
		db: db, session: &session{conn: conn, prepared: map[string]*sql.Stmt{}}, now: o.Now, cache: cache, damage: d, log: o.Log, observeWait: o.ObserveWait, failpoint: o.failpoint,
		path: path, copyToken: make(chan struct{}, 1), done: make(chan struct{}), calls: make(chan *call, maxGroupSize),
	}
	var mark int
	if err := conn.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&mark); err != nil {
		return nil, fmt.Errorf("check whether the database file is marked for rewriting: %w", err)
	}
	if mark != 0 { // an earlier process ended before it rewrote the file
		w.vacuumState.pendingSince = time.Now()
		w.vacuum()
	}
	go w.run()
	return w, nil
}

// write queues do and waits until it is committed. If ctx ends before do has started, do never runs;
// otherwise write waits for do to end.
func (w *writer) write(ctx context.Context, _ memory.Owner, do func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.submitCall(newCall(ctx, do))
}

func (w *writer) submitCall(c *call) error {
	if err := w.damage.err(); err != nil {
		return err
	}
	if err := w.enqueueCall(c); err != nil {
		return err
	}
	select {
	case <-c.done:
	case <-c.ctx.Done():
		if c.claimed.CompareAndSwap(false, true) {
			return c.ctx.Err()
		}
		<-c.done
	}
	repanic(c.err)
	return explainSQLite(w.damage.recordError(c.err))
}

func (w *writer) enqueueCall(c *call) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return memory.Errorf(memory.Unavailable, "the store is closed")
	}
	select {
	case w.calls <- c:
		return nil
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

func (w *writer) run() {
	defer close(w.done)
	for {
		var idle <-chan time.Time // nil blocks forever
		if l := w.readVacuumState(); !l.pendingSince.IsZero() {
			idle = time.After(l.delay())
		}
		select {
		case firstCall, open := <-w.calls:
			if !open {
				return
			}
			w.commitGroup(firstCall)
			w.failpoint(betweenGroups)
		case <-idle:
			w.vacuum()
		}
	}
}

// commitGroup runs firstCall and the other waiting calls in one transaction, and commits it.
func (w *writer) commitGroup(firstCall *call) {
	group := make([]*call, 0, 8)
	w.changedKeys = w.changedKeys[:0]
	err := w.exec("BEGIN IMMEDIATE")
	for c := firstCall; c != nil; c = w.nextWaitingCall(len(group)) {
		if !c.claim(w.observeWait) {
			continue
		}
		group = append(group, c)
		if err == nil {
			err = w.runCall(c, len(group) == 1)
		}
	}
	w.cache.beginCommit()
	if err == nil {
		w.failpoint(beforeCommit)
		err = w.exec("COMMIT")
		w.failpoint(afterCommit)
	}
	w.cache.endCommit(w.changedKeys, err)
	if err != nil {
		_ = w.exec("ROLLBACK") // a failed statement may have rolled back the transaction already
	}
	for _, c := range group {
		if c.err == nil && err != nil {
			c.err = fmt.Errorf("commit: %w", err)
		}
		close(c.done)
	}
}

// yieldsBeforeCommit is how often the writer lets other goroutines run before a commit: each call that
// they queue in time saves a commit.
const yieldsBeforeCommit = 4

// nextWaitingCall returns the next queued call, or nil if the queue is empty or the group is full.
func (w *writer) nextWaitingCall(groupSize int) *call {
	if groupSize >= maxGroupSize {
		return nil
	}
	for range yieldsBeforeCommit {
		select {
		case c := <-w.calls: // a closed queue yields nil
			return c
		default:
			runtime.Gosched()
		}
	}
	return nil
}

// runCall runs one call so that its failure does not affect other calls: under a savepoint or, for the
// first call, in a transaction that is restarted if the call fails. It returns an error only if the
// whole transaction failed.
func (w *writer) runCall(c *call, isFirst bool) error {
	if c.err = c.ctx.Err(); c.err != nil {
		return nil
	}
	if !isFirst {
		if err := w.exec("SAVEPOINT call"); err != nil {
			return err
		}
	}
	t := w.newTx()
	if c.err = runRecovered(w.log, c.do, t); c.err != nil {
		return w.revertCall(c.err, isFirst)
	}
	if t.needsVacuum {
		w.updateVacuumState(func(l *vacuumState) { l.pendingSince = cmp.Or(l.pendingSince, time.Now()) })
	}
	w.changedKeys = append(w.changedKeys, t.changedKeys...)
	if isFirst {
		return nil
	}
	return w.exec("RELEASE call")
}

// revertCall undoes the writes of a call that failed with cause. It returns an error if this fails.
func (w *writer) revertCall(cause error, isFirst bool) error {
	steps := []string{"ROLLBACK TO call", "RELEASE call"}
	if isFirst {
		steps = []string{"ROLLBACK", "BEGIN IMMEDIATE"}
	}
	for _, step := range steps {
		// A step fails if cause has ended the transaction, and with it the savepoints.
		if err := w.exec(step); err != nil {
			return errors.Join(cause, err)
		}
	}
	return nil
}

func (w *writer) exec(query string) error {
	_, err := w.session.exec(context.Background(), query)
	return err
}

// close waits for the queue to empty, removes erased text from the file, moves the log into the
// file and closes the connection.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	close(w.calls)
	w.mu.Unlock()
	<-w.done
	if !w.vacuumState.pendingSince.IsZero() {
		w.vacuum()
	}
	errs := []error{w.exec("PRAGMA wal_checkpoint(TRUNCATE)")}
	for _, s := range w.session.prepared {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, w.session.conn.Close(), w.db.Close())...)
}

// newTx returns the transaction for one call. It does not use the caller's context, since an interrupted
// statement would make the other calls of the group fail.
func (w *writer) newTx() *tx {
	return &tx{ctx: context.Background(), session: w.session, now: func() (time.Time, error) { return w.now(), nil }}
}
