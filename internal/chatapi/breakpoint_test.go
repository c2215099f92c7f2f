package chatapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const mark = `,"cache_control":{"type":"ephemeral"}`

// codingChat returns the requests of a coding assistant's conversation, with breakpoints on the
// last tool, the system prompt and the user's last two messages.
func codingChat() []string {
	textBlock := func(text string) string { return `{"type":"text","text":` + quote(text) } // open, for a mark
	message := func(role string, parts ...string) []string { return append([]string{role}, parts...) }
	history := [][]string{
		message("user", textBlock("<system-reminder>Today is Monday.</system-reminder>"), textBlock("Fix the failing test.")),
		message("assistant", textBlock("I will look."), `{"type":"tool_use","id":"t1","name":"read","input":{"cache_control":{"type":"ephemeral"},"path":"a.go"}`, `{"type":"tool_use","id":"t2","name":"read","input":{"path":"b.go"}`),
		message("user", `{"type":"tool_result","tool_use_id":"t1","content":"package a"`, `{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"package b"}]`),
		message("assistant", `{"type":"thinking","thinking":"Hm.","signature":"x"`, `{"type":"tool_use","id":"t3","name":"test","input":{}`),
		message("user", `{"type":"tool_result","tool_use_id":"t3","is_error":true,"content":"FAIL"`, textBlock("<system-reminder>Be brief.</system-reminder>")),
		message("assistant", textBlock("It is fixed.")),
		message("user", textBlock("And what do I like to wear?")),
		message("assistant", textBlock("A coat.")),
		message("user", textBlock("Thanks. And in summer?")),
	}
	var requests []string
	for n := 1; n <= len(history); n += 2 {
		var messages []string
		for i, m := range history[:n] {
			parts := make([]string, len(m)-1)
			for j, p := range m[1:] {
				if i >= n-3 && m[0] == "user" && j == len(m)-2 {
					p += mark
				}
				parts[j] = p + "}"
			}
			messages = append(messages, `{"role":"`+m[0]+`","content":[`+strings.Join(parts, ",")+`]}`)
		}
		requests = append(requests, `{"model":"m","max_tokens":64,"tools":[{"name":"read","input_schema":{}},{"name":"test","input_schema":{}`+mark+`}],"system":[{"type":"text","text":"You are a coding assistant."`+mark+`}],"messages":[`+strings.Join(messages, ",")+`]}`)
	}
	return requests
}

// upToBreakpoint returns the part of a request that a provider caches: its bytes up to the end of
// the last marked part.
func upToBreakpoint(t *testing.T, body string) string {
	t.Helper()
	i := strings.LastIndex(body, mark+"}")
	if i < 0 {
		t.Fatalf("%s has no breakpoint", body)
	}
	return body[:i+len(mark)+1]
}

// TestMemoryLeavesWhatIsCachedAlone sends a conversation with a different block each time: the
// cached part is the client's own, and each request begins with the cached part of the one before.
func TestMemoryLeavesWhatIsCachedAlone(t *testing.T) {
	for _, p := range placements {
		cached := ""
		for i, body := range codingChat() {
			block := fmt.Sprintf("Stored memory %d: \"Ana\"", i)
			c := try(Messages.Decode([]byte(body))).orFail(t)
			with := string(c.WithBlock(block, p))
			if front := upToBreakpoint(t, body); !strings.HasPrefix(with, front) {
				t.Errorf("%s, request %d: got\n%s\nwant it to begin with\n%s", p, i, with, front)
			}
			if unmarked := strings.ReplaceAll(with, mark, ""); !strings.HasPrefix(unmarked, cached) {
				t.Errorf("%s, request %d: got\n%s\nwant it to begin with what was cached before\n%s", p, i, unmarked, cached)
			}
			cached = strings.ReplaceAll(upToBreakpoint(t, with), mark, "")
			checkToolOrder(t, with, block)
		}
	}
}

