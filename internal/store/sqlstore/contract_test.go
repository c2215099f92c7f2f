package sqlstore_test

import (
	"context"
	"path/filepath"
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

// open opens a new store with a clock, for the length of the test.
func open(t *testing.T, now func() time.Time) memory.Store {
	t.Helper()
	s, err := openAt(filepath.Join(t.TempDir(), "loci.db"), now)
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
