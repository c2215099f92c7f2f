package chatapi

import "testing"

// noError returns a function that fails the test if the last result of a call is an error.
func noError(t testing.TB) func(results ...any) {
	return func(results ...any) {
		t.Helper()
		if err := results[len(results)-1]; err != nil {
			t.Fatal(err)
		}
	}
}

// result holds the results of a call.
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
