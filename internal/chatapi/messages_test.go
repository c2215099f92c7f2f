package chatapi

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/memory"
)

// typedEvents writes a stream of named events.
func typedEvents(datas ...string) string {
	var b strings.Builder
	for _, data := range datas {
		name, _, _ := strings.Cut(strings.TrimPrefix(data, `{"type":"`), `"`)
		b.WriteString("event: " + name + "\ndata: " + data + "\n\n")
	}
	return b.String()
}

const (
	messageStart = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":9,"output_tokens":1}}}`
	textStart    = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	messageDelta = `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}}`
	messageStop  = `{"type":"message_stop"}`
)

func textDelta(text string) string {
	return `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + quote(text) + `}}`
}

var messagesStreams = []dialectStream{
	{
		"usual",
		typedEvents(messageStart, textStart, `{"type":"ping"}`, textDelta("Hel"), textDelta("lo!"), `{"type":"content_block_stop","index":0}`, messageDelta, messageStop),
		typedEvents(messageStop),
		Answer{Text: "Hello!", FinishReason: "end_turn", ID: "msg_1", Model: "m", InputTokens: 9, OutputTokens: 5},
	},
	{
		"without names", strings.ReplaceAll(typedEvents(messageStart, textStart, textDelta("Hello!"), messageStop), "event: ", ": "),
		": message_stop\ndata: " + messageStop + "\n\n",
		Answer{Text: "Hello!", ID: "msg_1", Model: "m", InputTokens: 9, OutputTokens: 1},
	},
	{
		"thinking, words and calls",
		typedEvents(messageStart,
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"x"}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, textDelta("I look."),
			`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{}}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"1}"}}`,
			`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"t2","name":"g","input":{}}}`,
			`{"type":"content_block_stop","index":3}`,
			`{"type":"content_block_start","index":4,"content_block":{"type":"text","text":"And"}}`, messageStop),
		typedEvents(messageStop),
		Answer{
			Text: "I look.\nAnd", ID: "msg_1", Model: "m", InputTokens: 9, OutputTokens: 1,
			ToolCalls: `[{"id":"t1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"t2","type":"function","function":{"name":"g","arguments":"{}"}}]`,
		},
	},
	{
		"a call in one piece",
		typedEvents(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{"a":1}}}`, `{"type":"content_block_stop","index":0}`, messageStop),
		typedEvents(messageStop),
		Answer{ToolCalls: `[{"id":"t1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]`},
	},
	{
		"an error midway", typedEvents(messageStart, textStart, textDelta("Hel"), `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`),
		typedEvents(`{"type":"error","error":{"type":"overloaded_error","message":"x"}}`),
		Answer{Text: "Hel", ID: "msg_1", Model: "m", InputTokens: 9, OutputTokens: 1},
	},
	{
		"cut off", typedEvents(messageStart, textStart, textDelta("Hel")) + "event: content_block_del", "",
		Answer{Text: "Hel", ID: "msg_1", Model: "m", InputTokens: 9, OutputTokens: 1},
	},
	{
		"words that look like its end", typedEvents(textDelta("event: message_stop\n\ndata: [DONE]"), messageStop) + ": bye\n\n",
		typedEvents(messageStop) + ": bye\n\n",
		Answer{Text: "event: message_stop\n\ndata: [DONE]"},
	},
}

