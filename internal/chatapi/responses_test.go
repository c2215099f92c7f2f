package chatapi

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/memory"
)

const (
	responseCreated = `{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","model":"m","status":"in_progress","output":[]}}`
	responseDone    = `{"type":"response.completed","sequence_number":9,"response":{"id":"resp_1","model":"m","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello!"}]}],"usage":{"input_tokens":9,"output_tokens":5}}}`
)

func outputDelta(item, content, text string) string {
	return `{"type":"response.output_text.delta","output_index":` + item + `,"content_index":` + content + `,"delta":` + quote(text) + `}`
}

var responsesStreams = []dialectStream{
	{
		"usual",
		typedEvents(responseCreated, `{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}`, outputDelta("0", "0", "Hel"), outputDelta("0", "0", "lo!"),
			`{"type":"response.output_text.done","text":"Hello!"}`, responseDone),
		typedEvents(responseDone),
		Answer{Text: "Hello!", FinishReason: "completed", ID: "resp_1", Model: "m", InputTokens: 9, OutputTokens: 5},
	},
	{
		"all in the last", "data: " + responseDone + "\n\n", "data: " + responseDone + "\n\n",
		Answer{Text: "Hello!", FinishReason: "completed", ID: "resp_1", Model: "m", InputTokens: 9, OutputTokens: 5},
	},
	{
		"calls in the last",
		typedEvents(`{"type":"response.completed","response":{"status":"completed","output":[{"type":"function_call","call_id":"t1","name":"f","arguments":"{}"}]}}`),
		typedEvents(`{"type":"response.completed","response":{"status":"completed","output":[{"type":"function_call","call_id":"t1","name":"f","arguments":"{}"}]}}`),
		Answer{FinishReason: "completed", ToolCalls: `[{"id":"t1","type":"function","function":{"name":"f","arguments":"{}"}}]`},
	},
	{
		"a long last event, its type at its end",
		typedEvents(outputDelta("0", "0", "Hello!")) + "event: response.incomplete\ndata: {\"response\":{\"instructions\":\"" + strings.Repeat("x", 9<<10) + "\",\"status\":\"incomplete\"},\"type\":\"response.incomplete\"}\n\n",
		"event: response.incomplete\ndata: {\"response\":{\"instructions\":\"" + strings.Repeat("x", 9<<10) + "\",\"status\":\"incomplete\"},\"type\":\"response.incomplete\"}\n\n",
		Answer{Text: "Hello!", FinishReason: "incomplete"},
	},
	{
		"a long event that is not the last",
		"event: response.created\ndata: {\"response\":{\"id\":\"resp_1\",\"instructions\":\"" + strings.Repeat("x", 9<<10) + "\"},\"type\":\"response.created\"}\n\n" + typedEvents(outputDelta("0", "0", "response.completed")), "",
		Answer{Text: "response.completed", ID: "resp_1"},
	},
	{
		"thought, words and calls",
		typedEvents(responseCreated, `{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"Hm."}`, `{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning"}}`,
			outputDelta("1", "0", "I look."), outputDelta("1", "1", "Wait."),
			`{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{"}`,
			`{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","call_id":"t1","name":"f","arguments":"{\"a\":1}"}}`,
			`{"type":"response.output_item.done","output_index":3,"item":{"type":"custom_tool_call","call_id":"t2","name":"g","input":"words"}}`, responseDone),
		typedEvents(responseDone),
		Answer{
			Text: "I look.\nWait.", FinishReason: "completed", ID: "resp_1", Model: "m", InputTokens: 9, OutputTokens: 5,
			ToolCalls: `[{"id":"t1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"t2","type":"function","function":{"name":"g","arguments":"words"}}]`,
		},
	},
	{
		"failed midway", typedEvents(responseCreated, outputDelta("0", "0", "Hel"), `{"type":"response.failed","response":{"status":"failed","error":{"code":"x"}}}`),
		typedEvents(`{"type":"response.failed","response":{"status":"failed","error":{"code":"x"}}}`),
		Answer{Text: "Hel", FinishReason: "failed", ID: "resp_1", Model: "m"},
	},
	{
		"an error, and a refusal", typedEvents(`{"type":"response.refusal.delta","delta":"No."}`, `{"type":"error","message":"x"}`), typedEvents(`{"type":"error","message":"x"}`),
		Answer{Text: "No."},
	},
	{"cut off", typedEvents(responseCreated, outputDelta("0", "0", "Hel")) + "event: response.comp", "", Answer{Text: "Hel", ID: "resp_1", Model: "m"}},
}

