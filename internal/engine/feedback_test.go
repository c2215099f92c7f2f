package engine

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/memory"
)

func (r *rig) doubted(t *testing.T, content string, confidence float64) memory.Fact {
	t.Helper()
	f, _, err := r.Curate.Remember(context.Background(), ana, curate.FactInput{Content: content, Confidence: &confidence}, her)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (r *rig) confidence(t *testing.T, id string) float64 {
	t.Helper()
	f := try(r.Fact(context.Background(), ana, id)).orFail(t)
	return f.Confidence
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestAPersonsWordMovesConfidence(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		f := r.doubted(t, "Ana keeps bees", 0.6)
		for _, c := range []struct {
			verdict curate.Verdict
			want    float64
		}{{curate.Useful, 0.7}, {curate.Wrong, 0.35}, {curate.Wrong, 0.175}} {
			got, err := r.Curate.Rate(ctx, ana, f.ID, c.verdict, "", her)
			if err != nil || !near(got.Confidence, c.want) {
				t.Errorf("called %s: confidence %v, %v; want %v", c.verdict, got.Confidence, err, c.want)
			}
		}
		if _, err := r.Curate.Rate(ctx, ana, f.ID, "nice", "", her); !errors.Is(err, memory.Invalid) {
			t.Errorf("no verdict: %v, want it invalid", err)
		}
		if _, err := r.Curate.Rate(ctx, ben, f.ID, curate.Wrong, "", him); !errors.Is(err, memory.NotFound) {
			t.Errorf("Ben's verdict: %v, want it not found", err)
		}
		if got := r.confidence(t, f.ID); !near(got, 0.175) {
			t.Errorf("in the end it is %v sure", got)
		}
	})
}

// TestWhatAnAnswerTakesUpIsSurer chats: the answer says one of two facts.
func TestWhatAnAnswerTakesUpIsSurer(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		said, unsaid := r.doubted(t, "Ana's home is a lighthouse", 0.5), r.doubted(t, "Ana's home has a garden", 0.5)
		x := r.Exchange.Open(ctx, exchange.Incoming{Owner: ana, Chat: decode(t, `[{"role":"user","content":"What is Ana's home?"}]`), ChatID: "c"})
		if got := x.Prepare(ctx); len(got.Hits) != 2 {
			t.Fatalf("%d hits, want both", len(got.Hits))
		}
		x.RecordQuestion(ctx)
		x.RecordAnswer(ctx, answered("It is a lighthouse."))
		r.Background.Wait()
		r.Curate.CreditUses(ctx, ana, curate.UsedFactsPerWrite) // too few yet
		if got := r.confidence(t, said.ID); got != 0.5 {
			t.Errorf("at once it is %v sure, want the use to wait", got)
		}
		r.Curate.CreditUses(ctx, ben, 1) // not his
		r.Curate.CreditUses(ctx, ana, 1)
		if got := r.confidence(t, said.ID); !near(got, 0.525) {
			t.Errorf("what was taken up is %v sure, want 0.525", got)
		}
		if got := r.confidence(t, unsaid.ID); got != 0.5 {
			t.Errorf("what was not taken up is %v sure, want 0.5", got)
		}
		if f, _ := r.Fact(ctx, ana, said.ID); !f.UpdatedAt.Equal(said.UpdatedAt) {
			t.Error("it is newer for having been used")
		}
		r.Curate.CreditUses(ctx, ana, 1)
		if got := r.confidence(t, said.ID); !near(got, 0.525) {
			t.Errorf("the same use counted twice: %v", got)
		}
	})
}
