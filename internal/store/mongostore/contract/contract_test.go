// Package contract holds package mongostore to the contract of stores on a server: FerretDB, which
// it brings along, or the one that TEST_MONGODB names. It is a module of its own, so that Loci
// does not depend on a server.
package contract

import (
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/internal/store/mongostore"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/storetest"
)

func TestContract(t *testing.T) { storetest.Run(t, open) }

func TestConcurrent(t *testing.T) { storetest.RunConcurrent(t, open) }

func TestHistory(t *testing.T) {
	storetest.RunHistory(t, open, func(_ *testing.T, now func() time.Time) memory.Store { return inmem.Open(inmem.Options{Now: now}) })
}

func TestReopen(t *testing.T) {
	storetest.RunReopen(t, func(path string, now func() time.Time) (memory.Store, error) {
		return mongostore.Open(t.Context(), database(path), mongostore.Options{Now: now})
	})
}

func TestCrash(t *testing.T) {
	storetest.RunCrash(t, storetest.Crash{Open: func(path string, now func() time.Time, point func()) (memory.Store, error) {
		return mongostore.Open(t.Context(), database(path), mongostore.Options{Now: now, Point: point})
	}})
}
