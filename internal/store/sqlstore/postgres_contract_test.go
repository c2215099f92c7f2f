package sqlstore_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
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
// name, so that one node has all that they are about, but for those of the small table of
// hints, of the sweep that makes it anew once a minute, of the totals for metrics, and of
// the list of owners for upkeep of all memory and of the traces of who was shown what is
// erased.
func TestPostgresContract(t *testing.T) {
	said := map[string]bool{}
	storetest.Run(t, func(t *testing.T, now func() time.Time) memory.Store {
		r := openReplicas(t, now).(*replicas)
		t.Cleanup(func() {
			for _, s := range r.of {
				for _, text := range s.Statements() {
					said[strings.TrimSpace(text)] = true
				}
			}
		})
		return r
	})
	named := regexp.MustCompile(`(?s)\bowner( = \$| = ANY \(\$)|^INSERT INTO \w+ \(owner,`)
	across := regexp.MustCompile(`(?s)^(BEGIN|ROLLBACK|EXPLAIN|SELECT\s+\(SELECT COUNT|SELECT current_setting|SELECT e.extversion|SELECT to_regclass|SELECT owner FROM owners WHERE version > 0|SELECT DISTINCT f.owner, f.trace FROM trace_facts|SELECT owner, id FROM traces WHERE listed = 0|SELECT owner, kind, at, created, leased, n FROM due|WITH RECURSIVE one .*INSERT INTO due)`)
	for text := range said {
		if !named.MatchString(text) && !across.MatchString(text) {
			t.Errorf("this names no owner: %s", text)
		}
	}
	if path := os.Getenv("LOCI_SAID"); path != "" { // see rolling_test.go
		var all []string
		for text := range said {
			if !across.MatchString(text) || strings.Contains(text, " due ") || strings.Contains(text, "COUNT") {
				all = append(all, strings.Join(strings.Fields(text), " "))
			}
		}
		slices.Sort(all)
		if err := os.WriteFile(path, []byte(strings.Join(all, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
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
	s, err := sqlstore.OpenPostgres(context.Background(), pgtest.With(address, "pool_max_conns", "8"), sqlstore.Options{Now: now})
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
	r := &replicas{}
	for i := range r.of {
		r.of[i] = openPostgres(t, address, now)
	}
	return r
}

// replicas are stores on one database. Each call goes to the next.
type replicas struct {
	of   [3]*sqlstore.Store
	next atomic.Uint32
}

func (r *replicas) any() *sqlstore.Store { return r.of[r.next.Add(1)%uint32(len(r.of))] }

func (r *replicas) Close() error {
	var errs []error
	for _, s := range r.of {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

func (r *replicas) Get(ctx context.Context, o memory.Owner, ids ...string) ([]memory.Memory, error) {
	return r.any().Get(ctx, o, ids...)
}

func (r *replicas) List(ctx context.Context, o memory.Owner, q memory.Query) (memory.Page, error) {
	return r.any().List(ctx, o, q)
}

func (r *replicas) Profile(ctx context.Context, o memory.Owner, at memory.At) ([]memory.ProfileEntry, error) {
	return r.any().Profile(ctx, o, at)
}

func (r *replicas) Relations(ctx context.Context, o memory.Owner, fact string, at memory.At) ([]memory.Relation, error) {
	return r.any().Relations(ctx, o, fact, at)
}

func (r *replicas) Contexts(ctx context.Context, o memory.Owner, at memory.At, ids ...string) ([]memory.Context, error) {
	return r.any().Contexts(ctx, o, at, ids...)
}

func (r *replicas) Changes(ctx context.Context, o memory.Owner, q memory.ChangeQuery) (memory.ChangePage, error) {
	return r.any().Changes(ctx, o, q)
}

func (r *replicas) Counts(ctx context.Context, o memory.Owner) (memory.Counts, error) {
	return r.any().Counts(ctx, o)
}

func (r *replicas) Totals(ctx context.Context) (memory.Counts, error) { return r.any().Totals(ctx) }

func (r *replicas) Apply(ctx context.Context, o memory.Owner, run memory.Run, changes ...memory.Change) (memory.Receipt, error) {
	return r.any().Apply(ctx, o, run, changes...)
}

func (r *replicas) Append(ctx context.Context, o memory.Owner, b memory.Batch) (memory.Receipt, error) {
	return r.any().Append(ctx, o, b)
}

func (r *replicas) Conversations(ctx context.Context, o memory.Owner, q memory.ConversationQuery) (memory.ConversationPage, error) {
	return r.any().Conversations(ctx, o, q)
}

func (r *replicas) Turns(ctx context.Context, o memory.Owner, q memory.TurnQuery) ([]memory.Turn, error) {
	return r.any().Turns(ctx, o, q)
}

func (r *replicas) Claim(ctx context.Context, kinds []memory.JobKind, lease time.Duration) (memory.Job, error) {
	return r.any().Claim(ctx, kinds, lease)
}

func (r *replicas) Extend(ctx context.Context, held memory.Lease, lease time.Duration) (memory.Lease, error) {
	return r.any().Extend(ctx, held, lease)
}

func (r *replicas) Finish(ctx context.Context, held memory.Lease, o memory.Outcome) error {
	return r.any().Finish(ctx, held, o)
}

func (r *replicas) Jobs(ctx context.Context, o memory.Owner, states ...memory.JobState) ([]memory.Job, error) {
	return r.any().Jobs(ctx, o, states...)
}

func (r *replicas) Requeue(ctx context.Context, o memory.Owner, job string) error {
	return r.any().Requeue(ctx, o, job)
}

func (r *replicas) Owners(ctx context.Context) ([]memory.Owner, error) {
	return r.any().Owners(ctx)
}

func (r *replicas) Versions(ctx context.Context, owners []memory.Owner) ([]int64, error) {
	return r.any().Versions(ctx, owners)
}

func (r *replicas) Since(ctx context.Context, o memory.Owner, model string, after int64, yield func(memory.Item) error) (int64, error) {
	return r.any().Since(ctx, o, model, after, yield)
}

func (r *replicas) SaveTraces(ctx context.Context, keep int, traces ...memory.Trace) error {
	return r.any().SaveTraces(ctx, keep, traces...)
}

func (r *replicas) Trace(ctx context.Context, o memory.Owner, id string) (memory.Trace, error) {
	return r.any().Trace(ctx, o, id)
}

func (r *replicas) Traces(ctx context.Context, o memory.Owner, q memory.TraceQuery) ([]memory.Trace, error) {
	return r.any().Traces(ctx, o, q)
}

func (r *replicas) Spend(ctx context.Context, o memory.Owner, u memory.Usage) error {
	return r.any().Spend(ctx, o, u)
}

func (r *replicas) Spent(ctx context.Context, o memory.Owner, from time.Time) ([]memory.Usage, error) {
	return r.any().Spent(ctx, o, from)
}

func (r *replicas) Erase(ctx context.Context, o memory.Owner, run memory.Run, ids ...string) (memory.Receipt, error) {
	return r.any().Erase(ctx, o, run, ids...)
}

func (r *replicas) EraseTraces(ctx context.Context, o memory.Owner) (int, error) {
	return r.any().EraseTraces(ctx, o)
}

func (r *replicas) EraseTracesOf(ctx context.Context, namespace string, facts ...string) (int, error) {
	return r.any().EraseTracesOf(ctx, namespace, facts...)
}

func (r *replicas) Bury(ctx context.Context, o memory.Owner, turns ...memory.Turn) error {
	return r.any().Bury(ctx, o, turns...)
}

func (r *replicas) Buried(ctx context.Context, o memory.Owner, turns ...memory.Turn) ([]bool, error) {
	return r.any().Buried(ctx, o, turns...)
}

func (r *replicas) SupersededBy(ctx context.Context, o memory.Owner, turns []string) (map[string][]string, error) {
	return r.any().SupersededBy(ctx, o, turns)
}

func (r *replicas) Predecessors(ctx context.Context, o memory.Owner, facts []string) (map[string][]memory.Fact, error) {
	return r.any().Predecessors(ctx, o, facts)
}
