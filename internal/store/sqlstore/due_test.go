package sqlstore

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestClaimsOverlookNothing queues, claims, ends, abandons and parks jobs at random
// while time passes, and compares each claim with what the list of all jobs says.
func TestClaimsOverlookNothing(t *testing.T) {
	for seed := range uint64(2) {
		t.Logf("seed %d", seed)
		clock := new(memtest.Clock)
		clock.SetStep(-1)
		path := filepath.Join(t.TempDir(), "loci.db")
		open := func() *Store {
			return try(OpenSQLite(t.Context(), path, Options{Now: clock.Now})).orFail(t)
		}
		s := open()
		defer func() { _ = s.Close() }()
		chance := rand.New(rand.NewPCG(seed, 1))
		playClaims(t, chance, clock, 400, func() *Store { return s }, func(what int) *Store {
			if what == 8 && chance.IntN(8) == 0 {
				noError(t)(s.Close())
				s = open()
				if err := s.EndLeases(t.Context()); err != nil && !errors.Is(err, memory.LeaseLost) && !errors.Is(err, memory.NotFound) {
					t.Fatal(err)
				}
			}
			return s
		})
	}
}

// playClaims plays so many steps by chance, each at the store that at returns, and
// compares each claim with what the list of all jobs says. Before what a step does (a
// number below 10; 9 does nothing by itself) it calls beside, and goes on with the store
// that it returns, if any.
func playClaims(t *testing.T, chance *rand.Rand, clock *memtest.Clock, steps int, at func() *Store, beside func(what int) *Store) {
	t.Helper()
	owners := []memory.Owner{memtest.Ana, memtest.Ben, memtest.Team}
	var held []memory.Lease
	check := func(err error) {
		t.Helper()
		if err != nil && !errors.Is(err, memory.LeaseLost) && !errors.Is(err, memory.NotFound) {
			t.Fatal(err)
		}
	}
	for step := range steps {
		s := at()
		owner, now := owners[chance.IntN(len(owners))], clock.Now()
		pick := func() memory.Lease {
			if len(held) == 0 {
				return memory.Lease{Owner: owner, Job: "none", Token: "none"}
			}
			return held[chance.IntN(len(held))]
		}
		what := chance.IntN(10)
		if other := beside(what); other != nil {
			s = other
		}
		switch what {
		case 0, 1, 2:
			run := memtest.Run(fmt.Sprint("queue ", step))
			j := memtest.Job(owner, anyKind[chance.IntN(len(anyKind))], fmt.Sprint(step))
			j.RunAt = now.Add(time.Duration(chance.IntN(9)-4) * time.Second)
			run.Jobs = []memory.Job{j}
			_, err := s.Apply(t.Context(), owner, run)
			check(err)
		case 3:
			check(s.Finish(t.Context(), pick(), memory.Outcome{Done: true}))
		case 4:
			check(s.Finish(t.Context(), pick(), memory.Outcome{RetryAt: now.Add(2 * time.Second), Park: chance.IntN(3) == 0}))
		case 5:
			l := pick()
			run := memtest.Run(fmt.Sprint("end ", step))
			run.Lease = &l
			_, err := s.Apply(t.Context(), l.Owner, run)
			check(err)
		case 6:
			clock.Advance(time.Duration(chance.IntN(3)) * time.Second)
		case 7:
			for _, j := range jobsOf(t, s, owner, memory.JobParked) {
				check(s.Requeue(t.Context(), owner, j.ID))
			}
		case 8:
			_, err := s.Extend(t.Context(), pick(), time.Duration(1+chance.IntN(5))*time.Second)
			check(err)
		}
		kinds := anyKind[:1+chance.IntN(len(anyKind))]
		want := claimable(t, s, owners, kinds, clock.Now())
		j, err := s.Claim(t.Context(), kinds, 3*time.Second)
		check(err)
		if j.ID != want {
			t.Fatalf("step %d: claimed %q of %v, want %q", step, j.ID, kinds, want)
		}
		if err == nil {
			held = append(held, j.Lease)
		}
	}
}

func jobsOf(t *testing.T, s *Store, owner memory.Owner, states ...memory.JobState) []memory.Job {
	t.Helper()
	return try(s.Jobs(t.Context(), owner, states...)).orFail(t)
}

// claimable returns the id of the job that a claim is to find, "" for none.
func claimable(t *testing.T, s *Store, owners []memory.Owner, kinds []memory.JobKind, now time.Time) string {
	t.Helper()
	wanted := map[memory.JobKind]bool{}
	for _, k := range kinds {
		wanted[k] = true
	}
	var best memory.Job
	for _, owner := range owners {
		jobs := jobsOf(t, s, owner)
		runs := map[memory.JobKind]bool{}
		for i, j := range jobs {
			if j.State != memory.JobRunning {
				continue
			}
			if j.Lease.Until.After(now) {
				runs[j.Kind] = true
			} else if jobs[i].State = memory.JobQueued; j.Attempts+1 >= memory.MaxAttempts || j.AbandonedAttempts()+1 >= memory.MaxAbandoned {
				jobs[i].State = memory.JobParked
			}
		}
		for _, j := range jobs {
			if j.State != memory.JobQueued || j.RunAt.After(now) || !wanted[j.Kind] || runs[j.Kind] {
				continue
			}
			if best.ID == "" || cmp.Or(j.RunAt.Compare(best.RunAt), j.CreatedAt.Compare(best.CreatedAt), cmp.Compare(j.Owner, best.Owner), cmp.Compare(j.ID, best.ID)) < 0 {
				best = j
			}
		}
	}
	return best.ID
}
