package vector

import "slices"

// Above returns the positions of the scores that are at least so high, in order. A
// buffer of an earlier call may be passed for reuse. After a [Scan] it leaves the
// few rows that can still be among the best, where least is the score of the worst that
// would be kept.
func Above(scores []float32, least float32, buffer []int32) []int32 {
	buffer = slices.Grow(buffer[:0], len(scores))[:len(scores)]
	return buffer[:above(scores, least, buffer)]
}

// abovePortable writes the positions counted from first into out and returns how
// many.
func abovePortable(scores []float32, first int, least float32, out []int32) (n int) {
	for i, x := range scores {
		if x >= least {
			out[n] = int32(first + i)
			n++
		}
	}
	return n
}
