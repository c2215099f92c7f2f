package curate

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// hiddenByReview is the reason of changes that hide turns while facts from these turns are under review.
const hiddenByReview = "what it says waits for review or is rejected"

// ReviewChanges returns the changes that must accompany changes of facts, and the jobs to queue.
// Memories that repeat a fact are hidden from recall while the fact waits for review, and when it is
// rejected. Approval restores the fact's turns.
func (e *Curator) Gate(ctx context.Context, owner memory.Owner, run string, changes []memory.Change, author memory.Author) (more []memory.Change, jobs []memory.Job, err error) {
	var facts []memory.Memory
	for _, c := range changes {
		f := c.After.Fact
		if f == nil {
			continue
		}
		is := f.Status == memory.Pending && learn.ByReview(c.Reason)
		if !is && c.Action != memory.ActionAdd {
			if is, err = heldForReview(ctx, e, *f); err != nil {
				return nil, nil, err
			}
		}
		if is {
			says := *f
			says.Status = memory.Pending // the fact itself is excluded from recall already
			facts = append(facts, memory.Memory{Fact: &says})
		}
		if c.Action == memory.ActionApprove {
			back, err := restoredTurns(ctx, e, *f, changes, author)
			if err != nil {
				return nil, nil, err
			}
			more = append(more, back...)
		}
	}
	if len(facts) > 0 {
		var hidden []memory.Change
		if hidden, jobs, err = e.Forgetting(ctx, owner, run, facts, hiddenByReview, author); err != nil {
			return nil, nil, err
		}
		more = append(more, hidden...)
	}
	done := map[string]bool{}
	for _, c := range changes {
		done[c.After.Target()] = true
	}
	return slices.DeleteFunc(more, func(c memory.Change) bool {
		twice := c.After.Fact != nil || done[c.After.Target()]
		done[c.After.Target()] = true
		return twice
	}), jobs, nil
}

// isHeldForReview reports whether a fact waits for review by a setting, or was rejected by a person.
func heldForReview(ctx context.Context, e *Curator, f memory.Fact) (bool, error) {
	if f.Status != memory.Pending {
		return f.Status == memory.Rejected, nil
	}
	why, err := e.Compare.Proposed(ctx, f.Scope.Owner, memory.Memory{Fact: &f})
	return learn.ByReview(why.Reason), err
}

// restoredTurns returns the changes that restore turns hidden because of an approved fact: the fact's
// source turns, and the turns hidden by the run that made the fact pending. A turn remains hidden while
// another of its facts is held for review or forgotten.
func restoredTurns(ctx context.Context, e *Curator, f memory.Fact, changes []memory.Change, author memory.Author) (out []memory.Change, err error) {
	owner := f.Scope.Owner
	why, err := e.Compare.Proposed(ctx, owner, memory.Memory{Fact: &f})
	if err != nil || !learn.ByReview(why.Reason) {
		return nil, err
	}
	run, err := e.AllChanges(ctx, owner, memory.ChangeQuery{Run: why.Run})
	if err != nil {
		return nil, fmt.Errorf("read the turns hidden by a pending fact: %w", err)
	}
	ids := slices.Clone(f.Provenance.Turns)
	for _, c := range run {
		if c.After.Turn != nil && !slices.Contains(ids, c.After.Turn.ID) {
			ids = append(ids, c.After.Turn.ID)
		}
	}
	for _, id := range ids {
		left, err := e.AllChanges(ctx, owner, memory.ChangeQuery{Target: "turn:" + id})
		if err != nil {
			return nil, fmt.Errorf("read why a turn was hidden: %w", err)
		}
		last := slices.IndexFunc(left, func(c memory.Change) bool { return c.Action == memory.ActionRetire })
		stays := last < 0 || left[last].Reason != hiddenByReview || left[0].After.Status() != memory.Retired
		others := memory.Query{Turn: id, Statuses: []memory.Status{memory.Pending, memory.Rejected, memory.Retired}}
		for m, err := range memory.AllMemories(ctx, e.Store.List, owner, others) {
			if err != nil {
				return nil, fmt.Errorf("list the other facts of a turn: %w", err)
			}
			if stays || slices.ContainsFunc(changes, func(c memory.Change) bool {
				return c.Action == memory.ActionApprove && c.After.Fact != nil && c.After.Fact.ID == m.ID()
			}) {
				continue
			}
			if stays, err = heldForReview(ctx, e, *m.Fact); err != nil {
				return nil, err
			}
			stays = stays || m.Fact.Status == memory.Retired
		}
		if !stays {
			out = append(out, memory.Change{
				Action: memory.ActionRestore, After: memory.Image{Turn: &memory.TurnMark{ID: id, Status: memory.Active}}, Reason: "what it says is approved", Author: author,
			})
		}
	}
	return out, nil
}
