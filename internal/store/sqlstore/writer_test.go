package sqlstore

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// rig is a store whose writer a test can hold back.
type rig struct {
	*Store
	t       *testing.T
	commits atomic.Int64
}

func newRig(t *testing.T) *rig { t.Helper(); return newRigWith(t, Options{}) }

func newRigWith(t *testing.T, o Options) *rig {
	t.Helper()
	r := &rig{t: t}
	o.failpoint = func(point string) {
		if point == afterCommit {
			r.commits.Add(1)
		}
	}
	s := try(OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "loci.db"), o)).orFail(t)
	r.Store = s
	t.Cleanup(func() { noError(t)(s.Close()) })
	return r
}

// hold keeps the writer busy until release is called, and returns when it is.
func (r *rig) hold() (release func()) {
	holding, free := make(chan struct{}), make(chan struct{})
	go func() {
		_ = r.write(context.Background(), "", func(*tx) error {
			close(holding)
			<-free
			return nil
		})
	}()
	<-holding
	return func() { close(free) }
}

// queue starts calls that wait for the writer, in order, and returns what waits
// for their outcomes.
func (r *rig) queue(ctx context.Context, calls ...func(*tx) error) (outcomes func() []error) {
	var writes []func() error
	for _, do := range calls {
		writes = append(writes, func() error { return r.write(ctx, "", do) })
	}
	return r.queueCalls(writes...)
}

func (r *rig) queueCalls(calls ...func() error) (outcomes func() []error) {
	results := make([]chan error, len(calls))
	for i, do := range calls {
		results[i] = make(chan error, 1)
		queued := len(r.Store.committer.(*writer).calls)
		go func() { results[i] <- do() }()
		for len(r.Store.committer.(*writer).calls) == queued {
			runtime.Gosched() // the call is on its way into the queue
		}
	}
	return func() []error {
		var errs []error
		for _, c := range results {
			errs = append(errs, <-c)
		}
		return errs
	}
}

func (r *rig) insert(owner memory.Owner) func(*tx) error {
	return func(t *tx) error {
		return t.exec(`INSERT INTO owners (owner, version, clock) VALUES (?, 1, 0)`, owner)
	}
}

func (r *rig) versions(owners ...memory.Owner) []int64 {
	r.t.Helper()
	return try(r.Versions(context.Background(), owners)).orFail(r.t)
}

func TestWaitingCallsShareACommit(t *testing.T) {
	r := newRig(t)
	release := r.hold()
	refusal := errors.New("refused")
	outcomes := r.queue(t.Context(), r.insert(memtest.Ana), func(tx *tx) error {
		if err := r.insert(memtest.Ben)(tx); err != nil {
			return err
		}
		return refusal
	}, r.insert(memtest.Team))
	release()
	if errs := outcomes(); errs[0] != nil || !errors.Is(errs[1], refusal) || errs[2] != nil {
		t.Errorf("calls of a group whose second is refused: got %v", errs)
	}
	if got := r.commits.Load(); got != 1 {
		t.Errorf("commits of the call that held the writer and three that waited: got %d, want 1", got)
	}
	if got := r.versions(memtest.Ana, memtest.Ben, memtest.Team); got[0] != 1 || got[1] != 0 || got[2] != 1 {
		t.Errorf("what was written: got %d, want all but the refused one", got)
	}
}

func TestLostTransactionIsLostForAll(t *testing.T) {
	r := newRig(t)
	release := r.hold()
	full := errors.New("disk full")
	outcomes := r.queue(t.Context(), r.insert(memtest.Ana), func(tx *tx) error {
		if err := tx.exec(`ROLLBACK`); err != nil { // as SQLite does by itself when the disk is full
			return err
		}
		return full
	}, r.insert(memtest.Ben))
	release()
	for i, err := range outcomes() {
		if err == nil {
			t.Errorf("call %d of a group whose transaction was lost: got no error", i+1)
		}
	}
	if got := r.versions(memtest.Ana, memtest.Ben); got[0] != 0 || got[1] != 0 {
		t.Errorf("what was written: got %d, want nothing", got)
	}
	if err := r.write(t.Context(), "", r.insert(memtest.Ana)); err != nil {
		t.Errorf("the next call: got %v", err)
	}
}

func TestCallerLeavesTheQueue(t *testing.T) {
	r := newRig(t)
	release := r.hold()
	ctx, cancel := context.WithCancel(t.Context())
	outcomes := r.queue(ctx, r.insert(memtest.Ana))
	cancel()
	if err := outcomes()[0]; !errors.Is(err, context.Canceled) { // while the writer is still held
		t.Errorf("cancelled while waiting: got %v, want %v", err, context.Canceled)
	}
	release()
	noError(t)(r.write(t.Context(), "", r.insert(memtest.Ben)))
	if got := r.versions(memtest.Ana, memtest.Ben); got[0] != 0 || got[1] != 1 {
		t.Errorf("what was written: got %d, want only what was not cancelled", got)
	}
}

func TestCloseWaitsForTheQueue(t *testing.T) {
	r := newRig(t)
	release := r.hold()
	outcomes := r.queue(t.Context(), r.insert(memtest.Ana), r.insert(memtest.Ben))
	closed := make(chan error)
	go func() { closed <- r.Close() }()
	release()
	for i, err := range outcomes() {
		if err != nil {
			t.Errorf("call %d that waited when the store was closed: got %v", i+1, err)
		}
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestTimesKeepWhatTheyAre(t *testing.T) {
	for _, want := range []time.Time{
		{},
		time.Unix(0, 0).UTC(),
		time.Unix(0, 1000).UTC(),
		time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
		time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC),
		time.Date(-44, 3, 15, 12, 0, 0, 1000, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
	} {
		var got time.Time
		if err := (timeColumn{&got}).Scan(toMicros(want)); err != nil || !got.Equal(want) || got.IsZero() != want.IsZero() {
			t.Errorf("%v: got back %v, %v", want, got, err)
		}
	}
}

func TestWritesTellHowLongTheyWaited(t *testing.T) {
	waits := make(chan time.Duration, 10)
	r := newRigWith(t, Options{ObserveWait: func(d time.Duration) { waits <- d }})
	release := r.hold()
	<-waits // that of hold itself
	began := time.Now()
	outcomes := r.queue(t.Context(), r.insert(memtest.Ana))
	queued := time.Now()
	held := time.Since(queued)
	release()
	if err := outcomes()[0]; err != nil {
		t.Fatal(err)
	}
	if wait := <-waits; wait < held || wait > time.Since(began) {
		t.Errorf("it waited %v, at least %v and at most %v", wait, held, time.Since(began))
	}
	if all, err := r.Totals(t.Context()); err != nil || r.Pools()[0].Size != readConns || all.JobsQueued != 0 {
		t.Errorf("pools %+v, totals %+v, %v", r.Pools(), all, err)
	}
}
