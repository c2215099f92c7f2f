package tensor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/vector"
)

// onTiers runs the test on every tier of this machine.
func onTiers(t *testing.T, test func(t *testing.T)) {
	for _, name := range vector.Tiers() {
		t.Run(name, func(t *testing.T) {
			use(t, name)
			test(t)
		})
	}
}

func use(t testing.TB, name string) {
	t.Helper()
	before := vector.Tier()
	vector.SetTier(name)
	t.Cleanup(func() { vector.SetTier(before) })
}

func random(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

// plainMultiply defines [Multiply] in float64. weights are concatenated columns.
func plainMultiply(a Matrix, weights []float32, depth int, from Matrix) [][]float64 {
	var out [][]float64
	for i := range a.Rows {
		var row []float64
		for j := range len(weights) / depth {
			var sum float64
			if from.Data != nil {
				sum = float64(from.Data[i*from.Stride+j])
			}
			for k := range depth {
				sum += float64(a.Data[i*a.Stride+k]) * float64(weights[j*depth+k])
			}
			row = append(row, sum)
		}
		out = append(out, row)
	}
	return out
}

// Initial values of a product.
const (
	fromNothing = iota
	fromItself
	fromOneRow
)

// checkProduct multiplies random matrices of the shape between inaccessible pages.
func checkProduct(t *testing.T, seed uint64, rows, depth, width, apart, begin int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	columnsOf := random(r, depth*width)
	w := Pack(columnsOf, depth)
	_, w.panels = guarded(t, w.panels)
	size := func(width int) int { return (rows-1)*(width+apart) + width }
	first, last := guarded(t, random(r, size(depth)))
	dstFirst, dstLast := guarded(t, random(r, size(width)))
	biasFirst, biasLast := guarded(t, random(r, width))
	for _, p := range [][3][]float32{{first, dstFirst, biasFirst}, {last, dstLast, biasLast}} {
		a, dst := Matrix{p[0], depth + apart, rows}, Matrix{p[1], width + apart, rows}
		from := []Matrix{{}, dst, {Data: p[2]}}[begin]
		want, before := plainMultiply(a, columnsOf, depth, from), slices.Clone(dst.Data)
		Multiply(dst, a, w, from)
		for i := range dst.Data {
			row, column := i/dst.Stride, i%dst.Stride
			if column >= width {
				if dst.Data[i] != before[i] {
					t.Fatalf("%d×%d·%d: wrote between the rows", rows, depth, width)
				}
				continue
			}
			if got, want := float64(dst.Data[i]), want[row][column]; math.Abs(got-want) > 1e-6*float64(depth+10) {
				t.Fatalf("%d×%d·%d from %d: [%d, %d] = %v, want %v", rows, depth, width, begin, row, column, got, want)
			}
		}
	}
}

func TestMultiplyOnEveryShape(t *testing.T) {
	onTiers(t, func(t *testing.T) {
		for rows := 1; rows <= 27; rows++ {
			for _, width := range []int{1, 31, 32, 33, 96} {
				checkProduct(t, uint64(rows), rows, 7, width, rows%3, rows%3)
			}
		}
		checkProduct(t, 1, maxBlockValues/2048+5, 2048, 40, 0, fromNothing)
		checkProduct(t, 1, 3, 384, 64, 5, fromItself)
		checkProduct(t, 1, 13, 384, 70, 5, fromOneRow)
	})
}

func FuzzMultiply(f *testing.F) {
	f.Add(uint64(1), uint8(13), uint8(5), uint8(40), uint8(1), uint8(fromItself))
	f.Fuzz(func(t *testing.T, seed uint64, rows, depth, width, apart, begin uint8) {
		if rows == 0 || depth == 0 || width == 0 {
			return
		}
		for _, name := range vector.Tiers() {
			use(t, name)
			checkProduct(t, seed, int(rows), int(depth), int(width), int(apart%9), int(begin%3))
		}
	})
}

func TestVectorTiersGiveTheSameBits(t *testing.T) {
	if len(vector.Tiers()) < 3 {
		t.Skip("this machine has no two tiers to compare")
	}
	r := rand.New(rand.NewPCG(1, 2))
	w, a := Pack(random(r, 100*70), 100), Matrix{random(r, 25*100), 100, 25}
	row, bias := random(r, 200), random(r, 200)
	norm := LayerNorm{random(r, 200), random(r, 200), 1e-12}
	var got [2][][]float32
	for i, name := range vector.Tiers()[1:] {
		use(t, name)
		product, gelu, soft, normal := make([]float32, 25*70), slices.Clone(row), slices.Clone(row), slices.Clone(row)
		Multiply(Matrix{product, 70, 25}, a, w, Matrix{})
		GELU(gelu)
		Softmax(soft, 180, 0.3)
		norm.Apply(normal, normal, bias)
		got[i] = [][]float32{product, gelu, soft[:180], normal}
	}
	for i, what := range []string{"multiply", "GELU", "softmax", "norm"} {
		if !slices.Equal(got[0][i], got[1][i]) {
			t.Errorf("%s: %v and %v", what, got[0][i], got[1][i])
		}
	}
}

func TestPacksOfColumnsAndRowsAreOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	const depth, width = 9, 45
	rowsOf := random(r, depth*width)
	columnsOf := make([]float32, len(rowsOf))
	for i, x := range rowsOf {
		columnsOf[i%width*depth+i/width] = x
	}
	want := Pack(columnsOf, depth)
	got := &Weights{panels: random(r, 1000)} // what was there before does not show
	got.PackRows(rowsOf, width, depth, width)
	if !slices.Equal(got.panels, want.panels) || got.Depth() != depth || got.Width() != width {
		t.Error("the same matrix is packed in two ways")
	}
	if got.IncludePadding().Width() != 64 {
		t.Errorf("with its zeros it is %d wide, want 64", got.Width())
	}
}

