package mem0

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

const (
	maxMessages = 1000

	// asyncWait is the maximum time that an asynchronous add waits for learning. Learning by rules needs only
	// milliseconds.
	asyncWait = 2 * time.Second

	// metadataWait is the maximum time that an add waits for the learned facts, to add the request's metadata to
	// them. The wait continues even if the client disconnects.
	metadataWait = 5 * time.Minute
)

type addBody struct {
	ids
	Messages   json.RawMessage `json:"messages"`
	Text       string          `json:"text"`
	Filters    map[string]any  `json:"filters"`
	Metadata   json.RawMessage `json:"metadata"`
	Infer      bool            `json:"infer"` // learn facts from the messages; otherwise each message becomes a fact
	Timestamp  any             `json:"timestamp"`
	Expiration any             `json:"expiration_date"`
	Async      bool            `json:"async_mode"` // only in version 1; version 3 is always asynchronous
	Format     string          `json:"output_format"`

	Instructions string `json:"custom_instructions"`
	Includes     string `json:"includes"`
	Excludes     string `json:"excludes"`
}

// modelInstructions returns an add request's instructions for learning, as text for the model.
func (b addBody) modelInstructions() string {
	out := b.Instructions
	if b.Includes != "" {
		out += "\nRemember: " + b.Includes
	}
	if b.Excludes != "" {
		out += "\nDo not remember: " + b.Excludes
	}
	return strings.TrimSpace(out)
}

// message is a message to store. Its content is a string or a list of parts.
type message struct {
	Role    memory.Role     `json:"role"`
	Name    string          `json:"name"`
	Content json.RawMessage `json:"content"`
}

// addRequest is a validated request to add memories.
type addRequest struct {
	caller       caller
	ids          ids // labels to store
	messages     []exchange.Message
	metadata     json.RawMessage
	expiresAt    *time.Time
	instructions string
	ignored      []string // request fields that have no effect
}

// memoryEvent is a change of one memory by a request to add memories.
type memoryEvent struct {
	ID      string            `json:"id"`
	Kind    string            `json:"event"`
	Content string            `json:"memory"`
	Data    map[string]string `json:"data"`
}

func memoryEventOf(c caller, f memory.Fact, kind string) memoryEvent {
	return memoryEvent{c.clientID(f.ID), kind, f.Content, map[string]string{"memory": f.Content}}
}

// addResponse is the response to a request to add memories.
type addResponse struct {
	Message string        `json:"message"`
	Status  string        `json:"status"`
	EventID string        `json:"event_id"`
	Results []memoryEvent `json:"results"`

	Ignored []string `json:"ignored,omitempty"` // request fields that have no effect
}

// States of an asynchronous request.
const (
	statePending   = "PENDING"
	stateRunning   = "RUNNING"
	stateSucceeded = "SUCCEEDED"
	stateFailed    = "FAILED"
)

func (h *handler) addMemories(c *call) (any, error) {
	b := addBody{Infer: true}
	if err := c.decode(&b); err != nil {
		return nil, err
	}
	a, err := h.validateAdd(c, b)
	if err != nil {
		return nil, err
	}
	var out addResponse
	if !b.Infer {
		out, err = h.storeFacts(c.Context(), a)
	} else {
		out, err = h.storeAndLearn(c, a, c.version == "v3" || b.Async)
	}
	out.Ignored = a.ignored
	switch {
	case err != nil || c.version == "v3":
		return out, err
	case out.Status == statePending:
		return c.listResponse([]addResponse{out}, b.Format), nil
	}
	return c.listResponse(out.Results, b.Format), nil
}