// TestResponsesMatchTheirResentMessages: an answer has the digest of its resent items, in this
// dialect and in chat completions.
func TestResponsesMatchTheirResentMessages(t *testing.T) {
	const output = `{"type":"reasoning","id":"rs_1","summary":[]},{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"I look.","annotations":[]}]},
		{"type":"function_call","id":"fc_1","call_id":"t1","name":"f","arguments":"{\"a\": 1}"}`
	a := try(Responses.ReadAnswer([]byte(`{"id":"resp_1","status":"completed","output":[` + output + `]}`))).orFail(t)
	digests := func(c *Chat, err error) (out []string) {
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range c.Messages {
			out = append(out, m.Digest)
		}
		return out
	}
	here := digests(Responses.Decode([]byte(`{"input":[{"role":"user","content":[{"type":"input_text","text":"Hi"}]},` + output + `,{"type":"function_call_output","call_id":"t1","output":"20"},{"type":"message","role":"user","content":"And?"}]}`)))
	there := digests(Completions.Decode([]byte(`{"messages":[{"role":"user","content":"Hi"},
		{"role":"assistant","content":"I look.","tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},
		{"role":"tool","tool_call_id":"t1","content":"20"},{"role":"user","content":"And?"}]}`)))
	if diff := cmp.Diff(there, here); diff != "" {
		t.Errorf("one chat in two dialects (-completions +responses):\n%s", diff)
	}
	if len(here) < 2 || here[1] != a.Digest {
		t.Errorf("an answer of %q comes back as %q", a.Digest, here)
	}
	if text := digests(Responses.Decode([]byte(`{"input":"Hi"}`))); text[0] != here[0] {
		t.Error("a text is another message than an item of the same words")
	}
}

func TestResponsesNameTheirPredecessor(t *testing.T) {
	for body, want := range map[string][2]string{
		`{"previous_response_id":"resp_1","input":"x"}`:                                {"resp_1", ""},
		`{"conversation":"conv_1","input":"x"}`:                                        {"", "conv_1"},
		`{"conversation":{"id":"conv_1"},"previous_response_id":null}`:                 {"", "conv_1"},
		`{"conversation":"` + strings.Repeat("x", 600) + `"}`:                          {"", ""},
		`{"conversation":7,"previous_response_id":{}}`:                                 {"", ""},
		`{"input":[{"type":"function_call_output","call_id":"t1","output":"twenty"}]}`: {"", ""},
	} {
		c, err := Responses.Decode([]byte(body))
		if err != nil || c.PreviousAnswerID != want[0] || c.ConversationID != want[1] {
			t.Errorf("%.80s: %+v, %v; want %q", body, c, err, want)
		}
	}
}

func TestDecodeResponsesRefuses(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{`[]`, "must be a JSON object"},
		{`{"input":7}`, "input must be a string or an array"},
		{`{"input":"a","input":"b"}`, "2 times"},
		{`{"input":[{"role":"user","content":"x"},7]}`, "input[1] must be an object"},
		{`{"input":[{"type":"reasoning"},{"content":"x"}]}`, "input[1].role must be a string"},
		{`{"memory_top_k":"x"}`, "memory_top_k must be"},
	} {
		_, err := Responses.Decode([]byte(test.body))
		if !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Decode(%s): got %v, want invalid: %s", test.body, err, test.want)
		}
	}
	for _, body := range []string{``, `[]`, `{}`, `{"error":{"message":"no"}}`, `{"output":"x"}`} {
		if got, err := Responses.ReadAnswer([]byte(body)); !errors.Is(err, memory.Invalid) {
			t.Errorf("ReadAnswer(%s): got %+v, %v, want invalid", body, got, err)
		}
	}
}

// TestCallsOfBuiltInToolsAreCalls: nothing is inserted between them and their outputs.
func TestCallsOfBuiltInToolsAreCalls(t *testing.T) {
	const call = `{"type":"computer_call","id":"cu_1","call_id":"t1","action":{"type":"click","x":1},"status":"completed"}`
	body := `{"input":[{"role":"user","content":"Click it"},` + call + `,{"role":"user","content":"Now"},{"type":"computer_call_output","call_id":"t1","output":{"type":"computer_screenshot"}}]}`
	c, err := Responses.Decode([]byte(body))
	if err != nil || len(c.Messages) != 4 || !c.Messages[1].ToolCalls {
		t.Fatalf("read %+v, %v; want a call", c.Messages, err)
	}
	if got := string(c.WithBlock("block", Tail)); !strings.Contains(got, `{"role":"system","content":"block"},`+call) {
		t.Errorf("got %s, want the block before the call", got)
	}
	a, err := Responses.ReadAnswer([]byte(`{"output":[{"type":"web_search_call","id":"ws_1"},` + call + `]}`))
	if err != nil || a.Digest != c.Messages[1].Digest || a.ToolCalls != `[{"id":"t1","type":"function","function":{"name":"computer_call","arguments":"{\"type\":\"click\",\"x\":1}"}}]` {
		t.Errorf("read %+v, %v", a, err)
	}
}
