package storetest

import "github.com/loci-memory/loci/memory"

// Replicas are stores on one database, like processes that share a server. A test takes its steps
// on one after the other, and each of its goroutines has its own, so that all of them together keep
// the contract.
type Replicas struct {
	memory.Store // nil
	Of           []memory.Store
}
