package vector

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/loci-memory/loci/memory"
)

// The tiers: what each needs of the processor, slowest first. Every tier gives the
// same results to the last bit, so that a ranking never depends on the machine.
const (
	portable = iota // any
	avx2            // amd64 with AVX2 and F16C
	avx512          // amd64 with AVX-512 F, BW, VL and VNNI besides
)

var tierNames = []string{portable: "portable", avx2: "avx2", avx512: "avx512"}

// tier is the one in use, the fastest there is until [Use] says another.
var tier = func() *atomic.Int32 {
	var t atomic.Int32
	t.Store(fastest())
	return &t
}()

// Tiers returns the names of the tiers that this machine has, fastest last.
func Tiers() []string { return slices.Clone(tierNames[:fastest()+1]) }

// Tier returns the name of the tier in use.
func Tier() string { return tierNames[tier.Load()] }

// Use makes the whole process use a tier of [Tiers], or the fastest by the name of
// "auto". What has begun goes on as it is. Another name is [memory.Invalid] and
// changes nothing.
func Use(name string) error {
	if name == "auto" {
		tier.Store(fastest())
		return nil
	}
	i := slices.Index(Tiers(), name)
	if i < 0 {
		return memory.Errorf(memory.Invalid, "%q is not a tier of this machine: it has auto, %s", name, strings.Join(Tiers(), ", "))
	}
	tier.Store(int32(i))
	return nil
}
