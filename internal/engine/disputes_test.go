package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// dispute has a fact wait that would take the place of another.
func (r *rig) dispute(t *testing.T, old memory.Fact, instead string) memory.Fact {
	t.Helper()
	ctx := context.Background()
	f := memory.Fact{
		ID: core.NewID(), Scope: old.Scope, Content: instead, Status: memory.Pending, Confidence: 1, Source: memory.Extracted, Trust: memory.TrustUser,
		ObservedAt: r.Time(), CreatedAt: r.Time(), UpdatedAt: r.Time(), Hash: text.Hash(instead),
	}
	vectors := try(r.TextVectors(ctx, f.ID, f.Content)).orFail(t)
	change := memory.Change{Action: memory.ActionAdd, After: memory.State{Fact: &f}, OldID: old.ID, NewID: f.ID, Reason: "it contradicts what is known"}
	noError(t)(r.Store.Apply(ctx, old.Scope.Owner, memory.Run{ID: core.NewID(), Kind: "learn", Vectors: vectors}, change))
	return f
}

// TestWhatWaitsIsVisible: a fact that waits is counted, marks in the prompt what it would
// replace, and is part of what a model is told is known.
func TestWhatWaitsIsVisible(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		const instead = "User's rent for the flat is 1100 euros"
		r.dispute(t, r.note(t, ana, "User's rent for the flat is 950 euros"), instead)
		r.Opts.Deadline = 1e10
		p, _, _ := r.Engine.Retrieve.Prepare(ctx, retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "what is my rent for the flat?", Budget: 1000})
		if !strings.Contains(p.Block, "[disputed: "+instead+"]") || p.PendingCount != 1 {
			t.Errorf("block %q, %d pending; want the rent disputed and one pending", p.Block, p.PendingCount)
		}
		r.llm = memtest.NewLLM(memtest.ScriptLine{Text: `{"facts": []}`})
		r.LLM = r.llm
		noError(t)(r.Lessons.Learn(ctx, r.told(t, ana, "c", "my rent for the flat, is that legal?")))
		if prompts := r.llm.Prompts(); len(prompts) == 0 || !strings.Contains(prompts[0].System+prompts[0].User, instead) {
			t.Errorf("the model is not told of what waits: %+v", prompts)
		}
	})
}
