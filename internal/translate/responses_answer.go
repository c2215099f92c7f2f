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
	response        response
	namespacedTools map[string]toolName // names of the functions that are in namespaces, by [toolName.flatName]
	id              string              // id of the answer without its prefix
	nextEvent       int                 // number of the next event
}

// response is an answer. It repeats the request's parameters, as clients expect.
type response struct {
	ID                 string             `json:"id"`
	Object             string             `json:"object"`
	CreatedAt          int64              `json:"created_at"`
	Status             string             `json:"status"`
	Error              *string            `json:"error"`
	IncompleteDetails  *incompleteDetails `json:"incomplete_details"`
	Instructions       *string            `json:"instructions"`
	MaxTokens          *float64           `json:"max_output_tokens"`
	Metadata           json.RawMessage    `json:"metadata"`
	Model              string             `json:"model"`
	Output             []outputItem       `json:"output"`
	ParallelToolCalls  bool               `json:"parallel_tool_calls"`
	PreviousResponseID *string            `json:"previous_response_id"`
	Temperature        *float64           `json:"temperature"`
	ToolChoice         json.RawMessage    `json:"tool_choice"`
	Tools              json.RawMessage    `json:"tools"`
	TopP               *float64           `json:"top_p"`
	Store              bool               `json:"store"`
	Usage              *responseUsage     `json:"usage"`
}

