//go:build race

package engine

// stride is how many calls the fault test goes on at a time. One goroutine plays it, in
// which there is nothing to race with, eight times slower; make test plays all of it
// without the race detector besides.
const stride = 8

// seeds is how many random worlds are played, each by one goroutine: one with a model and
// one without. All are played without the race detector.
const seeds = 2
