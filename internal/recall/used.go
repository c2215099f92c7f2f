package recall

import (
	"github.com/loci-memory/loci/memory"
)

// UsedHits returns the hits that an answer uses: the answer has at least half of the hit's terms that the question lacks.
func UsedHits(question, answer string, hits []memory.Hit) []memory.Hit {
	questionTerms, answerTerms := termsOf(question), termsOf(answer)
	var used []memory.Hit
	for _, h := range hits {
		newCount, usedCount := 0, 0
		for _, t := range termsOf(h.Memory.Content()) {
			if questionTerms.has(t) {
				continue
			}
			newCount++
			if answerTerms.has(t) {
				usedCount++
			}
		}
		if newCount > 0 && usedCount*2 >= newCount {
			used = append(used, h)
		}
	}
	return used
}
