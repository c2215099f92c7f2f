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

// MaxDepth is the maximum nesting of a request's JSON. Real requests are far less deep; tool schemas are the
// deepest.
const MaxDepth = 256

// Chat is a parsed request of any dialect. It refers to the client's own bytes.
type Chat struct {
	Model       string
	Stream      bool
	ReportUsage bool // a stream must report its usage (stream_options.include_usage), in dialects with that option
	User        string
	Messages    []Message
	Extras      Extras

	// PreviousAnswerID is the id of the stored answer that the request continues, and ConversationID the id of a
	// conversation on the server; "" means none.
	PreviousAnswerID, ConversationID string

	body       []byte
	removals   []edit    // edits that remove Loci's own fields with their commas
	blockEdits editsFunc // inserts the block; nil uses completionsEdits

	blockIsPart   bool  // a block becomes a part of a message instead of a message before it
	resultIndexes []int // cached result of [Chat.lastResults]

	preface      preface      // set in dialects with instructions outside the messages
	cachedPrefix cachedPrefix // set in the dialect with cache breakpoints
}

// editsFunc returns the edits that insert a block into a request with a user message. It returns nil if the
// block cannot be inserted.
type editsFunc func(c *Chat, b Block, p Placement) []edit

// Message is one message of a request.
type Message struct {
	Role      memory.Role // role; developer counts as system, function as tool; an unknown role is unchanged
	Name      string
	Text      string        // text of the content's text parts, one per line; "" for null
	Foreign   memory.Ranges // in a user's message: ranges of Text known to be written by others
	ToolCalls bool          // the message calls tools or a function
	Digest    string        // equal for messages with the same meaning (see [Digest])
	ItemRefs  []string      // ids of items of an earlier answer that replace the message or its parts
	Chain     string        // chain hash of the stored turn to which ItemRefs belong; "" if unknown

	span       span     // span of the message in the body
	resultsEnd int      // end of the last tool result in the same message; 0 means none
	textSpan   span     // span of the content's string or first text part; zero if there is none
	partSpans  []span   // spans of the parts; nil if the content is a string
	callIDs    []string // ids of the message's calls
	callID     string   // id of the call whose result the message is
	folder     string   // in a user's message: the working directory that the client's wrapper names
}

// Folder returns the working directory that a coding agent names in a user message (the last such message
// counts) or else in its first system message; "" if there is none.
func (c *Chat) Folder() string {
	for _, m := range slices.Backward(c.Messages) {
		if m.folder != "" {
			return m.folder
		}
	}
	for _, m := range c.Messages {
		if m.Role == memory.RoleSystem {
			if folder := utterance.WorkingDirectory(m.Text); folder != "" {
				return folder
			}
		}
	}
	return ""
}

// Decode reads a chat-completions request. It retains body, which must not change afterwards. It returns
// [memory.Invalid], with the position, for invalid JSON or UTF-8, nesting deeper than [MaxDepth], missing,
// unreadable or duplicate messages, and an invalid value in one of Loci's fields. Unknown fields are allowed.
func Decode(body []byte) (*Chat, error) {
	c, fields, err := readCommon(body)
	if err != nil {
		return nil, err
	}
	c.User = stringField(fields, "user")
	c.ReportUsage = fieldOf(fields, "stream_options").Get("include_usage").Type == gjson.True
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

// readCommon reads the fields that the requests of all dialects share, and returns all fields of the body.
func readCommon(body []byte) (*Chat, []member, error) {
	if err := validate(body); err != nil {
		return nil, nil, err
	}
	// Bodies have many megabytes and do not change, so parsing does not copy them.
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
		Model: stringField(fields, "model"), Stream: fieldOf(fields, "stream").Type == gjson.True, Extras: extras,
		body: body, removals: cutMembers(fields, isExtraField),
	}, fields, nil
}

// messagesOf returns the list of messages from a body's fields.
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

// readMessages reads a list of messages. The function read appends the messages in an element, and returns
// false if the element has no role.
func readMessages(list gjson.Result, readElement func(to []Message, v gjson.Result) ([]Message, bool)) (out []Message, err error) {
	i, ok := 0, false
	list.ForEach(func(_, v gjson.Result) bool {
		if !v.IsObject() {
			err = memory.Errorf(memory.Invalid, "messages[%d] must be an object", i)
			return false
		}
		if out, ok = readElement(out, v); !ok {
			err = memory.Errorf(memory.Invalid, "messages[%d].role must be a string", i)
			return false
		}
		i++
		return true
	})
	markForeign(out)
	return out, err
}

