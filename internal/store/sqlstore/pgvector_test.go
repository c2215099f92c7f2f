package sqlstore

import (
	"errors"
	"fmt"
	"strings"
	"sync"
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
	if about, err := s.UsePgvector(t.Context()); err != nil || !s.Searches() {
		t.Fatalf("it does not search: %s, %v", about, err)
	}
	return s
}

func buildNear(t *testing.T, s *Store, owner memory.Owner) {
	t.Helper()
	if busy, err := s.BuildNear(t.Context(), owner, nearModel); err != nil || busy {
		t.Fatalf("build: busy %v, %v", busy, err)
	}
}

// foundNear returns the words of what the server finds.
func foundNear(t *testing.T, s *Store, q memory.Search) map[string]bool {
	t.Helper()
	near, err := s.Nearest(t.Context(), memtest.Ana, nearModel, q)
	if errors.Is(err, memory.Conflict) {
		if err := s.FollowNear(t.Context(), memtest.Ana, nearModel); err != nil {
			t.Fatal(err)
		}
		near, err = s.Nearest(t.Context(), memtest.Ana, nearModel, q)
	}
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, i := range near.Items {
		found[i.Memory.Content()] = true
	}
	return found
}

func askNear(words string) memory.Search {
	return memory.Search{Scopes: []memory.Scope{{Owner: memtest.Ana}}, Text: words, ByWords: true, Limit: 10}
}

func TestNearFollowsWhatIsWritten(t *testing.T) {
	s := openNear(t, pgtest.Vector(t, true))
	if _, err := s.Nearest(t.Context(), memtest.Ana, nearModel, askNear("boat")); !errors.Is(err, memory.NotFound) {
		t.Errorf("before it is built: got %v, want %v", err, memory.NotFound)
	}
	sayNear(t, s, memtest.Ana, "c", 0, "the boat is blue")
	sayNear(t, s, memtest.Ben, "c", 0, "the boat of Ben is green")
	buildNear(t, s, memtest.Ana)
	buildNear(t, s, memtest.Ana) // again: nothing is to be done
	if got := foundNear(t, s, askNear("boats")); len(got) != 1 || !got["the boat is blue"] {
		t.Errorf("after it was built: got %v, want what Ana said", got)
	}
	turn := sayNear(t, s, memtest.Ana, "d", 0, "a boat it's called Albatross\x00\x01 'and' \\ more")
	if got := foundNear(t, s, askNear("Albatross")); !got[turn.Content] {
		t.Errorf("after more was said: got %v, want it", got)
	}
	q := askNear("")
	q.ByWords, q.Vector = false, []float32{1, 0, 0.5}
	if got := foundNear(t, s, q); len(got) != 2 {
		t.Errorf("by vector: got %v, want both", got)
	}
	if _, err := s.Apply(t.Context(), memtest.Ana, memtest.Run("branch"), memtest.TurnMark(memory.ActionRetire, turn.ID, memory.Retired)); err != nil {
		t.Fatal(err)
	}
	if got := foundNear(t, s, askNear("Albatross boat")); got[turn.Content] || !got["the boat is blue"] {
		t.Errorf("after it left the path: got %v, want only the other", got)
	}
}

