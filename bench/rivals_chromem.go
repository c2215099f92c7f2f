package main

import (
	"context"
	"errors"
	"fmt"

	chromem "github.com/philippgille/chromem-go"
)

// chromemDB is chromem-go, an embedded vector database that scans all vectors on
// all cores. It is measured without its files, which is how it is fastest.
type chromemDB struct{ documents *chromem.Collection }

func newChromem() *chromemDB {
	refuse := func(context.Context, string) ([]float32, error) {
		return nil, errors.New("every document brings its vector")
	}
	c, err := chromem.NewDB().CreateCollection("memories", nil, refuse)
	if err != nil {
		panic(err) // a collection without a name
	}
	return &chromemDB{c}
}

// Name implements rival.
func (*chromemDB) Name() string { return "chromem-go 0.7.0, in memory" }

// Add implements rival.
func (c *chromemDB) Add(ctx context.Context, docs ...document) error {
	for _, d := range docs {
		if err := c.documents.AddDocument(ctx, chromem.Document{ID: d.ID, Content: d.Text, Embedding: d.Vector}); err != nil {
			return fmt.Errorf("add to chromem-go: %w", err)
		}
	}
	return nil
}

// Search implements rival.
func (c *chromemDB) Search(ctx context.Context, q document, k int) ([]string, error) {
	found, err := c.documents.QueryEmbedding(ctx, q.Vector, min(k, c.documents.Count()), nil, nil)
	if err != nil {
		return nil, fmt.Errorf("search chromem-go: %w", err)
	}
	ids := make([]string, len(found))
	for i, f := range found {
		ids[i] = f.ID
	}
	return ids, nil
}

// Close implements rival.
func (*chromemDB) Close() error { return nil }
