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
	core.Pinned = slices.DeleteFunc(core.Pinned, func(f memory.Fact) bool {
		return slices.ContainsFunc(r.hits, func(h memory.Hit) bool { return h.Memory.ID() == f.ID })
	})
	return core
}

// tellOnce takes what the core is of out of what search left out: pinned facts are told of
// as such, whatever search made of them.
func (r *recalling) tellOnce() {
	if len(r.opening.Pinned)+len(r.crowded.Pinned) == 0 {
		return
	}
	pinned := map[string]bool{}
	for _, f := range slices.Concat(r.opening.Pinned, r.crowded.Pinned) {
		pinned[f.ID] = true
	}
	r.dropped = slices.DeleteFunc(r.dropped, func(d recall.Dropped) bool { return pinned[d.Hit.Memory.ID()] })
	r.spare = slices.DeleteFunc(r.spare, func(c memory.Candidate) bool { return pinned[c.ID] })
	r.cut = slices.DeleteFunc(r.cut, func(c recall.Cut) bool { return pinned[c.ID] })
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
	for _, f := range core.Pinned {
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

func coreSize(c recall.Core) int { return len(c.Pinned) + len(c.Profile) }
