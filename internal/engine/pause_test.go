package engine

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/memory"
)

func TestPauseHoldsLearning(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		say := func(words string) error {
			_, err := r.Exchange.Ingest(ctx, ana, exchange.IngestRequest{Conversation: "c", Learn: true, Messages: []exchange.Message{{Role: memory.RoleUser, Content: words}}})
			if err != nil {
				return err
			}
			return r.work(ctx)
		}
		if got := r.CurrentPause(ctx, ana); got != core.PauseNone {
			t.Errorf("at first: %q, want %q", got, core.PauseNone)
		}
		noError(t)(r.SetPause(ctx, ana, core.PauseLearning, "", her))
		noError(t)(say("I live in Porto."))
		noError(t)(r.SetPause(ctx, ana, core.PauseMemory, "", her))
		if err := say("I have a cat named Miso."); !errors.Is(err, memory.Conflict) {
			t.Errorf("talk while memory is paused: %v, want %s", err, memory.Conflict)
		}
		noError(t)(r.SetPause(ctx, ana, core.PauseNone, "", her))
		noError(t)(say("I work as a nurse."))
		if got := r.contents(t, ana, memory.Query{}); len(got) != 1 {
			t.Errorf("facts: %q, want what was said after the pause alone", got)
		}
		if err := r.SetPause(ctx, ana, "for ever", "", her); !errors.Is(err, memory.Invalid) {
			t.Errorf("no such pause: %v, want %s", err, memory.Invalid)
		}
		if got := r.CurrentPause(ctx, ben); got != core.PauseNone {
			t.Errorf("somebody else: %q, want %q", got, core.PauseNone)
		}
	})
}

// Another process on the same store sees a pause at once.
func TestPauseIsSeenElsewhere(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		there := New(r.Parts, r.Opts)
		if got := there.CurrentPause(ctx, ana); got != core.PauseNone {
			t.Errorf("there, at first: %q, want %q", got, core.PauseNone)
		}
		noError(t)(r.SetPause(ctx, ana, core.PauseMemory, "", her))
		if got := there.CurrentPause(ctx, ana); got != core.PauseMemory {
			t.Errorf("there, after it: %q, want %q", got, core.PauseMemory)
		}
	})
}

// slowProfile takes longer with the profile than a chat waits for what it reads, the
// first so many times.
type slowProfile struct {
	memory.Store
	slow atomic.Int64
}

func (s *slowProfile) Profile(ctx context.Context, owner memory.Owner, at memory.At) ([]memory.ProfileEntry, error) {
	if s.slow.Add(-1) >= 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Store.Profile(ctx, owner, at)
}

// What a user says whose memory is on hold leaves no words and teaches nothing, though
// the store cannot say so when the chat begins, or it is put on hold by another process
// while the chat is under way. Of a chat of which it is never known nothing is kept.
func TestAPauseHoldsThatTheChatDidNotKnowOf(t *testing.T) {
	for name, c := range map[string]struct {
		pause, late core.Pause // before the chat, and between its opening and its recording
		slow        int64
		want        []string
		facts       int
	}{
		"none":                     {core.PauseNone, "", 0, []string{"I live in Lisbon.", "OK."}, 1},
		"none, slow":               {core.PauseNone, "", 1, []string{"I live in Lisbon.", "OK."}, 1},
		"memory, slow":             {core.PauseMemory, "", 1, []string{"", ""}, 0},
		"learning, slow":           {core.PauseLearning, "", 1, []string{"I live in Lisbon.", "OK."}, 0},
		"memory, while it goes on": {core.PauseNone, core.PauseMemory, 0, []string{"", ""}, 0},
		"never known":              {core.PauseNone, "", 1 << 30, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, stores["inmem"])
				ctx := context.Background()
				there := New(r.Parts, r.Opts)
				put := func(p core.Pause) {
					noError(t)(there.SetPause(ctx, ana, p, "", her))
				}
				plain := r.Store
				put(c.pause)
				slow := &slowProfile{Store: plain}
				slow.slow.Store(c.slow)
				r.Store = slow
				x := r.Exchange.Open(ctx, exchange.Incoming{Owner: ana, Chat: decode(t, `[{"role":"user","content":"I live in Lisbon."}]`), ChatID: "c"})
				if p := x.Prepare(ctx); p.WasRead != (c.slow == 0) {
					t.Errorf("memory was read: %v, want it only where the pause is known", p.WasRead)
				}
				if c.late != "" {
					put(c.late)
				}
				x.RecordQuestion(ctx)
				x.RecordAnswer(ctx, answered("OK."))
				r.Close()
				r.Store = plain
				r.clock.Advance(exchange.LearnGrace)
				noError(t)(r.work(ctx))
				turns := try(plain.Turns(ctx, ana, memory.TurnQuery{Conversation: "c", Statuses: []memory.Status{memory.Active, memory.Retired}})).orFail(t)
				var said []string
				for _, turn := range turns {
					said = append(said, turn.Content)
				}
				if facts := r.contents(t, ana, memory.Query{}); !slices.Equal(said, c.want) || len(facts) != c.facts {
					t.Errorf("kept %q and learned %q; want %q and %d facts", said, facts, c.want, c.facts)
				}
			})
		})
	}
}
