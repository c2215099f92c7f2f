package vault

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
	"github.com/loci-memory/loci/memory/storetest"
)

// TestCrashAroundSQLite kills vaults between commit and files, and between files and their
// records.
func TestCrashAroundSQLite(t *testing.T) {
	t.Parallel()
	crash(t)
}

// TestCrashAmongFiles kills vaults at the points around their files alone.
func TestCrashAmongFiles(t *testing.T) {
	t.Parallel()
	crash(t, beforeFiles, betweenFiles, afterFiles)
}

// crash counts all points, or those that are named.
func crash(t *testing.T, points ...string) {
	storetest.RunCrash(t, storetest.Crash{
		Open: func(path string, now func() time.Time, point func()) (memory.Store, error) {
			s, err := Open(context.Background(), path, inSQLite(path+".db"), Options{Now: now, lull: 1, failpoint: func(name string) {
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
			return s, nil
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
	v := newVaultOnDisk(t)
	v.apply(memtest.Add(tea()))
	v.write(teaFile, strings.Replace(v.read(teaFile), "---\n", "---\nmine: 1\n", 1))
	v.quiet()
	for _, dir := range v.copies(func() { v.apply(memtest.Retire(v.fact("tea"))) }) {
		c := &vault{T: t, dir: dir, now: v.now, onDisk: true}
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
