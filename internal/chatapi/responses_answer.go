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
	a.Items, a.Text, a.ToolCalls, a.Finish = ids, strings.Join(b.lines, "\n"), encodeCalls(b.calls), str(root.Get("status"))
	return nil
}

// readOutput reads a response's texts and calls, and the ids of its items.
func readOutput(response gjson.Result) (b blocks, ids []string) {
	output := response.Get("output")
	if !output.IsArray() {
		return b, nil
	}
	output.ForEach(func(_, item gjson.Result) bool {
		fields := members(item)
		b.item(strOf(fields, "type"), fields)
		ids = addItem(ids, item)
		return true
	})
	return b, ids
}

// appendItemID appends the id of a message or call, up to maxCalls ids. Clients omit reasoning items, so
// their ids would not identify the answer.
func addItem(ids []string, item gjson.Result) []string {
	id := str(item.Get("id"))
	if id == "" || str(item.Get("type")) == "reasoning" || len(ids) == maxCalls {
		return ids
	}
	return append(ids, id)
}

func (s *Stream) hearResponses(root gjson.Result) {
	switch str(root.Get("type")) {
	case "response.created", "response.in_progress":
		s.answer.readFrame(root.Get("response"))
	case "response.output_text.delta":
		s.hearPart(root)
		s.add(&s.text, str(root.Get("delta")))
	case "response.refusal.delta":
		s.add(&s.refuse, str(root.Get("delta")))
	case "response.output_item.done":
		s.answer.Items = addItem(s.answer.Items, root.Get("item"))
		s.hearCall(root.Get("output_index"), root.Get("item"))
	case "response.completed", "response.incomplete", "response.failed":
		s.hearResponse(root.Get("response"))
	}
}

// startPart begins a new line when a new part begins.
func (s *Stream) hearPart(event gjson.Result) {
	part := event.Get("output_index").Raw + "/" + event.Get("content_index").Raw
	if part != s.part {
		s.newLine()
	}
	s.part = part
}

// readFinishedCall reads a complete item if it is a call.
func (s *Stream) hearCall(index, item gjson.Result) {
	var b blocks
	b.item(str(item.Get("type")), members(item))
	for _, made := range b.calls {
		c := s.call(index, made.id)
		if c == nil || c.name != "" {
			return
		}
		c.name, c.whole = made.name, true
		s.add(&c.arguments, made.arguments)
	}
}

// readResponse reads the complete answer in the last event. It retains text that has already arrived in
// pieces.
func (s *Stream) hearResponse(response gjson.Result) {
	s.answer.readFrame(response)
	s.answer.Finish, s.done = str(response.Get("status")), true
	b, ids := readOutput(response)
	if len(ids) > 0 {
		s.answer.Items = ids
	}
	if !s.Empty() {
		return
	}
	s.add(&s.text, strings.Join(b.lines, "\n"))
	for i, made := range b.calls {
		if i == maxCalls {
			return
		}
		c := &streamCall{index: int64(i), id: made.id, name: made.name}
		s.add(&c.arguments, made.arguments)
		s.calls = append(s.calls, c)
	}
}

// isResponsesEnd reports whether an event is the last event of a stream of the Responses API.
func endsResponses(event []byte) bool {
	switch kindOf(event) {
	case "response.completed", "response.incomplete", "response.failed", "error":
		return true
	}
	return false
}
