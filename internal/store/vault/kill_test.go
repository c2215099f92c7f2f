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
	storetest.RunCrash(t, storetest.CrashConfig{
		Open: func(path string, now func() time.Time, point func()) (memory.Store, error) {
			s, err := Open(context.Background(), path, inSQLite(path+".db"), Options{Now: now, writeDelay: 1, failpoint: func(name string) {
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
	if err := s.Flush(context.Background()); err != nil {
		return err
	}
	r, err := s.Scan(context.Background(), ScanOptions{})
	if err == nil && len(r.Edits)+len(r.Problems)+len(r.ConflictFiles)+len(r.UnconfirmedDeletions) > 0 {
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
		noError(t)(c.Store.Close())
	}
}

// TestEditAfterACrashComesIn edits a file after a kill between a commit and its file, and one
// after the records were lost: both what Loci committed and what the person wrote count.
func TestEditAfterACrashComesIn(t *testing.T) {
	t.Parallel()
	v := newVaultOnDisk(t)
	v.apply(memtest.Add(tea()))
	copies := v.copies(func() {
		f := v.fact("tea")
		f.Confidence = 0.5
		v.apply(memtest.Change(memory.ActionUpdate, f))
	})
	for name, lose := range map[string]bool{"the records are there": false, "the records are lost": true} {
		dir := filepath.Join(t.TempDir(), "vault")
		noError(t)(os.CopyFS(dir, os.DirFS(copies[0])))
		if lose {
			noError(t)(os.RemoveAll(filepath.Join(dir, OwnFolder)))
		}
		c := &vault{T: t, dir: dir, now: v.now, onDisk: true}
		if text := c.read(teaFile); strings.Contains(text, "confidence: 0.5") {
			t.Fatalf("%s: the file was written before the kill:\n%s", name, text)
		}
		c.write(teaFile, strings.Replace(c.read(teaFile), "drinks tea", "drinks green tea", 1))
		c.reopen()
		e := c.edit()
		if f := e.Content.Fact; f.Content != "Ana drinks green tea" || f.Confidence != 0.5 && !lose || e.Conflict != "" {
			t.Errorf("%s: the edit says %q, confidence %v; %s", name, f.Content, f.Confidence, e.Conflict)
		}
		c.take(e)
		if got := keysOf(tree(t, dir)); !slices.Equal(got, []string{teaFile}) {
			t.Errorf("%s: files %q", name, got)
		}
		noError(t)(c.Store.Close())
	}
}

// TestLearnedMarkReachesItsFileAfterACrash kills a vault after a run that only marked a turn as
// learned from, which raises no version.
func TestLearnedMarkReachesItsFileAfterACrash(t *testing.T) {
	t.Parallel()
	v := newVaultOnDisk(t)
	batch := memtest.Batch(memtest.Ana, "c", 0, "I drink tea")
	noError(t)(v.Append(t.Context(), memtest.Ana, batch))
	v.settled()
	file := keysOf(tree(t, v.dir))[1]
	if strings.Contains(v.read(file), "learned_at") {
		t.Fatalf("%s says:\n%s", file, v.read(file))
	}
	copies := v.copies(func() {
		run := memtest.Run("learns")
		run.Learned = []string{batch.Turns[0].ID}
		noError(t)(v.Apply(t.Context(), memtest.Ana, run))
		v.settled()
	})
	c := &vault{T: t, dir: copies[0], now: v.now, onDisk: true}
	c.reopen()
	c.settled()
	c.quiet()
	if !strings.Contains(c.read(file), "learned_at") {
		t.Errorf("%s says:\n%s", file, c.read(file))
	}
	noError(t)(c.Store.Close())
}
