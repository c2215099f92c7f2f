// Package utterance finds the person's own words in a user's message. Chat front ends and coding
// agents send documents, project files, settings and instructions in the user's name; none of that
// is stored, searched, learned from or shown as the person's words.
//
// Read goes by the form of a message. Words removes elements that only programs write, and the
// clients' wrappers listed in wrappers.jsonl, one row for each mark with client, version and an
// example.
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

// row is one line of wrappers.jsonl, without the fields for its test.
type row struct {
	Form           string `json:"form"`   // begins, ends, holds, task, subagent or folder
	Marker         string `json:"mark"`   // "…" in a mark of begins is any text within a line
	Until          string `json:"until"`  // of begins and holds: alternatives, separated by "|", of which the last occurrence ends the client's text
	PersonElements string `json:"within"` // of begins: elements, separated by "|", of which the last has the person's words
}

// rowsByForm are the rows by their form.
var rowsByForm = sync.OnceValue(func() map[string][]row {
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

// Words returns the part of a user's message that is stored: without the wrappers of programs, ""
// for nothing. A message without wrappers is returned unchanged.
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
	for _, r := range rowsByForm()["ends"] {
		rest, _, _ = strings.Cut(rest, "\n"+r.Marker)
	}
	if rest = unquote(strings.TrimSpace(rest)); rest == trimmed {
		return message
	}
	return rest
}

// IsTask reports whether a message begins a task of the client's own, such as summing up a long
// conversation: it belongs to no conversation.
func IsTask(message string) bool {
	return beginsAs("task", message)
}

// IsSubagent reports whether a message marks its request as a sub-agent's, whose user messages a
// model wrote.
func IsSubagent(message string) bool {
	return beginsAs("subagent", message)
}

// maxFolder bounds the path of a working directory.
const maxFolder = 512

// Folder returns the working directory that a coding agent names in its system message or around a
// user's words, an absolute path; "" for none.
func Folder(message string) string {
	for _, r := range rowsByForm()["folder"] {
		for at := 0; ; {
			i := strings.Index(message[at:], r.Marker)
			if i < 0 {
				break
			}
			begins := at + i
			at = begins + len(r.Marker)
			if path := r.path(message, begins, at); path != "" {
				return path
			}
		}
	}
	return ""
}

// path returns the path after a mark at the beginning of a line, after an optional bullet or
// number.
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
	return slices.ContainsFunc(rowsByForm()[form], func(r row) bool { return strings.HasPrefix(message, r.Marker) })
}

// cutBeginning drops one wrapper at the beginning of the message.
func cutBeginning(s string) (rest string, cut bool) {
	for _, r := range rowsByForm()["begins"] {
		switch end := r.end(s); {
		case !r.opens(s):
		case r.PersonElements != "":
			return r.personContent(s), false
		case end > 0:
			return strings.TrimSpace(s[end:]), true
		}
	}
	return s, false
}

// beginsText reports whether a message begins with the row's mark.
func (r *row) opens(s string) bool {
	if r.Form == "holds" {
		return strings.Contains(s, r.Marker)
	}
	before, after, anything := strings.Cut(r.Marker, "…")
	if !anything || !strings.HasPrefix(s, before) {
		return strings.HasPrefix(s, r.Marker)
	}
	line, _, _ := strings.Cut(s, "\n")
	last, more, _ := strings.Cut(after, "\n")
	return strings.HasSuffix(line, last) && strings.HasPrefix(strings.TrimPrefix(s[len(line):], "\n"), more)
}

// personContent returns the content of the last element with the person's words, "" for none.
func (r *row) personContent(s string) string {
	words, last := "", -1
	for name := range strings.SplitSeq(r.PersonElements, "|") {
		start := strings.LastIndex(s, "<"+name+">")
		if content, _, ok := strings.Cut(s[max(start, 0):], "</"+name+">"); ok && start > last {
			words, last = content[len(name)+2:], start
		}
	}
	return strings.TrimSpace(words)
}

// end returns the end of the client's text, 0 if nothing marks it.
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

// withoutElements drops elements at the beginning of a line with names of several words, as only
// programs use, and the tags of those with the person's words. Elements that contain texts stay.
func withoutElements(s string) string {
	b, done := []byte(s), 0
	cut := func(from, to int) { copy(b[from:to], strings.Repeat("\xff", to-from)) } // a byte that no text has
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

// A tag opens or closes an element. An opening tag identifies the element.
type tag struct {
	name       string // in lower case, "!doctype" for that
	start, end int
	shuts      bool
}

type element struct {
	tag
	shut tag // the same tag if the element is empty, the zero value without a closing tag
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

// elements calls yield with the elements of a text and continues where that returns. Of several
// closing tags the last one before another such element counts, so that no document can close its
// own.
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
		if next = yield(e); next < e.shut.start { // it continues inside, once for each name
			delete(last, t.name)
		}
	}
}

// unquote removes quotation marks around a whole message, which opencode adds to command-line
// arguments.
func unquote(s string) string {
	if len(s) > 2 && s[0] == '"' && s[len(s)-1] == '"' && !strings.Contains(s[1:len(s)-1], `"`) {
		return s[1 : len(s)-1]
	}
	return s
}
