package recall

import (
	"math"
	"slices"
	"testing"
)

func TestStretchedCosinesKeepTheirOrderAndTheirEnds(t *testing.T) {
	for _, background := range []float64{-1, 0, usualBackground} {
		if s := stretchOf(background); s != 1 {
			t.Errorf("a background of %v stretches by %v, want 1", background, s)
		}
	}
	if s := stretchOf(math.NaN()); s != 1 {
		t.Errorf("no number stretches by %v, want 1", s)
	}
	for _, background := range []float64{0.2, 0.5, 0.7, 0.95} {
		s := stretchOf(background)
		if got := stretched(1, s); got != 1 {
			t.Errorf("%v: 1 becomes %v", background, got)
		}
		if got := stretched(background, s); math.Abs(got-usualBackground) > 1e-9 {
			t.Errorf("%v becomes %v, want %v", background, got, usualBackground)
		}
		if got := stretched(0, s); got != 0 {
			t.Errorf("no vector becomes %v", got)
		}
		last := -1.0
		for c := 0.01; c <= 1; c += 0.01 {
			if got := stretched(c, s); got < last {
				t.Errorf("%v: %v becomes %v, less than what was smaller", background, c, got)
			} else {
				last = got
			}
		}
	}
	if s := stretchOf(1); math.IsInf(s, 0) || s < 1 {
		t.Errorf("all alike stretches by %v", s)
	}
}

func TestWhereAModelsCosinesLieDoesNotChangeWhatIsFound(t *testing.T) {
	q, cands, now := teas(30)
	for i := range cands {
		cands[i].Found.Vector = 0.12 + 0.02*float32(i)
	}
	want, _ := Rank(q, cands, Options{}, now)
	for i := range cands { // as a model gives them whose unrelated texts lie at 0.7
		cands[i].Found.Vector = 1 - (1-cands[i].Found.Vector)*0.3/0.9
	}
	got, _ := Rank(q, cands, Options{Background: 0.7}, now)
	raw, _ := Rank(q, cands, Options{}, now)
	if !slices.Equal(ids(got), ids(want)) || math.Abs(got[0].Score-want[0].Score) > 1e-5 {
		t.Errorf("%v with %v, want %v with %v", ids(got), got[0].Score, ids(want), want[0].Score)
	}
	if raw[0].Score == want[0].Score {
		t.Error("without the background the score is the same, and the test tests nothing")
	}
}

func TestAPlaceIsWhatIsStretchedToIt(t *testing.T) {
	for _, background := range []float64{0, usualBackground, 0.5, 0.7, 1} {
		if got := stretched(Place(0.9, background), stretchOf(background)); math.Abs(got-0.9) > 1e-9 {
			t.Errorf("%v: the place of 0.9 is stretched to %v", background, got)
		}
	}
	if got := Place(0.9, 0); got != 0.9 {
		t.Errorf("by the embedder that is fitted 0.9 is at %v", got)
	}
}
