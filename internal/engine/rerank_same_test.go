package engine

import (
	"testing"
)

// cone is an embedder by which unrelated texts have the cosine of its background.
type cone struct {
	alike
	background float64
}

func (c *cone) Background() float64 { return c.background }

// By an embedder whose unrelated texts lie at 0.7, a cosine of 0.93 is far from the same:
// it lies where 0.79 does by one whose unrelated texts lie at 0.1.
func TestWhatSaysTheSameDependsOnWhereUnrelatedTextsLie(t *testing.T) {
	for _, c := range []struct {
		background, cosine float64
		same               bool
	}{
		{0, 0.93, true}, {0.1, 0.93, true}, {0.1, 0.89, false},
		{0.7, 0.93, false}, {0.7, 0.96, false}, {0.7, 0.97, true}, {0.95, 0.99, false}, {0.95, 0.996, true},
	} {
		r := newRig(t, stores["inmem"])
		e := again(t, r.Store, r.clock, &cone{background: c.background})
		if got := c.cosine >= e.Retrieve.DuplicateScore(); got != c.same {
			t.Errorf("unrelated texts at %v: a cosine of %v is the same: %v (from %v on), want %v", c.background, c.cosine, got, e.Retrieve.DuplicateScore(), c.same)
		}
	}
}
