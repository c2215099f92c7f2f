package vector

import (
	"math"
	"slices"
)

// Scores are read in pieces; scores eight apart in a piece belong to one group.
const (
	peakGroups = 8
	peakPiece  = 16 * peakGroups
)

// Peaks appends the largest score of each group of at most sixteen, which are not adjacent. At
// least n scores reach the n-th largest peak, and hardly more while n is far less than the number
// of groups: a bound that reads each score once. NaN is skipped.
func Peaks(peaks, scores []float32) []float32 {
	whole := len(scores) / peakPiece * peakPiece
	old, more := len(peaks), whole/peakPiece*peakGroups
	peaks = slices.Grow(peaks, more+peakGroups)[:old+more]
	wholePeaks(scores[:whole], peaks[old:])
	if rest := scores[whole:]; len(rest) > 0 {
		groups := min(peakGroups, len(rest))
		peaks = peaks[:old+more+groups]
		peaksPortable(rest, peaks[old+more:])
	}
	return peaks
}

// peaksPortable writes the peaks of the pieces of scores into out; the last piece may be short.
func peaksPortable(scores, out []float32) {
	for i := range out {
		out[i] = float32(math.Inf(-1))
	}
	for i, x := range scores {
		at := &out[i/peakPiece*peakGroups+i%peakGroups]
		if x > *at {
			*at = x
		}
	}
}
