package vector

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// onTiers runs the test on every tier of this machine.
func onTiers(t *testing.T, test func(t *testing.T)) {
	for _, name := range Tiers() {
		t.Run(name, func(t *testing.T) {
			use(t, name)
			test(t)
		})
	}
}

func use(t testing.TB, name string) {
	t.Helper()
	before := Tier()
	SetTier(name)
	t.Cleanup(func() { SetTier(before) })
}

func TestSetTierForcesATier(t *testing.T) {
	all := Tiers()
	if all[0] != "portable" || Tier() != all[len(all)-1] {
		t.Fatalf("of %q Loci uses %q, want the last", all, Tier())
	}
	for _, name := range all {
		if use(t, name); Tier() != name {
			t.Errorf("after SetTier(%q), Tier() = %q", name, Tier())
		}
	}
}

// plainScan is the definition of [Scan].
func plainScan(asked []int8, scale float32, rows [][]int8, scales []float32) []float32 {
	var out []float32
	for i, row := range rows {
		var sum int64
		for j, x := range asked {
			sum += int64(x) * int64(row[j])
		}
		out = append(out, float32(sum)*scales[i]*scale)
	}
	return out
}

// plainDot defines the order of additions in [Dot].
func plainDot(a, b []float32) float32 {
	var sums [32]float32
	for i := range a {
		product := a[i] * b[i]
		sums[i%32] += float32(product)
	}
	for half := 16; half > 0; half /= 2 {
		for i := range half {
			sums[i] += sums[i+half]
		}
	}
	return sums[0]
}

func decodeAll(half []uint16) []float32 {
	v := make([]float32, len(half))
	for i, h := range half {
		v[i] = DecodeHalf(h)
	}
	return v
}

// same compares bits, except that all NaN are equal.
func same(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

func randomBytes(r *rand.Rand, n int) []int8 {
	v := make([]int8, n)
	for i := range v {
		v[i] = int8(r.IntN(256) - 128)
	}
	return v
}

func randomHalves(r *rand.Rand, n int) []uint16 {
	v := make([]uint16, n)
	for i := range v {
		v[i] = EncodeHalf(float32(r.NormFloat64()))
	}
	return v
}

func TestScanIsExactOnEveryTier(t *testing.T) {
	onTiers(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(11, 12))
		for dims := range 200 {
			asked := randomBytes(r, dims)
			if dims%3 > 0 { // as of few words
				for i := range asked {
					asked[i] *= int8(r.IntN(dims) / (dims - dims/8))
				}
			}
			rows := make([][]int8, r.IntN(100))
			for i := range rows {
				rows[i] = randomBytes(r, dims)
			}
			checkScan(t, asked, r.Float32(), rows, random(r, len(rows)))
		}
	})
}

// checkScan scans at both ends of accessible memory, and in a block grown row by row, and compares
// with the definition.
func checkScan(t *testing.T, asked []int8, scale float32, rows [][]int8, scales []float32) {
	t.Helper()
	q, want := quantizedQuery(asked, scale), plainScan(asked, scale, rows, scales)
	var x, grown Block
	x.Grow(len(rows), len(asked))
	for i, row := range rows {
		x.appendRow(row, scales[i])
		grown.appendRow(row, scales[i])
	}
	y := x
	x.Values, y.Values = guarded(t, x.Values)
	x.Scales, y.Scales = guarded(t, x.Scales)
	first, last := guarded(t, make([]float32, len(want)))
	for _, scanned := range []struct {
		Block
		out []float32
	}{{x, first}, {y, last}, {grown, make([]float32, len(want))}} {
		Scan(q, scanned.Block, scanned.out)
		for i := range want {
			if !same(scanned.out[i], want[i]) {
				t.Fatalf("%s, %d dims, row %d of %d, room for %d tiles: %v, want %v", Tier(), len(asked), i, len(want), scanned.capacityTiles(len(asked)), scanned.out[i], want[i])
			}
		}
	}
}

func TestScanTakesBlocksOfAnyLength(t *testing.T) {
	onTiers(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(19, 20))
		for _, n := range []int{511, 512, 513, 528, 1100} {
			rows := make([][]int8, n)
			for i := range rows {
				rows[i] = randomBytes(r, 9)
			}
			checkScan(t, randomBytes(r, 9), 1, rows, random(r, n))
		}
	})
}

func TestScanDoesNotOverflow(t *testing.T) {
	onTiers(t, func(t *testing.T) {
		for _, dims := range []int{4096, 65536} {
			for _, asked := range []int8{127, -127} {
				all := func(x int8) []int8 { return slices.Repeat([]int8{x}, dims) }
				checkScan(t, all(asked), 1, [][]int8{all(127), all(-127), all(-128)}, []float32{1, 1, 1})
			}
		}
	})
}

