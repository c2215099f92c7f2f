package portable

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// A Markdown file contains the profile, contexts, facts by category, and turns by conversation. The
// comment after each record, "<!-- loci {…} -->", contains the fields that are not visible, as in a
// line of JSONL. In a comment ">" is written as \u003e, so that it cannot end the comment.
const (
	commentOpen  = "<!-- loci "
	commentClose = " -->"
)

// Headings of the parts of a Markdown file, and of facts without a category.
const (
	factsHeading         = "Facts"
	otherCategory        = "Other"
	profileHeading       = "Profile"
	contextsHeading      = "Contexts"
	conversationsHeading = "Conversations"
)

// factParts lists the parts of a Markdown file that contain facts, by status.
var factParts = []struct {
	heading  string
	statuses []memory.Status
}{
	{factsHeading, []memory.Status{memory.Active}},
	{"Facts that wait for you", []memory.Status{memory.Pending}},
	{"Facts that were replaced", []memory.Status{memory.Superseded}},
	{"Facts that were forgotten or refused", []memory.Status{memory.Retired, memory.Rejected}},
}

// FactGroup is a fact's position in a Markdown file, by status and category.
type FactGroup struct {
	part     int // index in factParts
	category string
}

// FactGroupOf returns a fact's group.
func FactGroupOf(f *memory.Fact) FactGroup {
	for i, s := range factParts {
		if slices.Contains(s.statuses, f.Status) {
			return FactGroup{i, f.Category}
		}
	}
	return FactGroup{len(factParts) - 1, f.Category}
}

// Compare orders groups for a Markdown file: by part, with facts without a category last.
func (g FactGroup) Compare(other FactGroup) int {
	return cmp.Or(cmp.Compare(g.part, other.part), -cmp.Compare(min(len(g.category), 1), min(len(other.category), 1)), cmp.Compare(g.category, other.category))
}

// markdownWriter writes a Markdown file. After an error it writes nothing, and returns the error again.
type markdownWriter struct {
	out      io.Writer
	err      error
	topLevel int       // heading level of the parts: 2 if the file begins with its own heading, otherwise 1
	headings [8]string // current heading of each level
	inList   bool      // whether the last line was a list item
}

// NewMarkdownWriter returns a writer of a single Markdown file. The order of the records must be:
// the header; profile entries; contexts; facts sorted by [FactGroup], each followed by its relations;
// conversations, each followed by its summaries and turns.
func NewMarkdownWriter(out io.Writer) Writer { return &markdownWriter{out: out, topLevel: 2} }

func (p *markdownWriter) Write(r Record) error {
	switch {
	case r.Header != nil && p.topLevel > 1:
		p.writeHeading(1, "Memory", r)
	case r.Header != nil, r.Relation != nil:
		p.print("%s\n", p.jsonComment(r.jsonValue(nil)))
	case r.Profile != nil:
		p.beginPart(p.topLevel, profileHeading)
		p.writeItem(profilePrefix(r.Profile.Key), r)
	case r.Context != nil:
		p.beginPart(p.topLevel, contextsHeading)
		p.writeQuotation(cmp.Or(displayText(r.Context.Title), "untitled"), r)
	case r.Fact != nil:
		p.beginPart(p.topLevel, factParts[FactGroupOf(r.Fact).part].heading)
		p.beginPart(p.topLevel+1, cmp.Or(displayText(r.Fact.Category), otherCategory))
		p.writeItem("", r)
	case r.Conversation != nil:
		level := p.topLevel
		if p.topLevel > 1 {
			p.beginPart(p.topLevel, conversationsHeading)
			level++
		}
		p.writeHeading(level, displayTitle(r.Conversation), r)
	case r.Summary != nil:
		p.writeQuotation("summary", r)
	case r.Turn != nil:
		who := string(r.Turn.Role)
		if name := displayText(r.Turn.Name); name != "" {
			who += " (" + name + ")"
		}
		p.writeQuotation(who, r)
	}
	return p.err
}

func (p *markdownWriter) Close() error {
	p.endList()
	return p.err
}

func (p *markdownWriter) print(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, format, args...)
	}
}

// beginPart writes a heading, unless it is the current heading of this level already.
func (p *markdownWriter) beginPart(level int, text string) {
	if p.headings[level] != text {
		p.writeHeading(level, text, Record{})
	}
}

func (p *markdownWriter) writeHeading(level int, text string, r Record) {
	p.endList()
	clear(p.headings[level:])
	p.headings[level] = text
	p.print("%s %s", strings.Repeat("#", level), text)
	if v := r.jsonValue(nil); v != nil {
		p.print(" %s", p.jsonComment(v))
	}
	p.print("\n\n")
}

// endList ends the current list, if any.
func (p *markdownWriter) endList() {
	if p.inList {
		p.print("\n")
	}
	p.inList = false
}

// writeItem writes a record as a list item.
func (p *markdownWriter) writeItem(prefix string, r Record) {
	p.inList = true
	words := *r.Text()
	var hidden *string
	if words != displayText(words) {
		hidden = &words
	}
	p.print("- %s%s %s\n", prefix, displayText(words), p.jsonComment(r.jsonValue(hidden)))
}

// writeQuotation writes a record's text as a quotation below a line with label and the time.
func (p *markdownWriter) writeQuotation(label string, r Record) {
	words := *r.Text()
	var hidden *string
	if strings.ContainsRune(words, '\r') {
		hidden = &words
	}
	var at time.Time
	var status memory.Status
	switch {
	case r.Turn != nil:
		at, status = r.Turn.CreatedAt, r.Turn.Status
	case r.Context != nil:
		at, status = r.Context.CreatedAt, r.Context.Status
	default:
		at, status = r.Summary.CreatedAt, r.Summary.Status
	}
	p.print("**%s**, %s", label, at.Format("2006-01-02 15:04"))
	if status != memory.Active {
		p.print(" (%s)", status)
	}
	p.print(" %s\n\n", p.jsonComment(r.jsonValue(hidden)))
	if words == "" {
		return
	}
	for line := range strings.SplitSeq(words, "\n") {
		if line != "" {
			line = " " + line
		}
		p.print(">%s\n", strings.ReplaceAll(line, "\r", " "))
	}
	p.print("\n")
}

func (p *markdownWriter) jsonComment(value any) string {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil && p.err == nil {
		p.err = err
	}
	return commentOpen + strings.ReplaceAll(strings.TrimSuffix(text.String(), "\n"), ">", escapedGreater) + commentClose
}

// escapedGreater is ">" in a JSON string; ">" occurs in JSON only in strings.
const escapedGreater = `\u003e`

// displayText returns a text on one line, with a space inside each "<!--" and "-->".
func displayText(s string) string {
	s = strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "<!--", "<! --")
	return strings.ReplaceAll(s, "-->", "-- >")
}

// displayTitle returns a conversation's title, or its time if there is no title.
func displayTitle(c *memory.Conversation) string {
	if title := displayText(c.Title); title != "" {
		return title
	}
	return "Conversation of " + c.CreatedAt.Format("2006-01-02 15:04")
}

// profilePrefix returns the text before the value of a profile entry.
func profilePrefix(key string) string { return "**" + displayText(key) + "**: " }
