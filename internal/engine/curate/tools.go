package curate

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// MayUse reports whether a model's tools may use an owner's memory: [memory.Conflict] while
// memory is paused and, for a write, while learning is.
func (e *Curator) MayUse(ctx context.Context, owner memory.Owner, write bool) error {
	switch p := e.Paused(ctx, owner); {
	case p == core.PauseUnknown:
		return core.ErrPauseUnknown
	case p == core.PauseMemory, write && p == core.PauseLearning:
		return memory.Errorf(memory.Conflict, "the user has paused %s; nothing was done", p)
	}
	return nil
}

// EditByTool changes a fact for a model. New words make a new fact that replaces the old one,
// or waits for a person to approve that: see [Engine.waits].
func (e *Curator) EditByTool(ctx context.Context, owner memory.Owner, id string, edit Edit, author memory.Author) (memory.Fact, error) {
	if err := e.MayUse(ctx, owner, true); err != nil {
		return memory.Fact{}, err
	}
	was, err := e.Fact(ctx, owner, id)
	switch {
	case err != nil:
		return memory.Fact{}, err
	case was.Status != memory.Active:
		return memory.Fact{}, memory.Errorf(memory.Conflict, "%s is %s; only an active fact can be updated", id, was.Status)
	case edit.Content == nil:
		return e.EditFact(ctx, owner, id, edit, author)
	}
	n := Note{
		Content: *edit.Content, Category: was.Category, Tags: was.Tags, Project: was.Scope.Project, Agent: was.Scope.Agent,
		ExpiresAt: was.ExpiresAt, Metadata: was.Metadata, Replaces: id, Idempotency: edit.Idempotency,
	}
	set(&n.Category, edit.Category)
	set(&n.Tags, edit.Tags)
	f, _, err := e.Remember(ctx, owner, n, author)
	return f, err
}

// waits says why a fact that a model writes has to wait for a person, "" if it does not: by
// the rules that hold back what is learned (learn.Plan). olds are the facts that it would replace.
func (e *Curator) waits(ctx context.Context, f memory.Fact, olds []memory.Fact) string {
	review := e.Opts.Learn.Review
	switch {
	case learn.ReadsLikeInstruction(f.Content):
		return "it reads like an instruction"
	case f.Confidence < review.Confidence:
		return fmt.Sprintf("confidence %.2f is under %.2f", f.Confidence, review.Confidence)
	case f.Category != "" && slices.Contains(review.Categories, f.Category):
		return "the category " + f.Category + " is reviewed"
	case slices.ContainsFunc(olds, ofPerson):
		return "it contradicts what was said with more weight"
	case len(olds) > 0 && review.Conflicts:
		return "it contradicts what is known"
	case !e.Free(ctx, f.Scope, f.Content) && !e.live(ctx, f):
		return "the same was rejected or forgotten before"
	}
	return ""
}

// ofPerson reports whether a person wrote, approved or pinned a fact.
func ofPerson(f memory.Fact) bool {
	return f.Pinned || f.Source == memory.Manual || f.Trust == memory.TrustPerson
}

// live reports whether a live fact has the same words.
func (e *Curator) live(ctx context.Context, f memory.Fact) bool {
	_, err := e.twin(ctx, f)
	return err == nil
}
