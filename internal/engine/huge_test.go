package engine_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

const hugeModel = "vectors of the test"

// hugeRig is a database with pgvector that searches for everybody, beside the resident
// index of the same store.
type hugeRig struct {
	*sqlstore.Store
	exact *index.Index
	huge  *retrieve.DatabaseSearch
	topic [][]float32
	words []string
	r     *rand.Rand
	said  int
}

func newHugeRig(t *testing.T, address string) *hugeRig {
	t.Helper()
	s, err := sqlstore.OpenPostgres(t.Context(), pgtest.With(address, "pool_max_conns", "8"), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if about, err := s.UsePgvector(t.Context()); err != nil {
		t.Fatal(about, err)
	}
	h := &hugeRig{Store: s, exact: index.New(s, index.Options{Model: hugeModel}), r: rand.New(rand.NewPCG(7, 7))}
	h.huge = retrieve.NewHuge(index.New(s, index.Options{Model: hugeModel}), s, retrieve.HugeOptions{Model: hugeModel, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		if err := errors.Join(h.huge.Close(), h.exact.Close(), s.Close()); err != nil {
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

func (h *hugeRig) direction() []float32 {
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
func (h *hugeRig) near(topic int) []float32 {
	v := h.direction()
	for i := range v {
		v[i] = v[i]*0.9 + h.topic[topic][i]
	}
	return unit(v)
}

// sentence has words as talk has them: few often, most seldom.
func (h *hugeRig) sentence() string {
	words := make([]string, 6+h.r.IntN(10))
	for i := range words {
		words[i] = h.words[int(math.Pow(h.r.Float64(), 3)*float64(len(h.words)))]
	}
	return strings.Join(words, " ")
}

// say adds a conversation of turns with vectors, and facts of projects.
func (h *hugeRig) say(t *testing.T, owner memory.Owner, turns int) {
	t.Helper()
	h.said++
	texts := make([]string, turns)
	for i := range texts {
		texts[i] = h.sentence()
	}
	b := memtest.Batch(owner, fmt.Sprint("conversation ", h.said), 0, texts...)
	topic := h.r.IntN(len(h.topic))
	for _, turn := range b.Turns {
		b.Vectors = append(b.Vectors, memory.Vector{Memory: turn.ID, Model: hugeModel, Values: h.near(topic)})
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
		run.Vectors = append(run.Vectors, memory.Vector{Memory: f.ID, Model: hugeModel, Values: h.near(topic)})
	}
	if _, err := h.Apply(t.Context(), owner, run, changes...); err != nil {
		t.Fatal(err)
	}
}

func (h *hugeRig) build(t *testing.T, owner memory.Owner) {
	t.Helper()
	if busy, err := h.BuildNear(t.Context(), owner, hugeModel); err != nil || busy {
		t.Fatalf("build: busy %v, %v", busy, err)
	}
}

// question asks with words of something that was said, and a vector near a topic.
func (h *hugeRig) question(owner memory.Owner) memory.Search {
	return memory.Search{Scopes: []memory.Scope{{Owner: owner}}, Text: h.sentence(), Vector: h.near(h.r.IntN(len(h.topic))), Now: time.Now(), Limit: 200}
}

func idsOf(cands []memory.Candidate, most int) []string {
	var ids []string
	for _, c := range cands[:min(most, len(cands))] {
		ids = append(ids, c.ID)
	}
	return ids
}

// agreement returns how many of the ten best of the exact way the huge way has among its.
func (h *hugeRig) agreement(t *testing.T, s memory.Search) (share float64, huge []memory.Candidate) {
	t.Helper()
	exact, err := h.exact.Search(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	found, err := h.Nearest(t.Context(), s.Scopes[0].Owner, hugeModel, s)
	if err != nil {
		t.Fatal(err)
	}
	if huge, err = index.BuildExcerpt(found).Search(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	want, got := idsOf(exact, 10), idsOf(huge, 10)
	if len(want) == 0 {
		return 1, huge
	}
	same := 0
	for _, id := range want {
		if slices.Contains(got, id) {
			same++
		}
	}
	return float64(same) / float64(len(want)), huge
}

// TestHugeFindsWhatTheIndexFinds compares the ten best of the database's way with those of
// the resident index, under every filter.
func TestHugeFindsWhatTheIndexFinds(t *testing.T) {
	h := newHugeRig(t, pgtest.Vector(t, true))
	for range 40 {
		h.say(t, memtest.Ana, 50)
	}
	h.say(t, memtest.Ben, 50)
	h.build(t, memtest.Ana)
	for name, narrow := range map[string]func(*memory.Search){
		"all":           func(*memory.Search) {},
		"facts":         func(s *memory.Search) { s.Kinds = []memory.Kind{memory.KindFact} },
		"project":       func(s *memory.Search) { s.Scopes[0].Project = "boat" },
		"category":      func(s *memory.Search) { s.Category = "preference" },
		"tag":           func(s *memory.Search) { s.Tag = "tag 3" },
		"conversation":  func(s *memory.Search) { s.Conversation = "conversation 17" },
		"words alone":   func(s *memory.Search) { s.Vector = nil },
		"a tag's words": func(s *memory.Search) { s.Text, s.Vector = s.Text+" tag 3", nil },
		"vector alone":  func(s *memory.Search) { s.Text = "" },
	} {
		t.Run(name, func(t *testing.T) {
			sum, asked := 0.0, 20
			for range asked {
				s := h.question(memtest.Ana)
				narrow(&s)
				share, huge := h.agreement(t, s)
				sum += share
				passes := map[string]bool{}
				all := s
				all.Limit = 100_000
				everything, err := h.exact.Search(t.Context(), all)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range everything {
					passes[c.ID] = true
				}
				for _, c := range huge {
					if c.Owner != memtest.Ana || len(everything) < 200 && !passes[c.ID] {
						t.Fatalf("got %s, which the filter does not let pass", c.ID)
					}
				}
			}
			t.Logf("%s: %.3f of the ten best", name, sum/float64(asked))
			if sum/float64(asked) < 0.95 {
				t.Errorf("got %.3f of the ten best, want 0.95 or more", sum/float64(asked))
			}
		})
	}
}

// Words that nobody has are taken for what is meant, as by the resident index: the same is found, with
// the same numbers and for the same reason.
func TestHugeTakesMisspeltWordsForWhatIsMeant(t *testing.T) {
	h := newHugeRig(t, pgtest.Vector(t, true))
	for range 4 {
		h.say(t, memtest.Ana, 50)
	}
	for i, said := range []string{"Margaret was painting in Barcelona", "I am allergic to penicillin", "My job is hard"} {
		if _, err := h.Append(t.Context(), memtest.Ana, memtest.Batch(memtest.Ana, fmt.Sprint("talk ", i), 0, said, h.sentence())); err != nil {
			t.Fatal(err)
		}
	}
	h.build(t, memtest.Ana)
	for question, finds := range map[string]bool{
		"Barcelnoa": true, "alergic to penicilin": true, "paintign": true, "hard ocupation": true, "ocupation": true, "mouse": false, "painting Margaret": true,
	} {
		s := memory.Search{Scopes: []memory.Scope{{Owner: memtest.Ana}}, Text: question, Now: time.Now(), Limit: 200}
		want, err := h.exact.Search(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		_, got := h.agreement(t, s)
		if len(got) != len(want) || finds != (len(got) > 0) {
			t.Errorf("%s finds %d, want %d", question, len(got), len(want))
			continue
		}
		for i, c := range got {
			w := want[i]
			if c.ID != w.ID || math.Abs(float64(c.Found.Lexical-w.Found.Lexical)) > 0.02 || math.Abs(float64(c.Found.Related-w.Found.Related)) > 0.02 || !reflect.DeepEqual(c.Misspelt, w.Misspelt) {
				t.Errorf("%s: got %s with %+v for %v, want %s with %+v for %v", question, c.ID, c.Found, c.Misspelt, w.ID, w.Found, w.Misspelt)
			}
		}
		s.ByWords = true
		if _, got := h.agreement(t, s); finds && len(got) > 0 && got[0].Misspelt != nil {
			t.Errorf("%s: what is compared with what is known is taken for %v", question, got[0].Misspelt)
		}
	}
}
