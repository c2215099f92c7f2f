// Package lessons runs the jobs that learn facts from turns and summarize conversations.
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

// Learner runs the jobs that learn facts from turns and summarize conversations.
type Learner struct {
	Curate   *curate.Curator
	Retrieve *retrieve.Retriever

	Asker
	Taught   broadcast                                   // rung after each lesson
	contexts *recent.Map[[sha256.Size]byte, [][]float32] // vectors of passages, by model and text
}

// Asker calls the learning model within its budget.
type Asker struct {
	*core.Core
	limited atomic.Int32 // consecutive replies of the server that it is called too often
	trying  sync.Mutex   // held during a model's trial
}

// NewLearner returns a learner that uses other parts of the engine.
func NewLearner(c *core.Core, cur *curate.Curator, r *retrieve.Retriever) *Learner {
	return &Learner{Curate: cur, Retrieve: r, Asker: Asker{Core: c}, contexts: recent.New[[sha256.Size]byte, [][]float32](contextsKept)}
}

// reader extracts facts from turns.
type reader struct{ *Learner }

// branches lets facts follow turns that leave or rejoin a conversation's path.
type branches struct{ *Learner }
