package learn

import (
	"testing"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/memory"
)

// TestWhatWasJustLearnedIsPutRight: a correction may come in a message of its own, when
// what it puts right is learned already.
func TestWhatWasJustLearnedIsPutRight(t *testing.T) {
	for _, c := range []struct{ known, attribute, said, want string }{
		{"User lives in Lisbon", "home", "Sorry, I meant Porto", "User lives in Porto"},
		{"User's name is Anna", "name", "It's Ana, not Anna", "User's name is Ana"},
		{"User lives in Lisbon", "home", "It's nice, not cold", ""},
		{"User has a cat", "", "Sorry, I meant Porto", ""},
		{"User's exam is on 2026-06-12", "date:exam", "It's the 14th today", ""},
	} {
		said := saying(c.said)
		said[0].Known = []memory.Fact{{Content: c.known, Subject: "user", Attribute: c.attribute, Status: memory.Active}}
		got := ""
		for _, cand := range reading(said) {
			got += cand.Text
		}
		if got != c.want {
			t.Errorf("after %q, from %q got %q, want %q", c.known, c.said, got, c.want)
		}
	}
	if got := learned("My favourite band is Radiohead, no wait, Portishead."); got != "User's favourite band is Portishead" {
		t.Errorf("got %q, want the second", got)
	}
}

// TestWhatIsSaidInConfidenceIsNotLearned: neither by rule nor by a model.
func TestWhatIsSaidInConfidenceIsNotLearned(t *testing.T) {
	for said, want := range map[string]bool{
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
		if got := extract.OffTheRecord(said); got != want {
			t.Errorf("OffTheRecord(%q) is %v, want %v", said, got, want)
		}
		if got := learned(said); (got == "") != want {
			t.Errorf("from %q got %q", said, got)
		}
		s := saying(said)
		kept, _ := Filter([]extract.Candidate{{Text: "User is bipolar and lives in Ghent", Turn: "T"}}, s)
		if (len(kept) == 0) != want {
			t.Errorf("from %q a model's fact is kept: %v", said, kept)
		}
	}
}
