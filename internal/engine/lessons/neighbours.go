package lessons

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// neighbors returns the facts with which each candidate is compared: the most similar facts, facts with
// the same attribute, equal facts that were rejected, and retired facts from the same turn. Facts in
// forgottenIDs count as retired. Facts written after the owner's version may be missing:
// [Learner.checkUnchanged] detects them.
func (e extractor) neighbors(ctx context.Context, scope memory.Scope, version int64, candidates []extract.Candidate, forgottenIDs map[string]bool) ([][]extract.Neighbor, error) {
	if len(candidates) == 0 {
		return nil, nil
	}
	versionCtx := memory.WithVersion(ctx, scope.Owner, version)
	similar := make([][]memory.Candidate, len(candidates))
	var l memory.ReadSet
	for i, c := range candidates {
		var err error
		if similar[i], err = e.similarFacts(versionCtx, scope, c.Text, maxSimilar); err != nil {
			return nil, err
		}
		l.IDs, l.Queries = slices.Concat(l.IDs, core.CandidateIDs(similar[i]), c.TargetIDs), append(l.Queries, comparisonQueries(c)...)
	}
	slices.Sort(l.IDs)
	l.IDs = slices.Compact(l.IDs)
	batch, err := memory.ReadBatch(ctx, e.Store, scope.Owner, l) // includes the similar facts of all candidates
	if err != nil {
		return nil, fmt.Errorf("read facts to compare with: %w", err)
	}
	neighborLists, pages := make([][]extract.Neighbor, len(candidates)), batch.Pages
	for i, c := range candidates {
		n := len(comparisonQueries(c))
		targets := memory.Page{Memories: slices.DeleteFunc(slices.Clone(batch.Memories), func(m memory.Memory) bool { return m.Fact == nil || !slices.Contains(c.TargetIDs, m.ID()) })}
		neighborLists[i] = e.addNeighbors(scope, e.comparableNeighbors(scope, similar[i], batch.Memories), append(pages[:n:n], targets), forgottenIDs)
		pages = pages[n:]
	}
	return neighborLists, nil
}

// comparisonQueries returns the queries for facts with which a candidate is compared, in addition to
// similar facts.
func comparisonQueries(c extract.Candidate) []memory.Query {
	queries := []memory.Query{{Hash: text.Hash(c.Text), Statuses: core.ComparedStatuses}}
	if c.Attribute != "" {
		queries = append(queries, memory.Query{Subject: c.Subject, Attribute: c.Attribute, Statuses: core.ComparedStatuses})
	}
	if c.TurnID != "" {
		queries = append(queries, memory.Query{Turn: c.TurnID, Statuses: []memory.Status{memory.Superseded, memory.Retired, memory.Rejected}})
	}
	return queries
}

// addNeighbors appends the facts of pages to neighbors, without duplicates.
func (e extractor) addNeighbors(scope memory.Scope, neighbors []extract.Neighbor, pages []memory.Page, forgottenIDs map[string]bool) []extract.Neighbor {
	for _, page := range pages {
		for _, m := range page.Memories {
			if scope.Sees(m.Scope()) && e.Retrieve.IsComparable(scope, m) && !slices.ContainsFunc(neighbors, func(n extract.Neighbor) bool { return n.Fact.ID == m.ID() }) {
				neighbors = append(neighbors, extract.Neighbor{Fact: *m.Fact, Link: m.Link})
			}
		}
	}
	for i := range neighbors {
		if forgottenIDs[neighbors[i].Fact.ID] {
			neighbors[i].Fact.Status = memory.Retired
		}
	}
	return neighbors
}

// similarFacts returns the facts that are most similar to a text, best first.
func (e extractor) similarFacts(ctx context.Context, scope memory.Scope, content string, limit int) ([]memory.Candidate, error) {
	vector, err := e.VectorToCompare(ctx, content)
	if err != nil {
		return nil, err
	}
	candidates, err := e.Searcher.Search(ctx, memory.Search{
		Scopes: []memory.Scope{e.Retrieve.ComparedScope(scope)}, Text: content, Vector: vector, WordsOnly: core.IsLexical(e.Embedder),
		Kinds: []memory.Kind{memory.KindFact}, Now: e.Time(), Limit: limit,
	})
	if err != nil {
		return nil, fmt.Errorf("search similar facts: %w", err)
	}
	return candidates, nil
}

// comparableNeighbors returns the memories of a search that may be compared, in order of the search.
func (e extractor) comparableNeighbors(scope memory.Scope, candidates []memory.Candidate, memories []memory.Memory) []extract.Neighbor {
	var out []extract.Neighbor
	for _, c := range candidates {
		index := slices.IndexFunc(memories, func(m memory.Memory) bool { return m.ID() == c.ID })
		if index < 0 {
			continue
		}
		if m := memories[index]; m.Fact != nil && e.Retrieve.IsComparable(scope, m) {
			out = append(out, extract.Neighbor{Fact: *m.Fact, Link: m.Link, Similarity: float64(c.Measures.Vector)})
		}
	}
	return out
}
