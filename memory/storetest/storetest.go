// Package storetest is the contract of [memory.Store] as tests. Every store runs
// it: the reference in package inmem, each SQL dialect, and stores that wrap another store.
//
//	Run            the rules, one subtest each: most are scripts, see scripts/README.md
//	RunConcurrent  the rules that hold between goroutines; run it under -race
//	RunHistory     random histories, compared with the reference read by read
//	RunReopen      what was acknowledged is there after closing and opening
//	RunCrash       and after a kill -9 at any point
//
// It says nothing of speed and nothing of how a store keeps what it keeps.
package storetest

import (
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Open returns an empty store on this clock, and closes it when the test ends.
type Open func(t *testing.T, now func() time.Time) memory.Store

// Run checks every rule on stores of its own.
func Run(t *testing.T, open Open) {
	runScripts(t, open, "scripts")
	for _, r := range goRules {
		t.Run(r.name, func(t *testing.T) { r.check(newRig(t, open)) })
	}
}

// rule is one sentence of the contract.
type rule struct {
	name  string
	check func(*rig)
}
