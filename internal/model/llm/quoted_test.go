package llm

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// TestErrorDoesNotQuoteTheRequest: servers repeat requests in their errors, and errors are logged.
func TestErrorDoesNotQuoteTheRequest(t *testing.T) {
	for _, c := range []struct{ message, want string }{
		{"The model `m1` does not exist", "The model `m1` does not exist"},
		{"maximum context length is 8192 tokens", "maximum context length is 8192 tokens"},
		{"Input should be a valid string: {'content': 'I love marzipan in the morning'}", ""},
		{"unsafe: I love marzipan in the morn", ""},
		{"unsafe word 'marzipan'", ""},
	} {
		s := &script{answers: []answer{refuses(403, c.message)}}
		_, err := client(t, s).Complete(t.Context(), memory.Prompt{Name: "extract", Model: "m1", User: "I love marzipan in the morning"})
		if err == nil || !strings.Contains(err.Error(), "403") || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "marzipan") {
			t.Errorf("the server says %q: %v", c.message, err)
		}
	}
	s := &script{answers: []answer{{status: 200, body: `{"model": "m1", "choices": [{"message": {"refusal": "I will not speak of marzipan"}}]}`}}}
	if _, err := client(t, s).Complete(t.Context(), memory.Prompt{Name: "extract", Model: "m1", User: "I love marzipan"}); err == nil || strings.Contains(err.Error(), "marzipan") {
		t.Errorf("a refusal: %v", err)
	}
}
