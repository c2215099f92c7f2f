// Package tensor computes the operations of a neural network on float32 values: matrix products with prepacked
// weights, GELU, softmax and layer normalization. It does not depend on models. Matrices are row-major.
//
// It uses the instructions of [vector.Tier]. With AVX2 or AVX-512, each value of a matrix product is summed in
// the same order with fused multiply-add, so both give the same bits. Without these instructions each product
// is rounded before it is added, and results differ in the last place.
package tensor

// PanelWidth is the number of adjacent columns in a panel of a packed matrix: two AVX-512 registers.
const PanelWidth = 32

const panelColumns = PanelWidth

// Weights is a matrix in the order in which products read it: panels of 32 columns, and within a panel one row
// of 32 values after the other. The last panel is padded with zeros.
type Weights struct {
	depth, width int
	panels       []float32
}

// Depth returns the number of rows of w, which is the length of a row that can be multiplied with w.
func (w *Weights) Depth() int { return w.depth }

// Width returns the number of columns of w, which is the length of a product.
func (w *Weights) Width() int { return w.width }

// Pack returns the matrix whose concatenated columns of length depth are m, as PyTorch stores the weights of a
// layer. It panics if m is not a whole number of columns.
func Pack(m []float32, depth int) *Weights {
	if depth <= 0 || len(m)%depth != 0 {
		panic("tensor: weights are not a whole number of columns")
	}
	w := &Weights{}
	w.PackColumns(m, depth, depth, len(m)/depth)
	return w
}

// PackColumns sets w to the matrix whose column j is m[j*stride:][:depth]. It reuses w's memory.
func (w *Weights) PackColumns(m []float32, stride, depth, width int) {
	w.resize(depth, width)
	for j := range width {
		panel := w.panels[j/panelColumns*panelColumns*depth+j%panelColumns:]
		for k, x := range m[j*stride:][:depth] {
			panel[k*panelColumns] = x
		}
	}
}

// PackRows sets w to the matrix whose row k is m[k*stride:][:width]. It reuses w's memory.
func (w *Weights) PackRows(m []float32, stride, depth, width int) {
	w.resize(depth, width)
	for k := range depth {
		row := m[k*stride:][:width]
		for at := k * panelColumns; len(row) > 0; at += panelColumns * depth {
			n := copy(w.panels[at:at+panelColumns], row)
			row = row[n:]
		}
	}
}

// IncludePadding counts the padding of the last panel as columns, and returns w. A product with whole panels
// needs no temporary copy.
func (w *Weights) IncludePadding() *Weights {
	w.width = (w.width + panelColumns - 1) / panelColumns * panelColumns
	return w
}

// Columns returns the columns [from, to) of w, which share w's memory. from must be a multiple of [PanelWidth];
// to must be a multiple too, or the width of w.
func (w *Weights) Columns(from, to int) *Weights {
	if from%panelColumns != 0 || to%panelColumns != 0 && to != w.width || to > w.width {
		panic("tensor: no whole number of panels")
	}
	end := (to + panelColumns - 1) / panelColumns * panelColumns
	return &Weights{depth: w.depth, width: to - from, panels: w.panels[from*w.depth : max(from, end)*w.depth]}
}

func (w *Weights) resize(depth, width int) {
	n := (width + panelColumns - 1) / panelColumns * panelColumns * depth
	if cap(w.panels) < n {
		w.panels = make([]float32, n)
	}
	w.depth, w.width, w.panels = depth, width, w.panels[:n]
	if width%panelColumns != 0 { // the padding may contain old values
		clear(w.panels[n-panelColumns*depth:])
	}
}

// Matrix is rows of values in a slice, perhaps with other values between the rows. Row i begins at
// Data[i*Stride]; other arguments determine the length of a row. With stride 0 all rows are the same.
type Matrix struct {
	Data   []float32
	Stride int // number of values from the start of one row to the start of the next
	Rows   int
}

// checkWidth panics unless every row of m has at least width values.
func (m Matrix) checkWidth(width int) {
	if m.Rows > 0 && (m.Stride < width && m.Stride != 0 || len(m.Data) < (m.Rows-1)*m.Stride+width) {
		panic("tensor: the matrix is too small")
	}
}

