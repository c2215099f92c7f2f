package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func TestManyNewQuestionsAtOnceDoNotWaitForEachOther(t *testing.T) {
	s := try(OpenSQLite(context.Background(), filepath.Join(t.TempDir(), "loci.db"), Options{Now: (&memtest.Clock{}).Now})).orFail(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	noError(t)(s.Apply(ctx, memtest.Ana, memtest.Run("r"), memtest.Add(memtest.Fact(memtest.Ana, "User lives in Lisbon"))))
	const askers = 10 * readConns
	errs := make([]error, askers)
	var wg sync.WaitGroup
	for i := range askers {
		wg.Go(func() {
			ids := make([]string, i) // another statement for each
			for j := range ids {
				ids[j] = memtest.ID(fmt.Sprint(j))
			}
			_, get := s.Get(ctx, memtest.Ana, ids...)
			_, list := s.List(ctx, memtest.Ana, memory.Query{Kinds: []memory.Kind{memory.KindFact, memory.KindTurn}[:1+i%2], Pinned: i%3 == 0, Text: "lisbon"})
			errs[i] = errors.Join(get, list)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	noError(t)(s.Close()) // as after a kill, nobody finished the job
}

// TestPingDoesNotWaitForReaders holds every connection that reads.
func TestPingDoesNotWaitForReaders(t *testing.T) {
	s := try(OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "loci.db"), Options{})).orFail(t)
	defer s.Close() //nolint:errcheck // nothing was written
	pingWhileBusy(t, s)
}

func pingWhileBusy(t *testing.T, s *Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	hold := func(r *reader, ping func()) {
		for range cap(r.tokens) {
			rest := ping
			ping = func() {
				noError(t)(r.withSnapshot(ctx, memtest.Ana, func(v *view) error { rest(); return nil }))
			}
		}
		ping()
	}
	hold(s.reader, func() { hold(s.sinceReader, func() { noError(t)(s.Ping(ctx)) }) })
}

func TestACancelledReadLeavesTheConnectionUsable(t *testing.T) {
	s := try(OpenSQLite(context.Background(), filepath.Join(t.TempDir(), "loci.db"), Options{Now: (&memtest.Clock{}).Now})).orFail(t)
	defer s.Close()
	stop := errors.New("stop")
	for range 3 * sinceConns {
		ctx, cancel := context.WithCancel(context.Background())
		err := s.sinceReader.withSnapshot(ctx, memtest.Ana, func(v *view) error {
			cancel()
			_, err := v.query(`SELECT version FROM owners WHERE owner = ?1`)
			return errors.Join(stop, err)
		})
		if !errors.Is(err, stop) {
			t.Fatalf("got %v, want what the reader returned", err)
		}
	}
	if _, err := s.Since(context.Background(), memtest.Ana, "", 0, func(memory.IndexItem) error { return nil }); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestWorkOfADeadProcessIsDueAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loci.db")
	clock := &memtest.Clock{}
	open := func() *Store {
		return try(OpenSQLite(context.Background(), path, Options{Now: clock.Now})).orFail(t)
	}
	ctx := context.Background()
	s := open()
	batch := memtest.Batch(memtest.Ana, "c", 0, "I live in Lisbon")
	batch.Jobs = []memory.Job{memtest.Job(memtest.Ana, memory.JobLearn, "j")}
	noError(t)(s.Append(ctx, memtest.Ana, batch))
	dead := try(s.Claim(ctx, []memory.JobKind{memory.JobLearn}, time.Hour)).orFail(t)
	noError(t)(s.Close())
	s = open()
	defer s.Close()
	noError(t)(s.EndLeases(ctx))
	job, err := s.Claim(ctx, []memory.JobKind{memory.JobLearn}, time.Hour)
	if err != nil || job.ID != dead.ID || job.Attempts != 1 {
		t.Errorf("claimed %q with %d attempts, %v; want %q with 1", job.ID, job.Attempts, err, dead.ID)
	}
	if err := s.Finish(ctx, dead.Lease, memory.Outcome{Done: true}); !errors.Is(err, memory.LeaseLost) {
		t.Errorf("the dead worker's last word: %v, want lease lost", err)
	}
}
