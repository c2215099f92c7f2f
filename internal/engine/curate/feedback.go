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

// Verdict is what a person says of a fact that was recalled.
type Verdict string

// The verdicts.
const (
	Useful Verdict = "useful"
	Wrong  Verdict = "wrong"
)

// What feedback does to confidence (design 5, "Confidence Score"). The numbers are set by
// hand: a person's word counts as much as being told again (learn's reinforcement),
// being used far less, and a fact that is called wrong twice falls behind others. It is
// not forgotten by that. A pending fact that a person approves has no doubt left: see
// [Curator.Judge].
const (
	usefulGains = 0.25 // share of the doubt that is left
	wrongLeaves = 0.5  // share of the confidence
	useGains    = 0.05 // share of the doubt, each time
	mostUses    = 10   // of one fact that count at once
)

// Judged makes one of the owner's live facts surer, or less sure, by a person's word,
// and returns it. It can be undone.
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

// byUse is who makes facts surer that answers took up.
var byUse = memory.Author{Kind: memory.ByRule, Name: "use"}

// UsesAtOnce is from how many facts on their uses are written, so that an answer is no
// transaction.
const UsesAtOnce = 8

// Uses are how often answers took up an owner's facts since that was last written. They may
// be lost.
type Uses struct {
	of recent.Map[memory.Owner, map[string]int]
}

// Add counts hits that an answer took up.
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

// Take returns an owner's, if they are of so many facts at least.
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

// Credit makes the facts surer that answers took up, in one run, if they are so many at
// least. When they were changed does not change: they are no newer for it. Of what
// somebody changed meanwhile the use is lost.
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
