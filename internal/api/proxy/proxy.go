// Package proxy is the API under /v1. A chat, in any of the dialects of package
// chatapi, is given memory on its way to the upstream and recorded on its way back;
// every other byte is the client's and the upstream's own. Embeddings of loci/embed
// are Loci's. Other paths under /v1 are forwarded as they are, but for those of mem0's
// API. Memory may fail here, the chat may not.
//
//	request  decode → open → prepare → inject → forward
//	answer   status and headers → events, flushed one by one → the last one held → record → the last one
package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/model/responder"
	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/internal/thread"
	"github.com/loci-memory/loci/internal/tracing"
	"github.com/loci-memory/loci/memory"
)

// HeaderTrace names the trace of an answer.
const HeaderTrace = "X-Loci-Trace"

// HeaderPending tells how many facts wait for a person, if any do.
const HeaderPending = "X-Loci-Pending"

// HeaderWarning says in words what is wrong with the setup or the upstream, where the request
// is served all the same.
const HeaderWarning = "X-Loci-Warning"

// Headers by which a client says what a request is. Open WebUI fills them from templates of its
// connection ({{TASK}}, {{MESSAGE_ID}}, {{USER_MESSAGE_PARENT_ID}}).
const (
	headerTask    = "X-Loci-Task"       // an errand of the client's own; empty for chats
	headerZone    = "X-Loci-Timezone"   // where the user is: Europe/Lisbon
	headerMessage = "X-Loci-Message-Id" // the client's id for the answer
	headerParent  = "X-Loci-Parent-Id"  // its id for the answer that the last user message follows, empty for none
	headerOnce    = "Idempotency-Key"   // the same for a retry
	headerTurn    = "X-Codex-Turn-Metadata"
	headerRetries = "X-Stainless-Retry-Count" // of the SDKs of OpenAI, Anthropic and others
)

// DefaultSessions are the headers by which clients name a conversation, the first one that a
// request has counts: Open WebUI; opencode and others; Codex, whose sub-agents have their
// parent's Session-Id and a Thread-Id of their own.
var DefaultSessions = []string{"X-OpenWebUI-Chat-Id", "X-Session-Id", "Thread-Id", "Session-Id"}

// subagents are the headers by which a coding agent marks a request of a sub-agent, whose user
// messages a model wrote: Codex; opencode.
var subagents = []string{"X-OpenAI-Subagent", "X-Codex-Parent-Thread-Id", "X-Parent-Session-Id"}

// Upstream sends a request on, as it is, and returns the answer as it comes, less
// the headers that are about a connection.
type Upstream interface {
	Do(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error)
}

// Options are what the API needs beside the engine.
type Options struct {
	Upstream  Upstream // nil: the built-in model answers
	Placement chatapi.Placement
	Keep      bool     // blocks that earlier requests had are put back; not with [chatapi.System]
	ChatOnly  bool     // the upstream has only chat completions; false: it is found out
	Named     bool     // an answer names what was recalled as memories, too
	Sessions  []string // headers that name a conversation; none: [DefaultSessions]
	Projects  []string // headers that name a project, where neither memory_project nor X-Loci-Project does
	Folders   bool     // a chat that names no project is of the working directory that a coding agent names
	Metrics   *obs.Metrics
	Tracer    *tracing.Tracer // nil: nobody traces
	Log       *slog.Logger
	Now       func() time.Time

	ClientKeys bool // the engine may know a client's key, to learn with it

	Anonymous func() // called with each chat that gets no memory because it names no user; nil: nobody is told

	UserIgnored func() // called with each chat whose user is ignored, since the server has one user; nil: nobody is told
}

// Handler answers everything under /v1.
type Handler struct {
	Options
	engine        *engine.Engine
	mux           *http.ServeMux
	strict        recent.Map[strictModel, time.Time] // until when
	answers       *responseIndex
	upstreamFails atomic.Bool

	lacking sync.Map // paths of dialects that the upstream was found to lack
}

