package index

import (
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

// TestWhatWasGivenBackIsEmpty: the next search begins with candidates of which nothing
// is known, however much of them was in use.
func TestWhatWasGivenBackIsEmpty(t *testing.T) {
	for range 100 { // a pool may forget
		used := room(8)
		for i := range used {
			used[i] = memory.Candidate{ID: "a", Speaker: "Ana", Dates: []memory.Moment{{Year: 2020}}, Vector: []uint16{1}, Found: memory.Measures{Reply: 1}, At: time.Unix(1, 0)}
		}
		Done(used[:3])
		for i, c := range room(8) {
			if c.ID != "" || c.Speaker != "" || c.Dates != nil || c.Vector != nil || c.Found != (memory.Measures{}) || !c.At.IsZero() {
				t.Fatalf("candidate %d has %+v, want nothing", i, c)
			}
		}
	}
}
