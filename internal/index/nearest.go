package index

import (
	"math"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// roundings is how many standard deviations of its rounding errors an int8 product
// is taken to be off at most: what lies further off is seen once in a thousand
// million.
const roundings = 6

// rounding is the standard deviation of an int8 value's rounding error.
const rounding = 0.2887

// margin is how far the product of a question with a vector may be off, both of
// them of unit length.
func margin(question, scale float32) float32 {
	return roundings * rounding * float32(math.Sqrt(float64(question*question+scale*scale)))
}

// pickVectors returns the best by their exact cosine: all vectors are scanned as
// int8, and those rescored that may be among the best for all that rounding can
// do. Vectors of another length are of another model and left out.
func pickVectors(parts []*part, s *memory.Search) []found {
	best := newPicks(s.Limit)
	q := vector.NewQuery(s.Vector)
	scale := largest(s.Vector) / 127 // the step of the question's int8 form
	for i, p := range parts {
		if p.dims != len(s.Vector) {
			continue
		}
		if p.cosine == nil {
			p.cosine = make([]float32, chunkRows)
		}
		most := margin(scale, p.maxScale)
		for j := range p.chunks {
			quant := &p.chunks[j].quant
			rows := len(quant.Scales)
			vector.Scan(q, *quant, p.cosine[:rows])
			docs := p.rowDoc[j*chunkRows : j*chunkRows+rows]
			for row, score := range p.cosine[:rows] {
				if score+most < best.least || docs[row] == none {
					continue
				}
				f := found{part: int32(i), n: docs[row], score: score, margin: margin(scale, quant.Scales[row])}
				if f.score+f.margin >= best.least && p.admits(f.n) {
					best.offer(f)
				}
			}
		}
	}
	best.squeeze()
	for i := range best.list {
		f := &best.list[i]
		f.cosine = parts[f.part].cosineOf(f.n, s.Vector)
		f.score = f.cosine
	}
	return sorted(parts, best.list, s.Limit)
}

// cosineOf returns the exact cosine of a document's vector, 0 without one.
func (p *part) cosineOf(n int32, v []float32) float32 {
	row := p.docs[n].row
	if row == none || p.dims != len(v) {
		return 0
	}
	return vector.DotHalf(v, p.half(row))
}

func largest(v []float32) float32 {
	var most float32
	for _, x := range v {
		most = max(most, x, -x)
	}
	return most
}
