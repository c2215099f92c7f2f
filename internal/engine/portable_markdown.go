package engine

import (
	"archive/zip"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/loci-memory/loci/memory"
)

// Markdown for people: facts by category, the profile, and what was said by
// conversation. What words cannot say stands in a comment behind each, in the JSON of
// JSONL: "<!-- loci {…} -->". A ">" is written as \u003e there, so that none of it can
// end the comment.
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

// standing is a part of the page for facts that became the same.
type standing struct {
	heading  string
	statuses []memory.Status
}

var standings = []standing{
	{factsHeading, []memory.Status{memory.Active}},
	{"Facts that wait for you", []memory.Status{memory.Pending}},
	{"Facts that were replaced", []memory.Status{memory.Superseded}},
	{"Facts that were forgotten or refused", []memory.Status{memory.Retired, memory.Rejected}},
}

// page writes everything as one file.
func (w walker) page(ctx context.Context, out io.Writer) error {
	p := &pageWriter{Writer: out}
	p.heading(1, "Memory", w.header())
	w.profilePage(ctx, p, 2)
	w.contextsPage(ctx, p, 2)
	w.factsPage(ctx, p, 2)
	p.keep(w.eachTalk(ctx, func(c *memory.Conversation) error {
		p.begin(2, talkHeading)
		return w.talkPage(ctx, p, 3, c)
	}))
	return p.err
}

// zip writes a file for the profile, for the contexts, for the facts and for each conversation.
func (w walker) zip(ctx context.Context, out io.Writer) error {
	z := zip.NewWriter(out)
	head := w.header()
	file := func(name string, write func(*pageWriter)) error {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: head.Header.ExportedAt})
		if err != nil {
			return err
		}
		p := &pageWriter{Writer: f}
		write(p)
		return p.err
	}
	entries := 0
	err := w.profile(ctx, func(record) error { entries++; return nil })
	if err == nil && entries > 0 {
		err = file("profile.md", func(p *pageWriter) { p.keep(p.comment(head)); w.profilePage(ctx, p, 1) })
	}
	entries = 0
	if err == nil {
		err = w.contexts(ctx, func(record) error { entries++; return nil })
	}
	if err == nil && entries > 0 {
		err = file("contexts.md", func(p *pageWriter) { p.keep(p.comment(head)); w.contextsPage(ctx, p, 1) })
	}
	if err == nil && w.has(FactPart) {
		err = file("facts.md", func(p *pageWriter) { p.keep(p.comment(head)); w.factsPage(ctx, p, 1) })
	}
	if err == nil {
		names := map[string]int{}
		err = w.eachTalk(ctx, func(c *memory.Conversation) error {
			name := fileName(c)
			if names[name]++; names[name] > 1 {
				name = fmt.Sprintf("%s (%d)", name, names[name])
			}
			return file("conversations/"+name+".md", func(p *pageWriter) {
				p.keep(p.comment(head))
				p.keep(w.talkPage(ctx, p, 1, c))
			})
		})
	}
	if err != nil {
		return err
	}
	return z.Close()
}

