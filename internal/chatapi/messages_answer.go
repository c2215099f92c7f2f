package chatapi

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/loci-memory/loci/memory"
)

func readMessagesAnswer(root gjson.Result, a *Answer) error {
	content := root.Get("content")
	if !root.IsObject() || !content.IsArray() {
		return memory.Errorf(memory.Invalid, "content is missing")
	}
	var b messageContent
	b.read(content, func(Message) {})
	a.Text, a.ToolCalls, a.FinishReason = strings.Join(b.texts, "\n"), encodeCalls(b.calls), stringOf(root.Get("stop_reason"))
	return nil
}

func (s *Stream) readMessagesEvent(root gjson.Result) {
	switch index := root.Get("index"); stringOf(root.Get("type")) {
	case "message_start":
		s.answer.readMetadata(root.Get("message"))
	case "content_block_start":
		s.beginBlock(index, root.Get("content_block"))
	case "content_block_delta":
		s.addToBlock(index, root.Get("delta"))
	case "content_block_stop":
		if c := s.callAt(index); c != nil {
			if c.ready = true; c.arguments.Len() == 0 {
				s.appendText(&c.arguments, "{}") // clients resend a call without arguments as a call with an empty object
			}
		}
	case "message_delta":
		s.answer.readMetadata(root)
		if reason := stringOf(root.Get("delta.stop_reason")); reason != "" {
			s.answer.FinishReason = reason
		}
	case "message_stop":
		s.done = true
	}
}

func (s *Stream) beginBlock(index, block gjson.Result) {
	switch stringOf(block.Get("type")) {
	case "text":
		s.endLine()
		s.appendText(&s.text, stringOf(block.Get("text")))
	case "tool_use":
		c := s.findOrAddCall(index, stringOf(block.Get("id")))
		if c == nil {
			return
		}
		c.name = stringOf(block.Get("name"))
		if input := block.Get("input"); input.IsObject() && len(input.Map()) > 0 { // some servers send the complete input
			s.appendText(&c.arguments, input.Raw)
		}
	}
}

func (s *Stream) addToBlock(index, delta gjson.Result) {
	switch stringOf(delta.Get("type")) {
	case "text_delta":
		s.appendText(&s.text, stringOf(delta.Get("text")))
	case "input_json_delta":
		if c := s.callAt(index); c != nil {
			s.appendText(&c.arguments, stringOf(delta.Get("partial_json")))
		}
	}
}

// endLine ends the line before the text of another part of the answer.
func (s *Stream) endLine() {
	if s.text.Len() > 0 {
		s.appendText(&s.text, "\n")
	}
}

// callAt returns the call with an index, nil if there is none.
func (s *Stream) callAt(index gjson.Result) *streamCall {
	i := slices.IndexFunc(s.calls, func(c *streamCall) bool { return index.Type == gjson.Number && c.index == index.Int() })
	if i < 0 {
		return nil
	}
	return s.calls[i]
}

// isMessagesEnd reports whether an event is the last event of a stream of the Messages API.
func isMessagesEnd(event []byte) bool {
	kind := eventType(event)
	return kind == "message_stop" || kind == "error"
}

// errorTypesByStatus are the API's error types by HTTP status. For any other status encodeMessagesError writes
// a general type.
var errorTypesByStatus = map[int]string{
	401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error",
}

func encodeMessagesError(status int, _, message, requestID string) []byte {
	kind := errorTypesByStatus[status]
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
	}{"error", detail{kind, message}, requestID})
}
