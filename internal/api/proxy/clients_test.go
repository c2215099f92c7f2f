package proxy

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func TestPathsWithoutV1AreServed(t *testing.T) {
	r := newRig(t)
	r.know("User has a cat called Ünal")
	resp := r.send(http.MethodPost, "/chat/completions?a=b", ask("What is my cat called?"))
	if sent := r.upstream.one(t); sent.uri != chatPath+"?a=b" || !strings.Contains(sent.body, "Ünal") || !strings.Contains(r.read(resp), "memory_hits") {
		t.Errorf("the upstream got %+v", sent)
	}
	r.upstream.answers(sends(http.StatusOK, `{"data":[]}`))
	if got := r.read(r.send(http.MethodGet, "/models", "")); !strings.Contains(got, "loci/recall") {
		t.Errorf("models: %s", got)
	}
	if resp := r.send(http.MethodGet, "/files", ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("another path: %d", resp.StatusCode)
	}
}

func TestEveryAnswerHasARequestID(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ path, header string }{{chatPath, "X-Request-Id"}, {"/v1/messages", "Request-Id"}} {
		body := `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`
		resp := r.send(http.MethodPost, c.path, body)
		if id := resp.Header.Get(c.header); id == "" || id != resp.Header.Get("X-Loci-Request-Id") {
			t.Errorf("%s: %s is %q, want Loci's own id", c.path, c.header, id)
		}
		r.upstream.answers(sends(http.StatusOK, completion("x"), c.header, "theirs"))
		if id := r.send(http.MethodPost, c.path, body).Header.Get(c.header); id != "theirs" {
			t.Errorf("%s: %s is %q, want the upstream's", c.path, c.header, id)
		}
	}
}

func TestChatWithoutUserHasAWarning(t *testing.T) {
	r := newRig(t, func(s *setup) { s.guard.MultiUser = true })
	if resp, _ := r.chat(ask("Hello")); !strings.Contains(resp.Header.Get(HeaderWarning), "no user") {
		t.Errorf("nobody: %v, want a warning", resp.Header)
	}
	if resp, _ := r.chat(ask("Hello"), "X-Loci-User", "ana"); resp.Header.Get(HeaderWarning) != "" {
		t.Errorf("ana: %v, want no warning", resp.Header)
	}
}

func TestBuiltInModelRefusesWhatItCannotDo(t *testing.T) {
	r := newRig(t, func(s *setup) { s.alone = true })
	const messages, tool = `"messages":[{"role":"user","content":"Hello"}]`, `{"type":"function","function":{"name":"f"}}`
	for _, c := range []struct{ path, body, field string }{
		{chatPath, messages + `,"tools":[` + tool + `],"tool_choice":"required"`, "tool_choice"},
		{chatPath, messages + `,"tools":[` + tool + `],"tool_choice":{"type":"function","function":{"name":"f"}}`, "tool_choice"},
		{chatPath, messages + `,"functions":[{"name":"f"}],"function_call":{"name":"f"}`, "function_call"},
		{chatPath, messages + `,"n":2`, "n"},
		{chatPath, messages + `,"response_format":{"type":"json_object"}`, "response_format"},
		{chatPath, `"messages":[]`, "messages"},
		{chatPath, `"messages":[{"role":"critic","content":"Hello"}]`, "messages"},
		{"/v1/messages", messages + `,"tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"any"}`, "tool_choice"},
		{"/v1/responses", `"input":"Hello","text":{"format":{"type":"json_object"}}`, "text.format"},
		{"/v1/completions", `"prompt":"Hello","best_of":3`, "best_of"},
	} {
		resp := r.send(http.MethodPost, c.path, `{"model":"m",`+c.body+`}`)
		if message := at(t, r.read(resp), "error", "message"); resp.StatusCode != http.StatusBadRequest || !strings.HasPrefix(message, c.field+":") {
			t.Errorf("%s %s: got %d %q, want a refusal of %s", c.path, c.body, resp.StatusCode, message, c.field)
		}
	}
	r.wantTurns()
	for _, fine := range []string{`"tools":[]`, `"tools":[` + tool + `]`, `"tools":[` + tool + `],"tool_choice":"none"`, `"tools":[` + tool + `],"tool_choice":{"type":"auto"}`, `"n":1`, `"n":null`, `"response_format":{"type":"text"}`, `"temperature":0`} {
		if resp, got := r.chat(`{"model":"m",` + messages + `,` + fine + `}`); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: got %d %s", fine, resp.StatusCode, got)
		}
	}
}

// lastButOne returns the data of the event before [DONE].
func lastButOne(t *testing.T, stream string) (chunk struct {
	Object  string
	Choices []any
	Hits    []struct{ Content string } `json:"memory_hits"`
}) {
	t.Helper()
	events := strings.Split(strings.TrimSuffix(stream, "\n\n"), "\n\n")
	if len(events) < 2 || events[len(events)-1] != "data: [DONE]" {
		t.Fatalf("the stream does not end in [DONE]: %q", stream)
	}
	data := strings.TrimPrefix(events[len(events)-2], "data: ")
	if err := json.Unmarshal([]byte(data), &chunk); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	return chunk
}

