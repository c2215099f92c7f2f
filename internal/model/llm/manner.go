package llm

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// requestForm is the form of a request that a model's server accepts. The zero requestForm uses all features;
// each refused feature is switched off.
type requestForm struct {
	schemaInPrompt bool // the prompt contains the schema; response_format is not sent
	noTemperature  bool // the request sets no temperature, which reasoning models refuse
	unstreamed     bool // the response is not streamed, since some accounts are not allowed to stream
}

// request is the body of a chat completion request.
type request struct {
	Model          string    `json:"model"`
	Messages       []message `json:"messages"`
	Stream         bool      `json:"stream"`
	StreamOptions  any       `json:"stream_options,omitempty"`
	Temperature    *float64  `json:"temperature,omitempty"`
	ResponseFormat any       `json:"response_format,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type responseFormat struct {
	Type   string     `json:"type"`
	Schema jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

// schemaIntro precedes the schema in the prompt if the server does not support response_format.
const schemaIntro = "Answer with one JSON value and nothing else. It must match this JSON schema:\n"

func (m requestForm) buildRequest(p memory.Prompt) request {
	r := request{Model: p.Model, Stream: !m.unstreamed}
	if r.Stream {
		r.StreamOptions = map[string]bool{"include_usage": true}
	}
	if !m.noTemperature {
		r.Temperature = &p.Temperature
	}
	system := p.System
	if p.Schema != nil {
		if m.schemaInPrompt {
			system = strings.TrimSpace(system + "\n\n" + schemaIntro + string(p.Schema))
		} else {
			r.ResponseFormat = responseFormat{Type: "json_schema", Schema: jsonSchema{schemaName(p.Name), true, p.Schema}}
		}
	}
	if system != "" {
		r.Messages = append(r.Messages, message{string(memory.RoleSystem), system})
	}
	r.Messages = append(r.Messages, message{string(memory.RoleUser), p.User})
	return r
}

// schemaName converts a prompt's name to a valid schema name: at most 64 letters, digits, _ and -.
func schemaName(prompt string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, prompt)
	if name == "" {
		return "answer"
	}
	return name[:min(len(name), 64)]
}

// nextForm returns the form for another attempt, without a feature that the server refused, or false if no
// other form may succeed. A server may also ignore the schema: callers must validate the reply.
func (m requestForm) nextForm(p memory.Prompt, err error) (requestForm, bool) {
	f := failureIn(err)
	if f == nil {
		return m, false
	}
	rejected := f.status == http.StatusBadRequest || f.status == http.StatusUnprocessableEntity || f.status == http.StatusNotImplemented
	switch {
	case rejected && !m.unstreamed && strings.Contains(f.text, "stream"):
		m.unstreamed = true
	case rejected && !m.noTemperature && strings.Contains(f.text, "temperature"):
		m.noTemperature = true
	case (rejected || f.status == http.StatusInternalServerError) && p.Schema != nil && !m.schemaInPrompt:
		m.schemaInPrompt = true
	default:
		return m, false
	}
	return m, true
}
