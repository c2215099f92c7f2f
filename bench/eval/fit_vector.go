package eval

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// VectorFit is what the weight of an embedder's vectors among the cues is worth.
type VectorFit struct {
	Words Measure // without vectors
	InUse Measure // by the weight in use
	Tried []VectorTry

	// Of each part of the conversations, the weight that the other parts choose, and what
	// all rank like by weights that have not seen them.
	Others []float64
	Unseen Measure
}

// VectorTry is a weight and what it gives on all conversations.
type VectorTry struct {
	Weight float64
	Measure
}

// vectorWeights are tried beside the one in use.
var vectorWeights = []float64{0, 1.5, 3, 6, recall.DefaultVectorWeight, 12, 18}

// enoughGain is what another weight must gain in MRR on conversations that did not
// choose it to be worth setting: less is the luck of a few questions.
const enoughGain = 0.005

// FitVector tries weights of vectors on examples of one data set, which must be of two
// conversations at least ([memory.Invalid]). The measures are of the cues alone: what
// comes behind them, recency for one, is left out.
func FitVector(examples []Example, inUse float64) (VectorFit, error) {
	names, weights, _ := recall.Cues(recall.Query{}, nil, recall.Options{})
	at := slices.Index(names, "vector")
	weighed := func(on []Example, weight float64) Measure {
		w := slices.Clone(weights)
		w[at] = weight
		return Evaluate(on, w)[examples[0].Dataset]
	}
	if !slices.ContainsFunc(examples, func(e Example) bool { return e.Place != examples[0].Place }) {
		return VectorFit{}, memory.Errorf(memory.Invalid, "a weight is fitted to some conversations and judged by others: one is not enough")
	}
	fit := VectorFit{Words: weighed(examples, 0), InUse: weighed(examples, inUse)}
	for _, weight := range vectorWeights {
		fit.Tried = append(fit.Tried, VectorTry{weight, weighed(examples, weight)})
	}
	for fold := range folds {
		in, out := split(examples, fold)
		if len(out) == 0 {
			continue
		}
		best, most := vectorWeights[0], math.Inf(-1)
		for _, weight := range vectorWeights {
			if mrr := weighed(in, weight).MRR; mrr > most {
				best, most = weight, mrr
			}
		}
		m := weighed(out, best)
		n := float64(m.Questions)
		fit.Others = append(fit.Others, best)
		fit.Unseen.Questions += m.Questions
		fit.Unseen.Recall += m.Recall * n
		fit.Unseen.MRR += m.MRR * n
	}
	fit.Unseen = fit.Unseen.mean()
	return fit, nil
}

// Advice returns the weight to set: the middle one of those that the parts choose, if
// they gain enough. ok is false if the one in use had better stay.
func (f VectorFit) Advice() (weight float64, ok bool) {
	chosen := slices.Sorted(slices.Values(f.Others))
	return chosen[len(chosen)/2], f.Unseen.MRR >= f.InUse.MRR+enoughGain
}

// String is a table and the advice.
func (f VectorFit) String() string {
	var b strings.Builder
	row := func(what string, m Measure) { fmt.Fprintf(&b, "%-34s %9.3f %8.3f\n", what, m.Recall, m.MRR) }
	fmt.Fprintf(&b, "%-34s %9s %8s\n", "weight of vectors", "recall@10", "mrr@20")
	for _, t := range f.Tried {
		row(fmt.Sprint(t.Weight), t.Measure)
	}
	row("in use", f.InUse)
	row("chosen by other conversations", f.Unseen)
	fmt.Fprintf(&b, "\nThe parts of the conversations choose %v for the rest.\n", f.Others)
	if weight, ok := f.Advice(); ok {
		fmt.Fprintf(&b, "Worth setting: recall.vector_weight %v, for %+.3f of mrr@20 on conversations that did not choose it.\n", weight, f.Unseen.MRR-f.InUse.MRR)
	} else {
		fmt.Fprintf(&b, "Not worth another weight: %+.3f of mrr@20 on conversations that did not choose it.\n", f.Unseen.MRR-f.InUse.MRR)
	}
	return b.String()
}
