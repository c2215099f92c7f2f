package recall

import (
	"testing"

	"github.com/loci-memory/loci/memory"
)

func TestOrdersTellNothing(t *testing.T) {
	for message, nothing := range map[string]bool{
		"Refactor everything":          true,
		"Please list the files here.":  true,
		"can you fix the tests?":       true,
		"Ok, now run the tests again.": true,
		"Thanks! Commit and push.":     true,
		"What does main.py do?":        true,
		"And then?":                    true,
		"go on":                        true,
		"yes":                          true,
		"I use zsh":                    false,
		"We decided to use SQLite.":    false,
		"Our API is called Halyard. List the files.": false,
		"I moved our CI last week; write that down":  false,
		"Use tabs here": false,
		"Always run the linter before you commit":      false,
		"From now on run the tests with Bun":           false,
		"Never push to main":                           false,
		"Remove the cache because it leaks on Windows": false,
		"The importer crashes on empty files":          false,
		"Ich wohne in Porto":                           false,
		"":                                             false,
	} {
		turn := &memory.Turn{Role: memory.RoleUser, Content: message}
		if got := hasNoStatement(turn); got != nothing {
			t.Errorf("%q: tells nothing %v, want %v", message, got, nothing)
		}
	}
	if !hasNoStatement(&memory.Turn{Role: memory.RoleAssistant, Content: "I'll look at main.py first."}) {
		t.Error("an assistant's words are told")
	}
}
