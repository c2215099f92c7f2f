package query

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// rig is the API behind the guard.
type rig struct {
	t       *testing.T
	engine  *engine.Engine
	handler http.Handler
}

func newRig(t *testing.T, multi bool, upstream Upstream) *rig {
	t.Helper()
	clock := &memtest.Clock{}
	store := inmem.Open(inmem.Options{Now: clock.Now})
	ix := index.New(store, index.Options{Model: embed.Lexical{}.Fingerprint()})
	e := engine.New(core.Parts{
		Store: store, Searcher: ix, Embedder: embed.Lexical{}, Prompts: prompt.Default(),
		Log: slog.New(slog.DiscardHandler), Now: clock.Now, WakeJobRunner: func() {},
	}, core.Options{TopK: 8, BlockTokens: 1500, ScoreThreshold: -1, Deadline: 10 * time.Second, LearnAfter: core.NeverLearn, MaxTextBytes: 1 << 10})
	t.Cleanup(func() {
		e.Close()
		if err := errors.Join(ix.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	door := New(e, Options{Upstream: upstream, Model: func(context.Context) string { return "m" }, MaxText: 1 << 10})
	return &rig{t, e, httpx.Guard(httpx.Options{MultiUser: multi, MaxBody: 64 << 10, Key: "the key"}, door)}
}

// ask sends a body as an admin, and returns the status and body of the answer.
func (r *rig) ask(body string, headers ...string) (int, string) {
	req := httptest.NewRequest(http.MethodPost, "http://localhost/query", strings.NewReader(body))
	req.RemoteAddr = "127.0.0.1:1"
	req.Header.Set("X-Loci-Key", "the key")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, req)
	return w.Code, w.Body.String()
}

func TestWhatIsWrongWithAQueryIsNamed(t *testing.T) {
	r := newRig(t, false, nil)
	for body, want := range map[string]string{
		`{}`: "query", `{"query":"  "}`: "query", `{"query":5}`: "query", `{"query":"x","top_k":0}`: "top_k", `{"query":"x","top_k":101}`: "top_k", `{"query":"x","top_k":"8"}`: "top_k",
		`{"query":"x","use_memory":"no"}`: "use_memory", `{"query":"x","images":["ftp://x"]}`: "images", `{"query":"x","images":[1]}`: "images",
		`{"query":"x","images":["https://a","https://a","https://a","https://a","https://a","https://a","https://a","https://a","https://a"]}`: "images",
		`{"query":"x","location":["a"]}`: "location", `{"query":"x","location":{"a":{"b":"c"}}}`: "location", `{"query":"x","location":5}`: "location",
		`{"query":"x","session_id":"` + strings.Repeat("s", 600) + `"}`: "session_id", `{"query":"x","user_id":"a\u0000b"}`: "user", `[]`: "JSON", `{"query":"x"`: "JSON", "\xff": "UTF-8",
		`{"query":"` + strings.Repeat("x", 2000) + `"}`: "query",
	} {
		status, answer := r.ask(body)
		if status < 400 || status > 499 || !strings.Contains(answer, want) {
			t.Errorf("%.60s: %d %s, want a 4xx that names %s", body, status, answer, want)
		}
	}
	if n, err := r.engine.Store.Totals(context.Background()); err != nil || n.Turns != 0 {
		t.Errorf("%d turns were written, %v", n.Turns, err)
	}
}

func TestAQueryWithoutAModelIsAnsweredFromMemory(t *testing.T) {
	r := newRig(t, false, nil)
	r.ask(`{"query":"I keep the spare key under the blue flowerpot.","session_id":"a"}`)
	status, answer := r.ask(`{"query":"Where is the spare key?","session_id":"b"}`)
	for _, want := range []string{`"response":"From memory:`, "blue flowerpot", `"agents_used":["MemoryAgent","CoordinatorAgent","RecallAgent"]`, `"session_id":"a","role":"user"`, `"need_memory":true`} {
		if status != http.StatusOK || !strings.Contains(answer, want) {
			t.Errorf("status %d, without %s: %s", status, want, answer)
		}
	}
	if _, answer = r.ask(`{"query":"Where is the spare key?","use_memory":false}`); strings.Contains(answer, "flowerpot") {
		t.Errorf("use_memory false reads memory: %s", answer)
	}
}

// TestUserIDSelectsTheUser covers single mode too. Headers have priority, and the key must be allowed to name
// users.
func TestUserIDSelectsTheUser(t *testing.T) {
	for _, multi := range []bool{false, true} {
		r := newRig(t, multi, nil)
		r.ask(`{"query":"I keep the spare key under the blue flowerpot.","user_id":"ana"}`)
		for name, c := range map[string]struct {
			body    string
			headers []string
			told    bool
		}{
			"by user_id":          {`{"query":"Where is the spare key?","user_id":"ana"}`, nil, true},
			"another":             {`{"query":"Where is the spare key?","user_id":"ben"}`, nil, false},
			"nobody":              {`{"query":"Where is the spare key?"}`, nil, false},
			"by header":           {`{"query":"Where is the spare key?"}`, []string{"X-Loci-User", "ana"}, true},
			"the header is surer": {`{"query":"Where is the spare key?","user_id":"ana"}`, []string{"X-Loci-User", "ben"}, false},
		} {
			if _, answer := r.ask(c.body, c.headers...); strings.Contains(answer, "flowerpot") != c.told {
				t.Errorf("multi %v, %s: %s", multi, name, answer)
			}
		}
	}
	r := newRig(t, false, nil)
	if status, answer := r.ask(`{"query":"x"}`, "X-Loci-Key", "another"); status != http.StatusUnauthorized {
		t.Errorf("with a wrong key: %d %s", status, answer)
	}
}

// fake is an upstream with a fixed status and body.
type fake struct {
	status int
	body   string
	err    error
	header http.Header
	sent   string
}

func (f *fake) Do(_ context.Context, _, _ string, header http.Header, body io.Reader) (*http.Response, error) {
	sent, err := io.ReadAll(body)
	f.header, f.sent = header, string(sent)
	return &http.Response{StatusCode: f.status, Body: io.NopCloser(strings.NewReader(f.body))}, errors.Join(err, f.err)
}

func TestTheUpstreamWrites(t *testing.T) {
	good := &fake{status: 200, body: `{"model":"big","choices":[{"message":{"role":"assistant","content":"Hello Ana"}}]}`}
	r := newRig(t, false, good)
	status, answer := r.ask(`{"query":"Who am I?","location":"Faro"}`, "Authorization", "Bearer mine")
	if status != 200 || !strings.Contains(answer, `"response":"Hello Ana"`) || !strings.Contains(answer, `"model":"big"`) {
		t.Errorf("%d %s", status, answer)
	}
	if good.header.Get("Authorization") != "Bearer mine" || good.header.Get("X-Loci-Key") != "" {
		t.Errorf("the upstream was sent %v", good.header)
	}
	var sent completionRequest
	if err := json.Unmarshal([]byte(good.sent), &sent); err != nil || sent.Model != "m" || len(sent.Messages) != 2 || !strings.Contains(good.sent, "Faro") {
		t.Errorf("the upstream was asked %s, %v", good.sent, err)
	}
	for name, f := range map[string]*fake{
		"down": {status: 200, err: memory.Errorf(memory.Unavailable, "refused")}, "an error": {status: 500, body: "secret inside"},
		"nothing": {status: 200, body: `{"choices":[{"message":{"content":""}}]}`}, "no JSON": {status: 200, body: "<html>"},
	} {
		status, answer := newRig(t, false, f).ask(`{"query":"Who am I?"}`)
		if status != http.StatusServiceUnavailable || strings.Contains(answer, "secret") {
			t.Errorf("%s: %d %s, want 503", name, status, answer)
		}
	}
}
