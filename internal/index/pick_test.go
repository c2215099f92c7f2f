package index

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

func snapshotOf(src *source, owner memory.Owner) *Snapshot {
	return Build(src.reference()[owner])
}

// all returns everything that a search may find, the best first.
func all(t *testing.T, x memory.Searcher, s memory.Search) []memory.Candidate {
	t.Helper()
	s.Limit = 1 << 20
	return try(x.Search(context.Background(), s)).orFail(t)
}

// Common words are scored for few documents only, and nothing may be seen of that.
func TestPruningChangesNothing(t *testing.T) {
	src, owner := big(8000, 16)
	x := snapshotOf(src, owner)
	r := rand.New(rand.NewPCG(3, 4))
	zipf := rand.NewZipf(r, 1.2, 8, 20000)
	pruned := 0
	for i := range 18 {
		s := memory.Search{Scopes: []memory.Scope{{Owner: owner}}, Limit: 20}
		s.Text = fmt.Sprintf("w%dq w%dq w%dq w%dq w%dq", zipf.Uint64(), zipf.Uint64(), zipf.Uint64(), r.IntN(3), 100+r.IntN(500))
		switch i % 3 {
		case 1:
			s.Vector = make([]float32, 16)
			s.Vector[r.IntN(16)] = 1
		case 2:
			s.Conversation = fmt.Sprint(r.IntN(8000 / 30))
		}
		p := openSegment(&x.shards[0].contents, &s)
		p.findPostings(uniqueTerms(text.Terms(s.Text)))
		best := new(topPicks)
		best.reset(s.Limit, math.SmallestNonzeroFloat32)
		scoreWords([]*segment{p}, len(p.postingLists)/2, func(int) float64 { return 1 }, best, func() {})
		if p.pruned {
			pruned++
		}
		p.reset()
		got := try(x.Search(context.Background(), s)).orFail(t)
		want := map[string]memory.Candidate{}
		whole := all(t, x, s)
		for _, c := range whole {
			want[c.ID] = c
		}
		byWords := func(c memory.Candidate) float64 { return float64(c.Measures.Lexical + relatedShare*c.Measures.Related) }
		slices.SortStableFunc(whole, func(a, b memory.Candidate) int { return cmp.Compare(byWords(b), byWords(a)) })
		found := map[string]bool{}
		for _, c := range got {
			found[c.ID] = true
			if c.Measures != want[c.ID].Measures || c.Score != want[c.ID].Score {
				t.Fatalf("search %q: %s has %v, and %v when nothing is pruned", s.Text, c.ID, c.Measures, want[c.ID].Measures)
			}
		}
		keep := s.Limit
		if s.Vector != nil {
			keep -= s.Limit / 4
		}
		keep = min(keep, len(whole))
		for _, c := range whole[:keep] { // equals may be others
			if byWords(c) > byWords(whole[keep-1]) && !found[c.ID] {
				t.Fatalf("search %q: %s with %v by words is missing", s.Text, c.ID, byWords(c))
			}
		}
	}
	if pruned < 4 {
		t.Errorf("%d of 18 searches were pruned: this shows nothing", pruned)
	}
}

// However few pass a filter, all of them are found.
func TestNarrowFiltersAreFilled(t *testing.T) {
	src, owner := big(5000, 16)
	var items []memory.IndexItem
	for i := range 7 {
		v := make([]float32, 16)
		v[i] = 1
		items = append(items, memory.IndexItem{Vector: v, Memory: memory.Memory{Fact: &memory.Fact{
			ID: fmt.Sprintf("fact%d", i), Scope: memory.Scope{Owner: owner, Project: "p"}, Tags: []string{"rare"}, Category: "food",
			Content: "w0q and nothing else", Status: memory.Active, Confidence: 0.5,
		}}})
	}
	src.put(owner, items...)
	x := snapshotOf(src, owner)
	for name, s := range map[string]memory.Search{
		"kind":     {Kinds: []memory.Kind{memory.KindFact}},
		"tag":      {Tag: "rare"},
		"category": {Category: "food"},
	} {
		for _, vec := range [][]float32{nil, append(make([]float32, 15), 1)} {
			s.Scopes, s.Text, s.Vector, s.Limit = []memory.Scope{{Owner: owner}}, "w0q w1q", vec, 5
			got, err := x.Search(context.Background(), s)
			if err != nil || len(got) != 5 {
				t.Errorf("%s: %d found, %v; want 5", name, len(got), err)
			}
			s.Limit = 50
			if got := all(t, x, s); len(got) != 7 {
				t.Errorf("%s: %d found in all, want 7", name, len(got))
			}
			s.Text = "nothing of it"
			if got := all(t, x, s); vec != nil && len(got) != 7 {
				t.Errorf("%s by vector: %d found, want 7", name, len(got))
			}
		}
	}
	conversation := memory.Search{Scopes: []memory.Scope{{Owner: owner}}, Conversation: "77", Text: "w0q", Vector: append(make([]float32, 15), 1), Limit: 200}
	if got := all(t, x, conversation); len(got) != 30 {
		t.Errorf("%d found in a conversation of 30 turns", len(got))
	}
}

