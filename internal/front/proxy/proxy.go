// Package proxy is the OpenAI-compatible door under /v1. A chat completion is
// given memory on its way to the upstream and recorded on its way back; every
// other byte is the client's and the upstream's own. Other paths under /v1 are
// forwarded as they are. Memory may fail here, the chat may not.
//
//	request  decode → open → prepare → inject → forward
//	answer   status and headers → events, flushed one by one → the last one held → record → the last one
package proxy

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/model/responder"
	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

// HeaderTrace names the trace of an answer.
const HeaderTrace = "X-Loci-Trace"

// headerChatID is the conversation as Open WebUI names it.
const headerChatID = "X-OpenWebUI-Chat-Id"

// Upstream sends a request on, as it is, and returns the answer as it comes, less
// the headers that are about a connection.
type Upstream interface {
	Do(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error)
}

// Options are what the door needs beside the engine.
type Options struct {
	Upstream  Upstream // nil: the built-in model answers
	BaseURL   string   // of the upstream
	Placement wire.Placement
	Metrics   *obs.Metrics
	Log       *slog.Logger
	Now       func() time.Time
}

// Door answers everything under /v1.
type Door struct {
	Options
	engine *engine.Engine
	strict strictModels
}

// New returns the handler of /v1.
func New(e *engine.Engine, opts Options) http.Handler {
	d := &Door{Options: opts, engine: e}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", d.chat)
	mux.HandleFunc("GET /v1/models", d.models)
	mux.HandleFunc("/v1/", d.forward)
	return mux
}

// chat handles one chat completion.
func (d *Door) chat(w http.ResponseWriter, r *http.Request) {
	arrived := d.Now()
	body, err := httpx.ReadBody(r)
	if err != nil {
		refuse(w, err)
		return
	}
	c, err := d.read(r, body)
	if err != nil {
		refuse(w, err)
		return
	}
	c.arrived = arrived
	if d.Upstream == nil || c.Model == responder.Name {
		d.answerLocally(w, r, c)
		return
	}
	d.answerByUpstream(w, r, c)
}

// call is one chat completion on its way through.
type call struct {
	*wire.Chat
	owner    memory.Owner
	arrived  time.Time
	sent     time.Time // to the upstream
	answered time.Time // by the upstream: its headers were there
	memory   bool      // whether memory takes part at all
	exchange *engine.Exchange
	prepared engine.Prepared
}

// overhead is how much later the first byte goes out, now, than it would have
// without Loci in between.
func (c *call) overhead(now time.Time) time.Duration {
	return c.sent.Sub(c.arrived) + now.Sub(c.answered)
}

// read decodes a request, finds out whose it is, and opens the exchange.
func (d *Door) read(r *http.Request, body []byte) (*call, error) {
	chat, err := wire.Decode(body)
	if err != nil {
		return nil, err
	}
	extras, err := chat.Extras.Merge(r.Header.Get)
	if err != nil {
		return nil, err
	}
	who, err := httpx.IdentityOf(r.Context()).Named(chat.User)
	if err != nil {
		return nil, err
	}
	c := &call{Chat: chat, owner: who.Owner}
	c.memory = who.Owner != "" && extras.Mode != wire.ModeOff && !wire.FrontEndTask(chat) && chat.LastUser() >= 0
	if !c.memory {
		return c, nil
	}
	c.exchange = d.engine.Open(r.Context(), engine.Incoming{Owner: who.Owner, Chat: chat, Extras: extras, ChatID: r.Header.Get(headerChatID)})
	c.prepared = c.exchange.Prepare(r.Context())
	return c, nil
}

// strictModels remembers which models of an upstream refuse a system message in
// the middle: their chat template is strict (SPEC section 5).
type strictModels struct {
	mu     sync.Mutex
	models map[string]bool // by model; guarded by mu
}

func (s *strictModels) has(model string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.models[model]
}

// maxStrict bounds what is remembered, since clients choose the names.
const maxStrict = 1000

func (s *strictModels) add(model string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.models == nil || len(s.models) >= maxStrict {
		s.models = map[string]bool{}
	}
	s.models[model] = true
}

// forward sends any other request on as it is.
func (d *Door) forward(w http.ResponseWriter, r *http.Request) {
	if d.Upstream == nil {
		refuse(w, memory.Errorf(memory.NotFound, "%s needs an upstream; set upstream.url (LOCI_UPSTREAM_URL)", r.URL.Path))
		return
	}
	resp, err := d.Upstream.Do(r.Context(), r.Method, upstreamPath(r), r.Header, r.Body)
	if err != nil {
		d.refuseUpstream(w, r, err)
		return
	}
	defer closeBody(resp)
	copyHeader(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	copyFlushing(w, resp.Body)
}

// upstreamPath is a request's path and query below the upstream's base URL, which
// ends in /v1 itself.
func upstreamPath(r *http.Request) string {
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/v1")
	if r.URL.RawQuery != "" {
		path += "?" + r.URL.RawQuery
	}
	return path
}

// models lists the upstream's models and the built-in one.
func (d *Door) models(w http.ResponseWriter, r *http.Request) {
	own := wire.Model{ID: responder.Name, OwnedBy: "loci", Created: d.Now()}
	if d.Upstream == nil {
		writeJSON(w, http.StatusOK, wire.EncodeModels(own))
		return
	}
	r.Header.Del("Accept-Encoding") // the list is added to
	resp, err := d.Upstream.Do(r.Context(), r.Method, upstreamPath(r), r.Header, nil)
	if err != nil {
		d.refuseUpstream(w, r, err)
		return
	}
	defer closeBody(resp)
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		d.refuseUpstream(w, r, err)
		return
	}
	if resp.StatusCode == http.StatusOK {
		if added, err := wire.AddModels(body, own); err == nil {
			body = added
			resp.Header.Del("Content-Length")
		}
	}
	copyHeader(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(body) // a client that is gone is no error of ours
}
