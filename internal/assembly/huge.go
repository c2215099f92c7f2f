package assembly

import (
	"context"
	"time"

	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
)

// lookTime is how long a start waits to learn whether the database has pgvector.
const lookTime = 5 * time.Second

// searcher is the resident index or, where index.huge is set and the store is a server that
// can search by itself, what chooses between the two. Without index.huge the server is not
// asked; if it cannot say, it does not search until the next start.
func (l *Loci) searcher(store memory.Store, o index.Options) memory.Searcher {
	s, ok := store.(*sqlstore.Store)
	most := int64(l.config.Index.Huge)
	if !ok || most == 0 || o.Model == "" || !l.config.Store.Postgres() {
		return l.index
	}
	ctx, stop := context.WithTimeout(context.Background(), lookTime)
	defer stop()
	about, err := s.UsePgvector(ctx)
	if err != nil {
		l.log.Warn("the database was not asked whether it can search for users who have very much; the index does until the next start", "err", err)
	} else {
		l.log.Info("who searches for users who have very much", "setting", "index.huge", "about", about)
	}
	if !s.Searches() {
		return l.index
	}
	l.huge = retrieve.NewHuge(l.index, s, retrieve.HugeOptions{Model: o.Model, Most: most, Log: l.log, Lacking: o.Lacking})
	return l.huge
}

// searchedBy says for a health check what searches.
func (l *Loci) searchedBy() string {
	if l.huge == nil {
		return "index"
	}
	return "index; pgvector for users whose index would take more than " + l.config.Index.Huge.String()
}
