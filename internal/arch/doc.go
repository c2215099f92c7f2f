// Package arch tests the architecture: which packages may import each other or third-party libraries, which
// packages use no clock, log or I/O, and the size of each package. rules.go has the rules, budget.txt the
// sizes.
//
// It parses files instead of running the go command, because go test would cache the result of the command
// and miss changed files.
package arch
