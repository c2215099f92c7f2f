package translate

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

func TestResponsesRequest(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"a text and parameters", `{"model":"m","instructions":"Be kind.","input":"Hi","max_output_tokens":64,"temperature":0.1,"top_p":0.9,"stream":true,"user":"ana",
			"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"low"},"metadata":{"a":"b"},"tools":null,"tool_choice":"auto"}`,
			`{"model":"m","max_tokens":64,"temperature":0.1,"top_p":0.9,"stream":true,"stream_options":{"include_usage":true},"user":"ana",
			"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"Hi"}]}`},
		{"one system message at the front", `{"model":"m","instructions":"A","input":[{"role":"developer","content":"B"},{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]},
			{"role":"system","content":"C"}]}`,
			`{"model":"m","messages":[{"role":"system","content":"A\n\nB"},{"role":"user","content":"Hi"},{"role":"system","content":"C"}]}`},
		{"pictures", `{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"What?"},{"type":"input_image","image_url":"data:image/png;base64,AA==","detail":"low"}]}]}`,
			`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"What?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA==","detail":"low"}}]}]}`},
		{"what the model did in a row is one message", `{"model":"m","input":[{"role":"user","content":"Weigh."},{"type":"reasoning","id":"rs_1","summary":[]},
			{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"I will."}]},
			{"type":"function_call","id":"fc_1","call_id":"c1","name":"weigh","arguments":"{}"},{"type":"web_search_call","id":"ws_1"},{"type":"function_call","call_id":"c2","name":"tare","arguments":"{}"},
			{"type":"function_call_output","call_id":"c1","output":"4"},{"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"0"},{"type":"input_image","image_url":"u"}]},
			{"role":"user","content":"So?"}]}`,
			`{"model":"m","messages":[{"role":"user","content":"Weigh."},{"role":"assistant","content":"I will.","tool_calls":[
			{"id":"c1","type":"function","function":{"name":"weigh","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"tare","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"c1","content":"4"},{"role":"tool","tool_call_id":"c2","content":"0"},
			{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]},{"role":"user","content":"So?"}]}`},
		{"tools and JSON of a schema", `{"model":"m","input":"x","tools":[{"type":"function","name":"f","description":"F.","parameters":{"type":"object"},"strict":true},{"type":"web_search"}],
			"tool_choice":{"type":"function","name":"f"},"parallel_tool_calls":false,"text":{"format":{"type":"json_schema","name":"s","schema":{"type":"object"},"strict":true},"verbosity":"low"}}`,
			`{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","description":"F.","parameters":{"type":"object"},"strict":true}}],
			"tool_choice":{"type":"function","function":{"name":"f"}},"parallel_tool_calls":false,
			"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{"type":"object"},"strict":true}}}`},
		{"a JSON object", `{"model":"m","input":"x","text":{"format":{"type":"json_object"}}}`,
			`{"model":"m","messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_object"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) { sameJSON(t, newCallOf(t, chatapi.Responses, tt.in).Body, tt.want) })
	}
}

// TestCodexRequests: every recorded request of Codex is translated, and a call of a namespaced
// function returns under its own name.
func TestCodexRequests(t *testing.T) {
	files, err := filepath.Glob("../api/proxy/testdata/agents/codex/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	calls := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var recorded struct {
			Requests []struct{ Body json.RawMessage }
		}
		if err := json.Unmarshal(text, &recorded); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for i, r := range recorded.Requests {
			c, err := New(chatapi.Responses, r.Body, "R1", noon)
			if err != nil {
				t.Errorf("%s: request %d: %v", file, i, err)
				continue
			}
			if bytes.Contains(r.Body, []byte("multi_agent_v1")) && !bytes.Contains(c.Body, []byte(`"name":"multi_agent_v1__spawn_agent"`)) {
				t.Errorf("%s: request %d lacks its tools: %s", file, i, c.Body)
			}
			got, err := c.Answer([]byte(`{"choices":[{"message":{"tool_calls":[{"id":"c1","function":{"name":"multi_agent_v1__spawn_agent","arguments":"{}"}}]}}]}`))
			if err == nil && bytes.Contains(got, []byte(`"name":"spawn_agent","namespace":"multi_agent_v1"`)) {
				calls++
			}
		}
	}
	if calls == 0 {
		t.Error("no call came back under its own name")
	}
}

// The parts of an answer that the tests of a stream and of a whole answer share.
const (
	weighItem = `{"id":"fc_R1_1","type":"function_call","status":"completed","call_id":"c1","name":"weigh","arguments":"{\"of\":\"cat\"}"}`
	tareItem  = `{"id":"fc_R1_2","type":"function_call","status":"completed","call_id":"c2","name":"tare","arguments":"{}"}`
	textItem  = `{"id":"msg_R1_0","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"I weigh.","annotations":[],"logprobs":[]}]}`
)

func responseOf(status, output, usage string) string {
	return `{"id":"resp_R1","object":"response","created_at":1777809600,"status":"` + status + `","error":null,"incomplete_details":null,"instructions":"Be kind.","max_output_tokens":null,
		"metadata":{},"model":"real","output":[` + output + `],"parallel_tool_calls":true,"previous_response_id":null,"temperature":0.5,"tool_choice":"auto","tools":[],"top_p":null,"store":false,"usage":` + usage + `}`
}

const (
	responsesBody = `{"model":"m","input":"x","instructions":"Be kind.","temperature":0.5}`
	fullUsage     = `{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":15}`
)

func TestResponsesAnswer(t *testing.T) {
	c := newCallOf(t, chatapi.Responses, responsesBody)
	got, err := c.Answer([]byte(completion))
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, got, responseOf("completed", textItem+","+weighItem+","+tareItem, fullUsage))
	for finish, want := range map[string]string{"length": `"incomplete_details":{"reason":"max_output_tokens"}`, "content_filter": `"incomplete_details":{"reason":"content_filter"}`} {
		got, err := c.Answer([]byte(`{"choices":[{"message":{"content":"x"},"finish_reason":"` + finish + `"}]}`))
		if err != nil || !bytes.Contains(got, []byte(want)) || !bytes.Contains(got, []byte(`"status":"incomplete"`)) {
			t.Errorf("%s: got %s, %v; want %s", finish, got, err, want)
		}
	}
}

