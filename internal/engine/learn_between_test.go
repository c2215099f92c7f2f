package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/memory"
)

// A person forgets or erases while a summary of it is being written: no summary ever has it.
func TestWhatIsForgottenWhileItIsSummedUpIsNotInTheSummary(t *testing.T) {
	for _, erase := range []bool{false, true} {
		t.Run(fmt.Sprint("erase ", erase), func(t *testing.T) { forgetWhileSummingUp(t, erase) })
	}
}

func forgetWhileSummingUp(t *testing.T, erase bool) {
	for _, llm := range []memory.LLM{nil, answering(func(p memory.Prompt) string {
		if p.Name != "summarize" {
			return "NOTHING"
		}
		if strings.Contains(p.User, "peanuts") {
			return "- allergic to peanuts"
		}
		return "- plays the cello"
	})} {
		onEach(t, func(t *testing.T, r *rig) {
			ctx := context.Background()
			r.LLM = llm
			r.Opts.Learn.Summary.EveryExchanges = 3
			s := &scene{rig: r, chats: map[string][]chatMessage{}, names: map[string]string{"ana": "c"}, reply: "I see what you mean.", last: map[string]string{}}
			for _, line := range []string{"user ana: I am allergic to peanuts.", "user ana: I play the cello in an orchestra."} {
				noError(t)(s.step(line))
			}
			var turn string
			for _, found := range r.turns(t, ana) {
				if strings.Contains(found.Content, "peanuts") {
					turn = found.ID
				}
			}
			forgotten := false
			other := r.second(t)
			r.hook(func(call string) error {
				if call == "Apply summarize" && !forgotten {
					forgotten = true
					_, _, err := other.Curate.ForgetMatching(ctx, ana, curate.ForgetRequest{IDs: []string{turn}, Erase: erase}, her)
					return err
				}
				return nil
			}, func(string) error { return nil })
			noError(t)(s.step("user ana: I need a flat in Lisbon by May."))
			if !forgotten {
				t.Fatal("nothing was summed up")
			}
			got := r.contents(t, ana, memory.Query{Kinds: []memory.Kind{memory.KindSummary}})
			if len(got) != 1 || strings.Contains(got[0], "peanuts") {
				t.Errorf("summaries %q, want one without what was forgotten", got)
			}
			all := r.contents(t, ana, memory.Query{Kinds: []memory.Kind{memory.KindSummary}, Statuses: core.AllStatuses})
			if slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, "peanuts") }) {
				t.Errorf("of all summaries, %q, one has the words", all)
			}
		})
	}
}

// turns returns an owner's turns in recall.
func (r *rig) turns(t *testing.T, owner memory.Owner) []memory.Turn {
	t.Helper()
	return try(r.Store.Turns(context.Background(), owner, memory.TurnQuery{})).orFail(t)
}

// A pause that begins between a question and its answer: what was said before it is
// learned, and what is said in it is not.
func TestAPauseBetweenQuestionAndAnswer(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		ask := func(messages string, between core.Pause) {
			x := r.Exchange.Open(ctx, exchange.Incoming{Owner: ana, Chat: decode(t, messages), ChatID: "c"})
			x.Prepare(ctx)
			x.RecordQuestion(ctx)
			if between != "" {
				noError(t)(r.SetPause(ctx, ana, between, "", her))
			}
			x.RecordAnswer(ctx, answered("OK."))
			noError(t)(r.work(ctx))
		}
		ask(`[{"role":"user","content":"I live in Lisbon."}]`, core.PauseLearning)
		ask(`[{"role":"user","content":"I live in Lisbon."},{"role":"assistant","content":"OK."},{"role":"user","content":"I play the cello."}]`, core.PauseNone)
		ask(`[{"role":"user","content":"I live in Lisbon."},{"role":"assistant","content":"OK."},{"role":"user","content":"I play the cello."},{"role":"assistant","content":"OK."},{"role":"user","content":"I work as a nurse."}]`, "")
		got := r.contents(t, ana, memory.Query{})
		if want := []string{"User lives in Lisbon", "User works as a nurse"}; !slices.Equal(got, want) {
			t.Errorf("facts %q, want %q", got, want)
		}
		if path := r.path(t, "c"); len(path) != 6 {
			t.Errorf("path %q, want all that was said", path)
		}
	})
}

