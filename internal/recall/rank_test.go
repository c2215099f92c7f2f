package recall

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

func TestConfidenceWeighsIn(t *testing.T) {
	sure, unsure := candidate("b", "lexical", .9, "known", 1.), candidate("a", "lexical", .9, "known", 1.)
	sure.Kind, unsure.Kind = memory.KindFact, memory.KindFact
	sure.Confidence, unsure.Confidence = .95, .4
	zero := 0.0
	kept, _ := Rank(NewQuery("Which tea?", now, QueryOptions{}), []memory.Candidate{unsure, sure}, RankOptions{MinAnswerRelevance: &zero, MinRelevance: &zero}, now)
	if kept[0].ID != "b" {
		t.Errorf("order %v, want the surer fact first", ids(kept))
	}
	if a, b := kept[1].Why.Get("confidence"), kept[0].Why.Get("confidence"); a >= b || b > 1 || kept[1].Why.Get("relevance") != kept[0].Why.Get("relevance") {
		t.Errorf("confidence multiplies by %v and %v, want less for the unsure one and the same relevance", a, b)
	}
}

func TestALowBarShowsWhatIsThere(t *testing.T) {
	far := []memory.Candidate{candidate("a"), candidate("b")} // nothing of the question
	if kept, _ := Rank(NewQuery("Which tea?", now, QueryOptions{}), far, RankOptions{}, now); len(kept) != 0 {
		t.Errorf("by default %v are shown, want none", ids(kept))
	}
	zero := 0.0
	if kept, _ := Rank(NewQuery("Which tea?", now, QueryOptions{}), far, RankOptions{MinRelevance: &zero}, now); len(kept) != 2 {
		t.Errorf("with a threshold of 0 %v are shown, want both", ids(kept))
	}
}

// oddNumbers are possible numbers of a broken searcher.
var oddNumbers = []float64{0, 1, -1, .5, 1e300, -1e300, math.NaN(), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64}

// anyCandidates returns n candidates with all kinds of numbers, times and vectors.
func anyCandidates(r *rand.Rand, n int) []memory.Candidate {
	var out []memory.Candidate
	pick := func() float64 {
		if r.IntN(3) > 0 {
			return r.Float64()
		}
		return oddNumbers[r.IntN(len(oddNumbers))]
	}
	for i := range n {
		c := candidate(fmt.Sprintf("m%03d", i))
		for _, name := range []string{"lexical", "own", "related", "vector", "known", "reply", "session", "peak"} {
			if r.IntN(4) > 0 {
				*measure(&c, name) = float32(pick())
			}
		}
		c.Kind = []memory.Kind{memory.KindTurn, memory.KindFact, memory.KindSummary}[r.IntN(3)]
		c.Role = []memory.Role{memory.RoleUser, memory.RoleAssistant, ""}[r.IntN(3)]
		c.Speaker = []string{"", "Ana", "Bob Lee", "?"}[r.IntN(4)]
		c.Confidence, c.TextFlags, c.Classes = pick(), memory.TextFlags(r.IntN(32)), r.Uint32()
		c.At = []time.Time{{}, now, now.AddDate(5, 0, 0), now.AddDate(0, 0, -r.IntN(900)), time.Unix(1<<40, 0)}[r.IntN(5)]
		c.StatedAt = c.At
		for range []int{0, 1, 3, 3, 3}[r.IntN(5)] {
			c.Vector = append(c.Vector, []uint16{0, vector.EncodeHalf(1), 0x7e00, 0x7c00, 0xfc00, uint16(r.Uint32())}[r.IntN(6)])
		}
		if r.IntN(2) == 0 {
			c.Dates = []memory.PartialDate{{Year: 2026, Month: int8(r.IntN(13)), Day: int8(r.IntN(32))}}
		}
		out = append(out, c)
	}
	return out
}

func TestRankInvariantsHoldForAnyInput(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	questions := []string{"When did Ana move in May 2024?", "", "What do I like?", "How many dogs does Bob have?", "東京？", "what " + "is this and that "}
	for range 500 {
		cs := anyCandidates(r, r.IntN(120))
		o := RankOptions{Limit: r.IntN(30) - 1}
		if r.IntN(2) == 0 {
			zero, x := 0.0, oddNumbers[r.IntN(len(oddNumbers))]
			o.MinAnswerRelevance, o.MinRelevance, o.RecencyWeight, o.Lambda = &zero, &zero, &x, &x
		}
		q := NewQuery(questions[r.IntN(len(questions))], now, QueryOptions{})
		kept, cut := Rank(q, cs, o, now)
		r.Shuffle(len(cs), func(i, j int) { cs[i], cs[j] = cs[j], cs[i] })
		again, cutAgain := Rank(q, cs, o, now)
		if !slices.Equal(ids(kept), ids(again)) || len(cut) != len(cutAgain) {
			t.Fatalf("order depends on the input's: %v, %v", ids(kept), ids(again))
		}
		last := math.Inf(1)
		for _, c := range kept {
			for _, p := range c.Why {
				if slices.Contains([]string{"fused", "relevance", "recency", "confidence", "mmr", "score"}, p.Name) && math.IsNaN(p.Value) {
					t.Fatalf("%s of %s is not a valid number: %v", p.Name, c.ID, c.Why)
				}
			}
			for _, name := range []string{"relevance", "recency", "confidence", "score"} {
				if x := c.Why.Get(name); x < 0 || x > 1 {
					t.Fatalf("%s is %v, outside 0 to 1: %v", name, x, c.Why)
				}
			}
			if c.Score != c.Why.Get("score") || c.Why.Get("mmr") > last {
				t.Fatalf("%s has score %v and mmr after %v: %v", c.ID, c.Score, last, c.Why)
			}
			last = c.Why.Get("mmr")
		}
		for i := 1; i < len(cut); i++ {
			if cut[i].Stage == cut[i-1].Stage && cut[i].Stage != "limit" && cut[i].Score > cut[i-1].Score {
				t.Fatalf("what is cut is not in order: %v before %v", cut[i-1].Score, cut[i].Score)
			}
		}
	}
}
