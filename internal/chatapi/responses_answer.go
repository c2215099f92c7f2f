package chatapi

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/loci-memory/loci/memory"
)

func readResponsesAnswer(root gjson.Result, a *Answer) error {
	if !root.IsObject() || !root.Get("output").IsArray() {
		return memory.Errorf(memory.Invalid, "output is missing")
	}
	b, ids := readOutput(root)
	a.ItemIDs, a.Text, a.ToolCalls, a.FinishReason = ids, strings.Join(b.texts, "\n"), encodeCalls(b.calls), stringOf(root.Get("status"))
	return nil
}

// readOutput reads a response's texts and calls, and the ids of its items.
func readOutput(response gjson.Result) (b messageContent, ids []string) {
	output := response.Get("output")
	if !output.IsArray() {
		return b, nil
	}
	output.ForEach(func(_, item gjson.Result) bool {
		fields := members(item)
		b.addItem(stringField(fields, "type"), fields)
		ids = appendItemID(ids, item)
		return true
	})
	return b, ids
}

// appendItemID appends the id of an item, up to maxCalls ids. It omits reasoning items: clients do not resend
// them, so their ids would not identify the answer.
func appendItemID(ids []string, item gjson.Result) []string {
	id := stringOf(item.Get("id"))
	if id == "" || stringOf(item.Get("type")) == "reasoning" || len(ids) == maxCalls {
		return ids
	}
	return append(ids, id)
}

func (s *Stream) readResponsesEvent(root gjson.Result) {
	switch stringOf(root.Get("type")) {
	case "response.created", "response.in_progress":
		s.answer.readMetadata(root.Get("response"))
	case "response.output_text.delta":
		s.startPart(root)
		s.appendText(&s.text, stringOf(root.Get("delta")))
	case "response.refusal.delta":
		s.appendText(&s.refusal, stringOf(root.Get("delta")))
	case "response.output_item.done":
		s.answer.ItemIDs = appendItemID(s.answer.ItemIDs, root.Get("item"))
		s.readFinishedCall(root.Get("output_index"), root.Get("item"))
	case "response.completed", "response.incomplete", "response.failed":
		s.readResponse(root.Get("response"))
	}
}

// startPart begins a new line if an event belongs to another part than the previous text.
func (s *Stream) startPart(event gjson.Result) {
	part := event.Get("output_index").Raw + "/" + event.Get("content_index").Raw
	if part != s.lastPartKey {
		s.endLine()
	}
	s.lastPartKey = part
}

// readFinishedCall adds a complete item if it is a call.
func (s *Stream) readFinishedCall(index, item gjson.Result) {
	var b messageContent
	b.addItem(stringOf(item.Get("type")), members(item))
	for _, made := range b.calls {
		c := s.findOrAddCall(index, made.id)
		if c == nil || c.name != "" {
			return
		}
		c.name, c.ready = made.name, true
		s.appendText(&c.arguments, made.arguments)
	}
}

// readResponse reads the last event, which repeats the complete answer. It uses the texts and calls of this
// event only if none arrived in earlier events.
func (s *Stream) readResponse(response gjson.Result) {
	s.answer.readMetadata(response)
	s.answer.FinishReason, s.done = stringOf(response.Get("status")), true
	b, ids := readOutput(response)
	if len(ids) > 0 {
		s.answer.ItemIDs = ids
	}
	if !s.Empty() {
		return
	}
	s.appendText(&s.text, strings.Join(b.texts, "\n"))
	for i, made := range b.calls {
		if i == maxCalls {
			return
		}
		c := &streamCall{index: int64(i), id: made.id, name: made.name}
		s.appendText(&c.arguments, made.arguments)
		s.calls = append(s.calls, c)
	}
}

// isResponsesEnd reports whether an event is the last event of a stream of the Responses API.
func isResponsesEnd(event []byte) bool {
	switch eventType(event) {
	case "response.completed", "response.incomplete", "response.failed", "error":
		return true
	}
	return false
}