func TestResponsesStream(t *testing.T) {
	c := newCallOf(t, chatapi.Responses, responsesBody)
	got, whole := translated(t, c, streamOf(append(chunks, "[DONE]")...), 5)
	if !whole {
		t.Error("a whole stream counts as cut off")
	}
	begun := responseOf("in_progress", "", "null")
	open := func(item string) string {
		return strings.NewReplacer("completed", "in_progress", `{\"of\":\"cat\"}`, "", `"arguments":"{}"`, `"arguments":""`).Replace(item)
	}
	wantEvents(t, got,
		`{"type":"response.created","sequence_number":0,"response":`+begun+`}`,
		`{"type":"response.in_progress","sequence_number":1,"response":`+begun+`}`,
		`{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"msg_R1_0","type":"message","status":"in_progress","role":"assistant","content":[]}}`,
		`{"type":"response.content_part.added","sequence_number":3,"item_id":"msg_R1_0","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}`,
		`{"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_R1_0","output_index":0,"content_index":0,"delta":"I ","logprobs":[]}`,
		`{"type":"response.output_text.delta","sequence_number":5,"item_id":"msg_R1_0","output_index":0,"content_index":0,"delta":"weigh.","logprobs":[]}`,
		`{"type":"response.output_text.done","sequence_number":6,"item_id":"msg_R1_0","output_index":0,"content_index":0,"text":"I weigh.","logprobs":[]}`,
		`{"type":"response.content_part.done","sequence_number":7,"item_id":"msg_R1_0","output_index":0,"content_index":0,"part":{"type":"output_text","text":"I weigh.","annotations":[],"logprobs":[]}}`,
		`{"type":"response.output_item.done","sequence_number":8,"output_index":0,"item":`+textItem+`}`,
		`{"type":"response.output_item.added","sequence_number":9,"output_index":1,"item":`+open(weighItem)+`}`,
		`{"type":"response.function_call_arguments.delta","sequence_number":10,"item_id":"fc_R1_1","output_index":1,"delta":"{\"of\":"}`,
		`{"type":"response.function_call_arguments.delta","sequence_number":11,"item_id":"fc_R1_1","output_index":1,"delta":"\"cat\"}"}`,
		`{"type":"response.function_call_arguments.done","sequence_number":12,"item_id":"fc_R1_1","output_index":1,"name":"weigh","arguments":"{\"of\":\"cat\"}"}`,
		`{"type":"response.output_item.done","sequence_number":13,"output_index":1,"item":`+weighItem+`}`,
		`{"type":"response.output_item.added","sequence_number":14,"output_index":2,"item":`+open(tareItem)+`}`,
		`{"type":"response.function_call_arguments.done","sequence_number":15,"item_id":"fc_R1_2","output_index":2,"name":"tare","arguments":"{}"}`,
		`{"type":"response.output_item.done","sequence_number":16,"output_index":2,"item":`+tareItem+`}`,
		`{"type":"response.completed","sequence_number":17,"response":`+responseOf("completed", textItem+","+weighItem+","+tareItem, fullUsage)+`}`,
	)
}

