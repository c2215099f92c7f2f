package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// RunConcurrent checks the rules for concurrent use of a store.
func RunConcurrent(t *testing.T, open Open) {
	runScripts(t, open, "scripts/together")
	for _, r := range []rule{
		{"VersionsAreDense", versionsAreDense},
		{"BaseLetsOneThrough", oneWritePerBase},
		{"EachJobRunsOnceAndAlone", eachJobRunsOnceAndAlone},
		{"ReadersSeeWholeRuns", readersSeeWholeRuns},
	} {
		t.Run(r.name, func(t *testing.T) { r.check(newRig(t, open)) })
	}
}

const (
	workers = 8
	rounds  = 12
)

// runConcurrently calls f in 8 goroutines at once and waits for all. The goroutines use the replicas of the
// store in turn.
func (r *rig) runConcurrently(f func(s memory.Store, worker int)) {
	var group sync.WaitGroup
	start := make(chan struct{})
	for w := range workers {
		group.Go(func() {
			<-start
			f(r.stores[w%len(r.stores)], w)
		})
	}
	close(start)
	group.Wait()
}

func versionsAreDense(r *rig) {
	var mu sync.Mutex
	at := map[int64]time.Time{}
	r.runConcurrently(func(s memory.Store, w int) {
		for i := range rounds {
			var receipt memory.Receipt
			var err error
			if (w+i)%2 == 0 {
				receipt, err = s.Append(r.Context(), ana, memtest.Batch(ana, fmt.Sprint("c", w), i, "hello"))
			} else {
				receipt, err = s.Apply(r.Context(), ana, memtest.Run(fmt.Sprint(w, " ", i)), memtest.Add(memtest.Fact(ana, fmt.Sprint(w, i))))
			}
			if err != nil {
				r.Errorf("write %d of worker %d: %v", i, w, err)
				return
			}
			mu.Lock()
			if was, ok := at[receipt.Version]; ok {
				r.Errorf("two writes have version %d, at %v and %v", receipt.Version, was, receipt.At)
			}
			at[receipt.Version] = receipt.At
			mu.Unlock()
		}
	})
	versions := slices.Sorted(maps.Keys(at))
	for i, v := range versions {
		if v != int64(i+1) {
			r.Fatalf("versions: got %v, want 1 to %d", versions, workers*rounds)
		}
		if i > 0 && !at[v].After(at[v-1]) {
			r.Errorf("version %d at %v is not later than the previous version at %v", v, at[v], at[v-1])
		}
	}
	r.checkEqual("version", r.version(ana), int64(workers*rounds))
}

func oneWritePerBase(r *rig) {
	f := r.addFacts(ana, "counted")[0]
	var won atomic.Int64
	r.runConcurrently(func(s memory.Store, w int) {
		for i := range rounds {
			read, err := s.Get(r.Context(), ana, f.ID)
			if err != nil || len(read) != 1 {
				r.Errorf("get: %v, %v", read, err)
				return
			}
			next := *read[0].Fact
			next.ObservedSeq++
			c := memtest.Change(memory.ActionReinforce, next)
			c.Base = read[0].Fact.Version
			_, err = s.Apply(r.Context(), ana, memtest.Run(fmt.Sprint(w, " ", i)), c)
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, memory.Conflict):
				r.Errorf("reinforce: got %v, want %s or nothing", err, memory.Conflict)
			}
		}
	})
	if got := r.fact(ana, f.ID).ObservedSeq; got != won.Load() || got == 0 {
		r.Errorf("counter: got %d, want %d, one for each applied change", got, won.Load())
	}
}

