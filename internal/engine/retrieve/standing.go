package retrieve

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// openingFacts reads the memory that a prompt gets without a search: core facts or only pinned facts,
// profile entries, and the asking conversation's summary. It excludes facts with pending replacements.
func (r *Source) openingFacts(ctx context.Context, disputed map[string]memory.Fact) recall.Core {
	var c recall.Core
	facts, err := r.factsReady(ctx)
	if part := "core"; err != nil {
		if r.coreTokens() == 0 {
			part = "pinned"
		}
		r.Skip(part, err)
	}
	for _, m := range facts {
		_, open := disputed[m.ID()]
		if !open && m.Visible(r.Now) && r.Q.Scope.Sees(m.Scope()) && (m.Fact.Pinned() || r.coreTokens() > 0 && recall.MayShowUnasked(m.Fact, r.Now) && !slices.Contains(r.E.Opts.Recall.CoreWithout, m.Fact.Category)) {
			c.Facts = append(c.Facts, m)
		}
	}
	if c.Profile, err = r.E.Entries(ctx, r.Q.Scope.Owner, memory.At{}); err != nil {
		r.Skip("profile", err)
	}
	c.Summary = r.summary(ctx)
	return c
}

// OpeningFacts returns the core facts at the beginning of a conversation, the core facts that do not fit,
// and the budget in tokens.
func (e *Retriever) OpeningFacts(ctx context.Context, scope memory.Scope) (in, left recall.Core, budget int, err error) {
	r := Source{E: e, Q: Question{Scope: scope, Core: true}, Now: e.Time()}
	_, disputed, err := e.Compare.Disputes(ctx, scope.Owner)
	c := r.openingFacts(ctx, disputed)
	if err != nil || len(r.Degraded) > 0 {
		return in, left, 0, cmp.Or(err, memory.Errorf(memory.Unavailable, "%s", strings.Join(r.Degraded, "; ")))
	}
	in, left = c.Choose(r.coreRoom(), nil, r.Now)
	return in, left, r.coreRoom(), nil
}

// coreCandidates reads the pinned or most important facts. It waits no longer than a search. Facts that
// are read too late are cached for the next prompt.
func (r *Source) factsReady(ctx context.Context) (facts []recall.CoreFact, err error) {
	if r.coreTokens() == 0 {
		page, err := r.E.Store.List(ctx, r.Q.Scope.Owner, memory.Query{Pinned: true})
		for _, m := range page.Memories {
			facts = append(facts, recall.NewCoreFact(m))
		}
		return facts, err
	}
	ctx, cancel := contextBefore(ctx, r.E.share(searchLeaves), 0)
	defer cancel()
	return core.Async(r.E.Core, func() ([]recall.CoreFact, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), core.ComparingTime)
		defer cancel()
		return r.E.Blocks.Ready.Of(ctx, r.E.Core, r.Q.Scope.Owner, r.Now)
	})(ctx)
}

// coreTokens returns the size of the core facts in a block, in tokens; 0 means only pinned facts.
func (r *Source) coreTokens() int {
	if !r.Q.Core {
		return 0
	}
	return r.E.Opts.Recall.Core
}

// coreBudget returns the maximum size of a core in tokens.
func (r *Source) coreRoom() int { return cmp.Or(r.coreTokens(), recall.PinnedTokens) }

// chooseOpening chooses the core facts after a search, once. Core facts of earlier blocks count against
// the budget but are not repeated. Both are excluded from the search, unless the core has only pinned
// facts. It returns false if the core was chosen before or is not configured.
func (r *Pipeline) settle(cands []memory.Candidate) bool {
	if r.readOpening == nil {
		return false
	}
	c := r.readOpening()
	r.readOpening = nil
	r.placed()
	r.Q.Exclude = maps.Clone(r.Q.Exclude)
	if r.Q.Exclude == nil {
		r.Q.Exclude = map[string]bool{}
	}
	c.Facts = slices.DeleteFunc(c.Facts, func(m recall.CoreFact) bool { return r.shownCore[m.ID()] || r.requestContains(m.Memory) })
	near := make([]memory.Candidate, 0, len(cands))
	for _, cand := range cands {
		if cand.Kind == memory.KindFact {
			near = append(near, cand)
		}
	}
	slices.SortStableFunc(near, func(a, b memory.Candidate) int { return cmp.Compare(b.Score, a.Score) })
	r.Opening, r.overflow = c.Choose(r.coreRoom()-r.shownTokens, core.IDsOf(near), r.Now)
	if r.coreTokens() > 0 {
		for _, id := range r.Opening.IDs() {
			r.Q.Exclude[id] = true
		}
		maps.Copy(r.Q.Exclude, r.shownCore)
	}
	return true
}
