package vector

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// blendRandom are plausible arguments of [AddBlendedScores].
func blendRandom(r *rand.Rand) (b Blend, scores []float32, counts, reach, kinds []uint8, lengths []int32) {
	b = Blend{Scale: 1.0 / 180, Gain: 1.9, Base: 0.45, IDF: 9 * r.Float32(), Shares: [...]uint16{60, 20, 19, 9}}
	for kind := 1; kind < len(b.Slopes); kind++ {
		b.Slopes[kind] = r.Float32() / 1000
	}
	counts = make([]uint8, BlendDocuments+2*BlendReach)
	for i := range counts {
		if r.IntN(3) == 0 {
			counts[i] = uint8(r.IntN(256) >> r.IntN(8))
		}
	}
	for range BlendDocuments {
		around := uint8(r.IntN(16))
		if r.IntN(4) == 0 {
			around = []uint8{16, 32, 255, 15}[r.IntN(4)]
		}
		scores, reach, kinds = append(scores, float32(r.IntN(3))*r.Float32()), append(reach, around), append(kinds, uint8(r.IntN(4)))
		lengths = append(lengths, int32(r.IntN(1<<r.IntN(20)+1)))
	}
	return b, scores, counts, reach, kinds, lengths
}

// plainBlend is the definition of [AddBlendedScores], one document after the other.
func plainBlend(b Blend, scores []float32, counts, reach, kinds []uint8, lengths []int32) (out []float32, far uint64) {
	out = slices.Clone(scores)
	for n := range out {
		before, after := int(reach[n])%4, int(reach[n])/4
		if after >= 4 {
			far |= 1 << n
			continue
		}
		var sum uint32
		for away := -before; away <= after; away++ {
			sum += uint32(counts[n+BlendReach+away]) * uint32(b.Shares[max(away, -away)])
		}
		out[n] += b.Score(sum, kinds[n], lengths[n])
	}
	return out, far
}

func TestAddBlendIsWhatEachDocumentHas(t *testing.T) {
	onTiers(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(19, 20))
		for range 300 {
			b, scores, counts, reach, kinds, lengths := blendRandom(r)
			want, wantFar := plainBlend(b, scores, counts, reach, kinds, lengths)
			countsFirst, countsLast := guarded(t, counts)
			reachFirst, reachLast := guarded(t, reach)
			kindsFirst, kindsLast := guarded(t, kinds)
			lengthsFirst, lengthsLast := guarded(t, lengths)
			scoresFirst, scoresLast := guarded(t, scores)
			for _, far := range []uint64{
				AddBlendedScores(&b, scoresFirst, countsFirst, reachFirst, kindsFirst, lengthsFirst),
				AddBlendedScores(&b, scoresLast, countsLast, reachLast, kindsLast, lengthsLast),
			} {
				if far != wantFar {
					t.Fatalf("%s: of reach %v far are %b, want %b", Tier(), reach, far, wantFar)
				}
			}
			if !slices.Equal(scoresFirst, want) || !slices.Equal(scoresLast, want) {
				t.Fatalf("%s: got %v and %v, want %v", Tier(), scoresFirst, scoresLast, want)
			}
		}
	})
}

// TestBlendIsBM25 checks one document by hand.
func TestBlendIsBM25(t *testing.T) {
	b := Blend{Scale: 0.5, Gain: 2, Base: 0.25, IDF: 3, Slopes: [4]float32{1: 0.125}, Shares: [...]uint16{4, 2, 1, 1}}
	scores, counts := make([]float32, BlendDocuments), make([]uint8, BlendDocuments+2*BlendReach)
	reach, kinds, lengths := make([]uint8, BlendDocuments), make([]uint8, BlendDocuments), make([]int32, BlendDocuments)
	counts[BlendReach+10], counts[BlendReach+11] = 1, 2
	reach[10], kinds[10], lengths[10] = 1<<2, 1, 2 // the one after it is around it
	AddBlendedScores(&b, scores, counts, reach, kinds, lengths)
	const tf = (1*4 + 2*2) * 0.5
	if want := float32(3 * tf * 2 / (tf + 0.25 + 0.125*2)); scores[10] != want {
		t.Errorf("got %v, want %v", scores[10], want)
	}
}
