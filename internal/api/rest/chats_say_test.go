package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// upstream answers chats with a status and a body, sent as an event stream if it looks like one.
type upstream struct {
	mu     sync.Mutex // guards the fields below
	status int
	body   string
	err    error
	sent   []string
	header http.Header
}

func (u *upstream) Do(_ context.Context, _, _ string, header http.Header, body io.Reader) (*http.Response, error) {
	sent, err := io.ReadAll(body)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sent, u.header = append(u.sent, string(sent)), header
	resp := &http.Response{StatusCode: u.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(iotest.OneByteReader(strings.NewReader(u.body)))}
	if strings.HasPrefix(u.body, "data:") {
		resp.Header.Set("Content-Type", "text/event-stream; charset=utf-8")
	}
	return resp, errors.Join(err, u.err)
}

// chunks returns a complete stream of the pieces.
func chunks(pieces ...string) string { return some(pieces...) + "data: [DONE]\n\n" }

// some returns a stream of the pieces that is cut off.
func some(pieces ...string) string {
	var b strings.Builder
	for _, p := range pieces {
		fmt.Fprintf(&b, `data: {"model":"big","choices":[{"index":0,"delta":{"content":%q}}]}`+"\n\n", p)
	}
	return b.String()
}

// talker returns a rig with an upstream and a chat of ana's.
func talker(t *testing.T, u Upstream) (r *rig, chat string) {
	t.Helper()
	r = newRig(t)
	r.handler = httpx.Guard(httpx.Options{MultiUser: true, MaxBody: 64 << 10}, New(r.engine, Options{Version: "1", MaxBody: 64 << 10, Upstream: u, Model: func(context.Context) string { return "usual" }}))
	var made client.Chat
	r.decode(r.do("POST", "/api/chats", `{}`), &made)
	return r, made.ID
}

func (r *rig) transcript(chat string) string {
	r.t.Helper()
	var whole client.WholeChat
	r.decode(r.do("GET", "/api/chats/"+chat, ""), &whole)
	var lines []string
	for _, m := range whole.Messages {
		lines = append(lines, m.Role+": "+m.Content)
	}
	return strings.Join(lines, "\n")
}

