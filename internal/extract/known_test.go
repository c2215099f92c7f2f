package extract

import (
	"slices"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// TestNamesMeanWhomKnownFactsGiveThemTo: a name alone is enough once a fact tells whose it is.
func TestNamesMeanWhomKnownFactsGiveThemTo(t *testing.T) {
	known := []string{
		"User's partner is named Tomasz", "User has a dog named Rex", "User's sister is named May",
		"User's friend is named Anna", "User's boss is named Anna",
	}
	for said, want := range map[string][]string{
		"Tomasz is coeliac so nothing with wheat please": {"User's partner Tomasz is coeliac"},
		"Rex has arthritis. He is 12.":                   {"User's dog Rex has arthritis", "User's dog Rex is 12"},
		"Today I heard that Tomasz lives in Oslo":        nil,
		"Tomasz Nowak is a singer":                       nil,
		"May is a lovely month":                          nil,
		"Anna works as a nurse":                          nil, // which of the two?
		"Peter works as a nurse":                         nil,
		"Tomasz's car is blue":                           nil,
		"My colleague Tomasz is coeliac":                 {"User's colleague Tomasz is coeliac"},
		"Is Tomasz coeliac?":                             nil,
	} {
		var got []string
		for _, c := range Rules([]Utterance{{Text: said, Background: known, Turn: memory.Turn{ID: "t", Role: memory.RoleUser, Content: said}}}) {
			got = append(got, c.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q teaches %q, want %q", said, got, want)
		}
	}
}
