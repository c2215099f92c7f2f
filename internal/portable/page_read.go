package portable

import (
	"io"
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/memory"
)

var comment = lazy.Compile(`<!-- loci (\{.*\}) -->\s*$`)

// markdownReader reads the Markdown of [NewMarkdownWriter]. If a visible text differs from its
// comment, it uses the visible text, since people edit this text. Below the heading of facts, a
// list item without a comment is a new fact.
type pageReader struct {
	Reader
	inFacts  int    // level of the heading of facts; 0 outside of facts
	category string // current heading below the heading of facts

	open    Record   // record whose quotation is being read; zero for none
	carried bool     // whether the comment of the record contains its text
	quoted  []string // lines of the quotation
}

func (r Reader) markdown(in io.Reader) error {
	p := &pageReader{Reader: r}
	if err := r.each(in, p.line); err != nil {
		return err
	}
	return p.close()
}

func (p *pageReader) line(n int, line []byte) error {
	text := string(line)
	if p.open.Words() != nil {
		if rest, ok := strings.CutPrefix(text, ">"); ok {
			p.quoted = append(p.quoted, strings.TrimPrefix(rest, " "))
			p.open.Size += len(line)
			if p.open.Size > MaxLine {
				p.open = Record{}
				return p.Bad(n, errLongLine)
			}
			return nil
		}
		if text != "" || len(p.quoted) > 0 {
			if err := p.close(); err != nil {
				return err
			}
		}
	}
	if strings.HasPrefix(text, ">") || strings.TrimSpace(text) == "" {
		return nil
	}
	m := comment.FindStringSubmatchIndex(text)
	if m == nil {
		return p.bare(n, text)
	}
	rec, carried, err := p.record([]byte(unescaped(text[m[2]:m[3]])))
	if err != nil {
		return p.Bad(n, err)
	}
	rec.Line, rec.Size = n, len(text)
	before := strings.TrimSpace(text[:m[0]])
	switch {
	case rec.Turn != nil, rec.Summary != nil, rec.Context != nil:
		p.open, p.carried, p.quoted = rec, carried, nil
		return nil
	case rec.Fact != nil:
		before = strings.TrimPrefix(before, "- ")
	case rec.Profile != nil:
		before = strings.TrimPrefix(strings.TrimPrefix(before, "- "), strings.TrimSpace(profileLead(rec.Profile.Key)))
	default:
		p.heading(text[:m[0]])
		return p.give(rec)
	}
	settle(&rec, carried, strings.TrimSpace(before))
	return p.give(rec)
}

// useVisibleText sets a record's text to the visible text, unless the text in the record's comment
// would look the same.
func settle(rec *Record, carried bool, words string) {
	if w := rec.Words(); !carried || shown(*w) != shown(words) {
		*w = words
	}
}

// endQuotation emits the record whose quotation ends.
func (p *pageReader) close() error {
	rec := p.open
	if rec.Words() == nil {
		return nil
	}
	settle(&rec, p.carried, strings.Join(p.quoted, "\n"))
	p.open, p.quoted = Record{}, nil
	return p.give(rec)
}

func (p *pageReader) heading(text string) bool {
	m := heading.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	switch level := len(m[1]); {
	case m[2] == factsHeading:
		p.inFacts, p.category = level, ""
	case level <= p.inFacts:
		p.inFacts = 0
	case m[2] == otherCategory:
		p.category = ""
	default:
		p.category = m[2]
	}
	return true
}

// readUncommented reads a line without a comment.
func (p *pageReader) bare(n int, text string) error {
	if p.heading(text) || p.inFacts == 0 {
		return nil
	}
	m := bullet.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	return p.giveFact(n, len(text), memory.Fact{Content: m[1], Category: p.category, Trust: memory.TrustPerson})
}

// unescape restores ">" in the JSON of a comment, so that raw JSON, such as metadata, stays equal
// byte for byte.
func unescaped(text string) string {
	var b strings.Builder
	for {
		at := strings.Index(text, escapedGreater)
		if at < 0 {
			return b.String() + text
		}
		front := text[:at]
		if slashes := len(front) - len(strings.TrimRight(front, `\`)); slashes%2 == 0 {
			b.WriteString(front + ">")
		} else {
			b.WriteString(front + escapedGreater)
		}
		text = text[at+len(escapedGreater):]
	}
}