// TestTranslatedStreamKeepsTheAnswer: the recorded answer of a translated stream is the upstream's.
func TestTranslatedStreamKeepsTheAnswer(t *testing.T) {
	for _, d := range []*chatapi.Dialect{chatapi.Messages, chatapi.Responses} {
		c, err := New(d, []byte(`{"model":"m","input":"x","messages":[]}`), "R1", noon)
		if err != nil {
			t.Fatal(err)
		}
		heard, upstream := d.NewStream(), chatapi.Completions.NewStream()
		stream, s := streamOf(append(chunks, "[DONE]")...), c.Stream()
		_, _ = upstream.Write([]byte(stream))
		_, _ = heard.Write(s.Write([]byte(stream)))
		a, b := heard.Answer(), upstream.Answer()
		if a.Text != b.Text || !strings.Contains(a.ToolCalls, `"weigh","arguments":"{\"of\":\"cat\"}"`) || !heard.Done() || a.ID != d.AnswerIDPrefix+"R1" {
			t.Errorf("%s: recorded %+v, want %+v", d.Path, a, b)
		}
	}
}

// TestOwnAnswersAreRead: Loci's own answers, streamed or not, are read correctly and match their
// message in the next request.
func TestOwnAnswersAreRead(t *testing.T) {
	for _, d := range []*chatapi.Dialect{chatapi.Messages, chatapi.Responses} {
		want := chatapi.Answer{
			Role: memory.RoleAssistant, Text: "You live in \"Lisbon\" <3\n", ID: d.AnswerIDPrefix + "1", Model: "loci/recall", InputTokens: 3, OutputTokens: 4, ReportUsage: true,
		}
		want.Digest = chatapi.Digest(want.Role, want.Text, "", "")
		body, err := NewAnswer(d, want, noon).Answer(chatapi.EncodeAnswer(want, noon))
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.ReadAnswer(body)
		if err != nil {
			t.Fatal(err)
		}
		stream, s, g := NewAnswer(d, want, noon).Stream(), d.NewStream(), d.NewGate()
		for i, word := range strings.SplitAfter(want.Text, " ") {
			_, _ = s.Write(stream.Write(chatapi.EncodeChunk(want, noon, word, i == 0)))
		}
		if s.Done() || g.Ended() {
			t.Errorf("%s: done before the end", d.Path)
		}
		end := stream.Write(chatapi.EncodeEnd(want, noon))
		_, _ = s.Write(end)
		g.Forward(end)
		want.FinishReason, want.ItemIDs, want.ReportUsage = got.FinishReason, got.ItemIDs, false
		if diff := cmp.Diff(want, got); diff != "" || want.FinishReason == "" {
			t.Errorf("%s, answer (-want +got):\n%s", d.Path, diff)
		}
		if diff := cmp.Diff(want, s.Answer()); diff != "" || !s.Done() || !g.Ended() {
			t.Errorf("%s, stream, done %t, held %t (-want +got):\n%s", d.Path, s.Done(), g.Ended(), diff)
		}
	}
}
