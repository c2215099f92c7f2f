package vector

import (
	"math"
	"slices"
)

// Scores are read in pieces of 128. Within a piece, every eighth score belongs to the same group.
const (
	peakGroups    = 8
	peakPieceSize = 16 * peakGroups
)

// Peaks appends the largest score of each group of at most sixteen scores, which are not adjacent. At least n
// scores are as large as the n-th largest peak. While n is far less than the number of groups, hardly more
// scores are. Peaks reads each score once and skips NaN.
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
