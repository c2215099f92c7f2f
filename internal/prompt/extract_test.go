package prompt

import (
	"testing"

	"github.com/loci-memory/loci/internal/text"
)

// TestInstructionOfExtractIsShortAndConstant: a provider can cache the beginning of every call only
// if no byte of it changes.
func TestInstructionOfExtractIsShortAndConstant(t *testing.T) {
	a, err := Default().Fill(sampleExtract)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Default().Fill(Extract{Turns: []Turn{{ID: "t1", Role: "user", Text: "Hello"}}})
	if err != nil {
		t.Fatal(err)
	}
	if a.System != b.System {
		t.Errorf("the instruction depends on its data:\n%s\n%s", a.System, b.System)
	}
	if n := text.EstimateTokens(a.System); n > 450 {
		t.Errorf("the instruction has %d tokens, want 450 at most", n)
	}
}
