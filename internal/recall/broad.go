package recall

import (
	"cmp"
	"slices"
	"time"

	"github.com/loci-memory/loci/memory"
)

// ByImportance returns hits of memories in the order in which they answer a
// [Query] that is Broad: pinned facts, then by confidence and recency; turns and
// summaries after facts. Score is the importance, 0 to 1.
func ByImportance(memories []memory.Memory, now time.Time) []memory.Hit {
	hits := make([]memory.Hit, len(memories))
	for i, m := range memories {
		hits[i] = memory.Hit{Memory: m}
		hits[i].Score, hits[i].Why = importance(m, now)
	}
	slices.SortFunc(hits, func(a, b memory.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Memory.ID(), b.Memory.ID()))
	})
	return hits
}

func importance(m memory.Memory, now time.Time) (float64, memory.Why) {
	var pinned, confidence float64
	at := m.CreatedAt()
	if m.Fact != nil {
		confidence, at = m.Fact.Confidence, m.Fact.UpdatedAt
		if m.Fact.Pinned {
			pinned = 1
		}
	}
	recent := recency(now.Sub(at))
	score := 0.5*pinned + 0.3*confidence + 0.2*recent
	return score, memory.Why{{Name: "pinned", Value: pinned}, {Name: "confidence", Value: confidence}, {Name: "recency", Value: recent}, {Name: "score", Value: score}}
}
