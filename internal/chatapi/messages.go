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
// In this API a user message contains tool results. Each result is read as a separate message with the role
// tool, as in chat completions, so a message with only results is not read as a user message.
var Messages = &Dialect{
	Path: "/v1/messages", AnswerIDPrefix: "msg_", RequestIDHeader: "Request-Id",
	Decode: decodeMessages, readAnswer: readMessagesAnswer,
	EncodeError: encodeMessagesError,
	readEvent:   (*Stream).readMessagesEvent, isLastEvent: isMessagesEnd,
}

func decodeMessages(body []byte) (*Chat, error) {
	c, fields, err := readCommonFields(body)
	if err != nil {
		return nil, err
	}
	c.blockEdits, c.blockIsPart = messagesEdits, true
	c.User = stringOf(fieldOf(fields, "metadata").Get("user_id"))
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
	name         string
	value        gjson.Result
	insertOffset int // offset of the body's first field, before which a missing preface is inserted
}

// readPreface reads a request's preface and prepends it as a system message.
func (c *Chat) readPreface(fields []member, name string) {
	c.preface = preface{name: name, value: fieldOf(fields, name)}
	if len(fields) > 0 {
		c.preface.insertOffset = fields[0].key.from
	}
	if text := contentText(c.preface.value); text != "" {
		m := Message{Role: memory.RoleSystem, Text: text, Digest: digest(memory.RoleSystem, text, nil, "")}
		c.Messages = append([]Message{m}, c.Messages...)
	}
}

// readBlocks appends the messages that an element of the list contains: each tool result, and the remaining
// content. ok is false if the element has no role.
func (c *Chat) readBlocks(previous []Message, v gjson.Result) (out []Message, ok bool) {
	fields := members(v)
	role, content := fieldOf(fields, "role"), fieldOf(fields, "content")
	if role.Type != gjson.String {
		return previous, false
	}
	out = previous
	message := Message{Role: readRole(stringOf(role)), span: spanOf(v)}
	var b messageContent
	b.read(content, func(result Message) {
		out = append(out, result)
		message.resultsEnd = result.span.to
	})
	message.Text, message.textSpan, message.partSpans = strings.Join(b.texts, "\n"), b.firstTextSpan, b.partSpans
	c.cachedPrefix.addMessage(message, content, b.breakpointEnd)
	switch {
	case message.Role != memory.RoleUser:
		b.otherParts = nil // not in the digest, since a client may omit the model's own actions, such as a search
	case len(b.texts) > 0:
	case len(out) > len(previous):
		return out, true // an image next to a result is part of the result
	case b.hasWrapper && len(b.otherParts) == 0:
		message.Role = memory.RoleSystem
	}
	message.removeWrappers(b.texts, b.otherParts)
	message.folder = cmp.Or(message.folder, b.folder)
	message.setCalls(b.calls)
	message.Digest = digest(message.Role, message.Text, b.calls, "", b.otherParts...)
	return append(out, message), true
}

// cachedPrefix describes the beginning of a request that the provider caches.
type cachedPrefix struct {
	end      int     // offset of the end of the last part with a cache breakpoint; 0 means none
	nextUser Message // first user message that ends after the offset end; a block may follow the message's resultsEnd
}

// addMessage updates c for the next message of a request. breakpointEnd is the offset of the end of the
// message's last part with a breakpoint; 0 means none.
func (c *cachedPrefix) addMessage(m Message, content gjson.Result, breakpointEnd int) {
	if breakpointEnd > 0 {
		c.end, c.nextUser = breakpointEnd, Message{}
	}
	if c.end == 0 || c.nextUser.span.isSet() || m.Role != memory.RoleUser {
		return
	}
	if m.resultsEnd = max(m.resultsEnd, breakpointEnd); content.Type == gjson.String {
		m.textSpan = spanOf(content)
	}
	c.nextUser = m
}

// hasBreakpoint reports whether a part has a cache breakpoint.
func hasBreakpoint(fields []member) bool {
	v := fieldOf(fields, "cache_control")
	return v.Exists() && v.Type != gjson.Null
}

// messageContent holds the texts and calls of a message's content.
type messageContent struct {
	texts         []string // texts of the text parts
	firstTextSpan span     // span of the first text's JSON string
	partSpans     []span
	calls         []call
	otherParts    []string // raw JSON of parts without text, such as images
	itemRefs      []string // ids of items of earlier answers that the content refers to
	hasWrapper    bool     // a text part was omitted, because the client's program wrote it
	folder        string   // working directory named in the omitted text; "" means none
	breakpointEnd int      // offset of the end of the last part with a cache breakpoint; 0 means none
}

// read reads a content, which is a string or a list of blocks, and calls onResult with each tool result.
func (b *messageContent) read(content gjson.Result, onResult func(Message)) {
	if content.Type == gjson.String {
		b.addUserText(content)
		return
	}
	if !content.IsArray() {
		return
	}
	content.ForEach(func(_, v gjson.Result) bool {
		fields := members(v)
		kind := stringField(fields, "type")
		marked := hasBreakpoint(fields)
		if kind == "tool_result" {
			r, inside := readResult(v, fields)
			onResult(r)
			marked = marked || inside
		}
		if marked {
			b.breakpointEnd = spanOf(v).to
		}
		if kind == "tool_result" {
			return true
		}
		b.partSpans = append(b.partSpans, spanOf(v))
		switch text := fieldOf(fields, "text"); {
		case kind == "text" && text.Type == gjson.String:
			b.addUserText(text)
		case kind == "tool_use":
			b.calls = append(b.calls, call{stringField(fields, "id"), stringField(fields, "name"), strings.Clone(fieldOf(fields, "input").Raw)})
		case kind != "thinking" && kind != "redacted_thinking":
			b.otherParts = append(b.otherParts, withoutBreakpoint(v, fields))
		}
		return true
	})
}

