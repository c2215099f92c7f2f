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

// result is what a call returned.
type result[T any] struct {
	value T
	err   error
}

func try[T any](value T, err error) result[T] { return result[T]{value, err} }

// orFail returns the value, or fails the test by the error.
func (r result[T]) orFail(t testing.TB) T {
	t.Helper()
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.value
}
