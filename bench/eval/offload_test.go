package eval

import (
	"log/slog"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/chroma"
	"github.com/loci-memory/loci/internal/index/chroma/chromatest"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// TestOffloadRanksAsTheIndexDoes gives one user all conversations of the development data and
// compares the ten best of each question, ranked: with vectors searched by an HNSW index of the
// database and by a Chroma server, and by the resident index.
func TestOffloadRanksAsTheIndexDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for some seconds; run without -short")
	}
	set := devSets(t)[0]
	s, err := sqlstore.OpenPostgres(t.Context(), pgtest.VectorDatabase(t, true), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	model := embed.Lexical{}
	turns := 0
	golden := map[string]string{} // ids of turns by those of the data
	for _, c := range set.Conversations {
		bySession := map[string]*memory.Batch{}
		for _, turn := range c.Turns {
			name := c.Name + " " + turn.Session
			b := bySession[name]
			if b == nil {
				b = &memory.Batch{Conversation: memtest.Conversation(memtest.Ana, name)}
				bySession[name] = b
			}
			one := memtest.Turn(memtest.Ana, name, len(b.Turns), turn.Role, turn.Content)
			one.Name, one.CreatedAt = turn.Name, turn.At
			v, err := model.Embed(t.Context(), memory.AsDocument, turn.Content)
			if err != nil {
				t.Fatal(err)
			}
			golden[c.Name+" "+turn.Ref] = one.ID
			b.Turns = append(b.Turns, one)
			b.Vectors = append(b.Vectors, memory.Vector{Memory: one.ID, Model: model.Fingerprint(), Values: v[0]})
			turns++
		}
		for _, b := range bySession {
			if _, err := s.Append(t.Context(), memtest.Ana, *b); err != nil {
				t.Fatal(err)
			}
		}
	}
	now := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	best := func(by memory.Searcher, q Question) (ids []string, took time.Duration) {
		query := recall.NewQuery(q.Text, now, recall.QueryOptions{})
		v, err := model.Embed(t.Context(), memory.AsQuestion, query.EmbedText)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		found, err := by.Search(t.Context(), memory.Search{Scopes: []memory.Scope{{Owner: memtest.Ana}}, Text: query.SearchText, Vector: v[0], Now: now, Limit: 200})
		took = time.Since(began)
		if err != nil {
			t.Fatal(err)
		}
		none := 0.0
		kept, _ := recall.Rank(query, found, recall.RankOptions{Limit: 10, MinRelevance: &none}, now)
		for _, c := range kept {
			ids = append(ids, c.ID)
		}
		return ids, took
	}
	options := index.Options{Model: model.Fingerprint()}
	exact := index.New(s, options)
	t.Cleanup(func() { _ = exact.Close() })
	compare := func(t *testing.T, outside retrieve.VectorSearch) {
		offload := retrieve.NewOffload(s, options, outside, retrieve.OffloadOptions{Log: slog.New(slog.DiscardHandler)})
		defer func() { _ = offload.Close() }()
		same, all, asked := 0, 0, 0
		var found [2]int // of what answers
		var times []time.Duration
		for _, c := range set.Conversations {
			for i, q := range c.answerable() {
				if i%8 != 0 { // enough to tell
					continue
				}
				want, _ := best(exact, q)
				got, took := best(offload, q)
				times = append(times, took)
				asked, all = asked+1, all+len(want)
				for _, id := range want {
					if slices.Contains(got, id) {
						same++
					}
				}
				for by, ids := range [][]string{want, got} {
					if slices.ContainsFunc(q.Gold, func(gold string) bool { return slices.Contains(ids, golden[c.Name+" "+gold]) }) {
						found[by]++
					}
				}
			}
		}
		slices.Sort(times)
		share := float64(same) / float64(max(1, all))
		before, after := float64(found[0])/float64(max(1, asked)), float64(found[1])/float64(max(1, asked))
		t.Logf("%d turns, %d questions: %.4f of the ten best are the same; an answer is among them in %.4f and, with the resident index, %.4f; %v (p50)", turns, asked, share, after, before, times[len(times)/2])
		if share < 0.99 || math.Abs(after-before) > 0.005 || before == 0 {
			t.Errorf("got %.4f of the ten best, and %.4f for %.4f", share, after, before)
		}
	}
	t.Run("pgvector", func(t *testing.T) {
		if err := s.IndexVectors(t.Context(), memtest.Ana, model.Fingerprint()); err != nil {
			t.Fatal(err)
		}
		compare(t, s)
	})
	t.Run("chroma", func(t *testing.T) {
		x := chroma.New(s, chroma.Options{URL: chromatest.Start(t).URL, Collection: "loci", Model: model.Fingerprint(), Log: slog.New(slog.DiscardHandler)})
		defer func() { _ = x.Close() }()
		if c, err := x.Compare(t.Context()); err != nil || c.Missing+c.Extra > 0 {
			t.Fatalf("%+v, %v", c, err)
		}
		compare(t, x)
	})
}
