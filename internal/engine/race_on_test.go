//go:build race

package engine

// What one goroutine plays has nothing to race with and takes eight times longer with the race
// detector: it is played in part here, and whole by the run without it that make test has besides.
const (
	stride = 32 // of the calls of which the fault test lets one fail at a time
	seeds  = 2  // of random worlds, one with a model and one without
	steps  = 30 // of each
	partly = true
)
