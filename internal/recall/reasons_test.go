package recall

import (
	"testing"

	"github.com/loci-memory/loci/memory"
)

func TestReasonsArePlainWords(t *testing.T) {
	for _, c := range []struct {
		why  memory.Why
		want string
	}{
		{nil, ""},
		{memory.Why{{Name: "core", Value: 1}, {Name: "cue.words", Value: 3}}, "every conversation begins with it"},
		{memory.Why{{Name: "lexical", Value: 9}, {Name: "cue.speaker", Value: 1.7}, {Name: "cue.words", Value: 3}, {Name: "cue.speaker_words", Value: 1.62}, {Name: "cue.other", Value: -1}, {Name: "score", Value: 1}},
			"it has words of the question; the person in the question said it"},
		{memory.Why{{Name: "cue.fact", Value: 4}, {Name: "cue.words", Value: 3}, {Name: "cue.related", Value: 2}, {Name: "cue.vector", Value: 1}}, "it is a learned fact; it has words of the question; it has synonyms of the question's words"},
	} {
		if got := ReasonText(c.why); got != c.want {
			t.Errorf("Reasons(%v) = %q, want %q", c.why, got, c.want)
		}
	}
	if got := PartsText(memory.Why{{Name: "cue.speaker_words", Value: 1.62}, {Name: "score", Value: 0.5}}); got != "speaker_words +1.62 · score 0.50" {
		t.Errorf("Numbers: %q", got)
	}
}

// Every cue that may speak for a memory has words for people.
func TestEveryCueHasPlainWords(t *testing.T) {
	for _, c := range cues {
		if c.weight > 0 && c.name != "peak" && reasonTexts["cue."+c.name] == "" {
			t.Errorf("cue %s has no plain words", c.name)
		}
	}
}
