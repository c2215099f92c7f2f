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

// errOf returns the error of a call, which is its last result.
func errOf(results ...any) error {
	err, _ := results[len(results)-1].(error)
	return err
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
