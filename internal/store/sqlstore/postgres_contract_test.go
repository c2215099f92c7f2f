package sqlstore_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/storetest"
)

// The contract is kept by three stores on one database, as replicas have them: each
// call goes to the next of them.

// TestPostgresContract looks at every statement besides: all are about owners that they
// name, so that one node has all that they are about, but for those that claim jobs, of the
// totals for metrics, of the list of owners for upkeep of all memory and of the traces of who
// was shown what is erased.
func TestPostgresContract(t *testing.T) {
	said := map[string]bool{}
	storetest.Run(t, func(t *testing.T, now func() time.Time) memory.Store {
		r := openReplicas(t, now).(*storetest.Replicas)
		t.Cleanup(func() {
			for _, s := range r.Stores {
				for _, text := range s.(*sqlstore.Store).Statements() {
					said[strings.TrimSpace(text)] = true
				}
			}
		})
		return r
	})
	named := regexp.MustCompile(`(?s)\bowner( = \$| = ANY \(+\$)|^INSERT INTO \w+ \(owner,`)
	across := regexp.MustCompile(`(?s)^(BEGIN|COMMIT|ROLLBACK|SELECT set_config|SELECT pg_notify|SELECT \(extract|SELECT\s+\(SELECT COUNT|SELECT current_setting|SELECT md5|SELECT e.extversion|SELECT to_regclass|SELECT owner FROM owners WHERE version > 0|SELECT DISTINCT f.owner FROM trace_facts|UPDATE jobs SET attempts = attempts \+ 1|WITH next \(of, job\))`)
	for text := range said {
		if !named.MatchString(text) && !across.MatchString(text) {
			t.Errorf("this names no owner: %s", text)
		}
	}
	if len(said) < 80 {
		t.Errorf("got %d statements, want more to look at", len(said))
	}
}

func TestPostgresConcurrent(t *testing.T) { storetest.RunConcurrent(t, openReplicas) }

func TestPostgresReopen(t *testing.T) {
	address := pgtest.Schema(t)
	storetest.RunReopen(t, func(_ string, now func() time.Time) (memory.Store, error) {
		s, err := sqlstore.OpenPostgres(context.Background(), address, sqlstore.Options{Now: now})
		if err != nil {
			return nil, err
		}
		return s, nil
	})
}

func TestPostgresHistory(t *testing.T) {
	if os.Getenv("LOCI_HISTORIES") == "" { // each takes a server far longer than a file
		t.Setenv("LOCI_HISTORIES", "8")
	}
	storetest.RunHistory(t, func(_ *testing.T, now func() time.Time) memory.Store {
		return inmem.Open(inmem.Options{Now: now})
	}, openReplicas)
}

// openPostgres opens a store at an address, for the length of the test.
func openPostgres(t testing.TB, address string, now func() time.Time) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.OpenPostgres(context.Background(), pgtest.WithParameter(address, "pool_max_conns", "8"), sqlstore.Options{Now: now})
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

// openReplicas opens three new stores on one database, with a clock.
func openReplicas(t *testing.T, now func() time.Time) memory.Store {
	t.Helper()
	address := pgtest.Schema(t)
	r := &storetest.Replicas{}
	for range 3 {
		r.Stores = append(r.Stores, openPostgres(t, address, now))
	}
	return r
}
