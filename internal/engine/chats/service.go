package chats

import (
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/traces"
)

// Chats keeps conversations of its own and says messages in them.
type Chats struct {
	*core.Core
	Traces   *traces.Keeper
	Exchange *exchange.Exchanges
	Curate   *curate.Curator

	Talks talks
}