func TestIDsComeBackAsTheyWent(t *testing.T) {
	for id, uuid := range map[string]bool{
		"0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b":  true,
		"0190A1B2-c3d4-7e5f-8a6b-7c8d9e0f1a2b":  false,
		"0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2":   false,
		"0190a1b2ac3d4-7e5f-8a6b-7c8d9e0f1a2b":  false,
		"0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2bc": false,
		"0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a-b":  false,
		"":                                      false, "m0001": false,
	} {
		k, ok := keyOf(id)
		if ok != uuid {
			t.Errorf("keyOf(%q): a UUID is %v, want %v", id, ok, uuid)
		}
		if got := string(appendUUID(nil, k)); ok && got != id {
			t.Errorf("%q came back as %q", id, got)
		}
	}
}

// What is best may not be wanted: the bound that it foretells is then too high, and no
// fewer are found for that.
func TestTheBestAreExcluded(t *testing.T) {
	const limit, away = 40, 500
	src, owner := bigSparse(8000, 64, 8)
	x := snapshotOf(src, owner)
	question := src.owners[owner].steps[17]
	for name, s := range map[string]memory.Search{
		"words":   {Text: "w1q w2q w300q"},
		"vectors": {Vector: question.Vector},
	} {
		t.Run(name, func(t *testing.T) {
			s.Scopes = []memory.Scope{{Owner: owner}}
			var want []string
			s.ExcludedIDs = map[string]bool{}
			for i, c := range all(t, x, s) {
				if i < away {
					s.ExcludedIDs[c.ID] = true
				} else if len(want) < limit/2 { // so many are picked by vector alone
					want = append(want, c.ID)
				}
			}
			s.Limit = limit
			got := try(x.Search(t.Context(), s)).orFail(t)
			if len(got) < len(want) {
				t.Fatalf("got %d, want %d at least", len(got), len(want))
			}
			for i, id := range want {
				if got[i].ID != id {
					t.Fatalf("at %d got %s, want %s", i, got[i].ID, id)
				}
			}
		})
	}
}

// TestByVectorFindsTheNearest finds nothing by words, unless no vector is compared.
func TestByVectorFindsTheNearest(t *testing.T) {
	src, owner := big(2000, 16)
	x := snapshotOf(src, owner)
	s := memory.Search{Scopes: []memory.Scope{{Owner: owner}}, Text: "w1q w2q w3q", PreferVectors: true, Vector: make([]float32, 16)}
	s.Vector[3] = 1
	every := all(t, x, s)
	slices.SortFunc(every, func(a, b memory.Candidate) int { return cmp.Compare(b.Measures.Vector, a.Measures.Vector) })
	s.Limit = 15
	got, err := x.Search(context.Background(), s)
	if err != nil || len(got) != s.Limit {
		t.Fatalf("%d candidates, %v", len(got), err)
	}
	for _, c := range got {
		if c.Measures.Vector < every[s.Limit-1].Measures.Vector {
			t.Errorf("%s has the cosine %v, and %d others have more than %v", c.ID, c.Measures.Vector, s.Limit, every[s.Limit-1].Measures.Vector)
		}
	}
	s.Vector = nil
	if got, err = x.Search(context.Background(), s); err != nil || len(got) == 0 || got[0].Measures.Lexical == 0 {
		t.Errorf("without a vector %d are found, %v; want those with the words", len(got), err)
	}
}
