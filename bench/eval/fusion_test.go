package eval

import (
	"context"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// oracle is an embedder made for measuring fusion: it has read which turns answer which
// question, and says so as loudly as it is told to. All its vectors come from the texts
// and these numbers alone.
type oracle struct {
	cone  float64 // cosine of any two texts, but for chance: small for MiniLM, large for BGE
	knows float64 // by how much a question is nearer to its answers than to others; below 0: further

	gold map[string][]string // the questions that a turn answers, by their texts
}

const oracleDims = 64 // chance is an eighth

// newOracle reads the answers of a data set.
func newOracle(set Dataset, cone, knows float64) *oracle {
	o := &oracle{cone: cone, knows: knows, gold: map[string][]string{}}
	for _, c := range set.Conversations {
		said := map[string]string{}
		for _, t := range c.Turns {
			said[t.Ref] = t.Content
		}
		for _, q := range c.Questions {
			for _, ref := range q.Gold {
				o.gold[said[ref]] = append(o.gold[said[ref]], q.Text)
			}
		}
	}
	return o
}

func (o *oracle) Fingerprint() string { return "oracle" }
func (o *oracle) Dims() int           { return oracleDims }

func (o *oracle) Embed(_ context.Context, as memory.EmbedAs, texts ...string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		own := direction(string(as) + t)
		if as == memory.AsDocument && len(o.gold[t]) > 0 {
			answer := make([]float64, oracleDims)
			for _, q := range o.gold[t] {
				plus(answer, direction(string(memory.AsQuestion)+q), 1)
			}
			own = mixed(o.knows, unitOf(answer), own)
		}
		v := mixed(math.Sqrt(o.cone), direction("common"), own)
		for _, x := range v {
			out[i] = append(out[i], float32(x))
		}
	}
	return out, nil
}

// mixed is the unit vector that has so much of a, and the rest of b.
func mixed(share float64, a, b []float64) []float64 {
	v := make([]float64, oracleDims)
	plus(v, a, share)
	plus(v, b, math.Sqrt(1-share*share))
	return unitOf(v)
}

func plus(v, w []float64, times float64) {
	for i := range v {
		v[i] += times * w[i]
	}
}

func unitOf(v []float64) []float64 {
	var square float64
	for _, x := range v {
		square += x * x
	}
	for i := range v {
		v[i] /= math.Sqrt(square)
	}
	return v
}

// direction is a text's own, as good as drawn by lot.
func direction(s string) []float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	v := make([]float64, oracleDims)
	for i := range v {
		v[i] = r.NormFloat64()
	}
	return unitOf(v)
}

// Good vectors must improve the ranking, and random ones hardly harm it, whatever the cosine of unrelated texts.
func TestFusionGainsByGoodVectors(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for some seconds; run without -short")
	}
	set := devSets(t)[0]
	measure := func(e memory.Embedder, background float64) Report {
		return retrieved(t, &Direct{Embedder: e, Options: recall.RankOptions{BackgroundCosine: background}}, set)
	}
	words := measure(nil, 0)
	t.Logf("words alone: recall@10 %.3f, MRR@20 %.3f, refusal %.3f, answered %.3f, refused %.3f", words.All.Recall, words.All.MRR, words.Refusal, words.Answered, words.Refused)
	for _, c := range []struct {
		name        string
		cone, knows float64
		gain        float64 // at least, of recall and MRR
	}{
		{"good, cosines around 0.1", 0.1, 0.6, 0.02},
		{"good, cosines around 0.7", 0.7, 0.6, 0.02},
		{"fair, cosines around 0.1", 0.1, 0.35, 0.005},
		{"fair, cosines around 0.7", 0.7, 0.35, 0.005},
		{"chance, cosines around 0", 0, 0, -0.025},
		{"chance, cosines around 0.7", 0.7, 0, -0.02},
		{"all the same", 1, 0, -0.005},
		{"wrong", 0.3, -0.4, -0.1},
	} {
		got := measure(newOracle(set, c.cone, c.knows), c.cone)
		recall, mrr := got.All.Recall-words.All.Recall, got.All.MRR-words.All.MRR
		t.Logf("%-28s recall@10 %+.3f, MRR@20 %+.3f, refusal %.3f, answered %.3f, refused %.3f", c.name, recall, mrr, got.Refusal, got.Answered, got.Refused)
		if recall < c.gain || mrr < c.gain {
			t.Errorf("%s: recall@10 %+.3f, MRR@20 %+.3f; want at least %+.3f", c.name, recall, mrr, c.gain)
		}
	}
}
