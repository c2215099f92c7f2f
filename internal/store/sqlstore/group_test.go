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
	r := &groupRig{t: t}
	r.Store = openServer(t, address, Options{failpoint: func(point string) {
		if point == afterCommit {
			r.commits.Add(1)
		}
	}})
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
func (r *groupRig) queue(ctx context.Context, owner memory.Owner, calls ...func(*tx) error) (outcomes func() []error) {
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
		go func() { results[i] <- r.write(ctx, owner, do) }()
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
func add(owner memory.Owner, name string, receipt *memory.Receipt) func(*tx) error {
	return func(t *tx) (err error) {
		*receipt, err = t.apply(owner, memtest.Run(name), []memory.Change{memtest.Add(memtest.Fact(owner, name))})
		return err
	}
}

func TestPostgresWaitingWritesShareACommit(t *testing.T) {
	refusal := errors.New("refused")
	tooLong := strings.Repeat("0123456789abcdef", 1000) // for an index, as long as it does not compress
	random := memtest.IDs{}
	for len(tooLong) < 40_000 {
		tooLong += random.New()
	}
	for why, c := range map[string]struct {
		bad     func(receipt *memory.Receipt) func(*tx) error
		want    error
		commits int64
	}{
		"refused before it wrote": {func(r *memory.Receipt) func(*tx) error {
			return func(tx *tx) error {
				if err := add(memtest.Ana, "first", r)(tx); err != nil || !r.Again {
					return fmt.Errorf("got %+v, %w", *r, err)
				}
				return memory.Errorf(memory.Conflict, "refused")
			}
		}, memory.Conflict, 1},
		"refused with all it wrote waiting": {func(*memory.Receipt) func(*tx) error {
			return func(tx *tx) error {
				if err := tx.exec(`UPDATE owners SET version = version + 7 WHERE owner = ?`, memtest.Ana); err != nil {
					return err
				}
				return memory.Errorf(memory.Conflict, "refused")
			}
		}, memory.Conflict, 1},
		"refused after it wrote": {func(r *memory.Receipt) func(*tx) error {
			return func(tx *tx) error {
				if err := add(memtest.Ana, "refused", r)(tx); err != nil {
					return err
				}
				return errors.Join(tx.row(`SELECT 1`, nil, new(int)), refusal)
			}
		}, refusal, 2},
		"refused by the server, at the end": {func(*memory.Receipt) func(*tx) error {
			return func(tx *tx) error {
				return tx.exec(`INSERT INTO jobs (owner, id, kind, conversation, turns, state, attempts, run_at, created_at, error, token, lease_until)
					VALUES (?, ?, 'learn', '', '', 'queued', 0, 0, 0, '', '', 0)`, memtest.Ana, tooLong)
			}
		}, memory.TooLarge, 2},
	} {
		t.Run(why, func(t *testing.T) {
			r := newGroupRig(t, pgtest.Schema(t))
			var first, second, bad, last memory.Receipt
			if err := r.write(t.Context(), memtest.Ana, add(memtest.Ana, "first", &first)); err != nil {
				t.Fatal(err)
			}
			release := r.hold(memtest.Ana)
			outcomes := r.queue(t.Context(), memtest.Ana, add(memtest.Ana, "second", &second), c.bad(&bad), add(memtest.Ana, "last", &last))
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
	gone := r.queue(ctx, memtest.Ana, add(memtest.Ana, "left", &left))
	stays := r.queue(t.Context(), memtest.Ana, add(memtest.Ana, "stayed", &stayed))
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
	go func() { result <- r.write(ctx, memtest.Ana, add(memtest.Ana, "left", &left)) }()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while another server holds the row: got %v, want %v", err, context.Canceled)
	}
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := r.write(t.Context(), memtest.Ana, add(memtest.Ana, "next", &stayed)); err != nil || stayed.Version != 2 {
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
			var calls []func(*tx) error
			for i := range writes {
				calls = append(calls, add(memtest.Ana, fmt.Sprint("fact ", i), &receipts[i]))
			}
			var once sync.Once
			write := calls[0]
			calls[0] = func(t *tx) error {
				once.Do(func() { way.armed.Store(true) })
				return write(t)
			}
			outcomes := r.queue(t.Context(), memtest.Ana, calls...)
			release()
			for i, err := range outcomes() {
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
