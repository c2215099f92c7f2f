package vault

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/storetest"
)

func inMemory(now func() time.Time) (memory.Store, error) {
	return inmem.Open(inmem.Options{Now: now}), nil
}

func inSQLite(path string) OpenStore {
	return func(now func() time.Time) (memory.Store, error) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		s, err := sqlstore.OpenSQLite(context.Background(), path, sqlstore.Options{Now: now})
		if err != nil {
			return nil, err
		}
		return s, nil
	}
}

// opened closes a store when the test ends.
func opened(t *testing.T, s *Store, err error) *Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { noError(t)(s.Close()) })
	return s
}

func aroundMemory(t *testing.T, now func() time.Time) memory.Store {
	s, err := Open(t.Context(), t.TempDir(), inMemory, Options{Now: now})
	return opened(t, s, err)
}

func aroundSQLite(t *testing.T, now func() time.Time) memory.Store {
	s, err := Open(t.Context(), t.TempDir(), inSQLite(filepath.Join(t.TempDir(), "loci.db")), Options{Now: now})
	return opened(t, s, err)
}

func TestContractAroundMemory(t *testing.T) {
	t.Parallel()
	storetest.Run(t, aroundMemory)
}

func TestContractAroundSQLite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, aroundSQLite)
}

func TestConcurrentAroundMemory(t *testing.T) {
	t.Parallel()
	storetest.RunConcurrent(t, aroundMemory)
}

func TestConcurrentAroundSQLite(t *testing.T) {
	t.Parallel()
	storetest.RunConcurrent(t, aroundSQLite)
}

func TestReopenAroundSQLite(t *testing.T) {
	t.Parallel()
	storetest.RunReopen(t, func(path string, now func() time.Time) (memory.Store, error) {
		return Open(context.Background(), path, inSQLite(path+".db"), Options{Now: now})
	})
}