// A wish that is read late is about what was known when it was made.
func TestAWishIsAboutWhatWasSaidBeforeIt(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.note(t, ana, "User's birthday is March 9")
		r.clock.Advance(time.Minute)
		job := r.told(t, ana, "c", "Please forget my birthday.")
		r.clock.Advance(time.Minute)
		r.note(t, ana, "User's birthday is May 3")
		noError(t)(r.Lessons.Learn(ctx, job))
		if got, want := r.contents(t, ana, memory.Query{}), []string{"User's birthday is May 3"}; !slices.Equal(got, want) {
			t.Errorf("facts %q, want %q", got, want)
		}
	})
}

// TestAWishForNothingKnownIsTalk has somebody say that something is over in the words of an order to
// forget: nothing known is what the order names, so what a model reads in the words is learned.
func TestAWishForNothingKnownIsTalk(t *testing.T) {
	r := newRig(t, stores["inmem"])
	for _, l := range []struct{ said, ops string }{
		{"I go to the gym on Tuesdays", `{"op":"add","ids":[],"text":"User goes to the gym on Tuesdays","quote":"I go to the gym on Tuesdays","about":"user","lasting":true}`},
		{"forget the gym i cancelled it. it's bouldering now", `{"op":"end","ids":["k1"],"text":"User no longer goes to the gym","quote":"forget the gym i cancelled it","about":"user","lasting":true},` +
			`{"op":"add","ids":[],"text":"User goes bouldering","quote":"it's bouldering now","about":"user","lasting":true}`},
	} {
		r.LLM = answering(func(p memory.Prompt) string { return `{"ops":[` + l.ops + `]}` })
		noError(t)(r.Lessons.Learn(t.Context(), r.told(t, ana, "c", l.said)))
		r.clock.Advance(time.Hour)
	}
	if got := r.contents(t, ana, memory.Query{}); !slices.Contains(got, "User goes bouldering") || slices.Contains(got, "User goes to the gym on Tuesdays") {
		t.Errorf("facts %q", got)
	}
}

// TestAModelNamesWhatIsToBeForgotten has somebody ask to forget what no word of the wish is in: the
// facts that the model names go, with the turns that say them and the one that asks.
func TestAModelNamesWhatIsToBeForgotten(t *testing.T) {
	r := newRig(t, stores["inmem"])
	for _, l := range []struct{ said, ops string }{
		{"Duarte and Rita are splitting up", `{"op":"add","ids":[],"text":"User's brother Duarte is getting divorced","quote":"Duarte and Rita are splitting up","about":"Duarte","lasting":true}`},
		{"my dog is called Sardinha", `{"op":"add","ids":[],"text":"User has a dog called Sardinha","quote":"my dog is called Sardinha","about":"user","lasting":true}`},
		{"please wipe the thing with my brother, he'd hate it written down", `{"op":"forget","ids":["k1"],"text":"","quote":"please wipe the thing with my brother","about":"user","lasting":true}`},
	} {
		r.LLM = answering(func(p memory.Prompt) string { return `{"ops":[` + l.ops + `]}` })
		noError(t)(r.Lessons.Learn(t.Context(), r.told(t, ana, "c", l.said)))
		r.clock.Advance(time.Hour)
	}
	all := memory.Query{Kinds: []memory.Kind{memory.KindFact, memory.KindTurn}}
	want := []string{"User has a dog called Sardinha", "my dog is called Sardinha"}
	if got := r.contents(t, ana, all); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("what is left is %q, want %q", got, want)
	}
}
