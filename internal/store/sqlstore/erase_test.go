package sqlstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// marzipan fills a store with talk in which one fact, one turn and one trace have the
// word, in many places of the file: the fact is edited again and again, and the turn
// is longer than a page.
func marzipan(t *testing.T, s *Store) (ids []string) {
	t.Helper()
	ctx := context.Background()
	batch := memtest.Batch(memtest.Ana, "c", 0, "I like marzipan. "+strings.Repeat("Sweet marzipan! ", 2000), "Indeed", "I play chess")
	batch.Conversation.Title = "I like marzipan."
	noError(t)(s.Append(ctx, memtest.Ana, batch))
	fact := memtest.Fact(memtest.Ana, "Ana likes marzipan")
	fact.Tags, fact.Attribute = []string{"marzipan"}, "taste:marzipan"
	add := memtest.Run("add")
	add.Vectors = []memory.Vector{memtest.Vector(fact.ID, fact.Content)}
	noError(t)(s.Apply(ctx, memtest.Ana, add, memtest.Add(fact)))
	for i := range 200 {
		fact.Content = strings.Repeat(fmt.Sprintf("Ana likes marzipan %d. ", i), 1+i%50)
		fact.Hash = memtest.Hash(fact.Content)
		noError(t)(s.Apply(ctx, memtest.Ana, memtest.Run(fmt.Sprint("edit ", i)), memtest.Change(memory.ActionUpdate, fact)))
		for _, owner := range []memory.Owner{memtest.Ana, memtest.Ben} {
			trace := memory.Trace{ID: fmt.Sprint("trace ", i), Owner: owner, Question: "chess?", At: memtest.Epoch}
			if owner == memtest.Ana {
				trace.Question = "marzipan?"
			}
			noError(t)(s.SaveTraces(ctx, 20, trace))
		}
	}
	return []string{fact.ID, batch.Turns[0].ID}
}

// holders returns the files of a folder that have a word.
func holders(t *testing.T, dir, word string) (names []string) {
	t.Helper()
	noError(t)(filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(bytes.ToLower(data), []byte(word)) {
			names = append(names, d.Name())
		}
		return err
	}))
	return names
}

// TestErasedWordsAreInNoFile looks for them in the file, its free pages and its log,
// while the store is open. Until they are gone the store says where they may be.
func TestErasedWordsAreInNoFile(t *testing.T) {
	dir := t.TempDir()
	s := try(OpenSQLite(t.Context(), filepath.Join(dir, "loci.db"), Options{})).orFail(t)
	defer s.Close()
	ids := marzipan(t, s)
	if len(holders(t, dir, "marzipan")) == 0 {
		t.Fatal("no file has the word before")
	}
	if held := s.ErasedTextLocations(); len(held) != 0 {
		t.Errorf("before: got %q", held)
	}
	began := time.Now()
	noError(t)(s.Erase(t.Context(), memtest.Ana, memtest.Run("erase"), ids...))
	if held := s.ErasedTextLocations(); len(held) != 1 || !strings.Contains(held[0], "until Loci rewrites it") {
		t.Errorf("at once: got %q", held)
	}
	for len(s.ErasedTextLocations()) > 0 && time.Since(began) < 20*time.Second {
		time.Sleep(10 * time.Millisecond)
	}
	if took := time.Since(began); took < vacuumIdleTime {
		t.Errorf("the file was written again after %v, want it idle before", took)
	}
	if got := holders(t, dir, "marzipan"); len(got) > 0 {
		t.Errorf("the word is still in %q", got)
	}
	if got := holders(t, dir, "i play chess"); len(got) == 0 {
		t.Error("what was not erased is gone")
	}
	if _, err := s.Append(t.Context(), memtest.Ana, memtest.Batch(memtest.Ana, "d", 0, "Hello")); err != nil {
		t.Errorf("writing afterwards: %v", err)
	}
	if n, err := s.EraseTraces(t.Context(), memtest.Ben); err != nil || n != 20 || len(s.ErasedTextLocations()) != 1 {
		t.Errorf("traces: got %d, %v, and that %q may hold them", n, err, s.ErasedTextLocations())
	}
	noError(t)(s.Close())
	if got := holders(t, dir, "chess?"); len(got) > 0 {
		t.Errorf("once it is closed, traces are still in %q", got)
	}
}

