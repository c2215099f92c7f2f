package recall

import (
	"github.com/loci-memory/loci/memory"
)

// Used returns how many of the hits an answer made use of: it says at least half
// of what the hit says beyond the question.
func Used(question, answer string, hits []memory.Hit) int {
	asked, said := termsOf(question), termsOf(answer)
	used := 0
	for _, h := range hits {
		own, repeated := 0, 0
		for _, t := range termsOf(h.Memory.Content()) {
			if asked.has(t) {
				continue
			}
			own++
			if said.has(t) {
				repeated++
			}
		}
		if own > 0 && repeated*2 >= own {
			used++
		}
	}
	return used
}