func TestScanRefusesShortSlices(t *testing.T) {
	onTiers(t, func(t *testing.T) {
		q := NewQuery(make([]float32, 32))
		for name, scan := range map[string]func(){
			"values": func() { Scan(q, Block{make([]uint8, 511), make([]float32, 2)}, make([]float32, 2)) },
			"scales": func() { Scan(q, Block{make([]uint8, 512), make([]float32, 17)}, make([]float32, 17)) },
			"out":    func() { Scan(q, newBlock(2, 32), make([]float32, 1)) },
			"dot":    func() { Dot(make([]float32, 33), make([]float32, 32)) },
			"half":   func() { DotHalf(make([]float32, 33), make([]uint16, 32)) },
			"encode": func() { EncodeHalves(make([]uint16, 7), make([]float32, 8)) },
			"bytes":  func() { Quantize(make([]float32, 32), make([]int8, 31)) },
		} {
			if !panics(scan) {
				t.Errorf("%s: taken though too short", name)
			}
		}
	})
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

func TestDotsAddInOneOrder(t *testing.T) {
	onTiers(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(13, 14))
		for n := range 200 {
			checkDots(t, random(r, n), random(r, n), randomHalves(r, n))
		}
	})
}

// checkDots compares all inner products with the definition. The slices have equal lengths.
func checkDots(t *testing.T, a, b []float32, c []uint16) {
	t.Helper()
	check := func(name string, first, last, want float32) {
		t.Helper()
		if !same(first, want) || !same(last, want) {
			t.Fatalf("%s, %d dims: %s = %v and %v, want %v", Tier(), len(a), name, first, last, want)
		}
	}
	a0, a1 := guarded(t, a)
	b0, b1 := guarded(t, b)
	c0, c1 := guarded(t, c)
	check("Dot", Dot(a0, b0), Dot(a1, b1), plainDot(a, b))
	check("DotHalf", DotHalf(a0, c0), DotHalf(a1, c1), plainDot(a, decodeAll(c)))
}

func TestConversionsAgreeOnEveryTier(t *testing.T) {
	onTiers(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(15, 16))
		for n := range 200 {
			for _, size := range []float32{1, 1e30, 1e-36, 1e-44} {
				v := random(r, n)
				for i := range v {
					v[i] *= size
				}
				checkConversions(t, v)
			}
		}
		// Every half and its neighbourhood: where rounding turns.
		for h := range 0x7c00 {
			bits := math.Float32bits(DecodeHalf(uint16(h)))
			step := math.Float32bits(DecodeHalf(uint16(h)+1)) - bits
			var v []float32
			for _, at := range []uint32{0, 1, step/2 - 1, step / 2, step/2 + 1, step - 1} {
				v = append(v, math.Float32frombits(bits+at), -math.Float32frombits(bits+at))
			}
			got := make([]uint16, len(v))
			EncodeHalves(got, v)
			for i, x := range v {
				if want := EncodeHalf(x); got[i] != want {
					t.Fatalf("%v encodes as %#04x, want %#04x", x, got[i], want)
				}
			}
		}
	})
}

// checkConversions compares [EncodeHalves] and [Quantize] with their results for single values,
// which must be finite.
func checkConversions(t *testing.T, v []float32) {
	t.Helper()
	v0, v1 := guarded(t, v)
	h0, h1 := guarded(t, make([]uint16, len(v)))
	EncodeHalves(h0, v0)
	EncodeHalves(h1, v1)
	q0, q1 := guarded(t, make([]int8, len(v)))
	s0, n0 := Quantize(v0, q0)
	s1, n1 := Quantize(v1, q1)
	if s0 != s1 || n0 != n1 {
		t.Fatalf("Quantize gives scale %v, sum %d and %v, %d", s0, n0, s1, n1)
	}
	var most float32
	for _, x := range v {
		most = max(most, x, -x)
	}
	scale := most / 127
	if most < maxZeroMagnitude {
		scale = 0
	}
	if s0 != scale {
		t.Fatalf("Quantize gives the scale %v, want %v", s0, scale)
	}
	for i, x := range v {
		if want := EncodeHalf(x); h0[i] != want || h1[i] != want {
			t.Fatalf("value %d of %d: %v encodes as %#04x and %#04x, want %#04x", i, len(v), x, h0[i], h1[i], want)
		}
		var want float64
		if scale != 0 {
			want = math.RoundToEven(float64(x / scale))
		}
		if float64(q0[i]) != want || float64(q1[i]) != want {
			t.Fatalf("value %d of %d: %v quantizes to %d and %d, want %v", i, len(v), x, q0[i], q1[i], want)
		}
		n0 -= int32(q0[i])
	}
	if n0 != 0 {
		t.Fatalf("the sum is off by %d", n0)
	}
}

func TestAboveFindsAllInOrder(t *testing.T) {
	nan := float32(math.NaN())
	onTiers(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(17, 18))
		var buffer []int32
		for n := range 300 {
			scores := random(r, n)
			for range n / 8 {
				scores[r.IntN(n)] = []float32{1, nan, 0, -float32(math.MaxFloat32)}[r.IntN(4)]
			}
			for _, least := range []float32{1, 0, 3, float32(math.Inf(-1)), nan} {
				buffer = checkAbove(t, scores, least, buffer)
			}
		}
	})
}

func checkAbove(t *testing.T, scores []float32, least float32, buffer []int32) []int32 {
	t.Helper()
	var want []int32
	for i, x := range scores {
		if x >= least {
			want = append(want, int32(i))
		}
	}
	first, last := guarded(t, scores)
	_, out := guarded(t, make([]int32, len(scores)))
	for _, got := range [][]int32{Above(first, least, buffer), Above(last, least, out)} {
		if !slices.Equal(got, want) {
			t.Fatalf("%s: Above(%v, %v) = %v, want %v", Tier(), scores, least, got, want)
		}
	}
	return Above(scores, least, buffer)
}
