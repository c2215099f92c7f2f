package translate

import (
	"encoding/json"

	"github.com/loci-memory/loci/internal/chatapi"
)

type messagesWriter struct{ id, model string }

func (w *messagesWriter) callIDPrefix() string { return w.id }

type messagesAnswer struct {
	ID      string        `json:"id"`
	Type    string        `json:"type"`
	Role    string        `json:"role"`
	Model   string        `json:"model"`
	Content []answerBlock `json:"content"`
	stopReason
	Usage messagesUsage `json:"usage"`
}

// answerBlock is a text or a call. Text is "" and Input is {} in the event that begins a block.
type answerBlock struct {
	Type  string          `json:"type"`
	Text  *string         `json:"text,omitempty"`
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
}

type stopReason struct {
	Reason       *string `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
}

type messagesUsage struct {
	InputTokens         float64 `json:"input_tokens"`
	CacheCreationTokens float64 `json:"cache_creation_input_tokens"`
	CacheReadTokens     float64 `json:"cache_read_input_tokens"`
	OutputTokens        float64 `json:"output_tokens"`
}

func (w *messagesWriter) usageOf(a *answer) messagesUsage {
	cached := min(a.usage.InputDetails.CachedTokens, a.usage.InputTokens)
	return messagesUsage{InputTokens: a.usage.InputTokens - cached, CacheReadTokens: cached, OutputTokens: a.usage.OutputTokens}
}

func (w *messagesWriter) emptyAnswer(a *answer) messagesAnswer {
	m := messagesAnswer{ID: w.id, Type: "message", Role: "assistant", Model: w.model, Content: []answerBlock{}, Usage: w.usageOf(a)}
	if a.model != "" {
		m.Model = a.model
	}
	return m
}

// stopReasonOf returns the reason why an answer ended: tool_use for an answer with calls, even if the server's
// finish_reason is "stop".
func stopReasonOf(a *answer) stopReason {
	reason, s := "end_turn", stopReason{}
	switch {
	case a.finishReason == "length":
		reason = "max_tokens"
	case a.finishReason == "content_filter":
		reason = "refusal"
	case a.hasCalls():
		reason = "tool_use"
	case a.stopSequence != "":
		reason, s.StopSequence = "stop_sequence", &a.stopSequence
	}
	s.Reason = &reason
	return s
}

func (w *messagesWriter) blockOf(b *outputBlock, text string) answerBlock {
	if !b.isCall {
		return answerBlock{Type: "text", Text: &text}
	}
	input := json.RawMessage(text)
	if len(input) == 0 || input[0] != '{' || !json.Valid(input) { // the arguments are truncated or invalid
		input = json.RawMessage("{}")
	}
	return answerBlock{Type: "tool_use", ID: b.id, Name: b.name, Input: input}
}

func (w *messagesWriter) completeAnswer(a *answer) any {
	m := w.emptyAnswer(a)
	m.stopReason = stopReasonOf(a)
	for _, b := range a.blocks {
		m.Content = append(m.Content, w.blockOf(b, b.text.String()))
	}
	return m
}

type messagesEvent struct {
	Type         string          `json:"type"`
	Index        *int            `json:"index,omitempty"`
	Message      *messagesAnswer `json:"message,omitempty"`
	ContentBlock *answerBlock    `json:"content_block,omitempty"`
	Delta        any             `json:"delta,omitempty"` // a blockDelta, or a stopReason for the whole message
	Usage        *messagesUsage  `json:"usage,omitempty"`
}

type blockDelta struct {
	Type        string  `json:"type"`
	Text        *string `json:"text,omitempty"`
	PartialJSON *string `json:"partial_json,omitempty"`
}

func (e messagesEvent) encode() []byte { return chatapi.EncodeEvent(e.Type, e) }

func (w *messagesWriter) startStream(a *answer) []byte {
	return messagesEvent{Type: "message_start", Message: new(w.emptyAnswer(a))}.encode()
}

func (w *messagesWriter) beginBlock(n int, b *outputBlock) []byte {
	return messagesEvent{Type: "content_block_start", Index: &n, ContentBlock: new(w.blockOf(b, ""))}.encode()
}

func (w *messagesWriter) addText(n int, b *outputBlock, text string) []byte {
	d := blockDelta{Type: "text_delta", Text: &text}
	if b.isCall {
		d = blockDelta{Type: "input_json_delta", PartialJSON: &text}
	}
	return messagesEvent{Type: "content_block_delta", Index: &n, Delta: d}.encode()
}

func (w *messagesWriter) endBlock(n int, _ *outputBlock) []byte {
	return messagesEvent{Type: "content_block_stop", Index: &n}.encode()
}

func (w *messagesWriter) closeStream(a *answer) []byte {
	out := messagesEvent{Type: "message_delta", Delta: stopReasonOf(a), Usage: new(w.usageOf(a))}.encode()
	return append(out, messagesEvent{Type: "message_stop"}.encode()...)
}

func (w *messagesWriter) endWithError(message string) []byte {
	return chatapi.EncodeEvent("error", json.RawMessage(chatapi.Messages.EncodeError(502, "", message, "")))
}
