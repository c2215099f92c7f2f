package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Bytes is an amount of memory or disk. Its text form is a number of bytes, or a number
// with a unit: "1073741824", "512MiB", "1.5 GiB".
type Bytes int64

var byteUnits = []struct {
	name string
	size float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"B", 1}, {"", 1}}

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Bytes) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	for _, unit := range byteUnits {
		digits, ok := strings.CutSuffix(s, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if err != nil || !(math.Abs(n*unit.size) < 1<<62) {
			break
		}
		*b = Bytes(n * unit.size)
		return nil
	}
	return fmt.Errorf("%q is not a valid number of bytes (example: 512MiB)", s)
}

// String formats the amount in the largest unit that needs no fraction.
func (b Bytes) String() string {
	for _, unit := range slices.Backward(byteUnits[:4]) {
		if size := Bytes(unit.size); b != 0 && b%size == 0 {
			return strconv.FormatInt(int64(b/size), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}
