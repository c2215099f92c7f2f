package retrieve

import (
	"slices"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// othersIn drops hits that are only about someone else when the question is about the user,
// and hits that match the question only through such neighbours. It reports whether it
// dropped or changed any.
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

// ofTheUser returns candidates without those about someone else; their neighbours keep only
// their own score.
func (r *Pipeline) ofTheUser(cands []memory.Candidate) []memory.Candidate {
	cands = slices.DeleteFunc(cands, func(c memory.Candidate) bool { return r.excluded[c.ID] })
	for i := range cands {
		if _, beside := r.excluded[cands[i].ID]; beside {
			recall.ByItself(&cands[i])
		}
	}
	return cands
}
