package bench

import (
	"errors"
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// TestOffloadRanksAsTheIndexDoes gives one user all conversations of the development data and
// compares the ten best of each question, ranked, by an HNSW index of the database and by the
// resident index.
func TestOffloadRanksAsTheIndexDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for some seconds; run without -short")
	}
	set := devSets(t)[0]
	s, err := sqlstore.OpenPostgres(t.Context(), pgtest.Vector(t, true), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	model := embed.Lexical{}
	exact := index.New(s, index.Options{Model: model.Fingerprint()})
	offload := retrieve.NewOffload(s, index.Options{Model: model.Fingerprint()}, s, retrieve.OffloadOptions{Log: slog.New(slog.DiscardHandler)})
	defer func() {
		if err := errors.Join(offload.Close(), exact.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}()
	turns := 0
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
	if err := s.IndexVectors(t.Context(), memtest.Ana, model.Fingerprint()); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	best := func(by memory.Searcher, q Question) (ids []string, took time.Duration) {
		query := recall.NewQuery(q.Text, now, recall.QueryOptions{})
		v, err := model.Embed(t.Context(), memory.AsQuestion, query.Near)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		found, err := by.Search(t.Context(), memory.Search{Scopes: []memory.Scope{{Owner: memtest.Ana}}, Text: query.Text, Vector: v[0], Now: now, Limit: 200})
		took = time.Since(began)
		if err != nil {
			t.Fatal(err)
		}
		none := 0.0
		kept, _ := recall.Rank(query, found, recall.Options{Limit: 10, Threshold: &none}, now)
		for _, c := range kept {
			ids = append(ids, c.ID)
		}
		return ids, took
	}
	same, all, asked := 0, 0, 0
	var times []time.Duration
	for _, c := range set.Conversations {
		for i, q := range c.Questions {
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
		}
	}
	slices.Sort(times)
	share := float64(same) / float64(max(1, all))
	t.Logf("%d turns, %d questions: %.4f of the ten best; the database's search took %v (p50)", turns, asked, share, times[len(times)/2])
	if share < 0.995 {
		t.Errorf("got %.4f of the ten best, want 0.995 or more", share)
	}
}
