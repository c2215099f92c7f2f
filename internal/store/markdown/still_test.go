package markdown

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// copyVault copies a vault around SQLite into a folder, and the database beside it.
func copyVault(t *testing.T, s *Store, dir, database string) {
	t.Helper()
	var snapshot *sqlstore.Snapshot
	err := s.Copy(t.Context(), func() (err error) {
		snapshot, err = s.Store.(*sqlstore.Store).Snapshot(t.Context())
		return err
	}, func(name string, from io.Reader) error {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		f, err := os.Create(to)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, from)
		return errors.Join(err, f.Close())
	}, func() error { return errors.Join(snapshot.CopyTo(t.Context(), database), snapshot.Close()) })
	if err != nil {
		t.Fatal(err)
	}
}

// TestCopiedVaultIsOfOneMoment copies a vault while several write: no file of the copy looks
// as if a person had edited it, its database is what its journal makes anew, and what was
// acknowledged before is in it.
func TestCopiedVaultIsOfOneMoment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(t.Context(), filepath.Join(dir, "vault"), inSQLite(filepath.Join(dir, "loci.db")), Options{lull: 1})
	s = opened(t, s, err)
	const writers = 3
	owner := func(i int) memory.Owner { return memory.User(memory.DefaultNamespace, fmt.Sprint("writer ", i)) }
	ctx, stop := context.WithCancel(t.Context())
	var told [writers]int
	var mu sync.Mutex
	var writing sync.WaitGroup
	for i := range writers {
		writing.Go(func() {
			fact := memtest.Fact(owner(i), "Number 0")
			for n := 1; ctx.Err() == nil; n++ {
				change := memtest.Add(fact)
				if n > 1 { // the file is written over
					fact.Content = fmt.Sprint("Number ", n)
					fact.Hash = memtest.Hash(fact.Content)
					change = memtest.Change(memory.ActionUpdate, fact)
				}
				if _, err := s.Apply(context.Background(), owner(i), memtest.Run(fmt.Sprint(i, " ", n)), change); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				told[i] = n
				mu.Unlock()
			}
		})
	}
	defer writing.Wait()
	defer stop()
	for round := range 4 {
		mu.Lock()
		before := told
		mu.Unlock()
		to := t.TempDir()
		copyVault(t, s, filepath.Join(to, "vault"), filepath.Join(to, "loci.db"))
		var have [2]map[memory.Owner]known
		for n, within := range []Within{inSQLite(filepath.Join(to, "loci.db")), inMemory} {
			c, err := Open(t.Context(), filepath.Join(to, "vault"), within, Options{lull: 1})
			if err != nil {
				t.Fatal(err)
			}
			if err := untouched(c); err != nil {
				t.Errorf("round %d: %v", round, err)
			}
			have[n] = map[memory.Owner]known{}
			for i := range writers {
				k := export(t, c, owner(i), memory.At{})
				have[n][owner(i)] = k
				if int(k.Version) < before[i] {
					t.Errorf("round %d, writer %d: version %d, want at least %d", round, i, k.Version, before[i])
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff(have[0], have[1]); diff != "" {
			t.Errorf("round %d: the database is not what the journal says:\n%s", round, diff)
		}
	}
}

// TestCopiedVaultLeavesOutWhatIsNotItsOwn: git's folder, links and what is of this process
// alone are left out; what a person keeps there is not.
func TestCopiedVaultLeavesOutWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(t.Context(), filepath.Join(dir, "vault"), inSQLite(filepath.Join(dir, "loci.db")), Options{lull: 1})
	s = opened(t, s, err)
	if _, err := s.Apply(t.Context(), memtest.Ana, memtest.Run("add"), memtest.Add(memtest.Fact(memtest.Ana, "Ana plays chess"))); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{".git/config": "x", ".obsidian/app.json": "{}", "picture.png": "p", "entries/.3.tmp": "half", ".loci/git-until": "x"} {
		if err := os.MkdirAll(filepath.Join(s.Dir(), filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.Dir(), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(s.Dir(), "link.md")); err != nil {
		t.Skip(err)
	}
	if err := s.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	err = s.Copy(t.Context(), func() error { return nil }, func(name string, from io.Reader) error {
		got[name] = true
		_, err := io.ReadAll(from)
		return err
	}, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	facts := 0
	for name := range got {
		if strings.Contains(name, "/facts/") {
			facts++
			delete(got, name)
		}
	}
	want := map[string]bool{".obsidian/app.json": true, "picture.png": true, ".loci/journal.jsonl": true, ".loci/memory_index.json": true}
	if diff := cmp.Diff(want, got); diff != "" || facts != 1 {
		t.Errorf("%d files of facts, and (-want +got)\n%s", facts, diff)
	}
}
