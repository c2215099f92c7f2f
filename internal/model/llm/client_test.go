package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/memory"
)

const secret = "sk-test-key-that-must-not-show"

var schema = json.RawMessage(`{"type":"object","properties":{"facts":{"type":"array"}}}`)

// answer is a scripted server's answer to one request.
type answer struct {
	status int
	header map[string]string
	body   string
	err    error // the connection fails
}

func says(text string) answer {
	body, _ := json.Marshal(map[string]any{
		"model":   "tiny-1",
		"choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": text}}},
		"usage":   map[string]any{"prompt_tokens": 12, "completion_tokens": 3},
	})
	return answer{status: 200, body: string(body)}
}

func refuses(status int, text string) answer {
	return answer{status: status, body: fmt.Sprintf(`{"error":{"message":%q}}`, text)}
}

// script is a model server without a network, so that tests can use fake time. It gives its answers
// in order and then repeats the last one.
type script struct {
	mu      sync.Mutex // guards both
	answers []answer
	asked   []map[string]any
	at      []time.Time
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var question map[string]any
	_ = json.Unmarshal(body, &question) // a GET has none
	s.asked, s.at = append(s.asked, question), append(s.at, time.Now())
	a := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	if a.err != nil {
		return nil, a.err
	}
	resp := &http.Response{StatusCode: a.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}
	for name, v := range a.header {
		resp.Header.Set(name, v)
	}
	return resp, nil
}

func client(t *testing.T, s *script) *Client {
	t.Helper()
	c, err := New(Options{BaseURL: "http://models.test/v1", Key: secret, Model: "tiny", Transport: s})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// formats returns the response format of each question.
func (s *script) formats() []string {
	var all []string
	for _, q := range s.asked {
		f, _ := q["response_format"].(map[string]any)
		kind, _ := f["type"].(string)
		all = append(all, kind)
	}
	return all
}

func TestCompleteSaysWhatWasAsked(t *testing.T) {
	s := &script{answers: []answer{says(`{"facts":[]}`)}}
	got, err := client(t, s).Complete(t.Context(), memory.Prompt{Name: "extract.v2", System: "Be brief.", User: "Hi", Schema: schema, Temperature: 0})
	if err != nil {
		t.Fatal(err)
	}
	if want := (memory.Reply{Text: `{"facts":[]}`, Model: "tiny-1", InputTokens: 12, OutputTokens: 3}); got != want {
		t.Errorf("reply %+v, want %+v", got, want)
	}
	want := map[string]any{
		"model": "tiny", "stream": true, "stream_options": map[string]any{"include_usage": true}, "temperature": 0.,
		"messages": []any{map[string]any{"role": "system", "content": "Be brief."}, map[string]any{"role": "user", "content": "Hi"}},
		"response_format": map[string]any{"type": "json_schema", "json_schema": map[string]any{
			"name": "extract_v2", "strict": true,
			"schema": map[string]any{"type": "object", "properties": map[string]any{"facts": map[string]any{"type": "array"}}},
		}},
	}
	if diff := cmp.Diff(want, s.asked[0]); diff != "" {
		t.Errorf("question (-want +got):\n%s", diff)
	}
}

func TestRefusedFeaturesAreDroppedAndRemembered(t *testing.T) {
	ok := says(`{"facts":[]}`)
	for _, tt := range []struct {
		name    string
		answers []answer
		formats []string // of the first question and of the one after it
		words   bool     // the schema is in the last question's words
	}{
		{"takes a schema", []answer{ok}, []string{"json_schema", "json_schema"}, false},
		{"takes none", []answer{refuses(400, "unknown response_format"), ok}, []string{"json_schema", "", ""}, true},
		{"fails at it", []answer{refuses(500, "Failed to parse input"), ok}, []string{"json_schema", "", ""}, true},
		{"does not know how", []answer{refuses(501, "no"), ok}, []string{"json_schema", "", ""}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &script{answers: tt.answers}
			c := client(t, s)
			for range 2 {
				got, err := c.Complete(t.Context(), memory.Prompt{User: "Hi", Schema: schema})
				if err != nil || got.Text != `{"facts":[]}` {
					t.Fatalf("Complete = %q, %v", got.Text, err)
				}
			}
			if diff := cmp.Diff(tt.formats, s.formats()); diff != "" {
				t.Errorf("formats (-want +got):\n%s", diff)
			}
			last, _ := json.Marshal(s.asked[len(s.asked)-1]["messages"])
			if got := strings.Contains(string(last), `\"facts\"`); got != tt.words {
				t.Errorf("the schema is in words: %v, want %v: %s", got, tt.words, last)
			}
		})
	}
}

