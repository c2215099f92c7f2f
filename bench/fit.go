package bench

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/recall"
)

// Example is a question with what every candidate gets from each cue: what
// weights are fitted to.
type Example struct {
	Dataset, Conversation, Category string

	Units  []string    // of the candidates: turns, or sessions where those are gold
	Values [][]float64 // by candidate and cue
	Gold   []string
}

// Examples puts a data set into d and returns its questions as examples.
func Examples(ctx context.Context, d *Direct, set Dataset) ([]Example, error) {
	var out []Example
	for i, c := range set.Conversations {
		owner, known := ownerOf(set, i), 0
		for _, q := range c.Questions {
			upTo := q.Before
			if upTo == 0 {
				upTo = len(c.Turns)
			}
			if err := d.Ingest(ctx, owner, c.Turns[known:max(known, upTo)]); err != nil {
				return nil, err
			}
			known = max(known, upTo)
			query, candidates, err := d.Candidates(ctx, owner, q.Text)
			if err != nil {
				return nil, fmt.Errorf("search %q: %w", q.Text, err)
			}
			_, _, values := recall.Cues(query, candidates)
			found := make([]Found, len(candidates))
			for j := range candidates {
				found[j].Ref = candidates[j].ID
			}
			out = append(out, Example{set.Name, c.Name, q.Category, units(c, found), values, q.Gold})
		}
	}
	return out, nil
}

// Fit returns weights by which the gold of the examples stands at the top: softmax
// over each list, 70 steps of Adam from start. share weighs data sets; those
// without a share are left out. Weights that are 0 in start stay 0.
func Fit(examples []Example, share map[string]float64, start []float64) []float64 {
	const steps, rate = 70, 0.1
	w := slices.Clone(start)
	mean, square := make([]float64, len(w)), make([]float64, len(w))
	for step := 1; step <= steps; step++ {
		slope, total := make([]float64, len(w)), 0.0
		for i := range examples {
			if a := share[examples[i].Dataset]; a > 0 {
				total += a * examples[i].slope(w, a, slope)
			}
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

// slope adds the slope of the loss, weighed by a, and returns 1 if the example has
// gold among its candidates, else 0.
func (e *Example) slope(w []float64, a float64, slope []float64) float64 {
	gold := 0
	for _, u := range e.Units {
		if slices.Contains(e.Gold, u) {
			gold++
		}
	}
	if gold == 0 {
		return 0
	}
	p := e.scores(w)
	most := slices.Max(p)
	var sum float64
	for i := range p {
		p[i] = math.Exp(p[i] - most)
		sum += p[i]
	}
	for i, x := range e.Values {
		d := p[i] / sum
		if slices.Contains(e.Gold, e.Units[i]) {
			d -= 1 / float64(gold)
		}
		for j := range x {
			slope[j] += a * d * x[j]
		}
	}
	return 1
}

func (e *Example) scores(w []float64) []float64 {
	out := make([]float64, len(e.Values))
	for i, x := range e.Values {
		for j := range x {
			out[i] += w[j] * x[j]
		}
	}
	return out
}

// Evaluate measures weights on examples, by data set.
func Evaluate(examples []Example, w []float64) map[string]Measure {
	out := map[string]Measure{}
	for i := range examples {
		e := &examples[i]
		scores := e.scores(w)
		order := make([]int, len(scores))
		for j := range order {
			order[j] = j
		}
		slices.SortStableFunc(order, func(a, b int) int {
			if scores[a] > scores[b] {
				return -1
			}
			if scores[a] < scores[b] {
				return 1
			}
			return 0
		})
		var ranked []string
		for _, j := range order {
			ranked = append(ranked, e.Units[j])
		}
		m := out[e.Dataset]
		recall, rr := score(distinct(ranked), e.Gold)
		add(&m, recall, rr)
		out[e.Dataset] = m
	}
	for k, m := range out {
		out[k] = m.mean()
	}
	return out
}
