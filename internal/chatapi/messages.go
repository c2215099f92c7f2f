package chatapi

import (
	"cmp"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/loci-memory/loci/internal/utterance"
	"github.com/loci-memory/loci/memory"
)

// Messages is the dialect of Anthropic's Messages API.
//
// Tool results are in the user's messages. Each result is read as a separate message with the role tool. A
// message with only results then follows the user's last message, as in chat completions.
var Messages = &Dialect{
	Path: "/v1/messages", AnswerID: "msg_", RequestID: "Request-Id",
	Decode: decodeMessages, read: readMessagesAnswer,
	EncodeError: encodeMessagesError,
	hear:        (*Stream).hearMessages, ends: endsMessages,
}

func decodeMessages(body []byte) (*Chat, error) {
	c, fields, err := readOuter(body)
	if err != nil {
		return nil, err
	}
	c.put, c.inParts = putMessages, true
	c.User = str(fieldOf(fields, "metadata").Get("user_id"))
	list, err := messagesOf(fields)
	if err != nil {
		return nil, err
	}
	if c.Messages, err = readMessages(list, c.readBlocks); err != nil {
		return nil, err
	}
	c.readPreface(fields, "system")
	return c, nil
}

// preface is the request's field for instructions outside its messages, such as system.
type preface struct {
	name  string
	value gjson.Result
	front int
}

// readPreface reads a request's preface and prepends it as a system message.
func (c *Chat) readPreface(fields []member, name string) {
	c.preface = preface{name: name, value: fieldOf(fields, name)}
	if len(fields) > 0 {
		c.preface.front = fields[0].key.from
	}
	if text := contentText(c.preface.value); text != "" {
		m := Message{Role: memory.RoleSystem, Text: text, Digest: digest(memory.RoleSystem, text, nil, "")}
		c.Messages = append([]Message{m}, c.Messages...)
	}
}

// readBlocks appends the messages contained in one element: each tool result, and the remaining content. It
// returns false if the element has no role.
func (c *Chat) readBlocks(to []Message, v gjson.Result) (out []Message, ok bool) {
	fields := members(v)
	role, content := fieldOf(fields, "role"), fieldOf(fields, "content")
	if role.Type != gjson.String {
		return to, false
	}
	out = to
	message := Message{Role: readRole(str(role)), at: spanOf(v)}
	var b blocks
	b.read(content, func(result Message) {
		out = append(out, result)
		message.behind = result.at.to
	})
	message.Text, message.text, message.parts = strings.Join(b.lines, "\n"), b.first, b.parts
	c.cached.read(message, content, b.marked)
	switch {
	case message.Role != memory.RoleUser:
		b.others = nil // the client may omit the model's own actions, such as a search
	case len(b.lines) > 0:
	case len(out) > len(to):
		return out, true // an image next to a result is part of the result
	case b.wrapped && len(b.others) == 0:
		message.Role = memory.RoleSystem
	}
	message.unwrap(b.lines, b.others)
	message.folder = cmp.Or(message.folder, b.folder)
	message.setCalls(b.calls)
	message.Digest = digest(message.Role, message.Text, b.calls, "", b.others...)
	return append(out, message), true
}

// cachedPrefix describes the beginning of a request that the provider caches.
type cached struct {
	end  int     // end of the last part with a cache breakpoint; 0 means none
	next Message // the user's first message that ends after the breakpoint; a block may be inserted at its resultsEnd
}

// read reads the next message of a request. breakpoint is the end of its last part with a breakpoint; 0 means
// none.
func (c *cached) read(m Message, content gjson.Result, marked int) {
	if marked > 0 {
		c.end, c.next = marked, Message{}
	}
	if c.end == 0 || c.next.at.found() || m.Role != memory.RoleUser {
		return
	}
	if m.behind = max(m.behind, marked); content.Type == gjson.String {
		m.text = spanOf(content)
	}
	c.next = m
}

// hasBreakpoint reports whether a part has a cache breakpoint.
func isMarked(fields []member) bool {
	v := fieldOf(fields, "cache_control")
	return v.Exists() && v.Type != gjson.Null
}

// messageContent holds the texts and calls of a message's content.
type blocks struct {
	lines   []string
	first   span // JSON string of the first line
	parts   []span
	calls   []call
	others  []string // raw JSON of parts without text, such as images
	refs    []string // ids of items of earlier answers that the content refers to
	wrapped bool     // the client wrote some of the texts
	folder  string   // working directory named in those texts
	marked  int      // end of the last part with a cache breakpoint; 0 means none
}

// read reads a content, which is a string or a list of blocks, and calls onResult with each tool result.
func (b *blocks) read(content gjson.Result, result func(Message)) {
	if content.Type == gjson.String {
		b.say(content)
		return
	}
	if !content.IsArray() {
		return
	}
	content.ForEach(func(_, v gjson.Result) bool {
		fields := members(v)
		kind := strOf(fields, "type")
		marked := isMarked(fields)
		if kind == "tool_result" {
			r, inside := readResult(v, fields)
			result(r)
			marked = marked || inside
		}
		if marked {
			b.marked = spanOf(v).to
		}
		if kind == "tool_result" {
			return true
		}
		b.parts = append(b.parts, spanOf(v))
		switch text := fieldOf(fields, "text"); {
		case kind == "text" && text.Type == gjson.String:
			b.say(text)
		case kind == "tool_use":
			b.calls = append(b.calls, call{strOf(fields, "id"), strOf(fields, "name"), strings.Clone(fieldOf(fields, "input").Raw)})
		case kind != "thinking" && kind != "redacted_thinking":
			b.others = append(b.others, uncached(v, fields))
		}
		return true
	})
}

