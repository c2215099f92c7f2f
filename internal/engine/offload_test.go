package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

const offloadModel = "vectors of the test"

// offloadRig is a database with pgvector that searches everybody's vectors, beside the
// resident index of the same store.
type offloadRig struct {
	*sqlstore.Store
	exact   *index.Index
	offload *retrieve.Offload
	topic   [][]float32
	words   []string
	r       *rand.Rand
	said    int
}

func newOffloadRig(t *testing.T, address string) *offloadRig {
	t.Helper()
	s, err := sqlstore.OpenPostgres(t.Context(), pgtest.WithParameter(address, "pool_max_conns", "8"), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	options := index.Options{Model: offloadModel, OnMissingVectors: func(memory.Owner, int) {}}
	h := &offloadRig{Store: s, exact: index.New(s, options), r: rand.New(rand.NewPCG(7, 7))}
	h.offload = retrieve.NewOffload(s, options, s, retrieve.OffloadOptions{Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		if err := errors.Join(h.offload.Close(), h.exact.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	for range 40 {
		h.topic = append(h.topic, h.direction())
	}
	for i := range 3000 {
		h.words = append(h.words, fmt.Sprintf("w%c%c%dx", 'a'+i%23, 'b'+i/23%19, i))
	}
	return h
}

func (h *offloadRig) direction() []float32 {
	v := make([]float32, 48)
	for i := range v {
		v[i] = float32(h.r.NormFloat64())
	}
	return unit(v)
}

func unit(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

// near returns a direction near a topic's.
func (h *offloadRig) near(topic int) []float32 {
	v := h.direction()
	for i := range v {
		v[i] = v[i]*0.9 + h.topic[topic][i]
	}
	return unit(v)
}

// sentence has words as talk has them: few often, most seldom.
func (h *offloadRig) sentence() string {
	words := make([]string, 6+h.r.IntN(10))
	for i := range words {
		words[i] = h.words[int(math.Pow(h.r.Float64(), 3)*float64(len(h.words)))]
	}
	return strings.Join(words, " ")
}

// say adds a conversation of turns with vectors, and facts of projects.
func (h *offloadRig) say(t *testing.T, owner memory.Owner, turns int) {
	t.Helper()
	h.said++
	texts := make([]string, turns)
	for i := range texts {
		texts[i] = h.sentence()
	}
	b := memtest.Batch(owner, fmt.Sprint("conversation ", h.said), 0, texts...)
	topic := h.r.IntN(len(h.topic))
	for _, turn := range b.Turns {
		b.Vectors = append(b.Vectors, memory.Vector{Memory: turn.ID, Model: offloadModel, Values: h.near(topic)})
	}
	if _, err := h.Append(t.Context(), owner, b); err != nil {
		t.Fatal(err)
	}
	run := memtest.Run(fmt.Sprint("facts ", h.said))
	var changes []memory.Change
	for i := range turns / 5 {
		f := memtest.Fact(owner, h.sentence())
		f.Scope.Project = []string{"", "boat", "house"}[i%3]
		f.Category = []string{"fact", "preference"}[i%2]
		f.Tags = []string{"tag " + fmt.Sprint(i%4)}
		f.ObservedAt = f.CreatedAt
		if i%7 == 0 {
			f.ExpiresAt = time.Now().Add(-time.Hour)
		}
		changes = append(changes, memtest.Add(f))
		run.Vectors = append(run.Vectors, memory.Vector{Memory: f.ID, Model: offloadModel, Values: h.near(topic)})
	}
	if _, err := h.Apply(t.Context(), owner, run, changes...); err != nil {
		t.Fatal(err)
	}
}

// question asks with words of something that was said, and a vector near a topic.
func (h *offloadRig) question(owner memory.Owner) memory.Search {
	return memory.Search{Scopes: []memory.Scope{{Owner: owner}}, Text: h.sentence(), Vector: h.near(h.r.IntN(len(h.topic))), Now: time.Now(), Limit: 200}
}

// compare fails where the two find something else, or measure it otherwise.
func (h *offloadRig) compare(t *testing.T, s memory.Search) {
	t.Helper()
	want, err := h.exact.Search(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := h.offload.Search(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]memory.Candidate{}
	for _, g := range got {
		byID[g.ID] = g
	}
	missed := 0 // of those that are as near as others, another may be picked
	for i, w := range want {
		g, ok := byID[w.ID]
		if ok && (math.Abs(g.Score-w.Score) > 1e-5 || !slices.Equal(g.Vector, w.Vector) || g.Measures != w.Measures) {
			t.Fatalf("%d: got %s with %v %+v, want %v %+v", i, g.ID, g.Score, g.Measures, w.Score, w.Measures)
		}
		if !ok {
			missed++
		}
	}
	if len(want) == 0 || missed > len(want)/50 || len(got) > len(want)+len(want)/50 {
		t.Fatalf("got %d, want %d; %d are missing", len(got), len(want), missed)
	}
}

// TestOffloadFindsWhatTheIndexFinds has the database compare vectors one by one, so that all
// is the same, under every filter.
func TestOffloadFindsWhatTheIndexFinds(t *testing.T) {
	h := newOffloadRig(t, pgtest.VectorDatabase(t, true))
	for range 40 {
		h.say(t, memtest.Ana, 50)
	}
	h.say(t, memtest.Ben, 50)
	for name, narrow := range map[string]func(*memory.Search){
		"all":          func(*memory.Search) {},
		"facts":        func(s *memory.Search) { s.Kinds = []memory.Kind{memory.KindFact} },
		"project":      func(s *memory.Search) { s.Scopes[0].Project = "boat" },
		"category":     func(s *memory.Search) { s.Category = "preference" },
		"tag":          func(s *memory.Search) { s.Tag = "tag 3" },
		"conversation": func(s *memory.Search) { s.Conversation = "conversation 17" },
		"words alone":  func(s *memory.Search) { s.Vector = nil },
		"by words":     func(s *memory.Search) { s.WordsOnly = true },
		"by vector":    func(s *memory.Search) { s.PreferVectors, s.Limit = true, 50 },
		"vector alone": func(s *memory.Search) { s.Text = "" },
		"words first":  func(s *memory.Search) { s.WordsFirst = true },
		"two owners":   func(s *memory.Search) { s.Scopes = append(s.Scopes, memory.Scope{Owner: memtest.Ben}) },
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				s := h.question(memtest.Ana)
				narrow(&s)
				h.compare(t, s)
			}
		})
	}
	if exact, offloaded := h.exact.Size(), h.offload.Size(); offloaded >= exact {
		t.Errorf("without vectors the index takes %d bytes, with them %d", offloaded, exact)
	}
	h.say(t, memtest.Ana, 50)
	h.compare(t, h.question(memtest.Ana))
}

// TestOffloadFallsBackToWords has the search of vectors fail for a while.
func TestOffloadFallsBackToWords(t *testing.T) {
	h := newOffloadRig(t, pgtest.VectorDatabase(t, true))
	h.say(t, memtest.Ana, 50)
	var log strings.Builder
	outside := &fakeVectors{VectorSearch: h.Store}
	o := retrieve.NewOffload(h.Store, index.Options{Model: offloadModel}, outside, retrieve.OffloadOptions{Log: slog.New(slog.NewTextHandler(&log, nil))})
	defer func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}()
	s := h.question(memtest.Ana)
	for _, fails := range []bool{false, true, true, false} {
		outside.fail(nil)
		if fails {
			outside.fail(errors.New("it is away"))
		}
		found, err := o.Search(t.Context(), s)
		if err != nil || len(found) == 0 {
			t.Fatalf("got %d, %v", len(found), err)
		}
		words := s
		words.Vector = nil
		alone, err := o.Search(t.Context(), words)
		if err != nil {
			t.Fatal(err)
		}
		if fails != (len(found) == len(alone)) {
			t.Errorf("it fails %v: got %d, by words %d", fails, len(found), len(alone))
		}
	}
	if lines := strings.Count(log.String(), "\n"); lines != 2 {
		t.Errorf("got %d lines in the log, want one that it failed and one that it is back:\n%s", lines, log.String())
	}
}

// fakeVectors searches a list of vectors.
type fakeVectors struct {
	retrieve.VectorSearch
	mu    sync.Mutex
	err   error
	asked []memory.Owner
}

func (f *fakeVectors) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fakeVectors) Nearest(ctx context.Context, owner memory.Owner, model string, question []float32, ids []string, n int) ([]memory.Neighbor, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, owner)
	if f.err != nil {
		return nil, f.err
	}
	return f.VectorSearch.Nearest(ctx, owner, model, question, ids, n)
}