func TestStreamEndsWithHitsOnRequest(t *testing.T) {
	for _, alone := range []bool{false, true} {
		r := newRig(t, func(s *setup) { s.alone = alone })
		r.know("User has a cat called Ünal")
		r.upstream.answers(streams(delta("Ünal"), "data: [DONE]\n\n"))
		const body = `{"model":"m","stream":true,"messages":[{"role":"user","content":"What is my cat called?"}]}`
		_, got := r.chat(`{"memory_hits":"stream",`+body[1:], "Accept-Encoding", "gzip")
		if chunk := lastButOne(t, got); chunk.Object != "chat.completion.chunk" || chunk.Choices == nil || len(chunk.Choices) != 0 || len(chunk.Hits) == 0 || !strings.Contains(chunk.Hits[0].Content, "Ünal") {
			t.Errorf("alone %v: the last chunk is %+v in %s", alone, chunk, got)
		}
		if !alone {
			if sent := r.upstream.one(t); strings.Contains(sent.body, "memory_hits") || sent.header.Get("Accept-Encoding") != "" {
				t.Errorf("the upstream got %s with %v", sent.body, sent.header)
			}
		}
		if _, got := r.chat(body); strings.Contains(got, "memory_hits") {
			t.Errorf("alone %v: without asking: %s", alone, got)
		}
		if _, got := r.chat(body, "X-Loci-Memory-Hits", "stream"); !strings.Contains(got, "memory_hits") {
			t.Errorf("alone %v: asked by header: %s", alone, got)
		}
		if resp, got := r.chat(`{"memory_hits":"first",` + body[1:]); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("another value: %d %s", resp.StatusCode, got)
		}
	}
}

func TestLegacyCompletionsGetMemoryAndAreRecorded(t *testing.T) {
	const answer = `{"id":"cmpl-1","object":"text_completion","choices":[{"text":" She is called Ünal.","index":0,"finish_reason":"stop"}]}`
	r := newRig(t, func(s *setup) { s.keep = true })
	r.know("User has a cat called Ünal")
	r.upstream.answers(sends(http.StatusOK, answer, "Content-Type", "application/json"))
	resp := r.send(http.MethodPost, "/v1/completions", `{"model":"m", "prompt":"What is my cat called?","memory_top_k":3}`)
	sent := r.upstream.one(t).body
	if prompt := at(t, sent, "prompt"); !strings.Contains(prompt, "- has a cat called Ünal") || !strings.HasSuffix(prompt, "\n\nWhat is my cat called?") || strings.Contains(sent, "memory_top_k") {
		t.Errorf("sent %s, want the prompt behind memory", sent)
	}
	if got := r.read(resp); !strings.HasPrefix(got, answer[:len(answer)-1]+`,"memory_hits":[{`) {
		t.Errorf("answered %s", got)
	}
	piece := func(text string) string {
		return `data: {"choices":[{"text":` + jsonText(text) + `,"index":0}]}` + "\n\n"
	}
	r.upstream.answers(streams(piece(" A "), piece("dog."), "data: [DONE]\n\n"))
	chat := "user: What is my cat called?\nassistant: She is called Ünal.\nuser: And what else have I?\nassistant: "
	r.read(r.send(http.MethodPost, "/v1/completions", `{"model":"m","stream":true,"prompt":[`+jsonText(chat)+`]}`))
	var list struct{ Prompt []string }
	sent = r.upstream.one(t).body
	if err := json.Unmarshal([]byte(sent), &list); err != nil || len(list.Prompt) != 1 || !strings.HasSuffix(list.Prompt[0], "\n\nuser: And what else have I?\nassistant: ") || !strings.Contains(list.Prompt[0], "Ünal.\n") {
		t.Errorf("sent %s (%v), want memory before the user's last message", sent, err)
	}
	r.wantTurns("user: What is my cat called?", "assistant: She is called Ünal.", "user: And what else have I?", "assistant: A dog.")
	if n := r.conversations(); n != 1 {
		t.Errorf("%d conversations, want the one that goes on", n)
	}
}

func TestPromptsOfProgramsPassUntouched(t *testing.T) {
	r := newRig(t)
	r.know("User has a cat called Ünal")
	for _, body := range []string{
		`{"prompt":"def f(","suffix":"return x"}`, `{"prompt":"<|fim_prefix|>def f(<|fim_suffix|>"}`, `{"prompt":"<|im_start|>user\nHello<|im_end|>"}`,
		`{"prompt":["a","b"]}`, `{"prompt":[1,2]}`, `{"prompt":"x","echo":true}`, `{"prompt":"x","n":2}`, `{"prompt":""}`, `{}`,
	} {
		if r.send(http.MethodPost, "/v1/completions", body); r.upstream.one(t).body != body {
			t.Errorf("%s is changed", body)
		}
	}
	r.wantTurns()
}

func TestBuiltInModelAnswersLegacyCompletions(t *testing.T) {
	r := newRig(t, func(s *setup) { s.alone = true })
	r.know("User has a cat called Ünal")
	got := r.read(r.send(http.MethodPost, "/v1/completions", `{"model":"m","prompt":"What is my cat called?"}`))
	if !strings.Contains(got, `"object":"text_completion"`) || !strings.Contains(got, `"choices":[{"text":"From memory:`) {
		t.Errorf("answered %s", got)
	}
	got = r.read(r.send(http.MethodPost, "/v1/completions", `{"model":"m","stream":true,"memory_hits":"stream","prompt":"What is my cat called?"}`))
	if chunk := lastButOne(t, got); chunk.Object != "text_completion" || len(chunk.Hits) == 0 || !strings.Contains(got, `"text":"From "`) {
		t.Errorf("streamed %s", got)
	}
}
