package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/memory"
)

// streaming is a server that streams: each line is an event, or a pause.
type streaming struct {
	lines []any // string or time.Duration
	asked int
	sent  atomic.Int32 // lines that were taken
}

func (s *streaming) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked++
	from, to := io.Pipe()
	go func() {
		for _, l := range s.lines {
			if pause, ok := l.(time.Duration); ok {
				select {
				case <-time.After(pause):
				case <-r.Context().Done():
					_ = to.CloseWithError(r.Context().Err())
					return
				}
				continue
			}
			if _, err := fmt.Fprintf(to, "%s\n\n", l); err != nil {
				return
			}
			s.sent.Add(1)
		}
		_ = to.Close()
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}, Body: from, Request: r}, nil
}

func token(words string) string {
	b, _ := json.Marshal(map[string]any{"model": "tiny-1", "choices": []any{map[string]any{"delta": map[string]any{"content": words}}}})
	return "data: " + string(b)
}

const (
	finish = `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}`
	counts = `data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3}}`
	done   = "data: [DONE]"
)

func TestStreamedReplies(t *testing.T) {
	long := func(n int, l string) (out []any) {
		for range n {
			out = append(out, l)
		}
		return out
	}
	thought := `data: {"choices":[{"delta":{"reasoning_content":"` + strings.Repeat("hm ", 1000) + `"}}]}`
	for name, c := range map[string]struct {
		lines []any
		want  string // the reply
		err   string // or what the error says
		asked int
	}{
		"whole":                      {[]any{": ping", token("one "), token("two"), finish, counts, done}, "one two", "", 1},
		"no end mark":                {[]any{token("one"), finish}, "one", "", 1},
		"thinks aloud":               {[]any{token("<think>" + strings.Repeat("hm ", 500)), token("</think>yes"), finish, done}, "yes", "", 1},
		"slow, and goes on":          {[]any{token("one "), 50 * time.Second, token("two "), 50 * time.Second, token("three"), finish, done}, "one two three", "", 1},
		"never ends":                 {long(2000, token("again ")), strings.TrimSpace(strings.Repeat("again ", minReplyLimit/6+1)), "", 1},
		"never stops thinking":       {long(2000, thought), "", "", 1},
		"silent at once":             {[]any{time.Hour}, "", "silent for 1m0s", 1},
		"silent midway":              {[]any{token("one "), time.Hour}, "", "silent for 1m0s", 1},
		"comments are no progress":   {[]any{": ping", 40 * time.Second, ": ping", 40 * time.Second, token("late"), finish}, "", "silent for 1m0s", 1},
		"cut off":                    {[]any{token("one ")}, "", "cut off", DefaultMaxTries},
		"no JSON":                    {[]any{"data: {"}, "", "cut off", DefaultMaxTries},
		"an error midway":            {[]any{token("one "), `data: {"error":{"code":400,"message":"context is full"}}`}, "", "400: context is full", 1},
		"an error without a status":  {[]any{`data: {"error":{"message":"overloaded"}}`}, "", "200: overloaded", DefaultMaxTries},
		"an error that is none":      {[]any{`data: {"error":null,"choices":[{"delta":{"content":"one"},"finish_reason":"stop"}]}`, done}, "one", "", 1},
		"refusal":                    {[]any{`data: {"choices":[{"delta":{"refusal":"I will not"}}]}`, finish, done}, "", "refused to answer", 1},
		"nothing but an end":         {[]any{done}, "", "", 1},
		"parts, as content may have": {[]any{`data: {"choices":[{"delta":{"content":[{"type":"text","text":"a"}]}}]}`, finish}, "a", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &streaming{lines: c.lines}
				client, err := New(Options{BaseURL: "http://models.test/v1", Model: "tiny", Timeout: time.Minute, Transport: s})
				if err != nil {
					t.Fatal(err)
				}
				got, err := client.Complete(t.Context(), memory.Prompt{User: "Hi"})
				if c.err == "" && (err != nil || got.Text != c.want) || c.err != "" && (!errors.Is(err, memory.Unavailable) || !strings.Contains(err.Error(), c.err)) {
					t.Errorf("Complete = %q, %v; want %q or an error with %q", got.Text, err, c.want, c.err)
				}
				if strings.Contains(c.err, "silent") && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a silence is %v, want a deadline that is exceeded", err)
				}
				if name == "whole" && got != (memory.Reply{Text: "one two", Model: "tiny-1", InputTokens: 12, OutputTokens: 3}) {
					t.Errorf("reply %+v", got)
				}
				if s.asked != c.asked {
					t.Errorf("asked %d times, want %d", s.asked, c.asked)
				}
				if n := len(c.lines); n >= 1000 && s.sent.Load() > int32(n*3/4) {
					t.Errorf("read %d events of a reply that never ends", s.sent.Load())
				}
				synctest.Wait()
			})
		})
	}
}
