// Package tensor is float32 arithmetic on the activations of a neural network:
// matrix products with weights that are packed once, GELU, softmax and layer
// normalization. It knows no models. Matrices are row-major.
//
// It uses the instructions that [vector.Tier] names. Every sum of a product runs
// over k in order, fused, so that AVX2 and AVX-512 give the same bits; without them
// the same sums are rounded after each product and differ in the last place.
package tensor

// columns is the width of a panel: two AVX-512 registers.
const columns = 32

// Weights is a matrix in the order in which products read it: panels of 32 columns,
// in each the 32 values of every k, one k after the other. The last panel is filled
// up with zeros.
type Weights struct {
	depth, width int
	panels       []float32
}

// Depth is how long a row must be that is multiplied with w.
func (w *Weights) Depth() int { return w.depth }

// Width is how long the product of a row with w is.
func (w *Weights) Width() int { return w.width }

// Pack returns the matrix whose columns are given one after the other, each depth
// long: a layer's weights as PyTorch stores them. It panics if m is no whole number
// of columns.
func Pack(m []float32, depth int) *Weights {
	if depth <= 0 || len(m)%depth != 0 {
		panic("tensor: weights are no whole number of columns")
	}
	w := &Weights{}
	w.PackColumns(m, depth, depth, len(m)/depth)
	return w
}

// PackColumns makes w the matrix of so many columns, of which column j is
// m[j*stride:][:depth]. The memory of w is used again where it suffices.
func (w *Weights) PackColumns(m []float32, stride, depth, width int) {
	w.resize(depth, width)
	for j := range width {
		panel := w.panels[j/columns*columns*depth+j%columns:]
		for k, x := range m[j*stride:][:depth] {
			panel[k*columns] = x
		}
	}
}

// PackRows makes w the matrix of which row k is m[k*stride:][:width].
func (w *Weights) PackRows(m []float32, stride, depth, width int) {
	w.resize(depth, width)
	for k := range depth {
		row := m[k*stride:][:width]
		for at := k * columns; len(row) > 0; at += columns * depth {
			n := copy(w.panels[at:at+columns], row)
			row = row[n:]
		}
	}
}

// Whole counts the columns of zeros that fill up the last panel as columns too: a
// product that wide is written without a detour.
func (w *Weights) Whole() *Weights {
	w.width = (w.width + columns - 1) / columns * columns
	return w
}

func (w *Weights) resize(depth, width int) {
	n := (width + columns - 1) / columns * columns * depth
	if cap(w.panels) < n {
		w.panels = make([]float32, n)
	}
	w.depth, w.width, w.panels = depth, width, w.panels[:n]
	if width%columns != 0 { // what is beyond the last column may be left from before
		clear(w.panels[n-columns*depth:])
	}
}

// Matrix is rows of values in a slice that others may lie in too: row i is
// Data[i*Stride:], as long as its reader expects.
type Matrix struct {
	Data   []float32
	Stride int // from one row to the next, in values
	Rows   int
}

// holds panics unless every row of m is so long.
func (m Matrix) holds(width int) {
	if m.Rows > 0 && (m.Stride < width || len(m.Data) < (m.Rows-1)*m.Stride+width) {
		panic("tensor: the matrix is too small")
	}
}

// Multiply sets dst = a·w, or adds a·w to dst if add is true. dst has a's number of
// rows; they must not overlap.
func Multiply(dst, a Matrix, w *Weights, add bool) {
	dst.Rows = a.Rows
	a.holds(w.depth)
	dst.holds(w.width)
	if a.Rows > 0 && w.depth > 0 && w.width > 0 {
		multiply(dst, a, w, add)
	}
}

// rowsAtOnce is how many rows are multiplied with one panel after another, before
// the next rows are: that many stay in the processor's second cache.
const rowsAtOnce = 96

// tile computes one tile of a product: rows of a times one panel. It may have fetched
// what lies so many values ahead of the panel.
type tile func(dst, a Matrix, panel []float32, depth, ahead int, add bool)

// inTiles multiplies by tiles of at most so many rows and all columns of a panel.
func inTiles(dst, a Matrix, w *Weights, add bool, most int, each tile) {
	var edge []float32
	if w.width%columns != 0 {
		edge = make([]float32, most*columns)
	}
	for top := 0; top < a.Rows; top += rowsAtOnce {
		bottom := min(top+rowsAtOnce, a.Rows)
		// Tiles of nearly one height: a tile of few rows waits for its panel.
		height := (bottom - top + most - 1) / most
		height = (bottom - top + height - 1) / height
		for left := 0; left < w.width; left += columns {
			panel := w.panels[left*w.depth:][:columns*w.depth]
			width := min(columns, w.width-left)
			for row := top; row < bottom; row += height {
				n := min(height, bottom-row)
				from := Matrix{a.Data[row*a.Stride:], a.Stride, n}
				to := Matrix{dst.Data[row*dst.Stride+left:], dst.Stride, n}
				ahead := 0
				if row == top { // the first tile has the next panel fetched
					ahead = len(panel)
				}
				if width == columns {
					each(to, from, panel, w.depth, ahead, add)
					continue
				}
				each(Matrix{edge, columns, n}, from, panel, w.depth, ahead, false)
				for i := range n {
					put(to.Data[i*to.Stride:][:width], edge[i*columns:], add)
				}
			}
		}
	}
}

func put(dst, v []float32, add bool) {
	if !add {
		copy(dst, v)
		return
	}
	for i := range dst {
		dst[i] += v[i]
	}
}

func multiplyPortable(dst, a Matrix, w *Weights, add bool) {
	inTiles(dst, a, w, add, 1, rowPortable)
}

// rowPortable multiplies one row with a panel, four columns at a time.
func rowPortable(dst, a Matrix, panel []float32, depth, _ int, add bool) {
	row, out := a.Data[:depth], dst.Data[:columns]
	for j := 0; j < columns; j += 4 {
		var s0, s1, s2, s3 float32
		p := panel[j:]
		for k, x := range row {
			four := (*[4]float32)(p[k*columns:])
			s0 += x * four[0]
			s1 += x * four[1]
			s2 += x * four[2]
			s3 += x * four[3]
		}
		put(out[j:j+4], []float32{s0, s1, s2, s3}, add)
	}
}
