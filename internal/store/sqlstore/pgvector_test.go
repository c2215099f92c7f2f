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
	noError(t)(s.Append(t.Context(), owner, b))
	return b.Turns[0]
}

// openNear opens a store that uses pgvector.
func openNear(t *testing.T, address string) *Store {
	t.Helper()
	s := openServer(t, address, Options{})
	if !s.SupportsVectorSearch() {
		t.Fatalf("it does not search: %s", s.Description())
	}
	return s
}

// nearest returns the ids of what the database finds for Ana.
func nearest(t *testing.T, s *Store, question []float32, ids []string, n int) (found []string) {
	t.Helper()
	near := try(s.Nearest(t.Context(), memtest.Ana, nearModel, question, ids, n)).orFail(t)
	for _, k := range near {
		found = append(found, k.ID)
	}
	return found
}

// nearRows scans the one number that a query returns.
func nearRows(t *testing.T, address, query string, args ...any) (n int) {
	t.Helper()
	noError(t)(pgtest.Open(t, address).QueryRow(query, args...).Scan(&n))
	return n
}

func TestNearestFindsWhatIsActive(t *testing.T) {
	s := openNear(t, pgtest.VectorDatabase(t, true))
	var ids []string
	for i, words := range []string{"the boat is blue", "the boat is red", "it's called Albatross\x00\x01 'and' \\ more"} {
		ids = append(ids, sayNear(t, s, memtest.Ana, "c", i, words).ID)
	}
	sayNear(t, s, memtest.Ben, "c", 0, "the boat of Ben is green")
	question := []float32{1, 0, 0.5}
	for _, indexed := range []bool{false, true} {
		if indexed {
			for range 2 { // again: nothing is to be done
				noError(t)(s.IndexVectors(t.Context(), memtest.Ana, nearModel))
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
	noError(t)(s.Apply(t.Context(), memtest.Ana, memtest.Run("branch"), memtest.TurnChange(memory.ActionRetire, ids[0], memory.Retired)))
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
	owners, err := s.OwnersWithVectorsAbove(t.Context(), nearModel, 2)
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
	rows := try(pgtest.Open(t, address).Query(seedQuery, memtest.Ana.Name(), "[1,0,0.5]")).orFail(t)
	defer rows.Close()
	for rows.Next() {
		var content, kind string
		var score float64
		noError(t)(rows.Scan(&content, &score, &kind))
		found = append(found, content)
	}
	return found
}

func TestOtherProgramsSearchTheTables(t *testing.T) {
	address := pgtest.VectorDatabase(t, true)
	s := openNear(t, address)
	sayNear(t, s, memtest.Ana, "c", 0, "the boat is blue")
	sayNear(t, s, memtest.Ben, "c", 0, "the boat of Ben is green")
	old, next := memtest.Fact(memtest.Ana, "Ana uses Node"), memtest.Fact(memtest.Ana, "Ana uses Bun")
	run := memtest.Run("facts")
	run.Vectors = []memory.Vector{{Memory: old.ID, Model: nearModel, Values: []float32{0, 1, 0}}}
	noError(t)(s.Apply(t.Context(), memtest.Ana, run, memtest.Add(old)))
	if got, want := asOthersSee(t, address), []string{"Ana uses Node"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	run = memtest.Run("replace")
	run.Vectors = []memory.Vector{{Memory: next.ID, Model: nearModel, Values: []float32{0, 1, 0.1}}}
	noError(t)(s.Apply(t.Context(), memtest.Ana, run, memory.Replace(old, next, memtest.Epoch, "she switched", memory.Author{})...))
	if got, want := asOthersSee(t, address), []string{"Ana uses Bun"}; !slices.Equal(got, want) {
		t.Errorf("after it was replaced: got %q, want %q", got, want)
	}
	if n := nearRows(t, address, `SELECT count(*) FROM memory_updates WHERE user_id = $1 AND old_vector_id = $2 AND new_vector_id = $3 AND reason = 'she switched'`,
		memtest.Ana.Name(), old.ID, next.ID); n != 1 {
		t.Errorf("memory_updates has %d rows of it, want 1", n)
	}
	noError(t)(s.Erase(t.Context(), memtest.Ana, memtest.Run("erase"), next.ID))
	if got := asOthersSee(t, address); len(got) > 0 {
		t.Errorf("after it was erased: got %q, want nothing", got)
	}
	if n := nearRows(t, address, `SELECT count(*) FROM vectors WHERE metadata::text LIKE '%Bun%'`); n > 0 {
		t.Errorf("%d rows still have its words", n)
	}
}

// TestSeedViewsCountFactsAndReplacementsOnce needs no pgvector: a domain stands in for its type.
func TestSeedViewsCountFactsAndReplacementsOnce(t *testing.T) {
	address := pgtest.NewSchema(t)
	s := openServer(t, address, Options{})
	seed := try(migrations.ReadFile("migrations/pgvector/seed.sql")).orFail(t)
	db := pgtest.Open(t, address)
	for i, statement := range []string{`CREATE DOMAIN halfvec AS TEXT`, string(seed), string(seed)} {
		noError(t)(db.Exec(statement))
		if prepared := nearRows(t, address, `SELECT (`+seedPreparedQuery+`)::int`); prepared != min(i, 1) {
			t.Errorf("after statement %d: prepared %d", i, prepared)
		}
	}
	apply := func(owner memory.Owner, run string, changes ...memory.Change) {
		t.Helper()
		r := memtest.Run(run)
		for _, c := range changes {
			id := ""
			switch f, link := c.After.Fact, c.After.Link; {
			case f != nil && c.Action == memory.ActionAdd:
				id = f.ID
			case link != nil && c.Action == memory.ActionLink:
				id = link.Fact.ID
			default:
				continue
			}
			r.Vectors = append(r.Vectors, memory.Vector{Memory: id, Model: nearModel, Values: []float32{1, 0, 0}})
		}
		noError(t)(s.Apply(t.Context(), owner, r, changes...))
		noError(t)(db.Exec(`UPDATE vectors SET id = owner || '#' || memory`)) // which pgvector's statement writes
	}
	node, bun, flat, house := memtest.Fact(memtest.Ana, "Ana uses Node"), memtest.Fact(memtest.Ana, "Ana uses Bun"), memtest.Fact(memtest.Ana, "Ana has a flat"), memtest.Fact(memtest.Ana, "Ana has a house")
	shared, own := memtest.Fact(memtest.Team, "The office is in Porto"), memtest.Fact(memtest.Ana, "The office is in Faro")
	waits := memtest.Fact(memtest.Ana, "Ana uses Deno")
	waits.Status = memory.Pending
	link := memtest.Link(memtest.Ana, shared)
	sayNear(t, s, memtest.Ana, "c", 0, "I use Node")
	apply(memtest.Ben, "ben", memtest.Add(memtest.Fact(memtest.Ben, "Ben has a boat")))
	apply(memtest.Team, "team", memtest.Add(shared))
	apply(memtest.Ana, "facts", memtest.Add(node), memtest.Add(flat), memtest.Change(memory.ActionLink, link))
	apply(memtest.Ana, "replace", memory.Replace(node, bun, memtest.Epoch, "User switched from Node to Bun", memory.Author{})...)
	apply(memtest.Ana, "again", memory.Replace(flat, house, memtest.Epoch, "User moved", memory.Author{})...)
	pending := memtest.Add(waits)
	pending.OldID, pending.NewID = bun.ID, waits.ID
	apply(memtest.Ana, "waits", pending)
	link.Status = memory.Retired
	unlink, add := memtest.Change(memory.ActionUnlink, link), memtest.Add(own)
	unlink.OldID, unlink.NewID, add.OldID, add.NewID = shared.ID, own.ID, shared.ID, own.ID
	apply(memtest.Ana, "unlink", unlink, add)

	column := func(query string) (all []string) {
		t.Helper()
		rows := try(db.Query(query)).orFail(t)
		defer rows.Close()
		for rows.Next() {
			var one string
			noError(t)(rows.Scan(&one))
			all = append(all, one)
		}
		return all
	}
	sorted := func(prefix string, facts ...memory.Fact) (out []string) {
		for _, f := range facts {
			out = append(out, prefix+f.ID)
		}
		slices.Sort(out)
		return out
	}
	for query, want := range map[string][]string{
		`SELECT vector_id FROM users_vectors WHERE user_id = 'ana' ORDER BY 1`:                sorted(string(memtest.Ana)+"#", bun, house, own),
		`SELECT DISTINCT user_id FROM users_vectors ORDER BY 1`:                               {"ana", "ben", "default/pool/team"},
		`SELECT old_vector_id FROM memory_updates WHERE user_id = 'ana' ORDER BY 1`:           sorted("", node, flat, shared),
		`SELECT new_vector_id FROM memory_updates ORDER BY 1`:                                 sorted("", bun, house, own),
		`SELECT reason FROM memory_updates WHERE new_vector_id = '` + bun.ID + `'`:            {"User switched from Node to Bun"},
		`SELECT count(DISTINCT id)::text FROM memory_updates WHERE created_at > '2026-01-01'`: {"3"},
	} {
		if got := column(query); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
}

// TestEarlierVectorsAreFilled opens a database that was written without the extension.
func TestEarlierVectorsAreFilled(t *testing.T) {
	address := pgtest.VectorDatabase(t, false)
	old := openServer(t, address, Options{})
	if old.SupportsVectorSearch() {
		t.Fatal("it searches without pgvector")
	}
	if _, err := old.Nearest(t.Context(), memtest.Ana, nearModel, []float32{1, 0, 0.5}, nil, 3); !errors.Is(err, memory.NotFound) {
		t.Errorf("got %v, want %v", err, memory.NotFound)
	}
	texts := make([]string, fillBatchSize+10)
	for i := range texts {
		texts[i] = fmt.Sprint("word ", i)
	}
	b := memtest.Batch(memtest.Ana, "c", 0, texts...)
	for i, turn := range b.Turns {
		b.Vectors = append(b.Vectors, memory.Vector{Memory: turn.ID, Model: nearModel, Values: []float32{1, float32(i), 0}})
	}
	b.Vectors[7].Values = []float32{0, 0, 0} // which has no direction
	noError(t)(old.Append(t.Context(), memtest.Ana, b))
	pgtest.EnablePgvector(t, address)
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
		address := pgtest.VectorDatabase(t, true)
		s := openNear(t, address)
		first := sayNear(t, s, memtest.Ana, "c", 0, "the boat is blue")
		noError(t)(pgtest.Open(t, address).Exec(`DROP EXTENSION vector CASCADE`))
		if searched {
			if _, err := s.Nearest(t.Context(), memtest.Ana, nearModel, []float32{1, 0, 0.5}, nil, 3); !errors.Is(err, memory.NotFound) {
				t.Errorf("a search: got %v, want %v", err, memory.NotFound)
			}
		}
		second := sayNear(t, s, memtest.Ana, "c", 1, "the boat is red")
		if s.SupportsVectorSearch() {
			t.Error("it still searches")
		}
		pgtest.EnablePgvector(t, address)
		if got := nearest(t, openNear(t, address), []float32{1, 0, 0.5}, nil, 3); !slices.Equal(got, []string{first.ID, second.ID}) {
			t.Errorf("once it is back: got %v, want both", got)
		}
	}
}

// TestNearestNamesItsOwner looks at the statements about vectors.
func TestNearestNamesItsOwner(t *testing.T) {
	s := openNear(t, pgtest.VectorDatabase(t, true))
	turn := sayNear(t, s, memtest.Ana, "c", 0, "the boat is blue")
	nearest(t, s, []float32{1, 0, 0}, []string{turn.ID}, 3)
	nearest(t, s, []float32{1, 0, 0}, nil, 3)
	noError(t)(s.Vectors(t.Context(), memtest.Ana, nearModel, []string{turn.ID}))
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
