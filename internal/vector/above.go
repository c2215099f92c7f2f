package vector

import "slices"

// Above returns the indexes, in order, of the scores that are at least least. buffer may be the result of an
// earlier call, whose memory is then reused. After a [Scan], Above finds the rows that can still be among the best.
func Above(scores []float32, least float32, buffer []int32) []int32 {
	buffer = slices.Grow(buffer[:0], len(scores))[:len(scores)]
	return buffer[:above(scores, least, buffer)]
}

// abovePortable writes the indexes, counted from first, into out and returns how many it wrote.
func abovePortable(scores []float32, first int, least float32, out []int32) (n int) {
	for i, x := range scores {
		if x >= least {
			out[n] = int32(first + i)
			n++
		}
	}
	return n
}
