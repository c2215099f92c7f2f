// Package translate lets clients of Anthropic's Messages API and of OpenAI's Responses
// API talk to a server that has chat completions alone: it writes a request of theirs as
// one of chat completions, and the answer or the event stream back in their own shape.
// It is pure and knows nothing of HTTP or of memory.
//
// What only advises the model or the provider's own servers is left out: thinking,
// cache breakpoints, metadata, tools that the provider runs. What the request would be
// wrong without is refused with [memory.Invalid] and the name of the field.
package translate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

// Call is one request and what is needed to write its answer.
type Call struct {
	// Body is the request of chat completions.
	Body []byte

	newWriter func() writer
	request   chatRequest
}

// format is a dialect that is translated.
type format struct {
	read      func(c *Call, body []byte, id string, created time.Time) error
	newWriter func(a chatapi.Answer, created time.Time) writer // of an answer of Loci's own
}

// formats are all there are.
var formats = map[*chatapi.Dialect]format{
	chatapi.Messages: {readMessages, func(a chatapi.Answer, _ time.Time) writer { return &messagesWriter{a.ID, a.Model} }},
	chatapi.Responses: {readResponses, func(a chatapi.Answer, created time.Time) writer {
		return newResponsesWriter(responsesRequest{Model: a.Model}, nil, a.ID, created)
	}},
}

// Knows reports whether a dialect is translated. No other may be given to [New] and [NewAnswer].
func Knows(d *chatapi.Dialect) bool { return formats[d].read != nil }

