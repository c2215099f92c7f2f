package vault

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// document is a file split into front matter and text, before Loci interprets it.
type document struct {
	values frontMatter
	words  string
}

// readDocument splits a file. It refuses text that is not UTF-8 or incomplete, and front matter
// that cannot be parsed.
func readDocument(file string) (document, error) {
	if !utf8.ValidString(file) {
		return document{}, fmt.Errorf("the file is not UTF-8 text")
	}
	pg := split(file)
	if first, _, _ := cutLine(pg.body); !pg.has && strings.TrimRight(first, " \t\r\n") == "---" && strings.HasSuffix(first, "\n") {
		return document{}, fmt.Errorf("its front matter has no end; it may be half written")
	}
	if conflicted(pg.body) {
		return document{}, fmt.Errorf("it contains git conflict markers; Loci reads it when they are removed")
	}
	values, _, err := readFront(pg.front)
	return document{values, pg.words()}, err
}

// hasConflictMarkers reports whether a text has git's markers of a merge conflict.
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

// interpret returns the content of a document at path p. stored is Loci's content, or zero. If a key
// that Loci always writes is missing, its value is from stored; other missing keys are empty. In a
// rebuild, factIDs maps file names to ids of facts.
func (p place) read(d document, base thing, rebuilt map[string]string) (says thing, err error) {
	r := reader{p: p, stored: base != (thing{}), values: d.values, rebuilt: rebuilt}
	words := d.words
	if d.values["kind"].text != "turn" { // editors leave an empty line below the front matter; only turns keep it
		words = strings.TrimLeft(words, "\r\n")
	}
	switch p.kind() {
	case factTarget:
		f := copyOf(base.Fact, memory.Fact{Confidence: 1, Source: memory.FromFile, Trust: memory.TrustPerson, CreatedAt: p.created()})
		if f.Scope.Owner = p.owner; base.Fact == nil || f.Content != words {
			f.Content, f.Hash = words, text.Hash(words)
		}
		says.Fact, says.Relations = f, base.Relations
	case summaryTarget:
		says.Summary = copyOf(base.Summary, memory.Summary{CreatedAt: p.created()})
		says.Summary.Scope.Owner, says.Summary.Text = p.owner, words
	case profileTarget:
		key, _ := unescape(p.name)
		says.Profile = copyOf(base.Profile, memory.ProfileEntry{Key: key})
		says.Profile.Owner, says.Profile.Value = p.owner, words
	case contextTarget:
		says.Context = copyOf(base.Context, memory.Context{Title: p.name})
		says.Context.Owner, says.Context.Content = p.owner, words
	case conversationTarget:
		says.Conversation = copyOf(base.Conversation, memory.Conversation{})
		says.Conversation.Owner, says.Conversation.Rules = p.owner, words
	default:
		role, _ := unescape(strings.TrimPrefix(p.folder, "turns/"))
		says.Turn = copyOf(base.Turn, memory.Turn{CreatedAt: p.created(), Role: memory.Role(role)})
		says.Turn.Owner, says.Turn.Content = p.owner, words
	}
	for _, one := range says.properties() {
		one.read(&r)
	}
	switch {
	case says.Conversation != nil:
		c := says.Conversation
		if id, ok := unescape(p.conversation); ok {
			c.ID = id
		}
		if c.Status = memory.Active; p.deleted {
			c.Status = memory.Retired
		}
	case says.Fact != nil && !p.plain:
		r.holds(base.Fact, says.Fact)
	}
	return says, r.err
}

func copyOf[T any](base *T, fresh T) *T {
	if base != nil {
		fresh = *base
	}
	return &fresh
}

// frontReader reads values of front matter and records the first error.
type reader struct {
	p       place
	stored  bool // whether the wrapped store contains the memory
	values  frontMatter
	rebuilt map[string]string // ids of facts by file name; nil outside of a rebuild
	err     error
}

func (r *reader) failf(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *reader) fail(key, want string) {
	r.failf("%s must be %s, not %s", key, want, r.values[key].called())
}

