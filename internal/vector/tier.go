package vector

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/loci-memory/loci/memory"
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

// SetTier sets the tier of the whole process to one of [Tiers], or to the fastest for "auto". Running calls
// finish in their tier. For any other name it returns [memory.Invalid] and changes nothing.
func SetTier(name string) error {
	if name == "auto" {
		tier.Store(fastest())
		return nil
	}
	i := slices.Index(Tiers(), name)
	if i < 0 {
		return memory.Errorf(memory.Invalid, "invalid tier %q: this machine has auto, %s", name, strings.Join(Tiers(), ", "))
	}
	tier.Store(int32(i))
	return nil
}