// New translates a request in a dialect. Its answer gets the id and time given.
func New(d *chatapi.Dialect, body []byte, id string, created time.Time) (*Call, error) {
	c := &Call{}
	if err := formats[d].read(c, body, d.AnswerID+id, created); err != nil {
		return nil, err
	}
	if c.request.Stream {
		c.request.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	var err error
	c.Body, err = chatapi.Encode(c.request)
	return c, err
}

// NewAnswer returns what writes an answer of Loci's own in a dialect; it has no request.
func NewAnswer(d *chatapi.Dialect, a chatapi.Answer, created time.Time) *Call {
	return &Call{newWriter: func() writer { return formats[d].newWriter(a, created) }}
}

// NewLimit returns the request as newer models of OpenAI's want it, with
// max_completion_tokens in the place of max_tokens.
func (c *Call) NewLimit() ([]byte, error) {
	r := c.request
	r.MaxNew, r.MaxTokens = r.MaxTokens, nil
	return chatapi.Encode(r)
}

// chatRequest is a request of chat completions.
type chatRequest struct {
	Model         string         `json:"model"`
	Messages      []chatMessage  `json:"messages"`
	Stream        bool           `json:"stream,omitempty"`
	StreamOptions *streamOptions `json:"stream_options,omitempty"`
	MaxTokens     *float64       `json:"max_tokens,omitempty"`
	MaxNew        *float64       `json:"max_completion_tokens,omitempty"`
	Stop          []string       `json:"stop,omitempty"`
	Temperature   *float64       `json:"temperature,omitempty"`
	TopP          *float64       `json:"top_p,omitempty"`
	Tools         []chatTool     `json:"tools,omitempty"`
	ToolChoice    any            `json:"tool_choice,omitempty"`
	Parallel      *bool          `json:"parallel_tool_calls,omitempty"`
	Format        any            `json:"response_format,omitempty"`
	User          string         `json:"user,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatMessage struct {
	Role    string     `json:"role"`
	Content any        `json:"content"` // as [content.value] returns it
	Calls   []chatCall `json:"tool_calls,omitempty"`
	CallID  string     `json:"tool_call_id,omitempty"`
}

type chatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func newCall(id, name, arguments string) chatCall {
	return chatCall{id, "function", functionCall{name, arguments}}
}

type chatTool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
}

// choose has the model call one tool.
func (r *chatRequest) choose(name string) error {
	if !slices.ContainsFunc(r.Tools, func(t chatTool) bool { return t.Function.Name == name }) {
		return refuse("tool_choice", "the tool %q", name)
	}
	type named struct {
		Name string `json:"name"`
	}
	r.ToolChoice = struct {
		Type     string `json:"type"`
		Function named  `json:"function"`
	}{"function", named{name}}
	return nil
}

// schemaFormat is a response_format that wants JSON of a schema.
func schemaFormat(name string, schema json.RawMessage, strict *bool) any {
	type jsonSchema struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
		Strict *bool           `json:"strict,omitempty"`
	}
	return struct {
		Type   string     `json:"type"`
		Schema jsonSchema `json:"json_schema"`
	}{"json_schema", jsonSchema{name, schema, strict}}
}

// addSystem adds a system message. Those at the front become one: many chat templates
// take no second one.
func (r *chatRequest) addSystem(text string) {
	switch {
	case text == "":
	case len(r.Messages) == 1 && r.Messages[0].Role == "system":
		r.Messages[0].Content = r.Messages[0].Content.(string) + "\n\n" + text
	default:
		r.Messages = append(r.Messages, chatMessage{Role: "system", Content: text})
	}
}

// addUser adds a user message, unless it would be empty.
func (r *chatRequest) addUser(c content) {
	if len(c) > 0 {
		r.Messages = append(r.Messages, chatMessage{Role: "user", Content: c.value()})
	}
}

// addAssistant adds what the model said and called, unless that is nothing.
func (r *chatRequest) addAssistant(c content, calls []chatCall) {
	if len(c) > 0 || len(calls) > 0 {
		r.Messages = append(r.Messages, chatMessage{Role: "assistant", Content: c.value(), Calls: calls})
	}
}

// addResult adds what a tool returned. Pictures cannot stand in such a message; they are
// returned, for the user message that follows.
func (r *chatRequest) addResult(callID string, c content) (pictures content) {
	r.Messages = append(r.Messages, chatMessage{Role: "tool", Content: c.text(), CallID: callID})
	return slices.DeleteFunc(slices.Clone(c), func(p part) bool { return p.Image == nil })
}

// content is what a message says.
type content []part

type part struct {
	Type  string    `json:"type"`
	Text  string    `json:"text,omitempty"`
	Image *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL    string `json:"url"`
	Detail string `json:"detail,omitempty"`
}

// say adds a text; an empty one is refused by many servers.
func (c *content) say(text string) {
	if text != "" {
		*c = append(*c, part{Type: "text", Text: text})
	}
}

func (c *content) show(url, detail string) {
	*c = append(*c, part{Type: "image_url", Image: &imageURL{url, detail}})
}

// text returns the texts, a paragraph each.
func (c content) text() string {
	var texts []string
	for _, p := range c {
		if p.Image == nil {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// value returns the content of a message: one text where there are no pictures, since not
// every chat template takes parts, and nil for nothing.
func (c content) value() any {
	switch {
	case len(c) == 0:
		return nil
	case slices.ContainsFunc(c, func(p part) bool { return p.Image != nil }):
		return []part(c)
	}
	return c.text()
}

// providerTools begin the types of tools that a provider runs on its own servers. A
// model does without them.
var providerTools = []string{"web_search", "web_fetch", "code_execution", "code_interpreter", "file_search", "image_generation", "mcp", "tool_search"}

func isProviderTool(kind string) bool {
	return slices.ContainsFunc(providerTools, func(p string) bool { return strings.HasPrefix(kind, p) })
}

// refuse says that something in a request cannot be translated.
func refuse(where, what string, args ...any) error {
	return memory.Errorf(memory.Invalid, "%s: %s cannot be sent to an upstream that has only chat completions", where, fmt.Sprintf(what, args...))
}

// decode reads part of a request; where names it in errors.
func decode(raw []byte, where string, to any) error {
	if err := json.Unmarshal(raw, to); err != nil {
		if where != "" {
			where += ": "
		}
		return memory.Errorf(memory.Invalid, "%s%v", where, err)
	}
	return nil
}

// isText reports whether a JSON value is a string.
func isText(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }

// isNothing reports whether a JSON value is absent or null.
func isNothing(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
