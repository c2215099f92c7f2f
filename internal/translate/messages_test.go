package translate

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

var noon = time.Date(2026, 5, 3, 12, 0, 0, 0, time.UTC)

// sameJSON compares two JSON values whatever their white space and order of keys.
func sameJSON(t *testing.T, got []byte, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("%s is not JSON: %v", got, err)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("the wanted %s is not JSON: %v", want, err)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func newCallOf(t *testing.T, d *chatapi.Dialect, body string) *Exchange {
	t.Helper()
	c, err := New(d, []byte(body), "R1", noon)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return c
}

// TestDialectsCanAnswer checks that Loci can write its own answers in each dialect.
func TestDialectsCanAnswer(t *testing.T) {
	for _, d := range chatapi.Dialects {
		encodes := d.EncodeAnswer != nil && d.EncodePiece != nil && d.EncodeEnd != nil && d.EncodeEmptyEvent != nil
		if !encodes && (translators[d].readRequest == nil || translators[d].newWriter == nil) {
			t.Errorf("%s has neither functions that encode answers nor a translator", d.Path)
		}
	}
}

func TestMessagesRequest(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"text and parameters", `{"model":"m","max_tokens":64,"system":"Be kind.","messages":[{"role":"user","content":"Hi"}],"temperature":0.1,"top_p":0.9,
			"top_k":5,"stop_sequences":["END"],"stream":true,"metadata":{"user_id":"ana"},"thinking":{"type":"enabled","budget_tokens":1024}}`,
			`{"model":"m","max_tokens":64,"temperature":0.1,"top_p":0.9,"stop":["END"],"stream":true,"stream_options":{"include_usage":true},
			"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"Hi"}]}`},
		{"blocks", `{"model":"m","system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.197.7ae;"},{"type":"text","text":"A","cache_control":{"type":"ephemeral"}},{"type":"text","text":"B"}],
			"messages":[{"role":"user","content":[{"type":"text","text":"known"},{"type":"text","text":"asked"}]},
			{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"Yes"}]}]}`,
			`{"model":"m","messages":[{"role":"system","content":"A\n\nB"},{"role":"user","content":"known\n\nasked"},{"role":"assistant","content":"Yes"}]}`},
		{"pictures", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"What?"},
			{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}},{"type":"image","source":{"type":"url","url":"https://x.test/a.png"}}]}]}`,
			`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"What?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},
			{"type":"image_url","image_url":{"url":"https://x.test/a.png"}}]}]}`},
		{"tools", `{"model":"m","messages":[{"role":"user","content":"Weigh."},
			{"role":"assistant","content":[{"type":"text","text":"I will."},{"type":"tool_use","id":"t1","name":"weigh","input":{"of":"cat"}},{"type":"tool_use","id":"t2","name":"weigh","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"4"},
			{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":[{"type":"text","text":"none"},{"type":"image","source":{"type":"url","url":"u"}}]},{"type":"text","text":"So?"}]}],
			"tools":[{"name":"weigh","description":"Weighs.","input_schema":{"type":"object"}},{"type":"web_search_20250305","name":"web_search"}],
			"tool_choice":{"type":"tool","name":"weigh","disable_parallel_tool_use":true}}`,
			`{"model":"m","messages":[{"role":"user","content":"Weigh."},
			{"role":"assistant","content":"I will.","tool_calls":[{"id":"t1","type":"function","function":{"name":"weigh","arguments":"{\"of\":\"cat\"}"}},{"id":"t2","type":"function","function":{"name":"weigh","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"t1","content":"4"},{"role":"tool","tool_call_id":"t2","content":"none"},
			{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}},{"type":"text","text":"So?"}]}],
			"tools":[{"type":"function","function":{"name":"weigh","description":"Weighs.","parameters":{"type":"object"}}}],
			"tool_choice":{"type":"function","function":{"name":"weigh"}},"parallel_tool_calls":false}`},
		{"any tool, and JSON of a schema", `{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"custom","name":"f","input_schema":{}}],"tool_choice":{"type":"any"},
			"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}}`,
			`{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"tool_choice":"required",
			"response_format":{"type":"json_schema","json_schema":{"name":"output","schema":{"type":"object"},"strict":true}}}`},
	} {
		t.Run(tt.name, func(t *testing.T) { sameJSON(t, newCallOf(t, chatapi.Messages, tt.in).Body, tt.want) })
	}
}

// TestUntranslatableIsRefused: each refusal names its field.
func TestUntranslatableIsRefused(t *testing.T) {
	for _, tt := range []struct {
		d             *chatapi.Dialect
		in, wantField string
	}{
		{chatapi.Messages, `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"file","file_id":"f"}}]}]}`, "messages[0].content[0]"},
		{chatapi.Messages, `{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"A"}}]}]}`, "messages[0].content[0]"},
		{chatapi.Messages, `{"messages":[{"role":"critic","content":"x"}]}`, "messages[0].content"},
		{chatapi.Messages, `{"messages":[],"tools":[{"type":"bash_20250124","name":"bash"}]}`, "tools[0].type"},
		{chatapi.Messages, `{"messages":[],"tools":[{"type":"web_search_20250305","name":"web_search"}],"tool_choice":{"type":"tool","name":"web_search"}}`, "tool_choice"},
		{chatapi.Messages, `{"messages":[],"temperature":"hot"}`, "temperature"},
		{chatapi.Responses, `{"input":"x","previous_response_id":"resp_1"}`, "previous_response_id"},
		{chatapi.Responses, `{"input":"x","conversation":{"id":"conv_1"}}`, "conversation"},
		{chatapi.Responses, `{"input":"x","background":true}`, "background"},
		{chatapi.Responses, `{"input":[{"role":"user","content":[{"type":"input_file","file_id":"f"}]}]}`, "input[0].content[0]"},
		{chatapi.Responses, `{"input":[{"role":"user","content":[{"type":"input_image","file_id":"f"}]}]}`, "input[0].content[0]"},
		{chatapi.Responses, `{"input":[{"type":"item_reference","id":"msg_1"}]}`, "input[0]"},
		{chatapi.Responses, `{"input":[{"type":"custom_tool_call","call_id":"c"}]}`, "input[0]"},
		{chatapi.Responses, `{"input":"x","tools":[{"type":"local_shell"}]}`, "tools[0].type"},
		{chatapi.Responses, `{"input":"x","tool_choice":{"type":"web_search"}}`, "tool_choice"},
	} {
		_, err := New(tt.d, []byte(tt.in), "R1", noon)
		if !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), tt.wantField) {
			t.Errorf("%s: got %v, want a refusal that names %s", tt.in, err, tt.wantField)
		}
	}
}

