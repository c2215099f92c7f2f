package engine

import (
	"slices"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// besides returns of the core what search did not find as well: that is a hit. The
// summary, which is of the chat itself, is told in the block alone.
func (r *recalling) besides(core recall.Core) recall.Core {
	core.Summary = nil
	isHit := func(f memory.Fact) bool {
		return slices.ContainsFunc(r.hits, func(h memory.Hit) bool { return h.Memory.ID() == f.ID })
	}
	core.Pinned, core.Standing = slices.DeleteFunc(core.Pinned, isHit), slices.DeleteFunc(core.Standing, isHit)
	return core
}

// tellOnce takes the facts of the core out of what search left out: the trace tells of them as such,
// whatever search made of them.
func (r *recalling) tellOnce() {
	core := map[string]bool{}
	for _, f := range slices.Concat(r.opening.Facts(), r.crowded.Facts()) {
		core[f.ID] = true
	}
	if len(core) == 0 {
		return
	}
	r.dropped = slices.DeleteFunc(r.dropped, func(d recall.Dropped) bool { return core[d.Hit.Memory.ID()] })
	r.spare = slices.DeleteFunc(r.spare, func(c memory.Candidate) bool { return core[c.ID] })
	r.cut = slices.DeleteFunc(r.cut, func(c recall.Cut) bool { return core[c.ID] })
}

// inCore is why something stands in a prompt that was not searched for: no number of it is
// one of ranking.
var inCore = memory.Why{{Name: "core", Value: 1}}

// traceCore writes down the facts and entries of a core, without words where content is
// false. cut is the stage that left them out.
func (p *tracePacker) traceCore(core recall.Core, owner memory.Owner, content bool, cut string) {
	told := func(s string) string {
		if !content {
			return ""
		}
		return s
	}
	for _, f := range core.Facts() {
		home := f.Scope.Owner
		if home == owner {
			home = ""
		}
		p.memory(f.ID, memory.KindFact, told(f.Content), home, cut, 0, inCore)
	}
	for _, e := range core.Profile {
		p.memory(e.Key, recall.KindProfile, told(recall.EntryText(e)), "", cut, 0, inCore)
	}
}

func coreSize(c recall.Core) int { return len(c.Facts()) + len(c.Profile) }
