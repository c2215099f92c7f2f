package recall

import (
	"math"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// TestPlainMeasuresAreTheDesignsScores: design 4's formula with a reranker, a cosine without.
func TestPlainMeasuresAreTheDesignsScores(t *testing.T) {
	now := time.Date(2026, 5, 3, 9, 0, 0, 0, time.UTC)
	row := func(x, y float32) []uint16 { return []uint16{vector.EncodeHalf(x), vector.EncodeHalf(y)} }
	cands := []memory.Candidate{
		{ID: "new", At: now, Confidence: 0.2, Vector: row(1, 0), Measures: memory.Measures{Vector: 0.5}},
		{ID: "alike", At: now, Confidence: 1, Vector: row(0.8, 0.6), Measures: memory.Measures{Vector: 0.6}},
		{ID: "old", At: now.AddDate(0, 0, -30), Confidence: 1, Vector: row(0, 1), Measures: memory.Measures{Vector: 0.4, Lexical: 1, Own: 1}},
		{ID: "unread", At: now, Vector: row(0, 1), Measures: memory.Measures{Vector: 0.9}},
		{ID: "low", At: now, Vector: row(0, 1), Measures: memory.Measures{Vector: 0.1}},
	}
	least, none := 0.35, 0.0
	o := RankOptions{Measure: Reranker, MinRelevance: &least, RerankScores: map[string]float32{"new": 0.9, "alike": 0.8, "old": 0.7, "low": 0.3}}
	kept, _ := Rank(NewQuery("Where do I live?", now, QueryOptions{}), cands, o, now)
	scores := map[string]float64{"new": 0.8*0.9 + 0.2, "alike": 0.8*0.8 + 0.2, "old": 0.8*0.7 + 0.2*math.Exp(-1)}
	// 0.7·0.84 - 0.3·0.8 is less than 0.7·0.6336.
	wantOrder(t, kept, scores, "new", "old", "alike")

	o = RankOptions{Measure: Cosine, MinRelevance: &least, RecencyWeight: &none}
	whole := 1.0
	o.Lambda = &whole
	kept, _ = Rank(NewQuery("Where do I live?", now, QueryOptions{}), cands, o, now)
	wantOrder(t, kept, map[string]float64{"unread": 0.9, "alike": 0.6, "new": 0.5, "old": 0.4}, "unread", "alike", "new", "old")
}

func wantOrder(t *testing.T, kept []memory.Candidate, scores map[string]float64, ids ...string) {
	t.Helper()
	var got []string
	for _, c := range kept {
		got = append(got, c.ID)
		if math.Abs(c.Score-scores[c.ID]) > 1e-6 {
			t.Errorf("%s has the score %v, want %v", c.ID, c.Score, scores[c.ID])
		}
	}
	if len(got) != len(ids) {
		t.Fatalf("kept %q, want %q", got, ids)
	}
	for i := range ids {
		if got[i] != ids[i] {
			t.Errorf("kept %q, want %q", got, ids)
		}
	}
}
