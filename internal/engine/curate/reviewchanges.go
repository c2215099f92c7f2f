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
func (e *Curator) ReviewChanges(ctx context.Context, owner memory.Owner, runID string, changes []memory.Change, author memory.Author) (extraChanges []memory.Change, jobs []memory.Job, err error) {
	var facts []memory.Memory
	for _, c := range changes {
		f := c.After.Fact
		if f == nil {
			continue
		}
		isHeld := f.Status == memory.Pending && learn.IsReviewSetting(c.Reason)
		if !isHeld && c.Action != memory.ActionAdd {
			if isHeld, err = isHeldForReview(ctx, e, *f); err != nil {
				return nil, nil, err
			}
		}
		if isHeld {
			pending := *f
			pending.Status = memory.Pending // recall excludes the fact itself already; only its turns are hidden
			facts = append(facts, memory.Memory{Fact: &pending})
		}
		if c.Action == memory.ActionApprove {
			restored, err := restoredTurns(ctx, e, *f, changes, author)
			if err != nil {
				return nil, nil, err
			}
			extraChanges = append(extraChanges, restored...)
		}
	}
	if len(facts) > 0 {
		var hidden []memory.Change
		if hidden, jobs, err = e.ForgetChanges(ctx, owner, runID, facts, hiddenByReview, author); err != nil {
			return nil, nil, err
		}
		extraChanges = append(extraChanges, hidden...)
	}
	seen := map[string]bool{}
	for _, c := range changes {
		seen[c.After.Target()] = true
	}
	return slices.DeleteFunc(extraChanges, func(c memory.Change) bool {
		duplicate := c.After.Fact != nil || seen[c.After.Target()]
		seen[c.After.Target()] = true
		return duplicate
	}), jobs, nil
}

// isHeldForReview reports whether a fact waits for review because of a setting, or was rejected by a person.
func isHeldForReview(ctx context.Context, e *Curator, f memory.Fact) (bool, error) {
	if f.Status != memory.Pending {
		return f.Status == memory.Rejected, nil
	}
	proposal, err := e.Compare.PendingChange(ctx, f.Scope.Owner, memory.Memory{Fact: &f})
	return learn.IsReviewSetting(proposal.Reason), err
}

// restoredTurns returns the changes that restore turns hidden because of an approved fact: the fact's
// source turns, and the turns hidden by the run that made the fact pending. A turn remains hidden while
// another of its facts is held for review or forgotten.
func restoredTurns(ctx context.Context, e *Curator, f memory.Fact, changes []memory.Change, author memory.Author) (restorations []memory.Change, err error) {
	owner := f.Scope.Owner
	proposal, err := e.Compare.PendingChange(ctx, owner, memory.Memory{Fact: &f})
	if err != nil || !learn.IsReviewSetting(proposal.Reason) {
		return nil, err
	}
	proposalChanges, err := e.AllChanges(ctx, owner, memory.ChangeQuery{Run: proposal.Run})
	if err != nil {
		return nil, fmt.Errorf("read the turns hidden by a pending fact: %w", err)
	}
	ids := slices.Clone(f.Provenance.Turns)
	for _, c := range proposalChanges {
		if c.After.Turn != nil && !slices.Contains(ids, c.After.Turn.ID) {
			ids = append(ids, c.After.Turn.ID)
		}
	}
	for _, id := range ids {
		turnChanges, err := e.AllChanges(ctx, owner, memory.ChangeQuery{Target: "turn:" + id})
		if err != nil {
			return nil, fmt.Errorf("read why a turn was hidden: %w", err)
		}
		lastRetirement := slices.IndexFunc(turnChanges, func(c memory.Change) bool { return c.Action == memory.ActionRetire })
		staysHidden := lastRetirement < 0 || turnChanges[lastRetirement].Reason != hiddenByReview || turnChanges[0].After.Status() != memory.Retired
		otherFacts := memory.Query{Turn: id, Statuses: []memory.Status{memory.Pending, memory.Rejected, memory.Retired}}
		for m, err := range memory.AllMemories(ctx, e.Store.List, owner, otherFacts) {
			if err != nil {
				return nil, fmt.Errorf("list the other facts of a turn: %w", err)
			}
			if staysHidden || slices.ContainsFunc(changes, func(c memory.Change) bool {
				return c.Action == memory.ActionApprove && c.After.Fact != nil && c.After.Fact.ID == m.ID()
			}) {
				continue
			}
			if staysHidden, err = isHeldForReview(ctx, e, *m.Fact); err != nil {
				return nil, err
			}
			staysHidden = staysHidden || m.Fact.Status == memory.Retired
		}
		if !staysHidden {
			restorations = append(restorations, memory.Change{
				Action: memory.ActionRestore, After: memory.State{Turn: &memory.TurnState{ID: id, Status: memory.Active}}, Reason: "what it says is approved", Author: author,
			})
		}
	}
	return restorations, nil
}
