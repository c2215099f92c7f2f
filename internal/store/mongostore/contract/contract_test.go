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

// openReplicas opens three new stores on one database.
func openReplicas(t *testing.T, now func() time.Time) memory.Store {
	address := database(t.TempDir())
	r := &storetest.Replicas{}
	for range 3 {
		r.Stores = append(r.Stores, openWith(t, address, mongostore.Options{Now: now}))
	}
	return r
}

func TestContract(t *testing.T) { storetest.Run(t, openReplicas) }

func TestConcurrent(t *testing.T) { storetest.RunConcurrent(t, openReplicas) }

func TestHistory(t *testing.T) {
	storetest.RunHistory(t, openReplicas, func(_ *testing.T, now func() time.Time) memory.Store { return inmem.Open(inmem.Options{Now: now}) })
}

func TestReopen(t *testing.T) {
	storetest.RunReopen(t, func(path string, now func() time.Time) (memory.Store, error) {
		return mongostore.Open(t.Context(), database(path), mongostore.Options{Now: now})
	})
}

func TestCrash(t *testing.T) {
	storetest.RunCrash(t, storetest.CrashConfig{Kills: 6, Open: func(path string, now func() time.Time, point func()) (memory.Store, error) {
		return mongostore.Open(t.Context(), database(path), mongostore.Options{Now: now, Failpoint: point})
	}})
}
