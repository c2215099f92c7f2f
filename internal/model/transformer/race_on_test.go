//go:build race

package transformer

// shapesTried limits the published shapes: the race detector makes a minute of seconds, and their
// concurrency is the same. make test tries all of them without it.
const shapesTried = 1
