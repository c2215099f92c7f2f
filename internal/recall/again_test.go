package recall

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// TestWhatIsSaidAgain: what is asked, what was said in one talk ("a: " by the assistant), and what of
// it are repeats.
func TestWhatIsSaidAgain(t *testing.T) {
	const job = "Hi, I work as a nurse at the hospital in Porto, mostly nights."
	for _, c := range []struct {
		question string
		said     []string
		repeats  []string
	}{
		{"What do I do for a living?", []string{job, "What is my job?", "a: You work as a nurse at the hospital in Porto.", "a: Night shifts want blackout curtains."},
			[]string{"What is my job?", "You work as a nurse at the hospital in Porto."}},
		{"What do I do for a living?", []string{job, "a: You work as a nurse in Lisbon."}, nil}, // which nobody told
		{"What do I do for a living?", []string{job, "a: You do not work as a nurse."}, nil},
		{"What do I do for a living?", []string{"What is my job?", "a: You work as a nurse in Porto."}, []string{"What is my job?"}},
		{"What is my job?", []string{"Where do I live?", "a: You have not told me where you live."}, []string{"Where do I live?", "You have not told me where you live."}},
		{"What's my dog's name?", []string{"I have a beagle called Biscuit", "How old is Biscuit?", "Can you find a vet for Biscuit near Douglas?"}, []string{"How old is Biscuit?"}},
		{"What's my dog's name?", []string{"I have a beagle", "How old is Biscuit?"}, nil}, // only this names it
		{"Do I have a dog?", []string{"How old is my dog?"}, nil},                          // there is one
		{"Where is my wedding?", []string{"We booked sixty places", "a: You booked 60."}, []string{"You booked 60."}},
		{"What did I ask you about my job?", []string{job, "Where do I work?", "a: At the hospital in Porto."}, nil},
		{"Who is her doctor?", []string{"I like tea", "Ann: Where do I work?", "Ann: What is my job?"}, nil}, // people ask each other
	} {
		var hits []memory.Hit
		for i, said := range c.said {
			turn := &memory.Turn{ID: fmt.Sprint(i), Conversation: "a", Index: i, Role: memory.RoleUser, Content: said}
			if name, words, ok := strings.Cut(said, ": "); ok {
				turn.Content = words
				if turn.Name = name; name == "a" {
					turn.Name, turn.Role = "", memory.RoleAssistant
				}
			}
			hits = append(hits, memory.Hit{Memory: memory.Memory{Turn: turn}})
		}
		var got []string
		for _, h := range NewRepeatFilter(c.question).In(hits) {
			got = append(got, h.Memory.Content())
		}
		slices.Sort(got)
		slices.Sort(c.repeats)
		if !slices.Equal(got, c.repeats) {
			t.Errorf("asked %q, said %q: repeats %q, want %q", c.question, c.said, got, c.repeats)
		}
	}
}

func BenchmarkRepeatsIn(b *testing.B) {
	var hits []memory.Hit
	for i, said := range []string{"I work as a nurse at the hospital in Porto, mostly nights.", "Where do I work?", "You work as a nurse at the hospital in Porto.", "Night shifts want blackout curtains, and a walk in the light after waking."} {
		for n := range 4 {
			role := memory.RoleUser
			if i > 1 {
				role = memory.RoleAssistant
			}
			hits = append(hits, memory.Hit{Memory: memory.Memory{Turn: &memory.Turn{ID: fmt.Sprint(i, n), Conversation: fmt.Sprint(n), Index: i, Role: role, Content: said}}})
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		NewRepeatFilter("What do I do for a living?").In(hits)
	}
}
