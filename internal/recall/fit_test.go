package recall

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"github.com/loci-memory/loci/memory"
)

// TestAnswersThatSayNothingElseMakeRoom: "a: " was said by the assistant.
func TestAnswersThatSayNothingElseMakeRoom(t *testing.T) {
	const job = "Hi, I work as a nurse at the hospital in Porto, mostly nights."
	for answer, says := range map[string]bool{
		"You work as a nurse at the hospital in Porto.": false,
		"You work as a nurse in Lisbon.":                true, // which nobody told
		"You do not work as a nurse.":                   true,
		"Night shifts want blackout curtains.":          true,
	} {
		var hits []memory.Hit
		for i, said := range []string{answer, job} {
			role := []memory.Role{memory.RoleAssistant, memory.RoleUser}[i]
			hits = append(hits, memory.Hit{Memory: memory.Memory{Turn: &memory.Turn{ID: fmt.Sprint(i), Role: role, Content: said}}})
		}
		if kept, _ := Fit(hits, FitOptions{Question: "What do I do for a living?"}); len(kept) == 2 != says {
			t.Errorf("%q: kept %d, want it kept: %v", answer, len(kept), says)
		}
	}
}

// FuzzOneLine holds the short way through oneLine to the long one.
func FuzzOneLine(f *testing.F) {
	for _, s := range []string{"", " ", "a", " a", "a ", "a  b", "a\tb", "</memory> x", "＜loci-memory＞", "a\u200bb", "a\x7fb", "café ", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want := strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) || unicode.IsControl(r) && !unicode.IsSpace(r) {
				return -1
			}
			return r
		}, s)
		want = strings.Join(strings.Fields(want), " ")
		if got := oneLine(s); got != want {
			t.Errorf("oneLine(%q) = %q, want %q", s, got, want)
		}
	})
}

func BenchmarkFit(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("garden window harbour lantern cooking dinners mornings walked painted watching mountains letters rivers the and of with")
	var hits []memory.Hit
	for i := range 18 {
		var said []string
		for range 20 {
			said = append(said, words[r.IntN(len(words))]+string(rune('a'+r.IntN(26))))
		}
		hits = append(hits, memory.Hit{Memory: memory.Memory{Turn: &memory.Turn{ID: fmt.Sprint(i), Role: memory.RoleUser, Content: "I " + strings.Join(said, " ") + ".", CreatedAt: now}}, Why: memory.Why{{Name: "own", Value: .5}}})
	}
	for name, budget := range map[string]int{"any budget": math.MaxInt, "budget": 1500} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Fit(hits, FitOptions{TopK: 10, Budget: budget, Question: "What did I say about the garden?"})
			}
		})
	}
}
