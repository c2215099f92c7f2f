package recall

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// TestAnswersThatSayNothingElseMakeRoom: "a: " marks the assistant's turns.
func TestAnswersThatSayNothingElseMakeRoom(t *testing.T) {
	const job = "Hi, I work as a nurse at the hospital in Porto, mostly nights."
	for answer, says := range map[string]bool{
		"You work as a nurse at the hospital in Porto.": false,
		"You work as a nurse in Lisbon.":                true, // which nobody told
		"You do not work as a nurse.":                   true,
		"Night shifts want blackout curtains.":          true,
	} {
		var hits []memory.Hit
		for i, content := range []string{answer, job} {
			role := []memory.Role{memory.RoleAssistant, memory.RoleUser}[i]
			hits = append(hits, memory.Hit{Memory: memory.Memory{Turn: &memory.Turn{ID: fmt.Sprint(i), Role: role, Content: content}}})
		}
		if kept, _ := Fit(hits, FitOptions{Question: "What do I do for a living?"}); len(kept) == 2 != says {
			t.Errorf("%q: kept %d, want it kept: %v", answer, len(kept), says)
		}
	}
}

func BenchmarkFit(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("garden window harbour lantern cooking dinners mornings walked painted watching mountains letters rivers the and of with")
	var hits []memory.Hit
	for i := range 18 {
		var contents []string
		for range 20 {
			contents = append(contents, words[r.IntN(len(words))]+string(rune('a'+r.IntN(26))))
		}
		hits = append(hits, memory.Hit{Memory: memory.Memory{Turn: &memory.Turn{ID: fmt.Sprint(i), Role: memory.RoleUser, Content: "I " + strings.Join(contents, " ") + ".", CreatedAt: now}}, Why: memory.Why{{Name: "own", Value: .5}}})
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
