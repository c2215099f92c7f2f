package chatapi

import (
	"cmp"
	"slices"
	"strings"
	"unsafe"

	"github.com/tidwall/gjson"

	"github.com/loci-memory/loci/internal/utterance"
	"github.com/loci-memory/loci/memory"
)

// MaxDepth is the greatest nesting of a request. Tool schemas, the deepest values of honest
// clients, are far below it.
const MaxDepth = 256

// Chat is a parsed request of any dialect over the client's own bytes.
type Chat struct {
	Model    string
	Stream   bool
	Counted  bool // a stream must report its usage (stream_options.include_usage), in dialects with that option
	User     string
	Messages []Message
	Extras   Extras

	// Previous and Conversation are ids of state on the server: of the answer that the request
	// continues, and of its conversation; "" for none.
	Previous, Conversation string

	body []byte
	cuts []edit // Loci's own fields, with their commas
	put  putter // places the block; nil: as in chat completions

	inParts bool  // a block becomes a part of a message instead of a message before it
	results []int // the result of [Chat.answered]

	preface preface // in dialects that have one
	cached  cached  // in the dialect with cache breakpoints
}

// putter returns the edits that insert a block into a request with a user message; none if the
// block has no place.
type putter func(c *Chat, b Block, p Placement) []edit

// Message is one message of a request.
type Message struct {
	Role      memory.Role // developer reads as system, function as tool; an unknown role as it is
	Name      string
	Text      string        // of the content's text parts, a line each; "" for null
	Foreign   memory.Ranges // of a user's message: ranges of Text that the request shows to be others'
	ToolCalls bool          // it calls tools or a function
	Digest    string        // equal for messages that mean the same; see [Digest]
	Refs      []string      // ids of answer items that represent it or its parts
	Chain     string        // of the stored turn that Refs refer to; "" if unknown

	at     span     // the message's span in the body
	behind int      // end of the last tool result in the same message, 0 for none
	text   span     // its content's string, or the first text part; zero for none
	parts  []span   // of a content of parts
	calls  []string // ids of the calls it makes
	callID string   // of the call it answers
	folder string   // of a user's message: the working directory that its wrapper names
}

// Folder returns the working directory that a coding agent names in the user's last message with
// one, or else in its first system message; "" for none.
func (c *Chat) Folder() string {
	for _, m := range slices.Backward(c.Messages) {
		if m.folder != "" {
			return m.folder
		}
	}
	for _, m := range c.Messages {
		if m.Role == memory.RoleSystem {
			if folder := utterance.Folder(m.Text); folder != "" {
				return folder
			}
		}
	}
	return ""
}

// Decode reads a chat-completions request. It keeps body, which must not change afterwards.
// [memory.Invalid], with the place, means invalid JSON or UTF-8, nesting deeper than [MaxDepth], no
// readable messages or two lists of them, or a wrong value in one of Loci's fields. Unknown fields
// are allowed.
func Decode(body []byte) (*Chat, error) {
	c, fields, err := readOuter(body)
	if err != nil {
		return nil, err
	}
	c.User = strOf(fields, "user")
	c.Counted = fieldOf(fields, "stream_options").Get("include_usage").Type == gjson.True
	messages, err := messagesOf(fields)
	if err != nil {
		return nil, err
	}
	c.Messages, err = readMessages(messages, func(to []Message, v gjson.Result) ([]Message, bool) {
		m, ok := readMessage(v)
		return append(to, m), ok
	})
	return c, err
}

// readOuter reads the common part of requests of all dialects, and returns a body's fields.
func readOuter(body []byte) (*Chat, []member, error) {
	if err := check(body); err != nil {
		return nil, nil, err
	}
	// Bodies have many megabytes and do not change, so they are not copied.
	root := gjson.Parse(unsafe.String(unsafe.SliceData(body), len(body)))
	if !root.IsObject() {
		return nil, nil, memory.Errorf(memory.Invalid, "the body must be a JSON object")
	}
	fields := members(root)
	extras, err := readExtras(fields)
	if err != nil {
		return nil, nil, err
	}
	return &Chat{
		Model: strOf(fields, "model"), Stream: fieldOf(fields, "stream").Type == gjson.True, Extras: extras,
		body: body, cuts: cutMembers(fields, isExtra),
	}, fields, nil
}

// messagesOf returns the list of messages among a body's fields.
func messagesOf(fields []member) (list gjson.Result, err error) {
	lists := 0
	for _, f := range fields {
		if f.name == "messages" {
			list = f.value
			lists++
		}
	}
	switch {
	case lists == 0:
		return list, memory.Errorf(memory.Invalid, "messages is missing")
	case lists > 1:
		return list, memory.Errorf(memory.Invalid, "messages occurs %d times; want once", lists)
	case !list.IsArray():
		return list, memory.Errorf(memory.Invalid, "messages must be an array")
	}
	return list, nil
}

// readMessages reads a list of messages. read adds the messages in an element, and is false if that
// has no role.
func readMessages(list gjson.Result, read func(to []Message, v gjson.Result) ([]Message, bool)) (out []Message, err error) {
	i, ok := 0, false
	list.ForEach(func(_, v gjson.Result) bool {
		if !v.IsObject() {
			err = memory.Errorf(memory.Invalid, "messages[%d] must be an object", i)
			return false
		}
		if out, ok = read(out, v); !ok {
			err = memory.Errorf(memory.Invalid, "messages[%d].role must be a string", i)
			return false
		}
		i++
		return true
	})
	attribute(out)
	return out, err
}

