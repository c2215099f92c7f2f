package report

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// Resamples is the number of bootstrap resamples per interval.
	Resamples = 1000
	// clustersFrom is the least number of conversations for drawing whole ones, whose questions are found or
	// missed together. Fewer say nothing about how conversations differ.
	clustersFrom = 10
)

// Estimate is a value with its 95 % interval: the percentiles 2.5 and 97.5 of the bootstrap
// (Efron & Tibshirani 1993), from a fixed seed.
type Estimate struct{ Value, Low, High float64 }

// Draws are the strata of a bootstrap, each with units of rows. Strata are drawn separately, and the rows of a unit
// together.
type Draws [][][]int

// DrawsOf returns draws of whole conversations if there are enough, else of rows. A stratum lists the conversation
// of each of its rows.
func DrawsOf(strata ...[]int) Draws {
	whole, at := [][]int(nil), map[int]int{}
	var single Draws
	row := 0
	for _, conversations := range strata {
		var units [][]int
		for _, c := range conversations {
			if _, ok := at[c]; !ok {
				at[c] = len(whole)
				whole = append(whole, nil)
			}
			whole[at[c]] = append(whole[at[c]], row)
			units = append(units, []int{row})
			row++
		}
		single = append(single, units)
	}
	if len(whole) >= clustersFrom {
		return Draws{whole}
	}
	return single
}

// Mean returns the mean of values with its interval.
func (d Draws) Mean(values []float64) Estimate {
	return d.Estimate(func(rows []int) float64 {
		var sum float64
		for _, row := range rows {
			sum += values[row]
		}
		return sum / float64(len(rows))
	})
}

// Estimate returns a statistic of all rows with its interval. Resamples where it is NaN do not count.
func (d Draws) Estimate(statistic func(rows []int) float64) Estimate {
	var rows []int
	for _, units := range d {
		rows = append(rows, slices.Concat(units...)...)
	}
	slices.Sort(rows)
	e := Estimate{Value: statistic(rows), Low: math.NaN(), High: math.NaN()}
	r := rand.New(rand.NewPCG(1, 2))
	var values []float64
	for range Resamples {
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
	if len(values) > 0 {
		slices.Sort(values)
		out := len(values) / 40 // 2.5 %
		e.Low, e.High = values[out], values[len(values)-1-out]
	}
	return e
}
