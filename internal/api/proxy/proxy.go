// Package proxy serves the API under /v1: it adds memory to chat requests in all dialects of package chatapi,
// records the question and the answer, and forwards all other bytes unchanged. A memory failure never fails the
// chat. It serves embeddings of the model loci/embed, and forwards all other paths except those of mem0's API.
//
//	request  decode → open → prepare → inject → forward
//	answer   status and headers → events, each flushed → record → the last event
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

// HeaderTrace is the response header with the id of the answer's trace.
const HeaderTrace = "X-Loci-Trace"

// HeaderPending is the response header with the number of facts that wait for a person's decision, if it is
// not 0.
const HeaderPending = "X-Loci-Pending"

// HeaderWarning is the response header that describes a problem of the setup or the upstream, although the
// request succeeded.
const HeaderWarning = "X-Loci-Warning"

// Request headers of clients. Open WebUI fills them from templates in its connection's settings
// ({{TASK}}, {{MESSAGE_ID}}, {{USER_MESSAGE_PARENT_ID}}).
const (
	headerTask        = "X-Loci-Task"             // a task of the client itself, such as a title; empty for chats
	headerZone        = "X-Loci-Timezone"         // the user's time zone: Europe/Lisbon
	headerMessage     = "X-Loci-Message-Id"       // the client's id for the answer
	headerParent      = "X-Loci-Parent-Id"        // the client's id for the answer before the last user message; empty for the first message
	headerIdempotency = "Idempotency-Key"         // the same value for all retries of a request
	headerTurn        = "X-Codex-Turn-Metadata"   // JSON with Codex's turn id
	headerRetries     = "X-Stainless-Retry-Count" // number of retries so far, sent by the SDKs of OpenAI, Anthropic and others
)

// DefaultSessionHeaders are headers with a conversation's id, by priority: of Open WebUI, of opencode and other
// clients, and of Codex. Codex's sub-agents share the parent's Session-Id but have their own Thread-Id.
var DefaultSessionHeaders = []string{"X-OpenWebUI-Chat-Id", "X-Session-Id", "Thread-Id", "Session-Id"}

// subagentHeaders are headers of requests by sub-agents of Codex and opencode. A model writes the user messages
// of these requests.
var subagentHeaders = []string{"X-OpenAI-Subagent", "X-Codex-Parent-Thread-Id", "X-Parent-Session-Id"}

// Upstream forwards a request unchanged, and returns the response without its connection headers.
type Upstream interface {
	Do(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error)
}

// Options configure the API.
type Options struct {
	Upstream          Upstream          // model server; nil lets the built-in model answer chats
	Placement         chatapi.Placement // position of the memory block in the request
	KeepBlocks        bool              // send the blocks of earlier requests again; ignored with [chatapi.System]
	ChatOnly          bool              // the upstream supports only chat completions; false lets Loci find out
	AddMemories       bool              // answers also have a field memories
	SessionHeaders    []string          // headers with a conversation's id; empty uses [DefaultSessionHeaders]
	ProjectHeaders    []string          // headers that name a project; memory_project and X-Loci-Project take precedence
	ProjectFromFolder bool              // a coding agent's working directory becomes the default project
	Metrics           *obs.Metrics
	Tracer            *tracing.Tracer // nil disables tracing
	Log               *slog.Logger
	Now               func() time.Time

	UseClientKeys bool // learning may send requests to the upstream with the client's key

	OnAnonymous func() // called for each chat that gets no memory because it names no user; may be nil

	OnUserIgnored func() // called for each chat whose user is ignored because the server has one user; may be nil
}

// Handler serves all paths under /v1.
type Handler struct {
	Options
	engine             *engine.Engine
	mux                *http.ServeMux
	strictModels       recent.Map[strictModel, time.Time] // until when a model gets memory in the user's message
	answerIndex        *answerIndex
	lastUpstreamFailed atomic.Bool // the last request to the upstream failed

	unsupportedPaths sync.Map // paths of dialects that the upstream does not support
}

