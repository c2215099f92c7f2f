package eval

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/loci-memory/loci/bench/report"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// Example is a question with the cues of its candidates, to fit weights to.
type Example struct {
	Place int         // index of its conversation in the data set
	Units []string    // candidates: turns, or sessions if gold is sessions
	Cues  [][]float64 // of each candidate
	Gold  []string
}

// Examples adds a data set to d and returns its questions as examples. A data set with one conversation is
// [memory.Invalid].
func Examples(ctx context.Context, d *Direct, set Dataset) (examples []Example, err error) {
	for i, c := range set.Conversations {
		session, ingested := map[string]string{}, 0
		for _, t := range c.Turns {
			session[t.Ref] = t.Session
		}
		for _, q := range c.answerable() {
			upTo := max(ingested, c.turnsBefore(q))
			if err := d.Ingest(ctx, ownerOf(set, i), c.Turns[ingested:upTo]); err != nil {
				return nil, err
			}
			ingested = upTo
			query, candidates, err := d.Candidates(ctx, ownerOf(set, i), q.Text)
			if err != nil {
				return nil, fmt.Errorf("search %q: %w", q.Text, err)
			}
			e := Example{Place: i, Gold: q.Gold}
			_, _, e.Cues = recall.CueValues(query, candidates, d.options())
			for _, found := range candidates {
				unit := found.ID
				if c.Sessions {
					unit = session[unit]
				}
				e.Units = append(e.Units, unit)
			}
			examples = append(examples, e)
		}
	}
	if !slices.ContainsFunc(examples, func(e Example) bool { return e.Place != examples[0].Place }) {
		return nil, memory.Errorf(memory.Invalid, "one is not enough: weights are fitted to some conversations and evaluated on others")
	}
	return examples, nil
}

// scores returns the score of each candidate.
func (e *Example) scores(w []float64) []float64 {
	out := make([]float64, len(e.Cues))
	for i, x := range e.Cues {
		for j := range x {
			out[i] += w[j] * x[j]
		}
	}
	return out
}

// ranks returns the ranks of the gold.
func (e *Example) ranks(w []float64) []int {
	scores, order := e.scores(w), make([]int, len(e.Cues))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	found := make([]string, len(order))
	for i, at := range order {
		found[i] = e.Units[at]
	}
	return ranksOf(found, "", e.Gold)
}

// Evaluate measures weights on examples, by the cues alone: later stages such as recency are not applied.
func Evaluate(examples []Example, w []float64) Measure {
	ranks := make([][]int, len(examples))
	for i := range examples {
		ranks[i] = examples[i].ranks(w)
	}
	return meanOf(ranks)
}

// folds is the number of parts of the cross-validation over conversations.
const folds = 5

// Unseen measures weights by cross-validation: they are fitted to other conversations than a question's own. It also
// returns the weights of each part.
func Unseen(examples []Example, fit func([]Example) []float64) (m Measure, chosen [][]float64) {
	var ranks [][]int
	for fold := range folds {
		var in, out []Example
		for _, e := range examples {
			if e.Place%folds == fold {
				out = append(out, e)
			} else {
				in = append(in, e)
			}
		}
		if len(out) == 0 {
			continue
		}
		w := fit(in)
		chosen = append(chosen, w)
		for i := range out {
			ranks = append(ranks, out[i].ranks(w))
		}
	}
	return meanOf(ranks), chosen
}

// Fit returns weights that rank gold first: softmax over each list, 70 steps of Adam from start. Weights that are 0
// in start stay 0.
func Fit(examples []Example, start []float64) []float64 {
	const steps, rate = 70, 0.1
	w := slices.Clone(start)
	mean, square := make([]float64, len(w)), make([]float64, len(w))
	for step := 1; step <= steps; step++ {
		slope, total := make([]float64, len(w)), 0.0
		for i := range examples {
			total += examples[i].slope(w, slope)
		}
		for j := range w {
			if start[j] == 0 {
				continue
			}
			g := slope[j] / total
			mean[j] += (g - mean[j]) * 0.1
			square[j] += (g*g - square[j]) * 0.01
			m := mean[j] / (1 - math.Pow(0.9, float64(step)))
			s := square[j] / (1 - math.Pow(0.99, float64(step)))
			w[j] -= rate * m / (math.Sqrt(s) + 1e-8)
		}
	}
	return w
}

// slope adds the gradient of the loss, and returns 1 if the candidates contain gold, else 0.
func (e *Example) slope(w, slope []float64) float64 {
	golds := 0
	for _, u := range e.Units {
		golds += count(slices.Contains(e.Gold, u))
	}
	if golds == 0 {
		return 0
	}
	p := e.scores(w)
	most, whole := slices.Max(p), 0.0
	for i := range p {
		p[i] = math.Exp(p[i] - most)
		whole += p[i]
	}
	for i, x := range e.Cues {
		d := p[i] / whole
		if slices.Contains(e.Gold, e.Units[i]) {
			d -= 1 / float64(golds)
		}
		for j := range x {
			slope[j] += d * x[j]
		}
	}
	return 1
}

// Weights returns the names and default weights of the cues, with a weight of vectors.
func Weights(vectors float64) (names []string, w []float64) {
	names, w, _ = recall.CueValues(recall.Query{}, nil, recall.RankOptions{})
	w[slices.Index(names, "vector")] = vectors
	return names, w
}

// vectorWeights are the candidates of [FitVector].
var vectorWeights = []float64{0, 1.5, 3, 6, recall.DefaultVectorWeight, 12, 18}

// FitVector returns the current weights with the weight of vectors that ranks the examples best.
func FitVector(examples []Example) (w []float64) {
	most := math.Inf(-1)
	for _, weight := range vectorWeights {
		_, tried := Weights(weight)
		if mrr := Evaluate(examples, tried).MRR; mrr > most {
			w, most = tried, mrr
		}
	}
	return w
}

// FitRows returns the measures of other weights of vectors, without each cue, and of all weights fitted to all or
// to the other conversations.
func FitRows(examples []Example, vectors float64) (rows []report.Row) {
	row := func(name string, m Measure, note string) {
		cells := []report.Cell{report.Number("recall@10", "%.3f", m.Recall), report.Number("mrr@20", "%.3f", m.MRR)}
		rows = append(rows, report.Row{Part: "weights", Name: name, Cells: cells, Note: note})
	}
	names, inUse := Weights(vectors)
	fit := func(in []Example) []float64 { return Fit(in, inUse) }
	fitted := fit(examples)
	unseen, _ := Unseen(examples, fit)
	row("in use", Evaluate(examples, inUse), "")
	row("fitted to all conversations", Evaluate(examples, fitted), "")
	row("fitted to the other conversations", unseen, "")
	for _, weight := range vectorWeights {
		_, w := Weights(weight)
		row(fmt.Sprint("in use, vector ", weight), Evaluate(examples, w), "")
	}
	unseen, chosen := Unseen(examples, FitVector)
	at, others := slices.Index(names, "vector"), []float64(nil)
	for _, w := range chosen {
		others = append(others, w[at])
	}
	row("in use, vector by the other conversations", unseen, fmt.Sprint("they choose ", others))
	for i, name := range names {
		without := slices.Clone(inUse)
		without[i] = 0
		row("in use, without "+name, Evaluate(examples, without), "")
	}
	for i, name := range names {
		rows = append(rows, report.Row{Part: "cues", Name: name, Cells: []report.Cell{
			report.Number("in use", "%.2f", inUse[i]), report.Number("fitted to all", "%.2f", fitted[i]),
		}})
	}
	return rows
}