// completion is an answer of chat completions with text and calls.
const completion = `{"id":"chatcmpl-1","model":"real","choices":[{"index":0,"message":{"role":"assistant","content":"I weigh.",
	"tool_calls":[{"id":"c1","type":"function","function":{"name":"weigh","arguments":"{\"of\":\"cat\"}"}},{"id":"c2","type":"function","function":{"name":"tare","arguments":""}}]},
	"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4}}}`

// The same as a stream with an interleaved call, which no real server sends.
var chunks = []string{
	`{"model":"real","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`,
	`{"choices":[{"index":0,"delta":{"content":"I "}}]}`, `{"choices":[{"index":0,"delta":{"content":"weigh."}}]}`,
	`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"weigh","arguments":""}}]}}]}`,
	`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"of\":"}}]}}]}`,
	`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c2","function":{"name":"tare","arguments":""}},{"index":0,"function":{"arguments":"\"cat\"}"}}]}}]}`,
	`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
	`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4}}}`,
}

func streamOf(chunks ...string) string {
	return "data: " + strings.Join(chunks, "\n\ndata: ") + "\n\n"
}

// translated feeds a stream in pieces of n bytes and returns the events' data.
func translated(t *testing.T, c *Exchange, stream string, n int) (events []string, whole bool) {
	t.Helper()
	s := c.Stream()
	var out bytes.Buffer
	for len(stream) > 0 {
		k := min(n, len(stream))
		out.Write(s.Write([]byte(stream[:k])))
		stream = stream[k:]
	}
	rest, whole := s.End()
	out.Write(rest)
	for event := range strings.SplitSeq(strings.TrimSuffix(out.String(), "\n\n"), "\n\n") {
		name, data, _ := strings.Cut(event, "\ndata: ")
		var typed struct{ Type string }
		if err := json.Unmarshal([]byte(data), &typed); err != nil || name != "event: "+typed.Type {
			t.Errorf("the event %q has data %s (%v), want its own type", name, data, err)
		}
		events = append(events, data)
	}
	return events, whole
}

// wantEvents compares events as JSON.
func wantEvents(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		sameJSON(t, []byte(got[i]), want[i])
	}
}

func TestMessagesAnswer(t *testing.T) {
	c := newCallOf(t, chatapi.Messages, `{"model":"m","messages":[]}`)
	got, err := c.Answer([]byte(completion))
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, got, `{"id":"msg_R1","type":"message","role":"assistant","model":"real","content":[{"type":"text","text":"I weigh."},
		{"type":"tool_use","id":"c1","name":"weigh","input":{"of":"cat"}},{"type":"tool_use","id":"c2","name":"tare","input":{}}],
		"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":6,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":5}}`)
	for finish, want := range map[string]string{
		`"finish_reason":"stop"`: `"end_turn"`, `"finish_reason":"length"`: `"max_tokens"`, `"finish_reason":"content_filter"`: `"refusal"`,
		`"finish_reason":"stop","stop_reason":"END"`: `"stop_sequence"`, `"finish_reason":"stop","stop_reason":128009`: `"end_turn"`,
	} {
		got, err := c.Answer([]byte(`{"choices":[{"message":{"content":"x"},` + finish + `}]}`))
		if err != nil || !bytes.Contains(got, []byte(`"stop_reason":`+want)) {
			t.Errorf("%s: got %s, %v; want stop_reason %s", finish, got, err, want)
		}
	}
	for _, body := range []string{"", "[]", `{"choices":[]}`, "<html>"} {
		if got, err := c.Answer([]byte(body)); !errors.Is(err, memory.Unavailable) {
			t.Errorf("%q: got %s, %v; want an error", body, got, err)
		}
	}
}

