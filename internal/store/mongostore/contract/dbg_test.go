package contract

import (
	"errors"
	"testing"

	"github.com/loci-memory/loci/internal/store/mongostore"
)

func TestDbg(t *testing.T) {
	s, err := mongostore.Open(t.Context(), database("x/store"), mongostore.Options{})
	for e := err; e != nil; e = errors.Unwrap(e) {
		t.Logf("%T %v", e, e)
		if j, ok := e.(interface{ Unwrap() []error }); ok {
			for _, e := range j.Unwrap() {
				for ; e != nil; e = errors.Unwrap(e) {
					t.Logf("  %T %v", e, e)
				}
			}
		}
	}
	if s != nil {
		s.Close()
	}
}
