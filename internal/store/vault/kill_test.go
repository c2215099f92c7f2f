package vault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
	"github.com/loci-memory/loci/memory/storetest"
)

// TestCrashAroundSQLite kills vaults between commit and journal, and between files
// and their index.
func TestCrashAroundSQLite(t *testing.T) {
	t.Parallel()
	crash(t, func(path string) Within { return inSQLite(path + ".db") }, func(s *Store) memory.Store { return s })
}

// TestCrashAroundMemory kills vaults whose store within is gone with the process:
// the journal alone has what was acknowledged.
func TestCrashAroundMemory(t *testing.T) {
	t.Parallel()
	crash(t, func(string) Within { return inMemory }, func(s *Store) memory.Store { return derived{s} })
}

// TestCrashAmongFiles kills vaults at the points around their files alone.
func TestCrashAmongFiles(t *testing.T) {
	t.Parallel()
	crash(t, func(string) Within { return inMemory }, func(s *Store) memory.Store { return derived{s} }, beforeFiles, betweenFiles, afterFiles)
}

// crash counts all points, or those that are named.
func crash(t *testing.T, within func(path string) Within, as func(*Store) memory.Store, points ...string) {
	storetest.RunCrash(t, storetest.Crash{
		Open: func(path string, now func() time.Time, point func()) (memory.Store, error) {
			s, err := Open(context.Background(), path, within(path), Options{Now: now, lull: 1, failpoint: func(name string) {
				if len(points) == 0 || slices.Contains(points, name) {
					point()
				}
			}})
			if err != nil {
				return nil, err
			}
			if err := untouched(s); err != nil {
				return nil, errors.Join(err, s.Close())
			}
			return as(s), nil
		},
	})
}

// untouched checks that no file of Loci's looks as if a person had edited it,
// wherever the process was killed.
func untouched(s *Store) error {
	if err := s.Settle(context.Background()); err != nil {
		return err
	}
	r, err := s.Scan(context.Background(), ScanOptions{})
	if err == nil && len(r.Edits)+len(r.Problems)+len(r.Conflicts)+len(r.Held) > 0 {
		err = fmt.Errorf("nobody edited a file, but %+v", r)
	}
	return err
}

// TestCrashWhileAFileMoves copies the vault at every point while a file that has a
// person's lines moves, and opens each copy.
func TestCrashWhileAFileMoves(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	v.write(teaFile, strings.Replace(v.read(teaFile), "---\n", "---\nmine: 1\n", 1))
	v.quiet()
	if err := v.Store.Close(); err != nil {
		t.Fatal(err)
	}
	var copies []string
	s, err := Open(t.Context(), v.dir, inMemory, Options{Now: v.now.Now, Home: memtest.Ana, failpoint: func(point string) {
		dir := filepath.Join(t.TempDir(), strings.ReplaceAll(point, " ", "-"))
		if err := os.CopyFS(dir, os.DirFS(v.dir)); err != nil {
			t.Error(err)
		}
		copies = append(copies, dir)
	}})
	if err != nil {
		t.Fatal(err)
	}
	v.Store = s
	v.apply(memtest.Retire(v.fact("tea")))
	if len(copies) < 6 {
		t.Fatalf("it passed %d points", len(copies))
	}
	for _, dir := range copies {
		c := &vault{T: t, dir: dir, now: v.now}
		c.reopen()
		want := teaFile
		if c.fact("tea").Status == memory.Retired {
			want = "deleted/" + teaFile
		}
		c.settled()
		c.quiet()
		if got := keysOf(tree(t, dir)); !slices.Equal(got, []string{want}) || !strings.Contains(c.read(want), "mine: 1\n") {
			t.Errorf("%s: files %q, want %s with its lines", filepath.Base(dir), got, want)
		}
		if err := c.Store.Close(); err != nil {
			t.Error(err)
		}
	}
}

// derived makes anew what no journal keeps: vectors, and jobs that are done.
type derived struct{ *Store }

func (d derived) Since(ctx context.Context, owner memory.Owner, model string, after int64, yield func(memory.Item) error) (int64, error) {
	return d.Store.Since(ctx, owner, model, after, func(i memory.Item) error {
		if !i.Removed && (i.Memory.Fact != nil || i.Memory.Turn.Role == memory.RoleUser) {
			i.Vector = memtest.Embed(i.Memory.Content())
		}
		return yield(i)
	})
}

func (d derived) Jobs(ctx context.Context, owner memory.Owner, states ...memory.JobState) ([]memory.Job, error) {
	jobs, err := d.Store.Jobs(ctx, owner, states...)
	if err != nil || !slices.Contains(states, memory.JobDone) {
		return jobs, err
	}
	turns, err := d.Turns(ctx, owner, memory.TurnQuery{})
	for _, t := range turns {
		if j := memtest.Job(owner, memory.JobLearn, t.ID); !t.LearnedAt.IsZero() {
			j.State = memory.JobDone
			jobs = append(jobs, j)
		}
	}
	return jobs, err
}
