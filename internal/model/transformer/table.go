package transformer

import "math"

// embeddingTable has a row of values for each token of a vocabulary. In a multilingual model it is most of the
// model, so the rows of a large vocabulary are stored as 8-bit numbers with a scale.
type embeddingTable struct {
	width     int
	floatRows []float32 // rows of a small vocabulary
	int8Rows  []int8    // rows of a large vocabulary
	scales    []float32 // scale of each row in int8Rows
}

// largeTableRows is the number of tokens from which a table has 8-bit values. BERT's vocabulary has 30,522
// tokens, multilingual vocabularies have 105,000 to 250,000. With 8 bits, all-MiniLM-L6-v2's vectors would have
// a cosine of at least 0.99990 to the exact vectors, 0.99999 on average, and the same correlation on the STS
// benchmark to four digits.
var largeTableRows = 100_000

// readTable reads a table; a large one in small parts, so that float32 rows are not in memory all at once.
func readTable(source *tensors, name string, rows, width int) (embeddingTable, error) {
	t := embeddingTable{width: width}
	if rows < largeTableRows {
		var err error
		t.floatRows, err = source.floats(name, int64(rows), int64(width))
		return t, err
	}
	t.int8Rows, t.scales = make([]int8, 0, rows*width), make([]float32, 0, rows)
	err := source.eachRow(name, rows, width, func(row []float32) {
		var most float32
		for _, x := range row {
			if x = float32(math.Abs(float64(x))); x > most {
				most = x
			}
		}
		scale := max(most/math.MaxInt8, math.SmallestNonzeroFloat32*(1<<30)) // the minimum avoids a division by zero for a row of zeros
		t.scales = append(t.scales, scale)
		for _, x := range row {
			t.int8Rows = append(t.int8Rows, int8(math.RoundToEven(float64(x/scale))))
		}
	})
	return t, err
}

// copyRow copies the row of the token id to dst.
func (t *embeddingTable) copyRow(dst []float32, id int) {
	from := id * t.width
	if t.floatRows != nil {
		copy(dst, t.floatRows[from:])
		return
	}
	scale := t.scales[id]
	for k, x := range t.int8Rows[from:][:len(dst)] {
		dst[k] = float32(x) * scale
	}
}
