package vector

import "unsafe"

// BlendDocuments is the number of documents that [AddBlendedScores] scores. BlendReach is the maximum distance
// of a neighbour whose words count for a document too.
const (
	BlendDocuments = 64
	BlendReach     = 3
)

// Blend has the parameters of a word's BM25 scores. The word's count in a document also includes, with lower
// weights, its counts in the neighbours before and after. Kernels depend on the layout of this struct.
type Blend struct {
	Scale  float32                // factor that converts a weighted sum of counts to a term frequency
	Gain   float32                // k1 + 1
	Base   float32                // k1 (1 - b)
	IDF    float32                // inverse document frequency of the word
	Slopes [4]float32             // k1 b / mean length, by kind of document
	Shares [BlendReach + 1]uint16 // weights of a count in the document itself, and in documents at distances 1, 2 and 3
}

// AddBlendedScores adds a word's contribution to the documents' scores. counts are the word's counts by
// document, from BlendReach before the first document to BlendReach after the last. reach[i] is the number of
// neighbours before document i plus four times the number after. A document whose reach is 16 or more is
// skipped, and bit i of far is set. The sum of weighted counts around a document must be below 65536.
func AddBlendedScores[R, K ~uint8](b *Blend, scores []float32, counts []uint8, reach []R, kinds []K, lengths []int32) (far uint64) {
	return blend(b, scores[:BlendDocuments], counts[:BlendDocuments+2*BlendReach], bytesOf(reach[:BlendDocuments]), bytesOf(kinds[:BlendDocuments]),
		lengths[:BlendDocuments])
}

func bytesOf[T ~uint8](x []T) []uint8 {
	return unsafe.Slice((*uint8)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

func blendPortable(b *Blend, scores []float32, counts, reach, kinds []uint8, lengths []int32) (far uint64) {
	for n := range scores {
		if reach[n] > 15 {
			far |= 1 << n
			continue
		}
		at := n + BlendReach
		sum := uint32(counts[at]) * uint32(b.Shares[0])
		for away := 1; away <= int(reach[n]&3); away++ {
			sum += uint32(counts[at-away]) * uint32(b.Shares[away])
		}
		for away := 1; away <= int(reach[n]>>2); away++ {
			sum += uint32(counts[at+away]) * uint32(b.Shares[away])
		}
		scores[n] += b.Score(sum, kinds[n], lengths[n])
	}
	return far
}

// Score returns the word's contribution to a document of this kind and length. sum is the sum of weighted
// counts.
func (b *Blend) Score(sum uint32, kind uint8, length int32) float32 {
	// the conversions round each step, so that the compiler does not fuse two steps on some processors
	tf := float32(float32(sum) * b.Scale)
	below := float32(tf+b.Base) + float32(b.Slopes[kind]*float32(length))
	return b.IDF * tf * b.Gain / below
}
