package vector

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPeaksAreOfEachGroup(t *testing.T) {
	nan := float32(math.NaN())
	onTiers(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(21, 22))
		for n := range 600 {
			scores := random(r, n)
			for range n / 8 {
				scores[r.IntN(n)] = []float32{1, nan, 0, float32(math.Inf(-1))}[r.IntN(4)]
			}
			checkPeaks(t, scores)
		}
	})
}

func checkPeaks(t *testing.T, scores []float32) {
	t.Helper()
	want := []float32{7}
	for from := 0; from < len(scores); from += 128 {
		piece := scores[from:min(from+128, len(scores))]
		for group := range min(8, len(piece)) {
			most := float32(math.Inf(-1))
			for i := group; i < len(piece); i += 8 {
				if piece[i] > most {
					most = piece[i]
				}
			}
			want = append(want, most)
		}
	}
	first, last := guarded(t, scores)
	for _, from := range [][]float32{first, last} {
		if got := Peaks([]float32{7}, from); !slices.Equal(got, want) {
			t.Fatalf("%s: of %v got %v, want %v", Tier(), scores, got, want)
		}
	}
}
