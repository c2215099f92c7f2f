package engine

import (
	"context"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
)

// Another time is searched by words alone, whichever embedder gave vectors then or gives
// them now: none of two models are ever compared, and nothing is embedded meanwhile.
func TestThePastIsSearchedByWordsAloneWithAModel(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		first := again(t, r.Store, r.clock, &alike{name: "first"})
		first.teas(t, 3)
		then := first.Time()
		r.clock.Advance(time.Hour)
		by := &alike{name: "second"}
		second := again(t, r.Store, r.clock, by)
		second.note(t, ana, "Ana's tea of today is sencha")
		noError(t)(second.give(context.Background()))
		embedded := by.documents.Load()
		found, err := second.Retrieve.Recall(context.Background(), retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "oolong tea", At: memory.At{AsOf: then}})
		if err != nil || len(found.Hits) != 3 {
			t.Fatalf("%d hits, %v; want the 3 of that time", len(found.Hits), err)
		}
		for _, h := range found.Hits {
			if v := h.Why.Get("vector"); v != 0 {
				t.Errorf("%q was compared by vector: %v", h.Memory.Content(), v)
			}
		}
		if n := by.documents.Load() - embedded; n != 0 {
			t.Errorf("%d texts were embedded for a question to the past", n)
		}
	})
}
