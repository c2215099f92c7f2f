// Package pipelines serves Open WebUI's pipelines protocol with one filter. Before a model answers, the filter
// adds the memory block to the system message. Afterwards, it stores the question and the answer.
//
// An error of a filter would fail the chat in Open WebUI, so the chat stays unchanged if there is an error.
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

// Prefix is the base path for a connection of Open WebUI.
const Prefix = "/pipelines"

const (
	filterID = "loci-memory"

	// searchTime bounds the search before an answer. addTime bounds storing the answer.
	searchTime = 2 * time.Second
	addTime    = 10 * time.Second

	// summaryMark is the start of the summary with which Open WebUI replaces compacted messages.
	summaryMark = "[CONVERSATION SUMMARY]"
)

// details matches the reasoning and tool calls that Open WebUI embeds in an answer.
var details = lazy.Compile(`(?s)<details\b.*?</details>\s*`)

type handler struct{ engine *engine.Engine }

// New returns the handler of [Prefix] and all paths below.
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
	// {id} may begin with the connection's prefix.
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

// payload is a request to a filter. The response is Body, which the filter may change.
type payload struct {
	User struct{ ID string }
	Body json.RawMessage
}

// content is the part of a body that the filters read.
type content struct {
	Messages []message
	ChatID   string `json:"chat_id"`
	ID       string // id of the answer
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

type call struct {
	content
	ctx   context.Context
	owner memory.Owner
	chat  string
	body  json.RawMessage
}

// serve responds with the body that do returns, or with the unchanged body if do fails.
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
		} else if !errors.Is(err, memory.Conflict) { // memory is not paused
			h.engine.Log.Warn("an Open WebUI chat continues without memory", "err", err)
		}
		httpx.WriteJSON(w, http.StatusOK, p.Body)
	})
}

// filter runs do, except for chats without memory: unsaved chats, tasks, and requests without a user.
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

// inlet appends the memory block to the system message.
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
		q.In = "" // the model no longer sees the whole chat
	}
	ctx, cancel := context.WithTimeout(c.ctx, searchTime)
	defer cancel()
	found, err := h.engine.Exchange.RecallBlock(ctx, q)
	if err != nil || found.Block == "" {
		return c.body, err
	}
	return withSystem(c.body, found.Block)
}

// withSystem returns a body with block at the end of its system message. The rest is unchanged.
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

// encoded returns a value as JSON and does not escape <, > and &.
func encoded(v any) json.RawMessage {
	out, _ := chatapi.Encode(v) // strings and valid JSON can always be encoded
	return out
}

// outlet stores the user's last message and its answer, after their parent in the chat.
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
	messages := c.Messages[asked : asked+1]
	if m := c.Messages[answer]; m.ID != "" && m.Role == memory.RoleAssistant {
		messages = append(slices.Clone(messages), m)
	}
	for _, m := range messages {
		if words := m.words(); words != "" {
			talk.Messages = append(talk.Messages, exchange.Message{Role: m.Role, Content: words, Ref: m.ID})
		}
	}
	if len(talk.Messages) == 0 || talk.Messages[0].Role != memory.RoleUser { // for example a file without text
		return c.body, nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, addTime)
	defer cancel()
	_, err := h.engine.Exchange.Ingest(ctx, c.owner, talk)
	return c.body, err
}

// words returns the message's own text, without the text that Open WebUI adds to it.
func (m *message) words() string {
	words := details.ReplaceAllString(m.text(), "")
	if m.Role != memory.RoleAssistant {
		words = utterance.Words(words)
	}
	return strings.TrimSpace(words)
}

// text returns a message's text, with its parts joined.
func (m *message) text() string { return chatapi.ContentText(m.Content) }
