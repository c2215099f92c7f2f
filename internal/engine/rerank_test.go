package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/retrieve"
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
		if trace, err := r.Traces.Trace(context.Background(), ana, found.TraceID); err != nil || trace.Reranked != retrieve.MaxReranked || trace.RerankOf != retrieve.MaxReranked {
			t.Errorf("the trace says that %d of %d were read, %v; want all %d", trace.Reranked, trace.RerankOf, err, retrieve.MaxReranked)
		}
		sum := 0
		for _, n := range x.calls {
			sum += n
		}
		if sum != retrieve.MaxReranked {
			t.Errorf("shown %v texts, want %d in all", x.calls, retrieve.MaxReranked)
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
