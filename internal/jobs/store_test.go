package jobs

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/memory"
)

// TestOnARealStore runs a job whose handler takes longer than its lease and then
// applies a run under the lease it was given.
func TestOnARealStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := inmem.Open(inmem.Options{Now: time.Now})
		defer store.Close()
		var calls atomic.Int32
		r := New(store, map[memory.JobKind]Handler{memory.JobLearn: func(ctx context.Context, j memory.Job) (Completion, error) {
			if calls.Add(1) == 1 {
				panic("the first attempt fails")
			}
			time.Sleep(5 * DefaultLease)
			_, err := store.Apply(ctx, j.Owner, memory.Run{ID: "run-" + j.ID, Kind: "learn", Lease: &j.Lease, Learned: j.Turns})
			return Applied, err
		}}, Options{})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()

		said := time.Now()
		_, err := store.Append(ctx, ana, memory.Batch{
			Conversation: memory.Conversation{ID: "c", Owner: ana, CreatedAt: said, UpdatedAt: said},
			Turns: []memory.Turn{{
				ID: "t", Owner: ana, Conversation: "c", Role: memory.RoleUser, Content: "I live in Lisbon.", Chain: "x",
				Status: memory.Active, CreatedAt: said,
			}},
			Jobs: []memory.Job{{ID: "j", Owner: ana, Kind: memory.JobLearn, Conversation: "c", Turns: []string{"t"}, State: memory.JobQueued, RunAt: said, CreatedAt: said}},
		})
		if err != nil {
			t.Fatal(err)
		}
		r.Wake()
		time.Sleep(time.Hour)
		drain(t, r)
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}

		left, err := store.Jobs(t.Context(), ana)
		if err != nil || len(left) != 0 || calls.Load() != 2 {
			t.Errorf("%d calls, jobs left %+v, %v; want the second attempt to complete it", calls.Load(), left, err)
		}
		turns, err := store.Turns(t.Context(), ana, memory.TurnQuery{IDs: []string{"t"}})
		if err != nil || len(turns) != 1 || turns[0].LearnedAt.IsZero() {
			t.Errorf("turns %+v, %v; want the turn marked as learned", turns, err)
		}
	})
}
