package curate

import (
	"github.com/loci-memory/loci/internal/engine/core"
)

// Foresight is what will become of a request in memory.
type Foresight struct {
	Kept    bool       // what is said is kept
	Learned bool       // and learned from
	Granted bool       // wishes to forget are granted, whether it is learned from or not
	Paused  core.Pause // what the user has put on hold

	Forget string // what the user asks to be forgotten, "everything" for all; "" for nothing
	Found  int    // how many memories that is about, of those that it will be about
}