// New returns the handler of /v1.
func New(e *engine.Engine, opts Options) *Handler {
	if len(opts.Sessions) == 0 {
		opts.Sessions = DefaultSessions
	}
	d := &Handler{Options: opts, engine: e, mux: http.NewServeMux(), answers: recent.New[answerKey, exchange.Place](maxAnswers)}
	mux := d.mux
	for _, dialect := range chatapi.Dialects {
		mux.HandleFunc("POST "+dialect.Path, func(w http.ResponseWriter, r *http.Request) { d.chat(w, r, dialect) })
	}
	mux.HandleFunc("GET /v1/models", d.models)
	mux.HandleFunc("GET /v1/models/{name...}", d.model)
	mux.HandleFunc("POST /v1/embeddings", d.embeddings)
	mux.HandleFunc("/v1/", d.forward)
	return d
}

// ServeHTTP answers a request.
func (d *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if IsReserved(r.URL.Path) {
		httpx.WriteError(w, r, memory.Errorf(memory.NotFound, "mem0's API has no such path; write it in small letters and without escapes"))
		return
	}
	if slices.Contains(short, r.URL.Path) {
		long := *r.URL
		long.Path, long.RawPath = "/v1"+r.URL.Path, ""
		r = r.Clone(r.Context())
		r.URL = &long
	}
	if id := httpx.RequestID(r.Context()); id != "" { // one of the upstream's takes its place
		w.Header().Set("X-Request-Id", id)
		if header := dialectOf(r.URL.Path).RequestID; header != "" {
			w.Header().Set(header, id)
		}
	}
	d.mux.ServeHTTP(w, r)
}

// dialectOf returns the dialect of a path, that of chat completions for others.
func dialectOf(path string) *chatapi.Dialect {
	for _, d := range chatapi.Dialects {
		if path == d.Path || strings.HasPrefix(path, d.Path+"/") {
			return d
		}
	}
	return chatapi.Completions
}

// chat handles one request of a chat and its answer.
func (d *Handler) chat(w http.ResponseWriter, r *http.Request, dialect *chatapi.Dialect) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		d.forward(w, r) // what cannot be read goes without memory
		return
	}
	arrived := d.Now()
	body, err := httpx.ReadBody(r)
	if httpx.OverBudget(err) && d.Upstream != nil {
		d.Log.Warn("a chat goes without memory: too many large requests at once", "path", r.URL.Path)
		d.forward(w, r)
		return
	}
	if err != nil {
		Refuse(w, r, err)
		return
	}
	traced := d.Tracer.Chat(r, arrived, dialect.Path, httpx.RequestID(r.Context()))
	defer func() { traced.End(d.Now()) }()
	c, err := d.read(r, dialect, body, traced)
	if err != nil {
		Refuse(w, r, err)
		return
	}
	c.arrived = arrived
	if c.nobody {
		w.Header().Set(HeaderWarning, "no user: this chat gets no memory")
	}
	if d.Upstream == nil || c.Model == responder.Name {
		d.answerLocally(w, r, c)
		return
	}
	d.answerByUpstream(w, r, c)
}

// call is one request of a chat on its way through.
type call struct {
	*chatapi.Chat
	dialect  *chatapi.Dialect
	arrived  time.Time
	sent     time.Time // to the upstream
	answered time.Time // by the upstream: its headers were there
	memory   bool      // whether memory takes part at all
	nobody   bool      // it names no user, whom memory needs
	hits     bool      // its stream is to end with memory_hits
	named    bool      // whether its answer has memories beside memory_hits
	off      bool      // it was asked to take part by hiding what is said alone
	exchange *exchange.Exchange
	prepared retrieve.Prepared
	traced   *tracing.Chat // nil: nobody traces

	placement chatapi.Placement

	owner   memory.Owner // these where memory takes part
	answers *responseIndex
	from    exchange.Place // where it goes on, as far as it says so
}

