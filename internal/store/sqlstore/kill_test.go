package sqlstore

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
	"github.com/loci-memory/loci/memory/storetest"
)

// TestCrash kills the store at random, and at the points around its commits.
func TestCrash(t *testing.T) {
	storetest.RunCrash(t, storetest.CrashConfig{
		Open: func(path string, now func() time.Time, point func()) (memory.Store, error) {
			s, err := OpenSQLite(context.Background(), path, Options{Now: now, failpoint: func(string) { point() }})
			if err != nil {
				return nil, err
			}
			return s, nil
		},
	})
}

// What a child opens, at which commit or point it dies, and what it erases.
const (
	childPath   = "LOCI_TEST_CHILD_PATH"
	childCommit = "LOCI_TEST_CHILD_COMMIT"
	childIDs    = "LOCI_TEST_CHILD_IDS"
)

func TestKilledWhileMigratingStartsAgain(t *testing.T) {
	if path := os.Getenv(childPath); path != "" {
		dieAtCommit(t, path, os.Getenv(childCommit))
	}
	for commit := 1; ; commit++ {
		path := filepath.Join(t.TempDir(), "loci.db")
		child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		child.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), childPath+"="+path, childCommit+"="+strconv.Itoa(commit))
		out, err := child.CombinedOutput()
		lived := child.ProcessState != nil && child.ProcessState.Exited()
		if lived && err != nil {
			t.Fatalf("child to die at commit %d: %v\n%s", commit, err, out)
		}
		checkWorks(t, path)
		if lived {
			if commit < 3 {
				t.Errorf("commits while opening a new database: got %d, want the migration's among them", commit-1)
			}
			return
		}
	}
}

// TestKilledWhileErasedWordsAreTakenOutOfTheFile kills the program at each point of an erasure.
// At the next start the words are gone, and nothing else is.
func TestKilledWhileErasedWordsAreTakenOutOfTheFile(t *testing.T) {
	if path := os.Getenv(childPath); path != "" {
		dieAtPoint(t, path, os.Getenv(childCommit))
	}
	from := filepath.Join(t.TempDir(), "loci.db")
	s := try(OpenSQLite(t.Context(), from, Options{})).orFail(t)
	ids := marzipan(t, s)
	noError(t)(s.Close())
	file := try(os.ReadFile(from)).orFail(t)
	want := ""
	for _, point := range []string{afterCommit, betweenGroups, beforeVacuum, afterVacuum, afterLogEmptied, "none"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "loci.db")
		noError(t)(os.WriteFile(path, file, 0o600))
		child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		child.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), childPath+"="+path, childCommit+"="+point, childIDs+"="+strings.Join(ids, " "))
		out, err := child.CombinedOutput()
		lived := child.ProcessState != nil && child.ProcessState.Exited()
		if lived != (point == "none") || lived && err != nil {
			t.Fatalf("child to die at %s: %v\n%s", point, err, out)
		}
		if !lived && len(holders(t, dir, "marzipan")) == 0 && point != afterLogEmptied {
			t.Errorf("after a kill %s no file has the word: there is nothing to see here", point)
		}
		if s, err = OpenSQLite(t.Context(), path, Options{}); err != nil {
			t.Fatal(err)
		}
		if got := holders(t, dir, "marzipan"); len(got) > 0 {
			t.Errorf("after a kill %s the word is still in %q", point, got)
		}
		noError(t)(s.Close())
		got := everyRow(t, path)
		if want == "" {
			want = got
		}
		if got != want || !strings.HasSuffix(got, "ok\n") {
			t.Errorf("after a kill %s there are other rows", point)
		}
	}
}

// everyRow is what a store has of what was said and learned, and what SQLite finds wrong.
func everyRow(t *testing.T, path string) string {
	t.Helper()
	db := try(sql.Open("sqlite", dsn(path, ""))).orFail(t)
	defer db.Close()
	var all strings.Builder
	for _, query := range []string{
		`SELECT id || status || content FROM facts ORDER BY owner, id`,
		`SELECT id || role || content FROM turns ORDER BY owner, id`,
		`SELECT owner || id || data FROM traces ORDER BY owner, id`,
		`SELECT owner || version || ordinal || target || before FROM journal ORDER BY owner, version, ordinal`,
		`SELECT memory || hex(data) FROM vectors ORDER BY owner, memory`,
		`PRAGMA integrity_check`,
	} {
		rows := try(db.Query(query)).orFail(t)
		for rows.Next() {
			var row sql.NullString
			noError(t)(rows.Scan(&row))
			all.WriteString(row.String + "\n")
		}
		noError(t)(rows.Err())
	}
	return all.String()
}

// dieAtPoint erases what it is told, and kills the process at a point of that, or ends it well.
func dieAtPoint(t *testing.T, path, at string) {
	s := try(OpenSQLite(t.Context(), path, Options{failpoint: func(point string) {
		if point == at {
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			select {} // until it is done
		}
	}})).orFail(t)
	noError(t)(s.Erase(context.Background(), memtest.Ana, memtest.Run("erase"), strings.Fields(os.Getenv(childIDs))...))
	noError(t)(s.Close())
	os.Exit(0)
}

// dieAtCommit opens a new store and kills the process just before the nth commit,
// or ends it well if there are fewer.
func dieAtCommit(t *testing.T, path, nth string) {
	n := try(strconv.ParseInt(nth, 10, 64)).orFail(t)
	var commits atomic.Int64
	sqlite.RegisterConnectionHook(func(c sqlite.ExecQuerierContext, _ string) error {
		c.(sqlite.HookRegisterer).RegisterCommitHook(func() int32 {
			if commits.Add(1) == n {
				self, _ := os.FindProcess(os.Getpid())
				_ = self.Kill()
				select {} // until it is done
			}
			return 0
		})
		return nil
	})
	noError(t)(OpenSQLite(context.Background(), path, Options{}))
	os.Exit(0)
}

// checkWorks opens the store, writes, closes it, and finds everything again.
func checkWorks(t *testing.T, path string) {
	t.Helper()
	f := memtest.Fact(memtest.Ana, "Ana drinks tea")
	for range 2 {
		s := try(OpenSQLite(t.Context(), path, Options{})).orFail(t)
		if _, err := s.Apply(t.Context(), memtest.Ana, memtest.Run("tea"), memtest.Add(f)); err != nil {
			t.Error(err)
		}
		if found, err := s.Get(t.Context(), memtest.Ana, f.ID); err != nil || len(found) != 1 {
			t.Errorf("what was added: got %v, %v", found, err)
		}
		noError(t)(s.Close())
	}
}
