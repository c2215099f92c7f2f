package cli

import (
	"os"
	"testing"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
)

// TestMain lets this binary be the server that a test starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		os.Exit(Main())
	}
	os.Exit(pgtest.Main(m))
}
