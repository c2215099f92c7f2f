package vault

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
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// copyVault copies a vault around SQLite into a folder, and the database beside it.
func copyVault(t *testing.T, s *Store, dir, database string) {
	t.Helper()
	var snapshot *sqlstore.Snapshot
	noError(t)(s.Copy(t.Context(), func() (err error) {
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
	}, func() error { return errors.Join(snapshot.CopyTo(t.Context(), database), snapshot.Close()) }))
}

// TestCopiedVaultIsOfOneMoment copies a vault while several write: no file of the copy looks
// as if a person had edited it, and what was acknowledged before is in it.
func TestCopiedVaultIsOfOneMoment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(t.Context(), filepath.Join(dir, "vault"), inSQLite(filepath.Join(dir, "loci.db")), Options{writeDelay: 1})
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
		c := try(Open(t.Context(), filepath.Join(to, "vault"), inSQLite(filepath.Join(to, "loci.db")), Options{writeDelay: 1})).orFail(t)
		if err := untouched(c); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		for i := range writers {
			if k := export(t, c, owner(i), memory.At{}); int(k.Version) < before[i] {
				t.Errorf("round %d, writer %d: version %d, want at least %d", round, i, k.Version, before[i])
			}
		}
		noError(t)(c.Close())
	}
}

// TestCopiedVaultLeavesOutWhatIsNotItsOwn: git's folder, links and what is of this process
// alone are left out; what a person keeps there is not.
func TestCopiedVaultLeavesOutWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(t.Context(), filepath.Join(dir, "vault"), inSQLite(filepath.Join(dir, "loci.db")), Options{writeDelay: 1})
	s = opened(t, s, err)
	noError(t)(s.Apply(t.Context(), memtest.Ana, memtest.Run("add"), memtest.Add(memtest.Fact(memtest.Ana, "Ana plays chess"))))
	for name, text := range map[string]string{".git/config": "x", ".obsidian/app.json": "{}", "picture.png": "p", "entries/.3.tmp": "half", "entries/.mine.tmp": "whole", ".loci/git-until": "x"} {
		noError(t)(os.MkdirAll(filepath.Join(s.Dir(), filepath.Dir(name)), 0o700))
		noError(t)(os.WriteFile(filepath.Join(s.Dir(), name), []byte(text), 0o600))
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(s.Dir(), "link.md")); err != nil {
		t.Skip(err)
	}
	noError(t)(s.Flush(t.Context()))
	got := map[string]bool{}
	noError(t)(s.Copy(t.Context(), func() error { return nil }, func(name string, from io.Reader) error {
		got[name] = true
		_, err := io.ReadAll(from)
		return err
	}, func() error { return nil }))
	facts := 0
	for name := range got {
		if strings.Contains(name, "/facts/") {
			facts++
			delete(got, name)
		}
	}
	want := map[string]bool{".obsidian/app.json": true, "picture.png": true, "entries/.mine.tmp": true, ".loci/files.db": true}
	if diff := cmp.Diff(want, got); diff != "" || facts != 1 {
		t.Errorf("%d files of facts, and (-want +got)\n%s", facts, diff)
	}
}

// slowEraser is a store within whose file is held while it erases traces.
type slowEraser struct {
	memory.Store
	file         sync.Mutex
	begun, going chan struct{}
}

func (s *slowEraser) Erase(context.Context, memory.Owner, memory.Run, ...string) (memory.Receipt, error) {
	return memory.Receipt{}, nil
}

func (s *slowEraser) EraseTraces(context.Context, memory.Owner) (int, error) {
	s.file.Lock()
	defer s.file.Unlock()
	close(s.begun)
	<-s.going
	return 0, nil
}

func (s *slowEraser) EraseTracesOf(ctx context.Context, _ string, _ ...string) (int, error) {
	return s.EraseTraces(ctx, "")
}

// TestCopyThatWaitsForAnErasureStopsNobody: while traces are erased, which takes the store
// within its time, a copy begins, and others write.
func TestCopyThatWaitsForAnErasureStopsNobody(t *testing.T) {
	t.Parallel()
	for name, erase := range map[string]func(*Store) error{
		"of an owner":    func(s *Store) error { _, err := s.EraseTraces(t.Context(), memtest.Ana); return err },
		"that show this": func(s *Store) error { _, err := s.EraseTracesOf(t.Context(), "default", "f"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			within := &slowEraser{begun: make(chan struct{}), going: make(chan struct{})}
			s, err := Open(t.Context(), filepath.Join(t.TempDir(), "vault"), func(now func() time.Time) (memory.Store, error) {
				var err error
				within.Store, err = inMemory(now)
				return within, err
			}, Options{writeDelay: 1})
			s = opened(t, s, err)
			var beside sync.WaitGroup
			defer beside.Wait()
			beside.Go(func() {
				if err := erase(s); err != nil {
					t.Error(err)
				}
			})
			<-within.begun
			beside.Go(func() {
				err := s.Copy(t.Context(), func() error { within.file.Lock(); defer within.file.Unlock(); return nil },
					func(string, io.Reader) error { return nil }, func() error { return nil })
				if err != nil {
					t.Error(err)
				}
			})
			told := make(chan error, 1)
			go func() {
				var err error
				for i := 0; i < 200 && err == nil; i++ {
					_, err = s.Apply(t.Context(), memtest.Ben, memtest.Run(fmt.Sprint("add ", i)), memtest.Add(memtest.Fact(memtest.Ben, fmt.Sprint("Ben has lamp ", i))))
				}
				told <- err
			}()
			select {
			case err := <-told:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(20 * time.Second):
				t.Error("nobody can write while a copy waits for an erasure")
			}
			close(within.going)
		})
	}
}