// addUserText adds a text, unless the client's program wrote it instead of the user.
func (b *blocks) say(text gjson.Result) {
	if words := str(text); strings.HasPrefix(strings.TrimSpace(words), "<") && utterance.Words(words) == "" {
		b.wrapped = true
		if folder := utterance.Folder(words); folder != "" {
			b.folder = folder
		}
		return
	}
	b.add(text)
}

func (b *blocks) add(text gjson.Result) {
	b.lines = append(b.lines, str(text))
	if !b.first.found() {
		b.first = spanOf(text)
	}
}

// readResult reads a tool result, and reports whether it has a cache breakpoint.
func readResult(v gjson.Result, fields []member) (m Message, marked bool) {
	m = Message{Role: memory.RoleTool, at: spanOf(v), callID: strOf(fields, "tool_use_id")}
	var b blocks
	b.read(fieldOf(fields, "content"), func(Message) {})
	m.Text = strings.Join(b.lines, "\n")
	m.Digest = digest(m.Role, m.Text, nil, m.callID, b.others...)
	return m, b.marked > 0
}

// withoutBreakpoint returns a block without its cache breakpoint, which clients move from one request to the
// next.
func uncached(v gjson.Result, fields []member) string {
	if !v.IsObject() {
		return v.Raw
	}
	var b strings.Builder
	for _, f := range fields {
		if f.name != "cache_control" {
			b.WriteString(quote(f.name) + ":" + f.value.Raw + ",")
		}
	}
	return b.String()
}

// messagesEdits inserts the block into the last user message, between tool results and text, or after the
// system prompt. The block always follows the last cache breakpoint, so that the provider's cache stays
// valid.
func putMessages(c *Chat, b Block, p Placement) []edit {
	m, block := c.Messages[b.Message], b.Text
	if b.Part != Unplaced {
		return m.back(b)
	}
	if c.cached.end > 0 {
		if m.at.from < c.cached.end {
			m = c.cached.next
		}
		if edits := m.lead(block, "text"); edits != nil {
			return edits
		}
		m = c.Messages[b.Message] // the request ends with a message of the model
	}
	switch {
	case p == System:
		if edits := c.prefaceWith(block, true); edits != nil {
			return edits
		}
	case p == User && m.text.from > m.behind:
		return m.prefix(block, "text")
	}
	return m.lead(block, "text")
}

// reinsert inserts the block of an earlier request at its former position in the message.
func (m Message) back(b Block) []edit {
	part := textPart("text", b.Text)
	switch n := len(m.parts); {
	case b.Part == InWords && m.text.from > m.behind:
		return m.prefix(b.Text, "text")
	case b.Part <= 0:
	case b.Part < n && m.parts[b.Part].from > m.behind:
		return []edit{insert(m.parts[b.Part].from, part+",")}
	case b.Part >= n && n > 0 && m.parts[n-1].to > m.behind:
		return []edit{insert(m.parts[n-1].to, ","+part)}
	case n == 0 && m.text.found(): // the client replaced a part by a text without a breakpoint
		return []edit{insert(m.text.from, `[{"type":"text","text":`), insert(m.text.to, `},`+part+`]`)}
	}
	return m.lead(b.Text, "text")
}

// insertFirst inserts the block, as a part of the given kind, before the message's own parts; a string
// becomes a list of parts. It changes nothing in an empty message.
func (m Message) lead(block, kind string) []edit {
	part := textPart(kind, block)
	for _, at := range m.parts {
		if at.from > m.behind {
			return []edit{insert(at.from, part+",")}
		}
	}
	switch {
	case m.behind > 0:
		return []edit{insert(m.behind, ","+part)}
	case m.text.found():
		return []edit{insert(m.text.from, `[`+part+`,{"type":`+quote(kind)+`,"text":`), insert(m.text.to, `}]`)}
	}
	return nil
}

// insertAfterPreface inserts the block after the preface, as a separate part if asPart is true, so that the
// provider's cache stays valid. It returns nil if the preface is neither text nor parts.
func (c *Chat) prefaceWith(block string, parts bool) []edit {
	at, v := spanOf(c.preface.value), c.preface.value
	switch {
	case !v.Exists():
		return []edit{insert(c.preface.front, quote(c.preface.name)+":"+quote(block)+",")}
	case v.Type == gjson.Null:
		return []edit{{at, quote(block)}}
	case v.Type == gjson.String && unescaped(v) == "":
		return []edit{insert(at.to-1, inside(block))}
	case v.Type == gjson.String && !parts:
		return []edit{insert(at.to-1, inside("\n\n"+block))}
	case v.Type == gjson.String:
		return []edit{insert(at.from, `[{"type":"text","text":`), insert(at.to, `},`+textPart("text", block)+`]`)}
	case v.IsArray() && parts && v.Get("#").Int() == 0:
		return []edit{insert(at.to-1, textPart("text", block))}
	case v.IsArray() && parts:
		return []edit{insert(at.to-1, ","+textPart("text", block))}
	}
	return nil
}