// checkToolOrder checks the API's rule that the next message begins with the results of tool calls.
// The block occurs once.
func checkToolOrder(t *testing.T, body, block string) {
	t.Helper()
	var request struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(body), &request); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	type part struct {
		Type, Text, ID string
		ToolUseID      string `json:"tool_use_id"`
	}
	if n := strings.Count(body, escapeInString(block)); n != 1 {
		t.Errorf("the block stands %d times in %s", n, body)
	}
	open := map[string]bool{}
	for i, m := range request.Messages {
		var parts []part
		if json.Unmarshal(m.Content, &parts) != nil {
			parts = []part{{Type: "text"}}
		}
		if len(parts) == 0 {
			t.Errorf("message %d of %s is empty", i, body)
		}
		for _, p := range parts {
			switch {
			case p.Type == "tool_use":
				open[p.ID] = true
			case p.Type == "tool_result":
				delete(open, p.ToolUseID)
			case m.Role == "user" && len(open) > 0:
				t.Errorf("message %d of %s: %q comes before the results of %v", i, body, p.Text, open)
			}
			if m.Role != "user" && p.Text == block {
				t.Errorf("message %d of %s: the assistant says the block", i, body)
			}
		}
	}
}

// TestBlockGoesBehindTheLastBreakpoint has breakpoints in all allowed places.
func TestBlockGoesBehindTheLastBreakpoint(t *testing.T) {
	const (
		ask    = `{"role":"user","content":"Where do I live?"}`
		use    = `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]}`
		marked = `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}` + mark + `}]}`
		put    = `{"type":"text","text":"BLOCK"}`
	)
	for name, c := range map[string]struct{ messages, want string }{
		"first of two parts": {
			`{"role":"user","content":[{"type":"text","text":"a"` + mark + `},{"type":"text","text":"b"}]}`,
			`{"role":"user","content":[{"type":"text","text":"a"` + mark + `},` + put + `,{"type":"text","text":"b"}]}`,
		},
		"only part": {
			`{"role":"user","content":[{"type":"text","text":"a"` + mark + `}]}`,
			`{"role":"user","content":[{"type":"text","text":"a"` + mark + `},` + put + `]}`,
		},
		"a picture": {
			`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{}` + mark + `}]}`,
			`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{}` + mark + `},` + put + `]}`,
		},
		"an earlier message": {
			`{"role":"user","content":[{"type":"text","text":"a"` + mark + `}]},{"role":"assistant","content":"b"},` + ask,
			`{"role":"user","content":[{"type":"text","text":"a"` + mark + `}]},{"role":"assistant","content":"b"},{"role":"user","content":[` + put + `,{"type":"text","text":"Where do I live?"}]}`,
		},
		"a result in a tool loop": {
			ask + `,` + use + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"` + mark + `}]}`,
			ask + `,` + use + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"` + mark + `},` + put + `]}`,
		},
		"inside a result": {
			ask + `,` + use + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"x"` + mark + `}]}]}`,
			ask + `,` + use + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"x"` + mark + `}]},` + put + `]}`,
		},
		"the first of two results": {
			ask + `,` + use + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"` + mark + `},{"type":"tool_result","tool_use_id":"t2"},{"type":"text","text":"c"}]}`,
			ask + `,` + use + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"` + mark + `},{"type":"tool_result","tool_use_id":"t2"},` + put + `,{"type":"text","text":"c"}]}`,
		},
		"a call in a tool loop": {
			ask + `,` + marked + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}`,
			ask + `,` + marked + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"},` + put + `]}`,
		},
		"a reminder follows": {
			`{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"text","text":"b"` + mark + `}]},{"role":"user","content":"<system-reminder>c</system-reminder>"}`,
			`{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"text","text":"b"` + mark + `}]},{"role":"user","content":[` + put + `,{"type":"text","text":"<system-reminder>c</system-reminder>"}]}`,
		},
		"null is not a breakpoint": {
			`{"role":"user","content":[{"type":"text","text":"a","cache_control":null}]}`,
			`{"role":"user","content":[` + put + `,{"type":"text","text":"a","cache_control":null}]}`,
		},
		"a prefill has nothing behind it": {
			`{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"text","text":"I"` + mark + `}]}`,
			`{"role":"user","content":[` + put + `,{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"text","text":"I"` + mark + `}]}`,
		},
	} {
		got := try(Messages.Decode([]byte(`{"messages":[` + c.messages + `]}`))).orFail(t)
		if with, want := string(got.WithBlock("BLOCK", Tail)), `{"messages":[`+c.want+`]}`; with != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, with, want)
		}
	}
}
