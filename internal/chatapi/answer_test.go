package chatapi

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/memory"
)

func TestReadAnswer(t *testing.T) {
	for _, test := range []struct {
		name, body string
		want       Answer
	}{
		{"text", `{"id":"c1","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello!"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}}`,
			Answer{Text: "Hello!", FinishReason: "stop", ID: "c1", Model: "m", InputTokens: 7, OutputTokens: 2}},
		{"second choice first", `{"choices":[{"index":1,"message":{"content":"b"}},{"index":0,"message":{"content":"a"}}]}`, Answer{Text: "a"}},
		{"no index", `{"choices":[{"message":{"content":"a"}},{"message":{"content":"b"}}]}`, Answer{Text: "a"}},
		{"null content", `{"choices":[{"message":{"role":"assistant","content":null}}]}`, Answer{}},
		{"refusal", `{"choices":[{"message":{"content":null,"refusal":"I cannot."}}]}`, Answer{Text: "I cannot."}},
		{"parts", `{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}]}`, Answer{Text: "a\nb"}},
		{"tool calls", `{"choices":[{"message":{"content":null,"tool_calls":[ {"id":"x","function":{"name":"f","arguments":"{}"}} ]},"finish_reason":"tool_calls"}]}`,
			Answer{ToolCalls: `[ {"id":"x","function":{"name":"f","arguments":"{}"}} ]`, FinishReason: "tool_calls"}},
		{"no tool calls", `{"choices":[{"message":{"content":"a","tool_calls":[]}}]}`, Answer{Text: "a"}},
		{"function call", `{"choices":[{"message":{"content":null,"function_call":{"name":"f","arguments":"{}"}}}]}`,
			Answer{ToolCalls: `[{"type":"function","function":{"name":"f","arguments":"{}"}}]`}},
	} {
		got, err := Completions.ReadAnswer([]byte(test.body))
		if err != nil {
			t.Errorf("%s: ReadAnswer(%s): %v", test.name, test.body, err)
			continue
		}
		test.want.Role = memory.RoleAssistant
		test.want.Digest = Digest(memory.RoleAssistant, test.want.Text, test.want.ToolCalls, "")
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: ReadAnswer(%s) (-want +got):\n%s", test.name, test.body, diff)
		}
	}
}

func TestReadAnswerRefuses(t *testing.T) {
	for _, body := range []string{``, `<html>`, `[]`, `{}`, `{"error":{"message":"no"}}`, `{"choices":[]}`, `{"choices":{}}`, `{"choices":[{"text":"old"}]}`} {
		if got, err := Completions.ReadAnswer([]byte(body)); !errors.Is(err, memory.Invalid) {
			t.Errorf("ReadAnswer(%s): got %+v, %v, want invalid", body, got, err)
		}
	}
}

