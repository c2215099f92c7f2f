//go:build !demo

package config

import (
	"context"

	"github.com/loci-memory/loci/internal/store/mongostore"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
)

// Open opens the store on a database server. If it returns an error, the store must not be used.
func (a StoreAddress) Open(ctx context.Context, o sqlstore.Options) (memory.Store, error) {
	if a.IsMongo() {
		return mongostore.Open(ctx, string(a), mongostore.Options{Now: o.Now, Log: o.Log, TraceBytes: o.TraceBytes})
	}
	return sqlstore.OpenPostgres(ctx, string(a), o)
}
