package web

import "slices"

// series is a list of numbers that are drawn as columns. The labels are HTML next to the drawing, so that scaling
// the drawing does not distort them.
type series struct {
	Shares []float64 // each value as a share of the largest, 0 to 1
	Most   float64   // largest value
}

// maxColumns is the maximum number of columns. Screens have too few pixels for more columns.
const maxColumns = 360

// seriesOf returns all values or, if there are too many, maxColumns values at equal distances, including the
// first and the last value.
func seriesOf(values []float64) (s series) {
	if len(values) == 0 {
		return s
	}
	n := min(len(values), maxColumns)
	s = series{make([]float64, n), slices.Max(values)}
	for i := range n {
		s.Shares[i] = values[i*(len(values)-1)/max(n-1, 1)] / max(s.Most, 1)
	}
	return s
}

// labeledCount is a named number and its share of the largest number in the list.
type labeledCount struct {
	Name  string
	Count int
	Share float64 // 0 to 1
	Link  string  // path of the list of counted items; may be ""
}

func withShares(counts []labeledCount) []labeledCount {
	top := 1
	for _, a := range counts {
		top = max(top, a.Count)
	}
	for i := range counts {
		counts[i].Share = float64(counts[i].Count) / float64(top)
	}
	return counts
}
