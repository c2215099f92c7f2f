package proxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/chatapi"
)

// speech builds requests and answers in a dialect.
type speech struct {
	*chatapi.Dialect
	history func(turns ...string) string // of a request: user and assistant alternate, the user first
	answer  func(text string) string     // an answer of the upstream
	begin   string                       // beginning of a stream
	piece   func(text string) string
	end     string
	refusal string   // an error of the upstream
	message []string // path of the message in Loci's errors
	kind    []string // path of the error's kind
	invalid string   // kind of an invalid request

	call string // an answer with a tool call of id t1
	step string // messages that the next request adds to its history
}

var speeches = []speech{{
	Dialect: chatapi.Messages,
	history: func(turns ...string) string {
		var out []string
		for i, text := range turns {
			out = append(out, fmt.Sprintf(`{"role":%q,"content":%s}`, []string{"user", "assistant"}[i%2], jsonText(text)))
		}
		return `"max_tokens":64,"messages":[` + strings.Join(out, ",") + `]`
	},
	answer: func(text string) string {
		return `{"id": "msg_1","big":18446744073709551616,"type":"message","role":"assistant","content":[ {"type":"text","text":` + jsonText(text) + `}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2} }` + "\n"
	},
	begin: named(`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m","usage":{"input_tokens":1,"output_tokens":1}}}`) +
		named(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`) + named(`{"type":"ping"}`),
	piece: func(text string) string {
		return named(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + jsonText(text) + `}}`)
	},
	end:     named(`{"type":"message_stop"}`),
	refusal: `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`,
	message: []string{"error", "message"}, kind: []string{"error", "type"}, invalid: "invalid_request_error",
	call: `{"id":"msg_2","type":"message","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"weigh","input":{}}],"stop_reason":"tool_use"}`,
	step: `,{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"weigh","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"4"}]}]`,
}, {
	Dialect: chatapi.Responses,
	history: func(turns ...string) string {
		var out []string
		for i, text := range turns {
			if i%2 == 0 {
				out = append(out, `{"role":"user","content":[{"type":"input_text","text":`+jsonText(text)+`}]}`)
			} else {
				out = append(out, `{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":`+jsonText(text)+`,"annotations":[]}]}`)
			}
		}
		return `"input":[` + strings.Join(out, ",") + `]`
	},
	answer: func(text string) string {
		return `{"id": "resp_1","big":18446744073709551616,"object":"response","status":"completed","output":[ {"type":"reasoning","id":"rs_1","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":` + jsonText(text) + `,"annotations":[]}]}],"usage":null }` + "\n"
	},
	begin: named(`{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","status":"in_progress","output":[]}}`) +
		named(`{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"type":"message","role":"assistant"}}`),
	piece: func(text string) string {
		return named(`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":` + jsonText(text) + `}`)
	},
	end:     named(`{"type":"response.completed","response":{"id":"resp_1","status":"completed","instructions":"` + strings.Repeat("Be kind. ", 1000) + `","output":[]}}`),
	refusal: `{"error":{"message":"no","type":"invalid_request_error","param":null,"code":null}}`,
	message: []string{"error", "message"}, kind: []string{"error", "type"}, invalid: "invalid_request_error",
	call: `{"id":"resp_2","object":"response","status":"completed","output":[{"type":"function_call","id":"fc_1","call_id":"t1","name":"weigh","arguments":"{}"}]}`,
	step: `,{"type":"function_call","id":"fc_1","call_id":"t1","name":"weigh","arguments":"{}"},{"type":"function_call_output","call_id":"t1","output":"4"}]`,
}, {
	Dialect: chatapi.Completions,
	history: func(turns ...string) string {
		var out []string
		for i, text := range turns {
			out = append(out, fmt.Sprintf(`{"role":%q,"content":%s}`, []string{"user", "assistant"}[i%2], jsonText(text)))
		}
		return `"messages":[` + strings.Join(out, ",") + `]`
	},
	answer: completion, piece: delta, end: "data: [DONE]\n\n",
	refusal: `{"error":{"message":"no","type":"invalid_request_error","param":null,"code":null}}`,
	message: []string{"error", "message"}, kind: []string{"error", "type"}, invalid: "invalid_request_error",
	call: `{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"weigh","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
	step: `,{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"weigh","arguments":"{}"}}]},{"role":"tool","tool_call_id":"t1","content":"4"}]`,
}}

func jsonText(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// named returns an event whose name is the type in its data.
func named(data string) string {
	var event struct{ Type string }
	if err := json.Unmarshal([]byte(data), &event); err != nil {
		panic(err)
	}
	return "event: " + event.Type + "\ndata: " + data + "\n\n"
}

// request returns a request with a history.
func (s speech) request(turns ...string) string { return `{"model":"m",` + s.history(turns...) + `}` }

func (s speech) streaming(turns ...string) string { return `{"stream":true,` + s.request(turns...)[1:] }

// says returns an upstream with one answer.
func (s speech) says(text string) http.HandlerFunc {
	return sends(http.StatusOK, s.answer(text), "Content-Type", "application/json")
}

// stream returns the events of an answer in pieces.
func (s speech) stream(pieces ...string) []string {
	out := []string{s.begin}
	for _, p := range pieces {
		out = append(out, s.piece(p))
	}
	return append(out, s.end)
}

// ask sends a request and returns the whole answer.
func (s speech) ask(r *rig, body string, headers ...string) (*http.Response, string) {
	r.t.Helper()
	resp := r.send(http.MethodPost, s.Path, body, headers...)
	return resp, r.read(resp)
}

// at returns the text at a path of objects in a JSON body, "" for none.
func at(t testing.TB, body string, path ...string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%s is not JSON: %v", body, err)
	}
	for _, name := range path {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	text, _ := v.(string)
	return text
}

// inEveryDialect runs a test in each dialect, chat completions last.
func inEveryDialect(t *testing.T, test func(t *testing.T, s speech)) { inDialects(t, speeches, test) }

// inOtherDialects runs a test in each dialect except chat completions.
func inOtherDialects(t *testing.T, test func(t *testing.T, s speech)) {
	inDialects(t, speeches[:2], test)
}

func inDialects(t *testing.T, speeches []speech, test func(t *testing.T, s speech)) {
	for _, s := range speeches {
		t.Run(strings.TrimPrefix(s.Path, "/v1/"), func(t *testing.T) { test(t, s) })
	}
}
