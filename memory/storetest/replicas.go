package storetest

import "github.com/loci-memory/loci/memory"

// Replicas are stores on one database, like processes that share a server. The steps and goroutines of a test
// use the stores in turn; all stores together must fulfil the contract.
type Replicas struct {
	memory.Store // the embedded interface is nil: tests use Stores
	Stores       []memory.Store
}