// fileName is a name that every file system takes: a day, and letters and digits of
// the title, or the time where there is none.
func fileName(c *memory.Conversation) string {
	var b strings.Builder
	for _, r := range shown(c.Title) {
		switch {
		case b.Len() >= 60:
		case unicode.IsLetter(r), unicode.IsDigit(r):
			b.WriteRune(unicode.ToLower(r))
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	if name := strings.Trim(b.String(), "-"); name != "" {
		return c.CreatedAt.Format("2006-01-02 ") + name
	}
	return c.CreatedAt.Format("2006-01-02 15.04")
}

func shownTitle(c *memory.Conversation) string {
	if title := shown(c.Title); title != "" {
		return title
	}
	return "Conversation of " + c.CreatedAt.Format("2006-01-02 15:04")
}

// eachTalk goes through the conversations that there is something of.
func (w walker) eachTalk(ctx context.Context, yield func(*memory.Conversation) error) error {
	if !w.has(TurnPart) && !w.has(SummaryPart) {
		return nil
	}
	all, err := w.conversations(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		if err := yield(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w walker) talkPage(ctx context.Context, p *pageWriter, level int, c *memory.Conversation) error {
	p.heading(level, shownTitle(c), record{Conversation: c})
	if w.has(SummaryPart) {
		if err := w.summariesOf(ctx, c.ID, func(r record) error { return p.said("summary", r) }); err != nil {
			return err
		}
	}
	if !w.has(TurnPart) {
		return p.err
	}
	turns, err := w.turns(ctx, c.ID)
	if err != nil {
		return err
	}
	for i := range turns {
		t := &turns[i]
		who := string(t.Role)
		if name := shown(t.Name); name != "" {
			who += " (" + name + ")"
		}
		if err := p.said(who, record{Turn: t}); err != nil {
			return err
		}
	}
	return p.err
}

func (w walker) profilePage(ctx context.Context, p *pageWriter, level int) {
	p.keep(w.profile(ctx, func(r record) error {
		p.begin(level, profileHeading)
		return p.item(profileLead(r.Profile.Key), r)
	}))
	p.end()
}

func (w walker) contextsPage(ctx context.Context, p *pageWriter, level int) {
	p.keep(w.contexts(ctx, func(r record) error {
		p.begin(level, contextsHeading)
		title := shown(r.Context.Title)
		if title == "" {
			title = "untitled"
		}
		return p.said(title, r)
	}))
}

// profileLead stands before the value of a profile entry.
func profileLead(key string) string { return "**" + shown(key) + "**: " }

// factsPage writes facts by what became of them and by category. It goes through them
// once and keeps their ids, some 60 bytes each; of the past, facts themselves.
func (w walker) factsPage(ctx context.Context, p *pageWriter, level int) {
	if !w.has(FactPart) || p.err != nil {
		return
	}
	groups := map[group][]paged{}
	p.keep(w.list(ctx, memory.Query{Statuses: w.statuses()}, func(m memory.Memory) error {
		if m.Link != nil || wasErased(*m.Fact) {
			return nil
		}
		g := group{slices.IndexFunc(standings, func(s standing) bool { return slices.Contains(s.statuses, m.Fact.Status) }), m.Fact.Category}
		k := paged{id: m.Fact.ID}
		if !w.At.AsOf.IsZero() {
			k = paged{past: m.Fact}
		}
		groups[g] = append(groups[g], k)
		return nil
	}))
	for _, g := range slices.SortedFunc(maps.Keys(groups), group.compare) {
		for part := range slices.Chunk(groups[g], 500) {
			p.keep(w.group(ctx, p, level, g, part))
		}
		p.end()
	}
}

// group is where a fact stands on the page.
type group struct {
	standing int // in standings
	category string
}

func (g group) compare(h group) int {
	return cmp.Or(cmp.Compare(g.standing, h.standing), -cmp.Compare(min(len(g.category), 1), min(len(h.category), 1)), cmp.Compare(g.category, h.category))
}

// paged is a fact that is to be written later.
type paged struct {
	id   string
	past *memory.Fact // as it was, where that is asked
}

func (w walker) group(ctx context.Context, p *pageWriter, level int, g group, part []paged) error {
	var facts []memory.Memory
	var ids []string
	for _, k := range part {
		if k.past != nil {
			facts = append(facts, memory.Memory{Fact: k.past})
		} else {
			ids = append(ids, k.id)
		}
	}
	if len(ids) > 0 {
		var err error
		if facts, err = w.e.Store.Get(ctx, w.owner, ids...); err != nil {
			return fmt.Errorf("read facts: %w", err)
		}
	}
	for _, m := range facts {
		if err := w.fact(ctx, m, func(r record) error {
			p.begin(level, standings[g.standing].heading)
			p.begin(level+1, otherIfNone(g.category))
			if r.Relation != nil {
				return p.comment(r)
			}
			return p.item("", r)
		}); err != nil {
			return err
		}
	}
	return p.err
}

func otherIfNone(category string) string {
	if category == "" {
		return otherCategory
	}
	return shown(category)
}

// pageWriter writes Markdown. It keeps the first error and writes nothing after it.
type pageWriter struct {
	io.Writer
	err  error
	open [8]string // the heading that was begun at each level
	list bool      // the last line was an item
}

func (p *pageWriter) keep(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *pageWriter) print(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.Writer, format, args...)
	}
}

// begin writes a heading unless it is the one that what follows stands under.
func (p *pageWriter) begin(level int, text string) {
	if p.open[level] != text {
		p.heading(level, text, record{})
	}
}

func (p *pageWriter) heading(level int, text string, r record) {
	p.end()
	clear(p.open[level:])
	p.open[level] = text
	p.print("%s %s", strings.Repeat("#", level), text)
	if v := r.value(nil); v != nil {
		p.print(" %s", p.json(v))
	}
	p.print("\n\n")
}

// end closes a list.
func (p *pageWriter) end() {
	if p.list {
		p.print("\n")
	}
	p.list = false
}

// item writes what is said on one line.
func (p *pageWriter) item(lead string, r record) error {
	p.list = true
	words := *r.words()
	var carried *string
	if words != shown(words) {
		carried = &words
	}
	p.print("- %s%s %s\n", lead, shown(words), p.json(r.value(carried)))
	return p.err
}

// comment writes what words say nothing of.
func (p *pageWriter) comment(r record) error {
	p.print("%s\n", p.json(r.value(nil)))
	return p.err
}

// said writes words of any length as a quotation.
func (p *pageWriter) said(who string, r record) error {
	words := *r.words()
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
		return p.err
	}
	for line := range strings.SplitSeq(words, "\n") {
		if line != "" {
			line = " " + line
		}
		p.print(">%s\n", strings.ReplaceAll(line, "\r", " "))
	}
	p.print("\n")
	return p.err
}

func (p *pageWriter) json(v any) string {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	p.keep(enc.Encode(v))
	return commentOpen + strings.ReplaceAll(strings.TrimSuffix(text.String(), "\n"), ">", escapedGreater) + commentClose
}

// escapedGreater is ">" in JSON, where it stands in strings alone.
const escapedGreater = `\u003e`

// unescaped takes back what json did, so that JSON which is kept as it is, as metadata
// is, comes back as it was.
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

// shown returns text on one line that neither begins nor ends a comment.
func shown(s string) string {
	s = strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "<!--", "<! --")
	return strings.ReplaceAll(s, "-->", "-- >")
}