func TestMultiplyRefusesWhatIsTooSmall(t *testing.T) {
	w := Pack(make([]float32, 12), 4)
	small, right := Matrix{make([]float32, 7), 4, 2}, Matrix{make([]float32, 8), 4, 2}
	for name, do := range map[string]func(){
		"a":       func() { Multiply(right, small, w, Matrix{}) },
		"dst":     func() { Multiply(Matrix{make([]float32, 6), 4, 2}, right, w, Matrix{}) },
		"stride":  func() { Multiply(Matrix{make([]float32, 8), 2, 2}, right, w, Matrix{}) },
		"weights": func() { Pack(make([]float32, 5), 2) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: taken", name)
				}
			}()
			do()
		}()
	}
}

func TestGELU(t *testing.T) {
	onTiers(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 7, 8, 9, 64, 4003} {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(i-n/2) / 128
			}
			want := slices.Clone(x)
			geluPortable(want)
			_, got := guarded(t, x)
			GELU(got)
			for i := range got {
				if off := math.Abs(float64(got[i] - want[i])); off > 2e-7*max(1, math.Abs(float64(x[i]))) {
					t.Fatalf("GELU(%v) = %v, want %v", x[i], got[i], want[i])
				}
			}
		}
	})
}

func TestGELUOfWhatIsLarge(t *testing.T) {
	onTiers(t, func(t *testing.T) {
		x := []float32{-1e30, -100, -20, 0, 20, 100, 1e15, 3e38}
		GELU(x)
		want := []float32{0, 0, 0, 0, 20, 100, 1e15, 3e38}
		for i := range x {
			if math.Abs(float64(x[i]-want[i])) > 1e-6 {
				t.Errorf("GELU = %v, want %v", x, want)
			}
		}
	})
}

