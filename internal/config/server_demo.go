//go:build demo

package config

import (
	"context"

	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
)

// Open always fails: a build with the tag demo has no client of a database server.
func (a StoreAddress) Open(context.Context, sqlstore.Options) (memory.Store, error) {
	return nil, memory.Errorf(memory.Invalid, "this build supports only loci demo; for a database server, build without -tags demo")
}