// read decodes a request, finds out whose it is, and opens the exchange.
func (d *Handler) read(r *http.Request, dialect *chatapi.Dialect, body []byte, traced *tracing.Chat) (*call, error) {
	chat, err := dialect.Decode(body)
	if err != nil {
		return nil, err
	}
	if chat.Model == memory.EmbedModel {
		return nil, memory.Errorf(memory.Invalid, "model: %s answers no chats, it embeds texts (POST /v1/embeddings)", memory.EmbedModel)
	}
	extras, err := chat.Extras.Merge(r.Header.Get)
	if err != nil {
		return nil, err
	}
	who, err := httpx.IdentityOf(r.Context()).Named(chat.User)
	if err != nil {
		return nil, err
	}
	if who.Ignores(chat.User) && d.UserIgnored != nil {
		d.UserIgnored()
	}
	c := &call{Chat: chat, traced: traced, dialect: dialect, named: d.Named, placement: d.Placement}
	if who.ReadOnly || slices.ContainsFunc(subagents, func(name string) bool { return r.Header.Get(name) != "" }) || chatapi.FromSubagent(chat) {
		extras.Mode = readOnly(extras.Mode)
	}
	c.off, c.hits, c.nobody = extras.Mode == chatapi.ModeOff, extras.Hits, who.Owner == ""
	if dialect.Named {
		chat.Messages = d.resolve(r.Context(), who.Owner, chat.Messages)
	}
	if c.from = d.continuation(r.Context(), who.Owner, chat); extras.ID == "" {
		extras.ID = c.from.Conversation
	} else if extras.ID != c.from.Conversation {
		c.from = exchange.Place{Conversation: extras.ID}
	}
	// Results of calls alone: the user's words went before, with what matters to them.
	results := len(chat.Messages) > 0 && chat.LastUser() < 0 && chat.GoesOn() && extras.ID != ""
	c.memory = who.Owner != "" && r.Header.Get(headerTask) == "" && !chatapi.FrontEndTask(chat) && (chat.LastUser() >= 0 || results)
	if !c.memory {
		if c.nobody && d.Anonymous != nil {
			d.Anonymous()
		}
		return c, nil
	}
	c.owner, c.answers = who.Owner, d.answers
	extras.Project = cmp.Or(extras.Project, firstOf(r.Header, d.Projects))
	if extras.Project == "" && d.Folders {
		extras.Project = chat.Folder()
	}
	if first := slices.IndexFunc(chat.Messages, func(m chatapi.Message) bool { return m.Role == memory.RoleUser }); first >= 0 &&
		d.engine.Exchange.Blocks.Passed.Ordered(who.Owner, chat.Messages[first].Text, d.Now()) {
		extras.Mode = readOnly(extras.Mode)
	}
	note := ""
	if until, _ := d.strict.Get(strictModel{dialect.Path, chat.Model}); c.placement != chatapi.User && d.Now().Before(until) {
		c.placement, note = chatapi.User, "prompt: in the user's message, since the model refused memory in one of its own"
	}
	in := exchange.Incoming{
		Owner: who.Owner, Chat: chat, Extras: extras, ChatID: firstOf(r.Header, d.Sessions), After: c.from.Turn, Named: dialect.Named, Called: who.Name, Note: note,
		Answer: clientID(r.Header, headerMessage), Once: onceKey(r.Header), Again: cmp.Or(r.Header.Get(headerRetries), "0") != "0", Zone: zone(r.Header.Get(headerZone)),
	}
	if d.ClientKeys {
		in.Key = clientKey(r.Header)
	}
	if d.Keep && c.placement != chatapi.System && !dialect.Flat && d.Upstream != nil && chat.Model != responder.Name {
		in.Keep, in.Part = true, chat.Place(c.placement)
	}
	if in.After == "" {
		in.After, in.From = d.follows(r, who.Owner, chat, cmp.Or(extras.ID, in.ChatID)), chat.LastUser()
	}
	began := d.Now()
	c.exchange = d.engine.Exchange.Open(r.Context(), in)
	c.prepared = c.exchange.Prepare(r.Context())
	if traced != nil {
		at := c.exchange.Placed()
		traced.Recalled(c.owner, at.Conversation(), began, at.Ended, d.Now(), len(c.prepared.Hits), c.prepared.Pending, c.prepared.Trace)
	}
	return c, nil
}

