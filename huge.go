package loci

import (
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
)

// searcher is the resident index or, where the store is a server that can search by
// itself, what chooses between the two.
func (l *Loci) searcher(store memory.Store, o index.Options) memory.Searcher {
	s, ok := store.(*sqlstore.Store)
	most := int64(l.config.Index.Huge)
	if !ok || !s.Searches() || most == 0 || o.Model == "" {
		return l.index
	}
	huge := engine.NewHuge(l.index, s, engine.HugeOptions{Model: o.Model, Most: most, Log: l.log, Lacking: o.Lacking})
	l.huge = huge
	return huge
}

// searchedBy says for a health check what searches.
func (l *Loci) searchedBy() string {
	if l.huge == nil {
		return "index"
	}
	return "index; pgvector for users whose index would take more than " + l.config.Index.Huge.String()
}
