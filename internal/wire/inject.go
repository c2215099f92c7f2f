package wire

import (
	"slices"

	"github.com/loci-memory/loci/memory"
)

// Placement is where in a request the memory block goes.
type Placement string

// The placements.
const (
	// Tail is a system message of its own just before the last user message.
	Tail Placement = "tail"
	// System is the end of the first system message, or a new one at the front.
	System Placement = "system"
	// User is the front of the last user message.
	User Placement = "user"
)

// Bare returns the client's own bytes without Loci's fields: the very slice that
// was decoded when there are none.
func (c *Chat) Bare() []byte { return splice(c.body, c.cuts...) }

// With returns the request with block put in its place and without Loci's
// fields; every other byte is the client's own. Without a user message, or
// without a block, it is [Chat.Bare]; but where the server keeps the user's message and
// not what was said to the model beside it, [System] is as with one.
func (c *Chat) With(block string, p Placement) []byte {
	if block == "" || !c.takes(p) {
		return c.Bare()
	}
	put := c.put
	if put == nil {
		put = putCompletions
	}
	return splice(c.body, slices.Concat(c.cuts, put(c, block, p))...)
}

// takes reports whether a block belongs into the request.
func (c *Chat) takes(p Placement) bool {
	return c.LastUser() >= 0 || p == System && c.Previous != "" && len(c.Messages) > 0
}

func putCompletions(c *Chat, block string, p Placement) []edit {
	last := c.LastUser()
	switch p {
	case System:
		return []edit{c.system(block)}
	case User:
		return c.Messages[last].prefix(block, "text")
	}
	return []edit{c.before(c.outsideCalls(last), block)}
}

// outsideCalls returns the last place at or before message i that does not stand
// between a tool call and its result. It is i unless the client put a user
// message in there.
func (c *Chat) outsideCalls(i int) int {
	answered := c.answered()
	for j := i - 1; j >= 0; j-- {
		if answered[j] >= i {
			i = j
		}
	}
	return i
}

// answered returns for each message the last one that holds a result of a call
// it makes, 0 if none does. Calls without an id are answered by results without.
func (c *Chat) answered() []int {
	answered := make([]int, len(c.Messages))
	open := map[string]int{} // the message that made the latest call of this id
	for i, m := range c.Messages {
		for _, id := range m.calls {
			open[id] = i
		}
		if j, ok := open[m.callID]; ok && m.Role == memory.RoleTool {
			answered[j] = i
		}
	}
	return answered
}

// before puts the block as a system message in front of message i.
func (c *Chat) before(i int, block string) edit {
	return insert(c.Messages[i].at.from, `{"role":"system","content":`+quote(block)+`},`)
}

func (c *Chat) system(block string) edit {
	for _, m := range c.Messages {
		if m.Role != memory.RoleSystem {
			continue
		}
		switch {
		case len(m.parts) > 0:
			return insert(m.parts[len(m.parts)-1].to, ","+textPart("text", block))
		case m.text.found():
			if m.Text != "" {
				block = "\n\n" + block
			}
			return insert(m.text.to-1, inside(block))
		}
	}
	return c.before(0, block)
}

// prefix puts the block in front of the message's words or, where it has none, in
// front of its parts, as one of that kind; nowhere in an empty message.
func (m Message) prefix(block, kind string) []edit {
	switch {
	case m.text.found():
		return []edit{insert(m.text.from+1, inside(block+"\n\nCurrent message: "))}
	case len(m.parts) > 0:
		return []edit{insert(m.parts[0].from, textPart(kind, block)+",")}
	}
	return nil
}

func textPart(kind, text string) string {
	return `{"type":` + quote(kind) + `,"text":` + quote(text) + `}`
}

// inside is what s is within a JSON string.
func inside(s string) string {
	q := quote(s)
	return q[1 : len(q)-1]
}
