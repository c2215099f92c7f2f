package retrieve

import (
	"context"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

const (
	// Reranked is how many candidates a reranker is shown at most.
	Reranked = 24

	// rerankText is how many bytes of a memory it is shown: some 200 tokens. What a
	// pair costs grows with its length.
	rerankText = 800

	// rerankTime is how long it may take where nobody set an end.
	rerankTime = time.Second
)

// rerank asks the reranker about the best candidates and returns what it says, by id. One that fails, or takes longer
// than it may, is skipped.
func (r *Pipeline) rerank(ctx context.Context, query recall.Query, hits []memory.Hit) map[string]float32 {
	asking, cancel := before(ctx, r.E.share(rerankLeaves-searchLeaves), rerankTime)
	defer cancel()
	question := query.Asked
	if r.scale().Measure == recall.Reranker {
		question = r.Q.Text
	}
	texts := make([]string, len(hits))
	for i, h := range hits {
		texts[i] = core.Clip(h.Memory.Content(), rerankText)
	}
	began := time.Now()
	defer r.E.Metrics.StageEnded("rerank", began)
	scores, err := core.Beside(r.E.Core, func() ([]float32, error) {
		defer func() { r.E.reranks.see(time.Since(began)) }()
		return r.E.Reranker.Rerank(asking, core.Clip(question, rerankText), texts...)
	})(asking)
	r.E.Metrics.ModelAsked("reranker", err == nil, r.E.Now())
	r.reranked = [2]int{len(scores), len(hits)}
	if err != nil {
		r.Skip("reranker", err)
		return nil
	}
	said := make(map[string]float32, len(scores))
	for i, score := range scores {
		said[hits[i].Memory.ID()] = score
	}
	return said
}

// sameAs is the cosine from which two texts say the same, by the embedder that a profile names
// and by those that were fitted.
const sameAs = 0.90

// DuplicateScore is the cosine for sameAs by the embedder in use.
func (e *Retriever) DuplicateScore() float64 {
	if e.Opts.OwnEmbedder && (e.Opts.Words == nil || !core.OfWords(e.Embedder)) {
		return sameAs
	}
	return recall.Place(sameAs, background(e.Embedder))
}

// background returns the cosine of unrelated texts by an embedder that knows, else 0.
func background(e memory.Embedder) float64 {
	b, ok := e.(interface{ Background() float64 })
	if !ok {
		return 0
	}
	return b.Background()
}
