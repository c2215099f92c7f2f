package exchange

import (
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/lessons"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/engine/traces"
)

// Exchanges opens exchanges of chats: request, memory, answer, record.
type Exchanges struct {
	*core.Core
	Retrieve *retrieve.Retriever
	Traces   *traces.Keeper
	Lessons  *lessons.Learner
	Curate   *curate.Curator
}