func eachJobRunsOnceAndAlone(r *rig) {
	owners := []memory.Owner{ana, ben, team}
	kinds := []memory.JobKind{memory.JobLearn, memory.JobEmbed}
	want := 0
	for i := range rounds {
		for _, o := range owners {
			for _, k := range kinds {
				run := r.nextRun()
				run.Jobs = []memory.Job{memtest.Job(o, k, fmt.Sprint(k, i))}
				r.applyRun(o, run)
				want++
			}
		}
	}
	type ownerAndKind struct {
		owner memory.Owner
		kind  memory.JobKind
	}
	var mu sync.Mutex // guards running and attempts
	running, attempts := map[ownerAndKind]string{}, map[string]int{}
	r.runConcurrently(func(s memory.Store, _ int) {
		for {
			j, err := s.Claim(r.Context(), kinds, time.Hour)
			if errors.Is(err, memory.NotFound) {
				mu.Lock()
				busy := len(running) > 0
				mu.Unlock()
				if busy {
					continue
				}
				// Nothing was running, so any remaining job would be due.
				if j, err = s.Claim(r.Context(), kinds, time.Hour); errors.Is(err, memory.NotFound) {
					return
				}
			}
			if err != nil {
				r.Errorf("claim: %v", err)
				return
			}
			at := ownerAndKind{j.Owner, j.Kind}
			mu.Lock()
			if other := running[at]; other != "" {
				r.Errorf("%s runs while %s of the same owner and kind runs", j.ID, other)
			}
			running[at] = j.ID
			attempts[j.ID]++
			mu.Unlock()

			run := memtest.Run("done " + j.ID)
			run.Lease = &j.Lease
			mu.Lock()
			delete(running, at) // before the commit: the next job may start as soon as the run is committed
			mu.Unlock()
			if _, err := s.Apply(r.Context(), j.Owner, run); err != nil {
				r.Errorf("complete %s: %v", j.ID, err)
				return
			}
		}
	})
	for id, n := range attempts {
		if n != 1 {
			r.Errorf("job %s ran %d times, want once", id, n)
		}
	}
	for _, o := range owners {
		for _, j := range r.jobs(o) {
			r.Errorf("job %s of %s is %s, want done", j.ID, o, j.State)
		}
	}
	r.checkEqual("jobs that ran", len(attempts), want)
}

func readersSeeWholeRuns(r *rig) {
	ctx, stop := context.WithCancel(r.Context())
	var readers sync.WaitGroup
	followIndex := func(s memory.Store) {
		seen, lastVersion := map[string]bool{}, int64(0)
		for ctx.Err() == nil {
			version, err := s.Since(r.Context(), ana, embedderFingerprint, lastVersion, func(i memory.IndexItem) error {
				seen[i.ID] = !i.Removed
				return nil
			})
			if err != nil {
				r.Errorf("since %d: %v", lastVersion, err)
				return
			}
			if version < lastVersion {
				r.Errorf("since %d: got version %d, which is lower", lastVersion, version)
			}
			lastVersion = version
			// Every run adds two facts, so the number of facts is twice the version.
			if len(seen) != 2*int(lastVersion) {
				r.Errorf("at version %d: got %d facts, want %d", lastVersion, len(seen), 2*lastVersion)
				return
			}
		}
	}
	list := func(s memory.Store) {
		for ctx.Err() == nil {
			n, err := s.Counts(r.Context(), ana)
			if err != nil || n.Facts%2 != 0 || n.Changes != n.Facts {
				r.Errorf("counts: got %+v, %v; want an even number of facts and as many changes", n, err)
				return
			}
		}
	}
	for i, read := range []func(memory.Store){followIndex, followIndex, list} {
		readers.Go(func() { read(r.stores[i%len(r.stores)]) })
	}
	r.runConcurrently(func(s memory.Store, w int) {
		for i := range rounds {
			name := fmt.Sprint(w, " ", i)
			_, err := s.Apply(r.Context(), ana, memtest.Run(name), memtest.Add(memtest.Fact(ana, name+" a")), memtest.Add(memtest.Fact(ana, name+" b")))
			if err != nil {
				r.Errorf("apply: %v", err)
			}
		}
	})
	stop()
	readers.Wait()
}
