package recall

import (
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Used returns how many of the hits an answer made use of: it says at least half
// of what the hit says beyond the question.
func Used(question, answer string, hits []memory.Hit) int {
	asked, said := set(question), set(answer)
	used := 0
	for _, h := range hits {
		own, repeated := 0, 0
		for t := range set(h.Memory.Content()) {
			if asked[t] {
				continue
			}
			own++
			if said[t] {
				repeated++
			}
		}
		if own > 0 && repeated*2 >= own {
			used++
		}
	}
	return used
}

func set(s string) map[string]bool {
	out := map[string]bool{}
	for _, t := range text.Terms(s) {
		out[t] = true
	}
	return out
}
