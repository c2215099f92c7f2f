package proxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// chatOnly is an upstream with chat completions only.
func chatOnly(chat http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != chatPath {
			sends(http.StatusNotFound, `{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}`)(w, r) // as llama.cpp
			return
		}
		chat(w, r)
	}
}

func paths(got []request) (out []string) {
	for _, r := range got {
		out = append(out, r.uri)
	}
	return out
}

func TestChatOnlyUpstreamServesEveryDialect(t *testing.T) {
	inOtherDialects(t, func(t *testing.T, s speech) {
		r := newRig(t)
		r.know("User has a cat called Ünal")
		r.upstream.answers(chatOnly(says("She is called Ünal.")))
		resp, got := s.ask(r, s.request("What is my cat called?"), "X-Api-Key", "the client's", "Anthropic-Version", "2023-06-01", "Accept-Encoding", "gzip")
		asked := r.upstream.asked()
		if want := []string{s.Path, chatPath}; !slices.Equal(paths(asked), want) {
			t.Fatalf("the upstream was asked %v, want %v", paths(asked), want)
		}
		sent := asked[1]
		var chat struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.Unmarshal([]byte(sent.body), &chat); err != nil {
			t.Fatalf("%s: %v", sent.body, err)
		}
		if !strings.Contains(sent.body, "- has a cat called Ünal") || chat.Messages[len(chat.Messages)-1].Role != "user" {
			t.Errorf("sent %s, want a chat completion with memory", sent.body)
		}
		if sent.header.Get("Authorization") != "Bearer the client's" || sent.header.Get("X-Api-Key")+sent.header.Get("Anthropic-Version")+sent.header.Get("Accept-Encoding") != "" {
			t.Errorf("sent with %v, want the client's key as a bearer", sent.header)
		}
		a, err := s.ReadAnswer([]byte(got))
		if err != nil || a.Text != "She is called Ünal." || !strings.Contains(got, `"memory_hits":[{"id":`) || resp.Header.Get(HeaderTrace) == "" {
			t.Errorf("answered %s (%v), want the dialect's own shape with memory_hits", got, err)
		}

		r.upstream.answers(chatOnly(streams(delta("A "), delta("dog."), `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n", "data: [DONE]\n\n")))
		_, got = s.ask(r, s.streaming("What is my cat called?", "She is called Ünal.", "And what else have I?"))
		if asked := paths(r.upstream.asked()); !slices.Equal(asked, []string{chatPath}) {
			t.Errorf("the upstream was asked %v, want chat completions at once", asked)
		}
		heard := s.NewStream()
		_, _ = heard.Write([]byte(got))
		if !heard.Done() || heard.Answer().Text != "A dog." {
			t.Errorf("streamed %s", got)
		}
		r.wantTurns("user: What is my cat called?", "assistant: She is called Ünal.", "user: And what else have I?", "assistant: A dog.")
		if n := r.conversations(); n != 1 {
			t.Errorf("%d conversations, want the one that goes on", n)
		}
	})
}

func TestNotFoundOfTheUpstreamIsNotAMissingPath(t *testing.T) {
	inOtherDialects(t, func(t *testing.T, s speech) {
		for name, answer := range map[string]http.HandlerFunc{
			"a model":               sends(http.StatusNotFound, `{"error":{"message":"no model 'm'"}}`),
			"it lacks both":         http.NotFound,
			"another kind of error": sends(http.StatusBadRequest, s.refusal),
		} {
			r := newRig(t)
			r.upstream.answers(answer)
			resp, got := s.ask(r, s.request("Hello"))
			want := map[string]int{"another kind of error": http.StatusBadRequest}[name]
			if want == 0 {
				want = http.StatusNotFound
			}
			if resp.StatusCode != want {
				t.Errorf("%s: %d %s, want the upstream's own answer", name, resp.StatusCode, got)
			}
			r.upstream.asked()
			s.ask(r, s.request("Hello"))
			if asked := paths(r.upstream.asked()); len(asked) == 0 || asked[0] != s.Path {
				t.Errorf("%s: the next request went to %v, want %s", name, asked, s.Path)
			}
		}
	})
}

func TestErrorsOfAChatOnlyUpstream(t *testing.T) {
	inOtherDialects(t, func(t *testing.T, s speech) {
		r := newRig(t)
		r.door.ChatOnly = true
		for _, tt := range []struct {
			status     int
			body, want string
		}{
			{http.StatusTooManyRequests, `{"error":{"message":"slow down","type":"rate_limit"}}`, "slow down"},
			{http.StatusUnprocessableEntity, `{"detail":[{"msg":"no such field"}]}`, "no such field"},
			{http.StatusBadGateway, `<html>`, "<html>"},
			{http.StatusServiceUnavailable, ``, "Service Unavailable"},
			{http.StatusOK, `<html>`, "not a chat completion"},
		} {
			r.upstream.answers(sends(tt.status, tt.body, "Retry-After", "7"))
			resp, got := s.ask(r, s.request("Hello"))
			status := tt.status
			if status == http.StatusOK {
				status = http.StatusBadGateway
			}
			if resp.StatusCode != status || !strings.Contains(at(t, got, s.message...), tt.want) {
				t.Errorf("%d %s: got %d %s, want %q in the dialect's shape", tt.status, tt.body, resp.StatusCode, got, tt.want)
			}
			if tt.status == http.StatusTooManyRequests && resp.Header.Get("Retry-After") != "7" {
				t.Error("Retry-After is lost")
			}
		}
		for _, asked := range paths(r.upstream.asked()) {
			if asked != chatPath {
				t.Errorf("with upstream.api=chat %s was asked", asked)
			}
		}
		resp, got := s.ask(r, strings.Replace(s.request("Hello"), "{", `{"tools":[{"type":"computer_use_preview","name":"c"}],`, 1))
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(at(t, got, s.message...), "tools[0].type") || at(t, got, s.kind...) != s.invalid {
			t.Errorf("an untranslatable tool: %d %s", resp.StatusCode, got)
		}
	})
}

func TestChatOnlyUpstreamThatWantsTheNewLimit(t *testing.T) {
	s := speeches[0]
	r := newRig(t)
	r.door.ChatOnly = true
	r.upstream.answers(func(w http.ResponseWriter, req *http.Request) {
		r.upstream.mu.Lock()
		body := r.upstream.got[len(r.upstream.got)-1].body
		r.upstream.mu.Unlock()
		if strings.Contains(body, `"max_tokens"`) {
			sends(http.StatusBadRequest, `{"error":{"message":"Use 'max_completion_tokens' instead of 'max_tokens'."}}`)(w, req)
			return
		}
		says("Hello!")(w, req)
	})
	if resp, got := s.ask(r, s.request("Hello")); resp.StatusCode != http.StatusOK || !strings.Contains(got, "Hello!") {
		t.Errorf("%d %s", resp.StatusCode, got)
	}
	if asked := r.upstream.asked(); len(asked) != 2 || !strings.Contains(asked[1].body, `"max_completion_tokens":64`) {
		t.Errorf("the upstream was asked %+v", asked)
	}
}

func TestTranslatedStreamCutOffIsAnError(t *testing.T) {
	inOtherDialects(t, func(t *testing.T, s speech) {
		r := newRig(t)
		r.door.ChatOnly = true
		r.upstream.answers(streams(delta("Half an ")))
		resp := r.send(http.MethodPost, s.Path, s.streaming("Hello"))
		buf := make([]byte, 1<<16)
		var err error
		for err == nil {
			_, err = resp.Body.Read(buf)
		}
		if fmt.Sprint(err) == "EOF" {
			t.Error("a stream that was cut off ends as a whole one")
		}
		r.finish()
		r.wantTurns("user: Hello", "assistant: Half an ")
	})
}
