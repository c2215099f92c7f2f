package text

import (
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestTermsDoNotDependOnWhatIsRemembered asks for more words than the cache holds, concurrently, so
// that they evict each other.
func TestTermsDoNotDependOnWhatIsRemembered(t *testing.T) {
	var words []string
	for i := range 3 * termCacheSize {
		w := []byte{'a' + byte(i%26), 'a' + byte(i/26%26), 'a' + byte(i/676%26), 'a' + byte(i/17576%26)}
		words = append(words, string(w)+[]string{"ing", "s", "ed", ""}[i%4])
	}
	words = append(words, strings.Fields(stopTable)...)
	words = append(words, strings.Fields(irregularTable)...)
	words = append(words, strings.Repeat("longest", 7)[:maxWordBytes], "", "x", "1990s", "café")
	var clients sync.WaitGroup
	for c := range 2 {
		clients.Go(func() {
			for i := range words {
				w := words[(i*(2*c+1))%len(words)]
				for range 2 { // made, then remembered
					if got, want := Term(w), computeTerm(w); got != want {
						t.Errorf("Term(%q) = %q, want %q", w, got, want)
					}
				}
			}
		})
	}
	clients.Wait()
}

func TestHashesAreOfTheTerms(t *testing.T) {
	a, b := TermHashes(nil, "I'm walking in 東京, Café 3.5"), TermHashes(nil, "Cafe 3.5 walked 東京")
	slices.Sort(a)
	if slices.Sort(b); len(a) != len(Terms("Cafe 3.5 walked 東京")) || !slices.Equal(a, b) {
		t.Errorf("got %x and %x", a, b)
	}
}
