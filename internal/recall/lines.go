package recall

import (
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// Line is a line of a block without its text, for storage that must not contain text. A line and its
// memories render the same bytes again.
type Line struct {
	Kind   memory.Kind  `json:"k"`
	ID     string       `json:"i,omitempty"`
	Owner  memory.Owner `json:"o,omitempty"` // owner of the memory; "" means the requesting user
	IsCore bool         `json:"c,omitempty"` // the line belongs to the core, not to the search results
	Date   string       `json:"d,omitempty"`

	Heading Heading `json:"g,omitempty"` // group of the line in the core

	Replacements []Line `json:"n,omitempty"` // the facts that replaced the line's fact, as shown in the line
	Replaced     []Line `json:"b,omitempty"` // the facts that the line's fact replaced, as shown in the line

	// DisputedBy is the pending fact that would replace the line's fact, as shown in the line.
	DisputedBy *Line `json:"w,omitempty"`

	// Checksum is a checksum of the text, too short to verify a guess of the text. 0 means that an earlier block
	// has the line.
	Checksum uint16 `json:"s,omitempty"`
}

// renderedLine is a line with its text.
type renderedLine struct {
	Line
	text        string
	disputeMark string // text that marks the fact as disputed, or ""
}

// withDispute returns the line with the mark for the pending fact that would replace its fact.
func (s renderedLine) withDispute(pending memory.Fact) renderedLine {
	s.DisputedBy = &Line{Kind: memory.KindFact, ID: pending.ID, Checksum: Checksum(pending.Content)}
	s.disputeMark = disputeMark(pending.Content)
	return s
}

func hitLine(h memory.Hit, showRole bool) renderedLine {
	m := h.Memory
	l := Line{Kind: m.Kind(), ID: m.ID(), Date: blockDate(m)}
	if m.Link == nil {
		l.Owner = m.Scope().Owner
	}
	words := renderLine(m, l.Date, showRole)
	for _, f := range h.Replacements {
		l.Replacements = append(l.Replacements, Line{Kind: memory.KindFact, ID: f.ID, Date: formatDay(f.ObservedAt)})
		words += renderReplacement(formatDay(f.ObservedAt), f.Content)
	}
	for _, f := range h.Predecessors {
		l.Replaced = append(l.Replaced, Line{Kind: memory.KindFact, ID: f.ID, Date: formatDay(ReplacementTime(f))})
		words += renderReplaced(formatDay(ReplacementTime(f)), f.Content)
	}
	l.Checksum = Checksum(words)
	return renderedLine{Line: l, text: words}
}

func coreMemoryLine(m memory.Memory, heading Heading, showRole bool) renderedLine {
	words := coreLineText(m, showRole)
	return renderedLine{Line: Line{Kind: m.Kind(), ID: m.ID(), IsCore: true, Heading: heading, Checksum: Checksum(words)}, text: words}
}

// coreLineText returns the text of a memory's line in the core: without a date and without the word "User".
func coreLineText(m memory.Memory, showRole bool) string {
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
	return renderLine(m, "", showRole)
}

func entryLine(e memory.ProfileEntry) renderedLine {
	words := "- " + EntryText(e)
	return renderedLine{Line: Line{Kind: KindProfile, ID: entryID(e.Key), Heading: headingProfile, Checksum: Checksum(words)}, text: words}
}

// entryID returns the id of a profile entry. The key is not the id, because keys are text of the user.
func entryID(key string) string { return strconv.Itoa(int(Checksum(key))) }

// Checksum returns a checksum of a text, never 0.
func Checksum(words string) uint16 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(words)) // Write of a hash returns no error
	n := h.Sum32()
	return max(1, uint16(n)^uint16(n>>16)) //nolint:gosec // only the low bits are needed
}

// Sources are the memories from which lines are written, by id.
type Sources struct {
	Memories map[string]memory.Memory
	Profile  []memory.ProfileEntry
}

// RenderLines renders a block again, without memories that were deleted or changed. remaining
// has the lines of block; coreTokens is the number of tokens of the core's lines among them.
func RenderLines(lines []Line, sources Sources, o RenderOptions) (block string, remaining []Line, coreTokens int) {
	var rendered []renderedLine
	for _, l := range lines {
		if words, ok := l.render(sources, o.ShowRoles); ok && l.Checksum == Checksum(words) {
			if l.Heading > 0 {
				coreTokens += lineTokenCount(words)
			}
			l = sources.WithoutStaleDispute(l)
			mark := ""
			if l.DisputedBy != nil {
				mark = disputeMark(sources.Memories[l.DisputedBy.ID].Content())
			}
			rendered, remaining = append(rendered, renderedLine{l, words, mark}), append(remaining, l)
		}
	}
	return o.renderBlock(rendered), remaining, coreTokens
}

// render returns the text of a line, and false if a memory of the line no longer exists.
func (l Line) render(sources Sources, showRole bool) (string, bool) {
	if l.Kind == KindProfile {
		for _, e := range sources.Profile {
			if entryID(e.Key) == l.ID {
				return "- " + EntryText(e), true
			}
		}
		return "", false
	}
	m, ok := sources.Find(l)
	if !ok {
		return "", false
	}
	if l.IsCore {
		return coreLineText(m, showRole), true
	}
	var b strings.Builder
	b.WriteString(renderLine(m, l.Date, showRole))
	for _, n := range l.Replacements {
		replacement, ok := sources.Find(n)
		if !ok && n.ID != "" {
			return "", false
		}
		content := ""
		if ok {
			content = replacement.Content()
		}
		b.WriteString(renderReplacement(n.Date, content))
	}
	for _, o := range l.Replaced {
		old, ok := sources.Find(o)
		if !ok {
			return "", false
		}
		b.WriteString(renderReplaced(o.Date, old.Content()))
	}
	return b.String(), true
}

// Find returns the memory of a line. It also finds replaced memories, but not forgotten, rejected or hidden ones.
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

// WithoutStaleDispute returns a line without the mark of a dispute if the pending fact was forgotten, rejected or edited.
func (from Sources) WithoutStaleDispute(l Line) Line {
	if l.DisputedBy != nil {
		m, ok := from.Memories[l.DisputedBy.ID]
		lives := ok && (m.Status() == memory.Pending || m.Status() == memory.Active || m.Status() == memory.Superseded)
		if !lives || Checksum(m.Content()) != l.DisputedBy.Checksum {
			l.DisputedBy = nil
		}
	}
	return l
}

// EachID calls yield with the owner and id of each memory that the line shows.
func (l Line) EachID(yield func(owner memory.Owner, id string)) {
	if l.ID != "" && l.Kind != KindProfile {
		yield(l.Owner, l.ID)
	}
	if l.DisputedBy != nil {
		l.DisputedBy.EachID(yield)
	}
	for _, refs := range [][]Line{l.Replacements, l.Replaced} {
		for _, r := range refs {
			r.EachID(yield)
		}
	}
}
