// Package storetest contains the contract of [memory.Store] as tests. They run on every store: the reference
// in package inmem, each SQL dialect, and stores that wrap another store.
//
//	Run            the rules, one subtest each: most are scripts, see scripts/README.md
//	RunConcurrent  the rules about concurrent use; run it under -race
//	RunHistory     random histories; each result is compared with the reference
//	RunReopen      acknowledged writes exist after closing and opening
//	RunCrash       acknowledged writes exist after a kill -9 at any point
//
// The tests check neither speed nor the format of stored data.
package storetest

import (
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Open returns an empty store with this clock. It closes the store at the end of the test.
type Open func(t *testing.T, now func() time.Time) memory.Store

// Run checks each rule on a new store.
func Run(t *testing.T, open Open) {
	runScripts(t, open, "scripts")
	for _, r := range goRules {
		t.Run(r.name, func(t *testing.T) { r.check(newRig(t, open)) })
	}
}

// rule is a named part of the contract.
type rule struct {
	name  string
	check func(*rig)
}
