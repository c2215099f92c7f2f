package retrieve

import (
	"slices"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// besides returns of the core what search did not find as well: that is a hit. The
// summary, which is of the chat itself, is told in the block alone.
func (r *Recalling) besides(core recall.Core) recall.Core {
	core.Summary = nil
	isHit := func(f memory.Fact) bool {
		return slices.ContainsFunc(r.Hits, func(h memory.Hit) bool { return h.Memory.ID() == f.ID })
	}
	core.Pinned, core.Standing = slices.DeleteFunc(core.Pinned, isHit), slices.DeleteFunc(core.Standing, isHit)
	return core
}

// tellOnce takes the facts of the core out of what search left out: the trace tells of them as such,
// whatever search made of them.
func (r *Recalling) tellOnce() {
	core := map[string]bool{}
	for _, f := range slices.Concat(r.Opening.Facts(), r.crowded.Facts()) {
		core[f.ID] = true
	}
	if len(core) == 0 {
		return
	}
	r.Dropped = slices.DeleteFunc(r.Dropped, func(d recall.Dropped) bool { return core[d.Hit.Memory.ID()] })
	r.spare = slices.DeleteFunc(r.spare, func(c memory.Candidate) bool { return core[c.ID] })
	r.Cut = slices.DeleteFunc(r.Cut, func(c recall.Cut) bool { return core[c.ID] })
}

func coreSize(c recall.Core) int { return len(c.Facts()) + len(c.Profile) }