// attribute marks which messages in the user's name others wrote, by the speakers' names: the
// person is a speaker named "user", or else the first without a job title, which agents have. A
// single message after a system message with an instruction about it is a text, too.
func attribute(messages []Message) {
	names := make([]string, len(messages))
	var users []string
	alone := len(messages) == 2 && messages[0].Role == memory.RoleSystem && utterance.IsOrder(messages[0].Text)
	for i, m := range messages {
		if m.Role == memory.RoleUser {
			names[i] = strings.ToLower(cmp.Or(m.Name, utterance.Name(m.Text)))
			users = append(users, names[i])
		}
	}
	person := utterance.Person(users)
	for i := range messages {
		if m := &messages[i]; m.Role == memory.RoleUser && m.Text != "" && (names[i] != "" && names[i] != person || alone) {
			m.Foreign = memory.Ranges("").With(0, len(m.Text))
		}
	}
}

// readMessage reads a message; it is false without a role.
func readMessage(v gjson.Result) (m Message, ok bool) {
	fields := members(v)
	role := fieldOf(fields, "role")
	var b blocks
	b.readParts(fieldOf(fields, "content"), "text")
	b.calls = readCalls(fieldOf(fields, "tool_calls"), fieldOf(fields, "function_call"))
	return b.message(v, readRole(str(role)), strOf(fields, "name"), strOf(fields, "tool_call_id")), role.Type == gjson.String
}

// message returns the blocks as a message of a role, or as the result of a call of that id.
func (b *blocks) message(v gjson.Result, role memory.Role, name, callID string) Message {
	m := Message{Role: role, Name: name, Text: strings.Join(b.lines, "\n"), at: spanOf(v), text: b.first, parts: b.parts, callID: callID}
	m.unwrap(b.lines, b.others)
	m.setCalls(b.calls)
	m.Digest = digest(m.Role, m.Text, b.calls, callID, b.others...)
	return m
}

// unwrap removes the client's wrappers from a user's message. A message without a person's words
// becomes an instruction, like a system message.
func (m *Message) unwrap(lines, others []string) {
	if m.Role != memory.RoleUser || m.Text == "" {
		return
	}
	all := m.Text
	if m.Text = utterance.Words(all); m.Text != all {
		m.folder = utterance.Folder(all)
	} else if len(lines) > 1 {
		m.Foreign = utterance.Parts(lines)
	}
	if m.Text == "" && len(others) == 0 {
		m.Role = memory.RoleSystem
	}
}

func (m *Message) setCalls(calls []call) {
	m.ToolCalls = len(calls) > 0
	for _, c := range calls {
		m.calls = append(m.calls, c.id)
	}
}

func readRole(s string) memory.Role {
	switch s {
	case "developer":
		return memory.RoleSystem
	case "function":
		return memory.RoleTool
	}
	return memory.Role(s)
}

// contentText returns the text of a content: a string, or its text parts, a line each.
func contentText(content gjson.Result) string {
	var b blocks
	b.readParts(content, "text")
	return strings.Join(b.lines, "\n")
}

// GoesOn reports whether the server has messages before the request's.
func (c *Chat) GoesOn() bool { return c.Previous != "" || c.Conversation != "" }

// LastUser returns the index of the last user message, -1 without one.
func (c *Chat) LastUser() int { return LastUser(c.Messages) }

func LastUser(msgs []Message) int {
	for i := range slices.Backward(msgs) {
		if msgs[i].Role == memory.RoleUser {
			return i
		}
	}
	return -1
}

// Only reports whether the conversation's only message in the request is the user's.
func (c *Chat) Only() bool {
	last := c.LastUser()
	return last >= 0 && !slices.ContainsFunc(c.Messages, func(m Message) bool { return m.Role != memory.RoleSystem && m.at != c.Messages[last].at })
}

// Question returns the person's question, a line for each message: the user's messages since the
// last answer, and at least n with own words. Without own words, as in an agent's request, it is
// the last message.
func (c *Chat) Question(n int) string {
	var lines []string
	answered := false
	for _, m := range slices.Backward(c.Messages) {
		if answered = answered || m.Role == memory.RoleAssistant; answered && len(lines) >= n {
			break
		}
		if m.Role != memory.RoleUser {
			continue
		}
		if asked := strings.TrimSpace(utterance.Read(m.Text, m.Foreign).Asked); asked != "" {
			lines = append([]string{asked}, lines...)
		}
	}
	if last := c.LastUser(); len(lines) == 0 && last >= 0 {
		return strings.TrimSpace(c.Messages[last].Text)
	}
	return strings.Join(lines, "\n")
}

// ToolLoop reports whether the request continues after the last user message: a message other than
// a system message follows it.
func (c *Chat) ToolLoop() bool {
	last := c.LastUser()
	return last >= 0 && slices.ContainsFunc(c.Messages[last+1:], func(m Message) bool { return m.Role != memory.RoleSystem })
}
