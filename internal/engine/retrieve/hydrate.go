package retrieve

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// maxSuccessors is how often a fact may have been replaced since.
const maxSuccessors = 8

// hydrate reads candidates from the store and drops those that may not be shown any more.
// For a question about the past it returns the memories that the search read.
func (r *Source) hydrate(ctx context.Context, cands []memory.Candidate) ([]memory.Hit, error) {
	hits := make([]memory.Hit, 0, len(cands))
	if r.history != nil {
		for _, c := range cands {
			if m, ok := r.history[c.ID]; ok {
				hits = append(hits, memory.Hit{Memory: m, Score: c.Score, Why: c.Why})
			}
		}
		return hits, nil
	}
	memories, err := r.E.Store.Get(ctx, r.Q.Scope.Owner, core.IDsOf(cands)...)
	if err != nil {
		return nil, fmt.Errorf("read what was found: %w", err)
	}
	for i := range cands { // in whose order they come, some left out
		c := &cands[i]
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

// core reads what is in the prompt without a search: pinned facts, profile entries and standing facts.
func (r *Source) core(ctx context.Context) recall.Core {
	var standing recall.Core
	owner := r.Q.Scope.Owner
	page, err := r.E.Store.List(ctx, owner, memory.Query{Pinned: true})
	if err != nil {
		r.Skip("pinned", err)
	}
	for _, m := range page.Memories {
		if m.Visible(r.Now) && r.Q.Scope.Sees(m.Scope()) {
			standing.Pinned = append(standing.Pinned, *m.Fact)
		}
	}
	profile, err := r.E.Store.Profile(ctx, owner, memory.At{})
	if err != nil {
		r.Skip("profile", err)
	}
	standing.Profile = core.Told(profile)
	if r.E.Opts.Recall.Core {
		if standing.Standing, err = r.standing(ctx); err != nil {
			r.Skip("standing", err)
		}
	}
	return standing
}

// standingSearcher is a searcher that knows which facts stand: see [index.Index.Standing].
type standingSearcher interface {
	Standing(ctx context.Context, owner memory.Owner, topics english.Topics, most int) ([]string, error)
}

// mostStanding is how many standing facts are read to choose from: a block has room for a few.
const mostStanding = 64

// standing reads the facts that matter to the message whatever is searched for.
func (r *Source) standing(ctx context.Context) ([]memory.Fact, error) {
	facts, err := r.factsOn(ctx, english.TopicsOf(r.Q.Text)&^english.Theirs)
	return recall.Standing(facts, r.Q.Text), err
}

// namesKin reports whether the message has the name of somebody who is close to the user.
func (r *Pipeline) namesKin(ctx context.Context) bool {
	facts, err := r.factsOn(ctx, english.Named)
	if err != nil {
		r.Skip("names", err)
	}
	words := text.Words(r.asked)
	for _, f := range facts {
		for _, name := range english.KinIn(f.Content) {
			if slices.Contains(words, name) || slices.Contains(words, name+"s") {
				return true
			}
		}
	}
	return false
}

// factsOn reads facts that stand in one of the topics.
func (r *Source) factsOn(ctx context.Context, topics english.Topics) ([]memory.Fact, error) {
	ix, ok := r.E.Searcher.(standingSearcher)
	if !ok {
		return nil, nil
	}
	owner := r.Q.Scope.Owner
	ids, err := ix.Standing(ctx, owner, topics, mostStanding)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	memories, err := r.E.Store.Get(ctx, owner, ids...)
	if err != nil {
		return nil, err
	}
	var facts []memory.Fact
	for _, m := range memories {
		if m.Fact != nil && m.Link == nil && m.Visible(r.Now) && r.Q.Scope.Sees(m.Scope()) && !r.Q.Exclude[m.ID()] {
			facts = append(facts, *m.Fact)
		}
	}
	return facts, nil
}

// overtaken adds to turns the replacements of facts learned from them, and moves such a
// replacement in front of the turn where it is a hit too.
func (r *Pipeline) overtaken(ctx context.Context) {
	var turns []string
	for _, h := range r.Hits {
		if t := h.Memory.Turn; t != nil && !t.LearnedAt.IsZero() {
			turns = append(turns, t.ID)
		}
	}
	if len(turns) > 0 {
		now, err := r.Successors(ctx, turns)
		if err != nil {
			r.Skip("successors", err)
			return
		}
		for i := range r.Hits {
			if t := r.Hits[i].Memory.Turn; t != nil {
				r.Hits[i].Now = now[t.ID]
			}
		}
	}
	r.Hits = recall.Overtaken(r.Hits)
}

// pair puts the assistant's answers behind the questions that they answer. A question that is no
// hit joins its answer where the budget has room, unless it is asked again or the request has it.
func (r *Pipeline) pair(ctx context.Context) {
	var ids []string
	for _, h := range r.Hits {
		if id := recall.AnswerTo(h.Memory); id != "" && !r.Q.Exclude[id] {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 || r.history != nil {
		return
	}
	found, err := r.E.Store.Get(ctx, r.Q.Scope.Owner, ids...)
	if err != nil {
		r.Skip("questions", err)
	}
	found = slices.DeleteFunc(found, func(m memory.Memory) bool {
		return m.Turn == nil || m.Turn.Role != memory.RoleUser || !m.Visible(r.Now) || r.repeats[m.ID()] || r.carries(m)
	})
	r.Hits = recall.Paired(r.Hits, found, r.Q.Budget)
}

// before adds to facts the ones they replaced, so that the reader knows what was true before.
func (r *Pipeline) before(ctx context.Context) {
	var facts []string
	for _, h := range r.Hits {
		if m := h.Memory; m.Fact != nil && m.Link == nil {
			facts = append(facts, m.ID())
		}
	}
	if len(facts) == 0 {
		return
	}
	before, err := memory.Predecessors(ctx, r.E.Store, r.Q.Scope.Owner, facts)
	if err != nil {
		r.Skip("predecessors", err)
		return
	}
	for i := range r.Hits {
		if m := r.Hits[i].Memory; m.Fact != nil && m.Link == nil {
			r.Hits[i].Before = recall.Before(*m.Fact, before[m.ID()])
		}
	}
}

// Successors returns, by turn, the current replacements of facts learned from turns. Where a
// fact ended without one, or its replacement may not be shown, only the time is returned.
func (r *Source) Successors(ctx context.Context, turns []string) (map[string][]memory.Fact, error) {
	next, err := memory.SupersededBy(ctx, r.E.Store, r.Q.Scope.Owner, turns)
	if err != nil || len(next) == 0 {
		return nil, err
	}
	known := map[string]*memory.Fact{} // nil: there is no such fact
	for range maxSuccessors {
		missing := successorsMissing(next, known, r.Now)
		if len(missing) == 0 {
			break
		}
		found, err := r.E.Store.Get(ctx, r.Q.Scope.Owner, missing...)
		if err != nil {
			return nil, err
		}
		for _, id := range missing {
			known[id] = nil
		}
		for _, m := range found {
			if m.Fact != nil && m.Link == nil && known[m.ID()] == nil {
				known[m.ID()] = m.Fact
			}
		}
	}
	now := map[string][]memory.Fact{}
	for turn, ids := range next {
		var gone *memory.Fact
		for _, id := range ids {
			switch f := lastOf(id, known, r.Now); {
			case f != nil && f.Visible(r.Now):
				now[turn] = append(now[turn], *f)
			case f != nil && slices.Contains(f.Provenance.Turns, turn): // it ended by itself
				if !f.ValidTo.After(r.Now) {
					gone = &memory.Fact{ObservedAt: f.ValidTo}
				}
			case f != nil:
				gone = &memory.Fact{ObservedAt: f.ObservedAt}
			case gone == nil:
				gone = &memory.Fact{}
			}
		}
		if gone != nil {
			now[turn] = append(now[turn], *gone)
		}
	}
	return now, nil
}

// lastOf follows a chain of replacements to the first fact that may be shown, or the last
// known one; nil for none.
func lastOf(id string, known map[string]*memory.Fact, now time.Time) *memory.Fact {
	var last *memory.Fact
	for range maxSuccessors {
		f := known[id]
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

// successorsMissing returns the ids at the ends of the lines that were not read yet.
func successorsMissing(next map[string][]string, known map[string]*memory.Fact, now time.Time) []string {
	var missing []string
	for _, ids := range next {
		for _, id := range ids {
			if last := lastOf(id, known, now); last != nil {
				if last.Visible(now) {
					continue
				}
				id = last.SupersededBy
			}
			if _, asked := known[id]; !asked && id != "" && !slices.Contains(missing, id) {
				missing = append(missing, id)
			}
		}
	}
	return missing
}