type incompleteDetails struct {
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
	InputTokens  float64 `json:"input_tokens"`
	InputDetails struct {
		CachedTokens float64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputTokens  float64 `json:"output_tokens"`
	OutputDetails struct {
		ReasoningTokens float64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	TotalTokens float64 `json:"total_tokens"`
}

func newResponsesWriter(request responsesRequest, namespacedTools map[string]toolName, id string, created time.Time) *responsesWriter {
	r := response{
		ID: id, Object: "response", CreatedAt: created.Unix(), Status: "in_progress", MaxTokens: request.MaxTokens, Metadata: orDefault(request.Metadata, "{}"), Model: request.Model,
		Output: []outputItem{}, ParallelToolCalls: request.ParallelToolCalls == nil || *request.ParallelToolCalls, Temperature: request.Temperature, ToolChoice: orDefault(request.ToolChoice, `"auto"`),
		Tools: orDefault(request.Tools, "[]"), TopP: request.TopP,
	}
	if request.Instructions != "" {
		r.Instructions = &request.Instructions
	}
	return &responsesWriter{response: r, namespacedTools: namespacedTools, id: strings.TrimPrefix(id, chatapi.Responses.AnswerIDPrefix)}
}

// orDefault returns raw, or fallback if raw is absent or null.
func orDefault(raw json.RawMessage, fallback string) json.RawMessage {
	if isAbsentOrNull(raw) {
		return json.RawMessage(fallback)
	}
	return raw
}

func (w *responsesWriter) callIDPrefix() string { return w.id }

// item returns the n-th item of the answer with the given text and status.
func (w *responsesWriter) item(n int, b *outputBlock, status, text string) outputItem {
	if b.isCall {
		name := w.toolNameOf(b)
		return outputItem{ID: w.itemID(n, b), Type: "function_call", Status: status, CallID: b.id, Name: name.name, Namespace: name.namespace, Arguments: &text}
	}
	parts := []outputText{}
	if text != "" {
		parts = append(parts, textPart(text))
	}
	return outputItem{ID: w.itemID(n, b), Type: "message", Status: status, Role: "assistant", Content: &parts}
}

// toolNameOf returns the name by which the client knows a called function.
func (w *responsesWriter) toolNameOf(b *outputBlock) toolName {
	if name, ok := w.namespacedTools[b.name]; ok {
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
func (b *outputBlock) textOrArguments() string {
	if b.isCall {
		return cmp.Or(b.text.String(), "{}")
	}
	return b.text.String()
}

func (w *responsesWriter) completeAnswer(a *answer) any {
	r := w.response
	r.Status = "completed"
	switch a.finishReason {
	case "length":
		r.Status, r.IncompleteDetails = "incomplete", &incompleteDetails{"max_output_tokens"}
	case "content_filter":
		r.Status, r.IncompleteDetails = "incomplete", &incompleteDetails{a.finishReason}
	}
	r.Model = cmp.Or(a.model, r.Model)
	r.Usage = &responseUsage{InputTokens: a.usage.InputTokens, InputDetails: a.usage.InputDetails, OutputTokens: a.usage.OutputTokens, OutputDetails: a.usage.OutputDetails, TotalTokens: a.usage.InputTokens + a.usage.OutputTokens}
	for n, b := range a.blocks {
		r.Output = append(r.Output, w.item(n, b, "completed", b.textOrArguments()))
	}
	return r
}

type responseEvent struct {
	Type           string      `json:"type"`
	SequenceNumber int         `json:"sequence_number"`
	Response       any         `json:"response,omitempty"`
	ItemID         string      `json:"item_id,omitempty"`
	OutputIndex    *int        `json:"output_index,omitempty"`
	ContentIndex   *int        `json:"content_index,omitempty"`
	Item           *outputItem `json:"item,omitempty"`
	Part           *outputText `json:"part,omitempty"`
	Delta          *string     `json:"delta,omitempty"`
	Text           *string     `json:"text,omitempty"`
	Arguments      *string     `json:"arguments,omitempty"`
	Logprobs       *[]string   `json:"logprobs,omitempty"`
	Name           string      `json:"name,omitempty"`
	Code           *string     `json:"code,omitempty"`
	Message        string      `json:"message,omitempty"`
}

// encodeEvents sets the sequence numbers of events and encodes the events.
func (w *responsesWriter) encodeEvents(events ...responseEvent) (out []byte) {
	for _, e := range events {
		e.SequenceNumber = w.nextEvent
		w.nextEvent++
		out = append(out, chatapi.EncodeEvent(e.Type, e)...)
	}
	return out
}

func (w *responsesWriter) startStream(a *answer) []byte {
	w.response.Model = cmp.Or(a.model, w.response.Model)
	return w.encodeEvents(responseEvent{Type: "response.created", Response: w.response}, responseEvent{Type: "response.in_progress", Response: w.response})
}

func (w *responsesWriter) beginBlock(n int, b *outputBlock) []byte {
	item := w.item(n, b, "in_progress", "")
	out := w.encodeEvents(responseEvent{Type: "response.output_item.added", OutputIndex: &n, Item: &item})
	if b.isCall {
		return out
	}
	return append(out, w.encodeEvents(responseEvent{Type: "response.content_part.added", ItemID: item.ID, OutputIndex: &n, ContentIndex: new(int), Part: new(textPart(""))})...)
}

func (w *responsesWriter) addText(n int, b *outputBlock, text string) []byte {
	if b.isCall {
		return w.encodeEvents(responseEvent{Type: "response.function_call_arguments.delta", ItemID: w.itemID(n, b), OutputIndex: &n, Delta: &text})
	}
	return w.encodeEvents(responseEvent{Type: "response.output_text.delta", ItemID: w.itemID(n, b), OutputIndex: &n, ContentIndex: new(int), Delta: &text, Logprobs: &[]string{}})
}

func (w *responsesWriter) endBlock(n int, b *outputBlock) []byte {
	text := b.textOrArguments()
	item := w.item(n, b, "completed", text)
	done := responseEvent{Type: "response.output_item.done", OutputIndex: &n, Item: &item}
	if b.isCall {
		return w.encodeEvents(responseEvent{Type: "response.function_call_arguments.done", ItemID: item.ID, OutputIndex: &n, Name: w.toolNameOf(b).name, Arguments: &text}, done)
	}
	return w.encodeEvents(
		responseEvent{Type: "response.output_text.done", ItemID: item.ID, OutputIndex: &n, ContentIndex: new(int), Text: &text, Logprobs: &[]string{}},
		responseEvent{Type: "response.content_part.done", ItemID: item.ID, OutputIndex: &n, ContentIndex: new(int), Part: new(textPart(text))},
		done,
	)
}

func (w *responsesWriter) closeStream(a *answer) []byte {
	r := w.completeAnswer(a).(response)
	return w.encodeEvents(responseEvent{Type: "response." + r.Status, Response: r})
}

func (w *responsesWriter) endWithError(message string) []byte {
	return w.encodeEvents(responseEvent{Type: "error", Code: new("server_error"), Message: message})
}