// New returns the handler of /v1.
func New(e *engine.Engine, opts Options) *Handler {
	if len(opts.SessionHeaders) == 0 {
		opts.SessionHeaders = DefaultSessionHeaders
	}
	d := &Handler{Options: opts, engine: e, mux: http.NewServeMux(), answerIndex: recent.New[answerKey, exchange.ContinuationPoint](maxAnswers)}
	mux := d.mux
	for _, dialect := range chatapi.Dialects {
		mux.HandleFunc("POST "+dialect.Path, func(w http.ResponseWriter, r *http.Request) { d.serveChat(w, r, dialect) })
	}
	mux.HandleFunc("GET /v1/models", d.listModels)
	mux.HandleFunc("GET /v1/models/{name...}", d.getModel)
	mux.HandleFunc("POST /v1/embeddings", d.serveEmbeddings)
	mux.HandleFunc("/v1/", d.forward)
	return d
}

// ServeHTTP implements http.Handler.
func (d *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if IsReserved(r.URL.Path) {
		httpx.WriteError(w, r, memory.Errorf(memory.NotFound, "mem0's API has no such path; paths must be in lower case and without escapes"))
		return
	}
	if slices.Contains(shortPaths, r.URL.Path) {
		long := *r.URL
		long.Path, long.RawPath = "/v1"+r.URL.Path, ""
		r = r.Clone(r.Context())
		r.URL = &long
	}
	if id := httpx.RequestID(r.Context()); id != "" { // the upstream's own id, if any, replaces this id
		w.Header().Set("X-Request-Id", id)
		if header := dialectOf(r.URL.Path).RequestIDHeader; header != "" {
			w.Header().Set(header, id)
		}
	}
	d.mux.ServeHTTP(w, r)
}

// dialectOf returns the dialect of a path, or chat completions for any other path.
func dialectOf(path string) *chatapi.Dialect {
	for _, d := range chatapi.Dialects {
		if path == d.Path || strings.HasPrefix(path, d.Path+"/") {
			return d
		}
	}
	return chatapi.Completions
}

func (d *Handler) serveChat(w http.ResponseWriter, r *http.Request, dialect *chatapi.Dialect) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		d.forward(w, r) // Loci cannot decode the body, so the chat gets no memory
		return
	}
	arrived := d.Now()
	body, err := httpx.ReadBody(r)
	if httpx.IsOverBudget(err) && d.Upstream != nil {
		d.Log.Warn("chat without memory: too many large requests at the same time", "path", r.URL.Path)
		d.forward(w, r)
		return
	}
	if err != nil {
		Refuse(w, r, err)
		return
	}
	trace := d.Tracer.StartChat(r, arrived, dialect.Path, httpx.RequestID(r.Context()))
	defer func() { trace.End(d.Now()) }()
	c, err := d.openCall(r, dialect, body, trace)
	if err != nil {
		Refuse(w, r, err)
		return
	}
	c.arrivedAt = arrived
	if c.noUser {
		w.Header().Set(HeaderWarning, "no user: this chat gets no memory")
	}
	if d.Upstream == nil || c.Model == responder.Name {
		d.answerLocally(w, r, c)
		return
	}
	d.answerByUpstream(w, r, c)
}

// call is the state of one chat request.
type call struct {
	*chatapi.Chat
	dialect      *chatapi.Dialect
	arrivedAt    time.Time
	sentAt       time.Time // when the request was sent to the upstream
	answeredAt   time.Time // when the upstream's headers arrived
	usesMemory   bool      // memory is read or written; false for tasks of the client itself
	noUser       bool      // the request names no user, so memory is not used
	wantsHits    bool      // the stream must end with an event with memory_hits
	addMemories  bool      // the answer has a field memories in addition to memory_hits
	memoryOff    bool      // the client turned memory off; messages marked off the record are still removed
	exchange     *exchange.Exchange
	promptMemory retrieve.PromptMemory // memory for the prompt
	trace        *tracing.Chat         // nil without tracing

	placement chatapi.Placement // position of the memory block in the request

	// owner and answerIndex are set only if memory is used.
	owner             memory.Owner
	answerIndex       *answerIndex
	continuationPoint exchange.ContinuationPoint // place in a conversation after which the request continues; zero if unknown
}

