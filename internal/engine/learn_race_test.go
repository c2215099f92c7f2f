package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/memory"
)

// second is another process on the same store: an engine with an index of its own.
func (r *rig) second(t *testing.T) *rig {
	t.Helper()
	ix := index.New(r.Store, index.Options{Model: r.Embedder.Fingerprint()})
	parts := r.Parts
	parts.Searcher = ix
	e := New(parts, r.Opts)
	t.Cleanup(func() {
		e.Close()
		noError(t)(ix.Close())
	})
	return &rig{Engine: e, clock: r.clock}
}

// told keeps a talk to be learned from and returns its job, claimed.
func (r *rig) told(t *testing.T, owner memory.Owner, conversation string, said ...string) memory.Job {
	t.Helper()
	ctx := context.Background()
	talk := exchange.IngestRequest{Conversation: conversation, Learn: true}
	for _, s := range said {
		talk.Messages = append(talk.Messages, exchange.Message{Role: memory.RoleUser, Content: s})
	}
	kept := try(r.Exchange.Ingest(ctx, owner, talk)).orFail(t)
	r.clock.Advance(time.Second)
	job, err := r.Store.Claim(ctx, []memory.JobKind{memory.JobLearn}, time.Hour)
	if err != nil || job.ID != kept.JobID {
		t.Fatalf("claimed %s, %v; want %s", job.ID, err, kept.JobID)
	}
	return job
}

// late keeps a talk that is learned from by a job of another kind, and returns that,
// claimed: it goes on beside a learner of the same owner.
func (r *rig) late(t *testing.T, owner memory.Owner, conversation string, said ...string) memory.Job {
	t.Helper()
	ctx := context.Background()
	first := r.told(t, owner, conversation, said...)
	noError(t)(r.Store.Finish(ctx, first.Lease, memory.Outcome{Done: true}))
	turns := try(r.Store.Turns(ctx, owner, memory.TurnQuery{Conversation: conversation})).orFail(t)
	queued := memory.Job{ID: core.NewID(), Owner: owner, Kind: memory.JobRelearn, Conversation: conversation}
	for _, turn := range turns {
		queued.Turns = append(queued.Turns, turn.ID)
	}
	noError(t)(r.Store.Apply(ctx, owner, memory.Run{ID: core.NewID(), Kind: "test", Jobs: []memory.Job{queued}}))
	job, err := r.Store.Claim(ctx, []memory.JobKind{memory.JobRelearn}, time.Hour)
	if err != nil || job.ID != queued.ID {
		t.Fatalf("claimed %s, %v; want %s", job.ID, err, queued.ID)
	}
	return job
}

// Two learn at once, and the other one commits when the plan of the first stands.
// Nothing is there twice, nothing is lost, and the newer statement holds.
func TestAnotherLearnerInBetween(t *testing.T) {
	cases := map[string]struct {
		known, earlier, later string
		want                  []string
	}{
		"the same":      {"", "I play the cello.", "I play the cello.", []string{"User plays the cello"}},
		"overlapping":   {"", "I play the cello. I have a cat named Tom.", "I have a cat named Tom. I work as a nurse.", []string{"User has a cat named Tom", "User plays the cello", "User works as a nurse"}},
		"contradicting": {"", "I live in Berlin.", "I live in Lisbon.", []string{"User lives in Lisbon"}},
		"both replace":  {"I live in Rome.", "I live in Berlin.", "I live in Lisbon.", []string{"User lives in Lisbon"}},
		"both repeat":   {"I play the cello.", "I play the cello!", "As I said, I play the cello.", []string{"User plays the cello"}},
		"forgetting":    {"I play the cello.", "I play the cello. I have a cat named Tom.", "Please forget that I play the cello.", nil},
	}
	for name, c := range cases {
		for _, call := range []string{"Versions", "Apply"} {
			for _, first := range []string{"earlier", "later"} {
				t.Run(fmt.Sprintf("%s/the other before %s/%s planned first", name, call, first), func(t *testing.T) {
					onEach(t, func(t *testing.T, r *rig) {
						if c.known != "" {
							noError(t)(r.Lessons.Learn(t.Context(), r.told(t, ana, "known", c.known)))
						}
						early, late := r.late(t, ana, "one", c.earlier), r.told(t, ana, "two", c.later)
						other := r.second(t)
						learnBetween(t, r, other, call, first, early, late)
						got := r.contents(t, ana, memory.Query{Statuses: []memory.Status{memory.Active, memory.Pending}})
						if name == "forgetting" {
							if slices.Contains(got, "User plays the cello") {
								t.Errorf("facts %q, want no cello", got)
							}
							return
						}
						if !slices.Equal(got, c.want) {
							t.Errorf("facts %q, want %q", got, c.want)
						}
						r.sound(t, ana)
					})
				})
			}
		}
	}
}

