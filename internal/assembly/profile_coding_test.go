package assembly

import (
	"slices"
	"strings"
	"testing"
)

// TestProfileCoding follows a coding agent through runs in two directories: what the person
// tells is known, and what was ordered, done and read on the way is not.
func TestProfileCoding(t *testing.T) {
	s := newStage(t, "coding", map[string]string{"learn.model": ""})
	run := func(folder, messages string) string {
		t.Helper()
		s.ok(nil, "POST", "/v1/chat/completions", `{"model":"chatter","messages":[{"role":"system","content":"You code.\nCurrent working directory: `+folder+`"},`+messages+`]}`)
		s.settle()
		return s.model.lastChat(t).body
	}
	const order = `{"role":"user","content":"I always use tabs, never spaces, and our API is called Halyard. Please refactor the importer."}`
	const step = `{"role":"assistant","content":"I'll look at importer.py first.","tool_calls":[{"id":"1","type":"function","function":{"name":"read","arguments":"{}"}}]}`
	const result = `{"role":"tool","tool_call_id":"1","content":"def importer(): the secret zeppelin"}`
	s.model.reply = "I refactored the importer, and named its ledger Quetzal."
	run("/src/tern", order+","+step+","+result)
	run("/src/tern", `{"role":"user","content":"Refactor everything about the importer."}`)
	run("/src/tern", `{"role":"user","content":"The importer crashes on empty ledgers."}`)
	run("/src/wren", `{"role":"user","content":"From now on tests with Bun, not Jest, and our API is called Arkham."}`)

	s.wantFacts("", []string{
		"User always uses tabs", "User's API is named Halyard", "User's API is named Arkham",
		"User wants from now on: tests with Bun, not Jest",
	})
	s.wantFacts("&project=/src/tern", []string{"User's API is named Halyard"})

	asked := run("/src/tern", `{"role":"user","content":"What about the importer and its ledgers?"}`)
	s.has("the prompt", asked, "crashes on empty ledgers")
	s.lacks("the prompt", asked, "Quetzal", "importer.py", "zeppelin", "Refactor everything")
	asked = run("/src/tern", `{"role":"user","content":"What is our API called?"}`)
	s.has("the prompt", asked, "Halyard")
	s.lacks("the prompt", asked, "Arkham")
	asked = run("/src/wren", `{"role":"user","content":"Do I use tabs or spaces?"}`)
	s.has("the prompt", asked, "always uses tabs")
	s.lacks("the prompt", asked, "Halyard")

	if kept := s.ok(nil, "GET", "/api/export?format=jsonl", ""); strings.Contains(kept, "zeppelin") || !strings.Contains(kept, "I'll look at") {
		t.Errorf("kept:\n%s", kept)
	}
}

// TestToolOutputsAreNotKept keeps only the places of what tools return.
func TestToolOutputsAreNotKept(t *testing.T) {
	s := newStage(t, "default", map[string]string{"learn.model": ""})
	s.ok(nil, "POST", "/v1/chat/completions", `{"model":"chatter","messages":[{"role":"user","content":"Read it."},
		{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"read","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"1","content":"zeppelin"}]}`)
	s.settle()
	kept := s.ok(nil, "GET", "/api/export?format=jsonl", "")
	turns := slices.DeleteFunc(strings.Split(kept, "\n"), func(l string) bool { return !strings.Contains(l, `"role":`) })
	if strings.Contains(kept, "zeppelin") || len(turns) != 4 {
		t.Errorf("kept %d turns, want 4 places without what the tool returned:\n%s", len(turns), kept)
	}
}
