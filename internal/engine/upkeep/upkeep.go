// Package upkeep removes expired, faded and surplus memories from recall, so that limits are kept.
package upkeep

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/lessons"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/memory"
)

// byUpkeep is the author of upkeep's changes.
var byUpkeep = memory.Author{Kind: memory.ByRule, Name: "upkeep"}

// HandleUpkeep handles upkeep jobs. It retires expired and faded facts, and the oldest memories above the
// limits. A job for one conversation reads all memories only if the user has too many.
func (e *Keeper) HandleUpkeep(ctx context.Context, job memory.Job) (jobs.Completion, error) {
	e.Idle.Wait(ctx)
	e.Curate.CreditUses(ctx, job.Owner, 1)
	filter := memory.Query{}
	if job.Conversation != "" {
		isFull, err := e.exceedsUserLimit(ctx, job.Owner)
		switch {
		case err != nil:
			return "", err
		case !isFull && e.Opts.Learn.Upkeep.ConversationLimit == 0:
			return jobs.Nothing, nil
		case !isFull:
			filter.Conversation = job.Conversation
		}
	}
	changes, err := e.removals(ctx, job.Owner, filter)
	if err != nil || len(changes) == 0 {
		return jobs.Nothing, err
	}
	for len(changes) > 0 {
		n := min(len(changes), core.MaxUpkeepChanges)
		run := memory.Run{ID: core.NewID(), Kind: "upkeep", Author: byUpkeep}
		if n == len(changes) {
			run.ID, run.Lease = core.JobRunID(job.ID), &job.Lease
		} else if err := e.Lessons.ExtendLease(ctx, job); err != nil {
			return "", err
		}
		if _, err := e.Store.Apply(ctx, job.Owner, run, changes[:n]...); err != nil {
			return "", fmt.Errorf("apply upkeep: %w", err)
		}
		changes = changes[n:]
	}
	return jobs.Applied, nil
}

// RunNow runs an owner's upkeep in one run, and returns the changes and the run's id. A dry run only
// returns the changes. A repeated idempotency key returns the first result.
func (e *Keeper) RunNow(ctx context.Context, owner memory.Owner, dryRun bool, key string, author memory.Author) ([]memory.Change, string, error) {
	earlier, err := e.ChangesByKey(ctx, owner, key)
	switch {
	case err != nil:
		return nil, "", err
	case len(earlier) > 0:
		slices.Reverse(earlier)
		return earlier, earlier[0].Run, nil
	}
	changes, err := e.PreviewUpkeep(ctx, owner)
	if err != nil || dryRun || len(changes) == 0 {
		return changes, "", err
	}
	receipt, err := e.Store.Apply(ctx, owner, memory.Run{ID: core.IDForKey(owner, key), Kind: "upkeep", Author: author}, changes...)
	if err != nil {
		return nil, "", fmt.Errorf("apply upkeep: %w", err)
	}
	return changes, receipt.Run, nil
}

// exceedsUserLimit reports whether a user has more memories than the limit.
func (e *Keeper) exceedsUserLimit(ctx context.Context, owner memory.Owner) (bool, error) {
	limit := e.Opts.Learn.Upkeep.UserLimit
	if limit == 0 {
		return false, nil
	}
	n, err := e.Store.Counts(ctx, owner)
	if err != nil {
		return false, fmt.Errorf("count memories: %w", err)
	}
	return n.Facts+n.Turns > limit, nil
}

// PreviewUpkeep returns the changes that upkeep would make now, without applying them.
func (e *Keeper) PreviewUpkeep(ctx context.Context, owner memory.Owner) ([]memory.Change, error) {
	return e.removals(ctx, owner, memory.Query{})
}

