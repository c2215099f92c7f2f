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
	var b blocks
	b.read(content, func(Message) {})
	a.Text, a.ToolCalls, a.Finish = strings.Join(b.lines, "\n"), encodeCalls(b.calls), str(root.Get("stop_reason"))
	return nil
}

func (s *Stream) hearMessages(root gjson.Result) {
	switch index := root.Get("index"); str(root.Get("type")) {
	case "message_start":
		s.answer.readFrame(root.Get("message"))
	case "content_block_start":
		s.beginBlock(index, root.Get("content_block"))
	case "content_block_delta":
		s.addToBlock(index, root.Get("delta"))
	case "content_block_stop":
		if c := s.callAt(index); c != nil {
			if c.whole = true; c.arguments.Len() == 0 {
				s.add(&c.arguments, "{}") // clients resend a call without arguments as a call with an empty object
			}
		}
	case "message_delta":
		s.answer.readFrame(root)
		if reason := str(root.Get("delta.stop_reason")); reason != "" {
			s.answer.Finish = reason
		}
	case "message_stop":
		s.done = true
	}
}

func (s *Stream) beginBlock(index, block gjson.Result) {
	switch str(block.Get("type")) {
	case "text":
		s.newLine()
		s.add(&s.text, str(block.Get("text")))
	case "tool_use":
		c := s.call(index, str(block.Get("id")))
		if c == nil {
			return
		}
		c.name = str(block.Get("name"))
		if input := block.Get("input"); input.IsObject() && len(input.Map()) > 0 { // some servers send the complete input
			s.add(&c.arguments, input.Raw)
		}
	}
}

func (s *Stream) addToBlock(index, delta gjson.Result) {
	switch str(delta.Get("type")) {
	case "text_delta":
		s.add(&s.text, str(delta.Get("text")))
	case "input_json_delta":
		if c := s.callAt(index); c != nil {
			s.add(&c.arguments, str(delta.Get("partial_json")))
		}
	}
}

// newLine separates the texts of two parts of an answer.
func (s *Stream) newLine() {
	if s.text.Len() > 0 {
		s.add(&s.text, "\n")
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
func endsMessages(event []byte) bool {
	kind := kindOf(event)
	return kind == "message_stop" || kind == "error"
}

// errorTypesByStatus are the error types by status. Any other status is a client error, or a server error if it
// is 500 or above.
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
