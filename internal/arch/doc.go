// Package arch is the house's plan as a test: which package may import which,
// where a third-party library may appear, and which packages know no clock, log
// or I/O. rules.go holds the plan as data, check.go reads the sources and says
// what breaks it; budget.txt says how many lines and tokens each package may
// have. Nothing imports this package.
//
// It parses files rather than ask the go command, whose answers go test would
// keep from one run to the next without seeing that a file has changed.
package arch
