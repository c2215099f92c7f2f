// Package pipelines serves Open WebUI's pipelines protocol with one filter: before a model
// answers, it puts what memory has on the user's message into the system message; after the
// answer, it keeps the two. It stores nothing itself.
//
// Open WebUI fails a chat whose filter refuses it, so that what memory cannot do leaves a
// chat as it is.
package pipelines

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/utterance"
	"github.com/loci-memory/loci/memory"
)

// Prefix is the path of the server that a connection of Open WebUI names.
const Prefix = "/pipelines"

const (
	filterID = "loci-memory"

	// searchTime is how long a message waits for memory, addTime how long an answer does for
	// being kept.
	searchTime = 2 * time.Second
	addTime    = 10 * time.Second

	// summaryMark begins what takes the place of messages that Open WebUI has compacted.
	summaryMark = "[CONVERSATION SUMMARY]"
)

// details are what Open WebUI shows of reasoning and tools within an answer.
var details = lazy.Compile(`(?s)<details\b.*?</details>\s*`)

type handler struct{ engine *engine.Engine }

// New returns the handler of all at and below [Prefix].
func New(e *engine.Engine) http.Handler {
	h := handler{e}
	mux := http.NewServeMux()
	filter := map[string]any{"id": filterID, "name": "Loci memory", "type": "filter", "valves": false}
	model := map[string]any{
		"id": filterID, "name": "Loci memory", "object": "model", "created": 0, "owned_by": "loci",
		"pipeline": map[string]any{"type": "filter", "pipelines": []string{"*"}, "priority": 0, "valves": false},
	}
	mux.Handle("GET /models", constant(map[string]any{"object": "list", "data": []any{model}, "pipelines": true}))
	mux.Handle("GET /pipelines", constant(map[string]any{"data": []any{filter}}))
	// A connection's prefix stands before the id.
	mux.Handle("GET /{id}/valves", constant(map[string]any{}))
	mux.Handle("GET /{id}/valves/spec", constant(map[string]any{"type": "object", "properties": map[string]any{}}))
	mux.Handle("POST /{id}/filter/inlet", h.serve(h.inlet))
	mux.Handle("POST /{id}/filter/outlet", h.serve(h.outlet))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		httpx.WriteError(w, r, memory.Errorf(memory.NotFound, "no such path in the pipelines protocol: %s %s", r.Method, httpx.Brief(r.URL.Path, 256)))
	})
	return http.StripPrefix(Prefix, mux)
}

func constant(v any) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { httpx.WriteJSON(w, http.StatusOK, v) })
}

// payload is what Open WebUI sends a filter. Body is answered, changed or as it is.
type payload struct {
	User struct{ ID string }
	Body json.RawMessage
}

// content is what both filters read of a body.
type content struct {
	Messages []message
	ChatID   string `json:"chat_id"`
	ID       string // of the answer
	Metadata struct {
		ChatID      string `json:"chat_id"`
		Task        string
		UserMessage *message `json:"user_message"`
	}
}

type message struct {
	ID      string
	Role    memory.Role
	Content json.RawMessage
}

// call is one request to a filter.
type call struct {
	content
	ctx   context.Context
	owner memory.Owner
	chat  string
	body  json.RawMessage
}

// serve answers a filter's request with the body that do returns; on an error with the
// body as it came.
func (h handler) serve(do func(*call) (json.RawMessage, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := httpx.ReadBody(r)
		var p payload
		if err == nil && (json.Unmarshal(data, &p) != nil || len(p.Body) == 0) {
			err = memory.Errorf(memory.Invalid, "the body is not a JSON object with user and body")
		}
		if err != nil {
			httpx.WriteError(w, r, err)
			return
		}
		if out, err := filter(r, p, do); err == nil {
			p.Body = out
		} else if !errors.Is(err, memory.Conflict) { // not paused
			h.engine.Log.Warn("a chat of Open WebUI went without memory", "err", err)
		}
		httpx.WriteJSON(w, http.StatusOK, p.Body)
	})
}

// filter runs do on what memory takes part in.
func filter(r *http.Request, p payload, do func(*call) (json.RawMessage, error)) (json.RawMessage, error) {
	c := call{ctx: r.Context(), body: p.Body}
	if err := json.Unmarshal(p.Body, &c.content); err != nil {
		return nil, err
	}
	c.chat = c.ChatID
	if c.chat == "" {
		c.chat = c.Metadata.ChatID
	}
	if c.chat == "" || c.Metadata.Task != "" || p.User.ID == "" || exchange.IsUnsaved(c.chat) {
		return p.Body, nil
	}
	id, err := httpx.IdentityOf(c.ctx).NamedOver(p.User.ID)
	if err != nil || id.Owner == "" {
		return p.Body, err
	}
	c.owner = id.Owner
	return do(&c)
}

