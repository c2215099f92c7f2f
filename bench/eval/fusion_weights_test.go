package eval

import (
	"context"
	"errors"
	"testing"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// What vectors weigh by default was fitted with all-MiniLM-L6-v2. Another weight for
// an embedder is worth having only if it ranks better on conversations that did not
// choose it.
func TestWhatAWeightOfVectorsForEachEmbedderIsWorth(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for some seconds; run without -short")
	}
	set := devSets(t)[0]
	for _, c := range []struct {
		name  string
		knows float64
		gain  float64 // of MRR@20 beside the weight in use, at least
		worth bool    // whether another is advised
	}{{"good", 0.6, 0.03, true}, {"fair", 0.35, 0.005, true}, {"chance", 0, 0.005, true}, {"wrong", -0.4, 0.02, true}} {
		d := &Direct{Embedder: newOracle(set, 0.1, c.knows)} // at 0.1 no cosine is stretched
		examples, err := Examples(context.Background(), d, set)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		fit, err := FitVector(examples, recall.DefaultVectorWeight)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s\n%s", c.name, fit)
		if gain := fit.Unseen.MRR - fit.InUse.MRR; gain < c.gain {
			t.Errorf("%s: a weight of its own is worth %+.3f, want at least %+.3f", c.name, gain, c.gain)
		}
		if weight, ok := fit.Advice(); ok != c.worth {
			t.Errorf("%s: %v is advised: %v, want %v", c.name, weight, ok, c.worth)
		}
		if weight, ok := fit.Advice(); ok && c.name == "fair" {
			gainsInWhole(t, set, c.knows, weight)
		}
	}
}

// gainsInWhole holds an advised weight to gain with every stage behind the cues, too.
func gainsInWhole(t *testing.T, set Dataset, knows, weight float64) {
	t.Helper()
	var mrr []float64
	for _, w := range []float64{recall.DefaultVectorWeight, weight} {
		d := &Direct{Embedder: newOracle(set, 0.1, knows), Options: recall.Options{VectorWeight: &w}}
		report, err := Measured(context.Background(), d, set, RetrievalOptions{})
		if err := errors.Join(err, d.Close()); err != nil {
			t.Fatal(err)
		}
		mrr = append(mrr, report.All.MRR)
	}
	t.Logf("with every stage: MRR@20 %.3f, by the advised weight %.3f", mrr[0], mrr[1])
	if mrr[1] < mrr[0] {
		t.Errorf("with every stage the advised weight loses: %.3f, %.3f by the one in use", mrr[1], mrr[0])
	}
}

func TestOneConversationFitsNothing(t *testing.T) {
	if _, err := FitVector([]Example{{Answered: true}, {Answered: true}}, 1.5); !errors.Is(err, memory.Invalid) {
		t.Errorf("got %v, want that one is not enough", err)
	}
}
