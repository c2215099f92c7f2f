package sqlstore

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	if _, err := s.Append(ctx, memtest.Ana, batch); err != nil {
		t.Fatal(err)
	}
	fact := memtest.Fact(memtest.Ana, "Ana likes marzipan")
	fact.Tags, fact.Attribute = []string{"marzipan"}, "taste:marzipan"
	add := memtest.Run("add")
	add.Vectors = []memory.Vector{memtest.Vector(fact.ID, fact.Content)}
	if _, err := s.Apply(ctx, memtest.Ana, add, memtest.Add(fact)); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		fact.Content = strings.Repeat(fmt.Sprintf("Ana likes marzipan %d. ", i), 1+i%50)
		fact.Hash = memtest.Hash(fact.Content)
		if _, err := s.Apply(ctx, memtest.Ana, memtest.Run(fmt.Sprint("edit ", i)), memtest.Change(memory.ActionUpdate, fact)); err != nil {
			t.Fatal(err)
		}
		for _, owner := range []memory.Owner{memtest.Ana, memtest.Ben} {
			trace := memory.Trace{ID: fmt.Sprint("trace ", i), Owner: owner, Question: "chess?", At: memtest.Epoch}
			if owner == memtest.Ana {
				trace.Question = "marzipan?"
			}
			if err := s.SaveTraces(ctx, 20, trace); err != nil {
				t.Fatal(err)
			}
		}
	}
	return []string{fact.ID, batch.Turns[0].ID}
}

// holders returns the files of a folder that have a word.
func holders(t *testing.T, dir, word string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(bytes.ToLower(data), []byte(word)) {
			names = append(names, d.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestErasedWordsAreInNoFile looks for them in the file, its free pages and its log,
// while the store is open.
func TestErasedWordsAreInNoFile(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenSQLite(context.Background(), filepath.Join(dir, "loci.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ids := marzipan(t, s)
	if len(holders(t, dir, "marzipan")) == 0 {
		t.Fatal("no file has the word before")
	}
	if _, err := s.Erase(context.Background(), memtest.Ana, memtest.Run("erase"), ids...); err != nil {
		t.Fatal(err)
	}
	if got := holders(t, dir, "marzipan"); len(got) > 0 {
		t.Errorf("the word is still in %q", got)
	}
	if got := holders(t, dir, "i play chess"); len(got) == 0 {
		t.Error("what was not erased is gone")
	}
	if _, err := s.Append(context.Background(), memtest.Ana, memtest.Batch(memtest.Ana, "d", 0, "Hello")); err != nil {
		t.Errorf("writing afterwards: %v", err)
	}
}

// TestErasedWordsAreInNoFileAfterARestart lets the program end after the rows have
// lost the words and before the file is written anew.
func TestErasedWordsAreInNoFileAfterARestart(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	s, err := OpenSQLite(ctx, filepath.Join(dir, "loci.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	ids := marzipan(t, s)
	err = s.write(ctx, "", func(t *tx) error {
		_, err := t.erase(memtest.Ana, memtest.Run("erase"), ids, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if len(holders(t, dir, "marzipan")) == 0 {
		t.Fatal("no file has the word before the restart: there is nothing to see here")
	}
	if s, err = OpenSQLite(ctx, filepath.Join(dir, "loci.db"), Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := holders(t, dir, "marzipan"); len(got) > 0 {
		t.Errorf("the word is still in %q", got)
	}
}

// TestWhatIsErasedWhileAnotherErasureIsUnderWayIsNotForgotten erases a second thing between
// the portions that go through the file for the first.
func TestWhatIsErasedWhileAnotherErasureIsUnderWayIsNotForgotten(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	var s *Store
	var ids []string
	began := false
	s, err := OpenSQLite(ctx, filepath.Join(dir, "loci.db"), Options{portion: 40, failpoint: func(point string) {
		if point != betweenPortion || began {
			return
		}
		began = true
		err := s.write(ctx, "", func(t *tx) error {
			_, err := t.erase(memtest.Ana, memtest.Run("second"), ids[1:], nil)
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ids = marzipan(t, s)
	if _, err := s.Erase(ctx, memtest.Ana, memtest.Run("first"), ids[:1]...); err != nil || !began {
		t.Fatal(began, err)
	}
	var mark int
	found, err := s.reads.ask(ctx, `PRAGMA user_version`)
	if err := only(found, err, &mark); err != nil || mark != 1 {
		t.Errorf("got mark %d (%v), want 1: the second is to be taken out yet", mark, err)
	}
	if err := s.commits.scrub(ctx); err != nil {
		t.Fatal(err)
	}
	if got := holders(t, dir, "marzipan"); len(got) > 0 {
		t.Errorf("the word is still in %q", got)
	}
	found, err = s.reads.ask(ctx, `PRAGMA user_version`)
	if err := only(found, err, &mark); err != nil || mark != 0 {
		t.Errorf("got mark %d (%v) in the end, want 0", mark, err)
	}
}

// BenchmarkErase is one fact of so many erased, with all that the file has of it.
func BenchmarkErase(b *testing.B) {
	ctx := context.Background()
	s, err := OpenSQLite(ctx, filepath.Join(b.TempDir(), "loci.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const facts = 10_000
	var ids []string
	for i := range facts {
		f := memtest.Fact(memtest.Ana, fmt.Sprintf("Ana likes number %d of the many things that there are to like", i))
		run := memtest.Run(fmt.Sprint(i))
		run.Vectors = []memory.Vector{memtest.Vector(f.ID, f.Content)}
		if _, err := s.Apply(ctx, memtest.Ana, run, memtest.Add(f)); err != nil {
			b.Fatal(err)
		}
		ids = append(ids, f.ID)
	}
	next := 0
	for b.Loop() {
		if _, err := s.Erase(ctx, memtest.Ana, memtest.Run(fmt.Sprint("erase ", next)), ids[next%facts]); err != nil {
			b.Fatal(err)
		}
		next++
	}
}
