package backup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
	"github.com/loci-memory/loci/memory/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func unseen(MigrateProgress) {}

// TestMigratedStoreIsTheSame moves a store to the other database each time that it is opened
// again: from a file to a server, and from there to another file.
func TestMigratedStoreIsTheSame(t *testing.T) {
	files := t.TempDir()
	at := []string{sqlitePrefix + filepath.Join(files, "a.db"), pgtest.Schema(t), sqlitePrefix + filepath.Join(files, "b.db")}
	opened := 0
	storetest.RunReopen(t, func(_ string, now func() time.Time) (memory.Store, error) {
		if opened > 0 {
			if _, err := Migrate(context.Background(), at[opened-1], at[opened], unseen); err != nil {
				return nil, err
			}
		}
		opened++
		if path, isFile := strings.CutPrefix(at[opened-1], sqlitePrefix); isFile {
			return asMigrator(sqlstore.OpenSQLite(context.Background(), path, sqlstore.Options{Now: now}))
		}
		return asMigrator(sqlstore.OpenPostgres(context.Background(), at[opened-1], sqlstore.Options{Now: now}))
	})
	if opened != len(at) {
		t.Errorf("got opened %d times, want %d", opened, len(at))
	}
}

// furnished writes into a file something of every kind, in every state that a copy could miss,
// of so many users.
func furnished(t *testing.T, path string, users int) {
	t.Helper()
	s, err := sqlstore.OpenSQLite(t.Context(), path, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range users {
		furnish(t, s, memory.User("default", fmt.Sprintf("user%d", i)))
	}
	global := memory.Global("default")
	now := memory.Time(time.Now())
	must(t, s.AddKey(t.Context(), "default", memory.Key{Hash: "00ff", Name: "k", Role: memory.KeyAdmin, CreatedAt: now}))
	must(t, s.AddSession(t.Context(), "default", memory.Session{Hash: "0aa0", User: "ana", CreatedAt: now, ExpiresAt: now.Add(time.Hour)}))
	must(t, s.AddAuditEntries(t.Context(), "default", memory.AuditEntry{ID: "n", At: now, Act: "sign in", By: "ana", User: "ana"}))
	must(t, s.AddUsage(t.Context(), global, memory.Usage{Day: now, Purpose: "learn", Model: "m", Calls: 1}))
	must(t, s.Close())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func furnish(t *testing.T, s *sqlstore.Store, owner memory.Owner) {
	t.Helper()
	ctx := t.Context()
	apply := func(id string, changes ...memory.Change) {
		t.Helper()
		run := memtest.Run(id)
		for _, c := range changes {
			if f := c.After.Fact; f != nil && f.Status == memory.Active {
				run.Vectors = append(run.Vectors, memtest.Vector(f.ID, f.Content))
			}
		}
		_, err := s.Apply(ctx, owner, run, changes...)
		must(t, err)
	}
	b := memtest.Batch(owner, "c", 0, "I drink tea", "Noted.", "and I live in Lisbon", "Good.")
	b.Conversation.Title, b.Conversation.Rules, b.Conversation.Contexts = "tea", "be brief", []string{"doc"}
	b.Turns[0].Name, b.Turns[0].Ref, b.Turns[1].NoLearn = "Ana", "r", true
	for _, kind := range []string{"done", "parked", "runs", "waits"} {
		b.Jobs = append(b.Jobs, memtest.Job(owner, memory.JobKind(kind), kind+string(owner)))
	}
	_, err := s.Append(ctx, owner, b)
	must(t, err)
	f := memtest.Fact(owner, "drinks tea \x00\x01 ü \U0010ffff")
	f.Tags, f.Metadata, f.Provenance.Turns = []string{"a", "b\x00"}, []byte(`{"x": 1.50}`), []string{b.Turns[0].ID}
	f.Provenance.Quote, f.Core = &memory.Span{Turn: b.Turns[0].ID, Start: 2, End: 5}, memory.CoreNever
	gone, old := memtest.Fact(owner, "is erased"), memtest.Fact(owner, "lives in Porto")
	old.Core = memory.CoreAlways
	apply("add", memtest.Add(f), memtest.Add(gone), memtest.Add(old), memtest.Change(memory.ActionAdd, memtest.Summary(owner, "c", "- tea")),
		memtest.Change(memory.ActionAdd, memtest.Profile(owner, "ci:ty", "Lisbon")), memtest.Change(memory.ActionAdd, memtest.Profile(owner, "left", "x")),
		memtest.Change(memory.ActionAdd, memtest.Context(owner, "doc", "words")), memtest.Change(memory.ActionAdd, memtest.Relation(owner, f.ID, old.ID, memory.SameSubject)),
		memtest.Change(memory.ActionAdd, memtest.Link(owner, memtest.Fact(memory.Pool("default", "p"), "is shared"))))
	was, err := s.Get(ctx, owner, old.ID)
	must(t, err)
	apply("replace", memory.Replace(*was[0].Fact, memtest.Fact(owner, "lives in Lisbon"), time.Now(), "newer", memory.Author{Kind: memory.ByRule, Name: "r"})...)
	apply("marks", memtest.TurnChange(memory.ActionRetire, b.Turns[2].ID, memory.Retired), memtest.TurnChange(memory.ActionRetire, b.Turns[1].ID, memory.Retired))
	apply("back", memtest.TurnChange(memory.ActionRestore, b.Turns[1].ID, memory.Active))
	_, err = s.Erase(ctx, owner, memtest.Run("erase"), gone.ID, b.Turns[3].ID, "left")
	must(t, err)
	other := memtest.Fact(memory.User("default", "other"), "is shown")
	must(t, s.SaveTraces(ctx, 10, memory.Trace{ID: "t", Owner: owner, At: time.Now(), Question: "tea?", Took: time.Second, Hits: []memory.TraceHit{
		{ID: other.ID, Kind: memory.KindFact, Content: other.Content, Owner: other.Scope.Owner, Score: 0.1, Why: memory.Why{{Name: "words", Value: 1.0 / 3}}},
	}}))
	must(t, s.AddUsage(ctx, owner, memory.Usage{Day: time.Now(), Purpose: "learn", Model: "m", Calls: 2, Cost: 0.1}))
	must(t, s.AddTombstones(ctx, owner, memory.Turn{ID: "elsewhere", Role: memory.RoleUser, Content: "unseen"}))
	for range 3 {
		j, err := s.Claim(ctx, []memory.JobKind{"done", "parked", "runs"}, time.Hour)
		must(t, err)
		switch j.Kind {
		case "done":
			must(t, s.Finish(ctx, j.Lease, memory.Outcome{Done: true}))
		case "parked":
			must(t, s.Finish(ctx, j.Lease, memory.Outcome{Park: true, Cause: "it is"}))
		}
	}
}

// dumped is every row of a file, by table.
func dumped(t *testing.T, path string) map[string][]string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	must(t, err)
	defer db.Close()
	names, err := db.Query(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%'`)
	must(t, err)
	out := map[string][]string{}
	for names.Next() {
		var name string
		must(t, names.Scan(&name))
		out[name] = nil
	}
	must(t, names.Close())
	for name := range out {
		rows, err := db.Query(`SELECT * FROM ` + name)
		must(t, err)
		columns, err := rows.Columns()
		must(t, err)
		for rows.Next() {
			values, into := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			must(t, rows.Scan(into...))
			out[name] = append(out[name], fmt.Sprintf("%q", values))
		}
		must(t, errors.Join(rows.Err(), rows.Close()))
		slices.Sort(out[name])
	}
	return out
}

func sameRows(t *testing.T, a, b string) {
	t.Helper()
	want := dumped(t, a)
	for table, rows := range want {
		if len(rows) == 0 {
			t.Errorf("%s has no rows: there is nothing to see here", table)
		}
	}
	if diff := cmp.Diff(want, dumped(t, b)); diff != "" {
		t.Errorf("what came back (-went +came):\n%s", diff)
	}
}

// TestMigrateBringsEveryColumnThereAndBack compares the rows of all tables.
func TestMigrateBringsEveryColumnThereAndBack(t *testing.T) {
	dir, server := t.TempDir(), pgtest.Schema(t)
	a, b := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")
	furnished(t, a, 5)
	reports := 0
	there, err := Migrate(t.Context(), sqlitePrefix+a, server, func(m MigrateProgress) {
		if reports++; m.CopiedUsers != reports || m.TotalUsers != 6 {
			t.Errorf("got %+v", m)
		}
	})
	must(t, err)
	back, err := Migrate(t.Context(), server, sqlitePrefix+b, unseen)
	must(t, err)
	sameRows(t, a, b)
	if diff := cmp.Diff(there, back); diff != "" || there.Owners != 6 || there.Tables["jobs"] != 5*4 || there.Tables["sign_ins"] != 1 || there.RowsBefore != 0 {
		t.Errorf("got %+v, there and back differ: %s", there, diff)
	}
}

// The child of TestMigrateGoesOnAfterAKill copies from and to these addresses.
const migrateInChild = "LOCI_TEST_MIGRATE"

// TestMigrateGoesOnAfterAKill kills copies at random moments, and lets the next go on.
func TestMigrateGoesOnAfterAKill(t *testing.T) {
	if ends := strings.Split(os.Getenv(migrateInChild), " "); len(ends) == 2 {
		_, err := Migrate(t.Context(), ends[0], ends[1], func(m MigrateProgress) { fmt.Println("users", m.CopiedUsers) })
		must(t, err)
		return
	}
	dir, server := t.TempDir(), pgtest.Schema(t)
	a, b := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")
	furnished(t, a, 12)
	for _, way := range [][2]string{{sqlitePrefix + a, server}, {server, sqlitePrefix + b}} {
		kills, halves := 0, 0
		for wait := 50 * time.Millisecond; ; wait = wait * 9 / 8 {
			ctx, stop := context.WithTimeout(t.Context(), wait+rand.N(wait))                         // its end is a kill
			child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestMigrateGoesOnAfterAKill$") //nolint:gosec // these tests
			child.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), migrateInChild+"="+way[0]+" "+way[1])
			out, err := child.CombinedOutput()
			stop()
			if err == nil {
				break
			}
			if strings.Contains(string(out), "FAIL") {
				t.Fatalf("copy: %v: %s", err, out)
			}
			kills++
			if !strings.Contains(string(out), "users ") {
				continue
			}
			halves++
			target, err := openMigrator(t.Context(), way[1], false)
			must(t, err)
			whole := CheckComplete(t.Context(), target)
			must(t, target.Close())
			if whole == nil && strings.Contains(string(out), "users 13") { // killed once it was done
				break
			}
			if !errors.Is(whole, memory.Unavailable) {
				t.Errorf("after kill %d: got %v, want that it is not whole", kills, whole)
			}
		}
		t.Logf("%d kills, %d of them of copies that had begun", kills, halves)
		target, err := openMigrator(t.Context(), way[1], false)
		must(t, err)
		must(t, errors.Join(CheckComplete(t.Context(), target), target.Close()))
	}
	sameRows(t, a, b)
}

