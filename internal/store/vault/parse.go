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
	text   string
}

// readDocument splits a file. It returns an error if the file is not UTF-8 or incomplete, or if the
// front matter cannot be parsed.
func readDocument(file string) (document, error) {
	if !utf8.ValidString(file) {
		return document{}, fmt.Errorf("the file is not UTF-8 text")
	}
	pg := splitFile(file)
	if first, _, _ := cutLine(pg.body); !pg.hasFront && strings.TrimRight(first, " \t\r\n") == "---" && strings.HasSuffix(first, "\n") {
		return document{}, fmt.Errorf("the front matter has no end; the file may be half written")
	}
	if hasConflictMarkers(pg.body) {
		return document{}, fmt.Errorf("the file contains git conflict markers; Loci reads the file once they are removed")
	}
	values, _, err := parseFront(pg.front)
	return document{values, pg.text()}, err
}

func hasConflictMarkers(text string) bool {
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

// interpret returns the content of a document at path p. stored is Loci's content; zero if the memory
// is new. A missing key that Loci always writes keeps its value in stored; other missing keys are
// empty. factIDs maps file names to ids of facts in a rebuild, and is nil otherwise.
func (p parsedPath) interpret(d document, stored fileContent, factIDs map[string]string) (content fileContent, err error) {
	r := frontReader{path: p, isStored: stored != (fileContent{}), values: d.values, factIDs: factIDs}
	body := d.text
	if d.values["kind"].text != "turn" { // editors leave an empty line below the front matter; only turns keep it
		body = strings.TrimLeft(body, "\r\n")
	}
	switch p.targetPrefix() {
	case factTarget:
		f := copyOrDefault(stored.Fact, memory.Fact{Confidence: 1, Source: memory.FromFile, Trust: memory.TrustPerson, CreatedAt: p.timeInName()})
		if f.Scope.Owner = p.owner; stored.Fact == nil || f.Content != body {
			f.Content, f.Hash = body, text.Hash(body)
		}
		content.Fact, content.Relations = f, stored.Relations
	case summaryTarget:
		content.Summary = copyOrDefault(stored.Summary, memory.Summary{CreatedAt: p.timeInName()})
		content.Summary.Scope.Owner, content.Summary.Text = p.owner, body
	case profileTarget:
		key, _ := unescape(p.name)
		content.Profile = copyOrDefault(stored.Profile, memory.ProfileEntry{Key: key})
		content.Profile.Owner, content.Profile.Value = p.owner, body
	case contextTarget:
		content.Context = copyOrDefault(stored.Context, memory.Context{Title: p.name})
		content.Context.Owner, content.Context.Content = p.owner, body
	case conversationTarget:
		content.Conversation = copyOrDefault(stored.Conversation, memory.Conversation{})
		content.Conversation.Owner, content.Conversation.Rules = p.owner, body
	default:
		role, _ := unescape(strings.TrimPrefix(p.folder, "turns/"))
		content.Turn = copyOrDefault(stored.Turn, memory.Turn{CreatedAt: p.timeInName(), Role: memory.Role(role)})
		content.Turn.Owner, content.Turn.Content = p.owner, body
	}
	for _, prop := range content.properties() {
		prop.read(&r)
	}
	switch {
	case content.Conversation != nil:
		c := content.Conversation
		if id, ok := unescape(p.conversation); ok {
			c.ID = id
		}
		if c.Status = memory.Active; p.deleted {
			c.Status = memory.Retired
		}
	case content.Fact != nil && !p.unchecked:
		r.checkValidity(stored.Fact, content.Fact)
	}
	return content, r.err
}

func copyOrDefault[T any](original *T, defaultValue T) *T {
	if original != nil {
		defaultValue = *original
	}
	return &defaultValue
}

// frontReader reads values of front matter and records the first error.
type frontReader struct {
	path     parsedPath
	isStored bool // whether the wrapped store contains the memory
	values   frontMatter
	factIDs  map[string]string // ids of facts by file name; nil outside of a rebuild
	err      error
}

func (r *frontReader) failf(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *frontReader) fail(key, expected string) {
	r.failf("%s must be %s, not %s", key, expected, r.values[key].describe())
}

// scalar returns the scalar value of a key, or "". A value of another type is an error: ignoring
// the value would delete Loci's value.
func (r *frontReader) scalar(key, expected string) string {
	v := r.values[key]
	if v.otherType != "" || len(v.list) > 0 {
		r.fail(key, expected)
	}
	return v.text
}

func (r *frontReader) text(key string) string { return r.scalar(key, "a text") }

func (r *frontReader) list(key string) []string {
	v := r.values[key]
	switch {
	case v.otherType != "":
		r.fail(key, "a list like [a, b]")
		return nil
	case v.isList:
		return v.list
	}
	var out []string // Obsidian allows a list without brackets: "a, b"
	for _, t := range strings.Split(v.text, ",") {
		if t = strings.TrimSpace(t); t != "" {
			out = append(out, t)
		}
	}
	return out
}

// status returns a memory's new status; current is "" for a new memory. If a file moved to deleted/
// or back, the folder determines the status, otherwise the key status. A person may set the values
// superseded and replaced only in files moved to deleted/.
func (r *frontReader) status(current memory.Status, allowed []memory.Status) memory.Status {
	p, named := r.path, r.statusKeyValue(allowed)
	onlyByLoci := (named == memory.Superseded || named == memory.Replaced) && named != current
	moved := p.movedAcross()
	switch {
	case p.unchecked:
		return cmp.Or(named, current, memory.Active)
	case moved && !p.deleted:
		if named.Live() {
			return named
		}
		return memory.Active
	case p.deleted && (moved || p.lastFolder == "") && (named == "" || named.Live() || moved && onlyByLoci):
		switch {
		case current != "" && !current.Live():
			return current
		case moved && onlyByLoci:
			return named
		}
		return memory.Retired
	case named == "":
		return cmp.Or(current, memory.Active)
	case onlyByLoci && (p.lastFolder != "" || !p.deleted):
		r.failf("status is %s, which only Loci sets when another memory replaces this one: write retired to forget the memory, or change its text to replace it", named)
		return current
	}
	return named
}

func (r *frontReader) statusKeyValue(allowed []memory.Status) memory.Status {
	expected := "one of"
	for i, s := range allowed {
		if i > 0 {
			expected += ","
		}
		expected += " " + string(s)
	}
	named := memory.Status(r.scalar(statusKey, expected))
	if named != "" && !slices.Contains(allowed, named) {
		r.fail(statusKey, expected)
		return ""
	}
	return named
}

// hasUnknownID reports whether the file has an id that the wrapped store lacks, as in a rebuild.
func (r *frontReader) hasUnknownID() bool { return !r.isStored && r.values["id"].text != "" }

// conversation returns the conversation of a file by its folder. A shortened folder name is compared
// with the key conversation_id and with current, the memory's current conversation.
func (r *frontReader) conversation(current string) string {
	named := r.text(conversationKey)
	id, ok := "", r.path.conversation == globalFolder
	if !ok {
		id, ok = unescape(r.path.conversation)
	}
	if !ok {
		for _, one := range []string{named, current} {
			if one != "" && escape(one) == r.path.conversation {
				return one
			}
		}
		r.failf("no chat has a folder named %q: facts of a chat with this name belong in entries/%s/facts, facts of no chat in entries/%s/facts",
			r.path.conversation, escape(r.path.conversation), globalFolder)
		return current
	}
	nameOf := func(conversation string) string { return cmp.Or(conversation, globalFolder) }
	if named != "" && named != nameOf(id) && (!r.isStored || named != nameOf(current)) && !r.hasUnknownID() {
		folder := globalFolder
		if named != globalFolder {
			folder = escape(named)
		}
		r.failf("conversation_id is %q, but the folder determines the conversation: move the file to entries/%s/%s, or remove the line", named, folder, r.path.folder)
	}
	return id
}

// checkValidity reports an error if a person set valid_to before valid_from.
func (r *frontReader) checkValidity(stored, f *memory.Fact) {
	if f.ValidFrom.IsZero() || f.ValidTo.IsZero() || !f.ValidTo.Before(f.ValidFrom) || r.hasUnknownID() {
		return
	}
	if stored == nil || !stored.ValidFrom.Equal(f.ValidFrom) || !stored.ValidTo.Equal(f.ValidTo) {
		r.failf("valid_to is before valid_from, so the fact would never be valid")
	}
}
