package core

import (
	"github.com/loci-memory/loci/memory"
)

// ErrMeanwhile is of words that both sides changed.
var ErrMeanwhile = memory.Errorf(memory.Conflict, "Loci changed the same words meanwhile")
