package transformer

import "math"

// table holds a row of values for each token of a vocabulary. A large one, of a multilingual model,
// is most of the model: its rows are kept as 8-bit numbers of which the largest is 127.
type table struct {
	width  int
	floats []float32 // of a small vocabulary
	bytes  []int8    // of a large one
	scales []float32 // of each row in bytes
}

// largeTable is the number of tokens from which 8 bits are kept of each value. BERT's English
// vocabulary has 30,522 and multilingual ones have 105,000 to 250,000. The cosine of all-MiniLM-L6-v2's
// vectors to the exact ones would be 0.99990 at least, 0.99999 on average, and its correlation on
// the STS benchmark the same to four digits.
var largeTable = 100_000

// readTable reads a table some rows at a time, so that no more is in memory than stays.
func readTable(from *tensors, name string, rows, width int) (table, error) {
	t := table{width: width}
	if rows < largeTable {
		var err error
		t.floats, err = from.floats(name, int64(rows), int64(width))
		return t, err
	}
	t.bytes, t.scales = make([]int8, 0, rows*width), make([]float32, 0, rows)
	err := from.rows(name, rows, width, func(row []float32) {
		var most float32
		for _, x := range row {
			if x = float32(math.Abs(float64(x))); x > most {
				most = x
			}
		}
		scale := max(most/math.MaxInt8, math.SmallestNonzeroFloat32*(1<<30)) // of a row of zeros, too
		t.scales = append(t.scales, scale)
		for _, x := range row {
			t.bytes = append(t.bytes, int8(math.RoundToEven(float64(x/scale))))
		}
	})
	return t, err
}

// row writes a token's row.
func (t *table) row(to []float32, id int) {
	from := id * t.width
	if t.floats != nil {
		copy(to, t.floats[from:])
		return
	}
	scale := t.scales[id]
	for k, x := range t.bytes[from:][:len(to)] {
		to[k] = float32(x) * scale
	}
}
