package main

import (
	"math"
	"slices"
	"time"
)

// perDecade is how many buckets a histogram has between one power of ten and the
// next.
const perDecade = 12

// histogram counts times in buckets that are equally wide on a logarithmic axis.
type histogram struct {
	from   int // the number of the first bucket
	counts []int
}

// place returns where a time stands on the axis, in buckets from a microsecond on.
// What is shorter stands there too.
func place(d time.Duration) float64 {
	return math.Log10(max(d.Seconds()*1e6, 1)) * perDecade
}

// bucketOf returns the number of a time's bucket: 0 begins at a microsecond.
func bucketOf(d time.Duration) int {
	return int(math.Floor(place(d) + 1e-6)) // a time where a bucket begins belongs to it
}

// lower returns where a bucket begins.
func lower(bucket int) time.Duration {
	return time.Duration(math.Ceil(math.Pow(10, float64(bucket)/perDecade)*1e3 - 1e-6))
}

// histogramOf counts times, from the bucket of the shortest to that of the longest.
func histogramOf(took []time.Duration) histogram {
	if len(took) == 0 {
		return histogram{}
	}
	h := histogram{from: bucketOf(slices.Min(took))}
	h.counts = make([]int, bucketOf(slices.Max(took))-h.from+1)
	for _, d := range took {
		h.counts[bucketOf(d)-h.from]++
	}
	return h
}
