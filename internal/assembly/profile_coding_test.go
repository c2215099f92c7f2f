package assembly

import (
	"slices"
	"strings"
	"testing"
)

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
