package learn

import (
	_ "os" // tests may do I/O, name a store and use the libraries for tests

	_ "github.com/google/go-cmp/cmp"
	_ "github.com/loci-memory/loci/internal/store/inmem"

	_ "github.com/spf13/cobra" // but not every library
)

func both() { go func() {}() } // nor may one here start a goroutine