// TestMigrateTakesWhatTheSourceChangedSince breaks a copy off, changes a user whom it had
// brought, and goes on.
func TestMigrateTakesWhatTheSourceChangedSince(t *testing.T) {
	dir, server := t.TempDir(), pgtest.Schema(t)
	a, b := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")
	furnished(t, a, 3)
	ctx, stop := context.WithCancel(t.Context())
	_, err := Migrate(ctx, sqlitePrefix+a, server, func(m MigrateProgress) {
		if m.CopiedUsers == 3 {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "to continue") {
		t.Fatalf("got %v, want it broken off", err)
	}
	s, err := sqlstore.OpenSQLite(t.Context(), a, sqlstore.Options{})
	must(t, err)
	must(t, s.SaveTraces(t.Context(), 10, memory.Trace{ID: "new", Owner: memory.User("default", "user0"), At: time.Now()}))
	must(t, s.AddUsage(t.Context(), memory.User("default", "user1"), memory.Usage{Day: time.Now(), Purpose: "learn", Model: "m", Calls: 1}))
	must(t, s.Close())
	done, err := Migrate(t.Context(), sqlitePrefix+a, server, unseen)
	if err != nil || done.RowsBefore == 0 || done.RowsBefore == done.Rows {
		t.Fatalf("got %+v, %v; want some rows from before", done, err)
	}
	_, err = Migrate(t.Context(), server, sqlitePrefix+b, unseen)
	must(t, err)
	sameRows(t, a, b)
}

// TestMigrateFindsWhoWritesMeanwhile writes to the server that is copied.
func TestMigrateFindsWhoWritesMeanwhile(t *testing.T) {
	server := pgtest.Schema(t)
	s, err := sqlstore.OpenPostgres(t.Context(), server, sqlstore.Options{})
	must(t, err)
	defer s.Close()
	write := func(owner memory.Owner) {
		t.Helper()
		_, err := s.Append(t.Context(), owner, memtest.Batch(owner, "c", 0, "Hello"))
		must(t, err)
	}
	write(memtest.Ana)
	to := sqlitePrefix + filepath.Join(t.TempDir(), "a.db")
	_, err = Migrate(t.Context(), server, to, func(MigrateProgress) { write(memtest.Ben) })
	if !errors.Is(err, memory.Conflict) || !strings.Contains(err.Error(), "stop all servers") {
		t.Errorf("got %v, want a conflict", err)
	}
	if done, err := Migrate(t.Context(), server, to, unseen); err != nil || done.Owners != 2 {
		t.Errorf("afterwards: got %+v, %v; want both users", done, err)
	}
}

func TestMigrateRefuses(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return sqlitePrefix + filepath.Join(dir, name) }
	furnished(t, filepath.Join(dir, "a"), 2)
	furnished(t, filepath.Join(dir, "b"), 1)
	ctx, stop := context.WithCancel(t.Context())
	if _, err := Migrate(ctx, at("a"), at("half"), func(MigrateProgress) { stop() }); err == nil {
		t.Fatal("it was not broken off")
	}
	held, err := sqlstore.OpenSQLite(t.Context(), filepath.Join(dir, "held"), sqlstore.Options{})
	must(t, err)
	t.Cleanup(func() { _ = held.Close() })
	for _, one := range []struct {
		from, to string
		is       memory.Code
		text     string
	}{
		{at("a"), at("b"), memory.Conflict, "contains memory already"},
		{at("b"), at("half"), memory.Conflict, "half of a copy of another"},
		{at("none"), at("x"), memory.NotFound, "no database"},
		{at("held"), at("x"), memory.Conflict, "has it open"},
		{at("a"), at("a"), memory.Conflict, "has it open"},
		{"mysql://u:hunter2@h/d", at("x"), memory.Invalid, "invalid address"},
		{at("a"), "postgres://u:hunter2@127.0.0.1:1/d?connect_timeout=1", memory.Unavailable, "127.0.0.1"},
		{at("a"), "postgres://u:hunter2@h:x/d", memory.Invalid, "invalid PostgreSQL address"},
	} {
		_, err := Migrate(t.Context(), one.from, one.to, unseen)
		if !errors.Is(err, one.is) || !strings.Contains(err.Error(), one.text) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("from %s to %s: got %v, want %v with %q", one.from, one.to, err, one.is, one.text)
		}
	}
	if exists(filepath.Join(dir, "none")) {
		t.Error("a source that was not there is there now")
	}
}
