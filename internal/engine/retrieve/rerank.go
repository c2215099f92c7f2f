package retrieve

import (
	"context"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

const (
	// MaxReranked bounds the number of candidates that a reranker reads.
	MaxReranked = 24

	// maxRerankText bounds the bytes of a memory that the reranker reads, about 200 tokens, since the
	// cost grows with the length.
	maxRerankText = 800

	// maxRerankTime bounds a reranker's call if the recall has no deadline.
	maxRerankTime = time.Second
)

// rerank returns the reranker's scores by id. A reranker that fails or is too slow is skipped.
func (r *Pipeline) rerank(ctx context.Context, query recall.Query, hits []memory.Hit) map[string]float32 {
	rerankCtx, cancel := contextWithReserve(ctx, r.Retriever.deadlineShare(rerankReserve-searchReserve), maxRerankTime)
	defer cancel()
	question := query.OwnText
	if r.relevanceScale().Measure == recall.Reranker {
		question = r.Question.Text
	}
	texts := make([]string, len(hits))
	for i, h := range hits {
		texts[i] = core.Clip(h.Memory.Content(), maxRerankText)
	}
	began := time.Now()
	defer r.Retriever.Metrics.ObserveStage("rerank", began)
	scores, err := core.Async(r.Retriever.Core, func() ([]float32, error) {
		defer func() { r.Retriever.rerankTimes.add(time.Since(began)) }()
		return r.Retriever.Reranker.Rerank(rerankCtx, core.Clip(question, maxRerankText), texts...)
	})(rerankCtx)
	r.Retriever.Metrics.CountQuestion("reranker", err == nil, r.Retriever.Now())
	r.rerankCounts = [2]int{len(scores), len(hits)}
	if err != nil {
		r.RecordSkip("reranker", err)
		return nil
	}
	byID := make(map[string]float32, len(scores))
	for i, score := range scores {
		byID[hits[i].Memory.ID()] = score
	}
	return byID
}

// duplicateCosine is the minimum cosine of duplicate texts, for calibrated embedders.
const duplicateCosine = 0.90

// DuplicateThreshold returns duplicateCosine on the scale of the current embedder.
func (e *Retriever) DuplicateThreshold() float64 {
	if e.Opts.EmbedderSetByProfile && (e.Opts.LexicalScale == nil || !core.IsLexical(e.Embedder)) {
		return duplicateCosine
	}
	return recall.EmbedderCosine(duplicateCosine, backgroundCosine(e.Embedder))
}

// backgroundCosine returns the mean cosine of unrelated texts by an embedder, or 0 if unknown.
func backgroundCosine(e memory.Embedder) float64 {
	b, ok := e.(interface{ Background() float64 })
	if !ok {
		return 0
	}
	return b.Background()
}