// The reply's reader accepts many formats, and each question costs.
func TestRepliesOutsideTheSchemaAreReturned(t *testing.T) {
	s := &script{answers: []answer{says("Sure! Here are the facts"), says(`{"facts":[]}`)}}
	c := client(t, s)
	got, err := c.Complete(t.Context(), memory.Prompt{User: "Hi", Schema: schema})
	if err != nil || got.Text != "Sure! Here are the facts" || len(s.asked) != 1 {
		t.Errorf("asked %d times: %q, %v; want the reply as it is", len(s.asked), got.Text, err)
	}
	if _, err := c.Complete(t.Context(), memory.Prompt{User: "Hi", Schema: schema}); err != nil {
		t.Fatal(err)
	}
	if f := s.formats(); f[len(f)-1] != "json_schema" {
		t.Errorf("the next question asks by %q, want json_schema", f[len(f)-1])
	}
}

func TestParametersThatModelsRefuse(t *testing.T) {
	s := &script{answers: []answer{
		refuses(400, "Your organization must be verified to stream this model."),
		refuses(400, "Unsupported value: 'temperature' does not support 0."),
		says("hello"),
	}}
	c := client(t, s)
	if _, err := c.Complete(t.Context(), memory.Prompt{User: "Hi"}); err != nil {
		t.Fatal(err)
	}
	last := s.asked[len(s.asked)-1]
	if last["stream"] != false || last["stream_options"] != nil || last["temperature"] != nil || len(s.asked) != 3 {
		t.Errorf("asked %d times, last %v; want the answer in one piece and no temperature", len(s.asked), last)
	}
	if _, err := c.Complete(t.Context(), memory.Prompt{User: "Hi"}); err != nil || len(s.asked) != 4 {
		t.Errorf("the second question took %d requests (%v), want one", len(s.asked)-3, err)
	}
}

func TestRefusalsAreNotRememberedWhenNothingWorks(t *testing.T) {
	s := &script{answers: []answer{refuses(400, "too long"), refuses(400, "too long"), says(`{}`)}}
	c := client(t, s)
	_, err := c.Complete(t.Context(), memory.Prompt{User: "Hi", Schema: schema})
	if !errors.Is(err, memory.Unavailable) || !strings.Contains(err.Error(), "400") || !strings.Contains(err.Error(), "too long") {
		t.Errorf("error %v; want unavailable with the status and the server's words", err)
	}
	if _, err := c.Complete(t.Context(), memory.Prompt{User: "Hi", Schema: schema}); err != nil {
		t.Fatal(err)
	}
	if f := s.formats(); f[len(f)-1] != "json_schema" {
		t.Errorf("the next question asked by %q, want json_schema again", f[len(f)-1])
	}
}

func TestAnswersOfEveryShape(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"parts", `{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}}]}`, "ab"},
		{"null", `{"choices":[{"message":{"content":null,"tool_calls":[]}}]}`, ""},
		{"no content", `{"choices":[{"message":{}}]}`, ""},
		{"thinking aloud", `{"choices":[{"message":{"content":"<think>\nhm\n</think>\n\nyes"}}]}`, "yes"},
		{"only thinking", `{"choices":[{"message":{"content":"<think>hm"}}]}`, "<think>hm"},
		{"error null", `{"error":null,"choices":[{"message":{"content":"fine"}}]}`, "fine"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &script{answers: []answer{{status: 200, body: tt.body}}}
			got, err := client(t, s).Complete(t.Context(), memory.Prompt{User: "Hi"})
			if err != nil || got.Text != tt.want {
				t.Errorf("Complete = %q, %v; want %q", got.Text, err, tt.want)
			}
		})
	}
}