// validateAdd validates a request before anything is written.
func (h *handler) validateAdd(c *call, b addBody) (addRequest, error) {
	var zero addRequest
	var sent map[string]any
	if err := c.decode(&sent); err != nil {
		return zero, err
	}
	for n, v := range b.ids.fields() { // newer clients send the ids in filters
		if value, ok := b.Filters[idNames[n]].(string); ok && *v == "" {
			*v = value
		}
		if *v == wildcard {
			return zero, memory.Errorf(memory.Invalid, "%s: %s is not an id", idNames[n], wildcard)
		}
	}
	if err := b.ids.validate(); err != nil {
		return zero, err
	}
	who, err := h.callerFor(c, b.ids.ownerName())
	if err != nil {
		return zero, err
	}
	a := addRequest{caller: who, ids: who.labelsFor(b.ids), instructions: b.modelInstructions()}
	names := []string{"agent_custom_instructions", "structured_data_schema", "custom_categories"}
	if !b.Infer || h.engine.LLM == nil { // without a model, learning follows no instructions
		names = append(names, "custom_instructions", "excludes", "includes")
	}
	a.ignored = slices.DeleteFunc(names, func(name string) bool { return sent[name] == nil || sent[name] == "" })
	if err := h.checkLength(a.instructions); err != nil {
		return zero, fmt.Errorf("custom_instructions, includes and excludes: %w", err)
	}
	if a.metadata, err = parseMetadata(b.Metadata); err != nil {
		return zero, err
	}
	at, err := parseTime("timestamp", b.Timestamp)
	if err != nil {
		return zero, err
	}
	if a.expiresAt, err = parseExpiration(b.Expiration); err != nil {
		return zero, err
	}
	messages, err := parseMessages(b)
	if err != nil {
		return zero, err
	}
	for i, m := range messages {
		converted, err := h.convertMessage(m)
		if err != nil {
			return zero, fmt.Errorf("messages[%d]: %w", i, err)
		}
		if converted.Content == "" { // for example a message with only tool calls
			continue
		}
		converted.At = at
		a.messages = append(a.messages, converted)
	}
	if len(a.messages) == 0 {
		return zero, memory.Errorf(memory.Invalid, "messages: no message has text")
	}
	return a, nil
}

// parseMessages returns the messages of a request, which has a list, a single message, or a text by the user.
func parseMessages(b addBody) ([]message, error) {
	raw := bytes.TrimSpace(b.Messages)
	if len(raw) == 0 || string(raw) == "null" {
		raw, _ = json.Marshal(b.Text)
	}
	var out []message
	var err error
	switch raw[0] {
	case '"':
		out = []message{{Role: memory.RoleUser, Content: raw}}
	case '{':
		out = make([]message, 1)
		err = json.Unmarshal(raw, &out[0])
	default:
		err = json.Unmarshal(raw, &out)
	}
	switch {
	case err != nil:
		return nil, memory.Errorf(memory.Invalid, "messages: must be a list of messages with role and content")
	case len(out) == 0:
		return nil, memory.Errorf(memory.Invalid, "messages: is empty")
	case len(out) > maxMessages:
		return nil, memory.Errorf(memory.TooLarge, "messages: has %d messages, more than %d", len(out), maxMessages)
	}
	return out, nil
}

// convertMessage validates a message and converts it to the engine's type.
func (h *handler) convertMessage(m message) (exchange.Message, error) {
	switch m.Role {
	case memory.RoleUser, memory.RoleAssistant, memory.RoleSystem, memory.RoleTool:
	case "developer":
		m.Role = memory.RoleSystem
	default:
		return exchange.Message{}, memory.Errorf(memory.Invalid, "role: invalid role %q; valid: user, assistant, system, tool", httpx.Truncate(string(m.Role), maxNameBytes))
	}
	if len(m.Name) > maxNameBytes {
		return exchange.Message{}, memory.Errorf(memory.Invalid, "name: longer than %d bytes", maxNameBytes)
	}
	content, err := contentText(m.Content)
	if err == nil {
		err = h.checkLength(content)
	}
	return exchange.Message{Role: m.Role, Name: m.Name, Content: strings.TrimSpace(content)}, err
}

// checkLength refuses a text that is longer than the engine accepts.
func (h *handler) checkLength(text string) error {
	if n := len(strings.TrimSpace(text)); n > h.MaxTextBytes {
		return memory.Errorf(memory.TooLarge, "the text has %d bytes, more than the %d of limits.text", n, h.MaxTextBytes)
	}
	return nil
}

