package web

import (
	"fmt"
	"slices"
	"strings"
)

// Charts are drawn in these units and stretched to the width there is; their words
// stand beside them as HTML, which keeps its size.
const (
	chartWidth  = 720.0
	chartHeight = 140.0
)

// line is a series as the path of an SVG: the line, and the area under it.
type line struct {
	Line, Area string
	Most       float64
}

// lineOf draws values from left to right, 0 at the bottom. One value is a level
// line.
func lineOf(values []float64) line {
	if len(values) == 0 {
		return line{}
	}
	if len(values) == 1 {
		values = []float64{values[0], values[0]}
	}
	values = thinned(values)
	l := line{Most: slices.Max(values)}
	top := max(l.Most, 1)
	var b strings.Builder
	for i, v := range values {
		x := chartWidth * float64(i) / float64(len(values)-1)
		y := chartHeight - 2 - (chartHeight-8)*v/top
		letter := 'L'
		if i == 0 {
			letter = 'M'
		}
		fmt.Fprintf(&b, "%c%.1f %.1f", letter, x, y)
	}
	l.Line = b.String()
	l.Area = fmt.Sprintf("%sL%.0f %.0fL0 %.0fZ", l.Line, chartWidth, chartHeight, chartHeight)
	return l
}

// maxPoints is how many points a line has at most: more than there are dots on a
// screen say nothing.
const maxPoints = 360

// thinned keeps the last value of each stretch, the first and the last of all among
// them.
func thinned(values []float64) []float64 {
	if len(values) <= maxPoints {
		return values
	}
	out := make([]float64, maxPoints)
	for i := range out {
		out[i] = values[i*(len(values)-1)/(maxPoints-1)]
	}
	return out
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
