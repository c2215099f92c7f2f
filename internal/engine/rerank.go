package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

const (
	// reranked is how many candidates a reranker is shown at most.
	reranked = 24

	// rerankAtOnce is how many a local one is shown at a time, the best first: after
	// each it is seen whether there is time for as many more.
	rerankAtOnce = 8

	// rerankText is how many bytes of a memory it is shown: some 200 tokens. What a
	// pair costs grows with its length.
	rerankText = 800

	// rerankTime is how long it may take where nobody set an end, and rerankTimeShare
	// how much of what is left it may take where somebody did.
	rerankTime      = time.Second
	rerankTimeShare = 0.7
)

// rerank asks the reranker about the best candidates and returns what it said, by id;
// nil without one. One that fails, or has no time, is skipped; of one whose time runs
// out midway, what it said by then counts.
func (r *recalling) rerank(ctx context.Context, query recall.Query, cands []memory.Candidate, opts recall.Options) map[string]float32 {
	if r.e.Reranker == nil || len(cands) == 0 {
		return nil
	}
	if _, ends := ctx.Deadline(); !ends {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, rerankTime)
		defer cancel()
	}
	asking, cancel := within(ctx, rerankTimeShare)
	defer cancel()
	said := map[string]float32{}
	err := r.part(func() error { return r.readAgain(asking, query, cands, opts, said) })
	if len(said) > 0 {
		return said
	}
	if err != nil {
		r.skip("reranker", err)
	}
	return nil
}

// readAgain shows the reranker the candidates that would be shown without it and those
// behind, and writes what it said to said as
// it comes.
func (r *recalling) readAgain(ctx context.Context, query recall.Query, cands []memory.Candidate, opts recall.Options, said map[string]float32) error {
	none := 0.0
	opts.Limit, opts.Threshold = reranked, &none
	best, _ := recall.Rank(query, cands, opts, r.now)
	hits, err := r.read(ctx, best)
	if err != nil {
		return fmt.Errorf("read what is to be reranked: %w", err)
	}
	atOnce := rerankAtOnce
	if far, ok := r.e.Reranker.(interface{ Remote() bool }); ok && far.Remote() {
		atOnce = reranked // a request costs more than a text
	}
	end, _ := ctx.Deadline()
	for len(hits) > 0 {
		n := min(len(hits), atOnce)
		texts := make([]string, n)
		for i, h := range hits[:n] {
			texts[i] = clip(h.Memory.Content(), rerankText)
		}
		began := time.Now()
		scores, err := r.e.Reranker.Rerank(ctx, clip(query.Asked, rerankText), texts...)
		if err != nil {
			return err
		}
		for i, h := range hits[:n] {
			said[h.Memory.ID()] = scores[i]
		}
		if hits = hits[n:]; time.Until(end) < time.Since(began) {
			return nil // as many more would come too late
		}
	}
	return nil
}

// background returns the cosine of unrelated texts by an embedder that knows, else 0.
func background(e memory.Embedder) float64 {
	b, ok := e.(interface{ Background() float64 })
	if !ok {
		return 0
	}
	return b.Background()
}
