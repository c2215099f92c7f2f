// Package utterance tells what of a user's message the person wrote. Chat front ends and
// coding agents send documents, project files, settings and orders of their own in the
// user's name; none of that is stored, asked, learned from or shown as the person's words.
//
// Read tells it by the form of a message, and Words what of a message is kept: elements that only
// programs write are dropped. What clients put around words without such a form is data: wrappers.jsonl
// has a row for each mark, with the client and version that sends it and a message that shows it.
package utterance

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

//go:embed wrappers.jsonl
var wrappers []byte

// row is one line of wrappers.jsonl, but for what its test reads alone.
type row struct {
	Form   string `json:"form"`   // begins, ends, holds, task, subagent or folder
	Mark   string `json:"mark"`   // of begins: "…" in it is any text within a line
	Until  string `json:"until"`  // of begins and holds: the last of these, "|" between them, ends what is the client's
	Within string `json:"within"` // of begins: the elements, "|" between them, whose last one has the person's words
}

// known are the rows by their form.
var known = sync.OnceValue(func() map[string][]row {
	out := map[string][]row{}
	for line := range bytes.Lines(wrappers) {
		var r row
		if err := json.Unmarshal(line, &r); err != nil {
			panic("utterance: wrappers.jsonl: " + err.Error())
		}
		form := strings.Replace(r.Form, "holds", "begins", 1)
		out[form] = append(out[form], r)
	}
	return out
})

// Words returns what is kept of a user's message: all but what a program put around the person's
// words, "" for nothing. A message without such is returned as it is.
func Words(message string) string {
	if IsTask(message) || IsSubagent(message) {
		return message
	}
	trimmed := strings.TrimSpace(message)
	rest := trimmed
	for again := true; again; {
		rest, again = cutBeginning(rest)
	}
	rest = "\n" + withoutElements(rest)
	for _, r := range known()["ends"] {
		rest, _, _ = strings.Cut(rest, "\n"+r.Mark)
	}
	if rest = unquote(strings.TrimSpace(rest)); rest == trimmed {
		return message
	}
	return rest
}

// IsTask reports whether a message begins an errand of the client's own, such as summing up a
// conversation that grew too long: it is not part of any conversation.
func IsTask(message string) bool {
	return beginsAs("task", message)
}

// IsSubagent reports whether a message, wherever it stands in a request, says that the request
// is a sub-agent's: a model wrote its user messages.
func IsSubagent(message string) bool {
	return beginsAs("subagent", message)
}

// maxFolder bounds the path of a working directory.
const maxFolder = 512

// Folder returns the directory that a coding agent says it works in, an absolute path, in its
// system message or in what it puts around a user's words; "" where it says none.
func Folder(message string) string {
	for _, r := range known()["folder"] {
		for at := 0; ; {
			i := strings.Index(message[at:], r.Mark)
			if i < 0 {
				break
			}
			begins := at + i
			at = begins + len(r.Mark)
			if path := r.path(message, begins, at); path != "" {
				return path
			}
		}
	}
	return ""
}

