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

// Chat is a parsed request of any dialect, with the offsets of its parts in the client's bytes.
type Chat struct {
	Model       string
	Stream      bool
	ReportUsage bool // the request asks for the usage of a stream (stream_options.include_usage)
	User        string
	Messages    []Message
	Extras      Extras

	// PreviousAnswerID is the id of the stored answer that the request continues, and ConversationID the id of a
	// conversation on the server; "" means none.
	PreviousAnswerID, ConversationID string

	body       []byte
	removals   []edit    // edits that remove Loci's own fields with their commas
	blockEdits editsFunc // returns the edits for a block; nil uses completionsEdits

	blockIsPart         bool  // true if the dialect inserts a block as a part of a message instead of as a separate message
	cachedResultIndexes []int // cached result of [Chat.lastResultIndexes]

	preface      preface      // instructions outside the messages, in [Messages] and [Responses]
	cachedPrefix cachedPrefix // part of the request that the provider caches, in [Messages]
}

// editsFunc returns the edits that insert a block into a request, or nil if the block cannot be inserted.
type editsFunc func(c *Chat, b Block, p Placement) []edit

// Message is one message of a request.
type Message struct {
	Role      memory.Role // developer is read as system, function as tool; an unknown role is unchanged
	Name      string
	Text      string        // text of the content's text parts, one per line; "" for null
	Foreign   memory.Ranges // in a user's message: ranges of Text that the user did not write
	ToolCalls bool          // the message calls tools or a function
	Digest    string        // result of [Digest], by which the message is recognized in later requests
	ItemRefs  []string      // ids of an earlier answer's items, which the request refers to instead of repeating them
	Chain     string        // hash of the path up to the stored turn with the items of ItemRefs; "" if unknown

	span       span     // span of the message in the body
	resultsEnd int      // offset of the end of the last tool result in the same element; 0 means none
	textSpan   span     // span of the content's string or first text part; zero if there is none
	partSpans  []span   // spans of the content's parts; nil if the content is a string
	callIDs    []string // ids of the message's calls
	callID     string   // id of the call whose result the message is
	folder     string   // in a user's message: the working directory that the client's wrapper names
}

// Folder returns the working directory of a coding agent: from the last user message that names one, or else
// from the first system message that does; "" if there is none.
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

// Decode reads a chat-completions request. The result refers to body, which must not change afterwards. It
// returns [memory.Invalid] for invalid JSON or UTF-8, nesting deeper than [MaxDepth], a missing, duplicate or
// invalid list of messages, and an invalid field of [Extras]. Unknown fields are allowed.
func Decode(body []byte) (*Chat, error) {
	c, fields, err := readCommonFields(body)
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

// readCommonFields reads the fields that requests of all dialects have. It also returns all fields of the body.
func readCommonFields(body []byte) (*Chat, []member, error) {
	if err := validateBody(body); err != nil {
		return nil, nil, err
	}
	// A body may have many megabytes and does not change, so parsing does not copy it.
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
		body: body, removals: removalEdits(fields, isExtraField),
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

// readMessages reads a list of messages. readElement appends an element's messages to its first argument, and
// returns false if the element has no role.
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

// markForeign marks user messages that the user did not write as Foreign: those of other speakers than
// [utterance.HumanSpeaker], and the only user message after a system message with an instruction, because
// programs send quoted text to a model in this form.
func markForeign(messages []Message) {
	names := make([]string, len(messages))
	var users []string
	isQuotedText := len(messages) == 2 && messages[0].Role == memory.RoleSystem && utterance.IsInstruction(messages[0].Text)
	for i, m := range messages {
		if m.Role == memory.RoleUser {
			names[i] = strings.ToLower(cmp.Or(m.Name, utterance.SpeakerName(m.Text)))
			users = append(users, names[i])
		}
	}
	person := utterance.HumanSpeaker(users)
	for i := range messages {
		if m := &messages[i]; m.Role == memory.RoleUser && m.Text != "" && (names[i] != "" && names[i] != person || isQuotedText) {
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

// message returns the content of v as a message with a role; callID is the id of the call whose result the
// message is, or "".
func (b *messageContent) message(v gjson.Result, role memory.Role, name, callID string) Message {
	m := Message{Role: role, Name: name, Text: strings.Join(b.texts, "\n"), span: spanOf(v), textSpan: b.firstTextSpan, partSpans: b.partSpans, callID: callID}
	m.removeWrappers(b.texts, b.otherParts)
	m.setCalls(b.calls)
	m.Digest = digest(m.Role, m.Text, b.calls, callID, b.otherParts...)
	return m
}

// removeWrappers removes the client's wrappers from a user's message. If nothing remains, the message becomes
// a system message.
func (m *Message) removeWrappers(texts, otherParts []string) {
	if m.Role != memory.RoleUser || m.Text == "" {
		return
	}
	all := m.Text
	if m.Text = utterance.WithoutWrappers(all); m.Text != all {
		m.folder = utterance.WorkingDirectory(all)
	} else if len(texts) > 1 {
		m.Foreign = utterance.ForeignRanges(texts)
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

// contentText returns the text of a content, which is a string or a list of parts; one line per text part.
func contentText(content gjson.Result) string {
	var b messageContent
	b.readParts(content, "text")
	return strings.Join(b.texts, "\n")
}

// HasServerHistory reports whether the request continues messages that the upstream has stored.
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

// HasSingleMessage reports whether the request has one user message and otherwise only system messages.
func (c *Chat) HasSingleMessage() bool {
	last := c.LastUser()
	return last >= 0 && !slices.ContainsFunc(c.Messages, func(m Message) bool { return m.Role != memory.RoleSystem && m.span != c.Messages[last].span })
}

// Question returns the user's own words, one line per message: those of all user messages since the last
// answer, and those of earlier messages until there are minMessages lines. If no message has words of the
// user's own, as in an agent's request, it returns the text of the last user message.
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

// InToolLoop reports whether answers or tool results follow the last user message, as while an agent works.
func (c *Chat) InToolLoop() bool {
	last := c.LastUser()
	return last >= 0 && slices.ContainsFunc(c.Messages[last+1:], func(m Message) bool { return m.Role != memory.RoleSystem })
}
