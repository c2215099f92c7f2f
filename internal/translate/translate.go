// Package translate lets clients of Anthropic's Messages API and of OpenAI's Responses API use a server that
// has only chat completions. It translates their requests to chat completions, and the answers and event
// streams back to their dialect. It does not depend on HTTP or on memory.
//
// Untranslatable fields that are only hints for the model or concern the provider's own servers are omitted:
// thinking, cache breakpoints, metadata, and tools that the provider runs. A request with any other
// untranslatable content is refused with [memory.Invalid] and the name of its field.
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

// Exchange is a translated request with the data needed to translate its answer.
type Exchange struct {
	Body []byte // request of chat completions; nil from [NewAnswer]

	newWriter func() writer
	request   chatRequest
}

// translator translates requests and answers of a dialect.
type translator struct {
	readRequest func(c *Exchange, body []byte, id string, created time.Time) error
	newWriter   func(a chatapi.Answer, created time.Time) writer // returns the writer for an answer of the built-in model
}

var translators = map[*chatapi.Dialect]translator{
	chatapi.Messages: {readMessages, func(a chatapi.Answer, _ time.Time) writer { return &messagesWriter{a.ID, a.Model} }},
	chatapi.Responses: {readResponses, func(a chatapi.Answer, created time.Time) writer {
		return newResponsesWriter(responsesRequest{Model: a.Model}, nil, a.ID, created)
	}},
}

// CanTranslate reports whether a dialect can be translated. [New] and [NewAnswer] accept no other dialects.
func CanTranslate(d *chatapi.Dialect) bool { return translators[d].readRequest != nil }

// New translates a request in a dialect. id (without prefix) and created are those of the future answer.
func New(d *chatapi.Dialect, body []byte, id string, created time.Time) (*Exchange, error) {
	c := &Exchange{}
	if err := translators[d].readRequest(c, body, d.AnswerIDPrefix+id, created); err != nil {
		return nil, err
	}
	if c.request.Stream {
		c.request.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	var err error
	c.Body, err = chatapi.Encode(c.request)
	return c, err
}

// NewAnswer returns an Exchange without a request, to translate an answer of the built-in model to a dialect.
func NewAnswer(d *chatapi.Dialect, a chatapi.Answer, created time.Time) *Exchange {
	return &Exchange{newWriter: func() writer { return translators[d].newWriter(a, created) }}
}

// WithCompletionLimit returns the translated request for OpenAI's newer models, with max_completion_tokens
// instead of max_tokens.
func (c *Exchange) WithCompletionLimit() ([]byte, error) {
	r := c.request
	r.MaxCompletionTokens, r.MaxTokens = r.MaxTokens, nil
	return chatapi.Encode(r)
}

// chatRequest is a request of chat completions.
type chatRequest struct {
	Model               string         `json:"model"`
	Messages            []chatMessage  `json:"messages"`
	Stream              bool           `json:"stream,omitempty"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
	MaxTokens           *float64       `json:"max_tokens,omitempty"`
	MaxCompletionTokens *float64       `json:"max_completion_tokens,omitempty"`
	Stop                []string       `json:"stop,omitempty"`
	Temperature         *float64       `json:"temperature,omitempty"`
	TopP                *float64       `json:"top_p,omitempty"`
	Tools               []chatTool     `json:"tools,omitempty"`
	ToolChoice          any            `json:"tool_choice,omitempty"`
	ParallelToolCalls   *bool          `json:"parallel_tool_calls,omitempty"`
	ResponseFormat      any            `json:"response_format,omitempty"`
	User                string         `json:"user,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatMessage struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"` // result of [content.value]
	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
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

// requireTool requires the model to call the tool with this name.
func (r *chatRequest) requireTool(name string) error {
	if !slices.ContainsFunc(r.Tools, func(t chatTool) bool { return t.Function.Name == name }) {
		return untranslatableError("tool_choice", "the tool %q", name)
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

// schemaFormat returns a response_format that requires JSON according to a schema.
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

// addSystem adds a system message. It merges system messages at the beginning of the request, because many
// chat templates accept only one.
func (r *chatRequest) addSystem(text string) {
	switch {
	case text == "":
	case len(r.Messages) == 1 && r.Messages[0].Role == "system":
		r.Messages[0].Content = r.Messages[0].Content.(string) + "\n\n" + text
	default:
		r.Messages = append(r.Messages, chatMessage{Role: "system", Content: text})
	}
}

func (r *chatRequest) addUser(c content) {
	if len(c) > 0 {
		r.Messages = append(r.Messages, chatMessage{Role: "user", Content: c.value()})
	}
}

// addAssistant adds the model's text and calls, unless both are empty.
func (r *chatRequest) addAssistant(c content, calls []chatCall) {
	if len(c) > 0 || len(calls) > 0 {
		r.Messages = append(r.Messages, chatMessage{Role: "assistant", Content: c.value(), ToolCalls: calls})
	}
}

// addToolResult adds a message with a tool's result. It returns the result's images, which belong in the next
// user message, because tool messages cannot have images.
func (r *chatRequest) addToolResult(callID string, c content) (images content) {
	r.Messages = append(r.Messages, chatMessage{Role: "tool", Content: c.text(), ToolCallID: callID})
	return slices.DeleteFunc(slices.Clone(c), func(p part) bool { return p.Image == nil })
}

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

// addText adds a text, unless it is empty: many servers refuse empty texts.
func (c *content) addText(text string) {
	if text != "" {
		*c = append(*c, part{Type: "text", Text: text})
	}
}

func (c *content) addImage(url, detail string) {
	*c = append(*c, part{Type: "image_url", Image: &imageURL{url, detail}})
}

// text returns the texts of the parts, separated by empty lines.
func (c content) text() string {
	var texts []string
	for _, p := range c {
		if p.Image == nil {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// value returns the content for a message: nil if empty, a list of parts if there is an image, and otherwise
// one text, because some chat templates do not accept parts.
func (c content) value() any {
	switch {
	case len(c) == 0:
		return nil
	case slices.ContainsFunc(c, func(p part) bool { return p.Image != nil }):
		return []part(c)
	}
	return c.text()
}

// providerTools are name prefixes of tools that a provider runs on its own servers. Translated requests omit
// these tools.
var providerTools = []string{"web_search", "web_fetch", "code_execution", "code_interpreter", "file_search", "image_generation", "mcp", "tool_search"}

func isProviderTool(kind string) bool {
	return slices.ContainsFunc(providerTools, func(p string) bool { return strings.HasPrefix(kind, p) })
}

// untranslatableError returns the error for a part of a request that cannot be translated; path is its position.
func untranslatableError(path, format string, args ...any) error {
	return memory.Errorf(memory.Invalid, "%s: %s cannot be sent to an upstream that has only chat completions", path, fmt.Sprintf(format, args...))
}

// decode parses a part of a request into target. path is the part's position in the request, for errors.
func decode(raw []byte, path string, target any) error {
	if err := json.Unmarshal(raw, target); err != nil {
		if path != "" {
			path += ": "
		}
		return memory.Errorf(memory.Invalid, "%s%v", path, err)
	}
	return nil
}

func isString(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }

func isAbsentOrNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
