package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// core has conversations begin with the facts that hold.
func (r *rig) core(t *testing.T, facts ...string) {
	t.Helper()
	r.Opts.Recall.CoreTokens, r.Opts.Recall.ModelReadsChat = 800, true
	for _, f := range facts {
		r.note(t, ana, f)
	}
}

// TestAConversationBeginsWithWhoTheUserIs: once, whatever is asked, and then with what changed.
func TestAConversationBeginsWithWhoTheUserIs(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		const metric, coeliac = "User prefers answers that use metric units", "User has coeliac disease"
		r.core(t, coeliac, "User works at a bank", metric)
		c := &chatting{t: t, owner: ana}
		first := c.asks(r, "Write a haiku about the sea")
		for _, want := range []string{"How to answer:\n- prefers answers that use metric units\n", "- has coeliac disease\n", "- works at a bank\n"} {
			if len(first) != 1 || !strings.Contains(first[0], want) {
				t.Fatalf("given %q, want %q", first, want)
			}
		}
		if second := c.asks(r, "What should I cook tonight? I have coeliac disease."); len(second) != 1 || second[0] != first[0] {
			t.Errorf("then given %q, want no more", second)
		}
		r.note(t, ana, "User has a boat")
		third := c.asks(r, "And what could I bake?")
		if len(third) != 2 || third[0] != first[0] || !strings.Contains(third[1], "has a boat") || strings.Contains(third[1], "coeliac") {
			t.Errorf("then given %q, want what is new", third)
		}
		if other := (&chatting{t: t, owner: ana}).asks(r, "Hello there"); len(other) != 1 || !strings.Contains(other[0], "has a boat") || !strings.Contains(other[0], "coeliac") {
			t.Errorf("another conversation is given %q, want all", other)
		}
		if other := (&chatting{t: t, owner: ben}).asks(r, "Hello there"); len(other) != 0 {
			t.Errorf("somebody else is given %q", other)
		}
	})
}

// TestTheCoreFollowsMemory: what is forgotten, or was never the user's own, is in no prompt.
func TestTheCoreFollowsMemory(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		r.core(t)
		brief := r.note(t, ana, "User wants brief answers")
		asks := func() string {
			return r.prepare(context.Background(), retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "Write a haiku about the sea", IsChat: true, WithCore: true}).Block
		}
		if got := asks(); !strings.Contains(got, "brief") {
			t.Fatalf("given %q, want %q", got, brief.Content)
		}
		noError(t)(r.Curate.EditFact(context.Background(), ana, brief.ID, curate.FactEdit{Content: new("User wants verbose answers")}, her))
		if got := asks(); !strings.Contains(got, "verbose") || strings.Contains(got, "brief") {
			t.Errorf("given %q after an edit", got)
		}
		noError(t)(r.Curate.Forget(context.Background(), ana, []string{brief.ID}, "test", her))
		if got := asks(); got != "" {
			t.Errorf("what was forgotten is told: %q", got)
		}
		r.Opts.Recall.CoreTokens = 0
		r.note(t, ana, "User wants answers without emojis")
		if got := asks(); got != "" {
			t.Errorf("with the core off %q is told", got)
		}
	})
}

// TestWhatIsFoundBySearchAlone: facts that a person, or a category of the settings, keeps out of prompts.
func TestWhatIsFoundBySearchAlone(t *testing.T) {
	r := newRig(t, stores["inmem"])
	r.core(t, "User works at a bank")
	r.Opts.Recall.CoreExcludes = []string{"health"}
	for _, n := range []curate.FactInput{{Content: "User has a tattoo of a whale", Core: memory.CoreNever}, {Content: "User has asthma", Category: "health"}, {Content: "User is allergic to nuts", Category: "health", Core: memory.CoreAlways}} {
		noError(t)(r.Curate.Remember(t.Context(), ana, n, her))
	}
	first := strings.Join((&chatting{t: t, owner: ana}).asks(r, "Write a haiku"), "\n")
	if !strings.Contains(first, "bank") || !strings.Contains(first, "nuts") || strings.Contains(first, "asthma") || strings.Contains(first, "whale") {
		t.Errorf("given %q", first)
	}
	if found := strings.Join((&chatting{t: t, owner: ana}).asks(r, "Which tattoo do I have?"), "\n"); !strings.Contains(found, "whale") {
		t.Errorf("given %q, want what was asked for", found)
	}
}

// TestALargeCoreKeepsItsBudget: with 600 facts and one that is very long, over a whole conversation.
func TestALargeCoreKeepsItsBudget(t *testing.T) {
	r := newRig(t, stores["inmem"])
	var facts []string
	for i := range 600 {
		facts = append(facts, fmt.Sprintf("User has once owned boat number %d, which was made of wood %d", i, i))
	}
	r.core(t, append(facts, "User is allergic to "+strings.Repeat("nuts and ", 3000)+"celery", "User prefers answers in metric units")...)
	c := &chatting{t: t, owner: ana}
	var given []string
	for i := range 4 {
		given = c.asks(r, fmt.Sprintf("Tell me a joke about boat number %d, please", 500+i))
	}
	all := strings.Join(given, "\n")
	if n := text.EstimateTokens(given[0]); n < 700 || n > 1000 || text.EstimateTokens(all) > 2000 || !strings.Contains(given[0], "metric") || !strings.Contains(given[0], "boat number 500,") {
		t.Errorf("the first block has %d tokens, all %d:\n%s", n, text.EstimateTokens(all), all)
	}
}
