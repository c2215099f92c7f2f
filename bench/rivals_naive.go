package main

import (
	"context"
	"slices"
	"sync"
)

// naive compares a question's vector with every other, one after the other, and
// sorts them all: what takes ten lines to write. It keeps everything in memory.
type naive struct {
	mu   sync.RWMutex // guards docs
	docs []document
}

// Name implements rival.
func (*naive) Name() string { return "naive scan, in memory" }

// Add implements rival.
func (n *naive) Add(_ context.Context, docs ...document) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.docs = append(n.docs, docs...)
	return nil
}

// Search implements rival.
func (n *naive) Search(_ context.Context, q document, k int) ([]string, error) {
	type scored struct {
		id    string
		score float32
	}
	n.mu.RLock()
	docs := n.docs
	n.mu.RUnlock()
	all := make([]scored, len(docs))
	for i, d := range docs {
		// Not vector.Dot: what is measured is a loop as anybody would write it.
		var sum float32
		for j, x := range d.Vector {
			sum += x * q.Vector[j]
		}
		all[i] = scored{d.ID, sum}
	}
	slices.SortFunc(all, func(a, b scored) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	ids := make([]string, min(k, len(all)))
	for i := range ids {
		ids[i] = all[i].id
	}
	return ids, nil
}

// Close implements rival.
func (*naive) Close() error { return nil }