// contentText returns the text of a message's content.
func contentText(content json.RawMessage) (string, error) {
	var text string
	if len(content) == 0 || json.Unmarshal(content, &text) == nil {
		return text, nil
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(content, &parts); err != nil {
		return "", memory.Errorf(memory.Invalid, "content: must be a text or a list of parts")
	}
	var texts []string
	for _, p := range parts {
		if p.Type != "text" {
			return "", errNotImplemented(fmt.Sprintf("content: Loci stores text only, not %q", httpx.Truncate(p.Type, maxNameBytes)))
		}
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n"), nil
}

// parseMetadata returns metadata as compact JSON, or nil if the metadata is empty.
func parseMetadata(raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	var object map[string]any
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil, nil
	case len(raw) > maxMetadataBytes:
		return nil, memory.Errorf(memory.TooLarge, "metadata: larger than %d bytes", maxMetadataBytes)
	case json.Unmarshal(raw, &object) != nil:
		return nil, memory.Errorf(memory.Invalid, "metadata: is not a JSON object")
	case len(object) == 0:
		return nil, nil
	}
	var out bytes.Buffer
	err := json.Compact(&out, raw)
	return out.Bytes(), err
}

// parseTime parses a date, a timestamp or Unix seconds. The result for null is the zero time.
func parseTime(name string, value any) (time.Time, error) {
	switch v := value.(type) {
	case nil:
		return time.Time{}, nil
	case float64:
		if v > -1e11 && v < 1e11 {
			return time.UnixMicro(int64(v * 1e6)).UTC(), nil
		}
	case string:
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", time.DateTime, time.DateOnly} {
			if t, err := time.Parse(layout, v); err == nil {
				return t.UTC(), nil
			}
		}
	}
	return time.Time{}, memory.Errorf(memory.Invalid, "%s: invalid time (example: 2026-05-03 or 2026-05-03T14:00:00Z)", name)
}

// parseExpiration parses the time of expiration, or the date of a memory's last day. The result for null is nil.
func parseExpiration(value any) (*time.Time, error) {
	t, err := parseTime("expiration_date", value)
	if err != nil || t.IsZero() {
		return nil, err
	}
	if text, _ := value.(string); len(text) == len(time.DateOnly) {
		t = t.AddDate(0, 0, 1)
	}
	return &t, nil
}

// storeFacts stores each message as a fact.
func (h *handler) storeFacts(ctx context.Context, a addRequest) (addResponse, error) {
	out := addResponse{Message: "The memories are stored", Status: stateSucceeded, Results: []memoryEvent{}}
	for _, m := range a.messages {
		if m.Role == memory.RoleSystem {
			continue
		}
		input := curate.FactInput{
			Content: m.Content, Project: a.ids.App, Agent: a.ids.Agent, Conversation: a.ids.conversation(""),
			ObservedAt: m.At, Metadata: a.metadata,
		}
		if a.expiresAt != nil {
			input.ExpiresAt = *a.expiresAt
		}
		f, created, err := h.engine.Curate.Remember(ctx, a.caller.owner, input, a.caller.author)
		if err != nil {
			return addResponse{}, err
		}
		out.Results = append(out.Results, memoryEventOf(a.caller, f, map[bool]string{true: "ADD", false: "NOOP"}[created]))
		out.EventID = a.caller.clientID(f.ID)
	}
	return out, nil
}

// storeAndLearn stores the messages as a conversation and learns from it.
func (h *handler) storeAndLearn(c *call, a addRequest, async bool) (addResponse, error) {
	conversation := a.ids.conversation(a.instructions)
	if a.instructions != "" { // the learning job finds the instructions by the conversation
		if _, err := h.engine.SetProfileEntry(c.Context(), a.caller.owner, core.InstructionsKey(a.caller.owner, conversation), a.instructions, a.caller.author); err != nil {
			return addResponse{}, err
		}
	}
	request := exchange.IngestRequest{Conversation: conversation, Project: a.ids.App, Messages: a.messages, Learn: true, WaitForLearning: true}
	ctx, wait := c.Context(), time.Duration(0)
	annotated := a.metadata != nil || a.expiresAt != nil
	switch {
	case annotated: // wait for the learned facts, to add the metadata
		ctx, wait = context.WithoutCancel(ctx), metadataWait
	case async:
		wait = cmp.Or(h.LearnWait, asyncWait)
	}
	if wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	stored, err := h.engine.Exchange.Ingest(ctx, a.caller.owner, request)
	out := addResponse{Message: "The messages are stored and learned from", Status: stateSucceeded, EventID: a.caller.clientID(stored.JobID), Results: []memoryEvent{}}
	if errors.Is(err, context.DeadlineExceeded) && stored.JobID != "" && c.Context().Err() == nil {
		out.Message, out.Status = "The messages are stored and will be learned from later", statePending
		return out, nil
	}
	if err != nil {
		return addResponse{}, err
	}
	for _, m := range stored.Learned {
		f := *m.Fact
		if annotated {
			edit := curate.FactEdit{ExpiresAt: a.expiresAt}
			if a.metadata != nil {
				edit.Metadata = &a.metadata
			}
			if f, err = h.engine.Curate.EditFact(ctx, a.caller.owner, f.ID, edit, a.caller.author); err != nil {
				return addResponse{}, err
			}
		}
		out.Results = append(out.Results, memoryEventOf(a.caller, f, "ADD"))
	}
	return out, nil
}