func TestMessagesStream(t *testing.T) {
	for _, n := range []int{1, 7, 1 << 20} {
		c := newCallOf(t, chatapi.Messages, `{"model":"m","stream":true,"messages":[]}`)
		got, whole := translated(t, c, streamOf(append(chunks, "[DONE]")...), n)
		if !whole {
			t.Error("a whole stream counts as cut off")
		}
		wantEvents(t, got,
			`{"type":"message_start","message":{"id":"msg_R1","type":"message","role":"assistant","model":"real","content":[],"stop_reason":null,"stop_sequence":null,
				"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I "}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"weigh."}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c1","name":"weigh","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"of\":"}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\"cat\"}"}}`,
			`{"type":"content_block_stop","index":1}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c2","name":"tare","input":{}}}`,
			`{"type":"content_block_stop","index":2}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":6,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":5}}`,
			`{"type":"message_stop"}`,
		)
	}
}

// TestStreamOfOddServers has fields that servers omit or add.
func TestStreamOfOddServers(t *testing.T) {
	const call = `{"choices":[{"delta":{"tool_calls":[`
	for _, tt := range []struct {
		name   string
		chunks []string
		want   []string // in one of the events each, in order
		whole  bool
	}{
		{"no [DONE]", []string{`{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`}, []string{"message_start", `"x"`, "end_turn", "message_stop"}, true},
		{"cut off", []string{`{"choices":[{"delta":{"content":"x"}}]}`}, []string{"message_start", `"x"`}, false},
		{"an error midway", []string{`{"choices":[{"delta":{"content":"x"}}]}`, `{"error":{"message":"out of memory"}}`}, []string{"message_start", `"x"`, `"error":{"type":"api_error","message":"out of memory"}`}, true},
		{"calls without index and id", []string{call + `{"function":{"name":"f","arguments":{"a":1}}}]}}]}`, "[DONE]"}, []string{"message_start", `"id":"call_msg_R1_0","name":"f"`, `{\"a\":1}`, "tool_use"}, true},
		{"two whole calls of one index", []string{call + `{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}]}}]}`, "[DONE]"}, []string{`"id":"a","name":"f"`, `"id":"b","name":"g"`}, true},
		{"words in parts and a comment", []string{`{"choices":[{"delta":{"content":[{"type":"text","text":"x"}]}}]}`, "nonsense", "[DONE]"}, []string{`"x"`, "message_stop"}, true},
		{"other choices and reasoning", []string{`{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"reasoning_content":"hm","content":"x"}}]}`, "[DONE]"}, []string{`"text":"x"`}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCallOf(t, chatapi.Messages, `{"model":"m","stream":true,"messages":[]}`)
			got, whole := translated(t, c, streamOf(tt.chunks...), 1<<20)
			if whole != tt.whole {
				t.Errorf("whole: %v, want %v", whole, tt.whole)
			}
			all := strings.Join(got, "\n")
			rest := all
			for _, want := range tt.want {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("%s is missing or out of order in:\n%s", want, all)
				}
				rest = after
			}
		})
	}
}

func TestAnswerTooLongEndsInAnError(t *testing.T) {
	s := newCallOf(t, chatapi.Messages, `{"model":"m","stream":true,"messages":[]}`).Stream()
	piece := []byte(`data: {"choices":[{"delta":{"content":"` + strings.Repeat("x", 1<<19) + `"}}]}` + "\n\n")
	for range 18 {
		if out := s.Write(piece); bytes.Contains(out, []byte("event: error")) {
			return
		}
	}
	t.Error("nine megabytes went through")
}
