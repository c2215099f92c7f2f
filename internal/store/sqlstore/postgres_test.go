package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func TestPostgresTenOpenAtOnce(t *testing.T) {
	address := pgtest.NewSchema(t)
	stores := make([]*Store, 10)
	var group sync.WaitGroup
	for i := range stores {
		group.Go(func() { stores[i] = openServer(t, address, Options{}) })
	}
	group.Wait()
	for i, s := range stores {
		name := fmt.Sprint("fact ", i)
		if r, err := s.Apply(t.Context(), memtest.Ana, memtest.Run(name), memtest.Add(memtest.Fact(memtest.Ana, name))); err != nil || r.Version != int64(i+1) {
			t.Errorf("write by store %d: got %+v, %v; want version %d", i, r, err, i+1)
		}
		if s.Identity() == "" || s.Identity() != stores[0].Identity() {
			t.Errorf("store %d: got identity %q, want %q", i, s.Identity(), stores[0].Identity())
		}
	}
	if other := openServer(t, pgtest.NewSchema(t), Options{}); other.Identity() == stores[0].Identity() {
		t.Errorf("another database: got the same identity")
	}
}

func TestPostgresPingDoesNotWaitForReaders(t *testing.T) {
	pingWhileBusy(t, openServer(t, pgtest.NewSchema(t), Options{}))
}

// TestPostgresTablesAreSQLites compares the two schemas: they differ in nothing but types,
// and in the table of what was committed, which SQLite knows.
func TestPostgresTablesAreSQLites(t *testing.T) {
	address := pgtest.Schema(t)
	openServer(t, address, Options{})
	db := pgtest.Open(t, address)
	columns := map[string][]string{}
	rows := try(db.Query(`SELECT table_name, column_name FROM information_schema.columns
		WHERE table_schema = current_schema() AND table_name NOT LIKE 'goose_%' AND table_name <> 'commits' ORDER BY table_name, ordinal_position`)).orFail(t)
	defer rows.Close()
	for rows.Next() {
		var table, column string
		noError(t)(rows.Scan(&table, &column))
		columns[table] = append(columns[table], column)
	}
	noError(t)(rows.Err())
	lite := try(OpenSQLite(t.Context(), t.TempDir()+"/loci.db", Options{})).orFail(t)
	defer lite.Close() //nolint:errcheck // it was of use already
	tables := 0
	for table, got := range columns {
		want, err := queryAll(t.Context(), lite.reader, `SELECT name FROM pragma_table_info(?) ORDER BY cid`, []any{table}, scanText[string])
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("table %s: got columns %q, want %q (%v)", table, got, want, err)
		}
		tables++
	}
	want, err := queryOne[int](t.Context(), lite.reader, `SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose_%'`)
	if err != nil || tables != want {
		t.Errorf("got %d tables, want %d (%v)", tables, want, err)
	}
}

// acrossOwners are the indexes that have another first column: workers serve all owners, and
// who was shown what is erased is not known.
var acrossOwners = []string{"jobs_due", "trace_facts_fact"}

// TestPostgresKeysStartWithOwner looks at every index, those of keys among them.
func TestPostgresKeysStartWithOwner(t *testing.T) {
	address := pgtest.Schema(t)
	openServer(t, address, Options{})
	rows := try(pgtest.Open(t, address).Query(`SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() AND tablename NOT LIKE 'goose_%'`)).orFail(t)
	defer rows.Close()
	seen := 0
	for rows.Next() {
		var name, is string
		noError(t)(rows.Scan(&name, &is))
		if seen++; !slices.Contains(acrossOwners, name) && !strings.Contains(is, " btree (owner") {
			t.Errorf("index %s: got %s, want owner first", name, is)
		}
	}
	if seen < 40 || rows.Err() != nil {
		t.Errorf("got %d indexes (%v), want more", seen, rows.Err())
	}
}

// TestEveryTableIsDistributed reads in docs/postgres.md how tables are spread over
// nodes.
func TestEveryTableIsDistributed(t *testing.T) {
	doc := try(os.ReadFile("../../../docs/postgres.md")).orFail(t)
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile(`create_distributed_table\('(\w+)', 'owner'`).FindAllStringSubmatch(string(doc), -1) {
		listed[m[1]] = true
	}
	steps := try(migrations.ReadDir("migrations/postgres")).orFail(t)
	made := map[string]bool{}
	for _, step := range steps {
		text := try(migrations.ReadFile("migrations/postgres/" + step.Name())).orFail(t)
		for _, m := range regexp.MustCompile(`CREATE TABLE (?:IF NOT EXISTS )?(\w+)`).FindAllStringSubmatch(string(text), -1) {
			made[m[1]] = true
		}
	}
	delete(made, "due")  // it is gone
	delete(made, "jobs") // it stays on one node
	if !maps.Equal(listed, made) {
		t.Errorf("got %q, want %q", slices.Sorted(maps.Keys(listed)), slices.Sorted(maps.Keys(made)))
	}
}

