package text

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestIsPersonWordIsIsPersonOfTheTerm asks for all words of the tables and their forms, and
// for made-up ones.
func TestIsPersonWordIsIsPersonOfTheTerm(t *testing.T) {
	persons := 0
	ask := func(w string) {
		want := IsPerson(Term(w))
		if want {
			persons++
		}
		if got := IsPersonWord(w); got != want {
			t.Errorf("%s: got %t, want %t", w, got, want)
		}
	}
	for _, table := range []string{classTable, irregularTable, synonymTable} {
		for _, w := range Words(table) {
			for _, form := range []string{w, w + "s", w + "es", strings.TrimSuffix(w, "y") + "ies", strings.TrimSuffix(w, "f") + "ves", w + "'s", w + "like", w[:len(w)-1]} {
				ask(form)
			}
		}
	}
	if persons < 200 {
		t.Errorf("found %d words for somebody", persons)
	}
	rapid.Check(t, func(t *rapid.T) { ask(rapid.StringMatching(`[a-zäé]{0,9}`).Draw(t, "word")) })
}
