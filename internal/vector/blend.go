package vector

import "unsafe"

// BlendDocuments is how many documents are scored together, and BlendAway how far what is
// counted around one may be.
const (
	BlendDocuments = 64
	BlendAway      = 3
)

// Blend says what words add to a document's score: their BM25, of what is counted of them in
// the document and, for a share of it, in those right before and after it. Kernels know how
// its fields lie.
type Blend struct {
	Scale  float32               // of a sum of shares, to a term frequency
	Gain   float32               // k1 + 1
	Base   float32               // k1 (1 - b)
	IDF    float32               // inverse document frequency of the words
	Slopes [4]float32            // k1 b / mean length, by kind of document
	Shares [BlendAway + 1]uint16 // of a count in the document, and one, two and three away
}

// AddBlend adds what the words are worth to the scores of so many documents. counts begins
// BlendAway before the first document and ends as many behind the last. reach is how many
// of the documents before one, and, four times, of those after it are around it; one where
// it is 16 or more is left as it is, and its bit is set in far, the first document's the
// lowest. Shares of all that can be counted around a document add up to less than 65536.
func AddBlend[R, K ~uint8](b *Blend, scores []float32, counts []uint8, reach []R, kinds []K, lengths []int32) (far uint64) {
	return blend(b, scores[:BlendDocuments], counts[:BlendDocuments+2*BlendAway], bytesOf(reach[:BlendDocuments]), bytesOf(kinds[:BlendDocuments]),
		lengths[:BlendDocuments])
}

// bytesOf returns x as plain bytes.
func bytesOf[T ~uint8](x []T) []uint8 {
	return unsafe.Slice((*uint8)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

func blendPortable(b *Blend, scores []float32, counts, reach, kinds []uint8, lengths []int32) (far uint64) {
	for n := range scores {
		if reach[n] > 15 {
			far |= 1 << n
			continue
		}
		at := n + BlendAway
		sum := uint32(counts[at]) * uint32(b.Shares[0])
		for away := 1; away <= int(reach[n]&3); away++ {
			sum += uint32(counts[at-away]) * uint32(b.Shares[away])
		}
		for away := 1; away <= int(reach[n]>>2); away++ {
			sum += uint32(counts[at+away]) * uint32(b.Shares[away])
		}
		scores[n] += b.Of(sum, kinds[n], lengths[n])
	}
	return far
}

// Of is what the words are worth to a document of a kind and length in which their shares
// add up to sum.
func (b *Blend) Of(sum uint32, kind uint8, length int32) float32 {
	// Each step is rounded by itself: no processor is to fuse two of them.
	tf := float32(float32(sum) * b.Scale)
	below := float32(tf+b.Base) + float32(b.Slopes[kind]*float32(length))
	return b.IDF * tf * b.Gain / below
}
