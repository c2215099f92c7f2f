package traces

import (
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// inCore is why something stands in a prompt that was not searched for: no number of it is
// one of ranking.
var inCore = memory.Why{{Name: "core", Value: 1}}

// TraceCore writes down the facts and entries of a core, without words where content is
// false. cut is the stage that left them out.
func (p *TracePacker) TraceCore(core recall.Core, owner memory.Owner, content bool, cut string) {
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
		p.Memory(f.ID, memory.KindFact, told(f.Content), home, cut, 0, inCore)
	}
	for _, e := range core.Profile {
		p.Memory(e.Key, recall.KindProfile, told(recall.EntryText(e)), "", cut, 0, inCore)
	}
}
