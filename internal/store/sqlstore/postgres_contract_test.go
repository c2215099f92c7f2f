package sqlstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/storetest"
)

func TestPostgresContract(t *testing.T)   { storetest.Run(t, openPostgres) }
func TestPostgresConcurrent(t *testing.T) { storetest.RunConcurrent(t, openPostgres) }

func TestPostgresReopen(t *testing.T) {
	address := pgtest.Schema(t)
	storetest.RunReopen(t, func(_ string, now func() time.Time) (memory.Store, error) {
		return sqlstore.OpenPostgres(context.Background(), address, sqlstore.Options{Now: now})
	})
}

func TestPostgresHistory(t *testing.T) {
	storetest.RunHistory(t, func(_ *testing.T, now func() time.Time) memory.Store {
		return inmem.Open(inmem.Options{Now: now})
	}, openPostgres)
}

// openPostgres opens a new store with a clock, for the length of the test.
func openPostgres(t *testing.T, now func() time.Time) memory.Store {
	t.Helper()
	s, err := sqlstore.OpenPostgres(t.Context(), pgtest.Schema(t), sqlstore.Options{Now: now})
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
