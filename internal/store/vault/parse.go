package vault

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// parse reads what a file says that lies at p. Keys that are missing leave what
// base says, if they are always written, and otherwise mean nothing; base is what
// Loci has, the zero thing without any. Text that is not UTF-8, or front matter
// that cannot be read, is an error; so is a value that does not fit its key.
func (p place) parse(file string, base thing) (thing, error) {
	if !utf8.ValidString(file) {
		return thing{}, fmt.Errorf("it is not UTF-8 text")
	}
	pg := split(file)
	if first, _, _ := cutLine(pg.body); !pg.has && strings.TrimRight(first, " \t\r\n") == "---" && strings.HasSuffix(first, "\n") {
		return thing{}, fmt.Errorf("its front matter has no end; it may be half written")
	}
	if conflicted(pg.body) {
		return thing{}, fmt.Errorf("it has git's conflict marks; it waits until they are gone")
	}
	values, _, err := readFront(pg.front)
	if err != nil {
		return thing{}, err
	}
	r := reader{values: values}
	var t thing
	words := pg.words()
	if values["kind"].text != "turn" { // editors leave an empty line below the front matter; a turn is as it was said
		words = strings.TrimLeft(words, "\r\n")
	}
	switch {
	case p.folder == "facts":
		f := r.fact(p, base.fact, words)
		t.fact = &f
		t.tie(r.ties(p.owner))
	case p.folder == "summaries":
		m := r.summary(p, base.summary, words)
		t.summary = &m
	case p.folder == "profile":
		e := r.profile(p, base.profile, words)
		t.profile = &e
	case p.folder == contextsFolder:
		c := r.context(p, base.context, words)
		t.context = &c
	case p.folder == "":
		c := r.conversation(p, base.conversation, words)
		t.conversation = &c
	default:
		u := r.turn(p, base.turn, words)
		t.turn = &u
	}
	return t, r.err
}

// conflicted reports whether a merge of git's left both sides in a text, one after the other.
func conflicted(text string) bool {
	next := []string{"<<<<<<< ", "=======", ">>>>>>> "}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, next[0]) {
			if next = next[1:]; len(next) == 0 {
				return true
			}
		}
	}
	return false
}

// reader reads values and keeps the first error.
type reader struct {
	values frontMatter
	err    error
}

func (r *reader) fail(key, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s is %s, not %s", key, want, r.values[key].called())
	}
}

// one is a key's that has one value, "" for none. A value that is no such text is not as
// if it were not there: that would take away what Loci knows.
func (r *reader) one(key, want string) string {
	v := r.values[key]
	if v.odd != "" || len(v.list) > 0 {
		r.fail(key, want)
	}
	return v.text
}

// text is an optional key's.
func (r *reader) text(key string) string { return r.one(key, "a text") }

// keep is a key's that is always there.
func (r *reader) keep(key, base string) string { return cmp.Or(r.text(key), base) }

func (r *reader) list(key string) []string {
	v := r.values[key]
	switch {
	case v.odd != "":
		r.fail(key, "a list like [a, b]")
		return nil
	case v.many:
		return v.list
	case v.text == "":
		return nil
	}
	var out []string // "a, b": as Obsidian reads tags on one line
	for _, t := range strings.Split(v.text, ",") {
		if t = strings.TrimSpace(t); t != "" {
			out = append(out, t)
		}
	}
	return out
}

func (r *reader) time(key string, base time.Time) time.Time {
	const want = "a time like 2026-01-31T12:00:00Z or a day"
	v := r.one(key, want)
	if v == "" {
		return base
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, v); err == nil {
			return memory.Time(t)
		}
	}
	r.fail(key, want)
	return base
}

func (r *reader) number(key string, base int64) int64 {
	const want = "a whole number"
	v := r.one(key, want)
	if v == "" {
		return base
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		r.fail(key, want)
	}
	return n
}

func (r *reader) bool(key string) bool {
	const want = "true or false"
	switch strings.ToLower(r.one(key, want)) {
	case "", "false", "no", "off":
		return false
	case "true", "yes", "on":
		return true
	}
	r.fail(key, want)
	return false
}

