package recall

import (
	"testing"

	"github.com/loci-memory/loci/memory"
)

func TestUsedCountsWhatTheAnswerSaysBeyondTheQuestion(t *testing.T) {
	lisbon := memory.Hit{Memory: memory.Memory{Fact: &memory.Fact{Content: "User lives in Lisbon."}}}
	peanuts := memory.Hit{Memory: memory.Memory{Fact: &memory.Fact{Content: "User is allergic to peanuts."}}}
	empty := memory.Hit{Memory: memory.Memory{Fact: &memory.Fact{Content: "the of and"}}}
	for _, c := range []struct {
		name, question, answer string
		want                   int
	}{
		{"one of three", "Where do I live?", "You live in Lisbon.", 1},
		{"none", "Where do I live?", "I do not know.", 0},
		{"the question's words do not count", "Do I live in Lisbon?", "Yes, in Lisbon.", 0},
		{"two of three", "Tell me about me", "You live in Lisbon and are allergic to peanuts.", 2},
	} {
		if got := UsedHits(c.question, c.answer, []memory.Hit{lisbon, peanuts, empty}); len(got) != c.want {
			t.Errorf("%s: Used(%q, %q) = %d hits, want %d", c.name, c.question, c.answer, len(got), c.want)
		}
	}
}