// nearRows counts an owner's rows of a table of the copy that have a word.
func nearRows(t *testing.T, address, query string, args ...any) (n int) {
	t.Helper()
	if err := pgtest.Open(t, address).QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNearErasedIsGone erases by a store that was opened before there was pgvector.
func TestNearErasedIsGone(t *testing.T) {
	address := pgtest.Vector(t, false)
	old := openServer(t, address, Options{})
	secret := sayNear(t, old, memtest.Ana, "c", 0, "the cellar key is zebra")
	sayNear(t, old, memtest.Ana, "c", 1, "the cellar is cold")
	if _, err := old.UsePgvector(t.Context()); err != nil || old.Searches() {
		t.Fatalf("without pgvector it searches (%v)", err)
	}
	pgtest.AddVector(t, address)
	s := openNear(t, address)
	buildNear(t, s, memtest.Ana)
	if got := nearRows(t, address, `SELECT count(*) FROM near WHERE memory = $1`, secret.ID); got != 1 {
		t.Fatalf("before: got %d rows, want 1", got)
	}
	if _, err := old.Erase(t.Context(), memtest.Ana, memtest.Run("erase"), secret.ID); err != nil {
		t.Fatal(err)
	}
	if rows, terms := nearRows(t, address, `SELECT count(*) FROM near WHERE memory = $1 OR words @@ 'zebra'`, secret.ID),
		nearRows(t, address, `SELECT count(*) FROM near_terms WHERE term = 'zebra'`); rows+terms > 0 {
		t.Errorf("erased: got %d rows and %d terms, want none", rows, terms)
	}
	if got := foundNear(t, s, askNear("cellar zebra")); len(got) != 1 || !got["the cellar is cold"] {
		t.Errorf("afterwards: got %v, want what was not erased", got)
	}
	if memories := nearRows(t, address, `SELECT memories FROM near_state`); memories != 1 {
		t.Errorf("it counts %d memories, want 1", memories)
	}
}

// TestNearGoesOnWhereItWas breaks a copy off after a step; others write meanwhile.
func TestNearGoesOnWhereItWas(t *testing.T) {
	address := pgtest.Vector(t, true)
	s := openNear(t, address)
	for c := range 3 {
		texts := make([]string, nearStep/2+1)
		for i := range texts {
			texts[i] = fmt.Sprintf("word%d of conversation%d", i, c)
		}
		if _, err := s.Append(t.Context(), memtest.Ana, memtest.Batch(memtest.Ana, fmt.Sprint(c), 0, texts...)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.prepareNear(t.Context()); err != nil {
		t.Fatal(err)
	}
	more, err := s.follow(t.Context(), memtest.Ana, nearModel, nearStep)
	if err != nil || !more {
		t.Fatalf("first step: more %v, %v", more, err)
	}
	if got := nearRows(t, address, `SELECT version FROM near_state WHERE NOT ready`); got != 2 {
		t.Errorf("after a step it is at version %d, want 2", got)
	}
	sayNear(t, s, memtest.Ana, "late", 0, "something late")
	buildNear(t, s, memtest.Ana)
	want := 3*(nearStep/2+1) + 1
	if rows, said := nearRows(t, address, `SELECT count(*) FROM near`), nearRows(t, address, `SELECT memories FROM near_state WHERE ready`); rows != want || said != want {
		t.Errorf("got %d rows and %d memories, want %d", rows, said, want)
	}
	if got := nearRows(t, address, `SELECT n FROM near_terms WHERE term = 'word7'`); got != 3 {
		t.Errorf("word7 is counted %d times, want 3", got)
	}
	if got := foundNear(t, s, askNear("word1000 late")); !got["something late"] || !got["word1000 of conversation2"] {
		t.Errorf("got %d memories without what was asked for", len(got))
	}
}

// TestNearIsBuiltByOne holds the lock that another server would.
func TestNearIsBuiltByOne(t *testing.T) {
	address := pgtest.Vector(t, true)
	s := openNear(t, address)
	sayNear(t, s, memtest.Ana, "c", 0, "the boat is blue")
	if err := s.prepareNear(t.Context()); err != nil {
		t.Fatal(err)
	}
	other, err := pgtest.Open(t, address).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close() //nolint:errcheck // it was of use already
	if _, err := other.ExecContext(t.Context(), `SELECT pg_advisory_lock(`+nearLock+`)`); err != nil {
		t.Fatal(err)
	}
	if busy, err := s.BuildNear(t.Context(), memtest.Ana, nearModel); err != nil || !busy {
		t.Errorf("got busy %v, %v; want it to be busy", busy, err)
	}
}

// TestNearStatementsNameTheirOwner looks at every statement about the copy's rows.
func TestNearStatementsNameTheirOwner(t *testing.T) {
	s := openNear(t, pgtest.Vector(t, true))
	turn := sayNear(t, s, memtest.Ana, "c", 0, "the boat is blue")
	buildNear(t, s, memtest.Ana)
	q := askNear("the boat")
	q.ByWords, q.Vector, q.Kinds, q.Tag = false, []float32{1, 1, 1}, []memory.Kind{memory.KindTurn}, "x"
	foundNear(t, s, q)
	if _, err := s.Erase(t.Context(), memtest.Ana, memtest.Run("erase"), turn.ID); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, text := range s.Statements() {
		if !strings.Contains(text, " near") || strings.Contains(text, "CREATE TABLE") || text == "ANALYZE near" || strings.HasPrefix(text, "SELECT to_regclass") ||
			strings.Contains(text, "SAVEPOINT near") || strings.Contains(text, nearLock) {
			continue
		}
		if seen++; !strings.Contains(text, "owner = $") && !strings.Contains(text, " (owner, model") {
			t.Errorf("this names no owner: %s", text)
		}
	}
	if seen < 12 {
		t.Errorf("got %d statements, want more to look at", seen)
	}
}

// TestNearBuildsLeaveConnectionsToWriters builds for as many owners as write at a time.
func TestNearBuildsLeaveConnectionsToWriters(t *testing.T) {
	s := openNear(t, pgtest.Vector(t, true))
	var builds sync.WaitGroup
	for i := range 8 {
		o := memory.User(memory.DefaultNamespace, fmt.Sprint("u", i))
		sayNear(t, s, o, "c", 0, "the boat is blue")
		builds.Go(func() {
			if _, err := s.BuildNear(t.Context(), o, nearModel); err != nil {
				t.Errorf("build for %s: %v", o, err)
			}
		})
	}
	for i := range 20 {
		sayNear(t, s, memtest.Ben, "c", i, "meanwhile")
	}
	builds.Wait()
}

// TestNearIndexesOfTwoOwnersAtOnce makes them by two servers: neither waits for the other
// for ever.
func TestNearIndexesOfTwoOwnersAtOnce(t *testing.T) {
	address := pgtest.Vector(t, true)
	var builds sync.WaitGroup
	for _, o := range []memory.Owner{memtest.Ana, memtest.Ben} {
		s := openNear(t, address)
		for i := range 40 {
			sayNear(t, s, o, "c", i, fmt.Sprint("the boat is blue ", i))
		}
		builds.Go(func() {
			for busy, err := true, error(nil); busy; {
				if busy, err = s.BuildNear(t.Context(), o, nearModel); err != nil {
					t.Errorf("build for %s: %v", o, err)
					return
				}
			}
		})
	}
	builds.Wait()
}

// TestNearMadeIsAskedForOnly starts a store while another makes an index, which holds the
// table for as long as that takes.
func TestNearMadeIsAskedForOnly(t *testing.T) {
	address := pgtest.Vector(t, true)
	s := openNear(t, address)
	sayNear(t, s, memtest.Ana, "c", 0, "the boat is blue")
	buildNear(t, s, memtest.Ana)
	tx, err := pgtest.Open(t, address).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // it wrote nothing
	if _, err := tx.Exec(`LOCK TABLE near IN SHARE UPDATE EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	n := openNear(t, pgtest.With(address, "lock_timeout", "1000"))
	if err := n.prepareNear(t.Context()); err != nil {
		t.Errorf("to ask what there is waits: %v", err)
	}
	sayNear(t, s, memtest.Ana, "c", 1, "the boat is red")
	if got := foundNear(t, n, askNear("boat")); len(got) != 2 {
		t.Errorf("a search meanwhile: got %v, want both", got)
	}
}

// TestNearWithoutItsExtension drops pgvector beneath a copy and adds it again.
func TestNearWithoutItsExtension(t *testing.T) {
	address := pgtest.Vector(t, true)
	s := openNear(t, address)
	secret := sayNear(t, s, memtest.Ana, "c", 0, "the boat is blue")
	sayNear(t, s, memtest.Ana, "c", 1, "the boat is red")
	buildNear(t, s, memtest.Ana)
	if _, err := pgtest.Open(t, address).Exec(`DROP EXTENSION vector CASCADE`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Erase(t.Context(), memtest.Ana, memtest.Run("erase"), secret.ID); err != nil {
		t.Errorf("erase: %v", err)
	}
	if n := nearRows(t, address, `SELECT count(*) FROM near`); n > 0 {
		t.Errorf("%d rows are left of a copy that is of no use", n)
	}
	if _, err := s.Nearest(t.Context(), memtest.Ana, nearModel, askNear("boat")); !errors.Is(err, memory.NotFound) {
		t.Errorf("a search: got %v, want %v", err, memory.NotFound)
	}
	pgtest.AddVector(t, address)
	buildNear(t, s, memtest.Ana)
	if got := foundNear(t, s, askNear("boat")); len(got) != 1 || !got["the boat is red"] {
		t.Errorf("after it was built anew: got %v, want what was not erased", got)
	}
}

// TestNearVectorsMayComeLater builds a copy before there is a vector.
func TestNearVectorsMayComeLater(t *testing.T) {
	s := openNear(t, pgtest.Vector(t, true))
	b := memtest.Batch(memtest.Ana, "c", 0, "the boat is blue")
	if _, err := s.Append(t.Context(), memtest.Ana, b); err != nil {
		t.Fatal(err)
	}
	buildNear(t, s, memtest.Ana)
	run := memtest.Run("vectors")
	run.Vectors = []memory.Vector{{Memory: b.Turns[0].ID, Model: nearModel, Values: []float32{1, 0, 0.5}}}
	if _, err := s.Apply(t.Context(), memtest.Ana, run); err != nil {
		t.Fatal(err)
	}
	if err := s.FollowNear(t.Context(), memtest.Ana, nearModel); err != nil {
		t.Fatal(err)
	}
	q := askNear("")
	q.ByWords, q.Vector = false, []float32{1, 0, 0.5}
	if _, err := s.Nearest(t.Context(), memtest.Ana, nearModel, q); !errors.Is(err, memory.NotFound) {
		t.Errorf("without an index of vectors: got %v, want %v", err, memory.NotFound)
	}
	buildNear(t, s, memtest.Ana)
	if got := foundNear(t, s, q); len(got) != 1 {
		t.Errorf("after it was built again: got %v, want the turn", got)
	}
}

// TestNearOfTwoModels keeps the copy of an embedder that another server has, until its
// vectors are given up.
func TestNearOfTwoModels(t *testing.T) {
	address := pgtest.Vector(t, true)
	a, b := openNear(t, address), openNear(t, address)
	turn := sayNear(t, a, memtest.Ana, "c", 0, "the boat is blue")
	buildNear(t, a, memtest.Ana)
	if _, err := b.BuildNear(t.Context(), memtest.Ana, "another"); err != nil {
		t.Fatal(err)
	}
	tidy := func() {
		t.Helper()
		if err := b.TidyNear(t.Context(), memtest.Ana, "another"); err != nil {
			t.Fatal(err)
		}
	}
	tidy()
	if got := foundNear(t, a, askNear("boat")); len(got) != 1 {
		t.Errorf("by the server that has the first: got %v, want the turn", got)
	}
	if _, err := pgtest.Open(t, address).Exec(`DELETE FROM vectors WHERE memory = $1`, turn.ID); err != nil {
		t.Fatal(err)
	}
	tidy()
	if n := nearRows(t, address, `SELECT count(*) FROM near WHERE model = $1`, nearModel) + nearRows(t, address, `SELECT count(*) FROM near_state WHERE model = $1`, nearModel) +
		nearRows(t, address, `SELECT count(*) FROM pg_class WHERE relname LIKE $1`, nearName(memtest.Ana, nearModel)+"%"); n > 0 {
		t.Errorf("%d rows and indexes are left of an embedder whose vectors were given up", n)
	}
}

// TestNearOfNobodyLeavesNoName erases all that a user has.
func TestNearOfNobodyLeavesNoName(t *testing.T) {
	address := pgtest.Vector(t, true)
	s := openNear(t, address)
	left := func() int {
		return nearRows(t, address, `SELECT (SELECT count(*) FROM near_state) + (SELECT count(*) FROM pg_indexes WHERE indexdef LIKE '%ana%')`)
	}
	for i, held := range []bool{false, true} {
		turn := sayNear(t, s, memtest.Ana, fmt.Sprint("c", i), 0, "the boat is blue")
		buildNear(t, s, memtest.Ana)
		if left() != 3 {
			t.Fatalf("before: got %d, want a state and two indexes", left())
		}
		tx, err := pgtest.Open(t, address).Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback() //nolint:errcheck // it wrote nothing
		if held {
			if _, err := tx.Exec(`LOCK TABLE near IN SHARE UPDATE EXCLUSIVE MODE`); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Erase(t.Context(), memtest.Ana, memtest.Run(fmt.Sprint("erase", i)), turn.ID); err != nil {
			t.Fatal(err)
		}
		if held {
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			if err := s.TidyNear(t.Context(), memtest.Ana, nearModel); err != nil {
				t.Fatal(err)
			}
		}
		if n := left(); n > 0 {
			t.Errorf("held %v: %d rows and indexes are left with the user's name", held, n)
		}
	}
}

// TestPgvectorUnaskedIsLeftAlone starts a store beside pgvector that nobody wants used.
func TestPgvectorUnaskedIsLeftAlone(t *testing.T) {
	address := pgtest.Vector(t, true)
	s := openServer(t, address, Options{})
	sayNear(t, s, memtest.Ana, "c", 0, "the boat is blue")
	if s.Searches() {
		t.Error("it searches, want it to leave that to the index")
	}
	openNear(t, address)
	if n := nearRows(t, address, `SELECT count(*) FROM pg_class WHERE relname LIKE 'near%'`); n > 0 {
		t.Errorf("%d tables and indexes were made, want none until somebody has very much", n)
	}
	for _, text := range s.Statements() {
		if strings.Contains(text, "near") || strings.Contains(text, "pg_extension") {
			t.Errorf("this was asked: %s", text)
		}
	}
}

func TestOlderThan(t *testing.T) {
	for version, want := range map[string]bool{"0.7.4": true, "0.8.0": false, "0.10.1": false, "1.0": false, "0": true, "": true} {
		if got := olderThan(version, leastPgvector); got != want {
			t.Errorf("%q: got %v, want %v", version, got, want)
		}
	}
}
