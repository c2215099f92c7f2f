//go:build race

package transformer

// shapesTried is how many published shapes are tried: the race detector makes a minute of
// seconds, and what goes on side by side is the same in all and tried by other tests too.
// make test tries all of them without it.
const shapesTried = 1