// TestAnswerComesBackAsMessage: an answer has the digest of the message that a client makes of it.
func TestAnswerComesBackAsMessage(t *testing.T) {
	for _, message := range []string{
		`{"role":"assistant","content":"Hello!"}`,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}`,
		`{"role":"assistant","content":"","function_call":{"name":"f","arguments":""}}`,
	} {
		a := try(Completions.ReadAnswer([]byte(`{"choices":[{"message":` + message + `}]}`))).orFail(t)
		c := try(Decode([]byte(`{"messages":[` + message + `]}`))).orFail(t)
		if a.Digest != c.Messages[0].Digest {
			t.Errorf("%s: the digests of answer and message differ", message)
		}
	}
}

func TestAddFields(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{`{}`, `{"memory_hits":[{"id":"<1>"}],"n":1}`},
		{` { } `, ` { "memory_hits":[{"id":"<1>"}],"n":1} `},
		{`{"a":1e400,"a":"}"}`, `{"a":1e400,"a":"}","memory_hits":[{"id":"<1>"}],"n":1}`},
		{"{\n \"a\": {}\n}\n", "{\n \"a\": {}\n,\"memory_hits\":[{\"id\":\"<1>\"}],\"n\":1}\n"},
	} {
		got, err := AddFields([]byte(test.body), Field{"memory_hits", []map[string]string{{"id": "<1>"}}}, Field{"n", 1})
		if err != nil || string(got) != test.want {
			t.Errorf("AddFields(%q): got %q, %v, want %q", test.body, got, err, test.want)
		}
	}
	for _, body := range []string{``, `[]`, `"x"`, `{"a":1`, "{\"a\":\"\xff\"}"} {
		if _, err := AddFields([]byte(body), Field{"n", 1}); !errors.Is(err, memory.Invalid) {
			t.Errorf("AddFields(%q): got %v, want invalid", body, err)
		}
	}
	if _, err := AddFields([]byte(`{}`), Field{"n", func() {}}); !errors.Is(err, memory.Invalid) {
		t.Errorf("AddFields of a func: got %v, want invalid", err)
	}
}

func TestEncodedAnswersAreRead(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	want := Answer{Role: memory.RoleAssistant, Text: "You live in \"Lisbon\" <3\n", FinishReason: "stop", ID: "c1", Model: "loci/recall", InputTokens: 3, OutputTokens: 4}
	want.Digest = Digest(want.Role, want.Text, "", "")

	got := try(Completions.ReadAnswer(EncodeAnswer(want, at))).orFail(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("completion (-want +got):\n%s", diff)
	}

	s := *Completions.NewStream()
	for i, word := range strings.SplitAfter(want.Text, " ") {
		_, _ = s.Write(EncodeChunk(want, at, word, i == 0))
	}
	if s.Done() {
		t.Error("done before the end")
	}
	_, _ = s.Write(EncodeEnd(want, at))
	got = s.Answer()
	want.InputTokens, want.OutputTokens = 0, 0
	if diff := cmp.Diff(want, got); diff != "" || !s.Done() {
		t.Errorf("stream, done %t (-want +got):\n%s", s.Done(), diff)
	}
}

// TestAStreamSaysWhatItTookWhereThatIsAsked: the usage is an event of its own before the last one;
// earlier events have null.
func TestAStreamSaysWhatItTookWhereThatIsAsked(t *testing.T) {
	chat, err := Decode([]byte(`{"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil || !chat.ReportUsage {
		t.Fatalf("read: %+v, %v; want that it is asked", chat, err)
	}
	a := Answer{Role: memory.RoleAssistant, Text: "Noted.", FinishReason: "stop", ID: "c1", Model: "loci/recall", InputTokens: 3, OutputTokens: 4, ReportUsage: true}
	got := string(EncodeChunk(a, time.Unix(5, 0), a.Text, true)) + string(EncodeEnd(a, time.Unix(5, 0)))
	const frame = `data: {"id":"c1","object":"chat.completion.chunk","created":5,"model":"loci/recall","choices":[`
	want := frame + `{"index":0,"delta":{"role":"assistant","content":"Noted."},"finish_reason":null}],"usage":null}` + "\n\n" +
		frame + `{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}` + "\n\n" +
		frame + `],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}` + "\n\n" + StreamEnd
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the stream (-want +got):\n%s", diff)
	}
	s := *Completions.NewStream()
	_, _ = s.Write([]byte(got))
	if read := s.Answer(); !s.Done() || read.InputTokens != 3 || read.OutputTokens != 4 || read.Text != a.Text {
		t.Errorf("read as %+v, done %t", read, s.Done())
	}
}