// eventsOf returns the names of an answer's events, in order, and the data of the last.
func eventsOf(t *testing.T, w *httptest.ResponseRecorder) (names, last string) {
	t.Helper()
	if got := w.Header().Get("Content-Type"); w.Code != 200 || got != "text/event-stream" {
		t.Fatalf("status %d, %s: %s", w.Code, got, w.Body)
	}
	var all []string
	for event := range strings.SplitSeq(strings.TrimSuffix(w.Body.String(), "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(event, "\ndata: ")
		if !ok || !json.Valid([]byte(data)) {
			t.Fatalf("%q is not an event", event)
		}
		all, last = append(all, strings.TrimPrefix(name, "event: ")), data
	}
	return strings.Join(all, " "), last
}

func TestAReplyIsStreamed(t *testing.T) {
	u := &upstream{status: 200, body: chunks("Hel", "lo ", "Ana.")}
	r, chat := talker(t, u)
	r.do("POST", "/api/memory", `{"content":"Ana keeps bees"}`)
	w := r.do("POST", "/api/chats/"+chat+"/messages", `{"content":"What do I keep?"}`, "Authorization", "Bearer mine")
	names, last := eventsOf(t, w)
	if names != "memory delta delta delta done" {
		t.Errorf("the events are %s", names)
	}
	var done client.ChatDone
	if err := json.Unmarshal([]byte(last), &done); err != nil || done.Question == nil || done.Answer == nil || done.Answer.Content != "Hello Ana." || done.Model != "big" {
		t.Errorf("done is %s, %v", last, err)
	}
	if !strings.Contains(w.Body.String(), "Ana keeps bees") || w.Header().Get("X-Loci-Trace") == "" {
		t.Errorf("the response lacks memory: %s, %v", w.Body, w.Header())
	}
	if u.header.Get("Authorization") != "Bearer mine" || u.header.Get("X-Loci-User") != "" {
		t.Errorf("the upstream was sent %v", u.header)
	}
	for _, want := range []string{`"model":"usual"`, `"stream":true`, `"content":"What do I keep?"`, "Ana keeps bees"} {
		if !strings.Contains(u.sent[0], want) {
			t.Errorf("the upstream was asked %s, without %s", u.sent[0], want)
		}
	}
	// A model other than the default, which does not stream.
	u.body = `{"model":"small","choices":[{"message":{"role":"assistant","content":"Bees, Ana."}}]}`
	names, _ = eventsOf(t, r.do("POST", "/api/chats/"+chat+"/messages/regenerate", `{"model":"other"}`))
	if names != "memory delta done" || !strings.Contains(u.sent[1], `"model":"other"`) {
		t.Errorf("regenerate: %s, asked %s", names, u.sent[1])
	}
	eventsOf(t, r.do("POST", "/api/chats/"+chat+"/messages/regenerate", ""))
	if got := r.transcript(chat); got != "user: What do I keep?\nassistant: Bees, Ana." {
		t.Errorf("the chat is %s", got)
	}
}

// TestUpstreamFailureIsAnErrorEvent also checks that the question and the partial answer are stored.
func TestUpstreamFailureIsAnErrorEvent(t *testing.T) {
	for name, c := range map[string]struct {
		u       *upstream
		partial string
		asked   int
	}{
		"down":          {&upstream{err: memory.Errorf(memory.Unavailable, "connection refused")}, "", 1},
		"an error":      {&upstream{status: 500, body: `{"error":"secret inside"}`}, "", 1},
		"refusing all":  {&upstream{status: 400, body: `{"error":"secret inside"}`}, "", 2},
		"a login page":  {&upstream{status: 200, body: "<html>secret inside"}, "", 1},
		"no text":       {&upstream{status: 200, body: `{"choices":[{"message":{"content":""}}]}`}, "", 1},
		"an empty one":  {&upstream{status: 200, body: "data: [DONE]\n\n"}, "", 1},
		"garbage":       {&upstream{status: 200, body: "data: {{{\n\ndata: secret inside\n\n"}, "", 1},
		"cut off":       {&upstream{status: 200, body: some("It is ", "und")}, "It is und", 1},
		"failing later": {&upstream{status: 200, body: some("It is") + `data: {"error":{"message":"secret inside"}}` + "\n\n"}, "It is", 1},
	} {
		t.Run(name, func(t *testing.T) {
			r, chat := talker(t, c.u)
			w := r.do("POST", "/api/chats/"+chat+"/messages", `{"content":"Where is the key?"}`)
			names, last := eventsOf(t, w)
			var failed client.ChatError
			if err := json.Unmarshal([]byte(last), &failed); err != nil || !strings.HasSuffix(names, " error") || failed.Status < 400 || failed.Question == nil {
				t.Errorf("%s, last %s, %v", names, last, err)
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("what the upstream says is passed on: %s", w.Body)
			}
			want := "user: Where is the key?"
			if c.partial != "" {
				want += "\nassistant: " + c.partial
			}
			if got := r.transcript(chat); got != want || len(c.u.sent) != c.asked {
				t.Errorf("the chat is %q after %d requests, want %q after %d", got, len(c.u.sent), want, c.asked)
			}
		})
	}
}

// TestInvalidMessageIsAProblem expects an HTTP error, no event, and no write.
func TestInvalidMessageIsAProblem(t *testing.T) {
	u := &upstream{status: 200, body: chunks("Yes.")}
	r, chat := talker(t, u)
	for _, c := range []struct {
		user, path, body string
		status           int
	}{
		{"ana", "/api/chats/" + chat + "/messages", `{"content":"  "}`, 400},
		{"ana", "/api/chats/" + chat + "/messages", `{}`, 422},
		{"ana", "/api/chats/" + chat + "/messages", "", 400},
		{"ana", "/api/chats/" + chat + "/messages", `{"content":"` + strings.Repeat("x", 2<<10) + `"}`, 413},
		{"ana", "/api/chats/" + chat + "/messages", `{"content":"` + strings.Repeat("x", 70<<10) + `"}`, 413},
		{"ana", "/api/chats/" + chat + "/messages", "{\"content\":\"\xff\"}", 400},
		{"ana", "/api/chats/none/messages", `{"content":"Hello"}`, 404},
		{"ben", "/api/chats/" + chat + "/messages", `{"content":"Hello"}`, 404},
		{"ben", "/api/chats/" + chat + "/messages/regenerate", "", 404},
		{"", "/api/chats/" + chat + "/messages", `{"content":"Hello"}`, 401},
		{"ana", "/api/chats/" + chat + "/messages/regenerate", "", 409},
	} {
		w := r.as(c.user, "POST", c.path, c.body)
		if w.Code != c.status {
			t.Errorf("%s %s %.40s: status %d, want %d: %s", c.user, c.path, c.body, w.Code, c.status, w.Body)
		}
		wantProblem(t, c.path, w)
	}
	if got := r.transcript(chat); got != "" || len(u.sent) != 0 {
		t.Errorf("the chat is %q, and the model was asked %d times", got, len(u.sent))
	}
	if w := r.as("ben", "GET", "/api/chats/"+chat+"/events", ""); w.Code != 404 {
		t.Errorf("another's events: %d %s", w.Code, w.Body)
	}
	// Neither the request nor the settings name a model.
	r.handler = httpx.Guard(httpx.Options{MultiUser: true, MaxBody: 64 << 10}, New(r.engine, Options{Version: "1", MaxBody: 64 << 10, Upstream: u}))
	if w := r.do("POST", "/api/chats/"+chat+"/messages", `{"content":"Hello"}`); w.Code != 400 || !strings.Contains(w.Body.String(), "chats.model") {
		t.Errorf("without a model: %d %s", w.Code, w.Body)
	}
}

// waiting is an upstream that says one piece, and then waits until it is given up.
type waiting struct{ said chan bool }

func (u waiting) Do(ctx context.Context, _, _ string, _ http.Header, _ io.Reader) (*http.Response, error) {
	body, pipe := io.Pipe()
	go func() {
		_, _ = io.WriteString(pipe, some("Well,"))
		u.said <- true
		<-ctx.Done()
		_ = pipe.CloseWithError(ctx.Err())
	}()
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body}, nil
}

