// Package upkeep removes expired and faded memories, and the oldest memories above the limits.
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
func (e *Keeper) Tidy(ctx context.Context, job memory.Job) (jobs.End, error) {
	e.Idle.Wait(ctx)
	e.Curate.Credit(ctx, job.Owner, 1)
	within := memory.Query{}
	if job.Conversation != "" {
		full, err := e.full(ctx, job.Owner)
		switch {
		case err != nil:
			return "", err
		case !full && e.Opts.Learn.Upkeep.Conversation == 0:
			return jobs.Nothing, nil
		case !full:
			within.Conversation = job.Conversation
		}
	}
	changes, err := e.removals(ctx, job.Owner, within)
	if err != nil || len(changes) == 0 {
		return jobs.Nothing, err
	}
	for len(changes) > 0 {
		n := min(len(changes), core.UpkeepAtOnce)
		run := memory.Run{ID: core.NewID(), Kind: "upkeep", Author: byUpkeep}
		if n == len(changes) {
			run.ID, run.Lease = core.RunOf(job.ID), &job.Lease
		} else if err := e.Lessons.HoldLease(ctx, job); err != nil {
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
func (e *Keeper) TidyNow(ctx context.Context, owner memory.Owner, dry bool, key string, author memory.Author) ([]memory.Change, string, error) {
	done, err := e.ChangesByKey(ctx, owner, key)
	switch {
	case err != nil:
		return nil, "", err
	case len(done) > 0:
		slices.Reverse(done)
		return done, done[0].Run, nil
	}
	changes, err := e.PreviewEviction(ctx, owner)
	if err != nil || dry || len(changes) == 0 {
		return changes, "", err
	}
	receipt, err := e.Store.Apply(ctx, owner, memory.Run{ID: core.IDFor(owner, key), Kind: "upkeep", Author: author}, changes...)
	if err != nil {
		return nil, "", fmt.Errorf("apply upkeep: %w", err)
	}
	return changes, receipt.Run, nil
}

// isFull reports whether a user has more memories than the limit.
func (e *Keeper) full(ctx context.Context, owner memory.Owner) (bool, error) {
	most := e.Opts.Learn.Upkeep.User
	if most == 0 {
		return false, nil
	}
	n, err := e.Store.Counts(ctx, owner)
	if err != nil {
		return false, fmt.Errorf("count memories: %w", err)
	}
	return n.Facts+n.Turns > most, nil
}

// PreviewEviction returns the changes that upkeep would make now, without applying them.
func (e *Keeper) PreviewEviction(ctx context.Context, owner memory.Owner) ([]memory.Change, error) {
	return e.removals(ctx, owner, memory.Query{})
}

// removals returns the changes that upkeep would make now among the memories that match filter.
func (e *Keeper) removals(ctx context.Context, owner memory.Owner, within memory.Query) ([]memory.Change, error) {
	u, now := e.Opts.Learn.Upkeep, e.Time()
	within.Kinds = []memory.Kind{memory.KindFact}
	if u.User+u.Conversation > 0 {
		within.Kinds = append(within.Kinds, memory.KindTurn)
	}
	var out []memory.Change
	all, conversations := limitedGroup{limit: u.User}, map[string]*limitedGroup{}
	err := e.Everything(ctx, owner, within, func(m memory.Memory) {
		if m.Link != nil {
			return
		}
		if reason := u.RemovalReason(m.Fact, now); reason != "" {
			out = append(out, removal(m, now, reason))
			return
		}
		all.add(m)
		if c := conversationOf(m); c != "" && u.Conversation > 0 {
			if conversations[c] == nil {
				conversations[c] = &limitedGroup{limit: u.Conversation}
			}
			conversations[c].add(m)
		}
	})
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	for _, c := range slices.Sorted(maps.Keys(conversations)) {
		conversations[c].thin(gone)
	}
	all.thin(gone)
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(gone)), 500) {
		found, err := e.Store.Get(ctx, owner, ids...)
		if err != nil {
			return nil, fmt.Errorf("read the memories to remove: %w", err)
		}
		for _, m := range found {
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
		c.After.Turn = &memory.TurnMark{ID: m.Turn.ID, Status: memory.Retired}
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
	count      int
	candidates []candidate
}

// candidate is a memory that may be removed.
type candidate struct {
	at time.Time
	id string
}

// add adds a memory. Turns that were not learned from yet, and confirmed facts, cannot be removed.
func (c *limitedGroup) add(m memory.Memory) {
	c.count++
	if c.limit == 0 || m.Fact != nil && core.IsConfirmed(m.Fact) || m.Turn != nil && m.Turn.Role == memory.RoleUser && m.Turn.LearnedAt.IsZero() && !m.Turn.NoLearn {
		return
	}
	c.candidates = append(c.candidates, candidate{m.CreatedAt(), m.ID()})
}

// slackShare is N: a full group is reduced to 1/N below its limit, so that full reads are rare.
const slackShare = 100

// reduce adds the oldest removable memories of a full group to removed, until the group has slack.
func (c *limitedGroup) thin(gone map[string]bool) {
	left := c.count
	for _, l := range c.candidates {
		if gone[l.id] {
			left--
		}
	}
	if c.limit == 0 || left <= c.limit {
		return
	}
	slices.SortFunc(c.candidates, func(a, b candidate) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id)) })
	for _, l := range c.candidates {
		if left <= c.limit-c.limit/slackShare {
			return
		}
		if !gone[l.id] {
			gone[l.id] = true
			left--
		}
	}
}

// Keeper retires expired and faded memories, and the oldest memories above the limits.
type Keeper struct {
	*core.Core
	Curate  *curate.Curator
	Lessons *lessons.Learner
}