func TestPostgresErrorsHaveNoPassword(t *testing.T) {
	server := pgtest.Address(t)
	for why, address := range map[string]string{
		"no address at all":    "postgres://loci:geheim@[",
		"a parameter of none":  "postgres://loci:geheim@localhost/loci?pool_max_conns=many",
		"nobody listens":       "postgres://loci:geheim@127.0.0.1:1/loci",
		"a password as option": "postgres:///loci?host=/nowhere&user=loci&password=geheim",
		"no such database":     strings.Replace(pgtest.WithParameter(server, "password", "geheim"), "/postgres?", "/nowhere?", 1),
	} {
		s, err := OpenPostgres(t.Context(), address, Options{})
		if err == nil {
			t.Errorf("%s: it opened", why)
			_ = s.Close()
			continue
		}
		if strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: the error shows the password: %v", why, err)
		}
		if !errors.Is(err, memory.Invalid) && !errors.Is(err, memory.Unavailable) {
			t.Errorf("%s: got %v, want it to be invalid or unavailable", why, err)
		}
	}
}

// TestPostgresGoesByTheServersClock has a server whose clock is a year ahead of ours: a
// function in the schema hides its own.
func TestPostgresGoesByTheServersClock(t *testing.T) {
	address := pgtest.NewSchema(t)
	db := pgtest.Open(t, address)
	noError(t)(db.Exec(`CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT pg_catalog.clock_timestamp() + interval ''1 year'''`))
	var schema string
	noError(t)(db.QueryRow(`SELECT current_schema()`).Scan(&schema))
	s := openServer(t, pgtest.WithParameter(address, "search_path", schema+",pg_catalog"), Options{})
	next := time.Now().AddDate(0, 11, 0)
	b := memtest.Batch(memtest.Ana, "c", 0, "hello")
	b.Jobs = []memory.Job{memtest.Job(memtest.Ana, memory.JobLearn, "job")}
	if r, err := s.Append(t.Context(), memtest.Ana, b); err != nil || r.At.Before(next) {
		t.Errorf("append: got %v, %v; want the server's time", r.At, err)
	}
	if j, err := s.Claim(t.Context(), []memory.JobKind{memory.JobLearn}, time.Minute); err != nil || j.Lease.Until.Before(next) {
		t.Errorf("claim: got a lease until %v, %v; want the server's time", j.Lease.Until, err)
	}
}

// TestPostgresRefusesKeysThatNoIndexHolds adds an entry whose key is beyond what an index
// has room for, beside one that could be added.
func TestPostgresRefusesKeysThatNoIndexHolds(t *testing.T) {
	s := openServer(t, pgtest.Schema(t), Options{})
	random := rand.New(rand.NewPCG(1, 2))
	key := make([]byte, 9000) // which cannot be compressed
	for i := range key {
		key[i] = byte('!' + random.IntN(90))
	}
	_, err := s.Apply(t.Context(), memtest.Ana, memtest.Run("run"),
		memtest.Change(memory.ActionAdd, memtest.Profile(memtest.Ana, "short", "x")),
		memtest.Change(memory.ActionAdd, memtest.Profile(memtest.Ana, string(key), "x")))
	if !errors.Is(err, memory.TooLarge) {
		t.Errorf("got %v, want %s", err, memory.TooLarge)
	}
	profile, err := s.Profile(t.Context(), memtest.Ana, memory.At{})
	if versions, err2 := s.Versions(t.Context(), []memory.Owner{memtest.Ana}); err != nil || err2 != nil || len(profile) != 0 || versions[0] != 0 {
		t.Errorf("afterwards: got %d entries and version %v, %v, %v; want nothing", len(profile), versions, err, err2)
	}
}

