package curate

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// hiddenByReview is the reason of changes by which turns and summaries leave recall for a person's
// decision on a fact.
const hiddenByReview = "what it says waits for review or was rejected"

// Hiding returns the changes by which recall loses what says facts that wait by the settings of
// review or that are rejected, and the jobs that follow: as if they were forgotten. The facts are
// left to the caller.
func (e *Curator) Hiding(ctx context.Context, owner memory.Owner, run string, facts []memory.Fact, author memory.Author) ([]memory.Change, []memory.Job, error) {
	if len(facts) == 0 {
		return nil, nil, nil
	}
	var said []memory.Memory
	for _, f := range facts {
		f.Status = memory.Pending // of what was rejected before, too
		said = append(said, memory.Memory{Fact: &f})
	}
	changes, jobs, err := e.Forgetting(ctx, owner, run, said, hiddenByReview, author)
	if err != nil {
		return nil, nil, err
	}
	var ids []string
	for _, c := range changes {
		if c.After.Turn != nil {
			ids = append(ids, c.After.Turn.ID)
		}
	}
	turns, err := e.Store.Get(ctx, owner, ids...)
	if err != nil {
		return nil, nil, fmt.Errorf("read the turns of reviewed facts: %w", err)
	}
	return slices.DeleteFunc(changes, func(c memory.Change) bool {
		return c.After.Fact != nil || c.After.Turn != nil && !slices.ContainsFunc(turns, func(m memory.Memory) bool {
			return m.ID() == c.After.Turn.ID && m.Status() == memory.Active
		})
	}), jobs, nil
}

// Showing returns the changes by which the turns come back that [Curator.Hiding] hid for facts that
// are approved now. A turn stays hidden while another fact of it waits by review or is rejected, and
// where a person forgot it.
func (e *Curator) Showing(ctx context.Context, owner memory.Owner, facts []memory.Fact, author memory.Author) ([]memory.Change, error) {
	approved := map[string]bool{}
	for _, f := range facts {
		approved[f.ID] = true
	}
	var out []memory.Change
	for _, f := range facts {
		turns, err := e.hiddenFor(ctx, owner, f)
		if err != nil {
			return nil, err
		}
		for _, id := range turns {
			stays := slices.ContainsFunc(out, func(c memory.Change) bool { return c.After.Turn.ID == id })
			others := memory.Query{Turn: id, Statuses: []memory.Status{memory.Pending, memory.Rejected}}
			for other, err := range memory.AllMemories(ctx, e.Store.List, owner, others) {
				if err != nil {
					return nil, fmt.Errorf("list what else a turn says: %w", err)
				}
				if !stays && !approved[other.ID()] {
					if stays, err = e.ByReview(ctx, *other.Fact); err != nil {
						return nil, err
					}
				}
			}
			if !stays {
				out = append(out, memory.Change{
					Action: memory.ActionRestore, After: memory.Image{Turn: &memory.TurnMark{ID: id, Status: memory.Active}}, Reason: "what it says is approved", Author: author,
				})
			}
		}
	}
	return out, nil
}

// ByReview reports whether a fact waits by the settings of review, or is rejected.
func (e *Curator) ByReview(ctx context.Context, f memory.Fact) (bool, error) {
	if f.Status != memory.Pending {
		return f.Status == memory.Rejected, nil
	}
	why, err := e.Compare.Proposed(ctx, f.Scope.Owner, memory.Memory{Fact: &f})
	return learn.ByReview(why.Reason), err
}

// hiddenFor returns the ids of the turns that are hidden for a fact that waits: those that it names,
// and those that left recall in the run that made it wait.
func (e *Curator) hiddenFor(ctx context.Context, owner memory.Owner, f memory.Fact) ([]string, error) {
	why, err := e.Compare.Proposed(ctx, owner, memory.Memory{Fact: &f})
	if err != nil || !learn.ByReview(why.Reason) {
		return nil, err
	}
	run, err := e.AllChanges(ctx, owner, memory.ChangeQuery{Run: why.Run})
	if err != nil {
		return nil, fmt.Errorf("read what a fact that waits hid: %w", err)
	}
	ids := slices.Clone(f.Provenance.Turns)
	for _, c := range run {
		if c.After.Turn != nil && !slices.Contains(ids, c.After.Turn.ID) {
			ids = append(ids, c.After.Turn.ID)
		}
	}
	var out []string
	for _, id := range ids {
		changes, err := e.AllChanges(ctx, owner, memory.ChangeQuery{Target: "turn:" + id})
		if err != nil {
			return nil, fmt.Errorf("read why a turn left recall: %w", err)
		}
		left := slices.IndexFunc(changes, func(c memory.Change) bool { return c.Action == memory.ActionRetire })
		if left >= 0 && changes[left].Reason == hiddenByReview && changes[0].After.Status() == memory.Retired {
			out = append(out, id)
		}
	}
	return out, nil
}
