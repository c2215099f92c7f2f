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
	LessonDone     broadcast                                   // signaled after each lesson
	passageVectors *recent.Map[[sha256.Size]byte, [][]float32] // by hash of model and text: vectors of a context's passages
}

// Asker calls the learning model within the owner's daily budget.
type Asker struct {
	*core.Core
	rateLimitCount atomic.Int32 // number of consecutive rate-limit replies
	trialMutex     sync.Mutex   // locked while a model is tested: see [Asker.reviewReason]
}

// NewLearner returns a learner that uses a core, a curator and a retriever.
func NewLearner(c *core.Core, curator *curate.Curator, retriever *retrieve.Retriever) *Learner {
	return &Learner{Curate: curator, Retrieve: retriever, Asker: Asker{Core: c}, passageVectors: recent.New[[sha256.Size]byte, [][]float32](maxCachedContexts)}
}

// extractor extracts facts from turns.
type extractor struct{ *Learner }

// branchFollower makes facts follow turns that leave or rejoin a conversation's current branch.
type branchFollower struct{ *Learner }
