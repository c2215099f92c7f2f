package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

func TestPauseHoldsLearning(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		say := func(words string) error {
			_, err := r.Ingest(ctx, ana, Talk{Conversation: "c", Infer: true, Messages: []Said{{Role: memory.RoleUser, Content: words}}})
			if err != nil {
				return err
			}
			return r.work(ctx)
		}
		if got := r.Paused(ctx, ana); got != PauseNone {
			t.Errorf("at first: %q, want %q", got, PauseNone)
		}
		if err := r.Pause(ctx, ana, PauseLearning, "", her); err != nil {
			t.Fatal(err)
		}
		if err := say("I live in Porto."); err != nil {
			t.Fatal(err)
		}
		if err := r.Pause(ctx, ana, PauseMemory, "", her); err != nil {
			t.Fatal(err)
		}
		if err := say("I have a cat named Miso."); !errors.Is(err, memory.Conflict) {
			t.Errorf("talk while memory is paused: %v, want %s", err, memory.Conflict)
		}
		if err := r.Pause(ctx, ana, PauseNone, "", her); err != nil {
			t.Fatal(err)
		}
		if err := say("I work as a nurse."); err != nil {
			t.Fatal(err)
		}
		if got := r.contents(t, ana, memory.Query{}); len(got) != 1 {
			t.Errorf("facts: %q, want what was said after the pause alone", got)
		}
		if err := r.Pause(ctx, ana, "for ever", "", her); !errors.Is(err, memory.Invalid) {
			t.Errorf("no such pause: %v, want %s", err, memory.Invalid)
		}
		if got := r.Paused(ctx, ben); got != PauseNone {
			t.Errorf("somebody else: %q, want %q", got, PauseNone)
		}
	})
}

// Another process sees a pause when what it knows has grown old.
func TestPauseIsSeenElsewhere(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		there := New(r.Parts, r.opts)
		if got := there.Paused(ctx, ana); got != PauseNone {
			t.Errorf("there, at first: %q, want %q", got, PauseNone)
		}
		if err := r.Pause(ctx, ana, PauseMemory, "", her); err != nil {
			t.Fatal(err)
		}
		r.clock.Advance(2 * time.Second)
		if got := there.Paused(ctx, ana); got != PauseMemory {
			t.Errorf("there, two seconds later: %q, want %q", got, PauseMemory)
		}
	})
}
