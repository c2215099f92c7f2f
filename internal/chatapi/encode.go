package chatapi

import (
	"cmp"
	"time"

	"github.com/tidwall/gjson"

	"github.com/loci-memory/loci/memory"
)

// StreamEnd is the last event of a stream of chat completions.
const StreamEnd = "data: [DONE]\n\n"

type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index   int      `json:"index"`
	Message *message `json:"message,omitempty"`
	Delta   *message `json:"delta,omitempty"`
	Finish  *string  `json:"finish_reason"`
}

type message struct {
	Role    memory.Role `json:"role,omitempty"`
	Content *string     `json:"content,omitempty"`
}

type usage struct {
	InputTokens  int `json:"prompt_tokens"`
	OutputTokens int `json:"completion_tokens"`
	TotalTokens  int `json:"total_tokens"`
}

// EncodeAnswer encodes a chat completion with a.Text.
func EncodeAnswer(a Answer, created time.Time) []byte {
	return mustEncode(completion{
		ID: a.ID, Object: "chat.completion", Created: created.Unix(), Model: a.Model,
		Choices: []choice{{Message: &message{memory.RoleAssistant, &a.Text}, Finish: finishReason(a)}},
		Usage:   usageOf(a),
	})
}

// EncodeChunk encodes the event that adds text to a streamed answer and, if first is true, sets the role.
func EncodeChunk(a Answer, created time.Time, text string, first bool) []byte {
	delta := &message{Content: &text}
	if first {
		delta.Role = memory.RoleAssistant
	}
	return encodeChunk(a, created, nil, choice{Delta: delta})
}

// EncodeEnd encodes the last events of a stream: the finish reason, the usage if requested, and [StreamEnd].
func EncodeEnd(a Answer, created time.Time) []byte {
	out := encodeChunk(a, created, nil, choice{Delta: &message{}, Finish: finishReason(a)})
	if a.ReportUsage {
		out = append(out, encodeChunk(a, created, usageOf(a))...)
	}
	return append(out, StreamEnd...)
}

// chunkWithUsage is a chunk for a client that requested usage. Usage is null in all chunks except the last.
type chunkWithUsage struct {
	completion
	Usage *usage `json:"usage"`
}

func encodeChunk(a Answer, created time.Time, tokens *usage, choices ...choice) []byte {
	c := emptyChunk(a, created)
	c.Choices = append(c.Choices, choices...)
	if a.ReportUsage {
		return encodeDataEvent(chunkWithUsage{c, tokens})
	}
	return encodeDataEvent(c)
}

func emptyChunk(a Answer, created time.Time) completion {
	return completion{ID: a.ID, Object: "chat.completion.chunk", Created: created.Unix(), Model: a.Model, Choices: []choice{}}
}

func usageOf(a Answer) *usage {
	return &usage{a.InputTokens, a.OutputTokens, a.InputTokens + a.OutputTokens}
}

func finishReason(a Answer) *string { return new(cmp.Or(a.FinishReason, "stop")) }

func encodeDataEvent(v any) []byte {
	return append(append([]byte("data: "), mustEncode(v)...), "\n\n"...)
}

// EncodeEvent encodes an event of a stream with a name and v as its data.
func EncodeEvent(name string, v any) []byte {
	return append([]byte("event: "+name+"\n"), encodeDataEvent(v)...)
}

// Model is an entry of a list of models.
type Model struct {
	ID      string
	OwnedBy string
	Created time.Time
}

type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// EncodeModel encodes one model.
func EncodeModel(m Model) []byte { return mustEncode(modelEntries([]Model{m})[0]) }

// EncodeModels encodes a list of models.
func EncodeModels(models ...Model) []byte {
	return mustEncode(struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{"list", modelEntries(models)})
}

// AddModels appends models to body, an upstream's list of models, and does not change any other byte. If body
// is not a list of models, it returns [memory.Invalid].
func AddModels(body []byte, models ...Model) ([]byte, error) {
	if err := validateBody(body); err != nil {
		return nil, err
	}
	data := gjson.ParseBytes(body).Get("data")
	if len(models) == 0 {
		return body, nil
	}
	if !data.IsArray() {
		return nil, memory.Errorf(memory.Invalid, "field data of the list of models must be an array")
	}
	text := string(mustEncode(modelEntries(models)))
	text = text[1 : len(text)-1]
	if data.Get("#").Int() > 0 {
		text = "," + text
	}
	return splice(body, insertion(spanOf(data).to-1, text)), nil
}

func modelEntries(models []Model) []model {
	out := []model{}
	for _, m := range models {
		out = append(out, model{m.ID, "model", m.Created.Unix(), m.OwnedBy})
	}
	return out
}

// apiError is an error in OpenAI's format.
type apiError struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	} `json:"error"`
}

func encodeOpenAIError(status int, code, message, _ string) []byte {
	var e apiError
	e.Error.Message, e.Error.Code, e.Error.Type = message, code, "invalid_request_error"
	if status >= 500 {
		e.Error.Type = "server_error"
	}
	return mustEncode(e)
}
