package engine

import (
	"os"
	"testing"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// noError returns what fails the test where the last result of a call is an error.
func noError(t testing.TB) func(results ...any) {
	return func(results ...any) {
		t.Helper()
		if err := results[len(results)-1]; err != nil {
			t.Fatal(err)
		}
	}
}