// TestLingeringWaitsForAMomentOfRest: after a minute it waits no more.
func TestLingeringWaitsForAMomentOfRest(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		l        vacuumState
		min, max time.Duration
	}{
		"at once":     {vacuumState{pendingSince: now}, vacuumIdleTime, vacuumIdleTime},
		"never idle":  {vacuumState{pendingSince: now.Add(-vacuumDeadline)}, -time.Minute, 0},
		"it failed":   {vacuumState{pendingSince: now.Add(-time.Hour), failedAt: now, lastErr: errors.New("full")}, vacuumDeadline - time.Second, vacuumDeadline},
		"failed once": {vacuumState{pendingSince: now.Add(-time.Hour), failedAt: now.Add(-vacuumDeadline), lastErr: errors.New("full")}, -time.Hour, 0},
	} {
		if got := c.l.delay(); got < c.min || got > c.max {
			t.Errorf("%s: got %v, want %v to %v", name, got, c.min, c.max)
		}
	}
}

// TestNothingIsErasedWithoutRoom asks for the room of a file that is larger than any disk.
func TestNothingIsErasedWithoutRoom(t *testing.T) {
	dir := t.TempDir()
	s := try(OpenSQLite(t.Context(), filepath.Join(dir, "loci.db"), Options{})).orFail(t)
	defer s.Close()
	ids := marzipan(t, s)
	large := filepath.Join(dir, "large")
	f, err := os.Create(large)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(1<<43), f.Close()); err != nil { // a hole
		t.Skip(err)
	}
	s.committer.(*writer).path = large
	_, err = s.Erase(t.Context(), memtest.Ana, memtest.Run("erase"), ids...)
	_, tracesErr := s.EraseTraces(t.Context(), memtest.Ana)
	_, ofErr := s.EraseTracesOf(t.Context(), memtest.Ana.Namespace(), ids...)
	for _, err := range []error{err, tracesErr, ofErr} {
		if !errors.Is(err, memory.Unavailable) || !strings.Contains(err.Error(), "nothing was erased: rewriting the database file needs 8388609 MB free") && !strings.Contains(err.Error(), "nothing was erased: rewriting the database file needs 16777217 MB free") {
			t.Errorf("got %v, want that there is no room", err)
		}
	}
	if found, err := s.Get(t.Context(), memtest.Ana, ids...); err != nil || len(found) != 2 || found[0].Content() == "" {
		t.Errorf("got %v, %v; want all there", found, err)
	}
}

// BenchmarkErase is one fact of so many erased; vacuum-ms is how long writing the file again takes.
func BenchmarkErase(b *testing.B) {
	ctx := context.Background()
	s := try(OpenSQLite(ctx, filepath.Join(b.TempDir(), "loci.db"), Options{})).orFail(b)
	defer s.Close()
	const facts = 10_000
	var ids []string
	for i := range facts {
		f := memtest.Fact(memtest.Ana, fmt.Sprintf("Ana likes number %d of the many things that there are to like", i))
		run := memtest.Run(fmt.Sprint(i))
		run.Vectors = []memory.Vector{memtest.Vector(f.ID, f.Content)}
		noError(b)(s.Apply(ctx, memtest.Ana, run, memtest.Add(f)))
		ids = append(ids, f.ID)
	}
	next := 0
	for b.Loop() {
		noError(b)(s.Erase(ctx, memtest.Ana, memtest.Run(fmt.Sprint("erase ", next)), ids[next%facts]))
		next++
	}
	began := time.Now()
	noError(b)(s.Close())
	b.ReportMetric(float64(time.Since(began).Milliseconds()), "vacuum-ms")
}
