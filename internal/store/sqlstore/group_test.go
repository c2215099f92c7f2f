package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci/internal/retry"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// groupRig is a store on a server whose transactions a test can hold back.
type groupRig struct {
	*Store
	t       *testing.T
	commits atomic.Int64
}

func newGroupRig(t *testing.T, address string) *groupRig {
	t.Helper()
	return newGroupRigWith(t, address, Options{})
}

func newGroupRigWith(t *testing.T, address string, o Options) *groupRig {
	t.Helper()
	r := &groupRig{t: t}
	o.failpoint = func(point string) {
		if point == afterCommit {
			r.commits.Add(1)
		}
	}
	r.Store = openServer(t, address, o)
	return r
}

// hold keeps an owner's transaction under way until release is called, and returns when
// it is.
func (r *groupRig) hold(owner memory.Owner) (release func()) {
	holding, free := make(chan struct{}), make(chan struct{})
	go func() {
		_ = r.write(context.Background(), owner, func(*tx) error {
			close(holding)
			<-free
			return nil
		})
	}()
	<-holding
	return func() { close(free) }
}

// queue starts calls that wait for an owner's transaction, in order, and returns what
// waits for their outcomes.
func (r *groupRig) queue(owner memory.Owner, calls ...func() error) (outcomes func() []error) {
	p := r.Store.commits.(*server)
	waiting := func() int {
		p.joining.Lock()
		defer p.joining.Unlock()
		return len(p.of[owner].waiting)
	}
	results := make([]chan error, len(calls))
	for i, do := range calls {
		results[i] = make(chan error, 1)
		queued := waiting()
		go func() { results[i] <- do() }()
		for waiting() == queued {
			runtime.Gosched() // the call is on its way
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

// add adds a fact and keeps the receipt.
func (r *groupRig) add(ctx context.Context, name string, receipt *memory.Receipt) func() error {
	return func() (err error) {
		*receipt, err = r.Apply(ctx, memtest.Ana, memtest.Run(name), memtest.Add(memtest.Fact(memtest.Ana, name)))
		return err
	}
}

// do is a call that runs in the owner's transaction.
func (r *groupRig) do(with func(*tx) error) func() error {
	return func() error { return r.write(r.t.Context(), memtest.Ana, with) }
}

func TestPostgresWaitingWritesShareACommit(t *testing.T) {
	refusal := errors.New("refused")
	tooLong := strings.Repeat("0123456789abcdef", 1000) // for an index, as long as it does not compress
	random := memtest.IDs{}
	for len(tooLong) < 40_000 {
		tooLong += random.New()
	}
	for why, c := range map[string]struct {
		bad     func(*tx) error
		want    error
		commits int64
	}{
		"refused before it wrote": {func(tx *tx) error {
			if _, err := tx.apply(memtest.Ana, memtest.Run("first"), nil); err != nil {
				return err
			}
			return memory.Errorf(memory.Conflict, "refused")
		}, memory.Conflict, 1},
		"refused with all it wrote waiting": {func(tx *tx) error {
			if err := tx.exec(`UPDATE owners SET version = version + 7 WHERE owner = ?`, memtest.Ana); err != nil {
				return err
			}
			return memory.Errorf(memory.Conflict, "refused")
		}, memory.Conflict, 1},
		"refused after it wrote": {func(tx *tx) error {
			if _, err := tx.apply(memtest.Ana, memtest.Run("refused"), []memory.Change{memtest.Add(memtest.Fact(memtest.Ana, "refused"))}); err != nil {
				return err
			}
			return errors.Join(tx.row(`SELECT 1`, nil, new(int)), refusal)
		}, refusal, 2},
		"refused by the server, at the end": {func(tx *tx) error {
			return tx.exec(`INSERT INTO jobs (owner, id, kind, conversation, turns, state, attempts, run_at, created_at, error, token, lease_until)
					VALUES (?, ?, 'learn', '', '', 'queued', 0, 0, 0, '', '', 0)`, memtest.Ana, tooLong)
		}, memory.TooLarge, 2},
	} {
		t.Run(why, func(t *testing.T) {
			r := newGroupRig(t, pgtest.Schema(t))
			var first, second, last memory.Receipt
			if err := r.add(t.Context(), "first", &first)(); err != nil {
				t.Fatal(err)
			}
			release := r.hold(memtest.Ana)
			outcomes := r.queue(memtest.Ana, r.add(t.Context(), "second", &second), r.do(c.bad), r.add(t.Context(), "last", &last))
			before := r.commits.Load()
			release()
			if errs := outcomes(); errs[0] != nil || !errors.Is(errs[1], c.want) || errs[2] != nil {
				t.Errorf("calls whose second is refused: got %v", errs)
			}
			if got := r.commits.Load() - before - 1; got != c.commits { // one that held them back
				t.Errorf("got %d commits, want %d", got, c.commits)
			}
			if first.Version != 1 || second.Version != 2 || last.Version != 3 || !last.At.After(second.At) || second.Again || last.Again {
				t.Errorf("got receipts %+v, %+v and %+v, want one after the other", first, second, last)
			}
			counts, err := r.Counts(t.Context(), memtest.Ana)
			versions, err2 := r.Versions(t.Context(), []memory.Owner{memtest.Ana})
			if err != nil || err2 != nil || counts.Facts != 3 || counts.Changes != 3 || versions[0] != 3 {
				t.Errorf("got %+v, %v, version %d, %v; want three facts", counts, err, versions, err2)
			}
		})
	}
}

func TestPostgresCallerLeavesTheQueue(t *testing.T) {
	r := newGroupRig(t, pgtest.Schema(t))
	release := r.hold(memtest.Ana)
	ctx, cancel := context.WithCancel(t.Context())
	var left, stayed memory.Receipt
	gone := r.queue(memtest.Ana, r.add(ctx, "left", &left))
	stays := r.queue(memtest.Ana, r.add(t.Context(), "stayed", &stayed))
	cancel()
	if err := gone()[0]; !errors.Is(err, context.Canceled) { // while the row is still held
		t.Errorf("cancelled while waiting: got %v, want %v", err, context.Canceled)
	}
	release()
	if err := stays()[0]; err != nil || stayed.Version != 1 {
		t.Errorf("who stayed: got %+v, %v", stayed, err)
	}
	// And who waits for another server.
	db := pgtest.Open(t, pgtest.With(pgtest.Address(t), "search_path", schemaOf(t, r.Store)))
	other, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback() //nolint:errcheck // ended already
	if _, err := other.Exec(`SELECT 1 FROM owners FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- r.add(ctx, "left", &left)() }()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while another server holds the row: got %v, want %v", err, context.Canceled)
	}
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := r.add(t.Context(), "next", &stayed)(); err != nil || stayed.Version != 2 {
		t.Errorf("the next: got %+v, %v", stayed, err)
	}
}

func schemaOf(t *testing.T, s *Store) (name string) {
	t.Helper()
	rows, err := s.reads.ask(t.Context(), `SELECT current_schema()::text`)
	if err := only(rows, err, &name); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestPostgresGroupLosesTheAnswer cuts the connection off around the commit of several
// writes that share it: each is there once, and has its first receipt.
func TestPostgresGroupLosesTheAnswer(t *testing.T) {
	for _, heard := range []bool{false, true} {
		t.Run(fmt.Sprintf("heard=%v", heard), func(t *testing.T) {
			address := pgtest.Fresh(t)
			openServer(t, address, Options{}) // makes the tables
			way := startWire(t, address, heard)
			r := newGroupRig(t, way.address)
			for i := range 2 { // the connections that are used again have the statement prepared
				if err := r.SaveTraces(t.Context(), 9, memory.Trace{ID: fmt.Sprint(i), Owner: memtest.Ana}); err != nil {
					t.Fatal(err)
				}
			}
			release := r.hold(memtest.Ana)
			const writes = 5
			var receipts [writes]memory.Receipt
			var once sync.Once
			calls := []func() error{r.do(func(*tx) error {
				once.Do(func() { way.armed.Store(true) })
				return nil
			})}
			for i := range writes {
				calls = append(calls, r.add(t.Context(), fmt.Sprint("fact ", i), &receipts[i]))
			}
			outcomes := r.queue(memtest.Ana, calls...)
			release()
			for i, err := range outcomes()[1:] {
				if err != nil || receipts[i].Again || receipts[i].Version != int64(i+1) {
					t.Errorf("write %d: got %+v, %v; want the first receipt", i, receipts[i], err)
				}
			}
			if way.armed.Load() {
				t.Error("no commit was cut off: there is nothing to see here")
			}
			if counts, err := r.Counts(t.Context(), memtest.Ana); err != nil || counts.Facts != writes || counts.Changes != writes {
				t.Errorf("got %+v, %v; want each once", counts, err)
			}
		})
	}
}

// TestPostgresWritesOfAGroupSeeEachOther lets calls that share a transaction be about the
// same: what they asked before the first of them wrote does not hold for the next.
func TestPostgresWritesOfAGroupSeeEachOther(t *testing.T) {
	r := newGroupRig(t, pgtest.Schema(t))
	old := memtest.Fact(memtest.Ana, "old")
	first, err := r.Apply(t.Context(), memtest.Ana, memtest.Run("first"), memtest.Add(old))
	if err != nil {
		t.Fatal(err)
	}
	apply := func(run string, changes ...memory.Change) func() (memory.Receipt, error) {
		return func() (memory.Receipt, error) { return r.Apply(t.Context(), memtest.Ana, memtest.Run(run), changes...) }
	}
	say := func(place int) func() (memory.Receipt, error) {
		return func() (memory.Receipt, error) {
			return r.Append(t.Context(), memtest.Ana, memtest.Batch(memtest.Ana, "talk", place, "one", "two"))
		}
	}
	update := func(category string) memory.Change {
		next := old
		next.Category = category
		return memory.Change{Action: memory.ActionUpdate, After: memory.Image{Fact: &next}, Base: first.Version}
	}
	gone := old
	gone.Status = memory.Retired
	twin, again := memtest.Fact(memtest.Ana, "old"), memtest.Fact(memtest.Ana, "new")
	twin.ID, again.ID = "twin", "again"
	calls := []struct {
		do      func() (memory.Receipt, error)
		version int64
		again   bool
		fails   error
	}{
		{apply("new", memtest.Add(memtest.Fact(memtest.Ana, "new"))), 2, false, nil},
		{apply("new", memtest.Add(memtest.Fact(memtest.Ana, "new"))), 2, true, nil},
		{apply("new again", memtest.Add(memtest.Fact(memtest.Ana, "new"))), 0, false, memory.Conflict},
		{apply("the same", memtest.Add(again)), 0, false, memory.Duplicate},
		{apply("update", update("food")), 3, false, nil},
		{apply("late update", update("drink")), 0, false, memory.Conflict},
		{say(0), 4, false, nil},
		{say(0), 4, true, nil},
		{say(1), 5, false, nil},
		{apply("a duplicate", memtest.Add(twin)), 0, false, memory.Duplicate},
		{apply("retire", memory.Change{Action: memory.ActionRetire, After: memory.Image{Fact: &gone}}), 6, false, nil},
		{apply("in its place", memtest.Add(twin)), 7, false, nil},
	}
	receipts := make([]memory.Receipt, len(calls))
	var waiting []func() error
	for i, c := range calls {
		waiting = append(waiting, func() (err error) { receipts[i], err = c.do(); return err })
	}
	release := r.hold(memtest.Ana)
	outcomes := r.queue(memtest.Ana, waiting...)
	before := r.commits.Load()
	release()
	for i, err := range outcomes() {
		if c, got := calls[i], receipts[i]; !errors.Is(err, c.fails) || got.Version != c.version || got.Again != c.again {
			t.Errorf("call %d: got %+v, %v; want version %d, again %v, %v", i, got, err, c.version, c.again, c.fails)
		}
	}
	if got := r.commits.Load() - before; got != 2 {
		t.Errorf("got %d commits, want one for all and that of who held them back", got)
	}
}

// TestWhoCameLaterWaitsOn: when the owner's row was not to be had in time, those fail who
// waited for as long as they would, and nobody else.
func TestWhoCameLaterWaitsOn(t *testing.T) {
	for _, c := range []struct {
		err  error
		goes bool // on
	}{
		{&pgconn.PgError{Code: "57014"}, true},
		{&pgconn.PgError{Code: "55P03"}, true},
		{fmt.Errorf("begin to write: %w", context.DeadlineExceeded), true},
		{&pgconn.PgError{Code: "42501"}, false},
	} {
		at := func(until time.Time) *call {
			return &call{ctx: t.Context(), until: until, done: make(chan struct{})}
		}
		now := time.Now()
		early, late := at(now), at(now.Add(time.Hour))
		g := &group{server: &server{}, waiting: []*call{late, early}}
		if got := g.patience(); got.Before(now.Add(leastPatience)) || !got.Before(late.until) {
			t.Errorf("waits for the row until %v, want no longer than the first of those who wait", got)
		}
		if again := g.settle(c.err, retry.FirstWait); again != c.goes {
			t.Errorf("%v: tried again: %v, want %v", c.err, again, c.goes)
		}
		if !errors.Is(early.err, c.err) {
			t.Errorf("%v: who waited long enough got %v", c.err, early.err)
		}
		if waits := late.err == nil && len(g.waiting) == 1; waits != c.goes {
			t.Errorf("%v: who came later waits on: %v (%v), want %v", c.err, waits, late.err, c.goes)
		}
	}
}