// addUserText adds a text, unless the client's program wrote it rather than the user.
func (b *messageContent) addUserText(text gjson.Result) {
	if words := stringOf(text); strings.HasPrefix(strings.TrimSpace(words), "<") && utterance.WithoutWrappers(words) == "" {
		b.hasWrapper = true
		if folder := utterance.WorkingDirectory(words); folder != "" {
			b.folder = folder
		}
		return
	}
	b.addText(text)
}

func (b *messageContent) addText(text gjson.Result) {
	b.texts = append(b.texts, stringOf(text))
	if !b.firstTextSpan.isSet() {
		b.firstTextSpan = spanOf(text)
	}
}

// readResult reads a tool result, and reports whether it has a cache breakpoint.
func readResult(v gjson.Result, fields []member) (m Message, breakpoint bool) {
	m = Message{Role: memory.RoleTool, span: spanOf(v), callID: stringField(fields, "tool_use_id")}
	var b messageContent
	b.read(fieldOf(fields, "content"), func(Message) {})
	m.Text = strings.Join(b.texts, "\n")
	m.Digest = digest(m.Role, m.Text, nil, m.callID, b.otherParts...)
	return m, b.breakpointEnd > 0
}

// withoutBreakpoint returns a block without its cache breakpoint, which clients move from one request to the
// next.
func withoutBreakpoint(v gjson.Result, fields []member) string {
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

// messagesEdits returns the edits that insert the block into its user message, between tool results and text,
// or after the system prompt. The block follows the last cache breakpoint, so that the provider's cache of
// the preceding text stays valid.
func messagesEdits(c *Chat, b Block, p Placement) []edit {
	m, block := c.Messages[b.MessageIndex], b.Text
	if b.Part != Unplaced {
		return m.reinsertEdits(b)
	}
	if c.cachedPrefix.end > 0 {
		if m.span.from < c.cachedPrefix.end {
			m = c.cachedPrefix.nextUser
		}
		if edits := m.insertFirstEdits(block, "text"); edits != nil {
			return edits
		}
		m = c.Messages[b.MessageIndex] // no user message follows the breakpoint
	}
	switch {
	case p == System:
		if edits := c.insertAfterPrefaceEdits(block, true); edits != nil {
			return edits
		}
	case p == User && m.textSpan.from > m.resultsEnd:
		return m.insertAtStartEdits(block, "text")
	}
	return m.insertFirstEdits(block, "text")
}

// reinsertEdits returns the edits that insert the block of an earlier request at its former position in m.
func (m Message) reinsertEdits(b Block) []edit {
	part := textPart("text", b.Text)
	switch n := len(m.partSpans); {
	case b.Part == InText && m.textSpan.from > m.resultsEnd:
		return m.insertAtStartEdits(b.Text, "text")
	case b.Part <= 0:
	case b.Part < n && m.partSpans[b.Part].from > m.resultsEnd:
		return []edit{insertion(m.partSpans[b.Part].from, part+",")}
	case b.Part >= n && n > 0 && m.partSpans[n-1].to > m.resultsEnd:
		return []edit{insertion(m.partSpans[n-1].to, ","+part)}
	case n == 0 && m.textSpan.isSet(): // the client now sends a text in place of parts, without a breakpoint
		return []edit{insertion(m.textSpan.from, `[{"type":"text","text":`), insertion(m.textSpan.to, `},`+part+`]`)}
	}
	return m.insertFirstEdits(b.Text, "text")
}

// insertFirstEdits returns the edits that insert the block, as a part of the given kind, before the message's
// own parts; a string becomes a list of parts. It returns nil for an empty message.
func (m Message) insertFirstEdits(block, kind string) []edit {
	part := textPart(kind, block)
	for _, at := range m.partSpans {
		if at.from > m.resultsEnd {
			return []edit{insertion(at.from, part+",")}
		}
	}
	switch {
	case m.resultsEnd > 0:
		return []edit{insertion(m.resultsEnd, ","+part)}
	case m.textSpan.isSet():
		return []edit{insertion(m.textSpan.from, `[`+part+`,{"type":`+quote(kind)+`,"text":`), insertion(m.textSpan.to, `}]`)}
	}
	return nil
}

// insertAfterPrefaceEdits returns the edits that insert the block after the preface; as a separate part if asPart
// is true, so that the provider's cache stays valid. It returns nil if the preface is neither text nor parts.
func (c *Chat) insertAfterPrefaceEdits(block string, asPart bool) []edit {
	at, v := spanOf(c.preface.value), c.preface.value
	switch {
	case !v.Exists():
		return []edit{insertion(c.preface.insertOffset, quote(c.preface.name)+":"+quote(block)+",")}
	case v.Type == gjson.Null:
		return []edit{{at, quote(block)}}
	case v.Type == gjson.String && unescaped(v) == "":
		return []edit{insertion(at.to-1, escapeInString(block))}
	case v.Type == gjson.String && !asPart:
		return []edit{insertion(at.to-1, escapeInString("\n\n"+block))}
	case v.Type == gjson.String:
		return []edit{insertion(at.from, `[{"type":"text","text":`), insertion(at.to, `},`+textPart("text", block)+`]`)}
	case v.IsArray() && asPart && v.Get("#").Int() == 0:
		return []edit{insertion(at.to-1, textPart("text", block))}
	case v.IsArray() && asPart:
		return []edit{insertion(at.to-1, ","+textPart("text", block))}
	}
	return nil
}
