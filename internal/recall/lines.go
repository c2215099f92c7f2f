package recall

import (
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// Line is a line of a block without its words: what is needed to write it again, byte for byte,
// from what memory holds. It is kept where words must not be.
type Line struct {
	Kind  memory.Kind  `json:"k"`
	ID    string       `json:"i,omitempty"`
	Owner memory.Owner `json:"o,omitempty"` // whose memory it is, if not the asker's
	Core  bool         `json:"c,omitempty"` // it was not searched for
	Date  string       `json:"d,omitempty"`

	Heading Heading `json:"g,omitempty"` // that it stands under

	Now    []Line `json:"n,omitempty"` // the facts that took its place, as the line says
	Before []Line `json:"b,omitempty"` // the facts whose place it took, as the line says

	// Disputed is the fact that waits for a person to take its place, as the line says.
	Disputed *Line `json:"w,omitempty"`

	// Sum tells whether the words changed since. It has so few bits that nobody can check a
	// guess of the words with it. 0: the line is in an earlier block.
	Sum uint16 `json:"s,omitempty"`
}

// said is a line with its words.
type said struct {
	Line
	text string
	mark string // what it says of a dispute
}

// disputed says that a fact waits to take the place of the line's.
func (s said) disputed(waits memory.Fact) said {
	s.Disputed = &Line{Kind: memory.KindFact, ID: waits.ID, Sum: Sum(waits.Content)}
	s.mark = dispute(waits.Content)
	return s
}

func lineOfHit(h memory.Hit, role bool) said {
	m := h.Memory
	l := Line{Kind: m.Kind(), ID: m.ID(), Date: dateOf(m)}
	if m.Link == nil {
		l.Owner = m.Scope().Owner
	}
	words := line(m, l.Date, role)
	for _, f := range h.Now {
		l.Now = append(l.Now, Line{Kind: memory.KindFact, ID: f.ID, Date: day(f.ObservedAt)})
		words += since(day(f.ObservedAt), f.Content)
	}
	for _, f := range h.Before {
		l.Before = append(l.Before, Line{Kind: memory.KindFact, ID: f.ID, Date: day(Until(f))})
		words += until(day(Until(f)), f.Content)
	}
	l.Sum = Sum(words)
	return said{Line: l, text: words}
}

func lineOfCore(m memory.Memory, under Heading, role bool) said {
	words := coreLine(m, role)
	return said{Line: Line{Kind: m.Kind(), ID: m.ID(), Core: true, Heading: under, Sum: Sum(words)}, text: words}
}

// coreLine is how a memory stands in the core: without a date, and without the user, of whom it is.
func coreLine(m memory.Memory, role bool) string {
	if m.Fact != nil && m.Link == nil {
		f := *m.Fact
		for _, user := range [...]string{"User ", "User's ", "The user ", "The user's "} {
			if rest, is := strings.CutPrefix(f.Content, user); is {
				f.Content = rest
				break
			}
		}
		m.Fact = &f
	}
	return line(m, "", role)
}

func lineOfEntry(e memory.ProfileEntry) said {
	words := "- " + EntryText(e)
	return said{Line: Line{Kind: KindProfile, ID: entryID(e.Key), Heading: ofProfile, Sum: Sum(words)}, text: words}
}

// entryID names a profile entry, whose key is words.
func entryID(key string) string { return strconv.Itoa(int(Sum(key))) }

// Sum returns a checksum of words, never 0.
func Sum(words string) uint16 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(words)) // never fails
	n := h.Sum32()
	return max(1, uint16(n)^uint16(n>>16)) //nolint:gosec // the low bits are meant
}

// Sources are the memories that lines are written from, by id.
type Sources struct {
	Memories map[string]memory.Memory
	Profile  []memory.ProfileEntry
}

// RenderLines writes a block again. What is not known any more, or has other words, is left
// out; kept are the lines that are not, and core is how many tokens those of the core have.
func RenderLines(lines []Line, from Sources, o RenderOptions) (block string, kept []Line, core int) {
	var all []said
	for _, l := range lines {
		if words, ok := l.words(from, o.Roles); ok && l.Sum == Sum(words) {
			if l.Heading > 0 {
				core += tokensOfLine(words)
			}
			l = from.Settled(l)
			mark := ""
			if l.Disputed != nil {
				mark = dispute(from.Memories[l.Disputed.ID].Content())
			}
			all, kept = append(all, said{l, words, mark}), append(kept, l)
		}
	}
	return o.block(all), kept, core
}

// words writes a line; it is false where what it says is not known any more.
func (l Line) words(from Sources, role bool) (string, bool) {
	if l.Kind == KindProfile {
		for _, e := range from.Profile {
			if entryID(e.Key) == l.ID {
				return "- " + EntryText(e), true
			}
		}
		return "", false
	}
	m, ok := from.Find(l)
	if !ok {
		return "", false
	}
	if l.Core {
		return coreLine(m, role), true
	}
	var b strings.Builder
	b.WriteString(line(m, l.Date, role))
	for _, n := range l.Now {
		now, ok := from.Find(n)
		if !ok && n.ID != "" {
			return "", false
		}
		content := ""
		if ok {
			content = now.Content()
		}
		b.WriteString(since(n.Date, content))
	}
	for _, o := range l.Before {
		old, ok := from.Find(o)
		if !ok {
			return "", false
		}
		b.WriteString(until(o.Date, old.Content()))
	}
	return b.String(), true
}

// Find returns the memory of a line. What was forgotten, rejected or hidden is not known; what
// another took the place of is.
func (from Sources) Find(l Line) (memory.Memory, bool) {
	m, ok := from.Memories[l.ID]
	if !ok || m.Kind() != l.Kind {
		return m, false
	}
	switch m.Status() {
	case memory.Active:
		return m, true
	case memory.Superseded:
		return m, m.Fact != nil
	}
	return m, false
}

// Settled returns a line without a dispute over a fact that was forgotten, rejected or edited.
func (from Sources) Settled(l Line) Line {
	if l.Disputed != nil {
		m, ok := from.Memories[l.Disputed.ID]
		lives := ok && (m.Status() == memory.Pending || m.Status() == memory.Active || m.Status() == memory.Superseded)
		if !lives || Sum(m.Content()) != l.Disputed.Sum {
			l.Disputed = nil
		}
	}
	return l
}

// IDs calls yield for each memory that the line is written from.
func (l Line) IDs(yield func(owner memory.Owner, id string)) {
	if l.ID != "" && l.Kind != KindProfile {
		yield(l.Owner, l.ID)
	}
	if l.Disputed != nil {
		l.Disputed.IDs(yield)
	}
	for _, refs := range [][]Line{l.Now, l.Before} {
		for _, r := range refs {
			r.IDs(yield)
		}
	}
}
