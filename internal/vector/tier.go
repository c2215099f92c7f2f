package vector

import (
	"slices"
	"sync/atomic"
)

// The tiers, slowest first, with the processor features that they need. All tiers give the same results to
// the last bit, so that rankings do not depend on the machine.
const (
	portable = iota // any processor
	avx2            // amd64 with AVX2 and F16C
	avx512          // amd64 with AVX2, F16C and AVX-512 F, BW, VL and VNNI
)

var tierNames = []string{portable: "portable", avx2: "avx2", avx512: "avx512"}

// tier is the tier in use: the fastest, unless [SetTier] changes it.
var tier = func() *atomic.Int32 {
	var t atomic.Int32
	t.Store(fastest())
	return &t
}()

// Tiers returns the names of this machine's tiers, fastest last.
func Tiers() []string { return slices.Clone(tierNames[:fastest()+1]) }

// Tier returns the name of the tier in use.
func Tier() string { return tierNames[tier.Load()] }

// SetTier sets the tier of the whole process to one of [Tiers], for tests. Running calls finish in their tier.
func SetTier(name string) { tier.Store(int32(slices.Index(Tiers(), name))) }