// removals returns the changes that upkeep would make now among the memories that match filter.
func (e *Keeper) removals(ctx context.Context, owner memory.Owner, filter memory.Query) ([]memory.Change, error) {
	limits, now := e.Opts.Learn.Upkeep, e.Time()
	filter.Kinds = []memory.Kind{memory.KindFact}
	if limits.UserLimit+limits.ConversationLimit > 0 {
		filter.Kinds = append(filter.Kinds, memory.KindTurn)
	}
	var out []memory.Change
	ownerGroup, conversations := limitedGroup{limit: limits.UserLimit}, map[string]*limitedGroup{}
	err := e.EachMemory(ctx, owner, filter, func(m memory.Memory) {
		if m.Link != nil {
			return
		}
		if reason := limits.RemovalReason(m.Fact, now); reason != "" {
			out = append(out, removal(m, now, reason))
			return
		}
		ownerGroup.add(m)
		if c := conversationOf(m); c != "" && limits.ConversationLimit > 0 {
			if conversations[c] == nil {
				conversations[c] = &limitedGroup{limit: limits.ConversationLimit}
			}
			conversations[c].add(m)
		}
	})
	if err != nil {
		return nil, err
	}
	removedIDs := map[string]bool{}
	for _, c := range slices.Sorted(maps.Keys(conversations)) {
		conversations[c].addSurplus(removedIDs)
	}
	ownerGroup.addSurplus(removedIDs)
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(removedIDs)), 500) {
		memories, err := e.Store.Get(ctx, owner, ids...)
		if err != nil {
			return nil, fmt.Errorf("read the memories to remove: %w", err)
		}
		for _, m := range memories {
			out = append(out, removal(m, now, "room for newer ones"))
		}
	}
	return out, nil
}

// conversationOf returns the id of a memory's conversation, or "".
func conversationOf(m memory.Memory) string {
	if m.Turn != nil {
		return m.Turn.Conversation
	}
	return m.Fact.Scope.Conversation
}

// removal returns the change that retires a memory.
func removal(m memory.Memory, now time.Time, reason string) memory.Change {
	c := memory.Change{Action: memory.ActionRetire, Reason: reason, Author: byUpkeep}
	if m.Turn != nil {
		c.After.Turn = &memory.TurnState{ID: m.Turn.ID, Status: memory.Retired}
		return c
	}
	f := *m.Fact
	c.Base = f.Version
	f.Status, f.UpdatedAt = memory.Retired, now
	c.After.Fact = &f
	return c
}

// limitedGroup is a group of memories with a common limit.
type limitedGroup struct {
	limit      int // 0: unlimited
	count      int // number of memories in the group
	candidates []removableMemory
}

// removableMemory is a memory that may be removed.
type removableMemory struct {
	createdAt time.Time
	id        string
}

// add adds a memory. Turns that were not learned from yet, and confirmed facts, cannot be removed.
func (c *limitedGroup) add(m memory.Memory) {
	c.count++
	if c.limit == 0 || m.Fact != nil && core.IsConfirmed(*m.Fact) || m.Turn != nil && m.Turn.Role == memory.RoleUser && m.Turn.LearnedAt.IsZero() && !m.Turn.NoLearn {
		return
	}
	c.candidates = append(c.candidates, removableMemory{m.CreatedAt(), m.ID()})
}

// slackShare is N: a group above its limit is reduced to 1/N below the limit, so that full reads are rare.
const slackShare = 100

// addSurplus adds to removedIDs the oldest removable memories of a group above its limit.
func (c *limitedGroup) addSurplus(removedIDs map[string]bool) {
	remaining := c.count
	for _, l := range c.candidates {
		if removedIDs[l.id] {
			remaining--
		}
	}
	if c.limit == 0 || remaining <= c.limit {
		return
	}
	slices.SortFunc(c.candidates, func(a, b removableMemory) int {
		return cmp.Or(a.createdAt.Compare(b.createdAt), cmp.Compare(a.id, b.id))
	})
	for _, l := range c.candidates {
		if remaining <= c.limit-c.limit/slackShare {
			return
		}
		if !removedIDs[l.id] {
			removedIDs[l.id] = true
			remaining--
		}
	}
}

// Keeper retires expired and faded memories, and the oldest memories above the limits.
type Keeper struct {
	*core.Core
	Curate  *curate.Curator
	Lessons *lessons.Learner
}