func TestModels(t *testing.T) {
	own := Model{ID: "loci/recall", OwnedBy: "loci", Created: time.Unix(5, 0)}
	const entry = `{"id":"loci/recall","object":"model","created":5,"owned_by":"loci"}`
	if got, want := string(EncodeModels(own)), `{"object":"list","data":[`+entry+`]}`; got != want {
		t.Errorf("EncodeModels: got %s, want %s", got, want)
	}
	for _, test := range []struct{ body, want string }{
		{`{"data":[]}`, `{"data":[` + entry + `]}`},
		{` {"x":[1], "data" : [ {"id":"m"} ] , "object":"list"}`, ` {"x":[1], "data" : [ {"id":"m"} ,` + entry + `] , "object":"list"}`},
	} {
		got, err := AddModels([]byte(test.body), own)
		if err != nil || string(got) != test.want {
			t.Errorf("AddModels(%s): got %s, %v, want %s", test.body, got, err, test.want)
		}
	}
	for _, body := range []string{`{}`, `[]`, `{"data":{}}`, `no`} {
		if _, err := AddModels([]byte(body), own); !errors.Is(err, memory.Invalid) {
			t.Errorf("AddModels(%s): got %v, want invalid", body, err)
		}
	}
	if got, err := AddModels([]byte(`{"data":[]}`)); err != nil || string(got) != `{"data":[]}` {
		t.Errorf("AddModels of none: got %s, %v", got, err)
	}
}

func delta(fields string) string {
	return fmt.Sprintf(`data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{%s},"finish_reason":null}]}`, fields)
}

var streams = []struct {
	name, stream string
	want         Answer
	done         bool
}{
	{"text", delta(`"role":"assistant","content":""`) + "\n\n" + delta(`"content":"Hel"`) + "\n\n" + delta(`"content":"lo!"`) + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" +
		`data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}` + "\n\ndata: [DONE]\n\n",
		Answer{Text: "Hello!", FinishReason: "stop", ID: "c1", Model: "m", InputTokens: 7, OutputTokens: 2}, true},
	{"CRLF, comments, other fields and a BOM", "\ufeff: ping\r\n\r\nevent: x\r\nid: 1\r\n" + delta(`"content":"a"`) + "\r\n\r\n: still here\r\n" + strings.Replace(delta(`"content":"b"`), "data: ", "data:", 1) + "\r\n\r\n",
		Answer{Text: "ab", ID: "c1", Model: "m"}, false},
	{"CR alone", delta(`"content":"a"`) + "\r\r" + delta(`"content":"b"`) + "\r\rdata: [DONE]\r\r", Answer{Text: "ab", ID: "c1", Model: "m"}, true},
	{"data over lines", "data: {\"choices\":\ndata: [{\"delta\":\ndata:{\"content\":\"a\"}}]}\n\n", Answer{Text: "a"}, false},
	{"cut off before the empty line", delta(`"content":"a"`) + "\n\n" + delta(`"content":"b"`), Answer{Text: "ab", ID: "c1", Model: "m"}, false},
	{"cut off in an event", delta(`"content":"a"`) + "\n\n" + `data: {"choices":[{"delta":{"cont`, Answer{Text: "a", ID: "c1", Model: "m"}, false},
	{"another choice", `data: {"choices":[{"index":1,"delta":{"content":"no"}}]}` + "\n\n" + delta(`"content":"yes"`) + "\n\n", Answer{Text: "yes", ID: "c1", Model: "m"}, false},
	{"nonsense", "data: {\n\ndata\n\nhello\n\ndata: null\n\ndata: {\"choices\":7}\n\n" + delta(`"content":7`) + "\n\n" + delta(`"content":"a"`) + "\n\n", Answer{Text: "a", ID: "c1", Model: "m"}, false},
	{"an error", `data: {"error":{"message":"overloaded"}}` + "\n\n", Answer{}, false},
	{"refusal", delta(`"refusal":"I can"`) + "\n\n" + delta(`"refusal":"not."`) + "\n\n", Answer{Text: "I cannot.", ID: "c1", Model: "m"}, false},
	{"tool calls in pieces", delta(`"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]`) + "\n\n" +
		delta(`"tool_calls":[{"index":1,"id":"b","function":{"name":"g"}},{"index":0,"function":{"arguments":"{\"x\""}}]`) + "\n\n" +
		delta(`"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]`) + "\n\n",
		Answer{ToolCalls: `[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","type":"function","function":{"name":"g","arguments":""}}]`, ID: "c1", Model: "m"}, false},
	{"tool calls without an index", delta(`"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}},{"function":{"arguments":"}"}},{"id":"b","function":{"name":"g","arguments":{"x":1}}}]`) + "\n\n",
		Answer{ToolCalls: `[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{\"x\":1}"}}]`, ID: "c1", Model: "m"}, false},
	{"a function call", delta(`"function_call":{"name":"f","arguments":"{"}`) + "\n\n" + delta(`"function_call":{"arguments":"}"}`) + "\n\n",
		Answer{ToolCalls: `[{"type":"function","function":{"name":"f","arguments":"{}"}}]`, ID: "c1", Model: "m"}, false},
	{"nothing", "", Answer{}, false},
}

