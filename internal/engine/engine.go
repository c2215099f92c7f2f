// Package engine implements Loci's operations. Its packages read the store, query the index and the model,
// pass values to the pure packages recall and learn, and write the decisions through one method,
// [memory.Facts.Apply]. It does not depend on HTTP.
package engine

import (
	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/compare"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/erase"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/files"
	"github.com/loci-memory/loci/internal/engine/lessons"
	"github.com/loci-memory/loci/internal/engine/query"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/internal/engine/traces"
	"github.com/loci-memory/loci/internal/engine/transfer"
	"github.com/loci-memory/loci/internal/engine/upkeep"
	"github.com/loci-memory/loci/internal/engine/vectors"
)

// Engine implements the operations of the APIs. Each field comes from one subpackage; all share the core. It
// is safe for concurrent use.
type Engine struct {
	*core.Core
	Traces   *traces.Keeper
	Vectors  *vectors.Filler
	Compare  *compare.Comparer
	Share    *share.Sharer
	Retrieve *retrieve.Retriever
	Curate   *curate.Curator
	Lessons  *lessons.Learner
	Exchange *exchange.Exchanges
	Chats    *chats.Chats
	Query    *query.Querier
	Files    *files.Files
	Transfer *transfer.Transfer
	Erase    *erase.Eraser
	Upkeep   *upkeep.Keeper
}

// New returns an engine with the parts and options.
func New(parts core.Parts, opts core.Options) *Engine {
	c := core.New(parts, opts)
	t, v, cmp := traces.New(c), &vectors.Filler{Core: c}, compare.New(c)
	s := &share.Sharer{Core: c, Compare: cmp, Traces: t, Vectors: v}
	c.Store = s.GuardStore(parts.Store)
	r := &retrieve.Retriever{Core: c, Compare: cmp, Traces: t}
	cur := &curate.Curator{Core: c, Compare: cmp, Retrieve: r, Share: s, Traces: t}
	l := lessons.NewLearner(c, cur, r)
	x := &exchange.Exchanges{Core: c, Curate: cur, Lessons: l, Retrieve: r, Traces: t}
	ch := &chats.Chats{Core: c, Curate: cur, Exchange: x, Traces: t}
	return &Engine{
		Core: c, Traces: t, Vectors: v, Compare: cmp, Share: s, Retrieve: r, Curate: cur, Lessons: l, Exchange: x, Chats: ch,
		Query:    &query.Querier{Core: c, Exchange: x, Retrieve: r},
		Files:    &files.Files{Core: c, Chats: ch, Compare: cmp, Curate: cur, Retrieve: r},
		Transfer: &transfer.Transfer{Core: c, Curate: cur},
		Erase:    &erase.Eraser{Core: c, Share: s, Traces: t},
		Upkeep:   &upkeep.Keeper{Core: c, Curate: cur, Lessons: l},
	}
}

// Close waits for background work.
func (e *Engine) Close() { e.Background.Wait() }
