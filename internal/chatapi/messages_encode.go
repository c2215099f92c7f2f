package chatapi

import (
	"time"

	"github.com/loci-memory/loci/memory"
)

type messagesAnswer struct {
	ID         string        `json:"id"`
	Type       string        `json:"type"`
	Role       memory.Role   `json:"role"`
	Model      string        `json:"model"`
	Content    []textBlock   `json:"content"`
	StopReason *string       `json:"stop_reason"`
	StopWord   *string       `json:"stop_sequence"`
	Usage      messagesUsage `json:"usage"`
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type messagesUsage struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
}

func beginAnswer(a Answer) messagesAnswer {
	return messagesAnswer{
		ID: a.ID, Type: "message", Role: memory.RoleAssistant, Model: a.Model,
		Content: []textBlock{}, Usage: messagesUsage{Input: a.InputTokens},
	}
}

func stopReason(a Answer) *string {
	reason := a.Finish
	if reason == "" || reason == "stop" {
		reason = "end_turn"
	}
	return &reason
}

func encodeMessagesAnswer(a Answer, _ time.Time) []byte {
	m := beginAnswer(a)
	m.StopReason, m.Usage.Output = stopReason(a), a.OutputTokens
	m.Content = append(m.Content, textBlock{"text", a.Text})
	return mustEncode(m)
}

// blockEvent is an event about the only block of an answer that Loci makes.
type blockEvent struct {
	Type  string     `json:"type"`
	Index int        `json:"index"`
	Block *textBlock `json:"content_block,omitempty"`
	Delta *textBlock `json:"delta,omitempty"`
}

func encodeMessagesPiece(a Answer, _ time.Time, text string, n int) []byte {
	var out []byte
	if n == 0 {
		out = EncodeEvent("message_start", struct {
			Type    string         `json:"type"`
			Message messagesAnswer `json:"message"`
		}{"message_start", beginAnswer(a)})
		out = append(out, EncodeEvent("content_block_start", blockEvent{Type: "content_block_start", Block: &textBlock{Type: "text"}})...)
	}
	return append(out, EncodeEvent("content_block_delta", blockEvent{Type: "content_block_delta", Delta: &textBlock{"text_delta", text}})...)
}

func encodeMessagesEnd(a Answer, _ time.Time, _ int) []byte {
	type delta struct {
		StopReason *string `json:"stop_reason"`
		StopWord   *string `json:"stop_sequence"`
	}
	type usage struct {
		Output int `json:"output_tokens"`
	}
	out := EncodeEvent("content_block_stop", blockEvent{Type: "content_block_stop"})
	out = append(out, EncodeEvent("message_delta", struct {
		Type  string `json:"type"`
		Delta delta  `json:"delta"`
		Usage usage  `json:"usage"`
	}{"message_delta", delta{StopReason: stopReason(a)}, usage{a.OutputTokens}})...)
	return append(out, EncodeEvent("message_stop", struct {
		Type string `json:"type"`
	}{"message_stop"})...)
}

// EncodeEvent writes an event that has a name.
func EncodeEvent(name string, v any) []byte {
	return append([]byte("event: "+name+"\n"), event(v)...)
}

// messagesErrors are the kinds of errors by status; what is not here is the request's
// fault or, from 500 on, the server's.
var messagesErrors = map[int]string{
	401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error",
}

func encodeMessagesError(status int, _, message, request string) []byte {
	kind := messagesErrors[status]
	switch {
	case kind != "":
	case status >= 500:
		kind = "api_error"
	default:
		kind = "invalid_request_error"
	}
	type detail struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	return mustEncode(struct {
		Type    string `json:"type"`
		Error   detail `json:"error"`
		Request string `json:"request_id,omitempty"`
	}{"error", detail{kind, message}, request})
}
