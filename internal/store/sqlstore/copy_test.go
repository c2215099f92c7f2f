package sqlstore

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
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
	"github.com/loci-memory/loci/memory/storetest"
)

func unseen(Copying) {}

// TestCopyIsTheSameStore moves a store to the other database each time that it is opened
// again: from a file to a server, and from there to another file.
func TestCopyIsTheSameStore(t *testing.T) {
	server := pgtest.Schema(t)
	files := t.TempDir()
	at := []string{sqlitePrefix + filepath.Join(files, "a.db"), server, sqlitePrefix + filepath.Join(files, "b.db")}
	opened := 0
	storetest.RunReopen(t, func(_ string, now func() time.Time) (memory.Store, error) {
		if opened > 0 {
			if _, err := Copy(context.Background(), at[opened-1], at[opened], unseen); err != nil {
				return nil, err
			}
		}
		opened++
		return openAddress(at[opened-1], now)
	})
	if opened != len(at) {
		t.Errorf("got opened %d times, want %d", opened, len(at))
	}
}

func openAddress(address string, now func() time.Time) (memory.Store, error) {
	open := OpenPostgres
	path, isFile := strings.CutPrefix(address, sqlitePrefix)
	if isFile {
		open = OpenSQLite
	}
	s, err := open(context.Background(), path, Options{Now: now})
	if err != nil {
		return nil, err // as an interface, a nil store would be one
	}
	return s, nil
}

// TestCopyKeepsWhatWasForgottenAndSpent looks for what no dump of a store has.
func TestCopyKeepsWhatWasForgottenAndSpent(t *testing.T) {
	file, server := sqlitePrefix+filepath.Join(t.TempDir(), "a.db"), pgtest.Schema(t)
	from, err := openAddress(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	gone := memory.Turn{ID: "t", Role: memory.RoleUser, Content: "I'd rather\x00 not\x01 say"}
	if err := errors.Join(from.(*Store).Bury(t.Context(), memtest.Ana, gone),
		from.Spend(t.Context(), memtest.Ben, memory.Usage{Day: memtest.Epoch, Purpose: "learn", Model: "m", Calls: 3, Cost: 0.1}),
		from.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Copy(t.Context(), file, server, unseen); err != nil {
		t.Fatal(err)
	}
	to := openServer(t, server, Options{})
	if buried, err := to.Buried(t.Context(), memtest.Ana, gone); err != nil || !buried[0] {
		t.Errorf("got %v, %v; want it known as buried", buried, err)
	}
	if spent, err := to.Spent(t.Context(), memtest.Ben, time.Time{}); err != nil || len(spent) != 1 || spent[0].Calls != 3 || spent[0].Cost != 0.1 {
		t.Errorf("got %+v, %v; want what was spent", spent, err)
	}
}

// fill writes rows of made-up values into every table of a file: of each owner some,
// with texts that are hard to keep.
func fill(t *testing.T, path string, owners, rows int) {
	t.Helper()
	s, err := OpenSQLite(t.Context(), path, Options{})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 1))
	hard := []string{"\x00", "\x01", "\x01\x01", "é", "日本", "a\"b'c", "\n", "{}", `\u0000`, "\U0010ffff"}
	db := openFileBySQL(t, path)
	all, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		columns, types := columnsOf(t, db, table.name)
		for o := range owners {
			n := rows
			if table.name == "owners" || table.name == "secrets" {
				n = 1
			}
			for i := range n {
				values := make([]any, len(columns))
				for c, name := range columns {
					text := fmt.Sprint(hard[random.IntN(len(hard))], name, i, hard[random.IntN(len(hard))])
					switch {
					case name == "owner":
						values[c] = fmt.Sprintf("owner%s%03d", hard[o%len(hard)], o)
					case name == "pinned" || name == "core_never" || name == "no_learn" || name == "history":
						values[c] = i % 2
					case strings.HasPrefix(name, "quote_") && i%2 == 0:
						values[c] = nil
					case types[c] == "INTEGER":
						values[c] = random.Int64()>>random.IntN(62) + int64(i)
					case types[c] == "REAL":
						values[c] = random.NormFloat64()
					case types[c] == "BLOB":
						values[c] = []byte(text)
					default:
						values[c] = text
					}
				}
				statement := `INSERT INTO ` + table.name + ` (` + quoted(columns) + `) VALUES (?` + strings.Repeat(", ?", len(columns)-1) + `)`
				if _, err := all.Exec(statement, values...); err != nil {
					t.Fatalf("fill %s: %v", table.name, err)
				}
			}
		}
	}
	if err := errors.Join(all.Commit(), db.Close()); err != nil {
		t.Fatal(err)
	}
}

