package recall

import (
	"slices"

	"github.com/loci-memory/loci/memory"
)

// Overtaken moves facts that took the place of what a turn taught in front of that
// turn, where they are hits too: what holds now comes before what was said once.
func Overtaken(hits []memory.Hit) []memory.Hit {
	if !slices.ContainsFunc(hits, func(h memory.Hit) bool { return len(h.Now) > 0 }) {
		return hits
	}
	out := slices.Clone(hits)
	for i := 0; i < len(out); i++ {
		for _, f := range out[i].Now {
			at := slices.IndexFunc(out, func(h memory.Hit) bool { return h.Memory.ID() == f.ID })
			if at < i {
				continue
			}
			fact := out[at]
			copy(out[i+1:at+1], out[i:at])
			out[i] = fact
			i++
		}
	}
	return out
}
