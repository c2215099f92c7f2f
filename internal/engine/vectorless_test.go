package engine

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/query"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory/memtest"
)

// farWords is an embedder by words that a server has.
type farWords struct{ memtest.Embedder }

func (*farWords) Remote() bool { return true }

// Rerank knows who plays the cello.
func (*farWords) Rerank(_ context.Context, _ string, texts ...string) ([]float32, error) {
	out := make([]float32, len(texts))
	for i, text := range texts {
		out[i] = 0.1
		if strings.Contains(text, "cello") {
			out[i] = 0.9
		}
	}
	return out, nil
}

// cosineRig is an engine whose scores are cosines, with memories that have vectors.
func cosineRig(t *testing.T) (*restarted, *farWords) {
	t.Helper()
	plain := newRig(t, stores["inmem"])
	embedder := &farWords{}
	r := again(t, plain.Store, plain.clock, embedder)
	r.Opts.ScoreThreshold, r.Opts.RecencyWeight = 0.5, 0
	r.Opts.Recall = core.RecallRules{Measure: recall.Cosine, Lambda: 1, Fallback: retrieve.FallbackNone}
	r.teas(t, 4)
	noError(t)(r.give(t.Context()))
	if hits, by := r.compared(t, "Ana's tea number 2 is oolong"); hits == 0 || by != hits {
		t.Fatalf("%d of %d hits compared by vector, want all", by, hits)
	}
	return r, embedder
}

// Where scores are cosines, a fact is found by its words until it has a vector. Then its cosine
// decides, which is above the threshold for one of these questions and below it for the other.
func TestAFactIsFoundByItsWordsUntilItHasAVector(t *testing.T) {
	const fact = "Ana plays the cello"
	questions := map[string]bool{"Who plays the cello?": true, "Who plays the cello, or did play it some time in the past?": false} // true: near by its cosine
	r, embedder := cosineRig(t)
	embedder.Err = errors.New("away")
	r.note(t, ana, fact)
	embedder.Err = nil
	for question, near := range questions {
		found := r.find(t, retrieve.Question{Text: question})
		if got := contents(found.Hits); !slices.Contains(got, fact) || len(found.Degraded) > 0 {
			t.Errorf("%q found %q by words, skipped %q; want %q", question, got, found.Degraded, fact)
		}
		if p := r.chat(t, retrieve.Question{Text: question}); !slices.Contains(contents(p.Hits), fact) {
			t.Errorf("%q told a chat %q, want %q", question, contents(p.Hits), fact)
		}
		if cosine := memtestCosine(question, fact); (cosine >= r.Opts.ScoreThreshold) != near {
			t.Fatalf("%q: a cosine of %v", question, cosine)
		}
	}
	noError(t)(r.give(t.Context()))
	for question, near := range questions {
		hits := r.find(t, retrieve.Question{Text: question}).Hits
		at := slices.Index(contents(hits), fact)
		if (at >= 0) != near || near && math.Abs(hits[at].Score-memtestCosine(question, fact)) > 0.01 {
			t.Errorf("%q with a vector: %q, want it only by its cosine of %v", question, contents(hits), memtestCosine(question, fact))
		}
	}
}

// A turn without a vector is similar by its words.
func TestATurnIsSimilarByItsWordsUntilItHasAVector(t *testing.T) {
	r, embedder := cosineRig(t)
	r.Opts.Recall.Reach = retrieve.ReachConversation
	say := func(text string) {
		t.Helper()
		noError(t)(r.Query.Query(t.Context(), query.Request{Owner: ana, SessionID: "a", Text: text}, nil))
	}
	say("I grow oranges on the balcony.")
	noError(t)(r.give(t.Context()))
	embedder.Err = errors.New("away")
	say("I play the cello.")
	embedder.Err = nil
	got, err := r.Query.Query(t.Context(), query.Request{Owner: ana, SessionID: "b", Text: "Do I play the cello?", UseMemory: true}, nil)
	if similar := contents(got.Related.SimilarTurns); err != nil || !slices.Contains(similar, "I play the cello.") {
		t.Errorf("similar are %q, %v", similar, err)
	}
}

func memtestCosine(a, b string) (cosine float64) {
	va, vb := memtest.Embed(a), memtest.Embed(b)
	for i := range va {
		cosine += float64(va[i]) * float64(vb[i])
	}
	return cosine
}

// A reranker reads what has no vector, and conversations apart find it.
func TestARerankerReadsAFactWithoutAVector(t *testing.T) {
	r, embedder := cosineRig(t)
	embedder.Err = errors.New("away")
	r.note(t, ana, "Ana plays the cello")
	embedder.Err = nil
	r.Opts.Learn.Scope = core.OfConversation
	for _, measure := range []recall.RelevanceMeasure{recall.Cosine, recall.Reranker} {
		if r.Opts.Recall.Measure = measure; measure == recall.Reranker {
			r.Reranker = embedder
		}
		found := r.find(t, retrieve.Question{Text: "Who plays the cello?", Conversation: "a"})
		if at := slices.Index(contents(found.Hits), "Ana plays the cello"); at < 0 || measure == recall.Reranker && math.Abs(found.Hits[at].Score-0.9) > 0.01 {
			t.Errorf("%s: %q, %+v; want the cello", measure, contents(found.Hits), found.Degraded)
		}
	}
}
