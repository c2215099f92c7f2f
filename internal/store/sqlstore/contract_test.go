package sqlstore_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/storetest"
)

func TestContract(t *testing.T) {
	storetest.Run(t, open)
}

// open opens a new store with a clock, for the length of the test.
func open(t *testing.T, now func() time.Time) memory.Store {
	t.Helper()
	s, err := sqlstore.OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "loci.db"), sqlstore.Options{Now: now})
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
