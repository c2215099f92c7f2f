package recall

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

// teas are candidates with decreasing scores by words.
func teas(n int) (Query, []memory.Candidate, time.Time) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	q := NewQuery("which tea does she like?", now, QueryOptions{})
	var out []memory.Candidate
	for i := range n {
		share := 0.6 - 0.02*float32(i)
		out = append(out, memory.Candidate{
			ID: fmt.Sprintf("tea-%02d", i), Kind: memory.KindTurn, At: now, Role: memory.RoleUser, Confidence: 1,
			Measures: memory.Measures{Lexical: share, Own: share, Known: 1},
		})
	}
	return q, out, now
}

func TestARerankerThatSaysTheSameOfAllMovesNothing(t *testing.T) {
	q, cands, now := teas(12)
	want, _ := Rank(q, cands, RankOptions{}, now)
	for _, score := range []float32{0, 0.001, 0.5, 1} {
		o := RankOptions{RerankScores: map[string]float32{}}
		for _, c := range cands[:5] {
			o.RerankScores[c.ID] = score
		}
		got, _ := Rank(q, cands, o, now)
		if !slices.Equal(ids(got), ids(want)) {
			t.Errorf("%v of each: %v, want %v", score, ids(got), ids(want))
		}
		for i := range got {
			if got[i].Score != want[i].Score {
				t.Errorf("%v of each: %s has %v, want %v", score, got[i].ID, got[i].Score, want[i].Score)
			}
		}
	}
}

func TestARerankerLiftsWhatAnswersAndSaysSo(t *testing.T) {
	q, cands, now := teas(12)
	o := RankOptions{RerankScores: map[string]float32{}}
	for _, c := range cands[:8] {
		o.RerankScores[c.ID] = 0.01
	}
	o.RerankScores["tea-06"] = 0.99
	got, _ := Rank(q, cands, o, now)
	if got[0].ID != "tea-06" || got[0].Why.Get("rerank") < 0.98 || got[0].Why.Get("rerank") > 1 {
		t.Errorf("first is %s with %v, want tea-06 with its 0.99", got[0].ID, got[0].Why)
	}
	before, _ := Rank(q, cands, RankOptions{}, now)
	if got[0].Why.Get("relevance") != before[0].Why.Get("relevance") {
		t.Errorf("the best has relevance %v, and without a reranker %v: whether there is an answer is not for it to say",
			got[0].Why.Get("relevance"), before[0].Why.Get("relevance"))
	}
	for _, c := range got {
		if c.ID >= "tea-08" && c.Why.Get("rerank") != 0 {
			t.Errorf("%s was not shown, and has %v", c.ID, c.Why)
		}
	}
}

// A reranker counts more with a larger spread of its scores: the same difference counts less if it
// is the whole spread.
func TestARerankerThatTellsLittleApartCountsLittle(t *testing.T) {
	q, cands, now := teas(12)
	apart := func(score float32) float64 { // by how much tea-03 is before tea-02, in log-odds
		o := RankOptions{RerankScores: map[string]float32{"tea-03": score}}
		for _, c := range cands[:3] {
			o.RerankScores[c.ID] = 0.5
		}
		got, _ := Rank(q, cands, o, now)
		at := map[string]float64{}
		for _, c := range got {
			at[c.ID] = logit(c.Why.Get("relevance"))
		}
		return at["tea-03"] - at["tea-02"]
	}
	before := 0.0
	for _, score := range []float32{0.52, 0.6, 0.8} {
		moved := (apart(score) - apart(0.5)) / logit(float64(score)) // for each unit that it says
		if moved <= before {
			t.Errorf("%v against 0.5: moves by %v for each unit, and a smaller difference by %v", score, moved, before)
		}
		before = moved
	}
}

func TestUnscoredCandidatesKeepTheirRank(t *testing.T) {
	q, cands, now := teas(12)
	o := RankOptions{RerankScores: map[string]float32{}, Limit: 12}
	for i, c := range cands[:4] {
		o.RerankScores[c.ID] = 0.2 * float32(i+1)
	}
	got, _ := Rank(q, cands, o, now)
	list := ids(got)
	for _, c := range cands[4:] {
		for _, shown := range cands[:4] {
			if slices.Index(list, c.ID) < slices.Index(list, shown.ID) && slices.Contains(list, c.ID) {
				t.Errorf("%s, not shown, is before %s: %v", c.ID, shown.ID, list)
			}
		}
	}
}

func TestAThresholdThatIsSetIsOnTheRerankersNumber(t *testing.T) {
	q, cands, now := teas(6)
	least := 0.35
	o := RankOptions{MinRelevance: &least, RerankScores: map[string]float32{"tea-00": 0.2, "tea-01": 0.36, "tea-02": 0.9}}
	got, _ := Rank(q, cands, o, now)
	list := ids(got)
	slices.Sort(list)
	if !slices.Equal(list, []string{"tea-01", "tea-02"}) {
		t.Errorf("%v, want tea-01 and tea-02: at least 0.35 by the reranker", list)
	}
}

// A NaN counts as no score: it neither lowers its candidate nor adds spread to equal scores of
// others.
func TestNaNScoresAreIgnored(t *testing.T) {
	q, cands, now := teas(12)
	order := func(first float32, shown bool) []string {
		o := RankOptions{Limit: 12, RerankScores: map[string]float32{}}
		for i, c := range cands {
			o.RerankScores[c.ID] = 0.5 + float32(i)/1000
		}
		if o.RerankScores[cands[0].ID] = first; !shown {
			delete(o.RerankScores, cands[0].ID)
		}
		got, _ := Rank(q, cands, o, now)
		return ids(got)
	}
	if got, want := order(float32(math.NaN()), true), order(0, false); !slices.Equal(got, want) {
		t.Errorf("with no number %v, unsaid %v", got, want)
	}
}
