package sqlstore_test

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// filledFile makes a database with facts and returns its path.
func filledFile(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "loci.db")
	s := openFile(t, path)
	for i := range n {
		f := memtest.Fact(ana, fmt.Sprintf("f%03d", i))
		sqlstore.NoError(t)(s.Apply(t.Context(), ana, memory.Run{ID: f.ID}, memory.Change{Action: memory.ActionAdd, After: memory.State{Fact: &f}}))
	}
	sqlstore.NoError(t)(s.Close())
	return path
}

func TestEmptiedDatabaseIsRefused(t *testing.T) {
	for name, empty := range map[string]func(path string) error{
		"of zero bytes": func(path string) error { return os.Truncate(path, 0) },
		"gone":          os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			path := filledFile(t, 3)
			sqlstore.NoError(t)(empty(path))
			s, err := sqlstore.OpenSQLite(t.Context(), path, sqlstore.Options{})
			if err == nil {
				_ = s.Close()
			}
			if !errors.Is(err, memory.Unavailable) || !strings.Contains(err.Error(), "loci restore") {
				t.Fatalf("open: got %v, want a refusal that tells how to restore", err)
			}
			if info, err := os.Stat(path); err == nil && info.Size() > 0 {
				t.Errorf("a refused database has %d bytes", info.Size())
			}
			_, marker, _ := strings.Cut(err.Error(), "delete ")
			sqlstore.NoError(t)(os.Remove(marker))
			openFile(t, path)
		})
	}
}

func TestVaultMayRefillAnEmptiedDatabase(t *testing.T) {
	path := filledFile(t, 3)
	sqlstore.NoError(t)(os.Remove(path))
	s, err := sqlstore.OpenSQLite(t.Context(), path, sqlstore.Options{AllowEmpty: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestUnreadableRowStopsWrites(t *testing.T) {
	for column, value := range map[string]any{
		"tags": `["secret words`, "observed_at": int64(1) << 62, "metadata": "secret words", "confidence": math.Inf(1),
	} {
		t.Run(column, func(t *testing.T) {
			path := filledFile(t, 3)
			db := openSQL(t, path)
			sqlstore.NoError(t)(db.Exec(`UPDATE facts SET `+column+` = ? WHERE content = 'f001'`, value))
			sqlstore.NoError(t)(db.Close())
			var log bytes.Buffer
			s, err := sqlstore.OpenSQLite(t.Context(), path, sqlstore.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close() //nolint:errcheck // it was only read
			if _, err := s.List(t.Context(), ana, memory.Query{}); !errors.Is(err, memory.Unavailable) {
				t.Errorf("list: got %v, want %v", err, memory.Unavailable)
			}
			stopped(t, s)
			if text := log.String(); strings.Count(text, "damaged") != 1 || strings.Contains(text, "secret") {
				t.Errorf("want one line without the row's words, got %q", text)
			}
		})
	}
}

// stopped checks that a store says that it is damaged, and refuses writes.
func stopped(t *testing.T, s *sqlstore.Store) {
	t.Helper()
	if err := s.Ping(t.Context()); !errors.Is(err, memory.Unavailable) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("ping: got %v, want that the database is damaged", err)
	}
	if _, err := s.Append(t.Context(), ana, memtest.Batch(ana, "c", 0, "hello")); !errors.Is(err, memory.Unavailable) {
		t.Errorf("append: got %v, want %v", err, memory.Unavailable)
	}
	if _, err := s.Claim(t.Context(), []memory.JobKind{memory.JobLearn}, 1); !errors.Is(err, memory.NotFound) {
		t.Errorf("claim: got %v, want %v", err, memory.NotFound)
	}
}

// TestCheckFindsRowsThatAnIndexLost takes entries out of the index that lists are read by:
// a list is short, and no query fails.
func TestCheckFindsRowsThatAnIndexLost(t *testing.T) {
	path := filledFile(t, 40) // all on one page
	shorten(t, path, "facts_created")
	s := openFile(t, path)
	page, err := s.List(t.Context(), ana, memory.Query{Limit: 500})
	if err != nil || len(page.Memories) == 40 {
		t.Fatalf("list: got %d facts, %v; want a short list", len(page.Memories), err)
	}
	faults, err := s.Check(t.Context())
	if err != nil || len(faults) == 0 {
		t.Fatalf("check: got %q, %v; want faults", faults, err)
	}
	stopped(t, s)
}

func TestCheckFindsNothingInAWholeDatabase(t *testing.T) {
	s := openFile(t, filledFile(t, 100))
	if faults, err := s.Check(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("check: got %q, %v; want nothing", faults, err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// shorten halves the number of cells that the root page of an index says it has.
func shorten(t *testing.T, path, index string) {
	t.Helper()
	db := openSQL(t, path)
	var root, size int64
	if err := errors.Join(
		db.QueryRow(`SELECT rootpage FROM sqlite_schema WHERE name = ?`, index).Scan(&root),
		db.QueryRow(`PRAGMA page_size`).Scan(&size), db.Close()); err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // what failed shows in the test
	at, cells := (root-1)*size+3, make([]byte, 2)
	sqlstore.NoError(t)(f.ReadAt(cells, at))
	binary.BigEndian.PutUint16(cells, binary.BigEndian.Uint16(cells)/2)
	sqlstore.NoError(t)(f.WriteAt(cells, at))
}