// openCall decodes a request, identifies its owner, and opens the exchange.
func (d *Handler) openCall(r *http.Request, dialect *chatapi.Dialect, body []byte, trace *tracing.Chat) (*call, error) {
	chat, err := dialect.Decode(body)
	if err != nil {
		return nil, err
	}
	if chat.Model == memory.EmbedModel {
		return nil, memory.Errorf(memory.Invalid, "model: %s is for embeddings (POST /v1/embeddings), not for chats", memory.EmbedModel)
	}
	extras, err := chat.Extras.WithHeaders(r.Header.Get)
	if err != nil {
		return nil, err
	}
	identity, err := httpx.IdentityOf(r.Context()).WithUser(chat.User)
	if err != nil {
		return nil, err
	}
	if identity.IgnoresUser(chat.User) && d.OnUserIgnored != nil {
		d.OnUserIgnored()
	}
	c := &call{Chat: chat, trace: trace, dialect: dialect, addMemories: d.AddMemories, placement: d.Placement}
	if identity.ReadOnly || slices.ContainsFunc(subagentHeaders, func(name string) bool { return r.Header.Get(name) != "" }) || chatapi.IsFromSubagent(chat) {
		extras.Mode = readOnlyMode(extras.Mode)
	}
	c.memoryOff, c.wantsHits, c.noUser = extras.Mode == chatapi.ModeOff, extras.Hits, identity.Owner == ""
	if dialect.CanContinue {
		chat.Messages = d.resolveRefs(r.Context(), identity.Owner, chat.Messages)
	}
	if c.continuationPoint = d.continuation(r.Context(), identity.Owner, chat); extras.ID == "" {
		extras.ID = c.continuationPoint.Conversation
	} else if extras.ID != c.continuationPoint.Conversation {
		c.continuationPoint = exchange.ContinuationPoint{Conversation: extras.ID}
	}
	// The request may contain only tool results, because an earlier request contained the user's message and got
	// memory for it.
	onlyToolResults := len(chat.Messages) > 0 && chat.LastUser() < 0 && chat.HasServerHistory() && extras.ID != ""
	c.usesMemory = identity.Owner != "" && r.Header.Get(headerTask) == "" && !chatapi.IsFrontEndTask(chat) && (chat.LastUser() >= 0 || onlyToolResults)
	if !c.usesMemory {
		if c.noUser && d.OnAnonymous != nil {
			d.OnAnonymous()
		}
		return c, nil
	}
	c.owner, c.answerIndex = identity.Owner, d.answerIndex
	extras.Project = cmp.Or(extras.Project, firstHeader(r.Header, d.ProjectHeaders))
	if extras.Project == "" && d.ProjectFromFolder {
		extras.Project = chat.Folder()
	}
	if first := slices.IndexFunc(chat.Messages, func(m chatapi.Message) bool { return m.Role == memory.RoleUser }); first >= 0 &&
		d.engine.Exchange.Blocks.Relayed.IsOrder(identity.Owner, chat.Messages[first].Text, d.Now()) {
		extras.Mode = readOnlyMode(extras.Mode)
	}
	note := ""
	if until, _ := d.strictModels.Get(strictModel{dialect.Path, chat.Model}); c.placement != chatapi.User && d.Now().Before(until) {
		c.placement, note = chatapi.User, "prompt: memory was added to the user's message, because the model refused it in a separate message"
	}
	incoming := exchange.Incoming{
		Owner: identity.Owner, Chat: chat, Extras: extras, ChatID: firstHeader(r.Header, d.SessionHeaders), AfterTurnID: c.continuationPoint.TurnID, CanNameAnswer: dialect.CanContinue, DisplayName: identity.DisplayName, TraceNote: note,
		AnswerID: clientID(r.Header, headerMessage), IdempotencyKey: idempotencyKey(r.Header), IsRetry: cmp.Or(r.Header.Get(headerRetries), "0") != "0", TimeZone: loadZone(r.Header.Get(headerZone)),
	}
	if d.UseClientKeys {
		incoming.UpstreamKey = clientKey(r.Header)
	}
	if d.KeepBlocks && c.placement != chatapi.System && !dialect.SingleText && d.Upstream != nil && chat.Model != responder.Name {
		incoming.RestoreBlocks, incoming.BlockPart = true, chat.BlockPart(c.placement)
	}
	if incoming.AfterTurnID == "" {
		incoming.AfterTurnID, incoming.FirstMessageIndex = d.parentTurn(r, identity.Owner, chat, cmp.Or(extras.ID, incoming.ChatID)), chat.LastUser()
	}
	began := d.Now()
	c.exchange = d.engine.Exchange.Open(r.Context(), incoming)
	c.promptMemory = c.exchange.Prepare(r.Context())
	if trace != nil {
		turnPlacement := c.exchange.Placement()
		trace.AddRecall(c.owner, turnPlacement.ConversationID(), began, turnPlacement.EndedAt, d.Now(), len(c.promptMemory.Hits), c.promptMemory.PendingCount, c.promptMemory.TraceID)
	}
	return c, nil
}

