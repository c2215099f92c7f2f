package eval

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// resamples of the questions or conversations, each as many as there are, give
	// an interval its ends.
	resamples = 1000
	// clustersFrom is the number of conversations from which on those are drawn,
	// since questions of one talk are found or missed together. A handful of
	// conversations says nothing about how conversations differ.
	clustersFrom = 10
)

// Estimate is a value with its 95 % interval: the percentiles 2.5 and 97.5 of the
// bootstrap (Efron & Tibshirani 1993), from a fixed seed.
type Estimate struct {
	Value, Low, High float64
	N                int // questions it rests on
}

// enough reports whether rows are of enough conversations to draw those.
func enough(conversations []int) bool {
	seen := map[int]bool{}
	for _, c := range conversations {
		seen[c] = true
	}
	return len(seen) >= clustersFrom
}

// draws are what is drawn: strata of units of rows. Each stratum is drawn apart,
// and a unit stays together.
type draws [][][]int

// byConversation has the rows of one conversation as a unit where there are enough
// conversations, otherwise each row by itself; of is each row's conversation, in
// strata of rows that are compared with one another.
func byConversation(clustered bool, of ...[]int) draws {
	if !clustered {
		var d draws
		row := 0
		for _, stratum := range of {
			var units [][]int
			for range stratum {
				units = append(units, []int{row})
				row++
			}
			d = append(d, units)
		}
		return d
	}
	var units [][]int
	at := map[int]int{}
	for row, c := range slices.Concat(of...) {
		i, ok := at[c]
		if !ok {
			i = len(units)
			at[c] = i
			units = append(units, nil)
		}
		units[i] = append(units[i], row)
	}
	return draws{units}
}

// interval returns the ends of a statistic over resampled rows. Resamples for which
// it is not a number, such as the mean of none, do not count.
func (d draws) interval(statistic func(rows []int) float64) (low, high float64) {
	r := rand.New(rand.NewPCG(1, 2))
	var values []float64
	var rows []int
	for range resamples {
		rows = rows[:0]
		for _, units := range d {
			for range units {
				rows = append(rows, units[r.IntN(len(units))]...)
			}
		}
		if x := statistic(rows); !math.IsNaN(x) {
			values = append(values, x)
		}
	}
	if len(values) == 0 {
		return math.NaN(), math.NaN()
	}
	slices.Sort(values)
	out := len(values) / 40 // 2.5 %
	return values[out], values[len(values)-1-out]
}

// mean returns the mean of values with its interval.
func (d draws) mean(values []float64) Estimate {
	of := func(rows []int) float64 {
		var sum float64
		for _, row := range rows {
			sum += values[row]
		}
		return sum / float64(len(rows))
	}
	return d.estimate(len(values), of)
}

// estimate returns a statistic of rows 0 to n-1 with its interval.
func (d draws) estimate(n int, statistic func(rows []int) float64) Estimate {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	e := Estimate{Value: statistic(rows), N: n}
	e.Low, e.High = d.interval(statistic)
	return e
}
