package recall

import (
	"math"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

// aged is a candidate observed so many days ago and changed today.
func aged(id string, days int) memory.Candidate {
	c := candidate(id, "lexical", .9, "known", 1.)
	c.Kind, c.At, c.StatedAt, c.Confidence = memory.KindFact, now, now.AddDate(0, 0, -days), 1
	return c
}

// TestDecayMultipliesRelevance is design 3, 5: final = score · decay(now − created_at).
func TestDecayMultipliesRelevance(t *testing.T) {
	zero := 0.0
	o := RankOptions{MinAnswerRelevance: &zero, MinRelevance: &zero, DecayTime: 30 * 24 * time.Hour}
	kept, _ := Rank(NewQuery("Which tea?", now, QueryOptions{}), []memory.Candidate{aged("old", 60), aged("new", 0)}, o, now)
	if kept[0].ID != "new" {
		t.Errorf("order %v, want the new one first", ids(kept))
	}
	for i, share := range []float64{1, math.Exp(-2)} {
		relevance, score := kept[i].Why.Get("relevance"), kept[i].Why.Get("score")
		if math.Abs(score-relevance*share) > 1e-9 {
			t.Errorf("%s scores %v of relevance %v, want %v of it", kept[i].ID, score, relevance, share)
		}
	}
}

func TestAgeCountsFromTheSettingsDate(t *testing.T) {
	zero, half := 0.0, 0.5
	for _, c := range []struct {
		sinceSaid bool
		want      float64
	}{{false, 1}, {true, math.Exp(-1)}} {
		o := RankOptions{MinAnswerRelevance: &zero, MinRelevance: &zero, RecencyWeight: &half, AgeFromStatement: c.sinceSaid}
		kept, _ := Rank(NewQuery("Which tea?", now, QueryOptions{}), []memory.Candidate{aged("a", 30)}, o, now)
		if got := kept[0].Why.Get("recency"); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("since it was said %v: recency %v, want %v", c.sinceSaid, got, c.want)
		}
	}
}
