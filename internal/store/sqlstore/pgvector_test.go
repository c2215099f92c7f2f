package sqlstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

const nearModel = "a model"

// sayNear adds a turn with a vector.
func sayNear(t *testing.T, s *Store, owner memory.Owner, conversation string, place int, words string) memory.Turn {
	t.Helper()
	b := memtest.Batch(owner, conversation, place, words)
	b.Vectors = []memory.Vector{{Memory: b.Turns[0].ID, Model: nearModel, Values: []float32{1, float32(place), 0.5}}}
	if _, err := s.Append(t.Context(), owner, b); err != nil {
		t.Fatal(err)
	}
	return b.Turns[0]
}

// openNear opens a store that uses pgvector.
func openNear(t *testing.T, address string) *Store {
	t.Helper()
	s := openServer(t, address, Options{})
	if !s.Searches() {
		t.Fatalf("it does not search: %s", s.About())
	}
	return s
}

// nearest returns the ids of what the database finds for Ana.
func nearest(t *testing.T, s *Store, question []float32, ids []string, n int) (found []string) {
	t.Helper()
	near, err := s.Nearest(t.Context(), memtest.Ana, nearModel, question, ids, n)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range near {
		found = append(found, k.ID)
	}
	return found
}

// nearRows scans the one number that a query returns.
func nearRows(t *testing.T, address, query string, args ...any) (n int) {
	t.Helper()
	if err := pgtest.Open(t, address).QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNearestFindsWhatIsActive(t *testing.T) {
	s := openNear(t, pgtest.Vector(t, true))
	var ids []string
	for i, words := range []string{"the boat is blue", "the boat is red", "it's called Albatross\x00\x01 'and' \\ more"} {
		ids = append(ids, sayNear(t, s, memtest.Ana, "c", i, words).ID)
	}
	sayNear(t, s, memtest.Ben, "c", 0, "the boat of Ben is green")
	question := []float32{1, 0, 0.5}
	for _, indexed := range []bool{false, true} {
		if indexed {
			for range 2 { // again: nothing is to be done
				if err := s.IndexVectors(t.Context(), memtest.Ana, nearModel); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := nearest(t, s, question, nil, 10); !slices.Equal(got, ids) {
			t.Errorf("indexed %v: got %v, want %v", indexed, got, ids)
		}
		if got := nearest(t, s, question, ids[1:], 1); !slices.Equal(got, ids[1:2]) {
			t.Errorf("indexed %v: among the others: got %v, want %v", indexed, got, ids[1:2])
		}
	}
	near, err := s.Nearest(t.Context(), memtest.Ana, nearModel, question, nil, 1)
	if err != nil || len(near) != 1 || near[0].Owner != memtest.Ana || near[0].Cosine < 0.999 {
		t.Errorf("the nearest: got %+v, %v; want a cosine of 1", near, err)
	}
	if _, err := s.Apply(t.Context(), memtest.Ana, memtest.Run("branch"), memtest.TurnMark(memory.ActionRetire, ids[0], memory.Retired)); err != nil {
		t.Fatal(err)
	}
	if got := nearest(t, s, question, nil, 10); !slices.Equal(got, ids[1:]) {
		t.Errorf("after one left the path: got %v, want %v", got, ids[1:])
	}
	if got := nearest(t, s, []float32{1, 1}, nil, 10); len(got) > 0 {
		t.Errorf("by a question of another length: got %v, want nothing", got)
	}
	vectors, err := s.Vectors(t.Context(), memtest.Ana, nearModel, append(ids, "another"))
	if err != nil || len(vectors) != 3 || len(vectors[ids[0]]) == 0 {
		t.Errorf("vectors: got %v, %v; want three", vectors, err)
	}
	owners, err := s.OwnersAbove(t.Context(), nearModel, 2)
	if err != nil || !slices.Equal(owners, []memory.Owner{memtest.Ana}) {
		t.Errorf("owners of more than two: got %v, %v; want Ana", owners, err)
	}
}

// seedQuery is the search of an application that has these tables.
const seedQuery = `SELECT v.metadata->>'content', 1 - (v.values <=> $2::halfvec) AS score, v.metadata->>'type'
	FROM vectors v JOIN users_vectors uv ON v.id = uv.vector_id WHERE uv.user_id = $1 ORDER BY score DESC LIMIT 10`

// asOthersSee returns what such an application finds of Ana.
func asOthersSee(t *testing.T, address string) (found []string) {
	t.Helper()
	rows, err := pgtest.Open(t, address).Query(seedQuery, string(memtest.Ana), "[1,0,0.5]")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var content, kind string
		var score float64
		if err := rows.Scan(&content, &score, &kind); err != nil {
			t.Fatal(err)
		}
		found = append(found, content)
	}
	return found
}

func TestOtherProgramsSearchTheTables(t *testing.T) {
	address := pgtest.Vector(t, true)
	s := openNear(t, address)
	sayNear(t, s, memtest.Ana, "c", 0, "the boat is blue")
	sayNear(t, s, memtest.Ben, "c", 0, "the boat of Ben is green")
	old, next := memtest.Fact(memtest.Ana, "Ana uses Node"), memtest.Fact(memtest.Ana, "Ana uses Bun")
	run := memtest.Run("facts")
	run.Vectors = []memory.Vector{{Memory: old.ID, Model: nearModel, Values: []float32{0, 1, 0}}}
	if _, err := s.Apply(t.Context(), memtest.Ana, run, memtest.Add(old)); err != nil {
		t.Fatal(err)
	}
	if got, want := asOthersSee(t, address), []string{"the boat is blue", "Ana uses Node"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	run = memtest.Run("replace")
	run.Vectors = []memory.Vector{{Memory: next.ID, Model: nearModel, Values: []float32{0, 1, 0.1}}}
	gone := old
	gone.Status, gone.SupersededBy = memory.Superseded, next.ID
	change := memory.Change{Action: memory.ActionReplace, After: memory.Image{Fact: &gone}, OldID: old.ID, NewID: next.ID, Reason: "she switched"}
	if _, err := s.Apply(t.Context(), memtest.Ana, run, memtest.Add(next), change); err != nil {
		t.Fatal(err)
	}
	if got, want := asOthersSee(t, address), []string{"the boat is blue", "Ana uses Bun"}; !slices.Equal(got, want) {
		t.Errorf("after it was replaced: got %q, want %q", got, want)
	}
	if n := nearRows(t, address, `SELECT count(*) FROM memory_updates WHERE user_id = $1 AND old_vector_id = $2 AND new_vector_id = $3 AND reason = 'she switched'`,
		string(memtest.Ana), old.ID, next.ID); n != 1 {
		t.Errorf("memory_updates has %d rows of it, want 1", n)
	}
	if _, err := s.Erase(t.Context(), memtest.Ana, memtest.Run("erase"), next.ID); err != nil {
		t.Fatal(err)
	}
	if got := asOthersSee(t, address); len(got) != 1 {
		t.Errorf("after it was erased: got %q, want the turn alone", got)
	}
	if n := nearRows(t, address, `SELECT count(*) FROM vectors WHERE metadata::text LIKE '%Bun%'`); n > 0 {
		t.Errorf("%d rows still have its words", n)
	}
}

// TestEarlierVectorsAreFilled opens a database that was written without the extension.
func TestEarlierVectorsAreFilled(t *testing.T) {
	address := pgtest.Vector(t, false)
	old := openServer(t, address, Options{})
	if old.Searches() {
		t.Fatal("it searches without pgvector")
	}
	if _, err := old.Nearest(t.Context(), memtest.Ana, nearModel, []float32{1, 0, 0.5}, nil, 3); !errors.Is(err, memory.NotFound) {
		t.Errorf("got %v, want %v", err, memory.NotFound)
	}
	texts := make([]string, filledAtOnce+10)
	for i := range texts {
		texts[i] = fmt.Sprint("word ", i)
	}
	b := memtest.Batch(memtest.Ana, "c", 0, texts...)
	for i, turn := range b.Turns {
		b.Vectors = append(b.Vectors, memory.Vector{Memory: turn.ID, Model: nearModel, Values: []float32{1, float32(i), 0}})
	}
	b.Vectors[7].Values = []float32{0, 0, 0} // which has no direction
	if _, err := old.Append(t.Context(), memtest.Ana, b); err != nil {
		t.Fatal(err)
	}
	pgtest.AddVector(t, address)
	s := openNear(t, address)
	if n := nearRows(t, address, `SELECT count(*) FROM vectors WHERE "values" IS NOT NULL AND id IS NOT NULL AND metadata->>'content' LIKE 'word %'`); n != len(texts)-1 {
		t.Errorf("%d vectors were filled, want %d", n, len(texts)-1)
	}
	turn := sayNear(t, old, memtest.Ana, "late", 0, "a server without the extension is still at work")
	if got := nearest(t, s, []float32{1, 0, 0}, nil, 2); !slices.Equal(got, []string{b.Turns[0].ID, b.Turns[1].ID}) {
		t.Errorf("got %v, want the first two", got)
	}
	if got := nearest(t, openNear(t, address), []float32{1, 0, 0.5}, nil, 1); !slices.Equal(got, []string{turn.ID}) {
		t.Errorf("after the next start: got %v, want what was written late", got)
	}
}

// TestWritesGoOnWithoutTheExtension drops pgvector beneath an open store and adds it again.
func TestWritesGoOnWithoutTheExtension(t *testing.T) {
	for _, searched := range []bool{false, true} {
		address := pgtest.Vector(t, true)
		s := openNear(t, address)
		first := sayNear(t, s, memtest.Ana, "c", 0, "the boat is blue")
		if _, err := pgtest.Open(t, address).Exec(`DROP EXTENSION vector CASCADE`); err != nil {
			t.Fatal(err)
		}
		if searched {
			if _, err := s.Nearest(t.Context(), memtest.Ana, nearModel, []float32{1, 0, 0.5}, nil, 3); !errors.Is(err, memory.NotFound) {
				t.Errorf("a search: got %v, want %v", err, memory.NotFound)
			}
		}
		second := sayNear(t, s, memtest.Ana, "c", 1, "the boat is red")
		if s.Searches() {
			t.Error("it still searches")
		}
		pgtest.AddVector(t, address)
		if got := nearest(t, openNear(t, address), []float32{1, 0, 0.5}, nil, 3); !slices.Equal(got, []string{first.ID, second.ID}) {
			t.Errorf("once it is back: got %v, want both", got)
		}
	}
}

// TestNearestNamesItsOwner looks at the statements about vectors.
func TestNearestNamesItsOwner(t *testing.T) {
	s := openNear(t, pgtest.Vector(t, true))
	turn := sayNear(t, s, memtest.Ana, "c", 0, "the boat is blue")
	nearest(t, s, []float32{1, 0, 0}, []string{turn.ID}, 3)
	nearest(t, s, []float32{1, 0, 0}, nil, 3)
	if _, err := s.Vectors(t.Context(), memtest.Ana, nearModel, []string{turn.ID}); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, text := range s.Statements() {
		if !strings.Contains(text, "vectors") {
			continue
		}
		if seen++; !strings.Contains(text, "owner = $1") && !strings.Contains(text, " (owner, memory, model") {
			t.Errorf("this names no owner: %s", text)
		}
	}
	if seen < 3 {
		t.Errorf("got %d statements, want more to look at", seen)
	}
}

func TestOlderThan(t *testing.T) {
	for version, want := range map[string]bool{"0.7.4": true, "0.8.0": false, "0.10.1": false, "1.0": false, "0": true, "": true} {
		if got := olderThan(version, leastPgvector); got != want {
			t.Errorf("%q: got %v, want %v", version, got, want)
		}
	}
}
