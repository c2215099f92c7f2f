package retrieve

import (
	"slices"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// othersIn finds what hits say of somebody else only, where the user asks of themself, and
// reports whether there is any, or anything that it changes. Like a repeat it takes part in nothing: it would set the bar
// for what answers. What has nothing of the question without it goes, too.
func (r *Pipeline) othersIn(hits []memory.Hit) (found bool) {
	if r.others == nil {
		return false
	}
	for _, h := range hits {
		if r.others.Is(h.Memory) {
			r.leaveOut(h, "other")
			found = true
		}
	}
	if len(r.excluded) == 0 {
		return false
	}
	for _, h := range hits {
		id := h.Memory.ID()
		if r.excluded[id] {
			continue
		}
		if r.others.Aside(h) {
			r.leaveOut(h, "neighbour")
			found = true
		} else if _, known := r.excluded[id]; !known && r.others.Beside(h.Memory) {
			r.excluded[id], found = false, true
		}
	}
	return found
}

func (r *Pipeline) leaveOut(h memory.Hit, stage string) {
	r.excluded[h.Memory.ID()] = true
	if len(r.filtered) < repeatsTraced {
		r.filtered = append(r.filtered, recall.Dropped{Hit: h, Stage: stage})
	}
}

// ofTheUser returns candidates without what is somebody else's. What stands beside that has
// only what it has by itself.
func (r *Pipeline) ofTheUser(cands []memory.Candidate) []memory.Candidate {
	cands = slices.DeleteFunc(cands, func(c memory.Candidate) bool { return r.excluded[c.ID] })
	for i := range cands {
		if _, beside := r.excluded[cands[i].ID]; beside {
			recall.ByItself(&cands[i])
		}
	}
	return cands
}