// inlet puts the block of memory into the system message.
func (h handler) inlet(c *call) (json.RawMessage, error) {
	words := ""
	if c.Metadata.UserMessage != nil {
		words = c.Metadata.UserMessage.words()
	}
	for i := len(c.Messages) - 1; i >= 0 && words == ""; i-- {
		if c.Messages[i].Role == memory.RoleUser {
			words = c.Messages[i].words()
			break
		}
	}
	if words == "" {
		return c.body, nil
	}
	q := retrieve.Question{Scope: memory.Scope{Owner: c.owner}, Text: words, Chat: true, In: c.chat, Core: true, Door: "pipelines"}
	if slices.ContainsFunc(c.Messages, func(m message) bool {
		return m.Role == memory.RoleSystem && strings.Contains(m.text(), summaryMark)
	}) {
		q.In = "" // the model does not see all of this chat any more
	}
	ctx, cancel := context.WithTimeout(c.ctx, searchTime)
	defer cancel()
	found, err := h.engine.Exchange.RecallBlock(ctx, q)
	if err != nil || found.Block == "" {
		return c.body, err
	}
	return withSystem(c.body, found.Block)
}

// withSystem returns a body whose system message ends with block. All else in it stays as it was.
func withSystem(body json.RawMessage, block string) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	var messages []json.RawMessage
	var first map[string]json.RawMessage
	err := json.Unmarshal(body, &fields)
	if err == nil {
		err = json.Unmarshal(fields["messages"], &messages)
	}
	if err == nil {
		err = json.Unmarshal(messages[0], &first)
	}
	if err != nil {
		return nil, err
	}
	var text string
	var parts []json.RawMessage
	switch {
	case string(first["role"]) != `"system"`:
		messages = slices.Insert(messages, 0, encoded(map[string]string{"role": "system", "content": block}))
	case json.Unmarshal(first["content"], &parts) == nil && parts != nil:
		first["content"] = encoded(append(parts, encoded(map[string]string{"type": "text", "text": block})))
		messages[0] = encoded(first)
	default:
		if err := json.Unmarshal(first["content"], &text); err != nil {
			return nil, err
		}
		first["content"] = encoded(strings.TrimSpace(text + "\n\n" + block))
		messages[0] = encoded(first)
	}
	fields["messages"] = encoded(messages)
	return encoded(fields), nil
}

// encoded returns a value as JSON that keeps <, > and &.
func encoded(v any) json.RawMessage {
	out, _ := chatapi.Encode(v) // strings and valid JSON have no errors
	return out
}

// outlet keeps the last message of the user and its answer, and where in the chat they are.
func (h handler) outlet(c *call) (json.RawMessage, error) {
	talk := exchange.Talk{Conversation: c.chat, Infer: true}
	answer := len(c.Messages) - 1
	for i, m := range c.Messages {
		if m.ID != "" && m.ID == c.ID {
			answer = i
		}
	}
	asked := answer
	for asked >= 0 && c.Messages[asked].Role != memory.RoleUser {
		asked--
	}
	if asked < 0 || c.Messages[asked].ID == "" {
		return c.body, nil
	}
	parent := ""
	if asked > 0 {
		parent = c.Messages[asked-1].ID
	}
	talk.Parent = &parent
	said := c.Messages[asked : asked+1]
	if m := c.Messages[answer]; m.ID != "" && m.Role == memory.RoleAssistant {
		said = append(slices.Clone(said), m)
	}
	for _, m := range said {
		if words := m.words(); words != "" {
			talk.Messages = append(talk.Messages, exchange.Message{Role: m.Role, Content: words, Ref: m.ID})
		}
	}
	if len(talk.Messages) == 0 || talk.Messages[0].Role != memory.RoleUser { // a file alone
		return c.body, nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, addTime)
	defer cancel()
	_, err := h.engine.Exchange.Ingest(ctx, c.owner, talk)
	return c.body, err
}

// words returns what the person or the model said, without what Open WebUI writes around it.
func (m *message) words() string {
	words := details.ReplaceAllString(m.text(), "")
	if m.Role != memory.RoleAssistant {
		words = utterance.Words(words)
	}
	return strings.TrimSpace(words)
}

// text returns a message's text, of parts those that have any.
func (m *message) text() string { return chatapi.ContentText(m.Content) }
