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
func (r *Source) openingFacts(ctx context.Context, replacements map[string]memory.Fact) recall.Core {
	var c recall.Core
	facts, err := r.coreCandidates(ctx)
	if part := "core"; err != nil {
		if r.coreTokens() == 0 {
			part = "pinned"
		}
		r.RecordSkip(part, err)
	}
	for _, m := range facts {
		_, isDisputed := replacements[m.ID()]
		if !isDisputed && m.Visible(r.Now) && r.Question.Scope.Sees(m.Scope()) && (m.Fact.Pinned() || r.coreTokens() > 0 && recall.MayShowWithoutQuestion(m.Fact, r.Now) && !slices.Contains(r.Retriever.Opts.Recall.CoreExcludes, m.Fact.Category)) {
			c.Facts = append(c.Facts, m)
		}
	}
	if c.Profile, err = r.Retriever.ProfileEntries(ctx, r.Question.Scope.Owner, memory.At{}); err != nil {
		r.RecordSkip("profile", err)
	}
	c.Summary = r.conversationSummary(ctx)
	return c
}

// OpeningFacts returns the core facts at the beginning of a conversation, the core facts that do not fit,
// and the budget in tokens.
func (e *Retriever) OpeningFacts(ctx context.Context, scope memory.Scope) (chosen, overflow recall.Core, budget int, err error) {
	r := Source{Retriever: e, Question: Question{Scope: scope, WithCore: true}, Now: e.Time()}
	_, replacements, err := e.Compare.PendingReplacements(ctx, scope.Owner)
	c := r.openingFacts(ctx, replacements)
	if err != nil || len(r.Degraded) > 0 {
		return chosen, overflow, 0, cmp.Or(err, memory.Errorf(memory.Unavailable, "%s", strings.Join(r.Degraded, "; ")))
	}
	chosen, overflow = c.SplitByBudget(r.coreBudget(), nil, r.Now)
	return chosen, overflow, r.coreBudget(), nil
}

// coreCandidates reads the pinned or most important facts. It waits at most as long as a search may take.
// Facts that are read too late are cached for the next prompt.
func (r *Source) coreCandidates(ctx context.Context) (facts []recall.CoreFact, err error) {
	if r.coreTokens() == 0 {
		page, err := r.Retriever.Store.List(ctx, r.Question.Scope.Owner, memory.Query{Pinned: true})
		for _, m := range page.Memories {
			facts = append(facts, recall.NewCoreFact(m))
		}
		return facts, err
	}
	ctx, cancel := contextWithReserve(ctx, r.Retriever.deadlineShare(searchReserve), 0)
	defer cancel()
	return core.Async(r.Retriever.Core, func() ([]recall.CoreFact, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), core.CompareTimeout)
		defer cancel()
		return r.Retriever.Blocks.TopFacts.Get(ctx, r.Retriever.Core, r.Question.Scope.Owner, r.Now)
	})(ctx)
}

// coreTokens returns the size of the core facts in a block, in tokens; 0 means only pinned facts.
func (r *Source) coreTokens() int {
	if !r.Question.WithCore {
		return 0
	}
	return r.Retriever.Opts.Recall.CoreTokens
}

// coreBudget returns the maximum size of a core in tokens.
func (r *Source) coreBudget() int { return cmp.Or(r.coreTokens(), recall.PinnedTokenBudget) }

// chooseOpening chooses the core facts after a search, once. Core facts of earlier blocks count against the
// budget but are not repeated. If the core has more than pinned facts, the hits exclude the core facts of
// this block and of earlier blocks. It returns false if the core was chosen before or is not configured.
func (r *Pipeline) chooseOpening(candidates []memory.Candidate) bool {
	if r.readOpening == nil {
		return false
	}
	c := r.readOpening()
	r.readOpening = nil
	r.waitForChatState()
	r.Question.ExcludeIDs = maps.Clone(r.Question.ExcludeIDs)
	if r.Question.ExcludeIDs == nil {
		r.Question.ExcludeIDs = map[string]bool{}
	}
	c.Facts = slices.DeleteFunc(c.Facts, func(m recall.CoreFact) bool { return r.shownCore[m.ID()] || r.requestContains(m.Memory) })
	factCandidates := make([]memory.Candidate, 0, len(candidates))
	for _, cand := range candidates {
		if cand.Kind == memory.KindFact {
			factCandidates = append(factCandidates, cand)
		}
	}
	slices.SortStableFunc(factCandidates, func(a, b memory.Candidate) int { return cmp.Compare(b.Score, a.Score) })
	r.OpeningCore, r.coreOverflow = c.SplitByBudget(r.coreBudget()-r.shownCoreTokens, core.CandidateIDs(factCandidates), r.Now)
	if r.coreTokens() > 0 {
		for _, id := range r.OpeningCore.IDs() {
			r.Question.ExcludeIDs[id] = true
		}
		maps.Copy(r.Question.ExcludeIDs, r.shownCore)
	}
	return true
}