// markForeign marks messages with the role user that others wrote, by the speakers' names. The person is the
// speaker named "user", or else the first speaker without a job title, which agents have. If a single user
// message follows a system message with an instruction, it counts as quoted text too.
func markForeign(messages []Message) {
	names := make([]string, len(messages))
	var users []string
	alone := len(messages) == 2 && messages[0].Role == memory.RoleSystem && utterance.IsInstruction(messages[0].Text)
	for i, m := range messages {
		if m.Role == memory.RoleUser {
			names[i] = strings.ToLower(cmp.Or(m.Name, utterance.SpeakerName(m.Text)))
			users = append(users, names[i])
		}
	}
	person := utterance.HumanSpeaker(users)
	for i := range messages {
		if m := &messages[i]; m.Role == memory.RoleUser && m.Text != "" && (names[i] != "" && names[i] != person || alone) {
			m.Foreign = memory.Ranges("").With(0, len(m.Text))
		}
	}
}

// readMessage reads a message. ok is false if the message has no role.
func readMessage(v gjson.Result) (m Message, ok bool) {
	fields := members(v)
	role := fieldOf(fields, "role")
	var b messageContent
	b.readParts(fieldOf(fields, "content"), "text")
	b.calls = readCalls(fieldOf(fields, "tool_calls"), fieldOf(fields, "function_call"))
	return b.message(v, readRole(stringOf(role)), stringField(fields, "name"), stringField(fields, "tool_call_id")), role.Type == gjson.String
}

// message converts the content to a message with a role, or to the result of the call with id callID.
func (b *messageContent) message(v gjson.Result, role memory.Role, name, callID string) Message {
	m := Message{Role: role, Name: name, Text: strings.Join(b.lines, "\n"), span: spanOf(v), textSpan: b.firstText, partSpans: b.parts, callID: callID}
	m.removeWrappers(b.lines, b.otherParts)
	m.setCalls(b.calls)
	m.Digest = digest(m.Role, m.Text, b.calls, callID, b.otherParts...)
	return m
}

// removeWrappers removes the client's wrappers from a user's message. A message without words by a person
// becomes a system message.
func (m *Message) removeWrappers(lines, otherParts []string) {
	if m.Role != memory.RoleUser || m.Text == "" {
		return
	}
	all := m.Text
	if m.Text = utterance.WithoutWrappers(all); m.Text != all {
		m.folder = utterance.WorkingDirectory(all)
	} else if len(lines) > 1 {
		m.Foreign = utterance.ForeignRanges(lines)
	}
	if m.Text == "" && len(otherParts) == 0 {
		m.Role = memory.RoleSystem
	}
}

func (m *Message) setCalls(calls []call) {
	m.ToolCalls = len(calls) > 0
	for _, c := range calls {
		m.callIDs = append(m.callIDs, c.id)
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

// contentText returns the text of a content: a string, or its text parts with one line each.
func contentText(content gjson.Result) string {
	var b messageContent
	b.readParts(content, "text")
	return strings.Join(b.lines, "\n")
}

// HasServerHistory reports whether the server has messages that precede those of the request.
func (c *Chat) HasServerHistory() bool { return c.PreviousAnswerID != "" || c.ConversationID != "" }

// LastUser returns the index of the last user message, -1 if there is none.
func (c *Chat) LastUser() int { return LastUser(c.Messages) }

// LastUser returns the index of the last user message, -1 if there is none.
func LastUser(msgs []Message) int {
	for i := range slices.Backward(msgs) {
		if msgs[i].Role == memory.RoleUser {
			return i
		}
	}
	return -1
}

// HasSingleMessage reports whether the request's only message, except for instructions, is the user's.
func (c *Chat) HasSingleMessage() bool {
	last := c.LastUser()
	return last >= 0 && !slices.ContainsFunc(c.Messages, func(m Message) bool { return m.Role != memory.RoleSystem && m.span != c.Messages[last].span })
}

// Question returns the person's question, with one line for each message: the user's messages since the last
// answer, and at least minMessages messages with a person's words. If there are none, as in an agent's
// request, it returns the last user message.
func (c *Chat) Question(minMessages int) string {
	var lines []string
	answered := false
	for _, m := range slices.Backward(c.Messages) {
		if answered = answered || m.Role == memory.RoleAssistant; answered && len(lines) >= minMessages {
			break
		}
		if m.Role != memory.RoleUser {
			continue
		}
		if asked := strings.TrimSpace(utterance.ParseMessage(m.Text, m.Foreign).OwnTextAndTasks); asked != "" {
			lines = append([]string{asked}, lines...)
		}
	}
	if last := c.LastUser(); len(lines) == 0 && last >= 0 {
		return strings.TrimSpace(c.Messages[last].Text)
	}
	return strings.Join(lines, "\n")
}

// ToolLoop reports whether other messages than system messages follow the last user message.
func (c *Chat) ToolLoop() bool {
	last := c.LastUser()
	return last >= 0 && slices.ContainsFunc(c.Messages[last+1:], func(m Message) bool { return m.Role != memory.RoleSystem })
}
