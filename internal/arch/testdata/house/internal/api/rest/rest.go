// Package rest breaks three rules: another front, a concrete store, an unknown library.
package rest

import (
	_ "example.com/unknown"

	_ "github.com/loci-memory/loci/internal/api/proxy"
	_ "github.com/loci-memory/loci/internal/store/inmem"
)
