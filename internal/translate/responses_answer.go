package translate

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
)

type responsesWriter struct {
	response response
	names    map[string]toolName // functions in namespaces by their flat names
	id       string              // id of the answer without its prefix
	number   int                 // number of the next event
}

// response is an answer that repeats the request's parameters, as clients expect.
type response struct {
	ID           string          `json:"id"`
	Object       string          `json:"object"`
	CreatedAt    int64           `json:"created_at"`
	Status       string          `json:"status"`
	Error        *string         `json:"error"`
	Why          *incomplete     `json:"incomplete_details"`
	Instructions *string         `json:"instructions"`
	MaxTokens    *float64        `json:"max_output_tokens"`
	Metadata     json.RawMessage `json:"metadata"`
	Model        string          `json:"model"`
	Output       []outputItem    `json:"output"`
	Parallel     bool            `json:"parallel_tool_calls"`
	Previous     *string         `json:"previous_response_id"`
	Temperature  *float64        `json:"temperature"`
	ToolChoice   json.RawMessage `json:"tool_choice"`
	Tools        json.RawMessage `json:"tools"`
	TopP         *float64        `json:"top_p"`
	Store        bool            `json:"store"`
	Usage        *responseUsage  `json:"usage"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

type outputItem struct {
	ID        string        `json:"id"`
	Type      string        `json:"type"`
	Status    string        `json:"status"`
	Role      string        `json:"role,omitempty"`
	Content   *[]outputText `json:"content,omitempty"`
	CallID    string        `json:"call_id,omitempty"`
	Name      string        `json:"name,omitempty"`
	Namespace string        `json:"namespace,omitempty"`
	Arguments *string       `json:"arguments,omitempty"`
}

type outputText struct {
	Type        string   `json:"type"`
	Text        string   `json:"text"`
	Annotations []string `json:"annotations"`
	Logprobs    []string `json:"logprobs"`
}

type responseUsage struct {
	Input       float64 `json:"input_tokens"`
	InputDetail struct {
		Cached float64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Output       float64 `json:"output_tokens"`
	OutputDetail struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total float64 `json:"total_tokens"`
}

func newResponsesWriter(in responsesRequest, names map[string]toolName, id string, created time.Time) *responsesWriter {
	r := response{
		ID: id, Object: "response", CreatedAt: created.Unix(), Status: "in_progress", MaxTokens: in.MaxTokens, Metadata: orDefault(in.Metadata, "{}"), Model: in.Model,
		Output: []outputItem{}, Parallel: in.Parallel == nil || *in.Parallel, Temperature: in.Temperature, ToolChoice: orDefault(in.ToolChoice, `"auto"`),
		Tools: orDefault(in.Tools, "[]"), TopP: in.TopP,
	}
	if in.Instructions != "" {
		r.Instructions = &in.Instructions
	}
	return &responsesWriter{response: r, names: names, id: strings.TrimPrefix(id, chatapi.Responses.AnswerID)}
}

// orDefault returns raw, or fallback if raw is absent or null.
func orDefault(raw json.RawMessage, other string) json.RawMessage {
	if isNothing(raw) {
		return json.RawMessage(other)
	}
	return raw
}

func (w *responsesWriter) callID() string { return w.id }

// item returns the n-th item of the answer with the given text and status.
func (w *responsesWriter) item(n int, b *outputBlock, status, text string) outputItem {
	if b.isCall {
		name := w.nameOf(b)
		return outputItem{ID: w.itemID(n, b), Type: "function_call", Status: status, CallID: b.id, Name: name.name, Namespace: name.namespace, Arguments: &text}
	}
	parts := []outputText{}
	if text != "" {
		parts = append(parts, textPart(text))
	}
	return outputItem{ID: w.itemID(n, b), Type: "message", Status: status, Role: "assistant", Content: &parts}
}

// nameOf returns the client's name of a called function.
func (w *responsesWriter) nameOf(b *outputBlock) toolName {
	if name, ok := w.names[b.name]; ok {
		return name
	}
	return toolName{"", b.name}
}

func (w *responsesWriter) itemID(n int, b *outputBlock) string {
	prefix := "msg_"
	if b.isCall {
		prefix = "fc_"
	}
	return prefix + w.id + "_" + strconv.Itoa(n)
}

func textPart(text string) outputText {
	return outputText{"output_text", text, []string{}, []string{}}
}

// textOrArguments returns the text of the block or, for a call, its arguments ("{}" if it has none).
func (b *outputBlock) argumentsOf() string {
	if b.isCall {
		return cmp.Or(b.text.String(), "{}")
	}
	return b.text.String()
}

func (w *responsesWriter) whole(a *answer) any {
	r := w.response
	r.Status = "completed"
	switch a.finish {
	case "length":
		r.Status, r.Why = "incomplete", &incomplete{"max_output_tokens"}
	case "content_filter":
		r.Status, r.Why = "incomplete", &incomplete{a.finish}
	}
	r.Model = cmp.Or(a.model, r.Model)
	r.Usage = &responseUsage{Input: a.usage.Input, InputDetail: a.usage.InputDetail, Output: a.usage.Output, OutputDetail: a.usage.OutputDetail, Total: a.usage.Input + a.usage.Output}
	for n, b := range a.blocks {
		r.Output = append(r.Output, w.item(n, b, "completed", b.argumentsOf()))
	}
	return r
}

type responseEvent struct {
	Type      string      `json:"type"`
	Number    int         `json:"sequence_number"`
	Response  any         `json:"response,omitempty"`
	ItemID    string      `json:"item_id,omitempty"`
	Index     *int        `json:"output_index,omitempty"`
	Place     *int        `json:"content_index,omitempty"`
	Item      *outputItem `json:"item,omitempty"`
	Part      *outputText `json:"part,omitempty"`
	Delta     *string     `json:"delta,omitempty"`
	Text      *string     `json:"text,omitempty"`
	Arguments *string     `json:"arguments,omitempty"`
	Logprobs  *[]string   `json:"logprobs,omitempty"`
	Name      string      `json:"name,omitempty"`
	Code      *string     `json:"code,omitempty"`
	Message   string      `json:"message,omitempty"`
}

// encodeEvents numbers and encodes events.
func (w *responsesWriter) events(events ...responseEvent) (out []byte) {
	for _, e := range events {
		e.Number = w.number
		w.number++
		out = append(out, chatapi.EncodeEvent(e.Type, e)...)
	}
	return out
}

func (w *responsesWriter) begin(a *answer) []byte {
	w.response.Model = cmp.Or(a.model, w.response.Model)
	return w.events(responseEvent{Type: "response.created", Response: w.response}, responseEvent{Type: "response.in_progress", Response: w.response})
}

func (w *responsesWriter) open(n int, b *outputBlock) []byte {
	item := w.item(n, b, "in_progress", "")
	out := w.events(responseEvent{Type: "response.output_item.added", Index: &n, Item: &item})
	if b.isCall {
		return out
	}
	return append(out, w.events(responseEvent{Type: "response.content_part.added", ItemID: item.ID, Index: &n, Place: new(int), Part: new(textPart(""))})...)
}

func (w *responsesWriter) piece(n int, b *outputBlock, text string) []byte {
	if b.isCall {
		return w.events(responseEvent{Type: "response.function_call_arguments.delta", ItemID: w.itemID(n, b), Index: &n, Delta: &text})
	}
	return w.events(responseEvent{Type: "response.output_text.delta", ItemID: w.itemID(n, b), Index: &n, Place: new(int), Delta: &text, Logprobs: &[]string{}})
}

func (w *responsesWriter) close(n int, b *outputBlock) []byte {
	text := b.argumentsOf()
	item := w.item(n, b, "completed", text)
	done := responseEvent{Type: "response.output_item.done", Index: &n, Item: &item}
	if b.isCall {
		return w.events(responseEvent{Type: "response.function_call_arguments.done", ItemID: item.ID, Index: &n, Name: w.nameOf(b).name, Arguments: &text}, done)
	}
	return w.events(
		responseEvent{Type: "response.output_text.done", ItemID: item.ID, Index: &n, Place: new(int), Text: &text, Logprobs: &[]string{}},
		responseEvent{Type: "response.content_part.done", ItemID: item.ID, Index: &n, Place: new(int), Part: new(textPart(text))},
		done,
	)
}

func (w *responsesWriter) end(a *answer) []byte {
	r := w.whole(a).(response)
	return w.events(responseEvent{Type: "response." + r.Status, Response: r})
}

func (w *responsesWriter) fail(message string) []byte {
	return w.events(responseEvent{Type: "error", Code: new("server_error"), Message: message})
}