func (m Matrix) submatrix(row, column, rows int) Matrix {
	return Matrix{m.Data[row*m.Stride+column:], m.Stride, rows}
}

// Multiply sets dst = addend + a·w. It ignores the Rows of dst and addend and uses those of a. addend may be
// dst, or have stride 0, or be empty, which means zeros. dst and a must not overlap.
func Multiply(dst, a Matrix, w *Weights, addend Matrix) {
	if addend.Data == nil {
		addend = Matrix{Data: make([]float32, w.width)}
	}
	dst.Rows, addend.Rows = a.Rows, a.Rows
	a.checkWidth(w.depth)
	dst.checkWidth(w.width)
	addend.checkWidth(w.width)
	if a.Rows > 0 && w.depth > 0 && w.width > 0 {
		multiply(dst, a, w, addend)
	}
}

// maxBlockValues is the maximum number of values of a block: rows of a that are multiplied with all panels
// before the next rows. A block fits the L2 cache with two panels. The weights are read from memory once per
// block.
const maxBlockValues = 1 << 17

// tileKernel computes one tile of a product: rows of a times one panel. For each of the panel's rows (their number
// is depth) it may prefetch prefetchBytes more bytes, beginning at prefetchOffset from the panel's start.
type tileKernel func(dst, a Matrix, panel []float32, depth int, prefetchOffset, prefetchBytes int, addend Matrix)

// partSize returns the size of each part if n is divided into nearly equal parts of at most maxSize, as few as
// possible.
func partSize(n, maxSize int) (size int) {
	count := (n + maxSize - 1) / maxSize
	return (n + count - 1) / count
}

// multiplyTiles calls kernel for tiles of at most maxRows rows and all columns of a panel.
func multiplyTiles(dst, a Matrix, w *Weights, addend Matrix, maxRows int, kernel tileKernel) {
	var edge []float32
	if w.width%panelColumns != 0 {
		edge = make([]float32, maxRows*panelColumns)
	}
	block := partSize(a.Rows, max(maxRows, maxBlockValues/w.depth))
	for top := 0; top < a.Rows; top += block {
		rows := min(block, a.Rows-top)
		height := partSize(rows, maxRows)
		// Each tile prefetches its share of the next panel, because loading a panel takes longer than
		// computing one tile.
		tiles := (rows + height - 1) / height
		prefetchBytes := (4*panelColumns + tiles - 1) / tiles
		for left := 0; left < w.width; left += panelColumns {
			panel := w.panels[left*w.depth:][:panelColumns*w.depth]
			width := min(panelColumns, w.width-left)
			prefetchOffset := 4 * len(panel)
			for row := top; row < top+rows; row += height {
				n := min(height, top+rows-row)
				x, to, start := a.submatrix(row, 0, n), dst.submatrix(row, left, n), addend.submatrix(row, left, n)
				if width == panelColumns {
					kernel(to, x, panel, w.depth, prefetchOffset, prefetchBytes, start)
				} else {
					sums := Matrix{edge, panelColumns, n}
					for i := range n {
						copy(edge[i*panelColumns:], start.Data[i*start.Stride:][:width])
					}
					kernel(sums, x, panel, w.depth, prefetchOffset, prefetchBytes, sums)
					for i := range n {
						copy(to.Data[i*to.Stride:][:width], edge[i*panelColumns:])
					}
				}
				prefetchOffset += prefetchBytes * w.depth
			}
		}
	}
}

func multiplyPortable(dst, a Matrix, w *Weights, addend Matrix) {
	multiplyTiles(dst, a, w, addend, 1, rowPortable)
}

// rowPortable multiplies one row with a panel, four columns at a time.
func rowPortable(dst, a Matrix, panel []float32, depth int, _, _ int, addend Matrix) {
	row := a.Data[:depth]
	for j := 0; j < panelColumns; j += 4 {
		start, out := (*[4]float32)(addend.Data[j:]), (*[4]float32)(dst.Data[j:])
		s0, s1, s2, s3 := start[0], start[1], start[2], start[3]
		p := panel[j:]
		for k, x := range row {
			four := (*[4]float32)(p[k*panelColumns:])
			s0 += x * four[0]
			s1 += x * four[1]
			s2 += x * four[2]
			s3 += x * four[3]
		}
		*out = [4]float32{s0, s1, s2, s3}
	}
}
