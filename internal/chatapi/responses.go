package chatapi

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/loci-memory/loci/memory"
)

// Responses is the dialect of OpenAI's Responses API.
//
// The input is a text or a list of items. Consecutive texts, calls and reasoning items of the model are read
// as one message, because they are one answer. A request may name the stored answer or conversation that it
// continues, and send only newer items.
var Responses = &Dialect{
	Path: "/v1/responses", AnswerIDPrefix: "resp_", CanContinue: true,
	Decode: decodeResponses, readAnswer: readResponsesAnswer,
	EncodeError: encodeOpenAIError,
	readEvent:   (*Stream).readResponsesEvent, isLastEvent: isResponsesEnd,
}

func decodeResponses(body []byte) (*Chat, error) {
	c, fields, err := readCommonFields(body)
	if err != nil {
		return nil, err
	}
	c.blockEdits = responsesEdits
	if c.User = stringField(fields, "user"); c.User == "" {
		c.User = stringField(fields, "safety_identifier")
	}
	c.PreviousAnswerID, c.ConversationID = stringField(fields, "previous_response_id"), readConversation(fieldOf(fields, "conversation"))
	inputs := slices.DeleteFunc(slices.Clone(fields), func(f member) bool { return f.name != "input" })
	if len(inputs) > 1 {
		return nil, memory.Errorf(memory.Invalid, "input occurs %d times; want once", len(inputs))
	}
	if c.Messages, err = readInput(fieldOf(inputs, "input")); err != nil {
		return nil, err
	}
	c.readPreface(fields, "instructions")
	return c, nil
}

// readConversation returns the id of the conversation that a request names, "" if there is none or the id is
// too long.
func readConversation(v gjson.Result) string {
	id := stringOf(v)
	if v.IsObject() {
		id = stringOf(v.Get("id"))
	}
	if len(id) > maxNameBytes {
		return ""
	}
	return id
}

// readInput reads the input: a text or a list of items, or absent if the server stores the prompt.
func readInput(v gjson.Result) (out []Message, err error) {
	switch {
	case !v.Exists() || v.Type == gjson.Null:
		return nil, nil
	case v.Type == gjson.String:
		m := Message{Role: memory.RoleUser, Text: stringOf(v), span: spanOf(v), textSpan: spanOf(v)}
		m.removeWrappers(nil, nil)
		m.Digest = digest(m.Role, m.Text, nil, "")
		return []Message{m}, nil
	case !v.IsArray():
		return nil, memory.Errorf(memory.Invalid, "input must be a string or an array")
	}
	var r itemReader
	i := 0
	v.ForEach(func(_, item gjson.Result) bool {
		switch {
		case !item.IsObject():
			err = memory.Errorf(memory.Invalid, "input[%d] must be an object", i)
		case !r.addItem(item):
			err = memory.Errorf(memory.Invalid, "input[%d].role must be a string", i)
		}
		i++
		return err == nil
	})
	r.endTurn()
	return r.messages, err
}

// itemReader converts a list of items to messages.
type itemReader struct {
	messages       []Message
	currentContent messageContent // texts and calls of the model's current turn
	currentSpan    span           // span of the model's current turn; zero outside the model's turns
}

// addItem reads the next item; it returns false for a message without a role.
func (r *itemReader) addItem(v gjson.Result) bool {
	fields := members(v)
	kind, role := stringField(fields, "type"), fieldOf(fields, "role")
	isMessage := kind == "message" || kind == ""
	switch {
	case kind == "" && !role.Exists() && stringField(fields, "id") != "": // the type of a reference is optional
		r.addModelItem(v, itemReference, fields)
	case isMessage && role.Type != gjson.String:
		return false
	case isMessage && stringOf(role) != string(memory.RoleAssistant):
		r.addMessage(v, readRole(stringOf(role)), "", fieldOf(fields, "content"))
	case strings.HasSuffix(kind, "_output") || kind == "mcp_approval_response":
		r.addMessage(v, memory.RoleTool, stringField(fields, "call_id"), fieldOf(fields, "output"))
	default:
		r.addModelItem(v, kind, fields)
	}
	return true
}

