package curate

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

// Verdict is a person's judgement of a recalled fact.
type Verdict string

// The values of Verdict.
const (
	Useful Verdict = "useful"
	Wrong  Verdict = "wrong"
)

// The effects of feedback on confidence, chosen by hand. A verdict counts as much as a repetition
// (reinforcement in package learn), and a use far less. A fact with two verdicts "wrong" ranks behind other
// facts, but is not forgotten. Approving a pending fact sets full confidence: see [Curator.Judge].
const (
	usefulGain  = 0.25 // fraction of the missing confidence that a verdict "useful" adds
	wrongFactor = 0.5  // fraction of the confidence that remains after a verdict "wrong"
	useGain     = 0.05 // fraction of the missing confidence that each use adds
	maxUses     = 10   // maximum number of uses of a fact that a write counts
)

// Rate changes the confidence of an active or pending fact by a person's verdict. The change can be undone.
func (e *Curator) Rate(ctx context.Context, owner memory.Owner, id string, verdict Verdict, key string, author memory.Author) (memory.Fact, error) {
	return e.changeFact(ctx, owner, id, key, author, func(f *memory.Fact) (memory.Action, string, error) {
		switch {
		case !f.Status.Live():
			return "", "", memory.Errorf(memory.Conflict, "%s is %s; restore it first", id, f.Status)
		case verdict == Useful:
			f.Confidence += (1 - f.Confidence) * usefulGain
		case verdict == Wrong:
			f.Confidence *= wrongFactor
		default:
			return "", "", memory.Errorf(memory.Invalid, "verdict: invalid value %q (valid: %s, %s)", verdict, Useful, Wrong)
		}
		return memory.ActionUpdate, "called " + string(verdict) + " by a person", nil
	})
}

// byUse is the author of changes that raise the confidence of facts that answers used.
var byUse = memory.Author{Kind: memory.ByRule, Name: "use"}

// UsedFactsPerWrite is the number of used facts that are collected for one transaction.
const UsedFactsPerWrite = 8

// FactUses counts how often answers used an owner's facts since the last write. A crash loses the counts.
type FactUses struct {
	byOwner recent.Map[memory.Owner, map[string]int]
}

// AddHits counts the hits that an answer used.
func (u *FactUses) AddHits(owner memory.Owner, hits []memory.Hit) {
	u.byOwner.Update(owner, func(counts map[string]int, _ bool) (map[string]int, bool) {
		if counts == nil {
			counts = map[string]int{}
		}
		for _, h := range hits {
			if f := h.Memory.Fact; f != nil && h.Memory.Link == nil && f.Scope.Owner == owner && f.Confidence < 1 {
				counts[f.ID]++
			}
		}
		return counts, len(counts) > 0
	})
}

// TakeCounts returns and clears an owner's use counts by fact id, if at least minFacts facts were used.
func (u *FactUses) TakeCounts(owner memory.Owner, minFacts int) (uses map[string]int) {
	u.byOwner.Update(owner, func(counts map[string]int, _ bool) (map[string]int, bool) {
		if len(counts) < minFacts {
			return counts, false
		}
		uses = counts
		return nil, true
	})
	return uses
}

// CreditUses raises the confidence of used facts in one run, if at least minFacts facts were used. It does
// not change UpdatedAt. Uses of facts that other runs change at the same time are lost.
func (e *Curator) CreditUses(ctx context.Context, owner memory.Owner, minFacts int) {
	uses := e.FactUses.TakeCounts(owner, minFacts)
	if len(uses) == 0 {
		return
	}
	if err := e.raiseConfidence(ctx, owner, uses); err != nil {
		e.Log.Warn("the uses of facts were not recorded", "owner", owner, "facts", len(uses), "err", err)
	}
}

func (e *Curator) raiseConfidence(ctx context.Context, owner memory.Owner, uses map[string]int) error {
	ctx = memory.ForWrite(ctx)
	memories, err := e.Store.Get(ctx, owner, slices.Sorted(maps.Keys(uses))...)
	if err != nil {
		return fmt.Errorf("read the used facts: %w", err)
	}
	var changes []memory.Change
	for _, m := range memories {
		if m.Fact == nil || m.Link != nil || m.Fact.Status != memory.Active {
			continue
		}
		next := *m.Fact
		for range min(uses[m.ID()], maxUses) {
			next.Confidence += (1 - next.Confidence) * useGain
		}
		changes = append(changes, memory.Change{
			Action: memory.ActionUpdate, After: memory.State{Fact: &next}, Base: m.Fact.Version, Reason: "answers took it up", Author: byUse,
		})
	}
	if len(changes) == 0 {
		return nil
	}
	_, err = e.Store.Apply(ctx, owner, memory.Run{ID: core.NewID(), Kind: "feedback", Author: byUse}, changes...)
	return err
}
