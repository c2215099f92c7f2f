package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
)

// core has blocks begin with what stands.
func (r *rig) core(t *testing.T, facts ...string) {
	t.Helper()
	r.Opts.Recall.Core = true
	for _, f := range facts {
		r.note(t, ana, f)
	}
}

// TestHowToAnswerHoldsInEveryPrompt: also where nothing else is recalled, and it is told once.
func TestHowToAnswerHoldsInEveryPrompt(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		const metric, coeliac = "User prefers answers that use metric units", "User has coeliac disease"
		r.core(t, metric, coeliac, "User works at a bank")
		c := &chatting{t: t, owner: ana}
		first := c.asks(r, "Write a haiku about the sea")
		if len(first) != 1 || !strings.Contains(first[0], metric) || strings.Contains(first[0], coeliac) || strings.Contains(first[0], "bank") {
			t.Fatalf("given %q, want how to answer alone", first)
		}
		second := c.asks(r, "What should I cook tonight?")
		if len(second) != 2 || second[0] != first[0] || !strings.Contains(second[1], coeliac) || strings.Contains(second[1], metric) {
			t.Errorf("then given %q, want the diet behind what was told", second)
		}
		third := strings.Join(c.asks(r, "And what could I bake?"), "\n")
		if strings.Count(third, metric) != 1 || strings.Count(third, coeliac) != 1 {
			t.Errorf("then given %q, want each once", third)
		}
	})
}

// TestWhatStandsFollowsMemory: what is forgotten, or was never the user's own, is in no prompt.
func TestWhatStandsFollowsMemory(t *testing.T) {
	r := newRig(t, stores["inmem"])
	r.core(t)
	brief := r.note(t, ana, "User wants brief answers")
	asks := func() string {
		return r.prepare(context.Background(), retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "Write a haiku about the sea"}).Block
	}
	if got := asks(); !strings.Contains(got, "brief") {
		t.Fatalf("given %q, want %q", got, brief.Content)
	}
	if _, err := r.Curate.Forget(context.Background(), ana, []string{brief.ID}, "test", her); err != nil {
		t.Fatal(err)
	}
	if got := asks(); got != "" {
		t.Errorf("what was forgotten is told: %q", got)
	}
	r.Opts.Recall.Core = false
	r.note(t, ana, "User wants answers without emojis")
	if got := asks(); got != "" {
		t.Errorf("with the core off %q is told", got)
	}
}

// TestWhatStandsIsWithinItsBudget: it takes no more room than pinned facts and profile entries leave.
func TestWhatStandsIsWithinItsBudget(t *testing.T) {
	r := newRig(t, stores["inmem"])
	var facts []string
	for _, of := range strings.Fields("peanuts almonds cashews pecans walnuts hazelnuts pistachios macadamias chestnuts sesame soy lupin mustard celery") {
		facts = append(facts, "User is severely allergic to "+of+" and to all that was made near "+of)
	}
	r.core(t, facts...)
	p := r.prepare(context.Background(), retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "dinner ideas please", TopK: new(int)})
	if n := len(p.Core.Standing); n == 0 || n == len(facts) {
		t.Errorf("%d of %d facts stand in the prompt, want some", n, len(facts))
	}
}

// TestWhoIsCloseIsKnownByName: a short message that names somebody close to the user asks memory,
// whoever else has a name does not.
func TestWhoIsCloseIsKnownByName(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		r.core(t, "User runs a shop with User's brother Faisal", "User's daughter is named Noor", "User lives in Leeds")
		for message, want := range map[string]string{
			"is faisal around tomorrow?":    "brother Faisal",
			"whats noors favourite colour":  "named Noor",
			"is hamlet any good?":           "",
			"Who won in Leeds last sunday?": "",
		} {
			got := strings.Join((&chatting{t: t, owner: ana}).asks(r, message), "\n")
			if want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("%q: given %q, want %q", message, got, want)
			}
		}
	})
}
