package bench

import (
	"context"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/recall"
)

// What vectors weigh is one number for all embedders. Another for an embedder of its own
// is worth having only if it ranks better on conversations that did not choose it.
func TestWhatAWeightOfVectorsForEachEmbedderIsWorth(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for some seconds; run without -short")
	}
	set := devSets(t)[0]
	names, inUse, _ := recall.Cues(recall.Query{}, nil)
	vector := slices.Index(names, "vector")
	tried := []float64{0, 0.75, inUse[vector], 3, 6, 9}
	for _, c := range []struct {
		name  string
		knows float64
		gain  float64 // of MRR@20 beside the weight in use, at least
	}{{"good", 0.6, 0.05}, {"fair", 0.35, 0.03}, {"chance", 0, -0.005}, {"wrong", -0.4, 0}} {
		d := &Direct{Embedder: newOracle(set, 0.1, c.knows)} // at 0.1 no cosine is stretched
		examples, err := Examples(context.Background(), d, set)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		weighed := func(on []Example, weight float64) Measure {
			w := slices.Clone(inUse)
			w[vector] = weight
			return Evaluate(on, w)[set.Name]
		}
		var gain, answered float64
		var chosen []float64
		for fold := range folds {
			in, out := split(examples, fold)
			best := tried[0]
			for _, weight := range tried[1:] {
				if weighed(in, weight).MRR > weighed(in, best).MRR {
					best = weight
				}
			}
			now, then := weighed(out, inUse[vector]), weighed(out, best)
			gain, answered = gain+(then.MRR-now.MRR)*float64(now.Questions), answered+float64(now.Questions)
			chosen = append(chosen, best)
		}
		t.Logf("%-6s MRR@20 %.3f by words, %+.3f by the weight in use, %+.3f more by the one that the others choose: %v", c.name,
			weighed(examples, 0).MRR, weighed(examples, inUse[vector]).MRR-weighed(examples, 0).MRR, gain/answered, chosen)
		if gain/answered < c.gain {
			t.Errorf("%s: a weight of its own is worth %+.3f, want at least %+.3f", c.name, gain/answered, c.gain)
		}
	}
}
