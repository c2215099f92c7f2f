// Package lessons runs the jobs that learn facts from turns and sum up conversations.
package lessons

import (
	"sync/atomic"

	"github.com/loci-memory/loci/internal/engine/compare"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/retrieve"
)

// Learner runs the jobs that learn facts from turns and sum up conversations.
type Learner struct {
	*core.Core
	Compare  *compare.Comparer
	Curate   *curate.Curator
	Retrieve *retrieve.Retriever

	Taught  core.Broadcast // after each job of learning
	limited atomic.Int32   // how often in a row the learning model's server said that it is asked too often
}
