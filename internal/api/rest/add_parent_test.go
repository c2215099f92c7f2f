package rest

import (
	"slices"
	"testing"

	"github.com/loci-memory/loci/client"
)

// TestAddBehindParent adds a message, a second answer to it, and an edit of the message.
func TestAddBehindParent(t *testing.T) {
	r := newRig(t)
	add := func(body string) client.Added {
		t.Helper()
		w := r.do("POST", "/api/memory/add", body)
		if w.Code != 200 {
			t.Fatalf("add %s: %d %s", body, w.Code, w.Body)
		}
		var added client.Added
		r.decode(w, &added)
		return added
	}
	const begin = `{"conversation":"c","infer":false,"parent_id":"","messages":[{"role":"user","content":"We sail in June","id":"u1"},{"role":"assistant","content":"Enjoy it!","id":"a1"}]}`
	first := add(begin)
	if again := add(begin); !slices.Equal(again.Turns, first.Turns) {
		t.Errorf("the same again gives the turns %q, want %q", again.Turns, first.Turns)
	}
	add(`{"conversation":"c","infer":false,"parent_id":"","messages":[{"role":"user","content":"We sail in June","id":"u1"},{"role":"assistant","content":"Bon voyage!","id":"a2"}]}`)
	add(`{"conversation":"c","infer":false,"parent_id":"a2","messages":[{"role":"user","content":"To Madeira","id":"u2"}]}`)
	var list client.Memories
	r.decode(r.do("GET", "/api/memory?kind=turn&conversation=c", ""), &list)
	var messages []string
	for _, m := range list.Memories {
		messages = append(messages, m.Content)
	}
	slices.Sort(messages)
	if want := []string{"Bon voyage!", "To Madeira", "We sail in June"}; !slices.Equal(messages, want) {
		t.Errorf("the conversation says %q, want %q", messages, want)
	}
}