// addModelItem adds an item that the model wrote to the model's current turn.
func (r *itemReader) addModelItem(v gjson.Result, kind string, fields []member) {
	if !r.currentSpan.isSet() {
		r.currentSpan = spanOf(v)
	}
	r.currentContent.addItem(kind, fields)
}

// endTurn appends the model's current turn as a message. A turn without texts, calls and references, such as
// only reasoning or a search, yields no message.
func (r *itemReader) endTurn() {
	if b := r.currentContent; len(b.texts)+len(b.calls)+len(b.itemRefs) > 0 {
		m := Message{Role: memory.RoleAssistant, Text: strings.Join(b.texts, "\n"), ItemRefs: b.itemRefs, span: r.currentSpan}
		m.setCalls(b.calls)
		m.Digest = digest(m.Role, m.Text, b.calls, "")
		r.messages = append(r.messages, m)
	}
	r.currentContent, r.currentSpan = messageContent{}, span{}
}

// addMessage adds a message with a role; callID is the id of the call whose result the message is, or "".
func (r *itemReader) addMessage(v gjson.Result, role memory.Role, callID string, content gjson.Result) {
	r.endTurn()
	var b messageContent
	b.readParts(content, responseTextTypes...)
	r.messages = append(r.messages, b.message(v, role, "", callID))
}

// itemReference is the type of an item that refers to another item on the server.
const itemReference = "item_reference"

func (b *messageContent) addItem(kind string, fields []member) {
	switch kind {
	case itemReference:
		b.itemRefs = append(b.itemRefs, stringField(fields, "id"))
	case "message", "":
		b.readParts(fieldOf(fields, "content"), responseTextTypes...)
	case "function_call":
		b.calls = append(b.calls, call{stringField(fields, "call_id"), stringField(fields, "name"), stringField(fields, "arguments")})
	case "custom_tool_call":
		b.calls = append(b.calls, call{stringField(fields, "call_id"), stringField(fields, "name"), stringField(fields, "input")})
	default:
		if id := stringField(fields, "call_id"); id != "" && strings.HasSuffix(kind, "_call") {
			b.calls = append(b.calls, call{id, kind, builtInArguments(fields)})
		}
	}
}

// builtInArguments returns the arguments of a call of one of the API's own tools that the client executes.
func builtInArguments(fields []member) string {
	for _, f := range fields {
		switch f.name {
		case "action", "actions", "operation", "arguments":
			return strings.Clone(f.value.Raw)
		}
	}
	return ""
}

// responseTextTypes are the types of text parts in the Responses API.
var responseTextTypes = []string{"input_text", "output_text", "text", "refusal"}

// readParts reads a content, which is a string or a list of parts; textTypes are the types of text parts.
// Other parts, such as images, are added to otherParts.
func (b *messageContent) readParts(content gjson.Result, textTypes ...string) {
	if content.Type == gjson.String {
		b.addText(content)
		return
	}
	if !content.IsArray() {
		return
	}
	content.ForEach(func(_, v gjson.Result) bool {
		fields := members(v)
		b.partSpans = append(b.partSpans, spanOf(v))
		kind, name := stringField(fields, "type"), "text"
		if kind == "refusal" {
			name = kind
		}
		if text := fieldOf(fields, name); slices.Contains(textTypes, kind) && text.Type == gjson.String {
			b.addText(text)
		} else {
			b.otherParts = append(b.otherParts, v.Raw)
		}
		return true
	})
}

// responsesEdits returns the edits that insert the block after the instructions, into its user message, or as
// an item before that message.
func responsesEdits(c *Chat, b Block, p Placement) []edit {
	block := b.Text
	if p == System {
		if edits := c.insertAfterPrefaceEdits(block, false); edits != nil {
			return edits
		}
	}
	if b.MessageIndex < 0 {
		return nil
	}
	m := c.Messages[b.MessageIndex]
	if p == User {
		return m.insertAtStartEdits(block, "input_text")
	}
	if m.textSpan == m.span { // the input is a single text
		return []edit{insertion(m.span.from, `[{"role":"system","content":`+quote(block)+`},{"role":"user","content":`), insertion(m.span.to, `}]`)}
	}
	return []edit{c.insertBeforeEdit(c.positionOutsideCalls(b.MessageIndex), block)}
}
