package retrieve

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// maxSuccessors bounds the steps from a fact to its current replacement.
const maxSuccessors = 8

// hydrate reads candidates from the store and drops memories that are not visible. For a question about
// the past it returns the memories that the search already read.
func (r *Source) hydrate(ctx context.Context, candidates []memory.Candidate) ([]memory.Hit, error) {
	defer r.Retriever.Metrics.ObserveStage("read", time.Now())
	hits := make([]memory.Hit, 0, len(candidates))
	if r.pastMemories != nil {
		for _, c := range candidates {
			if m, ok := r.pastMemories[c.ID]; ok {
				hits = append(hits, memory.Hit{Memory: m, Score: c.Score, Why: c.Why})
			}
		}
		return hits, nil
	}
	memories, err := r.Retriever.Store.Get(ctx, r.Question.Scope.Owner, core.CandidateIDs(candidates)...)
	if err != nil {
		return nil, fmt.Errorf("read the found memories: %w", err)
	}
	for i := range candidates { // both lists have the same order; the store omits deleted memories
		c := &candidates[i]
		if len(memories) == 0 || memories[0].ID() != c.ID {
			continue
		}
		if m := memories[0]; m.Visible(r.Now) {
			hits = append(hits, memory.Hit{Memory: m, Score: c.Score, Why: c.Why})
		}
		memories = memories[1:]
	}
	return hits, nil
}

// addReplacements adds to turns the replacements of facts learned from them. If a replacement is
// itself a hit, it moves before the turn.
func (r *Pipeline) addReplacements(ctx context.Context) {
	var turnIDs []string
	for _, h := range r.Hits {
		if t := h.Memory.Turn; t != nil && !t.LearnedAt.IsZero() {
			turnIDs = append(turnIDs, t.ID)
		}
	}
	if len(turnIDs) > 0 {
		replacements, err := r.Successors(ctx, turnIDs)
		if err != nil {
			r.RecordSkip("successors", err)
			return
		}
		for i := range r.Hits {
			if t := r.Hits[i].Memory.Turn; t != nil {
				r.Hits[i].Replacements = replacements[t.ID]
			}
		}
	}
	r.Hits = recall.CurrentFactsFirst(r.Hits)
}

// pairAnswers moves the assistant's answers behind their questions. A question that is not a hit is
// added before its answer if the budget allows and if the question neither repeats the current question
// nor is contained in the request.
func (r *Pipeline) pairAnswers(ctx context.Context) {
	var ids []string
	for _, h := range r.Hits {
		if id := recall.AnsweredTurnID(h.Memory); id != "" && !r.Question.ExcludeIDs[id] {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 || r.pastMemories != nil {
		return
	}
	questions, err := r.Retriever.Store.Get(ctx, r.Question.Scope.Owner, ids...)
	if err != nil {
		r.RecordSkip("questions", err)
	}
	questions = slices.DeleteFunc(questions, func(m memory.Memory) bool {
		return m.Turn == nil || m.Turn.Role != memory.RoleUser || !m.Visible(r.Now) || r.droppedIDs[m.ID()] || r.requestContains(m)
	})
	r.Hits = recall.PairAnswers(r.Hits, questions, r.Question.Budget)
}

// addPredecessors adds to facts the facts that they replaced, so that the model sees earlier states.
func (r *Pipeline) addPredecessors(ctx context.Context) {
	var factIDs []string
	for _, h := range r.Hits {
		if m := h.Memory; m.Fact != nil && m.Link == nil {
			factIDs = append(factIDs, m.ID())
		}
	}
	if len(factIDs) == 0 {
		return
	}
	predecessors, err := memory.Predecessors(ctx, r.Retriever.Store, r.Question.Scope.Owner, factIDs)
	if err != nil {
		r.RecordSkip("predecessors", err)
		return
	}
	for i := range r.Hits {
		if m := r.Hits[i].Memory; m.Fact != nil && m.Link == nil {
			r.Hits[i].Predecessors = recall.ReplacedFacts(*m.Fact, predecessors[m.ID()])
		}
	}
}

// Successors returns, by turn, the current replacements of facts learned from turns. For a fact that ended
// without a visible replacement, it returns a fact that contains only ObservedAt.
func (r *Source) Successors(ctx context.Context, turnIDs []string) (map[string][]memory.Fact, error) {
	replacementIDs, err := memory.SupersededBy(ctx, r.Retriever.Store, r.Question.Scope.Owner, turnIDs)
	if err != nil || len(replacementIDs) == 0 {
		return nil, err
	}
	facts := map[string]*memory.Fact{}
	ids := slices.Concat(slices.Collect(maps.Values(replacementIDs))...)
	for step := 0; step < maxSuccessors && len(ids) > 0; step++ {
		slices.Sort(ids)
		memories, err := r.Retriever.Store.Get(ctx, r.Question.Scope.Owner, slices.Compact(ids)...)
		if err != nil {
			return nil, err
		}
		ids = nil
		for _, m := range memories {
			if m.Fact == nil || m.Link != nil {
				continue
			}
			facts[m.ID()] = m.Fact
			if replacementIDs := m.Fact.SupersededBy; replacementIDs != "" && facts[replacementIDs] == nil && !m.Visible(r.Now) {
				ids = append(ids, replacementIDs)
			}
		}
	}
	current := map[string][]memory.Fact{}
	for turn, ids := range replacementIDs {
		var ended *memory.Fact
		for _, id := range ids {
			switch f := currentReplacement(id, facts, r.Now); {
			case f != nil && f.Visible(r.Now):
				current[turn] = append(current[turn], *f)
			case f != nil && slices.Contains(f.Provenance.Turns, turn): // the fact has no replacement
				if !f.ValidTo.After(r.Now) {
					ended = &memory.Fact{ObservedAt: f.ValidTo}
				}
			case f != nil:
				ended = &memory.Fact{ObservedAt: f.ObservedAt}
			case ended == nil:
				ended = &memory.Fact{}
			}
		}
		if ended != nil {
			current[turn] = append(current[turn], *ended)
		}
	}
	return current, nil
}

// currentReplacement returns the first visible fact in a sequence of replacements, or the last fact.
func currentReplacement(id string, facts map[string]*memory.Fact, now time.Time) *memory.Fact {
	var last *memory.Fact
	for range maxSuccessors {
		f := facts[id]
		if f == nil {
			return last
		}
		if last = f; f.Visible(now) {
			return f
		}
		id = f.SupersededBy
	}
	return last
}