// TestStream reads each stream whole and cut at every byte.
func TestStream(t *testing.T) {
	for _, test := range streams {
		test.want.Role = memory.RoleAssistant
		test.want.Digest = Digest(memory.RoleAssistant, test.want.Text, test.want.ToolCalls, "")
		for _, size := range []int{len(test.stream) + 1, 7, 2, 1} {
			s := *Completions.NewStream()
			write(&s, test.stream, size)
			got := s.Answer()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s in pieces of %d: %q (-want +got):\n%s", test.name, size, test.stream, diff)
			}
			if s.Done() != test.done || s.Empty() != got.Empty() {
				t.Errorf("%s in pieces of %d: done %t, empty %t, want %t, %t", test.name, size, s.Done(), s.Empty(), test.done, got.Empty())
			}
		}
	}
}

func write(s *Stream, stream string, size int) {
	for len(stream) > 0 {
		n := min(size, len(stream))
		_, _ = s.Write([]byte(stream[:n]))
		stream = stream[n:]
	}
}

func TestStreamIsBounded(t *testing.T) {
	s := *Completions.NewStream()
	huge := strings.Repeat("x", 64<<10)
	write(&s, delta(`"content":"a"`)+"\n\ndata: ", 1000)
	for range 100 {
		write(&s, huge, len(huge))
	}
	if len(s.events.event) > maxEventBytes {
		t.Errorf("an event of %d bytes is kept", len(s.events.event))
	}
	write(&s, "\n\n"+delta(`"content":"b"`)+"\n\n", 1000)
	if got := s.Answer().Text; got != "ab" {
		t.Errorf("around an event too long: got %q, want ab", got)
	}
	chunk := delta(`"content":"`+huge+`"`) + "\n\n"
	for range 200 {
		write(&s, chunk, len(chunk))
	}
	if got := len(s.Answer().Text); got > maxAnswerBytes {
		t.Errorf("a text of %d bytes is kept", got)
	}
	for i := range 1000 {
		write(&s, delta(fmt.Sprintf(`"tool_calls":[{"index":%d,"id":"x"}]`, i))+"\n\n", 1000)
	}
	if len(s.calls) > maxCalls {
		t.Errorf("%d calls are kept", len(s.calls))
	}
}

