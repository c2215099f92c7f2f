package sqlstore

import (
	"encoding/binary"
	"slices"

	"github.com/loci-memory/loci/memory"
)

// kept is what an id stands for. Most are turns, which are kept as one text, less
// than half of what the values take; copying is reading it then.
type kept struct {
	turn string          // as packTurn writes it; "": see others
	rest []memory.Memory // not to be written to
}

func keptOf(memories []memory.Memory) kept {
	if len(memories) == 1 && memories[0].Turn != nil {
		return kept{turn: packTurn(memories[0].Turn)}
	}
	return kept{rest: copyMemories(memories)}
}

// appendTo adds copies.
func (k kept) appendTo(memories []memory.Memory, owner memory.Owner) []memory.Memory {
	if k.turn != "" {
		return append(memories, memory.Memory{Turn: unpackTurn(owner, k.turn)})
	}
	return append(memories, copyMemories(k.rest)...)
}

// size estimates what it takes with its place in a generation.
func (k kept) size(key memoryKey) int {
	const place, fields = 100, 600 // of the map's, and of a fact
	n := place + len(k.turn)
	for _, m := range k.rest {
		n += fields + len(key.id) + len(m.Content())
		if f := m.Fact; f != nil {
			n += len(f.Metadata) + 40*len(f.Provenance.Turns)
		}
	}
	return n
}

// Flags of a packed turn.
const (
	noLearn = 1 << iota
	history
)

// packTurn writes all of a turn but its owner, the id first.
func packTurn(t *memory.Turn) string {
	flags := int64(0)
	if t.NoLearn {
		flags |= noLearn
	}
	if t.History {
		flags |= history
	}
	b := make([]byte, 0, 512+len(t.Content))
	for _, s := range [...]string{t.ID, t.Conversation, t.Project, t.Agent, t.Parent, t.Chain, string(t.Role), t.Name, t.Content, t.Ref, string(t.Status), t.Given, string(t.Foreign)} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	for _, n := range [...]int64{int64(t.Index), micros(t.CreatedAt), micros(t.RecordedAt), micros(t.LearnedAt), flags, t.Version} {
		b = binary.AppendUvarint(b, uint64(n)) //nolint:gosec // and back again
	}
	return string(b)
}

// unpackTurn reads what packTurn wrote. The turn's texts are parts of packed.
func unpackTurn(owner memory.Owner, packed string) *memory.Turn {
	u := unpacker(packed)
	t := &memory.Turn{
		Owner: owner, ID: u.text(), Conversation: u.text(), Project: u.text(), Agent: u.text(), Parent: u.text(), Chain: u.text(),
		Role: memory.Role(u.text()), Name: u.text(), Content: u.text(), Ref: u.text(), Status: memory.Status(u.text()), Given: u.text(), Foreign: memory.Ranges(u.text()),
		Index: int(u.number()), CreatedAt: fromMicros(u.number()), RecordedAt: fromMicros(u.number()), LearnedAt: fromMicros(u.number()),
	}
	flags := u.number()
	t.NoLearn, t.History, t.Version = flags&noLearn != 0, flags&history != 0, u.number()
	return t
}

type unpacker string

func (u *unpacker) number() int64 {
	var n uint64
	for i := range len(*u) {
		c := (*u)[i]
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			*u = (*u)[i+1:]
			break
		}
	}
	return int64(n) //nolint:gosec // it was one
}

func (u *unpacker) text() string {
	n := u.number()
	s := (*u)[:n]
	*u = (*u)[n:]
	return string(s)
}

// copyMemories returns copies that share nothing that can be written to.
func copyMemories(in []memory.Memory) []memory.Memory {
	out := make([]memory.Memory, len(in))
	for i, m := range in {
		switch {
		case m.Link != nil:
			l := *m.Link
			l.Fact = copyFact(l.Fact)
			out[i] = memory.Memory{Fact: &l.Fact, Link: &l}
		case m.Fact != nil:
			f := copyFact(*m.Fact)
			out[i] = memory.Memory{Fact: &f}
		case m.Turn != nil:
			t := *m.Turn
			out[i] = memory.Memory{Turn: &t}
		case m.Summary != nil:
			s := *m.Summary
			out[i] = memory.Memory{Summary: &s}
		}
	}
	return out
}

func copyFact(f memory.Fact) memory.Fact {
	f.Tags, f.Metadata, f.Provenance.Turns = slices.Clone(f.Tags), slices.Clone(f.Metadata), slices.Clone(f.Provenance.Turns)
	if f.Provenance.Quote != nil {
		quote := *f.Provenance.Quote
		f.Provenance.Quote = &quote
	}
	return f
}
