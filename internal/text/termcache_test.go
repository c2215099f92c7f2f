package text

import (
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestTermsDoNotDependOnWhatIsRemembered asks for more words than are remembered,
// several at once, so that they take each other's places.
func TestTermsDoNotDependOnWhatIsRemembered(t *testing.T) {
	var words []string
	for i := range 3 * knownTerms {
		w := []byte{'a' + byte(i%26), 'a' + byte(i/26%26), 'a' + byte(i/676%26), 'a' + byte(i/17576%26)}
		words = append(words, string(w)+[]string{"ing", "s", "ed", ""}[i%4])
	}
	words = append(words, strings.Fields(stopTable)...)
	words = append(words, strings.Fields(irregularTable)...)
	words = append(words, strings.Repeat("longest", 7)[:maxWord], "", "x", "1990s", "café")
	var clients sync.WaitGroup
	for c := range 2 {
		clients.Go(func() {
			for i := range words {
				w := words[(i*(2*c+1))%len(words)]
				for range 2 { // made, then remembered
					if got, want := Term(w), termOf(w); got != want {
						t.Errorf("Term(%q) = %q, want %q", w, got, want)
					}
					if got, want := hashes.of(w), hashOf(termOf(w)); got != want {
						t.Errorf("the hash of %q is %x, want %x", w, got, want)
					}
				}
			}
		})
	}
	clients.Wait()
}

// hashOf is the hash of a term, made without remembering.
func hashOf(term string) uint64 {
	if term == "" {
		return 0
	}
	return maphash.String(terms.seed, term)
}

func TestKnownTermsCostNothing(t *testing.T) {
	Term("remembered")
	room := TermHashes(nil, "I remembered it.")
	if n := testing.AllocsPerRun(100, func() { Term("remembered"); TermHashes(room, "I remembered it.") }); n != 0 {
		t.Errorf("known terms cost %v allocations, want none", n)
	}
}

// TestHashesAreOfTheTerms compares on texts of what can stand between words.
func TestHashesAreOfTheTerms(t *testing.T) {
	pieces := strings.Fields("walked The I'm don't Ana's Café ﬁn 東京 タワー에서 1,000.5 3.14 x. a,b e.g. 'quoted' ’s well-known … ! ? \" 's 'd't it't")
	pieces = append(pieces, " ", "  ", "\n", "\t", "'", ".", ",", "\u0301", "\xff", strings.Repeat("long", 13))
	r := rand.New(rand.NewPCG(3, 4))
	var room []uint64
	for range 20_000 {
		var s string
		for range 1 + r.IntN([]int{8, 99}[r.IntN(2)]) {
			s += pieces[r.IntN(len(pieces))]
			if r.IntN(2) == 0 {
				s += " "
			}
		}
		var want []uint64
		for _, term := range Terms(s) {
			want = append(want, hashOf(term))
		}
		room = TermHashes(room, s)
		slices.Sort(room)
		if slices.Sort(want); !slices.Equal(room, want) {
			t.Fatalf("the hashes of %q are %x, want those of %q", s, room, Terms(s))
		}
	}
}
