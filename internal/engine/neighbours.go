package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// compared are the facts that a candidate is compared with: live ones, and those
// that a person took away, which do not come back.
var compared = []memory.Status{memory.Active, memory.Pending, memory.Retired, memory.Rejected}

// near returns the facts a candidate is compared with: the most similar, those
// about the same thing, those of the same words that were refused before, and those
// that its turn taught and that are out of recall. What is about to be forgotten
// counts as forgotten.
func (e *Engine) near(ctx context.Context, scope memory.Scope, c learn.Candidate, gone map[string]bool) ([]learn.Neighbour, error) {
	near, err := e.neighbours(ctx, scope, c.Text, nearest)
	if err != nil {
		return nil, err
	}
	queries := []memory.Query{{Hash: text.Hash(c.Text), Statuses: compared}}
	if c.Attribute != "" {
		queries = append(queries, memory.Query{Subject: c.Subject, Attribute: c.Attribute, Statuses: compared})
	}
	if c.Turn != "" {
		queries = append(queries, memory.Query{Turn: c.Turn, Statuses: []memory.Status{memory.Superseded, memory.Retired, memory.Rejected}})
	}
	for _, q := range queries {
		page, err := e.Store.List(ctx, scope.Owner, q)
		if err != nil {
			return nil, fmt.Errorf("list facts to compare with: %w", err)
		}
		for _, m := range page.Memories {
			if scope.Sees(m.Scope()) && e.comparable(scope, m) && !slices.ContainsFunc(near, func(n learn.Neighbour) bool { return n.Fact.ID == m.ID() }) {
				near = append(near, learn.Neighbour{Fact: *m.Fact, Link: m.Link})
			}
		}
	}
	for i := range near {
		if gone[near[i].Fact.ID] {
			near[i].Fact.Status = memory.Retired
		}
	}
	return near, nil
}

// ofWords reports whether texts that share no word cannot be near.
func ofWords(e memory.Embedder) bool {
	w, ok := e.(interface{ OfWords() bool })
	return ok && w.OfWords()
}

// neighbours returns the most similar facts, best first.
func (e *Engine) neighbours(ctx context.Context, scope memory.Scope, words string, n int) ([]learn.Neighbour, error) {
	vectors, err := e.Embedder.Embed(ctx, memory.AsDocument, words)
	if err != nil {
		return nil, fmt.Errorf("embed to compare: %w", err)
	}
	found, err := e.Searcher.Search(ctx, memory.Search{
		Scopes: []memory.Scope{e.compares(scope)}, Text: words, Vector: vectors[0], ByWords: ofWords(e.Embedder),
		Kinds: []memory.Kind{memory.KindFact}, Now: e.now(), Limit: n,
	})
	if err != nil {
		return nil, fmt.Errorf("search to compare: %w", err)
	}
	ids := make([]string, len(found))
	similarity := map[string]float64{}
	for i, c := range found {
		ids[i], similarity[c.ID] = c.ID, float64(c.Found.Vector)
	}
	memories, err := e.Store.Get(ctx, scope.Owner, ids...)
	if err != nil {
		return nil, fmt.Errorf("read facts to compare with: %w", err)
	}
	var out []learn.Neighbour
	for _, m := range memories {
		if m.Fact != nil && e.comparable(scope, m) {
			out = append(out, learn.Neighbour{Fact: *m.Fact, Link: m.Link, Similarity: similarity[m.ID()]})
		}
	}
	return out, nil
}
