// Package query answers POST /query, using the memory related to the query.
package query

import (
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
)

// Querier answers POST /query.
type Querier struct {
	*core.Core
	Exchange *exchange.Exchanges
	Retrieve *retrieve.Retriever
}
