package sqlstore_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/storetest"
)

func TestContract(t *testing.T)   { storetest.Run(t, open) }
func TestConcurrent(t *testing.T) { storetest.RunConcurrent(t, open) }
func TestReopen(t *testing.T)     { storetest.RunReopen(t, openAt) }

func TestHistory(t *testing.T) {
	storetest.RunHistory(t, func(_ *testing.T, now func() time.Time) memory.Store {
		return inmem.Open(inmem.Options{Now: now})
	}, open)
}

// empty is the file of a store in which nothing is. To make its tables takes longer than
// most rules, above all under the race detector.
var empty = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "empty-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is in memory by then
	path := filepath.Join(dir, "loci.db")
	s, err := openAt(path, time.Now)
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// open opens a new store with a clock, for the length of the test.
func open(t *testing.T, now func() time.Time) memory.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "loci.db")
	file, err := empty()
	if err == nil {
		err = os.WriteFile(path, file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := openAt(path, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func openAt(path string, now func() time.Time) (memory.Store, error) {
	s, err := sqlstore.OpenSQLite(context.Background(), path, sqlstore.Options{Now: now})
	if err != nil {
		return nil, err
	}
	return s, nil
}