// heldBack runs calls, in order, that wait for an owner's transaction together.
func heldBack(s *Store, owner memory.Owner, calls ...func() error) []error {
	holding, free := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		_ = s.write(context.Background(), owner, func(*tx) error {
			close(holding)
			<-free
			return nil
		})
	})
	<-holding
	p := s.committer.(*server)
	waiting := func() int {
		p.waitingMu.Lock()
		defer p.waitingMu.Unlock()
		return len(p.waitingCalls[owner])
	}
	outcomes := make([]error, len(calls))
	for i, call := range calls {
		group.Go(func() { outcomes[i] = call() })
		for waiting() <= i {
			runtime.Gosched() // the call is on its way
		}
	}
	close(free)
	group.Wait()
	return outcomes
}

// TestPostgresWaitingWritesShareACommit: unless one of them fails; then each has its own.
func TestPostgresWaitingWritesShareACommit(t *testing.T) {
	for _, refused := range []bool{false, true} {
		var commits atomic.Int64
		s := openServer(t, pgtest.Schema(t), Options{failpoint: func(point string) {
			if point == afterCommit {
				commits.Add(1)
			}
		}})
		var receipts [3]memory.Receipt
		add := func(i int, name string) func() error {
			return func() (err error) {
				receipts[i], err = s.Apply(t.Context(), memtest.Ana, memtest.Run(fmt.Sprint("run ", i)), memtest.Add(memtest.Fact(memtest.Ana, name)))
				return err
			}
		}
		second, want := "second", []int64{1, 2, 3}
		if refused { // since it is there already
			second, want = "first", []int64{1, 0, 2}
		}
		errs := heldBack(s, memtest.Ana, add(0, "first"), add(1, second), add(2, "third"))
		if errs[0] != nil || errors.Is(errs[1], memory.Conflict) != refused || errs[2] != nil {
			t.Errorf("one refused %v: got %v", refused, errs)
		}
		got := []int64{receipts[0].Version, receipts[1].Version, receipts[2].Version}
		if n := commits.Load(); !slices.Equal(got, want) || (n == 2) == refused { // one of them held the others back
			t.Errorf("one refused %v: got versions %v, want %v, in %d commits", refused, got, want, n)
		}
	}
}

func TestPostgresReplicasHearOfJobs(t *testing.T) {
	address := pgtest.Schema(t)
	one, other := openServer(t, address, Options{}), openServer(t, address, Options{})
	heard, listening := make(chan struct{}, 10), make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		other.Listen(ctx, func() { heard <- struct{}{} })
		close(listening)
	}()
	<-heard // it listens
	b := memtest.Batch(memtest.Ana, "c", 0, "hello")
	b.Jobs = []memory.Job{memtest.Job(memtest.Ana, memory.JobLearn, "job")}
	noError(t)(one.Append(t.Context(), memtest.Ana, b))
	<-heard // or the test takes for ever
	stop()
	<-listening
}

func TestTranslate(t *testing.T) {
	for query, want := range map[string]string{
		`owner = ?1 AND version > ?2 AND owner <> ?1`:                        `owner = $1 AND version > $2 AND owner <> $1`,
		`owner = ? AND +status = 'active' AND +f.status = 'x' AND n + 1 > ?`: `owner = $1 AND status = 'active' AND f.status = 'x' AND n + 1 > $2`,
		`turn IN (SELECT value FROM json_each(?)) AND x = ?`:                 `turn = ANY (($1)) AND x = $2`,
		`kind IN (SELECT value FROM json_each(?2))`:                          `kind = ANY (($2))`,
		`learned_at = 0 AND no_learn = 0`:                                    `learned_at = 0 AND NOT no_learn`,
		`id IN (?,?)`:                                                        `id IN ($1,$2)`,
	} {
		if got := translate(query); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", query, got, want)
		}
	}
}

// TestEscapedTextsKeepTheirOrder compares all short texts of the bytes in question.
func TestEscapedTextsKeepTheirOrder(t *testing.T) {
	texts := []string{""}
	for range 4 {
		for _, s := range slices.Clone(texts) {
			for _, c := range []string{"\x00", "\x01", "\x02", "a"} {
				texts = append(texts, s+c)
			}
		}
		slices.Sort(texts)
		texts = slices.Compact(texts)
	}
	for i, s := range texts {
		e := escape(s)
		if strings.Contains(e, "\x00") || unescape(e) != s {
			t.Errorf("%q: got %q and back %q", s, e, unescape(e))
		}
		if i > 0 && escape(texts[i-1]) >= e {
			t.Errorf("%q comes after %q, but %q not after %q", s, texts[i-1], e, escape(texts[i-1]))
		}
	}
}
