package engine

import (
	"context"
	"fmt"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// maxSuccessors is how often a fact may have been replaced since.
const maxSuccessors = 8

// hydrate reads candidates from the store as they are now; what may not be shown
// any more ends here. In the past, what was found is what there was.
func (r *recalling) hydrate(ctx context.Context, cands []memory.Candidate) ([]memory.Hit, error) {
	byID := r.then
	if byID == nil {
		ids := make([]string, len(cands))
		for i, c := range cands {
			ids[i] = c.ID
		}
		memories, err := r.e.Store.Get(ctx, r.q.Scope.Owner, ids...)
		if err != nil {
			return nil, fmt.Errorf("read what was found: %w", err)
		}
		byID = make(map[string]memory.Memory, len(memories))
		for _, m := range memories {
			if m.Visible(r.now) {
				byID[m.ID()] = m
			}
		}
	}
	var hits []memory.Hit
	for _, c := range cands {
		if m, ok := byID[c.ID]; ok {
			hits = append(hits, memory.Hit{Memory: m, Score: c.Score, Why: c.Why})
		}
	}
	return hits, nil
}

// core reads what is always in the prompt: pinned facts and profile entries.
func (r *recalling) core(ctx context.Context) recall.Core {
	var core recall.Core
	owner := r.q.Scope.Owner
	page, err := r.e.Store.List(ctx, owner, memory.Query{Pinned: true})
	if err != nil {
		r.skip("pinned", err)
	}
	for _, m := range page.Memories {
		if m.Visible(r.now) && r.q.Scope.Sees(m.Scope()) {
			core.Pinned = append(core.Pinned, *m.Fact)
		}
	}
	if core.Profile, err = r.e.Store.Profile(ctx, owner, memory.At{}); err != nil {
		r.skip("profile", err)
	}
	return core
}

// overtaken sets beside turns what took the place of the facts that they taught,
// and a turn behind the fact that did, where that is a hit too (SPEC 3.10).
func (r *recalling) overtaken(ctx context.Context) {
	for i := range r.hits {
		t := r.hits[i].Memory.Turn
		if t == nil || t.LearnedAt.IsZero() {
			continue
		}
		now, err := r.successors(ctx, t.ID)
		if err != nil {
			r.skip("successors", err)
			return
		}
		r.hits[i].Now = now
	}
	r.hits = recall.Overtaken(r.hits)
}

// successors returns the facts that took the place of what a turn taught.
func (r *recalling) successors(ctx context.Context, turn string) ([]memory.Fact, error) {
	owner := r.q.Scope.Owner
	page, err := r.e.Store.List(ctx, owner, memory.Query{Turn: turn, Statuses: []memory.Status{memory.Superseded}})
	if err != nil {
		return nil, err
	}
	var now []memory.Fact
	for _, m := range page.Memories {
		next := m.Fact.SupersededBy
		for range maxSuccessors {
			found, err := r.e.Store.Get(ctx, owner, next)
			if err != nil {
				return nil, err
			}
			if len(found) == 0 || found[0].Fact == nil {
				break
			}
			if found[0].Fact.Visible(r.now) {
				now = append(now, *found[0].Fact)
				break
			}
			next = found[0].Fact.SupersededBy
		}
	}
	return now, nil
}
