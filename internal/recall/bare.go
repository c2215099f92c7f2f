package recall

import (
	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// "Do I have a dog?" tells nothing of whoever asks it; "Can you find a vet for my dog Rex?" and "Why do I take these
// pills?" do.

// mostBare is how many words of its own a question has that takes nothing for granted.
const mostBare = 4

// bare reports whether a question asks for what memory may know of whoever asks, and takes nothing for granted.
func bare(question []string) bool {
	if generic(question[:min(2, len(question))]) {
		return false
	}
	self, own, before := false, 0, ""
	for _, w := range question {
		self = self || english.IsFirstPerson(w) || english.IsThirdPerson(w)
		if notBare.Has(w) || text.IsTime(w) || w[0] >= '0' && w[0] <= '9' || purposes.Has(before) && w == "my" {
			return false
		}
		if term := text.Term(w); term != "" && !asking.Has(term) && !fillers.Has(term) {
			own++
		}
		before = w
	}
	return self && own <= mostBare
}

// Words of questions to memory, folded.
var (
	notBare = lazy.Words(`why because since so though although as can could should would may might must shall need best
		recommend suggest you your`)
	purposes = lazy.Words("for with against without")
)
