package assembly

import (
	"context"

	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/chroma"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
)

// openSearcher opens the index in main memory and sets l.index. If another server searches vectors, it
// also sets l.vectorSearch, and returns a searcher that combines the server and the index.
func (l *Loci) openSearcher(store memory.Store, o index.Options) memory.Searcher {
	opts := retrieve.OffloadOptions{Log: l.log}
	var outside retrieve.VectorSearch
	reads, _ := store.(vectorReader)
	if l.config.Chroma.URL != "" && o.Model != "" {
		l.chroma = chroma.New(store, chroma.Options{
			URL: l.config.Chroma.URL, Key: l.config.Chroma.Key, Collection: l.config.Chroma.Collection, Model: o.Model, Log: l.log,
		})
		l.closers = append(l.closers, l.chroma.Close)
		outside, l.vectorSearch = chromaCopy{l.chroma, reads}, "Chroma for vectors"
	} else if s, ok := store.(*sqlstore.Store); ok && o.Model != "" && l.config.Index.OffloadAbove > 0 && s.SupportsVectorSearch() {
		outside, l.vectorSearch = s, "pgvector for users whose index would take more than "+l.config.Index.OffloadAbove.String()
		opts.AboveBytes = int64(l.config.Index.OffloadAbove)
		opts.ListLargeOwners = func(ctx context.Context, limit int) ([]memory.Owner, error) {
			return s.OwnersWithVectorsAbove(ctx, o.Model, limit)
		}
		opts.Prepare = func(ctx context.Context, owner memory.Owner) error { return s.IndexVectors(ctx, owner, o.Model) }
	}
	if outside == nil {
		if l.config.Index.OffloadAbove > 0 {
			l.log.Warn("the store has no pgvector, so the index in main memory searches all vectors", "setting", "index.offload_above")
		}
		l.index = index.New(store, o)
		l.closers = append(l.closers, l.index.Close)
		return l.index
	}
	both := retrieve.NewOffload(store, o, outside, opts)
	l.index = both.Index
	l.closers = append(l.closers, both.Close)
	return both
}

// vectorReader is a store that returns the vectors of memories.
type vectorReader interface {
	Vectors(ctx context.Context, owner memory.Owner, model string, ids []string) (map[string][]uint16, error)
}

// chromaCopy is a copy of a store's vectors in Chroma. Its method Vectors prefers the store to the copy, if
// the store can return vectors.
type chromaCopy struct {
	*chroma.Index
	store vectorReader // nil if the store cannot return vectors
}

func (c chromaCopy) Vectors(ctx context.Context, owner memory.Owner, model string, ids []string) (map[string][]uint16, error) {
	if c.store != nil {
		return c.store.Vectors(ctx, owner, model, ids)
	}
	return c.Index.Vectors(ctx, owner, model, ids)
}

// searchDescription returns the names of the search engines for a health check.
func (l *Loci) searchDescription() string {
	if l.vectorSearch == "" {
		return "index"
	}
	return "index; " + l.vectorSearch
}
