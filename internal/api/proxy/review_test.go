package proxy

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

// The next prompt has a message whose fact waits for review only once a person approves it.
func TestNextPromptKeepsToTheReview(t *testing.T) {
	r := newRig(t)
	r.engine.Opts.Learn.Review.Categories = []string{"health"}
	ctx, ana := context.Background(), memory.Author{Kind: memory.ByPerson, Name: "ana"}
	learn := func() {
		t.Helper()
		job, err := r.engine.Store.Claim(ctx, []memory.JobKind{memory.JobLearn}, time.Minute)
		if err == nil {
			_, err = r.engine.Lessons.Learn(ctx, job)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	prompts := func(want bool) {
		t.Helper()
		r.chat(`{"model":"m","memory_mode":"read","messages":[{"role":"user","content":"Which food am I allergic to?"}]}`)
		if got := r.upstream.one(t).body; strings.Contains(got, "tofu") != want {
			t.Errorf("the upstream got %s, want tofu in it: %v", got, want)
		}
	}
	r.upstream.answers(says("OK."))
	r.chat(ask("I'm allergic to tofu ramen."))
	r.upstream.one(t)
	learn()
	waiting, err := r.engine.Curate.Waiting(ctx, nobody, 0, "")
	if err != nil || len(waiting.Waiting) != 1 {
		t.Fatalf("%+v wait, %v; want one fact", waiting, err)
	}
	judge := func(action memory.Action) string {
		t.Helper()
		_, receipt, err := r.engine.Curate.Judge(ctx, nobody, []curate.Judgement{{ID: waiting.Waiting[0].Memory.ID(), Action: action}}, "", ana)
		if err != nil {
			t.Fatal(err)
		}
		return receipt.Run
	}
	prompts(false)
	run := judge(memory.ActionReject)
	prompts(false)
	if _, err := r.engine.Curate.Undo(ctx, nobody, curate.UndoRequest{Run: run}, ana); err != nil {
		t.Fatal(err)
	}
	prompts(false)
	judge(memory.ActionApprove)
	prompts(true)
}
