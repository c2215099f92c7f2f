package vector

import "slices"

// Above returns the indexes, in order, of the scores that are at least minScore. It reuses buffer, which may be
// the result of an earlier call.
func Above(scores []float32, minScore float32, buffer []int32) []int32 {
	buffer = slices.Grow(buffer[:0], len(scores))[:len(scores)]
	return buffer[:above(scores, minScore, buffer)]
}

// abovePortable writes the indexes of scores that are at least minScore, each plus offset, into out and returns
// their number.
func abovePortable(scores []float32, offset int, minScore float32, out []int32) (n int) {
	for i, x := range scores {
		if x >= minScore {
			out[n] = int32(offset + i)
			n++
		}
	}
	return n
}
