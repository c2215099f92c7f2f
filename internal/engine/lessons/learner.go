// Package lessons runs the jobs that learn facts from turns and sum up conversations.
package lessons

import (
	"crypto/sha256"
	"sync"
	"sync/atomic"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/recent"
)

// Learner runs the jobs that learn facts from turns and sum up conversations.
type Learner struct {
	Curate   *curate.Curator
	Retrieve *retrieve.Retriever

	Asker
	contexts *recent.Map[[sha256.Size]byte, [][]float32] // vectors of passages, by model and words
}

// Asker asks the learning model, within what it may cost.
type Asker struct {
	*core.Core
	limited atomic.Int32 // how often in a row the model's server said that it is asked too often
	trying  sync.Mutex   // held while a model is tried
}

// NewLearner returns a learner over other parts of the engine.
func NewLearner(c *core.Core, cur *curate.Curator, r *retrieve.Retriever) *Learner {
	return &Learner{Curate: cur, Retrieve: r, Asker: Asker{Core: c}, contexts: recent.New[[sha256.Size]byte, [][]float32](contextsKept)}
}

// reader reads what turns say that is worth knowing.
type reader struct{ *Learner }

// branches lets facts follow the turns that left the path of a conversation, or came back.
type branches struct{ *Learner }
