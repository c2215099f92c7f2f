package vector

import (
	"math"
	"slices"
)

// Scores are read in pieces of peakPieceSize. Scores of a piece with the same index modulo peakGroups are a
// group.
const (
	peakGroups    = 8
	peakPieceSize = 16 * peakGroups
)

// Peaks divides scores into groups of at most sixteen, and appends the largest score of each group to peaks.
// At least n scores reach the n-th largest peak, and hardly more than n if n is far less than the number of
// groups. Peaks skips NaN.
func Peaks(peaks, scores []float32) []float32 {
	whole := len(scores) / peakPieceSize * peakPieceSize
	old, more := len(peaks), whole/peakPieceSize*peakGroups
	peaks = slices.Grow(peaks, more+peakGroups)[:old+more]
	wholePeaks(scores[:whole], peaks[old:])
	if rest := scores[whole:]; len(rest) > 0 {
		groups := min(peakGroups, len(rest))
		peaks = peaks[:old+more+groups]
		peaksPortable(rest, peaks[old+more:])
	}
	return peaks
}

// peaksPortable writes the largest scores of the groups in each piece into out. The last piece may be short.
func peaksPortable(scores, out []float32) {
	for i := range out {
		out[i] = float32(math.Inf(-1))
	}
	for i, x := range scores {
		at := &out[i/peakPieceSize*peakGroups+i%peakGroups]
		if x > *at {
			*at = x
		}
	}
}
