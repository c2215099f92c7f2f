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

// MaxDepth is how deeply a request may nest. Tool schemas, the deepest thing
// honest clients send, stay far below it.
const MaxDepth = 256

// Chat is a request of any dialect: what Loci reads of it, over the client's own
// bytes.
type Chat struct {
	Model    string
	Stream   bool
	Counted  bool // a stream is to say what it took (stream_options.include_usage), where the dialect leaves that to the client
	User     string
	Messages []Message
	Extras   Extras

	// What came before Messages, where the server keeps it: the id of the answer that
	// the request goes on from, and that of the conversation; "" for none.
	Previous, Conversation string

	body []byte
	cuts []edit // Loci's own fields, with the commas that go with them
	put  putter // where the block goes; nil: as in chat completions

	inParts bool  // a block goes into the parts of a message, and not before it
	results []int // what [Chat.answered] returned

	preface preface // of the dialects that have one
	cached  cached  // of the dialect in which clients mark what is
}

// putter returns the edits that put a block into a request that has a user message;
// none where it has no place.
type putter func(c *Chat, b Block, p Placement) []edit

// Message is one message of a request.
type Message struct {
	Role      memory.Role // developer reads as system, function as tool; an unknown role as it is
	Name      string
	Text      string        // of the content's text parts, a line each; "" for null
	Foreign   memory.Ranges // of a user's: what the request shows to be somebody else's in Text
	ToolCalls bool          // it calls tools or a function
	Digest    string        // equal for messages that mean the same; see [Digest]
	Refs      []string      // ids of items of an answer that stand for it, or for parts of it
	Chain     string        // of the stored turn that Refs mean; "" where it is not known

	at     span     // the message in the body
	behind int      // where the last tool result in the same message ends, 0 for none
	text   span     // its content's string, or that of the first text part; zero for none
	parts  []span   // of a content of parts
	calls  []string // ids of the calls it makes
	callID string   // of the call it answers
	folder string   // of a user's message: the working directory that its wrapper names
}

// Folder returns the working directory that a coding agent names in the user's messages, the
// last one, or in its system messages, the first one; "" for none.
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

// Decode reads a chat-completions request. It keeps body, which must not change
// afterwards. [memory.Invalid], naming the place, for what is not JSON in UTF-8,
// nests deeper than [MaxDepth], has no readable messages or has two lists of
// them, or carries one of Loci's fields with a wrong value. What it does not
// know it lets pass.
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

// readOuter reads what requests of all dialects have in common, and returns a body's
// fields.
func readOuter(body []byte) (*Chat, []member, error) {
	if err := check(body); err != nil {
		return nil, nil, err
	}
	// Bodies have many megabytes and do not change: no copy is made of them.
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
		return list, memory.Errorf(memory.Invalid, "messages stands there %d times; once is right", lists)
	case !list.IsArray():
		return list, memory.Errorf(memory.Invalid, "messages must be an array")
	}
	return list, nil
}

// readMessages reads a list of messages; read adds what one of them holds, and is
// false for one without a role.
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

// attribute notes which of the messages in the user's name somebody else wrote, by the names of those
// who speak: the person is who is called a user, or else the first who is not called by a job, as agents
// are. What stands alone behind a system message that orders something with it is a text, too.
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

// message is what was said in a role, or what a call of that id returned.
func (b *blocks) message(v gjson.Result, role memory.Role, name, callID string) Message {
	m := Message{Role: role, Name: name, Text: strings.Join(b.lines, "\n"), at: spanOf(v), text: b.first, parts: b.parts, callID: callID}
	m.unwrap(b.lines, b.others)
	m.setCalls(b.calls)
	m.Digest = digest(m.Role, m.Text, b.calls, callID, b.others...)
	return m
}

// unwrap leaves of a user's message what the person wrote. One that is the client's alone is an
// instruction to the model, like a system message.
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

// ContentText returns what the content of a message says: a string, or its text parts, a line each.
func ContentText(content []byte) string { return contentText(gjson.ParseBytes(content)) }

// contentText returns what a content says: a string, or its text parts, a line
// each.
func contentText(content gjson.Result) string {
	var b blocks
	b.readParts(content, "text")
	return strings.Join(b.lines, "\n")
}

// GoesOn reports whether the server keeps what came before the request's messages.
func (c *Chat) GoesOn() bool { return c.Previous != "" || c.Conversation != "" }

// LastUser returns the index of the last user message, -1 without one.
func (c *Chat) LastUser() int { return LastUser(c.Messages) }

// LastUser returns the index of the last user message, -1 without one.
func LastUser(msgs []Message) int {
	for i := range slices.Backward(msgs) {
		if msgs[i].Role == memory.RoleUser {
			return i
		}
	}
	return -1
}

// Only reports whether the request holds one message of the conversation, the user's.
func (c *Chat) Only() bool {
	last := c.LastUser()
	return last >= 0 && !slices.ContainsFunc(c.Messages, func(m Message) bool { return m.Role != memory.RoleSystem && m.at != c.Messages[last].at })
}

// Question returns what the person asks, a line for each message: with what they say in all messages
// since the last answer, and in n at least that have words of theirs. Where nothing is theirs, as in an
// agent's request, the last message asks.
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

// ToolLoop reports whether the request is a step after the last user message:
// something other than a system message follows it.
func (c *Chat) ToolLoop() bool {
	last := c.LastUser()
	return last >= 0 && slices.ContainsFunc(c.Messages[last+1:], func(m Message) bool { return m.Role != memory.RoleSystem })
}
