package recall

import (
	"testing"

	"github.com/loci-memory/loci/memory"
)

// TestRepeats has a question, an earlier message, and whether that is a repeat.
func TestRepeats(t *testing.T) {
	for _, c := range []struct {
		question, message string
		repeat            bool
	}{
		{"home address?", "What is my home address?", true},
		{"home address?", "My home address is Reeperbahn 5", false},
		{"Where do I live?", "Tell me where I live", true},
		{"What do I do for a living?", "What is my job?", true},
		{"Where does Ann live?", "Where does Bob live?", false},
		{"What's my dog's name?", "Can you find a vet for Biscuit near Douglas?", false},
		{"Do I need my glasses to drive?", "I need my glasses to drive", false},
		{"Am I allergic to peanuts?", "peanuts", false},
		{"Am I allergic to peanuts?", "Hello there!", true},
		{"What did I ask you about my address?", "What is my home address?", false},
		{"What did we talk about last week?", "what did we talk about last week", true},
	} {
		turn := memory.Memory{Turn: &memory.Turn{ID: "t", Role: memory.RoleUser, Content: c.message}}
		if got := NewRepeatFilter(c.question).IsRepeat(turn); got != c.repeat {
			t.Errorf("asked %q, said %q: a repeat %v, want %v", c.question, c.message, got, c.repeat)
		}
	}
	repeated := memory.Memory{Turn: &memory.Turn{ID: "t", Role: memory.RoleAssistant, Name: memory.RecallModel, Content: "From memory: you live in Porto"}}
	if !NewRepeatFilter("Where do I live?").IsRepeat(repeated) {
		t.Error("what the built-in model repeated is not a repeat")
	}
}
