package engine

import (
	"context"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// TestWhatIsLearnedIsNotWaitedFor: the job that waits in case an answer never comes is
// listed until the exchange was learned from, and no longer.
func TestWhatIsLearnedIsNotWaitedFor(t *testing.T) {
	ctx := context.Background()
	owner := memory.User(memory.DefaultNamespace, "ana")
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, open)
			s.idle = true
			play(t, s, `user ana: I live in Berlin.`)
			if jobs, err := s.Lessons.Jobs(ctx, owner); err != nil || len(jobs) != 2 {
				t.Fatalf("before it is learned from: got %v (%v), want the exchange's job and the one in case it had none", jobs, err)
			}
			noError(t)(s.work(ctx))
			if jobs, err := s.Lessons.Jobs(ctx, owner); err != nil || len(jobs) != 0 {
				t.Errorf("afterwards: got %v (%v), want none", jobs, err)
			}
		})
	}
}
