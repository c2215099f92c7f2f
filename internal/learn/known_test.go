package learn

import (
	"testing"

	"github.com/loci-memory/loci/internal/extract"
)

func TestOffTheRecordMessagesAreNotLearned(t *testing.T) {
	for message, want := range map[string]bool{
		"Don't remember this: I take Prozac.":                  true,
		"Please don't save this, but I'm bipolar.":             true,
		"Off the record, I'm bipolar.":                         true,
		"I'm bipolar, but that's off the record.":              true,
		"Between us: I'm gay.":                                 true,
		"Keep this between us, I have HIV.":                    true,
		"I smoke. Don't remember that.":                        true,
		"Don't store that I smoke":                             true,
		"No need to remember this, but I live in Ghent":        true,
		"I don't remember my first dog, but I have a cat.":     false,
		"His remarks were off the record. I live in Ghent.":    false,
		"The distance between us grew. I live in Ghent.":       false,
		"Don't keep the dog inside. I live in Ghent.":          false,
		"We don't save that much money. I live in Ghent.":      false,
		"Don't note the price. I live in Ghent.":               false,
		"I broke the record between us kids. I live in Ghent.": false,
	} {
		if got := extract.IsOffTheRecord(message); got != want {
			t.Errorf("OffTheRecord(%q) is %v, want %v", message, got, want)
		}
		if got := learned(message); (got == "") != want {
			t.Errorf("from %q got %q", message, got)
		}
		s := saying(message)
		kept, _ := Filter([]extract.Candidate{{Text: "User is bipolar and lives in Ghent", TurnID: "T"}}, s)
		if (len(kept) == 0) != want {
			t.Errorf("from %q a model's fact is kept: %v", message, kept)
		}
	}
}
