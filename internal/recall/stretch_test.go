package recall

import (
	"math"
	"slices"
	"testing"
)

func TestWhereAModelsCosinesLieDoesNotChangeWhatIsFound(t *testing.T) {
	q, cands, now := teas(30)
	for i := range cands {
		cands[i].Measures.Vector = 0.12 + 0.02*float32(i)
	}
	want, _ := Rank(q, cands, RankOptions{}, now)
	for i := range cands { // as a model gives them whose unrelated texts lie at 0.7
		cands[i].Measures.Vector = 1 - (1-cands[i].Measures.Vector)*0.3/0.9
	}
	got, _ := Rank(q, cands, RankOptions{BackgroundCosine: 0.7}, now)
	raw, _ := Rank(q, cands, RankOptions{}, now)
	if !slices.Equal(ids(got), ids(want)) || math.Abs(got[0].Score-want[0].Score) > 1e-5 {
		t.Errorf("%v with %v, want %v with %v", ids(got), got[0].Score, ids(want), want[0].Score)
	}
	if raw[0].Score == want[0].Score {
		t.Error("without the background the score is the same, and the test tests nothing")
	}
}