// TestGateHoldsTheEnd: events pass at once, except the one that ends a stream and the rest.
func TestGateHoldsTheEnd(t *testing.T) {
	for _, test := range []struct{ name, stream, want, held string }{
		{"LF", "data: 1\n\ndata: [DONE]\n\n", "data: 1\n\n", "data: [DONE]\n\n"},
		{"CRLF", "data: 1\r\n\r\ndata: [DONE]\r\n\r\n", "data: 1\r\n\r\n", "data: [DONE]\r\n\r\n"},
		{"CR", "data: 1\r\rdata:[DONE]\r\r", "data: 1\r\r", "data:[DONE]\r\r"},
		{"comment before", "data: 1\n\n: bye\ndata: [DONE]\n\n", "data: 1\n\n", ": bye\ndata: [DONE]\n\n"},
		{"more after", "data: [DONE]\n\n: late\n\n", "", "data: [DONE]\n\n: late\n\n"},
		{"no empty line", "data: 1\n\ndata: [DONE]", "data: 1\n\n", "data: [DONE]"},
		{"cut off", "data: 1\n\ndata: {\"a", "data: 1\n\n", "data: {\"a"},
		{"words only", "data: {\"content\":\"data: [DONE]\\n\\n\"}\n\n", "data: {\"content\":\"data: [DONE]\\n\\n\"}\n\n", ""},
		{"a long event's last line", "data: " + strings.Repeat("x", maxEndEventBytes) + "\ndata: [DONE]\n\n: x\n\n", "data: " + strings.Repeat("x", maxEndEventBytes) + "\ndata: [DONE]\n\n: x\n\n", ""},
	} {
		for _, size := range []int{len(test.stream), 3, 2, 1} {
			g := *Completions.NewGate()
			passed := pass(&g, test.stream, size)
			ended := g.Ended()
			held := string(g.TakeWithheld())
			if passed != test.want || held != test.held {
				t.Errorf("%s in pieces of %d: %.80q\ngot  %.80q, held %.80q\nwant %.80q, held %.80q", test.name, size, test.stream, passed, held, test.want, test.held)
			}
			if want := strings.Contains(test.held, "[DONE]") && strings.HasSuffix(test.held, "\n") || strings.HasSuffix(test.held, "\r"); ended != want {
				t.Errorf("%s in pieces of %d: ended %t, want %t", test.name, size, ended, want)
			}
		}
	}
}

func pass(g *Gate, stream string, size int) string {
	var out []byte
	for len(stream) > 0 {
		n := min(size, len(stream))
		out = append(out, g.Forward([]byte(stream[:n]))...)
		stream = stream[n:]
	}
	return string(out)
}

// FuzzStream cuts any stream in any way: the gate gives back every byte in order,
// and the answer does not depend on the cuts.
func FuzzStream(f *testing.F) {
	for _, s := range streams {
		f.Add([]byte(s.stream), uint8(3))
	}
	f.Add([]byte("\r\n\r\r\n\n\ndata: [DONE]\r"), uint8(1))
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		whole, cut := *Completions.NewStream(), *Completions.NewStream()
		g := *Completions.NewGate()
		write(&whole, string(stream), len(stream))
		write(&cut, string(stream), int(size)+1)
		if diff := cmp.Diff(whole.Answer(), cut.Answer()); diff != "" {
			t.Errorf("%q in pieces of %d (-whole +cut):\n%s", stream, int(size)+1, diff)
		}
		passed := pass(&g, string(stream), int(size)+1)
		if got := passed + string(g.TakeWithheld()); got != string(stream) {
			t.Errorf("%q in pieces of %d: got %q", stream, int(size)+1, got)
		}
	})
}

func FuzzReadAnswer(f *testing.F) {
	f.Add([]byte(`{"choices":[{"message":{"role":"assistant","content":"a","tool_calls":[{"id":"x"}]}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := Completions.ReadAnswer(body); err != nil && !errors.Is(err, memory.Invalid) {
			t.Errorf("ReadAnswer(%q): got %v, want invalid", body, err)
		}
		out, err := AddFields(body, Field{"memory_hits", []string{}})
		if err != nil {
			return
		}
		if validateBody(out) != nil || !subsequence(body, out) {
			t.Errorf("AddFields(%q): got %q", body, out)
		}
	})
}

func BenchmarkStream(b *testing.B) {
	chunk := []byte(delta(`"content":" word"`) + "\n\n")
	b.ReportAllocs()
	b.SetBytes(int64(len(chunk)))
	s := *Completions.NewStream()
	g := *Completions.NewGate()
	for b.Loop() {
		_, _ = s.Write(chunk)
		g.Forward(chunk)
	}
}
