package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// rig is the page behind the guard.
type rig struct {
	t       *testing.T
	engine  *engine.Engine
	page    *Page
	handler http.Handler
	clock   *memtest.Clock
	keys    *httpx.Keyring
	cookies []*http.Cookie // that the browser has
}

// newRig returns a page of several users; with a key it asks for that.
func newRig(t *testing.T, key string) *rig {
	t.Helper()
	r := &rig{t: t, clock: &memtest.Clock{}}
	store := inmem.Open(inmem.Options{Now: r.clock.Now})
	ix := index.New(store, index.Options{Model: embed.Lexical{}.Fingerprint()})
	r.engine = engine.New(core.Parts{
		Store: store, Searcher: ix, Embedder: embed.Lexical{}, Prompts: prompt.Default(),
		Log: slog.New(slog.DiscardHandler), Now: r.clock.Now, WakeJobRunner: func() {},
	}, core.Options{
		TopK: 8, BlockTokens: 1500, ScoreThreshold: -1, RecencyWeight: 0.2, Deadline: 10 * time.Second, LearnAfter: core.AfterExchange, LearnByRules: true, MaxTextBytes: 4 << 10,
	})
	t.Cleanup(func() {
		r.engine.Close()
		if err := errors.Join(ix.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	r.page = New(r.engine, Options{
		Key: key, MultiUser: true, Sessions: store, RecencyWeight: 0.2, DocumentTokens: 100, Zone: time.UTC,
		Health: func(context.Context) client.Health {
			return client.Health{Status: "ok", Version: "1", Models: []string{"loci/recall"}}
		},
		Settings: func() []Setting {
			return []Setting{{Key: "addr", Value: "127.0.0.1:1", From: "flag", Doc: "Address."}, {Key: "recall.top_k", Value: "8", From: "default", Doc: "Most."}}
		},
		Models: func() []Model { return nil },
	})
	r.guard()
	return r
}

// guard puts the page behind the guard as its options are now.
func (r *rig) guard() {
	r.page.mux = sync.OnceValue(r.page.newMux)
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) })
	refuse := func(w http.ResponseWriter, req *http.Request, err error) {
		if r.page.Owns(req) {
			r.page.Refuse(w, req, err)
			return
		}
		httpx.WriteError(w, req, err)
	}
	auth := httpx.Options{
		Key: r.page.Key, MultiUser: true, MaxBody: 64 << 10, Refuse: refuse, PublicPaths: slices.Concat(httpx.DefaultPublicPaths, r.page.PublicPaths()), Now: r.clock.Now, Keys: r.keys,
	}.WithDefaults()
	r.page.Auth = &auth
	r.handler = r.page.WithSession(httpx.Guard(auth, r.page.WithFallback(api)))
}

// get fetches a page as ana's browser does.
func (r *rig) get(path string, headers ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	return r.send(httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil), headers...)
}

// post sends a form of the page's.
func (r *rig) post(path string, form url.Values, headers ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	req := httptest.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader(form.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", "http://localhost")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	return r.send(req, headers...)
}

// send adds what is given in headers, of which "" takes one away. With a key nobody is
// named but by signing in.
func (r *rig) send(req *http.Request, headers ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	req.RemoteAddr = "127.0.0.1:1"
	if r.page.Key == "" {
		req.Header.Set(httpx.HeaderUser, "ana")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
		}
	}
	for _, c := range r.cookies {
		req.AddCookie(c)
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, req)
	for _, c := range w.Result().Cookies() {
		r.cookies = slices.DeleteFunc(r.cookies, func(old *http.Cookie) bool { return old.Name == c.Name })
		if c.MaxAge >= 0 {
			r.cookies = append(r.cookies, c)
		}
	}
	return w
}

// shows fetches a page and reports what of wants it lacks.
func (r *rig) shows(path string, wants ...string) string {
	r.t.Helper()
	w := r.get(path)
	if w.Code != http.StatusOK {
		r.t.Fatalf("GET %s: status %d: %s", path, w.Code, w.Body)
	}
	for _, want := range wants {
		if !strings.Contains(w.Body.String(), want) {
			r.t.Errorf("GET %s: it lacks %q:\n%s", path, want, w.Body)
		}
	}
	return w.Body.String()
}

// sent posts a form that must be accepted, and returns where it leads.
func (r *rig) sent(path string, form url.Values) string {
	r.t.Helper()
	w := r.post(path, form)
	if w.Code != http.StatusSeeOther {
		r.t.Fatalf("POST %s %v: status %d, want %d: %s", path, form, w.Code, http.StatusSeeOther, w.Body)
	}
	return w.Header().Get("Location")
}

// fact writes one down for ana.
func (r *rig) fact(content string, tags ...string) memory.Fact {
	r.t.Helper()
	f, _, err := r.engine.Curate.Remember(r.t.Context(), memtest.Ana, curate.FactInput{Content: content, Category: "home", Tags: tags}, memory.Author{Kind: memory.ByPerson, Name: "ana"})
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}

// now returns a fact as it is.
func (r *rig) now(id string) memory.Fact {
	r.t.Helper()
	m, err := r.engine.Get(r.t.Context(), memtest.Ana, id)
	if err != nil || m.Fact == nil {
		r.t.Fatalf("get %s: %+v, %v", id, m, err)
	}
	return *m.Fact
}

// apply makes changes of ana's memory under a run of this name.
func (r *rig) apply(run string, changes ...memory.Change) {
	r.t.Helper()
	if _, err := r.engine.Store.Apply(r.t.Context(), memtest.Ana, memtest.Run(run), changes...); err != nil {
		r.t.Fatal(err)
	}
}

// pending lets a fact wait that rests on a quote of a conversation.
func (r *rig) pending(content, says, quote string) memory.Fact {
	r.t.Helper()
	kept, err := r.engine.Exchange.Ingest(r.t.Context(), memtest.Ana, exchange.IngestRequest{Conversation: "talk", Messages: []exchange.Message{
		{Role: memory.RoleUser, Content: says}, {Role: memory.RoleAssistant, Content: "I see."},
	}})
	if err != nil {
		r.t.Fatal(err)
	}
	f := memtest.Fact(memtest.Ana, content)
	f.Status, f.Source, f.Trust, f.Confidence, f.Category = memory.Pending, memory.Extracted, memory.TrustUser, 0.5, "home"
	f.Provenance = memory.Provenance{Conversation: "talk", Turns: kept.TurnIDs[:1]}
	if at := strings.Index(says, quote); at >= 0 {
		f.Provenance.Quote = &memory.Span{Turn: kept.TurnIDs[0], Start: at, End: at + len(quote)}
	}
	change := memtest.Add(f)
	change.Reason, change.Author = "not sure enough", memory.Author{Kind: memory.ByModel, Name: "pupil"}
	r.apply("pending "+content, change)
	return f
}
