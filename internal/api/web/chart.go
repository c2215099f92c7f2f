package web

import "slices"

// series is numbers drawn as columns beside each other; their words stand beside the drawing as
// HTML, which keeps its size.
type series struct {
	Shares []float64 // of the largest, 0 to 1
	Most   float64
}

// maxColumns is how many columns are drawn at most: more than there are dots on a screen say
// nothing.
const maxColumns = 360

// seriesOf takes all values or, of too many, so many at equal distances, the first and the last
// among them.
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

// amount is a named number, and its share of the largest beside it.
type amount struct {
	Name  string
	Count int
	Share float64 // 0 to 1
	Link  string
}

// amounts gives each its share.
func amounts(in []amount) []amount {
	top := 1
	for _, a := range in {
		top = max(top, a.Count)
	}
	for i := range in {
		in[i].Share = float64(in[i].Count) / float64(top)
	}
	return in
}
