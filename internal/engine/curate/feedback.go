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

// The verdicts.
const (
	Useful Verdict = "useful"
	Wrong  Verdict = "wrong"
)

// The effect of feedback on confidence (design 5, "Confidence Score"). The numbers are set by hand:
// a verdict counts as much as a repetition (learn's reinforcement), a use far less, and a fact that
// is called wrong twice ranks behind others, but is not forgotten. Approving a pending fact removes
// all doubt: see [Curator.Judge].
const (
	usefulGains = 0.25 // share of the remaining doubt
	wrongLeaves = 0.5  // share of the confidence
	useGains    = 0.05 // share of the remaining doubt, per use
	mostUses    = 10   // uses of a fact that count at once
)

// Judged raises or lowers the confidence of an owner's live fact by a person's verdict, and returns
// it. It can be undone.
func (e *Curator) Judged(ctx context.Context, owner memory.Owner, id string, v Verdict, key string, author memory.Author) (memory.Fact, error) {
	return e.change(ctx, owner, id, key, author, func(f *memory.Fact) (memory.Action, string, error) {
		switch {
		case !f.Status.Live():
			return "", "", memory.Errorf(memory.Conflict, "%s is %s; restore it first", id, f.Status)
		case v == Useful:
			f.Confidence += (1 - f.Confidence) * usefulGains
		case v == Wrong:
			f.Confidence *= wrongLeaves
		default:
			return "", "", memory.Errorf(memory.Invalid, "verdict: %q is neither %s nor %s", v, Useful, Wrong)
		}
		return memory.ActionUpdate, "called " + string(v) + " by a person", nil
	})
}

// byUse is the author of confidence raised by use in answers.
var byUse = memory.Author{Kind: memory.ByRule, Name: "use"}

// UsesAtOnce is how many used facts are collected before a write, so that not every answer is a
// transaction.
const UsesAtOnce = 8

// Uses count how often answers used an owner's facts since the last write. They may be lost.
type Uses struct {
	of recent.Map[memory.Owner, map[string]int]
}

// Add counts hits that an answer used.
func (u *Uses) Add(owner memory.Owner, hits []memory.Hit) {
	u.of.Update(owner, func(of map[string]int, _ bool) (map[string]int, bool) {
		if of == nil {
			of = map[string]int{}
		}
		for _, h := range hits {
			if f := h.Memory.Fact; f != nil && h.Memory.Link == nil && f.Scope.Owner == owner && f.Confidence < 1 {
				of[f.ID]++
			}
		}
		return of, len(of) > 0
	})
}

// Take returns and clears an owner's uses, if they are of at least so many facts.
func (u *Uses) Take(owner memory.Owner, least int) (taken map[string]int) {
	u.of.Update(owner, func(of map[string]int, _ bool) (map[string]int, bool) {
		if len(of) < least {
			return of, false
		}
		taken = of
		return nil, true
	})
	return taken
}

// Credit raises the confidence of used facts in one run, if there are at least so many. Their time
// of change stays. Uses of concurrently changed facts are lost.
func (e *Curator) Credit(ctx context.Context, owner memory.Owner, least int) {
	used := e.Used.Take(owner, least)
	if len(used) == 0 {
		return
	}
	if err := e.creditAll(ctx, owner, used); err != nil {
		e.Log.Warn("what answers used was not noted", "owner", owner, "facts", len(used), "err", err)
	}
}

func (e *Curator) creditAll(ctx context.Context, owner memory.Owner, used map[string]int) error {
	ctx = memory.ForWrite(ctx)
	found, err := e.Store.Get(ctx, owner, slices.Sorted(maps.Keys(used))...)
	if err != nil {
		return fmt.Errorf("read what was used: %w", err)
	}
	var changes []memory.Change
	for _, m := range found {
		if m.Fact == nil || m.Link != nil || m.Fact.Status != memory.Active {
			continue
		}
		next := *m.Fact
		for range min(used[m.ID()], mostUses) {
			next.Confidence += (1 - next.Confidence) * useGains
		}
		changes = append(changes, memory.Change{
			Action: memory.ActionUpdate, After: memory.Image{Fact: &next}, Base: m.Fact.Version, Reason: "answers took it up", Author: byUse,
		})
	}
	if len(changes) == 0 {
		return nil
	}
	_, err = e.Store.Apply(ctx, owner, memory.Run{ID: core.NewID(), Kind: "feedback", Author: byUse}, changes...)
	return err
}