// scalar returns the scalar value of a key, or "". A value of another type is an error: ignoring
// the value would delete Loci's value.
func (r *reader) one(key, want string) string {
	v := r.values[key]
	if v.odd != "" || len(v.list) > 0 {
		r.fail(key, want)
	}
	return v.text
}

func (r *reader) text(key string) string { return r.one(key, "a text") }

func (r *reader) list(key string) []string {
	v := r.values[key]
	switch {
	case v.odd != "":
		r.fail(key, "a list like [a, b]")
		return nil
	case v.many:
		return v.list
	}
	var out []string // "a, b": Obsidian allows tags on one line
	for _, t := range strings.Split(v.text, ",") {
		if t = strings.TrimSpace(t); t != "" {
			out = append(out, t)
		}
	}
	return out
}

// status returns a memory's new status; current is "" for a new memory. If a file moved to deleted/
// or back, the folder determines the status, otherwise the key. The values superseded and replaced
// are allowed only in files moved to deleted/.
func (r *reader) status(was memory.Status, allowed []memory.Status) memory.Status {
	p, named := r.p, r.statusKeyValue(allowed)
	alone := (named == memory.Superseded || named == memory.Replaced) && named != was
	moved := p.across()
	switch {
	case p.plain:
		return cmp.Or(named, was, memory.Active)
	case moved && !p.deleted:
		if named.Live() {
			return named
		}
		return memory.Active
	case p.deleted && (moved || p.was == "") && (named == "" || named.Live() || moved && alone):
		switch {
		case was != "" && !was.Live():
			return was
		case moved && alone:
			return named
		}
		return memory.Retired
	case named == "":
		return cmp.Or(was, memory.Active)
	case alone && (p.was != "" || !p.deleted):
		r.failf("status is %s, which only Loci sets when another memory replaces this one: write retired to forget the memory, or change its text to replace it", named)
		return was
	}
	return named
}

func (r *reader) statusKeyValue(allowed []memory.Status) memory.Status {
	want := "one of"
	for i, s := range allowed {
		if i > 0 {
			want += ","
		}
		want += " " + string(s)
	}
	named := memory.Status(r.one(statusKey, want))
	if named != "" && !slices.Contains(allowed, named) {
		r.fail(statusKey, want)
		return ""
	}
	return named
}

// hasUnknownID reports whether the file has an id that the wrapped store lacks, as in a rebuild.
func (r *reader) elsewhere() bool { return !r.stored && r.values["id"].text != "" }

// conversation returns the conversation of a file by its folder. If the folder's name is shortened,
// the key conversation_id or the memory's current conversation must match it.
func (r *reader) conversation(was string) string {
	named := r.text(conversationKey)
	id, ok := "", r.p.conversation == globalFolder
	if !ok {
		id, ok = unescape(r.p.conversation)
	}
	if !ok {
		for _, one := range []string{named, was} {
			if one != "" && escape(one) == r.p.conversation {
				return one
			}
		}
		r.failf("no chat has a folder named %q: facts of a chat with this name belong in entries/%s/facts, facts of no chat in entries/%s/facts",
			r.p.conversation, escape(r.p.conversation), globalFolder)
		return was
	}
	nameOf := func(conversation string) string { return cmp.Or(conversation, globalFolder) }
	if named != "" && named != nameOf(id) && (!r.stored || named != nameOf(was)) && !r.elsewhere() {
		folder := globalFolder
		if named != globalFolder {
			folder = escape(named)
		}
		r.failf("conversation_id is %q, but the folder determines the conversation: move the file to entries/%s/%s, or remove the line", named, folder, r.p.folder)
	}
	return id
}

// checkValidity reports an error if a person set valid_to before valid_from.
func (r *reader) holds(base, f *memory.Fact) {
	if f.ValidFrom.IsZero() || f.ValidTo.IsZero() || !f.ValidTo.Before(f.ValidFrom) || r.elsewhere() {
		return
	}
	if base == nil || !base.ValidFrom.Equal(f.ValidFrom) || !base.ValidTo.Equal(f.ValidTo) {
		r.failf("valid_to is before valid_from, so the fact would never be valid")
	}
}
