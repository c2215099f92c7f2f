package sqlstore

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

var anyKind = []memory.JobKind{memory.JobLearn, memory.JobSummarize}

// enqueue queues jobs of one owner that become due one after the other.
func enqueue(t testing.TB, s *Store, owner memory.Owner, kind memory.JobKind, first time.Time, n int) {
	t.Helper()
	run := memtest.Run(fmt.Sprint("queue ", kind, first))
	for i := range n {
		j := memtest.Job(owner, kind, fmt.Sprintf("%s %d after %v", kind, i, first))
		j.RunAt = first.Add(time.Duration(i) * time.Millisecond)
		run.Jobs = append(run.Jobs, j)
	}
	noError(t)(s.Apply(t.Context(), owner, run))
}

// TestClaimPassesOverThoseAtWork has one owner at work with many due jobs, and another whose
// only job is due later than all of them.
func TestClaimPassesOverThoseAtWork(t *testing.T) { claimPassesOverThoseAtWork(t, newRig(t)) }

func TestPostgresClaimPassesOverThoseAtWork(t *testing.T) {
	claimPassesOverThoseAtWork(t, &rig{t: t, Store: openServer(t, pgtest.Schema(t), Options{})})
}

func claimPassesOverThoseAtWork(t *testing.T, r *rig) {
	past := time.Now().Add(-time.Hour)
	enqueue(t, r.Store, memtest.Ana, memory.JobLearn, past, 200)
	claim := func() (memory.Owner, string) {
		j, err := r.Claim(t.Context(), anyKind, time.Minute)
		if errors.Is(err, memory.NotFound) {
			return "", ""
		}
		if err != nil {
			t.Fatal(err)
		}
		return j.Owner, j.ID
	}
	if owner, _ := claim(); owner != memtest.Ana {
		t.Errorf("first: got a job of %q, want %q", owner, memtest.Ana)
	}
	if _, id := claim(); id != "" {
		t.Errorf("with the only owner at work: got %s, want none", id)
	}
	enqueue(t, r.Store, memtest.Ben, memory.JobLearn, past.Add(time.Minute), 1)
	enqueue(t, r.Store, memtest.Ana, memory.JobSummarize, past.Add(2*time.Minute), 1)
	enqueue(t, r.Store, memtest.Team, memory.JobLearn, time.Now().Add(time.Hour), 1)
	if owner, _ := claim(); owner != memtest.Ben {
		t.Errorf("second: got a job of %q, want %q", owner, memtest.Ben)
	}
	if owner, id := claim(); owner != memtest.Ana {
		t.Errorf("third: got %s of %q, want the other kind of %q", id, owner, memtest.Ana)
	}
	if _, id := claim(); id != "" {
		t.Errorf("with all at work: got %s, want none", id)
	}
	backlog, err := r.Backlog(t.Context())
	noError(t)(err)
	if all, err := r.Totals(t.Context()); err != nil || backlog != (memory.Counts{JobsQueued: all.JobsQueued, JobsDue: all.JobsDue}) || backlog.JobsQueued != 200 || backlog.JobsDue.Before(memory.Time(past)) {
		t.Errorf("the backlog is %+v, all there is %+v, %v", backlog, all, err)
	}
}

// TestClaimIsTheOldestFree compares the order in which jobs are claimed, at random
// while others run, with the plainest way to find the next.
func TestClaimIsTheOldestFree(t *testing.T) { claimIsTheOldestFree(t, newRig(t)) }

func TestPostgresClaimIsTheOldestFree(t *testing.T) {
	claimIsTheOldestFree(t, &rig{t: t, Store: openServer(t, pgtest.Schema(t), Options{})})
}

func claimIsTheOldestFree(t *testing.T, r *rig) {
	past := time.Now().Add(-time.Hour)
	owners := []memory.Owner{memtest.Ana, memtest.Ben, memtest.Team}
	for i, owner := range owners {
		for k, kind := range anyKind {
			enqueue(t, r.Store, owner, kind, past.Add(time.Duration(7*i+3*k)*time.Millisecond), 64)
		}
	}
	chance := rand.New(rand.NewPCG(1, 2))
	var held []memory.Lease
	for step := range 150 {
		if len(held) > 0 && chance.IntN(3) == 0 {
			i := chance.IntN(len(held))
			noError(t)(r.Finish(t.Context(), held[i], memory.Outcome{Done: true}))
			held[i] = held[len(held)-1]
			held = held[:len(held)-1]
			continue
		}
		want := oldestFree(t, r.Store, owners)
		j, err := r.Claim(t.Context(), anyKind, time.Hour)
		if err != nil && !errors.Is(err, memory.NotFound) {
			t.Fatal(err)
		}
		if j.ID != want {
			t.Fatalf("step %d: claimed %q, want %q", step, j.ID, want)
		}
		if j.ID != "" {
			held = append(held, j.Lease)
		}
	}
}

func oldestFree(t *testing.T, s *Store, owners []memory.Owner) string {
	t.Helper()
	var best memory.Job
	for _, owner := range owners {
		jobs := try(s.Jobs(t.Context(), owner)).orFail(t)
		running := map[memory.JobKind]bool{}
		for _, j := range jobs {
			running[j.Kind] = running[j.Kind] || j.State == memory.JobRunning
		}
		for _, j := range jobs {
			if running[j.Kind] {
				continue
			}
			if best.ID == "" || cmp.Or(j.RunAt.Compare(best.RunAt), j.CreatedAt.Compare(best.CreatedAt), cmp.Compare(j.Owner, best.Owner), cmp.Compare(j.ID, best.ID)) < 0 {
				best = j
			}
		}
	}
	return best.ID
}
