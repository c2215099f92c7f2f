package learn

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/memory"
)

// TestLongTurnIsReadInPieces: facts of later pieces have their offset in the turn.
func TestLongTurnIsReadInPieces(t *testing.T) {
	filler := strings.Repeat("The weather is nice today. ", (32<<10)/20)
	words := filler + "I live in Lisbon. " + filler + "Remember that the gate code is 4711. " + filler
	found := extract.FactsByRules([]extract.Utterance{{Turn: memory.Turn{ID: "t", Role: memory.RoleUser, Content: words}, Text: words}})
	want := map[string]string{"Lisbon": "I live in Lisbon", "4711": "Remember that the gate code is 4711"}
	for _, c := range found {
		for what, quote := range want {
			if strings.Contains(c.Text, what) && strings.Contains(c.Quote, quote) && words[c.Span.Start:c.Span.End] == c.Quote {
				delete(want, what)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("not read, or not at their places: %v of %+v", want, found)
	}
}