// zone returns the time zone of a name, nil for none.
func zone(name string) *time.Location {
	if name == "" || len(name) > 64 {
		return nil
	}
	at, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return at
}

// clientKey returns the key that a client sends for the upstream, "" for none.
func clientKey(h http.Header) string {
	if scheme, token, ok := strings.Cut(h.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return cmp.Or(h.Get("X-Api-Key"), h.Get("Api-Key"))
}

// onceKey returns the client's key for a request, "" for none. Codex, which sends a message again
// behind a summary of what followed it, names the turn.
func onceKey(h http.Header) string {
	var turn struct {
		ID string `json:"turn_id"`
	}
	_ = json.Unmarshal([]byte(h.Get(headerTurn)), &turn) // without it there is no turn
	return cmp.Or(clientID(h, headerOnce), turn.ID)
}

// follows returns the turn of a conversation that the last user message follows, by the
// client's own ids, "" where it sends none or nobody knows it. One that names the answer to
// come and no parent is the first message.
func (d *Handler) follows(r *http.Request, owner memory.Owner, chat *chatapi.Chat, conversation string) string {
	parent := clientID(r.Header, headerParent)
	if _, sent := r.Header[headerParent]; !sent || conversation == "" {
		return ""
	}
	if parent == "" {
		if clientID(r.Header, headerMessage) != "" && chat.Only() {
			return thread.First
		}
		return ""
	}
	if place := d.engine.Exchange.PlaceOf(r.Context(), owner, parent); place.Conversation == conversation {
		return place.Turn
	}
	return ""
}

// readOnly returns mode without its permission to write.
func readOnly(mode string) string {
	if mode == chatapi.ModeWrite || mode == chatapi.ModeOff {
		return chatapi.ModeOff
	}
	return chatapi.ModeRead
}

// firstOf returns the first name that one of these headers has, "" for none.
func firstOf(h http.Header, headers []string) string {
	for _, header := range headers {
		if name := clientID(h, header); name != "" {
			return name
		}
	}
	return ""
}

// clientID returns an id that a client made, "" for none or one that is too long to be one.
func clientID(h http.Header, name string) string {
	id := strings.TrimSpace(h.Get(name))
	if len(id) > maxAnswerID {
		return ""
	}
	return id
}

// record hands the answer to the engine and waits until it is stored, or the
// engine has given up: then the chat goes on without. The client may be gone by
// now; what was said stays said.
func (d *Handler) record(ctx context.Context, c *call, a chatapi.Answer) {
	httpx.CountTokens(ctx, a.InputTokens, a.OutputTokens)
	began := d.Now()
	c.traced.Answered(began, a.ID, a.Model, a.Finish, a.InputTokens, a.OutputTokens)
	if c.memory {
		place := c.exchange.RecordAnswer(ctx, a)
		c.traced.Recorded(began, d.Now(), place.Conversation)
		if c.dialect.Named {
			c.rememberAnswer(a, cmp.Or(place, c.from)) // what is not stored leaves the rest together
		}
	}
}

// nameTrace tells the client where to read what memory did.
func (c *call) nameTrace(h http.Header) {
	if c.prepared.Trace != "" {
		h.Set(HeaderTrace, c.prepared.Trace)
	}
	if n := c.prepared.Pending; n > 0 {
		h.Set(HeaderPending, strconv.Itoa(n))
	}
}

// overhead is how much later the first byte goes out, now, than it would have
// without Loci in between.
func (c *call) overhead(now time.Time) time.Duration {
	return c.sent.Sub(c.arrived) + now.Sub(c.answered)
}