func (r *reader) oneOf(key, base string, allowed ...string) string {
	want := "one of " + strings.Join(allowed, ", ")
	v := cmp.Or(r.one(key, want), base)
	if !slices.Contains(allowed, v) {
		r.fail(key, want)
		return base
	}
	return v
}

// created is the time that a file's name begins with, if it does.
func (p place) created() time.Time {
	stamp, _, _ := strings.Cut(p.name, "__")
	t, err := time.Parse("2006-01-02T15-04-05Z", stamp)
	if err != nil {
		return time.Time{}
	}
	return t
}

func (r *reader) fact(p place, base *memory.Fact, words string) memory.Fact {
	f := memory.Fact{Confidence: 1, Status: memory.Active, Source: memory.FromFile, Trust: memory.TrustPerson, CreatedAt: p.created()}
	var was memory.Fact
	if base != nil {
		f, was = *base, *base
	}
	r.constant("kind", "fact")
	r.constant("role", "memory")
	f.Scope = memory.Scope{Owner: p.owner, Project: r.text("project"), Agent: r.text("agent"), Conversation: r.conversationOf(p, base != nil, was.Scope.Conversation)}
	f.ID = r.keep("id", f.ID)
	f.Content = words
	f.CreatedAt = r.time("created_at", f.CreatedAt)
	f.UpdatedAt = r.time("updated_at", or(f.UpdatedAt, f.CreatedAt))
	f.Status = r.status(p, was.Status, memory.Active, memory.Pending, memory.Retired, memory.Rejected, memory.Superseded)
	f.SupersededBy = idOfLink(r.text("superseded_by"))
	f.Category, f.Tags, f.Core = r.text("category"), r.list("tags"), r.core()
	f.Subject, f.Attribute = r.text("subject"), r.text("attribute")
	f.Confidence = r.confidence(f.Confidence)
	f.ObservedAt = r.time("observed_at", or(f.ObservedAt, f.CreatedAt))
	f.ObservedSeq = r.number("observed_seq", 0)
	f.ValidFrom, f.ValidTo, f.ExpiresAt = r.time("valid_from", time.Time{}), r.time("valid_to", time.Time{}), r.time("expires_at", time.Time{})
	if !p.plain {
		r.holds(base, f)
	}
	f.Source = memory.FactSource(r.keep("source", string(f.Source)))
	f.Trust = memory.Trust(r.oneOf("trust", string(f.Trust), "person", "user", "assistant", "untrusted"))
	f.Model = r.text("model")
	f.Provenance = memory.Provenance{Conversation: r.text("from_conversation"), Quote: r.quote()}
	for _, link := range r.list("from_turns") {
		f.Provenance.Turns = append(f.Provenance.Turns, idOfLink(link))
	}
	f.Metadata = r.metadata()
	if base == nil || base.Content != words {
		f.Hash = text.Hash(words)
	}
	return f
}

// core reads pinned, and what only core can say.
func (r *reader) core() memory.Core {
	c := memory.Pin(r.bool("pinned"))
	if err := c.UnmarshalText([]byte(cmp.Or(r.text("core"), string(c)))); err != nil {
		r.fail("core", "auto, always or never")
	}
	return c
}

func (r *reader) confidence(base float64) float64 {
	const want = "a number from 0 to 1"
	v := r.one("confidence", want)
	if v == "" {
		return base
	}
	c, err := strconv.ParseFloat(v, 64)
	if err != nil || !(c >= 0 && c <= 1) {
		r.fail("confidence", want)
		return base
	}
	return c
}

// quote reads "START-END LINK".
func (r *reader) quote() *memory.Span {
	const want = "two numbers and a turn, like 0-12 [[turn]]"
	v := r.one("quote", want)
	if v == "" {
		return nil
	}
	span, link, _ := strings.Cut(v, " ")
	from, to, _ := strings.Cut(span, "-")
	start, err1 := strconv.Atoi(from)
	end, err2 := strconv.Atoi(to)
	if err1 != nil || err2 != nil {
		r.fail("quote", want)
		return nil
	}
	return &memory.Span{Turn: idOfLink(link), Start: start, End: end}
}

func (r *reader) metadata() json.RawMessage {
	const want = "a JSON object in quotes"
	v := strings.TrimSpace(r.one("metadata", want))
	if v == "" {
		return nil
	}
	if !json.Valid([]byte(v)) || v[0] != '{' {
		r.fail("metadata", want)
		return nil
	}
	return json.RawMessage(v)
}

