package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

// between has do done once, right before the engine makes a call of that name for the
// n-th time.
func (r *rig) between(call string, n int, do func() error) (let *bool) {
	let = new(bool)
	r.hook(func(now string) error {
		if strings.HasPrefix(now, call) {
			if n--; n == 0 {
				*let = true
				return do()
			}
		}
		return nil
	}, func(string) error { return nil })
	return let
}

// A turn is forgotten at another server while it is learned from, whenever that is.
func TestWhatIsForgottenWhileItIsLearnedFromTeachesNothing(t *testing.T) {
	for _, at := range []struct {
		call string
		n    int
	}{{"Versions", 1}, {"Versions", 2}, {"Get", 1}, {"Get", 2}, {"Apply", 1}} {
		onEach(t, func(t *testing.T, r *rig) {
			job := r.told(t, ana, "c", "I play the cello.")
			other := r.second(t)
			let := r.between(at.call, at.n, func() error {
				return errOf(other.Curate.ForgetMatching(t.Context(), ana, curate.ForgetRequest{IDs: job.Turns}, her))
			})
			_, err := r.Lessons.Learn(t.Context(), job)
			if errors.Is(err, memory.Unavailable) { // as the job runner would
				_, err = r.Lessons.Learn(t.Context(), job)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := r.facts(t, ana); *let && len(got) > 0 {
				t.Errorf("forgotten before %s %d: known is %q, want nothing", at.call, at.n, got)
			}
		})
	}
}