func openFileBySQL(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path, ""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func columnsOf(t *testing.T, db *sql.DB, table string) (names, types []string) {
	t.Helper()
	rows, err := db.Query(`SELECT * FROM ` + table + ` WHERE false`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range columns {
		names, types = append(names, c.Name()), append(types, c.DatabaseTypeName())
	}
	return names, types
}

// dumped is every row of a file, by table.
func dumped(t *testing.T, path string) map[string][]string {
	t.Helper()
	db := openFileBySQL(t, path)
	out := map[string][]string{}
	for _, table := range tables {
		columns, _ := columnsOf(t, db, table.name)
		rows, err := db.Query(`SELECT ` + quoted(columns) + ` FROM ` + table.name)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values, into := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			out[table.name] = append(out[table.name], fmt.Sprintf("%q", values))
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
		slices.Sort(out[table.name])
	}
	return out
}

// TestCopyBringsEveryColumnThereAndBack fills every table, so that one that is left out,
// or a column that is, shows.
func TestCopyBringsEveryColumnThereAndBack(t *testing.T) {
	dir, server := t.TempDir(), pgtest.Schema(t)
	a, b := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")
	fill(t, a, 23, 7)
	said := 0
	there, err := Copy(t.Context(), sqlitePrefix+a, server, func(c Copying) {
		if said++; c.Rows > c.Of || c.Of == 0 {
			t.Errorf("got %+v", c)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	back, err := Copy(t.Context(), server, sqlitePrefix+b, unseen)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(dumped(t, a), dumped(t, b)); diff != "" {
		t.Errorf("what came back (-went +came):\n%s", diff)
	}
	if diff := cmp.Diff(there, back); diff != "" || there.Owners != 23 || there.Rows != 23*(7*int64(len(tables)-2)+2) || there.Tables["jobs"] != 23*7 || said == 0 {
		t.Errorf("got %+v, there and back differ: %s", there, diff)
	}
}

// TestCopyKnowsEveryTable compares the list of tables with both schemas.
func TestCopyKnowsEveryTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	fill(t, path, 0, 0)
	server := pgtest.Schema(t)
	openServer(t, server, Options{})
	for _, c := range []struct {
		db      *sql.DB
		listing string
	}{
		{openFileBySQL(t, path), `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%'`},
		{pgtest.Open(t, server), `SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT IN ('goose_db_version', 'commits')`}, // they matter for seconds
	} {
		rows, err := c.db.Query(c.listing)
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				t.Fatal(err)
			}
			got = append(got, name)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
		for _, table := range tables {
			want = append(want, table.name)
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tables (-copied +there):\n%s", diff)
		}
	}
}

// The child of TestCopyGoesOnAfterAKill kills itself at this point.
const killCopyAt = "LOCI_TEST_KILL_COPY_AT"

// TestCopyGoesOnAfterAKill kills copies before and after each of their commits, and lets
// the next go on.
func TestCopyGoesOnAfterAKill(t *testing.T) {
	if args := strings.Split(os.Getenv(killCopyAt), " "); len(args) == 3 {
		at, _ := strconv.Atoi(args[0])
		c := copier{report: unseen, batch: 300, point: func() {
			if at--; at == 0 {
				self, _ := os.FindProcess(os.Getpid())
				_ = self.Kill()
				select {}
			}
		}}
		if _, err := c.run(t.Context(), args[1], args[2]); err != nil {
			t.Fatal(err)
		}
		return
	}
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")
	fill(t, a, 9, 7) // two owners fit into a batch
	server := pgtest.Schema(t)
	for _, way := range [][2]string{{sqlitePrefix + a, server}, {server, sqlitePrefix + b}} {
		kills := 0
		for at := 1; ; at = at%3 + 1 { // so that some go on from where they began
			child := exec.Command(os.Args[0], "-test.run=^TestCopyGoesOnAfterAKill$") //nolint:gosec // these tests
			child.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), fmt.Sprintf("%s=%d %s %s", killCopyAt, at, way[0], way[1]))
			said, err := child.CombinedOutput()
			if err == nil {
				break
			}
			if strings.Contains(string(said), "FAIL") {
				t.Fatalf("copy: %v: %s", err, said)
			}
			if kills++; kills > 40 {
				t.Fatal("it never comes to its end")
			}
			s, err := openAddress(way[1], nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.(*Store).Whole(t.Context()); !errors.Is(err, memory.Unavailable) {
				t.Errorf("after kill %d: got %v, want that it is not whole", kills, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if kills < 4 {
			t.Errorf("%s was killed %d times: there is little to see here", way, kills)
		}
		s, err := openAddress(way[1], nil)
		if err == nil {
			err = errors.Join(s.(*Store).Whole(t.Context()), s.Close())
		}
		if err != nil {
			t.Errorf("in the end: %v", err)
		}
	}
	if diff := cmp.Diff(dumped(t, a), dumped(t, b)); diff != "" {
		t.Errorf("what came back (-went +came):\n%s", diff)
	}
}

// TestCopyTakesWhatTheSourceChangedSince breaks a copy off, changes an owner that it had
// brought, and goes on.
func TestCopyTakesWhatTheSourceChangedSince(t *testing.T) {
	dir := t.TempDir()
	a, b, server := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db"), pgtest.Schema(t)
	fill(t, a, 6, 4)
	ctx, stop := context.WithCancel(t.Context())
	points := 0
	broken := copier{report: unseen, batch: 100, point: func() {
		if points++; points == 4 {
			stop()
		}
	}}
	if _, err := broken.run(ctx, sqlitePrefix+a, server); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want it broken off", err)
	}
	db := openFileBySQL(t, a)
	if _, err := db.Exec(`UPDATE jobs SET error = 'changed'; DELETE FROM traces WHERE owner = (SELECT MIN(owner) FROM owners)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	done, err := Copy(t.Context(), sqlitePrefix+a, server, unseen)
	if err != nil || done.Before == 0 {
		t.Fatalf("got %+v, %v; want some rows from before", done, err)
	}
	if _, err := Copy(t.Context(), server, sqlitePrefix+b, unseen); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(dumped(t, a), dumped(t, b)); diff != "" {
		t.Errorf("what came back (-went +came):\n%s", diff)
	}
}

func TestCopyRefuses(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	fill(t, path("a"), 3, 2)
	fill(t, path("b"), 1, 1)
	c := copier{report: unseen, batch: 1, point: func() { panic("broken off") }}
	func() {
		defer func() { _ = recover() }()
		_, err := c.run(t.Context(), sqlitePrefix+path("a"), sqlitePrefix+path("half"))
		t.Errorf("got %v, want it broken off", err)
	}()
	held, err := OpenSQLite(t.Context(), path("held"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = held.Close() })
	for _, one := range []struct {
		from, to string
		is       memory.Code
		says     string
	}{
		{sqlitePrefix + path("a"), sqlitePrefix + path("b"), memory.Conflict, "has memory already"},
		{sqlitePrefix + path("b"), sqlitePrefix + path("half"), memory.Conflict, "half of a copy of another"},
		{sqlitePrefix + path("none"), sqlitePrefix + path("x"), memory.NotFound, "no database"},
		{sqlitePrefix + path("held"), sqlitePrefix + path("x"), memory.Conflict, "has it open"},
		{sqlitePrefix + path("a"), sqlitePrefix + path("a"), memory.Conflict, "has it open"},
		{"mysql://u:hunter2@h/d", sqlitePrefix + path("x"), memory.Invalid, "not an address"},
		{sqlitePrefix + path("a"), "postgres://u:hunter2@127.0.0.1:1/d?connect_timeout=1", memory.Unavailable, "127.0.0.1"},
		{sqlitePrefix + path("a"), "postgres://u:hunter2@h:x/d", memory.Invalid, "not an address"},
	} {
		_, err := Copy(t.Context(), one.from, one.to, unseen)
		if !errors.Is(err, one.is) || !strings.Contains(err.Error(), one.says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("from %s to %s: got %v, want %v with %q", one.from, one.to, err, one.is, one.says)
		}
	}
	if _, err := os.Stat(path("none")); err == nil {
		t.Error("a source that was not there is there now")
	}
}

// TestCopyKeepsWritersOff tries to write to a server while it is copied.
func TestCopyKeepsWritersOff(t *testing.T) {
	server := pgtest.Schema(t)
	s := openServer(t, server, Options{})
	if _, err := writeOne(t.Context(), s, memtest.Ana, "before", true); err != nil {
		t.Fatal(err)
	}
	from, err := openSide(t.Context(), server, true)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	if _, err := writeOne(ctx, s, memtest.Ana, "meanwhile", true); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want it to wait", err)
	}
	if err := from.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := writeOne(t.Context(), s, memtest.Ana, "after", true); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
