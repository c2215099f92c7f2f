package assembly

import (
	"slices"
	"strings"
	"testing"
)

// TestToolOutputsAreKeptIfSet with record.tools.
func TestToolOutputsAreKeptIfSet(t *testing.T) {
	for _, tools := range []string{"false", "true"} {
		s := newStage(t, "default", map[string]string{"learn.model": "", "record.tools": tools})
		s.ok(nil, "POST", "/v1/chat/completions", `{"model":"chatter","messages":[{"role":"user","content":"Read it."},
			{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"read","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"1","content":"zeppelin"}]}`)
		s.settle()
		kept := s.ok(nil, "GET", "/api/export?format=jsonl", "")
		if strings.Contains(kept, "zeppelin") != (tools == "true") {
			t.Errorf("record.tools %s keeps\n%s", tools, kept)
		}
		turns := slices.DeleteFunc(strings.Split(kept, "\n"), func(l string) bool { return !strings.Contains(l, `"role":`) })
		if len(turns) != 4 {
			t.Errorf("record.tools %s keeps %d turns, want all 4 places", tools, len(turns))
		}
	}
}
