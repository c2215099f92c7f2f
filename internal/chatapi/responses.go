package chatapi

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/loci-memory/loci/memory"
)

// Responses is the dialect of OpenAI's Responses API.
//
// The input is a text or a list of items. Consecutive texts, calls and reasoning of the model are read as one
// message, because they belong to one answer. A request may name the answer or conversation that it
// continues, and send only newer items.
var Responses = &Dialect{
	Path: "/v1/responses", AnswerID: "resp_", Named: true,
	Decode: decodeResponses, read: readResponsesAnswer,
	EncodeError: encodeError,
	hear:        (*Stream).hearResponses, ends: endsResponses,
}

func decodeResponses(body []byte) (*Chat, error) {
	c, fields, err := readOuter(body)
	if err != nil {
		return nil, err
	}
	c.put = putResponses
	if c.User = strOf(fields, "user"); c.User == "" {
		c.User = strOf(fields, "safety_identifier")
	}
	c.Previous, c.Conversation = strOf(fields, "previous_response_id"), readConversation(fieldOf(fields, "conversation"))
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
	id := str(v)
	if v.IsObject() {
		id = str(v.Get("id"))
	}
	if len(id) > maxName {
		return ""
	}
	return id
}

// readInput reads a text or a list of items. The input may be absent, if the server has the prompt.
func readInput(v gjson.Result) (out []Message, err error) {
	switch {
	case !v.Exists() || v.Type == gjson.Null:
		return nil, nil
	case v.Type == gjson.String:
		m := Message{Role: memory.RoleUser, Text: str(v), at: spanOf(v), text: spanOf(v)}
		m.unwrap(nil, nil)
		m.Digest = digest(m.Role, m.Text, nil, "")
		return []Message{m}, nil
	case !v.IsArray():
		return nil, memory.Errorf(memory.Invalid, "input must be a string or an array")
	}
	var r items
	i := 0
	v.ForEach(func(_, item gjson.Result) bool {
		switch {
		case !item.IsObject():
			err = memory.Errorf(memory.Invalid, "input[%d] must be an object", i)
		case !r.add(item):
			err = memory.Errorf(memory.Invalid, "input[%d].role must be a string", i)
		}
		i++
		return err == nil
	})
	r.end()
	return r.out, err
}

// itemReader converts a list of items to messages.
type items struct {
	out    []Message
	answer blocks // texts and calls of the model's current turn
	at     span   // span of the model's current turn; zero outside the model's turns
}

// addItem reads the next item; it returns false for a message without a role.
func (r *items) add(v gjson.Result) bool {
	fields := members(v)
	kind, role := strOf(fields, "type"), fieldOf(fields, "role")
	isMessage := kind == "message" || kind == ""
	switch {
	case kind == "" && !role.Exists() && strOf(fields, "id") != "": // the type of a reference is optional
		r.model(v, reference, fields)
	case isMessage && role.Type != gjson.String:
		return false
	case isMessage && str(role) != string(memory.RoleAssistant):
		r.message(v, readRole(str(role)), "", fieldOf(fields, "content"))
	case strings.HasSuffix(kind, "_output") || kind == "mcp_approval_response":
		r.message(v, memory.RoleTool, strOf(fields, "call_id"), fieldOf(fields, "output"))
	default:
		r.model(v, kind, fields)
	}
	return true
}

// addModelItem adds an item that the model wrote to its current turn.
func (r *items) model(v gjson.Result, kind string, fields []member) {
	if !r.at.found() {
		r.at = spanOf(v)
	}
	r.answer.item(kind, fields)
}

// endTurn ends the model's turn. A turn without texts, calls and references, for example with only reasoning
// or a search, yields no message.
func (r *items) end() {
	if b := r.answer; len(b.lines)+len(b.calls)+len(b.refs) > 0 {
		m := Message{Role: memory.RoleAssistant, Text: strings.Join(b.lines, "\n"), Refs: b.refs, at: r.at}
		m.setCalls(b.calls)
		m.Digest = digest(m.Role, m.Text, b.calls, "")
		r.out = append(r.out, m)
	}
	r.answer, r.at = blocks{}, span{}
}

// addMessage adds a message with a role, or the result of the call with id callID.
func (r *items) message(v gjson.Result, role memory.Role, callID string, content gjson.Result) {
	r.end()
	var b blocks
	b.readParts(content, responseTexts...)
	r.out = append(r.out, b.message(v, role, "", callID))
}

// itemReference is the type of an item that refers to another item on the server.
const reference = "item_reference"

func (b *blocks) item(kind string, fields []member) {
	switch kind {
	case reference:
		b.refs = append(b.refs, strOf(fields, "id"))
	case "message", "":
		b.readParts(fieldOf(fields, "content"), responseTexts...)
	case "function_call":
		b.calls = append(b.calls, call{strOf(fields, "call_id"), strOf(fields, "name"), strOf(fields, "arguments")})
	case "custom_tool_call":
		b.calls = append(b.calls, call{strOf(fields, "call_id"), strOf(fields, "name"), strOf(fields, "input")})
	default:
		if id := strOf(fields, "call_id"); id != "" && strings.HasSuffix(kind, "_call") {
			b.calls = append(b.calls, call{id, kind, builtIn(fields)})
		}
	}
}

// builtInArguments returns the arguments of a call of a built-in tool that the client executes.
func builtIn(fields []member) string {
	for _, f := range fields {
		switch f.name {
		case "action", "actions", "operation", "arguments":
			return strings.Clone(f.value.Raw)
		}
	}
	return ""
}

// responseTextTypes are the types of text parts in the Responses API.
var responseTexts = []string{"input_text", "output_text", "text", "refusal"}

// readParts reads a content, which is a string or a list of parts; textTypes are the types of text parts.
// Other parts, such as images, distinguish messages with the same text.
func (b *blocks) readParts(content gjson.Result, texts ...string) {
	if content.Type == gjson.String {
		b.add(content)
		return
	}
	if !content.IsArray() {
		return
	}
	content.ForEach(func(_, v gjson.Result) bool {
		fields := members(v)
		b.parts = append(b.parts, spanOf(v))
		kind, name := strOf(fields, "type"), "text"
		if kind == "refusal" {
			name = kind
		}
		if text := fieldOf(fields, name); slices.Contains(texts, kind) && text.Type == gjson.String {
			b.add(text)
		} else {
			b.others = append(b.others, v.Raw)
		}
		return true
	})
}

// responsesEdits inserts the block as an item before the last user message, after the instructions, or into
// that message.
func putResponses(c *Chat, b Block, p Placement) []edit {
	block := b.Text
	if p == System {
		if edits := c.prefaceWith(block, false); edits != nil {
			return edits
		}
	}
	if b.Message < 0 {
		return nil
	}
	m := c.Messages[b.Message]
	if p == User {
		return m.prefix(block, "input_text")
	}
	if m.text == m.at { // the input is a single text
		return []edit{insert(m.at.from, `[{"role":"system","content":`+quote(block)+`},{"role":"user","content":`), insert(m.at.to, `}]`)}
	}
	return []edit{c.before(c.outsideCalls(b.Message), block)}
}
