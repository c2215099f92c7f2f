package recall

import (
	"github.com/loci-memory/loci/memory"
)

// UsedHits returns the hits that an answer uses: the answer has at least half of the hit's terms that the question lacks.
func UsedHits(question, answer string, hits []memory.Hit) []memory.Hit {
	asked, answered := termsOf(question), termsOf(answer)
	var used []memory.Hit
	for _, h := range hits {
		own, repeated := 0, 0
		for _, t := range termsOf(h.Memory.Content()) {
			if asked.has(t) {
				continue
			}
			own++
			if answered.has(t) {
				repeated++
			}
		}
		if own > 0 && repeated*2 >= own {
			used = append(used, h)
		}
	}
	return used
}
