package bench

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// Example is a question with what every candidate gets from each cue and what all
// of them signal: what weights are fitted to.
type Example struct {
	Dataset, Conversation, Category string

	Place    int  // of the conversation in its data set
	Answered bool // that its conversation has the answer; if not, there are signals only

	Units   []string    // of the candidates: turns, or sessions where those are gold
	Values  [][]float64 // by candidate and cue
	Gold    []string
	Signals []float64
}

// Examples puts a data set into d and returns its questions as examples: those of
// each conversation, and then the same put to the next one.
func Examples(ctx context.Context, d *Direct, set Dataset) ([]Example, error) {
	var out []Example
	for i, c := range set.Conversations {
		owner, known := ownerOf(set, i), 0
		for _, q := range c.Questions {
			upTo := c.known(q)
			if err := d.Ingest(ctx, owner, c.Turns[known:max(known, upTo)]); err != nil {
				return nil, err
			}
			known = max(known, upTo)
			e := Example{Dataset: set.Name, Conversation: c.Name, Category: q.Category, Place: i, Answered: true, Gold: q.Gold}
			if err := e.read(ctx, d, owner, c, q.Text); err != nil {
				return nil, err
			}
			out = append(out, e)
		}
	}
	for i, c := range set.Conversations {
		next := (i + 1) % len(set.Conversations)
		if next == i {
			break
		}
		rename := swap(speakers(c), speakers(set.Conversations[next]))
		for _, q := range c.Questions {
			e := Example{Dataset: set.Name, Conversation: c.Name, Category: q.Category, Place: i}
			if err := e.read(ctx, d, ownerOf(set, next), c, rename.Replace(q.Text)); err != nil {
				return nil, err
			}
			out = append(out, e)
		}
	}
	return out, nil
}

func (e *Example) read(ctx context.Context, d *Direct, owner memory.Owner, c Conversation, question string) error {
	query, candidates, err := d.Candidates(ctx, owner, question)
	if err != nil {
		return fmt.Errorf("search %q: %w", question, err)
	}
	_, _, e.Signals = recall.Signals(query, candidates, d.options())
	if !e.Answered {
		return nil
	}
	_, _, e.Values = recall.Cues(query, candidates, d.options())
	found := make([]Found, len(candidates))
	for j := range candidates {
		found[j].Ref = candidates[j].ID
	}
	e.Units = units(c, found)
	return nil
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
	gold := make([]bool, len(e.Units))
	golds := 0
	for i, u := range e.Units {
		if gold[i] = slices.Contains(e.Gold, u); gold[i] {
			golds++
		}
	}
	if golds == 0 {
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
		if gold[i] {
			d -= 1 / float64(golds)
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
		out[i] = dot(w, x)
	}
	return out
}

func dot(w, x []float64) float64 {
	var sum float64
	for j := range x {
		sum += w[j] * x[j]
	}
	return sum
}

// Evaluate measures weights on examples, by data set.
func Evaluate(examples []Example, w []float64) map[string]Measure {
	out := map[string]Measure{}
	for i := range examples {
		e := &examples[i]
		if !e.Answered {
			continue
		}
		m := out[e.Dataset]
		recall, rr := score(distinct(e.ranked(w)), e.Gold)
		add(&m, recall, rr)
		out[e.Dataset] = m
	}
	for k, m := range out {
		out[k] = m.mean()
	}
	return out
}

// ranked returns the units in the order that weights give.
func (e *Example) ranked(w []float64) []string {
	scores := e.scores(w)
	order := make([]int, len(scores))
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	out := make([]string, len(order))
	for i, j := range order {
		out[i] = e.Units[j]
	}
	return out
}

// folds is how many parts a data set's conversations are dealt into. One part of
// every set is left out at a time.
const folds = 5

// CrossValidate measures weights fitted to the other conversations, by data set:
// none of a question's own conversation has been seen by its fit.
func CrossValidate(examples []Example, share map[string]float64, start []float64) map[string]Measure {
	sums := map[string]Measure{}
	for fold := range folds {
		in, out := split(examples, fold)
		for set, m := range Evaluate(out, Fit(in, share, start)) {
			sum, n := sums[set], float64(m.Questions)
			sum.Questions += m.Questions
			sum.Recall += m.Recall * n
			sum.MRR += m.MRR * n
			sums[set] = sum
		}
	}
	for set, m := range sums {
		sums[set] = m.mean()
	}
	return sums
}

func split(examples []Example, fold int) (in, out []Example) {
	for _, e := range examples {
		if e.Place%folds == fold {
			out = append(out, e)
		} else {
			in = append(in, e)
		}
	}
	return in, out
}

// FitAnswered returns the weights of signals that tell answered examples from
// others: logistic regression by Newton's method, a little held to 0. share weighs
// data sets.
func FitAnswered(examples []Example, share map[string]float64) []float64 {
	const steps, ridge = 12, 0.3
	n := len(examples[0].Signals)
	w := make([]float64, n)
	for range steps {
		slope, curve := make([]float64, n), make([][]float64, n)
		for i := range curve {
			curve[i] = make([]float64, n)
			curve[i][i], slope[i] = ridge, ridge*w[i]
		}
		for i := range examples {
			e := &examples[i]
			a, p := share[e.Dataset], e.answered(w)
			d := p
			if e.Answered {
				d--
			}
			for j, x := range e.Signals {
				slope[j] += a * d * x
				for k, y := range e.Signals {
					curve[j][k] += a * p * (1 - p) * x * y
				}
			}
		}
		for j, d := range solve(curve, slope) {
			w[j] -= d
		}
	}
	return w
}

// answered is the chance that the example is answered, by weights of its signals.
func (e *Example) answered(w []float64) float64 { return 1 / (1 + math.Exp(-dot(w, e.Signals))) }

// solve returns x with a·x = b by elimination; a is symmetric and positive. Both
// are overwritten.
func solve(a [][]float64, b []float64) []float64 {
	n := len(b)
	for i := range n {
		for j := i + 1; j < n; j++ {
			f := a[j][i] / a[i][i]
			for k := i; k < n; k++ {
				a[j][k] -= f * a[i][k]
			}
			b[j] -= f * b[i]
		}
	}
	x := make([]float64, n)
	for i := n - 1; i >= 0; i-- {
		x[i] = b[i]
		for k := i + 1; k < n; k++ {
			x[i] -= a[i][k] * x[k]
		}
		x[i] /= a[i][i]
	}
	return x
}
