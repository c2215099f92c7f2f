package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

const chatPath = "/v1/chat/completions"

var nobody = memory.User(memory.DefaultNamespace, httpx.DefaultUser) // the default owner

// rig is a proxy with an upstream that the test controls, and a store that the test may block.
type rig struct {
	t        testing.TB
	engine   *engine.Engine
	store    *haltingStore
	metrics  *obs.Metrics
	door     *Handler
	handler  http.Handler
	server   *httptest.Server // nil: no network
	url      string
	upstream *upstream
	onReplay func(body string) // called after each request of a recorded run
}

// setup has the options of a rig.
type setup struct {
	placement chatapi.Placement
	guard     httpx.Options
	upstream  Upstream // nil: the rig's upstream, and a proxy over the network
	keep      bool
	alone     bool // no upstream
	named     bool
	store     memory.Store // nil: the reference store
	now       func() time.Time
	log       *slog.Logger // of the proxy; nil: none
}

// newEngine returns an engine for the proxy, its store, which a test may block, and its metrics.
func newEngine(t testing.TB, kept memory.Store, now func() time.Time) (*engine.Engine, *haltingStore, *obs.Metrics) {
	store := &haltingStore{Store: kept}
	embedder := embed.Lexical{}
	ix := index.New(store, index.Options{Model: embedder.Fingerprint()})
	metrics := obs.NewMetrics()
	e := engine.New(core.Parts{
		Store: store, Searcher: ix, Embedder: embedder, Prompts: prompt.Default(), Metrics: metrics,
		Log: slog.New(slog.DiscardHandler), Now: now, WakeJobRunner: func() {},
	}, core.Options{
		TopK: 8, BlockTokens: 1500, ScoreThreshold: -1, RecencyWeight: 0.2, Deadline: 5 * time.Second,
		LearnAfter: core.AfterExchange, LearnByRules: true, MaxTextBytes: 1 << 20,
	})
	t.Cleanup(func() {
		e.Close()
		if err := errors.Join(ix.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return e, store, metrics
}

func newRig(t testing.TB, change ...func(*setup)) *rig {
	t.Helper()
	s := setup{placement: chatapi.Tail, now: new(memtest.Clock).Now}
	for _, f := range change {
		f(&s)
	}
	if s.store == nil {
		s.store = inmem.Open(inmem.Options{Now: s.now})
	}
	r := &rig{t: t}
	r.engine, r.store, r.metrics = newEngine(t, s.store, s.now)
	network := s.upstream == nil
	if network {
		r.upstream = newUpstream(t)
	}
	if network && !s.alone {
		f := try(llm.NewForwarder(llm.Options{BaseURL: r.upstream.URL + "/v1"})).orFail(t)
		t.Cleanup(f.Close)
		s.upstream = f
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	r.door = New(r.engine, Options{Upstream: s.upstream, Placement: s.placement, KeepBlocks: s.keep, AddMemories: s.named, Metrics: r.metrics, Log: s.log, Now: s.now})
	r.handler = httpx.Guard(s.guard, r.door)
	if !network {
		return r
	}
	r.server = httptest.NewUnstartedServer(r.handler)
	r.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	r.server.Start()
	t.Cleanup(r.server.Close)
	r.url = r.server.URL
	return r
}

// finish waits until every request has ended, even those whose client disconnected.
func (r *rig) finish() {
	r.server.Close()
	r.engine.Close()
}

// plain is a client that adds no headers.
var plain = &http.Client{
	Transport: &http.Transport{DisableCompression: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// send sends a request with pairs of headers, and returns the answer.
func (r *rig) send(method, path, body string, headers ...string) *http.Response {
	r.t.Helper()
	req := try(http.NewRequest(method, r.url+path, strings.NewReader(body))).orFail(r.t)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := plain.Do(req)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	r.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// chat sends a chat request and returns the whole answer.
func (r *rig) chat(body string, headers ...string) (*http.Response, string) {
	r.t.Helper()
	resp := r.send(http.MethodPost, chatPath, body, headers...)
	return resp, r.read(resp)
}

func (r *rig) read(resp *http.Response) string {
	r.t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatalf("read the answer: %v after %q", err, b)
	}
	return string(b)
}

// know adds a fact that every block contains.
func (r *rig) know(fact string) {
	r.t.Helper()
	noError(r.t)(r.engine.Curate.Remember(context.Background(), nobody, curate.FactInput{Content: fact, Core: memory.CoreAlways}, memory.Author{Kind: memory.ByPerson}))
}

// turns returns the stored turns of all conversations, one line each.
func (r *rig) turns() []string {
	r.t.Helper()
	turns := try(r.store.Turns(context.Background(), nobody, memory.TurnQuery{})).orFail(r.t)
	var out []string
	for _, turn := range turns {
		out = append(out, string(turn.Role)+": "+turn.Content)
	}
	return out
}

func (r *rig) wantTurns(want ...string) {
	r.t.Helper()
	if got := r.turns(); !slices.Equal(got, want) {
		r.t.Errorf("stored turns: got %q, want %q", got, want)
	}
}

// failures returns the metric of exchanges that were not recorded.
func (r *rig) failures() string {
	r.t.Helper()
	w := httptest.NewRecorder()
	r.metrics.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	m := regexp.MustCompile(`(?m)^loci_record_failed_total (\d+)$`).FindStringSubmatch(w.Body.String())
	if m == nil {
		r.t.Fatal("no loci_record_failed_total in the metrics")
	}
	return m[1]
}

// request is a request that reached the upstream.
type request struct {
	method, uri string
	header      http.Header
	body        string
}

// upstream answers as the test sets and records its requests.
type upstream struct {
	*httptest.Server
	mu     sync.Mutex // guards the fields below
	got    []request
	answer http.HandlerFunc
}

func newUpstream(t testing.TB) *upstream {
	u := &upstream{answer: says("Hello!")}
	u.Server = httptest.NewUnstartedServer(u)
	u.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	u.Start()
	t.Cleanup(u.Close)
	return u
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	u.mu.Lock()
	u.got = append(u.got, request{r.Method, r.URL.RequestURI(), r.Header.Clone(), string(body)})
	answer := u.answer
	u.mu.Unlock()
	answer(w, r)
}

func (u *upstream) answers(h http.HandlerFunc) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.answer = h
}

// asked returns the requests since the last call.
func (u *upstream) asked() []request {
	u.mu.Lock()
	defer u.mu.Unlock()
	got := u.got
	u.got = nil
	return got
}

// one returns the only request since the last call.
func (u *upstream) one(t testing.TB) request {
	t.Helper()
	got := u.asked()
	if len(got) != 1 {
		t.Fatalf("the upstream was asked %d times, want once: %+v", len(got), got)
	}
	return got[0]
}

// sends answers with a status, pairs of headers and a body.
func sends(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// completion returns an answer with unusual JSON formatting.
func completion(text string) string {
	content, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return `{"id": "c1","big":18446744073709551616, "x":1e400,"choices":[ {"index":0,"message":{"role":"assistant","content":` + string(content) + `},"finish_reason":"stop"}],"usage":null }` + "\n"
}

func says(text string) http.HandlerFunc {
	return sends(http.StatusOK, completion(text), "Content-Type", "application/json")
}

// streams answers with a stream and flushes each piece.
func streams(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, p := range pieces {
			_, _ = io.WriteString(w, p)
			w.(http.Flusher).Flush()
		}
	}
}

func delta(text string) string {
	content, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return `data: {"choices":[{"index":0,"delta":{"content":` + string(content) + `}}]}` + "\n\n"
}

func ask(text string) string {
	content, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return `{"model":"m","messages":[{"role":"user","content":` + string(content) + `}]}`
}

// haltingStore is a store whose writes and reads of turns a test may block.
type haltingStore struct {
	memory.Store
	onAppend func(context.Context, memory.Batch) error // set before the first request
	onTurns  func(context.Context) error
}

func (s *haltingStore) Append(ctx context.Context, owner memory.Owner, b memory.Batch) (memory.Receipt, error) {
	if s.onAppend != nil {
		if err := s.onAppend(ctx, b); err != nil {
			return memory.Receipt{}, err
		}
	}
	return s.Store.Append(ctx, owner, b)
}

func (s *haltingStore) Turns(ctx context.Context, owner memory.Owner, q memory.TurnQuery) ([]memory.Turn, error) {
	if s.onTurns != nil && len(q.Chains) > 0 {
		if err := s.onTurns(ctx); err != nil {
			return nil, err
		}
	}
	return s.Store.Turns(ctx, owner, q)
}

// isAnswer reports whether a batch has an assistant's turn.
func isAnswer(b memory.Batch) bool {
	return slices.ContainsFunc(b.Turns, func(t memory.Turn) bool { return t.Role == memory.RoleAssistant })
}

// errorOf parses an error as OpenAI's clients do.
func errorOf(t testing.TB, body string) (message, kind, code string) {
	t.Helper()
	var e struct {
		Error *struct {
			Message, Type, Code string
			Param               json.RawMessage
		}
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil || e.Error == nil || e.Error.Message == "" || string(e.Error.Param) != "null" {
		t.Fatalf("%s is not an error of OpenAI's shape: %v", body, err)
	}
	return e.Error.Message, e.Error.Type, e.Error.Code
}
