package chatapi

import (
	"bytes"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// Placement is the position of the memory block in a request.
type Placement string

// Placements of the memory block.
const (
	// Tail is a separate system message just before the last user message.
	Tail Placement = "tail"
	// System is the end of the first system message, or a new system message at the beginning.
	System Placement = "system"
	// User is the beginning of the last user message.
	User Placement = "user"
)

// Block is the text with memories for one of the user's messages in a request.
type Block struct {
	Text         string
	MessageIndex int // index of the message in [Chat.Messages]
	Part         int // number of the message's parts before the block (see [Chat.BlockPart]), or [InText] or [Unplaced]
}

// Special values of [Block.Part].
const (
	InText   = -1 // at the beginning of the message's text
	Unplaced = -2 // the block has no position in its message yet
)

// WithoutExtras returns the client's bytes without the fields of [Extras]. If there are no such fields, it
// returns the body itself.
func (c *Chat) WithoutExtras() []byte { return splice(c.body, c.removals...) }

// WithBlock returns the request with the block, with the blocks of earlier requests at their former
// positions, and without the fields of [Extras]; every other byte is unchanged. It does not insert an empty
// block. Into a request without a user message it inserts only a [System] block, and only if the request
// continues a stored answer.
func (c *Chat) WithBlock(block string, p Placement, earlier ...Block) []byte {
	edits := slices.Clone(c.removals)
	for _, b := range earlier {
		edits = append(edits, c.blockEditsFor(b, p)...)
	}
	if block != "" && c.canInsertBlock(p) {
		edits = append(edits, c.blockEditsFor(Block{block, c.LastUser(), Unplaced}, p)...)
	}
	return splice(c.body, edits...)
}

func (c *Chat) blockEditsFor(b Block, p Placement) []edit {
	if c.blockEdits == nil {
		return completionsEdits(c, b, p)
	}
	return c.blockEdits(c, b, p)
}

// BlockPart returns the value of [Block.Part] for a block that [Chat.WithBlock] inserts into the last user
// message, so that a later request can insert the block at the same position. It returns [Unplaced] if the
// block is placed outside that message.
func (c *Chat) BlockPart(p Placement) int {
	last := c.LastUser()
	if last < 0 || p == System {
		return Unplaced
	}
	if !c.blockIsPart {
		return 0
	}
	edits := c.blockEditsFor(Block{"x", last, Unplaced}, p)
	m := c.Messages[last]
	switch {
	case len(edits) == 0 || edits[0].from <= m.span.from || edits[0].from >= m.span.to:
		return Unplaced
	case m.textSpan.from < edits[0].from && edits[0].from < m.textSpan.to:
		return InText
	}
	before := 0
	for _, part := range m.partSpans {
		if part.to <= edits[0].from {
			before++
		}
	}
	return before
}

// ContainsText reports whether the request contains a text. A client may resend a block that Loci inserted.
func (c *Chat) ContainsText(text string) bool {
	return slices.ContainsFunc(c.Messages, func(m Message) bool { return strings.Contains(m.Text, text) }) ||
		bytes.Contains(c.body, []byte(escapeInString(text)))
}

// canInsertBlock reports whether a block can be inserted into the request.
func (c *Chat) canInsertBlock(p Placement) bool {
	return c.LastUser() >= 0 || p == System && c.PreviousAnswerID != "" && len(c.Messages) > 0
}

func completionsEdits(c *Chat, b Block, p Placement) []edit {
	switch p {
	case System:
		return []edit{c.appendToSystemEdit(b.Text)}
	case User:
		return c.Messages[b.MessageIndex].insertAtStartEdits(b.Text, "text")
	}
	return []edit{c.insertBeforeEdit(c.positionOutsideCalls(b.MessageIndex), b.Text)}
}

// positionOutsideCalls returns i or, if message i is between a tool call and its result, the index of the message
// with the call. A message inserted before the returned index does not separate a call from its result.
func (c *Chat) positionOutsideCalls(i int) int {
	if c.cachedResultIndexes == nil {
		c.cachedResultIndexes = c.lastResultIndexes()
	}
	for j := i - 1; j >= 0; j-- {
		if c.cachedResultIndexes[j] >= i {
			i = j
		}
	}
	return i
}

// lastResultIndexes returns, for each message, the index of the last message with a result of one of the
// message's calls, 0 if there is none. Results without an id belong to calls without an id.
func (c *Chat) lastResultIndexes() []int {
	resultIndexes := make([]int, len(c.Messages))
	callers := map[string]int{} // index of the message with the latest call, by call id
	for i, m := range c.Messages {
		for _, id := range m.callIDs {
			callers[id] = i
		}
		if j, ok := callers[m.callID]; ok && m.Role == memory.RoleTool {
			resultIndexes[j] = i
		}
	}
	return resultIndexes
}

// insertBeforeEdit returns the edit that inserts the block as a system message before message i.
func (c *Chat) insertBeforeEdit(i int, block string) edit {
	return insertion(c.Messages[i].span.from, `{"role":"system","content":`+quote(block)+`},`)
}

func (c *Chat) appendToSystemEdit(block string) edit {
	for _, m := range c.Messages {
		if m.Role != memory.RoleSystem {
			continue
		}
		switch {
		case len(m.partSpans) > 0:
			return insertion(m.partSpans[len(m.partSpans)-1].to, ","+textPart("text", block))
		case m.textSpan.isSet():
			if m.Text != "" {
				block = "\n\n" + block
			}
			return insertion(m.textSpan.to-1, escapeInString(block))
		}
	}
	return c.insertBeforeEdit(0, block)
}

// insertAtStartEdits returns the edits that insert the block before the message's text or, if there is no
// text, before its parts, as a part of the given kind. It returns nil for an empty message.
func (m Message) insertAtStartEdits(block, kind string) []edit {
	switch {
	case m.textSpan.isSet():
		return []edit{insertion(m.textSpan.from+1, escapeInString(block+"\n\nCurrent message: "))}
	case len(m.partSpans) > 0:
		return []edit{insertion(m.partSpans[0].from, textPart(kind, block)+",")}
	}
	return nil
}

func textPart(kind, text string) string {
	return `{"type":` + quote(kind) + `,"text":` + quote(text) + `}`
}

// escapeInString escapes s for use inside a JSON string.
func escapeInString(s string) string {
	q := quote(s)
	return q[1 : len(q)-1]
}
