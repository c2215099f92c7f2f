package portable

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// TestJSONErrorsAreExplained: by place, with the expected and actual type, without Go's terms.
func TestJSONErrorsAreExplained(t *testing.T) {
	fact := func(field string) string {
		return `{"type":"fact","id":"f1","content":"User likes rain","status":"active",` + field + `}`
	}
	chat := func(fields string) string { return `[{"id":"c1","current_node":"a",` + fields + `}]` }
	for _, c := range []struct {
		format Format
		file   string
		want   string // "" for whatever it says
	}{
		{JSONL, "7", `is not a record: it should be an object and is a number`},
		{JSONL, `{"type":"fact"`, `is not JSON: it ends too early`},
		{JSONL, `{"type":5}`, `is not a record: "type" should be a text and is a number`},
		{JSONL, fact(`"confidence":"high"`), `is not a fact: "confidence" should be a number and is a text`},
		{JSONL, fact(`"tags":"rain"`), `is not a fact: "tags" should be a list and is a text`},
		{JSONL, fact(`"pinned":1`), `is not a fact: "pinned" should be true or false and is a number`},
		{JSONL, fact(`"core":"often"`), `is not a fact: core must be auto, always or never, not "often"`},
		{JSONL, fact(`"scope":[]`), `is not a fact: "scope" should be an object and is a list`},
		{JSONL, fact(`"provenance":{"conversation":true}`), `is not a fact: "provenance.conversation" should be a text and is true or false`},
		{JSONL, fact(`"created_at":"yesterday"`), `is not a fact: "yesterday" is not a valid time; write it as 2026-05-03T14:00:00Z`},
		{JSONL, fact(`"created_at":17`), `is not a fact: a time should be a text like 2026-05-03T14:00:00Z`},
		{JSONL, `{"type":"turn","id":"t","index":1.5}`, `is not a turn: "index" should be a whole number and is a number 1.5`},
		{Mem0, `[1]`, `is not a memory: it should be an object and is a number`},
		{Mem0, `[{"id":5}]`, `is not a memory: "id" should be a text and is a number`},
		{Mem0, `[{"id":"a"},{"memory":`, `is not JSON, and the rest of the file is not read: it ends too early`},
		{ChatGPT, `[7]`, `is not a conversation: it should be an object and is a number`},
		{ChatGPT, chat(`"mapping":[]`), `is not a conversation: "mapping" should be an object and is a list`},
		{ChatGPT, chat(`"create_time":"1"`), `is not a conversation: "create_time" should be a number and is a text`},
		{Claude, `[{"uuid":"a","chat_messages":{}}]`, `is not a conversation: "chat_messages" should be a list and is an object`},
		{Claude, `["` + strings.Repeat("x", 1000) + `"]`, `is not a conversation: it should be an object and is a text`},
	} {
		var messages []string
		r := Reader{
			Owner:    memory.User(memory.DefaultNamespace, "ana"),
			OnRecord: func(Record) error { return nil },
			OnError:  func(_ int, err error) error { messages = append(messages, err.Error()); return nil },
		}
		if err := r.Read(c.format, strings.NewReader(c.file)); err != nil {
			t.Errorf("%s %s: %v", c.format, c.file, err)
		}
		if got := strings.Join(messages, "; "); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s %.80s: %s; want %s", c.format, c.file, got, c.want)
		}
	}
	for file, want := range map[string]string{
		"":                                    "it is empty",
		"true":                                "it contains no list",
		`"` + strings.Repeat("x", 1000) + `"`: "it contains no list",
		"12":                                  "it contains no list",
		`{"a":1}`:                             "it contains no list",
		"hello":                               "invalid character",
		`{"a":{"b":[1]},"c":2}`:               "it contains no list",
		`{"results":[`:                        "",
		`{"a":` + strings.Repeat("7", 50) + `,"b"`: "it ends too early",
	} {
		r := Reader{Owner: memory.User(memory.DefaultNamespace, "ana"), OnError: func(int, error) error { return nil }}
		err := r.Read(Mem0, strings.NewReader(file))
		if want == "" && err == nil {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 200 {
			t.Errorf("%.60s: %v; want %s", file, err, want)
		}
	}
}
