package vault

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestMany prints how long a vault of $LOCI_VAULT_FILES files, a quarter of them facts,
// takes to be written, to start, to be scanned, and to be built anew from its journal
// and from its files.
func TestMany(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("LOCI_VAULT_FILES"))
	if err != nil {
		t.Skip("LOCI_VAULT_FILES is not set to a number of files")
	}
	dir := t.TempDir()
	var s *Store
	took := func(what string, do func()) {
		start := time.Now()
		do()
		t.Logf("%s: %v", what, time.Since(start).Round(time.Millisecond))
	}
	open := func(db string) func() {
		return func() {
			if s, err = Open(context.Background(), filepath.Join(dir, "vault"), inSQLite(filepath.Join(dir, db)), Options{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	shut := func() {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	open("a.db")()
	took("write", func() {
		for i := 0; i < n; i += 100 {
			b := memtest.Batch(memory.User("default", "default"), fmt.Sprint("c", i/100), 0)
			run := memtest.Run(fmt.Sprint("run ", i))
			var changes []memory.Change
			for j := range 100 {
				if j%4 == 0 {
					f := memtest.Fact(b.Conversation.Owner, fmt.Sprintf("learned %d in %d", j, i))
					changes = append(changes, memtest.Add(f))
					continue
				}
				u := memtest.Turn(b.Conversation.Owner, b.Conversation.ID, j, memory.RoleUser, fmt.Sprintf("said %d in %d", j, i))
				b.Turns = append(b.Turns, u)
			}
			if _, err := s.Append(t.Context(), b.Conversation.Owner, b); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Apply(t.Context(), b.Conversation.Owner, run, changes...); err != nil {
				t.Fatal(err)
			}
		}
	})
	took("until the files are there", func() {
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	took("close", shut)
	took("start", open("a.db"))
	took("scan", func() {
		if r, err := s.Scan(t.Context(), ScanOptions{}); err != nil || r.FileCount < n || len(r.Edits) > 0 {
			t.Errorf("%+v, %v", r, err)
		}
	})
	took("scan and one look more where 100 files are gone", func() {
		names, err := filepath.Glob(filepath.Join(dir, "vault", "entries", "c1*", "turns", "user", "*.md"))
		if err != nil || len(names) < 100 {
			t.Fatalf("%d files, %v", len(names), err)
		}
		for _, name := range names[:100] {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		r, err := s.Scan(t.Context(), ScanOptions{})
		if err != nil || len(r.Edits) != 100 {
			t.Fatalf("%d edits, %d held, %v", len(r.Edits), len(r.UnconfirmedDeletions), err)
		}
		if gone := s.StillMissing(r.Edits); len(gone) != 100 {
			t.Errorf("%d are gone", len(gone))
		}
	})
	shut()
	took("start without the database", open("b.db"))
	shut()
	if err := os.RemoveAll(filepath.Join(dir, "vault", OwnFolder)); err != nil {
		t.Fatal(err)
	}
	took("start from files alone", open("c.db"))
	took("until the files are known", func() {
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	shut()
}
