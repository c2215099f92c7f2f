package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestWhatIsMuchIsErasedInPortions cuts an erasure off between any two portions, with the store
// closed and opened after that: the same call again removes what is left, nobody else loses
// anything, and the receipt says what was erased.
func TestWhatIsMuchIsErasedInPortions(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) func(Options) *Store{
		"sqlite": func(t *testing.T) func(Options) *Store {
			path := filepath.Join(t.TempDir(), "loci.db")
			return func(o Options) *Store {
				s, err := OpenSQLite(t.Context(), path, o)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
		},
		"postgres": func(t *testing.T) func(Options) *Store {
			address := pgtest.Schema(t)
			return func(o Options) *Store {
				s, err := OpenPostgres(t.Context(), address, o)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for cut, more := 1, true; more; cut++ {
				more = erasedInPortions(t, open(t), cut)
				if !more && cut < 8 {
					t.Errorf("there were %d points between portions, want those of traces and of the journal", cut-1)
				}
			}
		})
	}
}

// erasedInPortions cuts an erasure off at its nth point, and reports whether there is one.
func erasedInPortions(t *testing.T, open func(Options) *Store, nth int) bool {
	const portion, edits, traces = 3, 20, 8
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	points := 0
	s := open(Options{rows: portion, failpoint: func(point string) {
		if point == betweenErased {
			if points++; points == nth {
				cancel()
			}
		}
	}})
	ids := muchMarzipan(t, s, edits, traces)
	before := wordsLeft(t, s)
	version := versionOf(t, s)
	first, err := s.Erase(ctx, memtest.Ana, memtest.Run("erase"), ids...)
	cutOff := points >= nth
	if cutOff != errors.Is(err, context.Canceled) {
		t.Fatalf("cut off at point %d of %d: got %v", nth, points, err)
	}
	if left := wordsLeft(t, s); cutOff && (left == 0 || left >= before) {
		t.Errorf("cut off at point %d, %d of %d rows have the word, want some", nth, left, before)
	}
	if cutOff && versionOf(t, s) != version {
		t.Errorf("cut off at point %d, the version rose", nth)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = open(Options{rows: portion})
	defer s.Close()
	receipt, err := s.Erase(t.Context(), memtest.Ana, memtest.Run("erase"), ids...)
	if err != nil {
		t.Fatal(err)
	}
	if receipt.Again == cutOff || receipt.Changes != len(ids) || receipt.Version != version+1 || !cutOff && first.Changes != len(ids) {
		t.Errorf("cut off at point %d: the receipts are %+v and %+v, want %d changes", nth, first, receipt, len(ids))
	}
	if left := wordsLeft(t, s); left != 0 {
		t.Errorf("cut off at point %d, %d rows have the word in the end", nth, left)
	}
	if kept, err := s.Traces(t.Context(), memtest.Ben, memory.TraceQuery{Limit: 500}); err != nil || len(kept) != traces {
		t.Errorf("another has %d traces (%v), want %d", len(kept), err, traces)
	}
	if kept := changesWith(t, s, "chess"); kept != edits+1 {
		t.Errorf("of what was not erased the journal has %d entries, want %d", kept, edits+1)
	}
	return cutOff
}

// muchMarzipan fills a store with two things that have the word, one of them edited so often,
// and so many traces of two owners; and with a fact that is edited as often and stays.
func muchMarzipan(t *testing.T, s *Store, edits, traces int) (ids []string) {
	t.Helper()
	ctx := t.Context()
	batch := memtest.Batch(memtest.Ana, "c", 0, "I like marzipan.", "Indeed")
	if _, err := s.Append(ctx, memtest.Ana, batch); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"marzipan", "chess"} {
		fact := memtest.Fact(memtest.Ana, "Ana likes "+word)
		change := memtest.Add(fact)
		for i := range edits + 1 {
			change.Reason = "for " + word
			if _, err := s.Apply(ctx, memtest.Ana, memtest.Run(fmt.Sprintf("edit %d of %d", i, len(word))), change); err != nil {
				t.Fatal(err)
			}
			fact.Content = fmt.Sprintf("Ana likes %s, for the %d. time", word, i)
			fact.Hash = memtest.Hash(fact.Content)
			change = memtest.Change(memory.ActionUpdate, fact)
		}
		if word == "marzipan" {
			ids = []string{fact.ID, batch.Turns[0].ID}
		}
	}
	for i := range traces {
		for _, owner := range []memory.Owner{memtest.Ana, memtest.Ben} {
			if err := s.SaveTraces(ctx, 100, memory.Trace{ID: fmt.Sprint("trace ", i), Owner: owner, Question: "marzipan?", At: memtest.Epoch}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return ids
}

// changesWith counts the changes of a journal that have a word.
func changesWith(t *testing.T, s *Store, word string) (n int) {
	t.Helper()
	page, err := s.Changes(t.Context(), memtest.Ana, memory.ChangeQuery{Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range page.Changes {
		text, err := toJSON(c)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, word) {
			n++
		}
	}
	return n
}

// wordsLeft counts what an owner has that was erased: changes, traces and memories.
func wordsLeft(t *testing.T, s *Store) int {
	t.Helper()
	n := changesWith(t, s, "marzipan")
	traces, err := s.Traces(t.Context(), memtest.Ana, memory.TraceQuery{Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.List(t.Context(), memtest.Ana, memory.Query{
		Kinds: []memory.Kind{memory.KindFact, memory.KindTurn}, Text: "marzipan", Statuses: []memory.Status{memory.Active, memory.Retired},
	})
	if err != nil {
		t.Fatal(err)
	}
	return n + len(traces) + len(found.Memories)
}

func versionOf(t *testing.T, s *Store) int64 {
	t.Helper()
	versions, err := s.Versions(t.Context(), []memory.Owner{memtest.Ana})
	if err != nil {
		t.Fatal(err)
	}
	return versions[0]
}
