package vector

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// sparse returns a row in which one of so many values is not zero.
func sparse(r *rand.Rand, dims, of int) []uint16 {
	row := make([]uint16, dims)
	for i := range row {
		if r.IntN(of) == 0 {
			row[i] = EncodeHalf(float32(r.NormFloat64()))
		}
	}
	return row
}

// checkPack checks the guarantees for a row, and returns its length in words.
func checkPack(t *testing.T, a []float32, row []uint16) int {
	t.Helper()
	before := []uint16{1, 2, 3}
	out := Pack(slices.Clone(before), row)
	if !slices.Equal(out[:3], before) {
		t.Fatalf("%v: what stood before became %v", row, out[:3])
	}
	got := out[3:]
	if len(got) > len(row) {
		t.Fatalf("%v: %d words became %d", row, len(row), len(got))
	}
	size, dims, ok := RowSize(append(slices.Clone(got), 7, 7), len(row))
	if !ok || size != len(got) || dims != len(row) || Dims(got) != len(row) {
		t.Fatalf("%v became %v: %d words and %d values are seen, %v, Dims %d", row, got, size, dims, ok, Dims(got))
	}
	values := make([]float32, len(row))
	for i := range values {
		values[i] = 99 // is to be written over
	}
	Unpack(values, got)
	for i, h := range row {
		if math.Float32bits(values[i]) != math.Float32bits(DecodeHalf(h)) {
			t.Fatalf("%v became %v: value %d is %v, want %v", row, got, i, values[i], DecodeHalf(h))
		}
	}
	product, want := DotPacked(a, got), DotHalf(a, row)
	if math.Float32bits(product) != math.Float32bits(want) && !(math.IsNaN(float64(product)) && math.IsNaN(float64(want))) {
		t.Fatalf("%v became %v: its product with %v is %v, want %v", row, got, a, product, want)
	}
	return len(got)
}

func TestPackedRowsAreTheSameRows(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 15))
	for _, name := range Tiers() {
		use(t, name)
		for _, dims := range []int{0, 1, 2, 15, 16, 17, 31, 32, 33, 100, 384, 1536, 1<<16 - 1, 1 << 16} {
			for _, of := range []int{1, 2, 6, 1000} {
				row := sparse(r, dims, of)
				a := random(r, dims)
				for i := range a {
					if r.IntN(9) == 0 {
						a[i] = float32(math.Copysign(0, -1))
					}
				}
				size := checkPack(t, a, row)
				switch dims {
				case 384, 1536, 1<<16 - 1:
					if packs := size < dims; packs != (of > 1 && dims > 2) {
						t.Errorf("%d values, one in %d not zero, take %d words", dims, of, size)
					}
				}
			}
		}
	}
}

func TestProductsReadNothingBehindAPackedRow(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for _, name := range Tiers() {
		use(t, name)
		for _, dims := range []int{32, 64, 384} {
			a, row := random(r, dims), sparse(r, dims, 6)
			row[dims-1] = 0x3c00
			firstA, lastA := guarded(t, a)
			firstRow, lastRow := guarded(t, Pack(nil, row))
			for _, got := range []float32{DotPacked(firstA, firstRow), DotPacked(lastA, lastRow)} {
				if want := DotHalf(a, row); got != want {
					t.Errorf("%s, %d dims: the product is %v, want %v", name, dims, got, want)
				}
			}
		}
	}
}

func TestPackKeepsSignsOfZeros(t *testing.T) {
	row := make([]uint16, 64)
	row[40], row[41] = 0x8000, 1 // -0 and the smallest there is
	a := random(rand.New(rand.NewPCG(1, 1)), 64)
	if size := checkPack(t, a, row); size != 2+4+2 {
		t.Errorf("two of 64 values take %d words, want 8", size)
	}
	allNegative := slices.Repeat([]uint16{0x8000}, 64)
	checkPack(t, a, allNegative)
}

func TestInvalidPackedRowsAreDetected(t *testing.T) {
	for name, rows := range map[string][]uint16{
		"nothing":               {},
		"a raw row cut off":     {1, 2, 3},
		"no bits":               {packedMarker, 20, 1},
		"bits beyond its dims":  {packedMarker, 20, 0, 1 << 4, 1},
		"values that are amiss": {packedMarker, 20, 7, 0, 1, 1},
	} {
		if size, dims, ok := RowSize(rows, 4); ok {
			t.Errorf("%s: %v passes for a row of %d words, %d values", name, rows, size, dims)
		}
	}
}

func FuzzPack(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0}, uint16(3))
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte, stretch uint16) {
		row := make([]uint16, 0, len(data))
		for _, h := range halves(data) {
			row = append(append(row, h), make([]uint16, stretch%20)...)
		}
		a := make([]float32, len(row))
		for i := range a {
			a[i] = float32(i%7-3) / 3
		}
		for _, name := range Tiers() {
			use(t, name)
			checkPack(t, a, row)
		}
	})
}

// FuzzUnpack: data of other origin is refused or safe to read.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte{0xff, 0xff, 20, 0, 7, 0, 0, 0, 1, 0, 2, 0, 3, 0})
	f.Add([]byte{0xff, 0xff, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		rows := make([]uint16, len(data)/2)
		for i := range rows {
			rows[i] = uint16(data[2*i]) | uint16(data[2*i+1])<<8
		}
		size, dims, ok := RowSize(rows, 3)
		if !ok {
			return
		}
		row := rows[:size]
		if Dims(row) != dims {
			t.Fatalf("%v has %d values by Packed, %d by Dims", row, dims, Dims(row))
		}
		values := make([]float32, dims)
		Unpack(values, row)
		DotPacked(values, row)
	})
}

// TestDotEachIsDotPacked takes rows of both forms, fewer and more of them than are prefetched.
func TestDotEachIsDotPacked(t *testing.T) {
	const dims = 96
	r := rand.New(rand.NewPCG(8, 8))
	a := random(r, dims)
	var rows [][]uint16
	for i := range 3 * prefetchRows {
		row := randomHalves(r, dims)
		for j := range row {
			if i%3 > 0 && r.IntN(4) > 0 {
				row[j] = 0
			}
		}
		rows = append(rows, Pack(nil, row))
	}
	for _, name := range Tiers() {
		use(t, name)
		for n := range len(rows) + 1 {
			out := make([]float32, n)
			DotEach(a, rows[:n], out)
			for i, got := range out {
				if want := DotPacked(a, rows[i]); got != want {
					t.Fatalf("%s, row %d of %d: %v, want %v", name, i, n, got, want)
				}
			}
		}
	}
}
