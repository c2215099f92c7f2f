package recall

import (
	"slices"

	"github.com/loci-memory/loci/memory"
)

// Overtaken moves turns of which a fact took the place behind that fact, where it
// is a hit too: what holds now comes before what was said once.
func Overtaken(hits []memory.Hit) []memory.Hit {
	if !slices.ContainsFunc(hits, func(h memory.Hit) bool { return len(h.Now) > 0 }) {
		return hits
	}
	out := slices.Clone(hits)
	for i := 0; i < len(out); i++ {
		last := -1
		for _, f := range out[i].Now {
			last = max(last, slices.IndexFunc(out, func(h memory.Hit) bool { return h.Memory.ID() == f.ID }))
		}
		if last > i {
			turn := out[i]
			copy(out[i:last], out[i+1:last+1])
			out[last] = turn
			i--
		}
	}
	return out
}
