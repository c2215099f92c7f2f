package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/memory"
)

// reader is a reranker that prefers texts with a word in them.
type reader struct {
	word  string
	calls []int // how many texts each had
	fails func(ctx context.Context, call int) error
}

func (*reader) Fingerprint() string { return "reader" }

func (x *reader) Rerank(ctx context.Context, _ string, texts ...string) ([]float32, error) {
	x.calls = append(x.calls, len(texts))
	if x.fails != nil {
		if err := x.fails(ctx, len(x.calls)); err != nil {
			return nil, err
		}
	}
	out := make([]float32, len(texts))
	for i, t := range texts {
		if out[i] = 0.001; strings.Contains(t, x.word) {
			out[i] = 0.999
		}
	}
	return out, nil
}

// shelf notes thirty facts that answer alike by their words, and returns what is
// found first of them.
func shelf(t *testing.T, r *rig) []string {
	t.Helper()
	for i := range 30 {
		r.note(t, ana, fmt.Sprintf("The tea on shelf %d comes from garden %d", i, 100-i))
	}
	return r.ask(t, ana, "Which garden does the tea come from?", memory.At{})
}

func TestARerankerSeesTheBestCandidatesAndLiftsWhatAnswers(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		without := shelf(t, r)
		seventh := without[6]
		x := &reader{word: seventh}
		r.Reranker = x
		found, err := r.Retrieve.Recall(context.Background(), retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "Which garden does the tea come from?"})
		if err != nil || len(found.Hits) == 0 || found.Hits[0].Memory.Content() != seventh || found.Hits[0].Why.Get("rerank") < 0.99 {
			t.Errorf("first is %v of %d, %v; want %q, and why", found.Hits[0].Why, len(found.Hits), err, seventh)
		}
		if trace, err := r.Traces.Trace(context.Background(), ana, found.Trace); err != nil || trace.Reranked != retrieve.Reranked || trace.RerankOf != retrieve.Reranked {
			t.Errorf("the trace says that %d of %d were read, %v; want all %d", trace.Reranked, trace.RerankOf, err, retrieve.Reranked)
		}
		sum := 0
		for _, n := range x.calls {
			sum += n
		}
		if sum != retrieve.Reranked {
			t.Errorf("shown %v texts, want %d in all", x.calls, retrieve.Reranked)
		}
	})
}

func TestARerankerThatFailsIsSkippedAndNamed(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		without := shelf(t, r)
		for name, fails := range map[string]func(context.Context, int) error{
			"away":   func(context.Context, int) error { return errors.New("away") },
			"panics": func(context.Context, int) error { panic("away") },
		} {
			r.Reranker = &reader{fails: fails}
			found, err := r.Retrieve.Recall(context.Background(), retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "Which garden does the tea come from?"})
			var got []string
			for _, h := range found.Hits {
				got = append(got, h.Memory.Content())
			}
			if err != nil || !slices.Equal(got, without) || len(found.Degraded) != 1 || !strings.HasPrefix(found.Degraded[0], "reranker: ") || !strings.Contains(found.Degraded[0], "away") {
				t.Errorf("%s: %q, degraded %q, %v; want what is found without it, and that said", name, got, found.Degraded, err)
			}
		}
	})
}

func TestARerankerWhoseTimeRunsOutIsSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, stores["inmem"])
		without := shelf(t, r)
		r.Reranker = &reader{fails: func(ctx context.Context, _ int) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		found, err := r.Retrieve.Recall(ctx, retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "Which garden does the tea come from?"})
		synctest.Wait() // until the reranker has been told to stop
		if err != nil || len(found.Degraded) != 1 || len(found.Hits) == 0 || found.Hits[0].Memory.Content() != without[0] {
			t.Errorf("%d hits, degraded %q, %v; want what is found without it, and that said", len(found.Hits), found.Degraded, err)
		}
	})
}

func TestATraceSaysWhetherTheQuestionsVectorWasRemembered(t *testing.T) {
	ctx := context.Background()
	r := newRig(t, stores["inmem"])
	r.note(t, ana, "The tea comes from garden 7")
	r.Embedder = embed.NewCache(r.Embedder)
	for i, c := range []struct {
		question string
		want     bool
	}{{"Which garden does the tea come from?", false}, {"Which garden does the tea come from?", true}, {"What is in garden 7?", false}} {
		found, err := r.Retrieve.Recall(ctx, retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: c.question})
		if err != nil {
			t.Fatal(err)
		}
		trace, err := r.Traces.Trace(ctx, ana, found.Trace)
		if err != nil || trace.Remembered != c.want || trace.RerankOf != 0 {
			t.Errorf("question %d: %+v, %v; want remembered %v, and no reranker", i+1, trace, err, c.want)
		}
	}
}
