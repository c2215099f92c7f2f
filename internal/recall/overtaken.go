package recall

import (
	"slices"
	"time"

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

// mostBefore is how many of the facts that one took the place of are told with it.
const mostBefore = 2

// Before returns those of the facts that a fact took the place of, the latest first, which
// are worth telling with it: not those whose words it has, since it only says more.
func Before(f memory.Fact, superseded []memory.Fact) []memory.Fact {
	var out []memory.Fact
	said := termsOf(f.Content)
	for _, old := range superseded {
		adds := slices.ContainsFunc(termsOf(old.Content), func(term uint64) bool { return !said.has(term) })
		if adds && len(out) < mostBefore {
			out = append(out, old)
		}
	}
	return out
}

// Until is when a fact that another took the place of ended.
func Until(f memory.Fact) time.Time {
	if !f.ValidTo.IsZero() {
		return f.ValidTo
	}
	return f.UpdatedAt
}
