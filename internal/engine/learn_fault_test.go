package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/memory"
)

type handler = jobs.Handler

// toil does all work there is, as the job runner would, through whatever fails; it
// returns how often an attempt failed.
func (r *rig) toil(t *testing.T, plain memory.Store) (failed int) {
	t.Helper()
	ctx := context.Background()
	kinds := slices.Sorted(maps.Keys(r.handlers()))
	for range 1000 {
		job, err := plain.Claim(ctx, kinds, time.Minute)
		if errors.Is(err, memory.NotFound) {
			left := try(plain.Jobs(ctx, ana, memory.JobQueued, memory.JobRunning)).orFail(t)
			if len(left) == 0 {
				return failed
			}
			r.clock.Advance(time.Minute) // what waits, and leases that nobody gave back
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		end, err := r.handlers()[job.Kind](ctx, job)
		switch {
		case errors.Is(err, memory.LeaseLost):
		case err != nil:
			failed++
			_ = r.Store.Finish(ctx, job.Lease, memory.Outcome{RetryAt: r.Time().Add(time.Second), Cause: err.Error()}) // or its lease runs out
		case end == jobs.Nothing:
			_ = r.Store.Finish(ctx, job.Lease, memory.Outcome{Done: true})
		}
	}
	t.Fatal("the work does not end")
	return 0
}

// portrait is all that an owner has and all that was done to it, in words, whatever
// the order and the ids.
func portrait(t *testing.T, store memory.Store, owner memory.Owner) string {
	t.Helper()
	ctx := context.Background()
	e := &Engine{Core: &core.Core{Parts: core.Parts{Store: store}}}
	words := map[string]string{}
	var all []memory.Memory
	q := memory.Query{
		Kinds:    []memory.Kind{memory.KindFact, memory.KindTurn, memory.KindSummary},
		Statuses: []memory.Status{memory.Active, memory.Pending, memory.Superseded, memory.Replaced, memory.Retired, memory.Rejected},
	}
	noError(t)(e.EachMemory(ctx, owner, q, func(m memory.Memory) {
		all = append(all, m)
		words[m.ID()] = m.Content()
	}))
	var lines []string
	for _, m := range all {
		if m.Summary != nil && m.Summary.Status != memory.Active {
			continue // how often it was written anew is a question of time
		}
		line := fmt.Sprintf("%s %s %q", m.Status(), m.Kind(), m.Content())
		if f := m.Fact; f != nil {
			line += fmt.Sprintf(" %.4f by %q of", f.Confidence, words[f.SupersededBy])
			for _, id := range f.Provenance.Turns {
				line += fmt.Sprintf(" %q", words[id])
			}
		}
		if m.Turn != nil {
			line += fmt.Sprintf(" learned: %v", !m.Turn.LearnedAt.IsZero())
		}
		lines = append(lines, line)
	}
	changes := try(e.AllChanges(ctx, owner, memory.ChangeQuery{})).orFail(t)
	for _, c := range changes {
		if c.After.Summary != nil {
			continue
		}
		_, id, _ := strings.Cut(c.After.Target(), ":")
		lines = append(lines, fmt.Sprintf("change: %s %q to %s", c.Action, words[id], c.After.Status()))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// eventful lets a person say things that are learned, contradict them, wish and
// change their mind. Nothing of it is learned yet when it returns.
func eventful(t *testing.T, r *rig) {
	t.Helper()
	ctx := context.Background()
	r.Opts.Learn.Summary.EveryExchanges = 2
	r.Opts.Learn.Upkeep.UserLimit = 60
	say := func(conversation string, infer bool, said ...string) {
		var talk exchange.IngestRequest
		talk.Conversation, talk.Learn = conversation, infer
		for _, s := range said {
			talk.Messages = append(talk.Messages, exchange.Message{Role: memory.RoleUser, Content: s, At: r.Time()}, exchange.Message{Role: memory.RoleAssistant, Content: "I see.", At: r.Time()})
		}
		noError(t)(r.Exchange.Ingest(ctx, ana, talk))
		r.clock.Advance(time.Minute)
	}
	say("one", true, "I live in Berlin.", "I am allergic to peanuts.", "I play the cello.")
	noError(t)(r.work(ctx))
	say("two", true, "I moved to Lisbon last week.", "As I said, I play the cello.",
		"Please forget that I am allergic to peanuts. I have a dog named Rex.", "I work as a nurse.",
		"Please forget that I have a dog.")
	say("three", true, "I have a cat named Tom.", "I was born in Bremen.")
	s := &scene{rig: r, chats: map[string][]chatMessage{}, names: map[string]string{"ana": "four"}, reply: "OK.", idle: true}
	for _, line := range []string{"user ana: Good morning!", "user ana: I drive a red Volvo.", "edit ana: I drive a blue Fiat."} {
		noError(t)(s.step(line))
	}
}

// modelled replies as a model would that reads what the rules read.
func modelled(p memory.Prompt) string {
	facts := []struct{ said, fact string }{
		{"I live in Berlin", "User lives in Berlin"},
		{"I am allergic to peanuts", "User is allergic to peanuts"},
		{"I play the cello", "User plays the cello"},
		{"I moved to Lisbon", "User lives in Lisbon"},
		{"I have a dog named Rex", "User has a dog named Rex"},
		{"I work as a nurse", "User works as a nurse"},
		{"I have a cat named Tom", "User has a cat named Tom"},
		{"I was born in Bremen", "User was born in Bremen"},
		{"I drive a red Volvo", "User drives a red Volvo"},
		{"I drive a blue Fiat", "User drives a blue Fiat"},
	}
	switch p.Name {
	case "extract":
		var list []string
		for _, f := range facts {
			if strings.Contains(p.User, f.said) {
				list = append(list, fmt.Sprintf(`{"text": %q, "quote": %q}`, f.fact, f.said))
			}
		}
		return `{"facts": [` + strings.Join(list, ", ") + `]}`
	case "reconcile":
		return `{"decisions": []}`
	}
	return "- The user talks about life"
}

// Whatever call fails, before or after it was carried out: work that is tried again
// comes to what it would have come to, each thing done once.
func TestWhateverFailsLearningComesToTheSame(t *testing.T) {
	for name, llm := range map[string]memory.LLM{"rules": nil, "model": answering(modelled)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(fail int, late bool) (picture string, calls []string, failed int) {
				r := newRig(t, stores["inmem"])
				r.LLM = llm
				eventful(t, r)
				plain := r.Store
				count := func(call string) error {
					calls = append(calls, call)
					if len(calls) == fail {
						return memory.Errorf(memory.Unavailable, "call %d fails", fail)
					}
					return nil
				}
				none := func(string) error { return nil }
				if late {
					r.hook(none, count)
				} else {
					r.hook(count, none)
				}
				failed = r.toil(t, plain)
				parked, err := plain.Jobs(context.Background(), ana, memory.JobParked)
				if err != nil || len(parked) > 0 {
					t.Errorf("call %d: parked %+v, %v", fail, parked, err)
				}
				return portrait(t, plain, ana), calls, failed
			}
			want, calls, _ := run(0, false)
			if len(calls) < 50 {
				t.Fatalf("only %d calls: %q", len(calls), calls)
			}
			for _, late := range []bool{false, true} {
				for n := 1; n <= len(calls); n += stride {
					if strings.HasPrefix(calls[n-1], "Complete reconcile") || strings.HasPrefix(calls[n-1], "Complete summarize") {
						continue // the rules do it instead
					}
					got, _, failed := run(n, late)
					if got != want {
						t.Errorf("call %d (%s, late: %v) fails, %d attempts did:\n%s", n, calls[n-1], late, failed, lineDiff(want, got))
					}
				}
			}
		})
	}
}

// lineDiff returns the lines that only one of two sorted texts has.
func lineDiff(want, got string) string {
	count := map[string]int{}
	for line := range strings.SplitSeq(want, "\n") {
		count[line]--
	}
	for line := range strings.SplitSeq(got, "\n") {
		count[line]++
	}
	var out []string
	for _, line := range slices.Sorted(maps.Keys(count)) {
		if n := count[line]; n != 0 {
			out = append(out, fmt.Sprintf("%+d %s", n, line))
		}
	}
	return strings.Join(out, "\n")
}
