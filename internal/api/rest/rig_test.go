package rest

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
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

// rig is the API behind the guard, for several users.
type rig struct {
	t       *testing.T
	engine  *engine.Engine
	handler http.Handler
	clock   *memtest.Clock
	names   *strings.Replacer // replaces {tea} in a path or body by an id
	woken   chan struct{}     // signalled when work is queued
}

const bensSecret = "Ben hides the key under the blue flowerpot"

// health is the reported state of the rig's server.
var health = client.Health{Status: "ok", Version: "1", Store: "memory", Models: []string{"loci/recall"}}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, clock: &memtest.Clock{}, woken: make(chan struct{}, 100)}
	store := inmem.Open(inmem.Options{Now: r.clock.Now})
	ix := index.New(store, index.Options{Model: embed.Lexical{}.Fingerprint()})
	r.engine = engine.New(core.Parts{
		Store: store, Searcher: ix, Embedder: embed.Lexical{}, Prompts: prompt.Default(),
		Log: slog.New(slog.DiscardHandler), Now: r.clock.Now, WakeJobRunner: func() { r.woken <- struct{}{} },
	}, core.Options{
		TopK: 8, BlockTokens: 1500, ScoreThreshold: -1, RecencyWeight: 0.2, Deadline: 10 * time.Second,
		LearnAfter: core.AfterExchange, LearnByRules: true, MaxTextBytes: 1 << 10,
	})
	t.Cleanup(func() {
		r.engine.Close()
		if err := errors.Join(ix.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	r.handler = httpx.Guard(httpx.Options{MultiUser: true, MaxBody: 64 << 10}, New(r.engine, Options{
		Ready: func(context.Context) client.Ready {
			return client.Ready{Status: client.StatusReady, Problems: []string{}}
		},
		Version: "1", MaxBody: 64 << 10, Health: func(context.Context) client.Health { return health },
	}))
	return r
}

// furnish adds memories of every kind for ana, and a secret of ben's.
func (r *rig) furnish() *rig {
	r.t.Helper()
	ana := memory.User(memory.DefaultNamespace, "ana")
	tea := r.id("POST", "/api/memory", `{"content":"Ana drinks oolong tea in the morning","tags":["drinks"],"category":"food"}`)
	r.clock.Advance(time.Hour)
	before := r.clock.Now()
	r.clock.Advance(time.Hour)
	gone := r.id("POST", "/api/memory", `{"content":"Ana plays the cello"}`)
	r.do("DELETE", "/api/memory/"+gone, "")
	waiting := memtest.Fact(ana, "Ana may like climbing")
	waiting.Status = memory.Pending
	if _, err := r.engine.Store.Apply(context.Background(), ana, memtest.Run("waiting"), memtest.Add(waiting)); err != nil {
		r.t.Fatal(err)
	}
	added := r.do("POST", "/api/memory/add", `{"infer":false,"conversation":"trip","messages":[{"role":"user","content":"We sail to Madeira in June","id":"m1"},{"role":"assistant","content":"Enjoy the trip to Madeira!"}]}`)
	var kept client.Added
	r.decode(added, &kept)
	changes := r.do("GET", "/api/changes?fact="+tea, "")
	var journal client.Changes
	r.decode(changes, &journal)
	r.as("ben", "POST", "/api/memory", `{"content":"`+bensSecret+`"}`)
	secret := r.idAs("ben", "POST", "/api/memory", `{"content":"`+bensSecret+`"}`)
	r.names = strings.NewReplacer("{tea}", tea, "{cello}", gone, "{climbing}", waiting.ID, "{turn}", kept.Turns[0], "{secret}", secret,
		"{before}", before.Format(time.RFC3339Nano), "{change}", journal.Changes[0].ID, "{run}", journal.Changes[0].Run)
	return r
}

// do sends a request as ana.
func (r *rig) do(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	return r.as("ana", method, path, body, headers...)
}

func (r *rig) as(user, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	if r.names != nil {
		path, body = r.names.Replace(path), r.names.Replace(body)
	}
	req := httptest.NewRequest(method, "http://localhost/", strings.NewReader(body))
	req.URL.Path, req.URL.RawQuery, _ = strings.Cut(path, "?")
	req.URL.Path, req.URL.RawPath = unescape(r.t, req.URL.Path), req.URL.Path
	req.RemoteAddr = "127.0.0.1:1"
	if user != "" {
		req.Header.Set(httpx.HeaderUser, user)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, req)
	return w
}

// id sends a request and returns the id in its answer.
func (r *rig) id(method, path, body string) string { return r.idAs("ana", method, path, body) }

func (r *rig) idAs(user, method, path, body string) string {
	r.t.Helper()
	var m client.Memory
	r.decode(r.as(user, method, path, body), &m)
	if m.ID == "" {
		r.t.Fatalf("%s %s %s: no id", method, path, body)
	}
	return m.ID
}

func (r *rig) decode(w *httptest.ResponseRecorder, to any) {
	r.t.Helper()
	if w.Code >= 300 {
		r.t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), to); err != nil {
		r.t.Fatalf("%v: %s", err, w.Body)
	}
}

// row is a request of ana's with the required answer. Names such as {tea} in what it must contain or lack
// mean ids.
type row struct {
	name, method, path, body string
	status                   int
	has, lacks               []string
}

// answers sends a row's request and checks the answer, which may contain nothing of ben's.
func (r *rig) answers(c row) *httptest.ResponseRecorder {
	r.t.Helper()
	w := r.do(c.method, c.path, c.body)
	got := w.Body.String()
	if w.Code != c.status {
		r.t.Errorf("%s: %s %s: status %d, want %d: %s", c.name, c.method, c.path, w.Code, c.status, got)
		return w
	}
	if w.Code >= http.StatusBadRequest {
		wantProblem(r.t, c.name, w)
	}
	if cached := w.Header().Get("Cache-Control"); strings.HasPrefix(c.path, "/api/") && cached != "no-store" {
		r.t.Errorf("%s: Cache-Control is %q, want no-store", c.name, cached)
	}
	for _, want := range c.has {
		if r.names != nil {
			want = r.names.Replace(want)
		}
		if !strings.Contains(got, want) {
			r.t.Errorf("%s: got %s, want %s in it", c.name, got, want)
		}
	}
	for _, unwanted := range append(c.lacks, bensSecret, "default/user/ben") {
		if strings.Contains(got, unwanted) {
			r.t.Errorf("%s: got %s, want no %s in it", c.name, got, unwanted)
		}
	}
	return w
}

// guarded puts the API behind another guard. Then only the headers of a request identify the user.
func (r *rig) guarded(o httpx.Options) {
	o.MultiUser, o.MaxBody, o.Now = true, 64<<10, r.clock.Now
	r.handler = httpx.Guard(o, New(r.engine, Options{Version: "1", MaxBody: 64 << 10}))
}

// signed returns the header with a token that Open WebUI signed for a user, under "s".
func (r *rig) signed(user string) []string {
	enc := base64.RawURLEncoding
	body := enc.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + enc.EncodeToString(fmt.Appendf(nil, `{"sub":%q,"id":%q,"exp":%d}`, user, user, r.clock.Now().Unix()+3600))
	mac := hmac.New(sha256.New, []byte("s"))
	mac.Write([]byte(body))
	return []string{httpx.HeaderOpenWebJWT, body + "." + enc.EncodeToString(mac.Sum(nil))}
}

// wantProblem checks that an answer is an error in the API's format.
func wantProblem(t *testing.T, name string, w *httptest.ResponseRecorder) {
	t.Helper()
	var p httpx.Problem
	dec := json.NewDecoder(strings.NewReader(w.Body.String()))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil || w.Header().Get("Content-Type") != httpx.ProblemType {
		t.Errorf("%s: %s in %q is no problem+json: %v", name, w.Body, w.Header().Get("Content-Type"), err)
		return
	}
	if p.Status != w.Code || p.Title != http.StatusText(w.Code) || p.Detail == "" || (p.Code == "" && w.Code < 500) {
		t.Errorf("%s: the problem is %+v of status %d; want its status, title, detail and code", name, p, w.Code)
	}
}
