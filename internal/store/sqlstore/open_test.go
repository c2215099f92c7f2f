package sqlstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func TestFilesAreForTheirOwnerAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows keeps no such modes")
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := openFile(t, filepath.Join(dir, "loci.db"))
	sqlstore.NoError(t)(s.Append(t.Context(), ana, memtest.Batch(ana, "c", 0, "hello")))
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o700 {
		t.Errorf("folder: got mode %v, want 0700", got)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 3 { // the database, its log, its lock
		t.Errorf("files while open: got %v", files)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("file %s: got mode %v, %v; want 0600", f.Name(), info.Mode().Perm(), err)
		}
	}
}

func TestSecondWriterIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loci.db")
	first := openFile(t, path)
	_, err := sqlstore.OpenSQLite(t.Context(), path, sqlstore.Options{})
	if !errors.Is(err, memory.Conflict) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("open what is open: got %v, want a conflict that names process %d", err, os.Getpid())
	}
	sqlstore.NoError(t)(first.Close())
	openFile(t, path)
}

func TestNewerSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loci.db")
	sqlstore.NoError(t)(openFile(t, path).Close())
	db := openSQL(t, path)
	sqlstore.NoError(t)(db.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (4711, 1)`))
	sqlstore.NoError(t)(db.Close())
	isRefusal(t, path, "4711")
}

func TestWhatIsNoDatabaseOfOursIsKept(t *testing.T) {
	ours := filepath.Join(t.TempDir(), "loci.db")
	sqlstore.NoError(t)(openFile(t, ours).Close())
	whole, err := os.ReadFile(ours)
	if err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	sqlstore.NoError(t)(openSQL(t, foreign).Exec(`CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('soup')`))
	others, err := os.ReadFile(foreign)
	if err != nil {
		t.Fatal(err)
	}
	torn := bytes.Clone(whole)
	copy(torn[100:], bytes.Repeat([]byte{0xff}, 4000)) // the page that lists the tables
	for name, content := range map[string][]byte{
		"text":       []byte(strings.Repeat("these are notes, not a database\n", 100)),
		"torn":       torn,
		"cut short":  whole[:len(whole)/2],
		"of another": others,
	} {
		path := filepath.Join(t.TempDir(), "loci.db")
		sqlstore.NoError(t)(os.WriteFile(path, content, 0o600))
		t.Run(name, func(t *testing.T) { isRefusal(t, path, "") })
	}
}

// isRefusal checks that the file cannot be opened, that the error names it and says
// so, and that the file stays as it is.
func isRefusal(t *testing.T, path, saying string) {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlstore.OpenSQLite(context.Background(), path, sqlstore.Options{})
	if err == nil {
		_ = s.Close()
		t.Fatal("open: got a store, want an error")
	}
	t.Log(err)
	if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), saying) {
		t.Errorf("open: got %v, want an error with %s and %q", err, path, saying)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was changed (%v)", err)
	}
}

func TestPathIsTakenAsItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a folder", "50%25?mode=memory#1.db")
	s := openFile(t, path)
	sqlstore.NoError(t)(s.Append(t.Context(), ana, memtest.Batch(ana, "c", 0, "hello")))
	sqlstore.NoError(t)(s.Close())
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		t.Errorf("the file that was named: got %v, %v", info, err)
	}
}

func TestClosedStoreSaysSo(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "loci.db"))
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("ping: %v", err)
	}
	for range 2 {
		sqlstore.NoError(t)(s.Close())
	}
	if _, err := s.Append(t.Context(), ana, memtest.Batch(ana, "c", 0, "hello")); !errors.Is(err, memory.Unavailable) {
		t.Errorf("append to a closed store: got %v, want %v", err, memory.Unavailable)
	}
	if _, err := s.List(t.Context(), ana, memory.Query{}); err == nil {
		t.Error("list of a closed store: got no error")
	}
	if err := s.Ping(t.Context()); err == nil {
		t.Error("ping of a closed store: got no error")
	}
}

func TestCloseLeavesOneFile(t *testing.T) {
	dir := t.TempDir()
	s := openFile(t, filepath.Join(dir, "loci.db"))
	sqlstore.NoError(t)(s.Append(t.Context(), ana, memtest.Batch(ana, "c", 0, "hello")))
	sqlstore.NoError(t)(s.Close())
	logs, err := filepath.Glob(filepath.Join(dir, "loci.db-*"))
	if err != nil || len(logs) > 0 {
		t.Errorf("after closing: got %q, %v; want everything in the main file", logs, err)
	}
}