// learnBetween lets r do one of two jobs, and other do the other one when r makes
// the call that follows its plan.
func learnBetween(t *testing.T, r, other *rig, call, first string, early, late memory.Job) {
	t.Helper()
	ctx := context.Background()
	mine, its := func() error { _, err := r.Lessons.HandleRelearn(ctx, early); return err }, func() error { _, err := other.Lessons.Learn(ctx, late); return err }
	if first == "later" {
		mine, its = func() error { _, err := r.Lessons.Learn(ctx, late); return err }, func() error { _, err := other.Lessons.HandleRelearn(ctx, early); return err }
	}
	versions, let := 0, false
	r.hook(func(now string) error {
		if now == "Versions" {
			versions++
		}
		if !let && (call == "Versions" && versions == 2 || call == "Apply" && strings.HasPrefix(now, "Apply")) {
			let = true
			return its()
		}
		return nil
	}, func(string) error { return nil })
	err := mine()
	for try := 0; errors.Is(err, memory.Unavailable) && try < 3; try++ { // as the job runner would
		err = mine()
	}
	if err != nil || !let {
		t.Fatalf("learned with %v; the other was let in: %v", err, let)
	}
}

// sound checks what holds of an owner's memory whatever was done to it.
func (r *rig) sound(t *testing.T, owner memory.Owner) {
	t.Helper()
	for _, wrong := range r.unsound(t, owner) {
		t.Error(wrong)
	}
}

// A learner whose job another took commits nothing, whatever kind of work it is and
// however many pieces it has.
func TestWhoLostTheLeaseCommitsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.Opts.Learn.Summary.EveryExchanges = 2
		s := &scene{rig: r, chats: map[string][]chatMessage{}, names: map[string]string{"ana": "branch"}, reply: "OK."}
		for _, line := range []string{"user ana: Hello!", "user ana: I live in Berlin.", "user ana: I play the cello.", "user ana: I have a dog named Rex."} {
			noError(t)(s.step(line))
		}
		r.Opts.Learn.Upkeep.UserLimit = 1
		s.idle = true
		for _, line := range []string{
			"edit ana 2: Never mind. I work as a nurse.", "named chat ana: wish",
			"user ana: I have a cat named Tom.", "user ana: Please forget that I have a dog. I was born in Bremen.", "user ana: I drive a red Volvo.",
		} {
			noError(t)(s.step(line))
		}
		r.clock.Advance(time.Hour)
		for kind, handle := range r.handlers() {
			if kind == memory.JobRelearn || kind == memory.JobUpkeep {
				queued := memory.Job{ID: core.NewID(), Owner: ana, Kind: kind, Conversation: "wish"}
				turns := try(r.Store.Turns(ctx, ana, memory.TurnQuery{Conversation: "wish"})).orFail(t)
				for _, turn := range turns {
					queued.Turns = append(queued.Turns, turn.ID)
				}
				noError(t)(r.Store.Apply(ctx, ana, memory.Run{ID: core.NewID(), Kind: "test", Jobs: []memory.Job{queued}}))
			}
			worked := 0
			for {
				stale, err := r.Store.Claim(ctx, []memory.JobKind{kind}, time.Minute)
				if errors.Is(err, memory.NotFound) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				worked++
				r.clock.Advance(2 * time.Minute)
				held, err := r.Store.Claim(ctx, []memory.JobKind{kind}, time.Hour)
				if err != nil || held.ID != stale.ID {
					t.Fatalf("claimed %s, %v; want %s again", held.ID, err, stale.ID)
				}
				before := portrait(t, r.Store, ana)
				if end, err := handle(ctx, stale); err != nil && !errors.Is(err, memory.LeaseLost) || end == "applied" {
					t.Errorf("%s: %q, %v; want the lease to be lost", kind, end, err)
				}
				if after := portrait(t, r.Store, ana); after != before {
					t.Errorf("%s %s changed something after its lease was lost:\n%s", kind, stale.ID, lineDiff(before, after))
				}
				noError(t)(r.Store.Finish(ctx, held.Lease, memory.Outcome{Done: true}))
			}
			if worked == 0 {
				t.Errorf("there was no job of kind %s", kind)
			}
		}
	})
}