// loadZone returns the time zone with the given name, or nil if the name is invalid or empty.
func loadZone(name string) *time.Location {
	if name == "" || len(name) > 64 {
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return zone
}

// clientKey returns the client's key for the upstream, or "" if the request has no key.
func clientKey(h http.Header) string {
	if scheme, token, ok := strings.Cut(h.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return cmp.Or(h.Get("X-Api-Key"), h.Get("Api-Key"))
}

// idempotencyKey returns a key that is equal for all retries of a request, or "" if no header has one. Codex's
// turn id is used as the key, because Codex sends a message again after it summarized later messages.
func idempotencyKey(h http.Header) string {
	var turn struct {
		ID string `json:"turn_id"`
	}
	_ = json.Unmarshal([]byte(h.Get(headerTurn)), &turn) // without the header the turn id stays empty
	return cmp.Or(clientID(h, headerIdempotency), turn.ID)
}

// parentTurn returns the id of the turn before the last user message, found by the client's ids, or "" if
// unknown. For a first message, with an id for its answer but no parent's id, it returns [thread.AsOnlyBeginning].
func (d *Handler) parentTurn(r *http.Request, owner memory.Owner, chat *chatapi.Chat, conversation string) string {
	parent := clientID(r.Header, headerParent)
	if _, sent := r.Header[headerParent]; !sent || conversation == "" {
		return ""
	}
	if parent == "" {
		if clientID(r.Header, headerMessage) != "" && chat.HasSingleMessage() {
			return thread.AsOnlyBeginning
		}
		return ""
	}
	if place := d.engine.Exchange.PointAfterAnswer(r.Context(), owner, parent); place.Conversation == conversation {
		return place.TurnID
	}
	return ""
}

// readOnlyMode returns a memory mode without its permission to write: read, or off if mode never reads.
func readOnlyMode(mode string) string {
	if mode == chatapi.ModeWrite || mode == chatapi.ModeOff {
		return chatapi.ModeOff
	}
	return chatapi.ModeRead
}

// firstHeader returns the first non-empty value among some headers, or "" if all are empty.
func firstHeader(h http.Header, headers []string) string {
	for _, header := range headers {
		if name := clientID(h, header); name != "" {
			return name
		}
	}
	return ""
}

// clientID returns the id in a header, or "" if the id is absent or too long.
func clientID(h http.Header, name string) string {
	id := strings.TrimSpace(h.Get(name))
	if len(id) > maxAnswerID {
		return ""
	}
	return id
}

// recordAnswer lets the engine store the answer. It returns when storing has succeeded or failed, even if the client
// has disconnected.
func (d *Handler) recordAnswer(ctx context.Context, c *call, a chatapi.Answer) {
	httpx.AddTokens(ctx, a.InputTokens, a.OutputTokens)
	began := d.Now()
	c.trace.EndUpstream(began, a.ID, a.Model, a.FinishReason, a.InputTokens, a.OutputTokens)
	if c.usesMemory {
		place := c.exchange.RecordAnswer(ctx, a)
		c.trace.AddRecord(began, d.Now(), place.Conversation)
		if c.dialect.CanContinue {
			c.indexAnswer(a, cmp.Or(place, c.continuationPoint)) // an answer that was not stored gets the place of its request
		}
	}
}

// setMemoryHeaders sets the headers with the trace id and the number of pending facts.
func (c *call) setMemoryHeaders(h http.Header) {
	if c.promptMemory.TraceID != "" {
		h.Set(HeaderTrace, c.promptMemory.TraceID)
	}
	if n := c.promptMemory.PendingCount; n > 0 {
		h.Set(HeaderPending, strconv.Itoa(n))
	}
}

// overhead returns the delay that Loci added to the first byte, which is sent at now.
func (c *call) overhead(now time.Time) time.Duration {
	return c.sentAt.Sub(c.arrivedAt) + now.Sub(c.answeredAt)
}