// path returns the path behind a mark that begins a line but for a bullet or a number.
func (r *row) path(message string, begins, ends int) string {
	before := message[strings.LastIndexByte(message[:begins], '\n')+1 : begins]
	if strings.Trim(before, " \t-*#.0123456789") != "" {
		return ""
	}
	line, _, _ := strings.Cut(message[ends:], "\n")
	if r.Until != "" {
		var closed bool
		if line, _, closed = strings.Cut(line, r.Until); !closed {
			return ""
		}
	}
	path := strings.TrimRight(strings.TrimSpace(line), `/\`)
	drive := len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
	if len(path) > maxFolder || !drive && !strings.HasPrefix(path, "/") {
		return ""
	}
	return path
}

func beginsAs(form, message string) bool {
	message = strings.TrimSpace(message)
	return slices.ContainsFunc(known()[form], func(r row) bool { return strings.HasPrefix(message, r.Mark) })
}

// cutBeginning drops one wrapper that the message begins with.
func cutBeginning(s string) (rest string, cut bool) {
	for _, r := range known()["begins"] {
		switch end := r.end(s); {
		case !r.opens(s):
		case r.Within != "":
			return r.inside(s), false
		case end > 0:
			return strings.TrimSpace(s[end:]), true
		}
	}
	return s, false
}

// opens reports whether a message begins with the row's mark.
func (r *row) opens(s string) bool {
	if r.Form == "holds" {
		return strings.Contains(s, r.Mark)
	}
	before, after, anything := strings.Cut(r.Mark, "…")
	if !anything || !strings.HasPrefix(s, before) {
		return strings.HasPrefix(s, r.Mark)
	}
	line, _, _ := strings.Cut(s, "\n")
	last, more, _ := strings.Cut(after, "\n")
	return strings.HasSuffix(line, last) && strings.HasPrefix(strings.TrimPrefix(s[len(line):], "\n"), more)
}

// inside returns the content of the last of the elements that have the person's words, "" for none.
func (r *row) inside(s string) string {
	words, last := "", -1
	for name := range strings.SplitSeq(r.Within, "|") {
		start := strings.LastIndex(s, "<"+name+">")
		if content, _, ok := strings.Cut(s[max(start, 0):], "</"+name+">"); ok && start > last {
			words, last = content[len(name)+2:], start
		}
	}
	return strings.TrimSpace(words)
}

// end returns where what is the client's ends, 0 where nothing says so.
func (r *row) end(s string) (end int) {
	if r.Until == "" {
		return len(s)
	}
	for until := range strings.SplitSeq(r.Until, "|") {
		if i := strings.LastIndex(s, until); i >= 0 {
			end = max(end, i+len(until))
		}
	}
	return end
}

// withoutElements drops elements that begin a line and have a name of several words, as only programs
// give them, and the tags of those whose content is the person's. Texts stay.
func withoutElements(s string) string {
	b, done := []byte(s), 0
	cut := func(from, to int) { copy(b[from:to], strings.Repeat("\xff", to-from)) } // what no text has
	elements(s, func(e element) (next int) {
		switch before := strings.TrimRight(s[done:e.start], " \t"); {
		case e.shut.end == 0 || before != "" && !strings.HasSuffix(before, "\n"):
		case ownElements.Has(e.name):
			done = e.end
			cut(e.start, e.end)
			cut(e.shut.start, len(s)-len(strings.TrimLeft(s[e.shut.end:], " \t")))
		case strings.ContainsAny(e.name, "_-") && !textElements.Has(e.name):
			done = e.shut.end
			cut(e.start, done)
			return done
		}
		return e.end
	})
	return string(bytes.ReplaceAll(b, []byte("\xff"), nil))
}

// A tag opens or shuts an element. An element is known by its opening tag.
type tag struct {
	name       string // in small letters, "!doctype" for that
	start, end int
	shuts      bool
}

type element struct {
	tag
	shut tag // the same tag where it is empty, the zero value where nothing shuts it
}

const nameSigns = "abcdefghijklmnopqrstuvwxyz0123456789_.:-"

// tagsIn returns the tags of a text.
func tagsIn(s string) (out []tag) {
	for end := 0; ; {
		start := strings.IndexByte(s[end:], '<') + end
		if start < end {
			return out
		}
		end = start + 1
		n := strings.IndexAny(s[end:], "<>")
		if n < 0 || s[end+n] == '<' {
			continue
		}
		inner, shuts := strings.CutPrefix(s[end:end+n], "/")
		name, _, _ := strings.Cut(strings.TrimSuffix(inner, "/"), " ")
		if name = strings.ToLower(strings.TrimSpace(name)); name == "!doctype" || name != "" && 'a' <= name[0] && name[0] <= 'z' && strings.Trim(name, nameSigns) == "" {
			end += n + 1
			out = append(out, tag{name, start, end, shuts})
		}
	}
}

// elements calls yield with the elements of a text and goes on behind or within each, where that says.
// Of several closing tags the last one counts that no other such element stands before, so that no
// document closes its own.
func elements(s string, yield func(element) (next int)) {
	tags := tagsIn(s)
	last := map[string]int{} // by name, its last closing tag
	for i, t := range tags {
		if t.shuts {
			last[t.name] = i
		}
	}
	next := 0
	for i, t := range tags {
		if t.start < next || t.shuts || plainElements.Has(t.name) {
			continue
		}
		e := element{tag: t}
		if s[t.end-2] == '/' {
			e.shut = t
		}
		for _, o := range tags[i+1 : max(i, last[t.name])+1] {
			if o.name == t.name && !o.shuts && e.shut.end > 0 && s[o.start-1] == '\n' {
				break
			}
			if o.name == t.name && o.shuts {
				e.shut = o
			}
		}
		if next = yield(e); next < e.shut.start { // it is gone into, once for each name
			delete(last, t.name)
		}
	}
}

// unquote takes off quotation marks around all of a message, as opencode puts them around
// what its command line was given.
func unquote(s string) string {
	if len(s) > 2 && s[0] == '"' && s[len(s)-1] == '"' && !strings.Contains(s[1:len(s)-1], `"`) {
		return s[1 : len(s)-1]
	}
	return s
}