func TestBadAnswersAreUnavailable(t *testing.T) {
	html := answer{status: 502, header: map[string]string{"Content-Type": "text/html"}, body: "<html><h1>Bad gateway</h1>"}
	page := answer{status: 200, header: map[string]string{"Content-Type": "text/html; charset=utf-8"}, body: "<html>Log in</html>"}
	for _, tt := range []struct {
		name   string
		answer answer
		says   string
		times  int
	}{
		{"wrong key", refuses(401, "Incorrect API key provided: "+secret), "401: Incorrect API key provided: [key]", 1},
		{"unknown model", refuses(404, "model not found"), "404: model not found", 1},
		{"error as text", answer{status: 404, body: `{"error":"model \"tiny\" not found"}`}, `404: model "tiny" not found`, 1},
		{"error as detail", answer{status: 403, body: `{"detail":"not yours"}`}, "403: not yours", 1},
		{"error as list", answer{status: 403, body: `{"error":[1]}`}, "403: [1]", 1},
		{"error without words", answer{status: 403, body: `{}`}, "403: Forbidden", 1},
		{"too many requests", refuses(429, "slow down"), "429: slow down", DefaultMaxTries},
		{"gateway's page", html, "502: Bad Gateway", DefaultMaxTries},
		{"a page where JSON was due", page, "200: text/html instead of JSON", DefaultMaxTries},
		{"error with status 200", refuses(200, "provider is down"), "200: provider is down", DefaultMaxTries},
		{"redirect", answer{status: 307, header: map[string]string{"Location": "http://evil.test/"}, body: "{}"}, "307", 1},
		{"no choices", answer{status: 200, body: `{"choices":[]}`}, "no choice", 1},
		{"cut off", answer{status: 200, body: `{"choices":[{"mess`}, "instead of JSON", DefaultMaxTries},
		{"wrong types", answer{status: 200, body: `{"choices":"none"}`}, "invalid answer", 1},
		{"refusal", answer{status: 200, body: `{"model":"m","choices":[{"message":{"content":null,"refusal":"I will not"}}]}`}, "refused to answer", 1},
		{"connection refused", answer{err: errors.New("connection refused")}, "models.test: connection refused", DefaultMaxTries},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: []answer{tt.answer}}
				_, err := client(t, s).Complete(t.Context(), memory.Prompt{User: "Hi"})
				if !errors.Is(err, memory.Unavailable) || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("error %v; want unavailable, saying %q", err, tt.says)
				}
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("the error shows the key: %v", err)
				}
				if len(s.asked) != tt.times {
					t.Errorf("asked %d times, want %d", len(s.asked), tt.times)
				}
			})
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	for _, tt := range []struct {
		name   string
		header map[string]string
		want   time.Duration
	}{
		{"seconds", map[string]string{"Retry-After": "7"}, 7 * time.Second},
		{"milliseconds", map[string]string{"Retry-After-Ms": "1500", "Retry-After": "2"}, 1500 * time.Millisecond},
		{"a date", map[string]string{"Retry-After": "Sat, 01 Jan 2000 00:00:20 GMT"}, 20 * time.Second}, // a bubble's time begins with 2000
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				busy := refuses(429, "slow down")
				busy.header = tt.header
				s := &script{answers: []answer{busy, says("ok")}}
				if _, err := client(t, s).Complete(t.Context(), memory.Prompt{User: "Hi"}); err != nil {
					t.Fatal(err)
				}
				if waited := s.at[1].Sub(s.at[0]); waited != tt.want {
					t.Errorf("waited %v, want %v", waited, tt.want)
				}
			})
		})
	}
}

func TestRetriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := refuses(429, "come back tomorrow")
		busy.header = map[string]string{"Retry-After": "86400"}
		s := &script{answers: []answer{busy}}
		start := time.Now()
		_, err := client(t, s).Complete(t.Context(), memory.Prompt{User: "Hi"})
		if !errors.Is(err, memory.Unavailable) || len(s.asked) != 1 || time.Since(start) != 0 {
			t.Errorf("%v after %d attempts and %v; want to give up at once", err, len(s.asked), time.Since(start))
		}
		s = &script{answers: []answer{refuses(500, "down")}}
		start = time.Now()
		_, err = client(t, s).Complete(t.Context(), memory.Prompt{User: "Hi"})
		if took := time.Since(start); !errors.Is(err, memory.Unavailable) || took > DefaultRetryTimeout {
			t.Errorf("%v after %v; want an end within %v", err, took, DefaultRetryTimeout)
		}
	})
}

func TestCallerMayStopWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []answer{refuses(503, "loading")}}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := client(t, s).Complete(ctx, memory.Prompt{User: "Hi"})
		if !errors.Is(err, memory.Unavailable) || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 100*time.Millisecond {
			t.Errorf("%v after %v; want unavailable and the context's error at its deadline", err, time.Since(start))
		}
	})
}

func TestSlowServerTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Options{BaseURL: "http://models.test/v1", Model: "tiny", Timeout: time.Second, RetryTimeout: 3 * time.Second, Transport: hangs{}})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err = c.Complete(t.Context(), memory.Prompt{User: "Hi"})
		if !errors.Is(err, memory.Unavailable) || time.Since(start) > 5*time.Second {
			t.Errorf("%v after %v; want unavailable within the patience", err, time.Since(start))
		}
	})
}

// hangs never answers.
type hangs struct{}

func (hangs) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestNoModelIsInvalid(t *testing.T) {
	c, err := New(Options{BaseURL: "http://models.test/v1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Complete(t.Context(), memory.Prompt{User: "Hi"}); !errors.Is(err, memory.Invalid) {
		t.Errorf("error %v, want invalid", err)
	}
	if _, err := c.Complete(t.Context(), memory.Prompt{Model: "m", Schema: json.RawMessage("{")}); !errors.Is(err, memory.Invalid) {
		t.Errorf("a broken schema: %v, want invalid", err)
	}
}

func TestModels(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/v1/models" || r.URL.RawQuery != "api-version=preview" || r.Header.Get("Authorization") != "Bearer "+secret {
			http.Error(w, r.Method+" "+r.URL.String(), http.StatusTeapot)
			return
		}
		fmt.Fprint(w, `{"object":"list","data":[{"id":"b"},{"id":"a","owned_by":"x"},{}]}`)
	}))
	defer srv.Close()
	c, err := New(Options{BaseURL: srv.URL + "/v1/?api-version=preview", Key: secret})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := c.Models(t.Context())
	if diff := cmp.Diff([]string{"b", "a"}, got); err != nil || diff != "" {
		t.Errorf("Models: %v (-want +got):\n%s", err, diff)
	}

	bad := &script{answers: []answer{{status: 200, body: `{"data":7}`}, refuses(401, "who?")}}
	for range 2 {
		if _, err := client(t, bad).Models(t.Context()); !errors.Is(err, memory.Unavailable) {
			t.Errorf("a bad list: %v, want unavailable", err)
		}
	}
}

func TestAnswerCutOffByTheServer(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"choices":[`)
	}))
	defer srv.Close()
	c, err := New(Options{BaseURL: srv.URL, Model: "m", RetryTimeout: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Complete(t.Context(), memory.Prompt{User: "Hi"}); !errors.Is(err, memory.Unavailable) || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("error %v; want unavailable, cut off", err)
	}
}

func TestAnswerPastTheLimit(t *testing.T) {
	s := &script{answers: []answer{{status: 200, body: strings.Repeat(" ", maxResponseBytes+1)}}}
	if _, err := client(t, s).Complete(t.Context(), memory.Prompt{User: "Hi"}); !errors.Is(err, memory.Unavailable) || !strings.Contains(err.Error(), "larger") {
		t.Errorf("error %v; want unavailable, larger than the limit", err)
	}
}

func TestBaseURLs(t *testing.T) {
	for _, s := range []string{"", "localhost:11434/v1", "ftp://x/v1", "http://", "http://user:pw@host/v1", "http://a b"} {
		_, err := New(Options{BaseURL: s})
		_, err2 := NewForwarder(Options{BaseURL: s})
		if !errors.Is(err, memory.Invalid) || !errors.Is(err2, memory.Invalid) || strings.Contains(err.Error(), "pw") {
			t.Errorf("base URL %q: %v, %v; want invalid, without its password", s, err, err2)
		}
	}
}

// FuzzComplete: any answer of a server gives a reply or an error.
func FuzzComplete(f *testing.F) {
	f.Add(200, says("hello").body)
	f.Add(400, `{"error":{"message":"no"}}`)
	f.Add(200, `{"choices":[{"message":{"content":[{"text":1}]}}]}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 200 || status > 599 || isRetryableStatus(status) {
			return
		}
		c := client(t, &script{answers: []answer{{status: status, body: body}}})
		c.retryTimeout = time.Nanosecond
		got, err := c.Complete(t.Context(), memory.Prompt{User: "Hi", Schema: schema})
		if err != nil && got != (memory.Reply{}) {
			t.Errorf("status %d, body %q: both a reply %+v and %v", status, body, got, err)
		}
		if err != nil && !errors.Is(err, memory.Unavailable) {
			t.Errorf("status %d, body %q: %v, want unavailable", status, body, err)
		}
	})
}
