package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// settle puts right what two made of the same at once, when another run was
// committed between the last look and this one: of facts that cannot both hold the
// newer one does, and what a turn taught that was forgotten meanwhile goes with it.
func (e *Engine) settle(ctx context.Context, p planned, run memory.Run) {
	for try := 1; ; try++ {
		changes, err := e.settling(ctx, p, run)
		if err == nil && len(changes) > 0 {
			_, err = e.Store.Apply(ctx, p.scope.Owner, memory.Run{ID: run.ID + "-settle", Kind: "learn", Author: run.Author}, changes...)
		}
		if err == nil {
			return
		}
		if !errors.Is(err, memory.Conflict) || try == maxConflicts {
			e.Log.Error("what two learned at once is not settled", "run", run.ID, "err", err)
			return
		}
	}
}

func (e *Engine) settling(ctx context.Context, p planned, run memory.Run) ([]memory.Change, error) {
	turns, err := e.Store.Get(ctx, p.scope.Owner, run.Learned...)
	if err != nil {
		return nil, fmt.Errorf("read the turns again: %w", err)
	}
	forgotten := func(f memory.Fact) bool {
		return slices.ContainsFunc(turns, func(m memory.Memory) bool {
			return m.Turn != nil && m.Turn.Status == memory.Retired && !p.gone[m.ID()] && slices.Contains(f.Provenance.Turns, m.ID())
		})
	}
	var changes []memory.Change
	met := map[string]bool{}
	for _, c := range p.changes {
		if c.Action != memory.ActionAdd || c.After.Fact == nil || c.After.Fact.Status != memory.Active {
			continue
		}
		f, err := e.fact(ctx, p.scope.Owner, c.After.Fact.ID)
		if err != nil {
			return nil, err
		}
		if f.Status != memory.Active || met[f.ID] {
			continue
		}
		if forgotten(f) {
			f.Status, f.UpdatedAt = memory.Retired, e.now()
			changes = append(changes, memory.Change{Action: memory.ActionRetire, After: memory.Image{Fact: &f}, Base: f.Version, Reason: "its turn was forgotten meanwhile"})
			continue
		}
		against, err := e.conflicts(ctx, f, "")
		if err != nil {
			return nil, err
		}
		for _, other := range against {
			older, newer := other, f
			if !f.Newer(&other) {
				older, newer = f, other
			}
			if !met[older.ID] && !kept(&older) {
				met[older.ID] = true
				changes = append(changes, memory.Replace(older, newer, e.now(), "another was learned at the same time and is newer", run.Author)[0])
			}
		}
	}
	return changes, nil
}
