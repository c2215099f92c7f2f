package eval

import (
	"context"
	"errors"
	"testing"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// The default weight of vectors was fitted with all-MiniLM-L6-v2. A weight per embedder must rank better on
// conversations that it was not fitted to.
func TestWeightPerEmbedderGeneralizes(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for some seconds; run without -short")
	}
	set := devSets(t)[0]
	for _, c := range []struct {
		name  string
		knows float64
		gain  float64 // of MRR@20 beside the weight in use, at least
	}{{"good", 0.6, 0.03}, {"fair", 0.35, 0.005}, {"chance", 0, 0.005}, {"wrong", -0.4, 0.02}} {
		d := &Direct{Embedder: newOracle(set, 0.1, c.knows)} // at 0.1 no cosine is stretched
		examples, err := Examples(context.Background(), d, set)
		if err != nil {
			t.Fatal(err)
		}
		_, inUse := Weights(recall.DefaultVectorWeight)
		before := Evaluate(examples, inUse)
		got, _ := Unseen(examples, FitVector)
		t.Logf("%s: MRR@20 %.3f, by the weight that others choose %.3f", c.name, before.MRR, got.MRR)
		if gain := got.MRR - before.MRR; gain < c.gain {
			t.Errorf("%s: a weight of its own is worth %+.3f, want at least %+.3f", c.name, gain, c.gain)
		}
	}
}

func TestFitNeedsTwoConversations(t *testing.T) {
	set := twoTalks()
	set.Conversations = set.Conversations[:1]
	if _, err := Examples(t.Context(), &Direct{}, set); !errors.Is(err, memory.Invalid) {
		t.Errorf("got %v, want that one is not enough", err)
	}
}
