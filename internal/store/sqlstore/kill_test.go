package sqlstore

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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
	storetest.RunCrash(t, storetest.Crash{
		Open: func(path string, now func() time.Time, point func()) (memory.Store, error) {
			s, err := OpenSQLite(context.Background(), path, Options{Now: now, failpoint: func(string) { point() }})
			if err != nil {
				return nil, err
			}
			return s, nil
		},
	})
}

// What the child of [TestKilledWhileMigratingStartsAgain] opens, and at which
// commit it dies.
const (
	childPath   = "LOCI_TEST_CHILD_PATH"
	childCommit = "LOCI_TEST_CHILD_COMMIT"
)

func TestKilledWhileMigratingStartsAgain(t *testing.T) {
	if path := os.Getenv(childPath); path != "" {
		dieAtCommit(t, path, os.Getenv(childCommit))
	}
	for commit := 1; ; commit++ {
		path := filepath.Join(t.TempDir(), "loci.db")
		child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		child.Env = append(os.Environ(), childPath+"="+path, childCommit+"="+strconv.Itoa(commit))
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

// dieAtCommit opens a new store and kills the process just before the nth commit,
// or ends it well if there are fewer.
func dieAtCommit(t *testing.T, path, nth string) {
	n, err := strconv.ParseInt(nth, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
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
	if _, err := OpenSQLite(context.Background(), path, Options{}); err != nil {
		t.Fatal(err)
	}
	os.Exit(0)
}

// checkWorks opens the store, writes, closes it, and finds everything again.
func checkWorks(t *testing.T, path string) {
	t.Helper()
	f := memtest.Fact(memtest.Ana, "Ana drinks tea")
	for range 2 {
		s, err := OpenSQLite(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(t.Context(), memtest.Ana, memtest.Run("tea"), memtest.Add(f)); err != nil {
			t.Error(err)
		}
		if found, err := s.Get(t.Context(), memtest.Ana, f.ID); err != nil || len(found) != 1 {
			t.Errorf("what was added: got %v, %v", found, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
