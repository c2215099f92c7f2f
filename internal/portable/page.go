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
// comment after each record, "<!-- loci {…} -->", contains the other fields, in the JSON of JSONL.
// In a comment ">" is written as \u003e, so that it cannot end the comment.
const (
	commentOpen  = "<!-- loci "
	commentClose = " -->"
)

// Headings of the parts.
const (
	factsHeading    = "Facts"
	otherCategory   = "Other"
	profileHeading  = "Profile"
	contextsHeading = "Contexts"
	talkHeading     = "Conversations"
)

// factParts lists the parts of the file with facts, by status.
var standings = []struct {
	heading  string
	statuses []memory.Status
}{
	{factsHeading, []memory.Status{memory.Active}},
	{"Facts that wait for you", []memory.Status{memory.Pending}},
	{"Facts that were replaced", []memory.Status{memory.Superseded}},
	{"Facts that were forgotten or refused", []memory.Status{memory.Retired, memory.Rejected}},
}

// Group is a fact's position in a Markdown file, by status and category.
type Group struct {
	standing int // index in factParts
	category string
}

// GroupOf returns a fact's group.
func GroupOf(f *memory.Fact) Group {
	for i, s := range standings {
		if slices.Contains(s.statuses, f.Status) {
			return Group{i, f.Category}
		}
	}
	return Group{len(standings) - 1, f.Category}
}

// Compare orders groups for a Markdown file: by part, with facts without a category last.
func (g Group) Compare(h Group) int {
	return cmp.Or(cmp.Compare(g.standing, h.standing), -cmp.Compare(min(len(g.category), 1), min(len(h.category), 1)), cmp.Compare(g.category, h.category))
}

// markdownWriter writes a Markdown file. It returns its first error and writes nothing after it.
type page struct {
	out  io.Writer
	err  error
	top  int       // level of a part's heading: 2 below a heading of the file, otherwise 1
	open [8]string // current heading of each level
	list bool      // whether the last line was a list item
}

// NewMarkdownWriter returns a writer of a single Markdown file. The order of the records must be:
// the header, profile entries, contexts, facts by [Group], each before its relations, and
// conversations, each before its summaries and turns.
func Page(out io.Writer) Writer { return &page{out: out, top: 2} }

func (p *page) Write(r Record) error {
	switch {
	case r.Header != nil && p.top > 1:
		p.heading(1, "Memory", r)
	case r.Header != nil, r.Relation != nil:
		p.print("%s\n", p.json(r.value(nil)))
	case r.Profile != nil:
		p.begin(p.top, profileHeading)
		p.item(profileLead(r.Profile.Key), r)
	case r.Context != nil:
		p.begin(p.top, contextsHeading)
		p.quotation(cmp.Or(shown(r.Context.Title), "untitled"), r)
	case r.Fact != nil:
		p.begin(p.top, standings[GroupOf(r.Fact).standing].heading)
		p.begin(p.top+1, cmp.Or(shown(r.Fact.Category), otherCategory))
		p.item("", r)
	case r.Conversation != nil:
		level := p.top
		if p.top > 1 {
			p.begin(p.top, talkHeading)
			level++
		}
		p.heading(level, shownTitle(r.Conversation), r)
	case r.Summary != nil:
		p.quotation("summary", r)
	case r.Turn != nil:
		who := string(r.Turn.Role)
		if name := shown(r.Turn.Name); name != "" {
			who += " (" + name + ")"
		}
		p.quotation(who, r)
	}
	return p.err
}

func (p *page) Close() error {
	p.end()
	return p.err
}

func (p *page) print(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, format, args...)
	}
}

// beginPart writes a heading, unless it is the current heading already.
func (p *page) begin(level int, text string) {
	if p.open[level] != text {
		p.heading(level, text, Record{})
	}
}

func (p *page) heading(level int, text string, r Record) {
	p.end()
	clear(p.open[level:])
	p.open[level] = text
	p.print("%s %s", strings.Repeat("#", level), text)
	if v := r.value(nil); v != nil {
		p.print(" %s", p.json(v))
	}
	p.print("\n\n")
}

// endList ends the current list, if any.
func (p *page) end() {
	if p.list {
		p.print("\n")
	}
	p.list = false
}

// writeItem writes a record as a list item.
func (p *page) item(lead string, r Record) {
	p.list = true
	words := *r.Words()
	var carried *string
	if words != shown(words) {
		carried = &words
	}
	p.print("- %s%s %s\n", lead, shown(words), p.json(r.value(carried)))
}

// writeQuotation writes a record's text as a quotation below a line with label and the time.
func (p *page) quotation(who string, r Record) {
	words := *r.Words()
	var carried *string
	if strings.ContainsRune(words, '\r') {
		carried = &words
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
	p.print("**%s**, %s", who, at.Format("2006-01-02 15:04"))
	if status != memory.Active {
		p.print(" (%s)", status)
	}
	p.print(" %s\n\n", p.json(r.value(carried)))
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

func (p *page) json(v any) string {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil && p.err == nil {
		p.err = err
	}
	return commentOpen + strings.ReplaceAll(strings.TrimSuffix(text.String(), "\n"), ">", escapedGreater) + commentClose
}

// escapedGreater is ">" in a JSON string; ">" occurs in JSON only in strings.
const escapedGreater = `\u003e`

// displayText returns text on one line, with the start and end of comments escaped.
func shown(s string) string {
	s = strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "<!--", "<! --")
	return strings.ReplaceAll(s, "-->", "-- >")
}

// displayTitle returns a conversation's title, or its time if there is no title.
func shownTitle(c *memory.Conversation) string {
	if title := shown(c.Title); title != "" {
		return title
	}
	return "Conversation of " + c.CreatedAt.Format("2006-01-02 15:04")
}

// profilePrefix returns the text before the value of a profile entry.
func profileLead(key string) string { return "**" + shown(key) + "**: " }
