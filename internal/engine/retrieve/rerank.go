package retrieve

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

const (
	// Reranked is how many candidates a reranker is shown at most.
	Reranked = 24

	// rerankAtOnce and rerankBytes are how much a local one is shown at a time, the best
	// first: after each it is seen whether there is time for as much more. It is what
	// takes some 50 ms on two processors.
	rerankAtOnce = 8
	rerankBytes  = 2400

	// rerankText is how many bytes of a memory it is shown: some 200 tokens. What a
	// pair costs grows with its length.
	rerankText = 800

	// rerankTime is how long it may take where nobody set an end.
	rerankTime = time.Second
)

// rerank asks the reranker about the best candidates and returns what it said, by id;
// nil without one. One that fails, or has no time, is skipped; of one whose time runs
// out midway, what it said by then counts. It is not waited for beyond its time.
func (r *Pipeline) rerank(ctx context.Context, query recall.Query, cands []memory.Candidate, opts recall.Options) map[string]float32 {
	if r.E.Reranker == nil || len(cands) == 0 {
		return nil
	}
	asking, cancel := before(ctx, r.E.share(rerankLeaves-searchLeaves), rerankTime)
	defer cancel()
	none := 0.0
	opts.Limit, opts.Threshold = Reranked, &none
	if r.E.Opts.Recall.Each > 0 { // so few are all read
		opts.Limit = len(cands)
	}
	best, _ := r.rank(query, cands, opts) // as they would be shown without it, and those behind
	hits, err := r.read(ctx, best)
	if err != nil {
		r.Skip("reranker", fmt.Errorf("read what is to be reranked: %w", err))
		return nil
	}
	question := core.Clip(query.Asked, rerankText)
	if r.scale().Measure == recall.Reranker {
		question = core.Clip(r.Q.Text, rerankText)
	}
	began, done := time.Now(), make(chan error, 1)
	var mu sync.Mutex // guards scores, which a reranker that is not waited for still writes
	scores := map[string]float32{}
	r.E.Background.Go(func() {
		done <- r.Part(func() error {
			return r.E.readAgain(asking, question, hits, func(id string, score float32) {
				mu.Lock()
				defer mu.Unlock()
				scores[id] = score
			})
		})
	})
	select {
	case err = <-done:
	case <-asking.Done():
		err = asking.Err()
	}
	mu.Lock()
	said := maps.Clone(scores)
	mu.Unlock()
	r.reranked = [2]int{len(said), len(hits)}
	r.E.reranks.see(time.Since(began) * time.Duration(len(hits)) / time.Duration(max(1, len(said)))) // of all of them
	r.E.Metrics.ModelAsked("reranker", len(said) > 0, r.E.Now())
	if err != nil && len(said) == 0 {
		r.Skip("reranker", err)
		return nil
	}
	return said
}

// readAgain shows the reranker hits, the best first, and hands on what it says as it
// comes.
func (e *Retriever) readAgain(ctx context.Context, question string, hits []memory.Hit, says func(id string, score float32)) error {
	atOnce, most := rerankAtOnce, rerankBytes
	if core.Remote(e.Reranker) {
		atOnce, most = Reranked, Reranked*rerankText // a request costs more than a text
	}
	end, _ := ctx.Deadline()
	for len(hits) > 0 {
		var texts []string
		for size := 0; len(texts) < min(len(hits), atOnce) && size < most; {
			text := core.Clip(hits[len(texts)].Memory.Content(), rerankText)
			texts, size = append(texts, text), size+len(text)
		}
		began := time.Now()
		scores, err := e.Reranker.Rerank(ctx, question, texts...)
		if err != nil {
			return err
		}
		for i, score := range scores {
			says(hits[i].Memory.ID(), score)
		}
		if hits = hits[len(texts):]; time.Until(end) < time.Since(began) {
			return nil // as much more would come too late
		}
	}
	return nil
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
