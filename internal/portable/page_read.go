package portable

import (
	"io"
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/memory"
)

var commentPattern = lazy.Compile(`<!-- loci (\{.*\}) -->\s*$`)

// markdownReader reads the Markdown of [NewMarkdownWriter]. If a record's visible text differs from
// the text in its comment, the visible text counts, since people edit it. Below the heading of facts,
// a list item without a comment is a new fact.
type markdownReader struct {
	Reader
	factsLevel int    // level of the heading of facts; 0 outside of the part with facts
	category   string // current heading below the heading of facts

	quotedRecord   Record   // record whose quotation is being read; zero for none
	hasText        bool     // whether the comment of the record contains the record's text
	quotationLines []string // lines of the quotation
}

func (r Reader) readMarkdown(in io.Reader) error {
	p := &markdownReader{Reader: r}
	if err := r.forEachLine(in, p.readLine); err != nil {
		return err
	}
	return p.endQuotation()
}

func (p *markdownReader) readLine(n int, line []byte) error {
	text := string(line)
	if p.quotedRecord.Text() != nil {
		if rest, ok := strings.CutPrefix(text, ">"); ok {
			p.quotationLines = append(p.quotationLines, strings.TrimPrefix(rest, " "))
			p.quotedRecord.Size += len(line)
			if p.quotedRecord.Size > MaxLine {
				p.quotedRecord = Record{}
				return p.OnError(n, errLongLine)
			}
			return nil
		}
		if text != "" || len(p.quotationLines) > 0 {
			if err := p.endQuotation(); err != nil {
				return err
			}
		}
	}
	if strings.HasPrefix(text, ">") || strings.TrimSpace(text) == "" {
		return nil
	}
	m := commentPattern.FindStringSubmatchIndex(text)
	if m == nil {
		return p.readUncommented(n, text)
	}
	rec, hasText, err := p.decodeRecord([]byte(unescapeComment(text[m[2]:m[3]])))
	if err != nil {
		return p.OnError(n, err)
	}
	rec.Line, rec.Size = n, len(text)
	visible := strings.TrimSpace(text[:m[0]])
	switch {
	case rec.Turn != nil, rec.Summary != nil, rec.Context != nil:
		p.quotedRecord, p.hasText, p.quotationLines = rec, hasText, nil
		return nil
	case rec.Fact != nil:
		visible = strings.TrimPrefix(visible, "- ")
	case rec.Profile != nil:
		visible = strings.TrimPrefix(strings.TrimPrefix(visible, "- "), strings.TrimSpace(profilePrefix(rec.Profile.Key)))
	default:
		p.readHeading(text[:m[0]])
		return p.emit(rec)
	}
	useVisibleText(&rec, hasText, strings.TrimSpace(visible))
	return p.emit(rec)
}

// useVisibleText sets a record's text to the visible text, unless the text in the record's comment is
// displayed in the same way.
func useVisibleText(rec *Record, hasText bool, visible string) {
	if w := rec.Text(); !hasText || displayText(*w) != displayText(visible) {
		*w = visible
	}
}

// endQuotation emits the record whose quotation ends.
func (p *markdownReader) endQuotation() error {
	rec := p.quotedRecord
	if rec.Text() == nil {
		return nil
	}
	useVisibleText(&rec, p.hasText, strings.Join(p.quotationLines, "\n"))
	p.quotedRecord, p.quotationLines = Record{}, nil
	return p.emit(rec)
}

func (p *markdownReader) readHeading(text string) bool {
	m := headingPattern.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	switch level := len(m[1]); {
	case m[2] == factsHeading:
		p.factsLevel, p.category = level, ""
	case level <= p.factsLevel:
		p.factsLevel = 0
	case m[2] == otherCategory:
		p.category = ""
	default:
		p.category = m[2]
	}
	return true
}

// readUncommented reads a line without a comment: a heading or a new fact. It skips other lines.
func (p *markdownReader) readUncommented(n int, text string) error {
	if p.readHeading(text) || p.factsLevel == 0 {
		return nil
	}
	m := bulletPattern.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	return p.emitFact(n, len(text), memory.Fact{Content: m[1], Category: p.category, Trust: memory.TrustPerson})
}

// unescapeComment restores ">" in the JSON of a comment, so that raw JSON, such as metadata, stays equal
// byte for byte.
func unescapeComment(text string) string {
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
