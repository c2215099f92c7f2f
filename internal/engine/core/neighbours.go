package core

import (
	"github.com/loci-memory/loci/memory"
)

// Compared are the facts that a candidate is compared with: live ones, and those
// that a person took away, which do not come back.
var Compared = []memory.Status{memory.Active, memory.Pending, memory.Retired, memory.Rejected}

// OfWords reports whether texts that share no word cannot be near.
func OfWords(e memory.Embedder) bool {
	w, ok := e.(interface{ OfWords() bool })
	return ok && w.OfWords()
}
