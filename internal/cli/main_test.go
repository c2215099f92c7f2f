package cli

import (
	"io"
	"os"
	"testing"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
)

// TestMain lets this binary be the server that a test starts. The server ends with its standard
// input, and so with the process that started it, however that ends.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(1)
		}()
		os.Exit(Main())
	}
	os.Exit(pgtest.Main(m))
}

// noError returns what fails the test where the last result of a call is an error.
func noError(t testing.TB) func(results ...any) {
	return func(results ...any) {
		t.Helper()
		if err := results[len(results)-1]; err != nil {
			t.Fatal(err)
		}
	}
}