// TestACutReplyEndsWithAnErrorEvent stops a server in the middle of a reply.
func TestACutReplyEndsWithAnErrorEvent(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			u := waiting{make(chan bool)}
			r, chat := talker(t, u)
			ctx, stop := context.WithCancelCause(t.Context())
			server := httptest.NewUnstartedServer(r.handler)
			server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
			server.EnableHTTP2 = protocol == "HTTP/2.0"
			server.StartTLS()
			defer server.Close()
			go func() { <-u.said; stop(httpx.ErrStopping) }()
			req, _ := http.NewRequest("POST", server.URL+"/api/chats/"+chat+"/messages", strings.NewReader(`{"content":"What now?"}`))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("X-Loci-User", "ana")
			resp, err := server.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.Proto != protocol || !strings.Contains(string(body), "Well,") || !strings.Contains(string(body), "event: error\ndata: {") || !strings.Contains(string(body), "the server is stopping") {
				t.Errorf("%s: %q, %v", resp.Proto, body, err)
			}
		})
	}
}

func TestEventsOfAChatOverHTTP(t *testing.T) {
	r, chat := talker(t, nil)
	eventsOf(t, r.do("POST", "/api/chats/"+chat+"/messages", `{"content":"I keep bees."}`))
	var page client.ChatEvents
	var types []string
	for cursor := ""; ; {
		r.decode(r.do("GET", "/api/chats/"+chat+"/events?limit=1&cursor="+cursor, ""), &page)
		for _, e := range page.Events {
			types = append(types, e.Type)
		}
		if cursor, page.Next = page.Next, ""; cursor == "" || len(types) > 9 {
			break
		}
	}
	if got := strings.Join(types, " "); !strings.Contains(got, "prompt") || !strings.HasSuffix(got, "response") || len(types) != 3 {
		t.Errorf("the events are %s, want a prompt, what was recalled and a response", got)
	}
	if w := r.do("GET", "/api/chats/"+chat+"/events?limit=501", ""); w.Code != 422 {
		t.Errorf("too many: %d", w.Code)
	}
}
