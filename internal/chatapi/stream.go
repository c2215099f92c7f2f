package chatapi

import (
	"cmp"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/loci-memory/loci/memory"
)

// Limits of a [Stream]. Data beyond a limit is dropped.
const (
	maxEventBytes  = 1 << 20 // maximum bytes of one event
	maxAnswerBytes = 8 << 20 // maximum bytes of texts and arguments
	maxCalls       = 256     // maximum number of tool calls
)

// Stream reads an answer from the pieces of a chat stream, which may have any size. It never fails: it skips
// invalid data and data beyond its limits.
type Stream struct {
	readEvent   func(s *Stream, event gjson.Result)
	events      Events
	done        bool
	answer      Answer
	text        strings.Builder
	refusal     strings.Builder
	calls       []*streamCall
	totalBytes  int
	lastPartKey string // in the Responses API: output index and content index of the last text
}

// streamCall is a tool call whose arguments arrive in pieces.
type streamCall struct {
	index     int64
	id, name  string
	arguments strings.Builder
	ready     bool // the call is complete, and [Stream.TakeCalls] has not returned it yet
}

// Write takes the next piece of the stream. It never fails.
func (s *Stream) Write(p []byte) (int, error) {
	s.events.Write(p, s.readData)
	return len(p), nil
}

// readData reads the data of an event.
func (s *Stream) readData(data []byte) {
	switch {
	case strings.TrimSpace(string(data)) == "[DONE]":
		s.done = true
	case validateBody(data) == nil:
		s.readEvent(s, gjson.ParseBytes(data))
	}
}

// Text returns the text of the events completed so far. Unlike [Stream.Answer], it may be called at any time.
func (s *Stream) Text() string { return s.text.String() }

// Done reports whether the stream declared the answer complete.
func (s *Stream) Done() bool { return s.done }

// Empty reports whether the answer has no text and no calls so far.
func (s *Stream) Empty() bool {
	return s.text.Len() == 0 && s.refusal.Len() == 0 && len(s.calls) == 0
}

// Answer returns the complete answer; call it at the end of the stream. It reads a last event even if the
// stream was truncated before the empty line that ends the event.
func (s *Stream) Answer() Answer {
	s.events.Flush(s.readData)
	a := s.answer
	a.Text = s.text.String()
	if a.Text == "" {
		a.Text = s.refusal.String()
	}
	if a.Role == "" {
		a.Role = memory.RoleAssistant
	}
	a.ToolCalls = s.toolCalls()
	a.Digest = Digest(a.Role, a.Text, a.ToolCalls, "")
	return a
}

// TakeCalls returns the tool calls completed since TakeCalls was last called, in the form of
// [Answer.ToolCalls]. It returns none for chat completions, which do not mark calls as complete.
func (s *Stream) TakeCalls() string {
	var calls []call
	for _, c := range s.calls {
		if c.ready {
			calls, c.ready = append(calls, call{c.id, c.name, c.arguments.String()}), false
		}
	}
	return encodeCalls(calls)
}

// readChoice reads the fields that events of [Completions] and [Legacy] share. It returns the choice with index
// 0; ok is false if the event is only for another choice.
func (s *Stream) readChoice(root gjson.Result) (choice gjson.Result, ok bool) {
	s.answer.readMetadata(root)
	choice = firstChoice(root)
	if index := choice.Get("index"); index.Type == gjson.Number && index.Num != 0 {
		return gjson.Result{}, false
	}
	if finish := stringOf(choice.Get("finish_reason")); finish != "" {
		s.answer.FinishReason, s.done = finish, true
	}
	return choice, true
}

func (s *Stream) readChunk(event gjson.Result) {
	choice, ok := s.readChoice(event)
	if !ok {
		return
	}
	delta := choice.Get("delta")
	if role := stringOf(delta.Get("role")); role != "" {
		s.answer.Role = readRole(role)
	}
	s.appendText(&s.text, contentText(delta.Get("content")))
	s.appendText(&s.refusal, stringOf(delta.Get("refusal")))
	if calls := delta.Get("tool_calls"); calls.IsArray() {
		calls.ForEach(func(_, c gjson.Result) bool {
			s.addCall(c)
			return true
		})
	} else if call := delta.Get("function_call"); call.IsObject() {
		s.addFunction(s.findOrAddCall(gjson.Result{}, ""), call)
	}
}

func (s *Stream) appendText(to *strings.Builder, text string) {
	if s.totalBytes+len(text) > maxAnswerBytes {
		s.totalBytes = maxAnswerBytes
		return
	}
	s.totalBytes += len(text)
	to.WriteString(text)
}

func (s *Stream) addCall(c gjson.Result) {
	to := s.findOrAddCall(c.Get("index"), stringOf(c.Get("id")))
	if to == nil {
		return
	}
	s.addFunction(to, c.Get("function"))
}

func (s *Stream) addFunction(to *streamCall, function gjson.Result) {
	if to == nil {
		return
	}
	if to.name == "" {
		to.name = stringOf(function.Get("name"))
	}
	arguments := function.Get("arguments")
	if arguments.IsObject() { // some servers send the complete object
		s.appendText(&to.arguments, arguments.Raw)
		return
	}
	s.appendText(&to.arguments, stringOf(arguments))
}

// findOrAddCall returns the call to which a piece with this index and id belongs. Without an index, a new id
// begins a new call, and any other piece belongs to the last call. It returns nil beyond maxCalls.
func (s *Stream) findOrAddCall(index gjson.Result, id string) *streamCall {
	if c := s.callAt(index); c != nil {
		c.id = cmp.Or(c.id, id)
		return c
	}
	if n := len(s.calls); n > 0 && index.Type != gjson.Number && (id == "" || id == s.calls[n-1].id) {
		return s.calls[n-1]
	}
	if len(s.calls) == maxCalls {
		return nil
	}
	c := &streamCall{index: int64(len(s.calls)), id: id}
	if index.Type == gjson.Number {
		c.index = index.Int()
	}
	s.calls = append(s.calls, c)
	return c
}

// toolCalls encodes the calls in the format of [Answer.ToolCalls].
func (s *Stream) toolCalls() string {
	var calls []call
	for _, c := range s.calls {
		calls = append(calls, call{c.id, c.name, c.arguments.String()})
	}
	return encodeCalls(calls)
}
