package vector

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func random(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func TestDotIsTheSumOfProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 40 {
		a, b := random(r, n), random(r, n)
		var want float64
		for i := range a {
			want += float64(a[i]) * float64(b[i])
		}
		if got := Dot(a, b); math.Abs(float64(got)-want) > 1e-4 {
			t.Errorf("%d dims: Dot = %v, want %v", n, got, want)
		}
	}
}

func TestNormalizeLeavesWhatHasNoLength(t *testing.T) {
	v := []float32{3, 4}
	if !Normalize(v) || v[0] != 0.6 || v[1] != 0.8 {
		t.Errorf("Normalize(3, 4) = %v", v)
	}
	for _, v := range [][]float32{nil, {0, 0}, {float32(math.NaN()), 1}, {float32(math.Inf(1))}} {
		if Normalize(v) {
			t.Errorf("Normalize(%v) claims unit length", v)
		}
	}
}

func TestQuantizeIsWithinHalfAStep(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	v, q := random(r, 384), make([]int8, 384)
	scale, sum := Quantize(v, q)
	for i := range v {
		sum -= int32(q[i])
		if diff := math.Abs(float64(v[i] - scale*float32(q[i]))); diff > float64(scale)*0.501 {
			t.Fatalf("value %v became %v: off by %v with scale %v", v[i], scale*float32(q[i]), diff, scale)
		}
	}
	if sum != 0 {
		t.Errorf("the sum is off by %d", sum)
	}
	if scale, sum := Quantize(make([]float32, 8), q); scale != 0 || q[0] != 0 || sum != 0 {
		t.Errorf("zeros quantize to %v with scale %v, sum %d", q[:8], scale, sum)
	}
}

func TestScanMatchesTheExactProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, dims := range []int{1, 7, 8, 32, 384} {
		question := random(r, dims)
		Normalize(question)
		const rows = 20
		block, out := Block{}, make([]float32, rows)
		var exact []float32
		for range rows {
			v := random(r, dims)
			Normalize(v)
			block.Append(v)
			exact = append(exact, Dot(question, v))
		}
		Scan(NewQuery(question), block, out)
		for i := range out {
			if diff := math.Abs(float64(out[i] - exact[i])); diff > 0.02 {
				t.Errorf("%d dims, row %d: %v, want %v", dims, i, out[i], exact[i])
			}
		}
	}
}

// TestBlockIsHardlyLargerThanItsRows: most owners have few rows, and many have exactly as many as
// fit.
func TestBlockIsHardlyLargerThanItsRows(t *testing.T) {
	var b Block
	for n := 1; n <= 512; n++ {
		b.Append(make([]float32, 6))
		need := tiles(n)
		if room := b.capacityTiles(6); room < need || room > need+need/4 || n == 512 && room > need {
			t.Fatalf("%d rows have room for %d tiles, want %d and a quarter more at most", n, room, need)
		}
	}
	b = Block{}
	b.Grow(20, 6)
	values := &b.Values[0]
	for range 20 {
		b.Append(make([]float32, 6))
	}
	if len(b.Values) != 2*2*tileQuadValues || &b.Values[0] != values {
		t.Errorf("20 rows with room for 20 take %d bytes, or moved", len(b.Values))
	}
}

// TestAQuadOfAllRowsLiesInOnePiece, however the block grew.
func TestAQuadOfAllRowsLiesInOnePiece(t *testing.T) {
	var want []uint8
	for _, value := range []uint8{10, 20, 30} {
		want = append(want, slices.Repeat([]uint8{value + valueOffset}, 48*quadValues)...)
	}
	for _, room := range []int{0, 20, 48} {
		var b Block
		b.Grow(room, 12)
		for range 48 {
			b.appendRow([]int8{10, 10, 10, 10, 20, 20, 20, 20, 30, 30, 30, 30}, 1)
		}
		if !slices.Equal(b.Values, want) {
			t.Errorf("with room for %d rows at first, the values lie as %d", room, b.Values)
		}
	}
}

func TestHalfRoundTrips(t *testing.T) {
	for h := range 1 << 16 {
		x := DecodeHalf(uint16(h))
		if x != x {
			continue // not a number has many forms
		}
		if got := EncodeHalf(x); got != uint16(h) {
			t.Fatalf("EncodeHalf(DecodeHalf(%#04x) = %v) = %#04x", h, x, got)
		}
	}
	r := rand.New(rand.NewPCG(7, 8))
	for range 10000 {
		x := float32(r.NormFloat64())
		if got := DecodeHalf(EncodeHalf(x)); math.Abs(float64(got-x)) > math.Abs(float64(x))/2048+1e-7 {
			t.Fatalf("%v became %v", x, got)
		}
	}
	if got := EncodeHalf(1e9); got != 0x7c00 {
		t.Errorf("EncodeHalf(1e9) = %#04x, want infinity", got)
	}
}

func FuzzHalf(f *testing.F) {
	f.Add(float32(1.5))
	f.Fuzz(func(t *testing.T, x float32) {
		got := DecodeHalf(EncodeHalf(x))
		if x != x != (got != got) {
			t.Fatalf("%v became %v", x, got)
		}
	})
}

func newBlock(rows, dims int) Block {
	return Block{make([]uint8, tiles(rows)*quads(dims)*tileQuadValues), make([]float32, rows)}
}
