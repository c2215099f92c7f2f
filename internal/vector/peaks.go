package vector

import (
	"math"
	"slices"
)

// Scores come in pieces, and in a piece eight apart are of one group.
const (
	peakGroups = 8
	peakPiece  = 16 * peakGroups
)

// Peaks appends the largest score of each group of at most sixteen, to which others than
// its neighbours belong. The n-th largest of peaks is reached by n scores at least, and by
// few more while n is far less than the groups: a bound that costs a look at each score.
// What is not a number is passed over.
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

// peaksPortable writes the peaks of the pieces of scores, of which the last may be short,
// into out.
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
