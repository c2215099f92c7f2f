package vector

import (
	"encoding/binary"
	"math"
	"testing"
)

// seeds are lengths near the kernels' step sizes.
func seeds(f *testing.F) {
	for _, n := range []int{0, 1, 15, 16, 31, 64, 129, 385, 1540} {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(i*i + 77*i)
		}
		f.Add(data, uint16(n/3))
	}
}

func FuzzScan(f *testing.F) {
	seeds(f)
	many := make([]byte, 2200) // rows of four values
	for i := range many {
		many[i] = byte(77 * i)
	}
	f.Add(many, uint16(4))
	f.Fuzz(func(t *testing.T, data []byte, dims uint16) {
		n := int(dims % 400)
		for len(data) < n {
			data = append(data, byte(len(data)))
		}
		var all []int8
		for _, x := range data {
			all = append(all, int8(x))
		}
		asked := all[:n]
		var rows [][]int8
		var scales []float32
		for all = all[n:]; n > 0 && len(all) >= n && len(rows) < 600; all = all[n:] {
			rows, scales = append(rows, all[:n]), append(scales, 1/float32(len(rows)+3))
		}
		for _, name := range Tiers() {
			use(t, name)
			checkScan(t, asked, 0.75, rows, scales)
		}
	})
}

// floats reads finite values, and halves finite half-precision bits.
func floats(data []byte) []float32 {
	var v []float32
	for ; len(data) >= 4; data = data[4:] {
		bits := binary.LittleEndian.Uint32(data)
		if bits>>23&0xff == 0xff {
			bits &^= 1 << 30
		}
		v = append(v, math.Float32frombits(bits))
	}
	return v
}

func halves(data []byte) []uint16 {
	var v []uint16
	for ; len(data) >= 2; data = data[2:] {
		bits := binary.LittleEndian.Uint16(data)
		if bits>>10&0x1f == 0x1f {
			bits &^= 1 << 14
		}
		v = append(v, bits)
	}
	return v
}

func FuzzDots(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte, _ uint16) {
		data = data[:min(len(data), 12000)/12*12]
		a, b := floats(data[:len(data)/3]), floats(data[len(data)/3:])
		c := halves(data)
		n := len(a)
		for _, name := range Tiers() {
			use(t, name)
			checkDots(t, a, b[:n], c[:n])
		}
	})
}

func FuzzConversions(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte, _ uint16) {
		v := floats(data)
		for _, name := range Tiers() {
			use(t, name)
			checkConversions(t, v)
		}
	})
}

// decoded are data's numbers in half precision, including infinities and NaN.
func decoded(data []byte) (out []float32) {
	for _, h := range halves(data) {
		out = append(out, DecodeHalf(h))
	}
	return out
}

func FuzzAbove(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte, least uint16) {
		scores := decoded(data)
		for _, name := range Tiers() {
			use(t, name)
			checkAbove(t, scores, DecodeHalf(least), nil)
		}
	})
}

func FuzzPeaks(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte, _ uint16) {
		scores := decoded(data)
		for _, name := range Tiers() {
			use(t, name)
			checkPeaks(t, scores)
		}
	})
}