func TestReadMessagesAnswer(t *testing.T) {
	const body = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[
		{"type":"thinking","thinking":"Hm.","signature":"x"},{"type":"text","text":"I look."},
		{"type":"tool_use","id":"t1","name":"f","input":{"b": 1, "a":1e400}},{"type":"text","text":"And"}],
		"stop_reason":"tool_use","usage":{"input_tokens":7,"cache_read_input_tokens":5,"output_tokens":2}}`
	want := Answer{
		Role: memory.RoleAssistant, Text: "I look.\nAnd", FinishReason: "tool_use", ID: "msg_1", Model: "m", InputTokens: 7, OutputTokens: 2,
		ToolCalls: `[{"id":"t1","type":"function","function":{"name":"f","arguments":"{\"b\": 1, \"a\":1e400}"}}]`,
	}
	want.Digest = Digest(want.Role, want.Text, want.ToolCalls, "")
	got, err := Messages.ReadAnswer([]byte(body))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, body := range []string{``, `[]`, `{}`, `{"type":"error","error":{"type":"overloaded_error"}}`, `{"content":"x"}`} {
		if got, err := Messages.ReadAnswer([]byte(body)); !errors.Is(err, memory.Invalid) {
			t.Errorf("ReadAnswer(%s): got %+v, %v, want invalid", body, got, err)
		}
	}
}

// TestAnswersMatchTheirResentMessages: an answer has the digest of the message that a client makes
// of it, in either dialect and with or without a cache breakpoint.
func TestAnswersMatchTheirResentMessages(t *testing.T) {
	digests := func(dialect *Dialect, messages string) (out []string) {
		c, err := dialect.Decode([]byte(`{"messages":[` + messages + `]}`))
		if err != nil {
			t.Fatalf("%s: %v", messages, err)
		}
		for _, m := range c.Messages {
			out = append(out, m.Digest)
		}
		return out
	}
	const content = `[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"f","input":{"a": 1}}]`
	a := try(Messages.ReadAnswer([]byte(`{"content":` + content + `}`))).orFail(t)
	again := digests(Messages, `{"role":"assistant","content":`+content+`}`)
	if len(again) != 1 || again[0] != a.Digest {
		t.Errorf("an answer of %q comes back as %q", a.Digest, again)
	}
	here := digests(Messages, `{"role":"user","content":"Hi"},{"role":"assistant","content":`+content+`},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"20","cache_control":{"type":"ephemeral"}}]},{"type":"text","text":"And?"}]}`)
	there := digests(Completions, `{"role":"user","content":"Hi"},
		{"role":"assistant","content":"I look.","tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},
		{"role":"tool","tool_call_id":"t1","content":"20"},{"role":"user","content":"And?"}`)
	if diff := cmp.Diff(there, here); diff != "" {
		t.Errorf("one chat in two dialects (-completions +messages):\n%s", diff)
	}
	const image = `{"type":"image","source":{"type":"url","url":"u"}`
	plain, marked := digests(Messages, `{"role":"user","content":[`+image+`}]}`), digests(Messages, `{"role":"user","content":[`+image+`,"cache_control":{"type":"ephemeral"}}]}`)
	if plain[0] != marked[0] {
		t.Error("a mark for the cache makes another message")
	}
	if other := digests(Messages, `{"role":"user","content":[{"type":"image","source":{"type":"url","url":"v"}}]}`); other[0] == plain[0] {
		t.Error("another image is the same message")
	}
}

func TestDecodeMessagesRefuses(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{`{"messages":[`, "not valid JSON"},
		{`[]`, "must be a JSON object"},
		{`{}`, "messages is missing"},
		{`{"messages":"Hi"}`, "messages must be an array"},
		{`{"messages":[],"messages":[]}`, "2 times"},
		{`{"messages":[{"role":"user","content":"x"},7]}`, "messages[1] must be an object"},
		{`{"messages":[{"role":"user","content":[{"type":"tool_result"},{"type":"text","text":"x"}]},{"content":"x"}]}`, "messages[1].role must be a string"},
		{`{"messages":[],"memory_mode":"on"}`, "memory_mode must be one of"},
	} {
		_, err := Messages.Decode([]byte(test.body))
		if !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Decode(%s): got %v, want invalid: %s", test.body, err, test.want)
		}
	}
}

func TestErrorsHaveTheirKinds(t *testing.T) {
	for status, want := range map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error", 409: "invalid_request_error",
		413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 502: "api_error",
	} {
		got := string(Messages.EncodeError(status, "code", `<"no">`, "r1"))
		if want := `{"type":"error","error":{"type":"` + want + `","message":"<\"no\">"},"request_id":"r1"}`; got != want {
			t.Errorf("status %d: got %s, want %s", status, got, want)
		}
	}
	for status, want := range map[int]string{400: "invalid_request_error", 503: "server_error"} {
		for _, dialect := range []*Dialect{Completions, Responses} {
			got := string(dialect.EncodeError(status, "code", "no", "r1"))
			if want := `{"error":{"message":"no","type":"` + want + `","param":null,"code":"code"}}`; got != want {
				t.Errorf("%s, status %d: got %s, want %s", dialect.Path, status, got, want)
			}
		}
	}
}
