package eval

import (
	"math"
	"slices"
)

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
