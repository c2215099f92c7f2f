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
func (e reader) neighbors(ctx context.Context, scope memory.Scope, version int64, cands []extract.Candidate, gone map[string]bool) ([][]extract.Neighbour, error) {
	if len(cands) == 0 {
		return nil, nil
	}
	located := memory.WithVersion(ctx, scope.Owner, version)
	alike := make([][]memory.Candidate, len(cands))
	var l memory.Look
	for i, c := range cands {
		var err error
		if alike[i], err = e.similarFacts(located, scope, c.Text, nearest); err != nil {
			return nil, err
		}
		l.IDs, l.Queries = slices.Concat(l.IDs, core.IDsOf(alike[i]), c.Targets), append(l.Queries, comparisonQueries(c)...)
	}
	slices.Sort(l.IDs)
	l.IDs = slices.Compact(l.IDs)
	seen, err := memory.LookAt(ctx, e.Store, scope.Owner, l) // includes the similar facts of all candidates
	if err != nil {
		return nil, fmt.Errorf("read facts to compare with: %w", err)
	}
	near, pages := make([][]extract.Neighbour, len(cands)), seen.Pages
	for i, c := range cands {
		n := len(comparisonQueries(c))
		named := memory.Page{Memories: slices.DeleteFunc(slices.Clone(seen.Memories), func(m memory.Memory) bool { return m.Fact == nil || !slices.Contains(c.Targets, m.ID()) })}
		near[i] = e.addNeighbors(scope, e.neighboursAmong(scope, alike[i], seen.Memories), append(pages[:n:n], named), gone)
		pages = pages[n:]
	}
	return near, nil
}

// comparisonQueries returns the queries for facts with which a candidate is compared, in addition to
// similar facts.
func comparisonQueries(c extract.Candidate) []memory.Query {
	queries := []memory.Query{{Hash: text.Hash(c.Text), Statuses: core.ComparedStatuses}}
	if c.Attribute != "" {
		queries = append(queries, memory.Query{Subject: c.Subject, Attribute: c.Attribute, Statuses: core.ComparedStatuses})
	}
	if c.Turn != "" {
		queries = append(queries, memory.Query{Turn: c.Turn, Statuses: []memory.Status{memory.Superseded, memory.Retired, memory.Rejected}})
	}
	return queries
}

// addNeighbors appends the facts of pages to neighbors, without duplicates.
func (e reader) addNeighbors(scope memory.Scope, near []extract.Neighbour, pages []memory.Page, gone map[string]bool) []extract.Neighbour {
	for _, page := range pages {
		for _, m := range page.Memories {
			if scope.Sees(m.Scope()) && e.Retrieve.Comparable(scope, m) && !slices.ContainsFunc(near, func(n extract.Neighbour) bool { return n.Fact.ID == m.ID() }) {
				near = append(near, extract.Neighbour{Fact: *m.Fact, Link: m.Link})
			}
		}
	}
	for i := range near {
		if gone[near[i].Fact.ID] {
			near[i].Fact.Status = memory.Retired
		}
	}
	return near
}

// similarFacts returns the facts that are most similar to a text, best first.
func (e reader) similarFacts(ctx context.Context, scope memory.Scope, words string, n int) ([]memory.Candidate, error) {
	near, err := e.VectorToCompare(ctx, words)
	if err != nil {
		return nil, err
	}
	found, err := e.Searcher.Search(ctx, memory.Search{
		Scopes: []memory.Scope{e.Retrieve.Compares(scope)}, Text: words, Vector: near, ByWords: core.OfWords(e.Embedder),
		Kinds: []memory.Kind{memory.KindFact}, Now: e.Time(), Limit: n,
	})
	if err != nil {
		return nil, fmt.Errorf("search similar facts: %w", err)
	}
	return found, nil
}

// comparableNeighbors returns the memories of a search that may be compared, in order of the search.
func (e reader) neighboursAmong(scope memory.Scope, alike []memory.Candidate, memories []memory.Memory) []extract.Neighbour {
	var out []extract.Neighbour
	for _, c := range alike {
		at := slices.IndexFunc(memories, func(m memory.Memory) bool { return m.ID() == c.ID })
		if at < 0 {
			continue
		}
		if m := memories[at]; m.Fact != nil && e.Retrieve.Comparable(scope, m) {
			out = append(out, extract.Neighbour{Fact: *m.Fact, Link: m.Link, Similarity: float64(c.Found.Vector)})
		}
	}
	return out
}