func TestSoftmax(t *testing.T) {
	onTiers(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 5))
		for n := 1; n < 70; n++ {
			for _, room := range []int{0, RowPadding} {
				x := random(r, n+room)
				for i := range x {
					x[i] *= 30
				}
				want := slices.Clone(x[:n])
				softmaxPortable(want, 0.177)
				_, got := guarded(t, x)
				Softmax(got, n, 0.177)
				for i := range want {
					if math.Abs(float64(got[i]-want[i])) > 1e-6 {
						t.Fatalf("softmax of %d: %v, want %v", n, got[:n], want)
					}
				}
			}
		}
	})
}

func TestSoftmaxOfExtremes(t *testing.T) {
	onTiers(t, func(t *testing.T) {
		x := []float32{-3e38, 1e5, 1e5, -1e10, 0, 0, 0, 0}
		Softmax(x, 4, 1)
		if x[0] > 1e-30 || math.Abs(float64(x[1]-0.5)) > 1e-6 || math.Abs(float64(x[2]-0.5)) > 1e-6 || x[3] > 1e-30 {
			t.Errorf("got %v, want 0, 0.5, 0.5, 0", x[:4])
		}
	})
}

func TestNorm(t *testing.T) {
	onTiers(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 6))
		for _, n := range []int{1, 5, 8, 16, 30, 384} {
			x, bias, gain, shift := random(r, n), random(r, n), random(r, n), random(r, n)
			x[0] += 50
			want := slices.Clone(x)
			layerNormPortable(want, x, bias, gain, shift, 1e-12)
			_, got := guarded(t, x)
			_, apart := guarded(t, make([]float32, n))
			_, bias = guarded(t, bias)
			_, gain = guarded(t, gain)
			_, shift = guarded(t, shift)
			norm := LayerNorm{gain, shift, 1e-12}
			norm.Apply(apart, got, bias)
			norm.Apply(got, got, bias)
			for i := range want {
				if got[i] != apart[i] {
					t.Fatalf("of %d: %v in its place, %v elsewhere", n, got, apart)
				}
				if off := math.Abs(float64(got[i] - want[i])); off > 1e-5 && n > 1 {
					t.Fatalf("of %d: %v, want %v", n, got, want)
				}
			}
		}
	})
}

func FuzzRows(f *testing.F) {
	f.Add(uint64(1), uint8(9), float32(3))
	f.Fuzz(func(t *testing.T, seed uint64, size uint8, scale float32) {
		n := int(size)
		if n == 0 || !(scale > 1e-3 && scale < 1e3) {
			return
		}
		r := rand.New(rand.NewPCG(seed, 2))
		x := random(r, n+RowPadding)
		for _, name := range vector.Tiers() {
			use(t, name)
			got, want := slices.Clone(x), slices.Clone(x[:n])
			GELU(got[:n])
			geluPortable(want)
			near(t, "GELU", got[:n], want, 1e-6)
			copy(got, x)
			copy(want, x)
			Softmax(got, n, scale)
			softmaxPortable(want, scale)
			near(t, "softmax", got[:n], want, 1e-5*float64(max(1, scale)))
		}
	})
}

func near(t *testing.T, what string, got, want []float32, off float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(float64(got[i]-want[i])) <= off) {
			t.Fatalf("%s on %s: %v, want %v", what, vector.Tier(), got, want)
		}
	}
}

// BenchmarkMultiply is the larger product of a layer of MiniLM-L6, for so many tokens.
func BenchmarkMultiply(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 7))
	const depth, width = 384, 1536
	w := Pack(random(r, depth*width), depth)
	for _, name := range vector.Tiers() {
		for _, rows := range []int{1, 16, 32, 128} {
			b.Run(fmt.Sprintf("%s/%d", name, rows), func(b *testing.B) {
				use(b, name)
				a, dst := Matrix{random(r, rows*depth), depth, rows}, Matrix{make([]float32, rows*width), width, rows}
				for b.Loop() {
					Multiply(dst, a, w, Matrix{})
				}
				b.ReportMetric(2*depth*width*float64(rows)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
			})
		}
	}
}
