package storetest

import "github.com/loci-memory/loci/memory"

// Replicas are stores on one database, as processes that share a server have them. A test takes
// its steps on one after the other, and each of its goroutines has one of its own, so that all
// of them together keep the contract.
type Replicas struct {
	memory.Store // none: whoever opens them gives them to a test
	Of           []memory.Store
}