func (r *reader) turn(p place, base *memory.Turn, words string) memory.Turn {
	_, role, _ := strings.Cut(p.folder, "/")
	role, _ = unescape(role)
	t := memory.Turn{CreatedAt: p.created()}
	if base != nil {
		t = *base
	}
	r.constant("kind", "turn")
	t.ID, t.Owner = r.keep("id", t.ID), p.owner
	if p.conversation == globalFolder {
		t.Conversation = r.text("conversation_id")
	} else {
		t.Conversation = r.conversationOf(p, base != nil, t.Conversation)
	}
	t.Role = memory.Role(r.keep("role", role))
	t.Content = words
	t.CreatedAt = r.time("created_at", t.CreatedAt)
	t.Status = r.status(p, t.Status, memory.Active, memory.Retired, memory.Replaced)
	t.Index = int(r.number("index", int64(t.Index)))
	t.Parent, t.Name, t.Ref = idOfLink(r.text("parent")), r.text("name"), r.text("ref")
	t.Project, t.Agent = r.text("project"), r.text("agent")
	t.LearnedAt, t.NoLearn, t.History, t.Chain = r.time("learned_at", time.Time{}), r.bool("no_learn"), r.bool("history"), r.text("chain")
	return t
}

func (r *reader) summary(p place, base *memory.Summary, words string) memory.Summary {
	m := memory.Summary{CreatedAt: p.created()}
	if base != nil {
		m = *base
	}
	r.constant("kind", "summary")
	m.ID = r.keep("id", m.ID)
	m.Scope = memory.Scope{Owner: p.owner, Project: r.text("project"), Agent: r.text("agent"), Conversation: r.conversationOf(p, base != nil, m.Scope.Conversation)}
	m.Text = words
	m.CreatedAt = r.time("created_at", m.CreatedAt)
	m.Status = r.status(p, m.Status, memory.Active, memory.Retired)
	m.MessageCount = int(r.number("message_count", int64(m.MessageCount)))
	m.Model = r.text("model")
	return m
}

func (r *reader) profile(p place, base *memory.ProfileEntry, words string) memory.ProfileEntry {
	var e memory.ProfileEntry
	e.Key, _ = unescape(p.name)
	if base != nil {
		e = *base
	}
	r.constant("kind", "profile")
	e.Owner = p.owner
	e.Key = r.keep("id", e.Key)
	e.Value = words
	e.Status = r.status(p, e.Status, memory.Active, memory.Retired)
	e.UpdatedAt = r.time("updated_at", e.UpdatedAt)
	e.Tokens = int(r.number("token_count", 0))
	return e
}

// context reads a document. One without a title is called what its file is.
func (r *reader) context(p place, base *memory.Context, words string) memory.Context {
	c := memory.Context{Title: p.name}
	if base != nil {
		c = *base
		c.Title = ""
	}
	r.constant("kind", "context")
	c.Owner = p.owner
	c.ID = r.keep("id", c.ID)
	c.Title, c.Content = r.keep("title", c.Title), words
	c.Status = r.status(p, c.Status, memory.Active, memory.Retired)
	c.CreatedAt, c.UpdatedAt = r.time("created_at", c.CreatedAt), r.time("updated_at", c.UpdatedAt)
	return c
}

func (r *reader) conversation(p place, base *memory.Conversation, words string) memory.Conversation {
	var c memory.Conversation
	if base != nil {
		c = *base
	}
	if c.Status = memory.Active; p.deleted {
		c.Status = memory.Retired
	}
	r.constant("kind", "conversation")
	c.Owner = p.owner
	if id, ok := unescape(p.conversation); ok {
		c.ID = id
	} else {
		c.ID = r.keep("id", c.ID)
	}
	c.Title, c.Project, c.Agent = r.text("title"), r.text("project"), r.text("agent")
	c.Contexts, c.Rules = r.list("contexts"), words
	c.CreatedAt, c.UpdatedAt = r.time("created_at", c.CreatedAt), r.time("updated_at", c.UpdatedAt)
	return c
}

func or(t, u time.Time) time.Time {
	if t.IsZero() {
		return u
	}
	return t
}
