// Package utterance finds the person's own words in a message with the role user. Chat clients and coding
// agents also send documents, project files, settings and instructions in this role, which must not be
// stored, searched, learned from or shown as the person's words.
//
// [ParseMessage] separates texts by their form. [WithoutWrappers] removes elements that only programs write, and the
// wrappers of the clients in wrappers.jsonl. The file has one row for each marker, with its client and an example.
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

// wrapperMarker is one line of wrappers.jsonl, without the fields that only its test uses.
type wrapperMarker struct {
	Form           string `json:"form"`   // one of begins, ends, holds, task, subagent and folder
	Text           string `json:"mark"`   // the text to find; in rows of the form begins, "…" stands for any text within a line
	EndTexts       string `json:"until"`  // for begins and holds: alternatives separated by "|"; the client's text ends after the last occurrence of an alternative
	PersonElements string `json:"within"` // for begins: element names separated by "|"; the last such element contains the person's words
}

// markersByForm groups the markers by their form; "holds" counts as "begins".
var markersByForm = sync.OnceValue(func() map[string][]wrapperMarker {
	out := map[string][]wrapperMarker{}
	for line := range bytes.Lines(wrappers) {
		var r wrapperMarker
		if err := json.Unmarshal(line, &r); err != nil {
			panic("utterance: wrappers.jsonl: " + err.Error())
		}
		form := strings.Replace(r.Form, "holds", "begins", 1)
		out[form] = append(out[form], r)
	}
	return out
})

// WithoutWrappers returns the part of a user's message that is stored: the message without the wrappers of programs. It
// returns a message without wrappers unchanged.
func WithoutWrappers(message string) string {
	if IsClientTask(message) || IsFromSubagent(message) {
		return message
	}
	trimmed := strings.TrimSpace(message)
	rest := trimmed
	for again := true; again; {
		rest, again = cutWrapper(rest)
	}
	rest = "\n" + withoutElements(rest)
	for _, r := range markersByForm()["ends"] {
		rest, _, _ = strings.Cut(rest, "\n"+r.Text)
	}
	if rest = unquote(strings.TrimSpace(rest)); rest == trimmed {
		return message
	}
	return rest
}

// IsClientTask reports whether a message is a client's own task, such as summarizing a long conversation. Tasks
// belong to no conversation.
func IsClientTask(message string) bool {
	return beginsWithMarker("task", message)
}

// IsFromSubagent reports whether a message comes from a sub-agent, whose user messages a model wrote.
func IsFromSubagent(message string) bool {
	return beginsWithMarker("subagent", message)
}

// maxPathBytes is the maximum length in bytes of the path of a working directory.
const maxPathBytes = 512

// WorkingDirectory returns the absolute path of the working directory that a coding agent names in a system message or
// in the wrapper of a user's words, or "".
func WorkingDirectory(message string) string {
	for _, r := range markersByForm()["folder"] {
		for at := 0; ; {
			i := strings.Index(message[at:], r.Text)
			if i < 0 {
				break
			}
			begins := at + i
			at = begins + len(r.Text)
			if path := r.pathAfter(message, begins, at); path != "" {
				return path
			}
		}
	}
	return ""
}

// pathAfter returns the path after the marker at message[markerStart:markerEnd], or "" if other text than a bullet
// or number precedes the marker in its line.
func (r *wrapperMarker) pathAfter(message string, markerStart, markerEnd int) string {
	before := message[strings.LastIndexByte(message[:markerStart], '\n')+1 : markerStart]
	if strings.Trim(before, " \t-*#.0123456789") != "" {
		return ""
	}
	line, _, _ := strings.Cut(message[markerEnd:], "\n")
	if r.EndTexts != "" {
		var closed bool
		if line, _, closed = strings.Cut(line, r.EndTexts); !closed {
			return ""
		}
	}
	path := strings.TrimRight(strings.TrimSpace(line), `/\`)
	drive := len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
	if len(path) > maxPathBytes || !drive && !strings.HasPrefix(path, "/") {
		return ""
	}
	return path
}

func beginsWithMarker(form, message string) bool {
	message = strings.TrimSpace(message)
	return slices.ContainsFunc(markersByForm()[form], func(r wrapperMarker) bool { return strings.HasPrefix(message, r.Text) })
}

// cutWrapper removes one wrapper from the beginning of the message. hasMore reports whether another wrapper may follow.
func cutWrapper(s string) (rest string, hasMore bool) {
	for _, r := range markersByForm()["begins"] {
		switch end := r.wrapperEnd(s); {
		case !r.matchesStart(s):
		case r.PersonElements != "":
			return r.personContent(s), false
		case end > 0:
			return strings.TrimSpace(s[end:]), true
		}
	}
	return s, false
}

// matchesStart reports whether a message begins with the marker's text, or, in the form "holds", contains it.
func (r *wrapperMarker) matchesStart(s string) bool {
	if r.Form == "holds" {
		return strings.Contains(s, r.Text)
	}
	before, after, anything := strings.Cut(r.Text, "…")
	if !anything || !strings.HasPrefix(s, before) {
		return strings.HasPrefix(s, r.Text)
	}
	line, _, _ := strings.Cut(s, "\n")
	last, more, _ := strings.Cut(after, "\n")
	return strings.HasSuffix(line, last) && strings.HasPrefix(strings.TrimPrefix(s[len(line):], "\n"), more)
}

// personContent returns the content of the last of the marker's PersonElements in a message, or "".
func (r *wrapperMarker) personContent(s string) string {
	words, last := "", -1
	for name := range strings.SplitSeq(r.PersonElements, "|") {
		start := strings.LastIndex(s, "<"+name+">")
		if content, _, ok := strings.Cut(s[max(start, 0):], "</"+name+">"); ok && start > last {
			words, last = content[len(name)+2:], start
		}
	}
	return strings.TrimSpace(words)
}

// wrapperEnd returns the end of the client's text, or 0 if s has no end mark.
func (r *wrapperMarker) wrapperEnd(s string) (end int) {
	if r.EndTexts == "" {
		return len(s)
	}
	for until := range strings.SplitSeq(r.EndTexts, "|") {
		if i := strings.LastIndex(s, until); i >= 0 {
			end = max(end, i+len(until))
		}
	}
	return end
}

// withoutElements removes elements that only programs write (their names have several words, and they begin a
// line), and the tags of elements with the person's words. It keeps elements that contain texts.
func withoutElements(s string) string {
	b, done := []byte(s), 0
	cut := func(from, to int) { copy(b[from:to], strings.Repeat("\xff", to-from)) } // 0xff marks text to remove, because UTF-8 text never has this byte
	eachElement(s, func(e element) (next int) {
		switch before := strings.TrimRight(s[done:e.start], " \t"); {
		case e.closing.end == 0 || before != "" && !strings.HasSuffix(before, "\n"):
		case personElements.Has(e.name):
			done = e.end
			cut(e.start, e.end)
			cut(e.closing.start, len(s)-len(strings.TrimLeft(s[e.closing.end:], " \t")))
		case strings.ContainsAny(e.name, "_-") && !textElements.Has(e.name):
			done = e.closing.end
			cut(e.start, done)
			return done
		}
		return e.end
	})
	return string(bytes.ReplaceAll(b, []byte("\xff"), nil))
}

// tag is an opening or closing tag.
type tag struct {
	name       string // in lower case; "!doctype" for a document type
	start, end int
	isClosing  bool
}

type element struct {
	tag
	closing tag // the closing tag; the opening tag for an empty element; zero without a closing tag
}

const nameCharacters = "abcdefghijklmnopqrstuvwxyz0123456789_.:-"

// tagsIn returns the tags in a text.
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
		if name = strings.ToLower(strings.TrimSpace(name)); name == "!doctype" || name != "" && 'a' <= name[0] && name[0] <= 'z' && strings.Trim(name, nameCharacters) == "" {
			end += n + 1
			out = append(out, tag{name, start, end, shuts})
		}
	}
}

// eachElement calls yield with each element of a text and continues at the offset that yield returns. An element ends
// at the last closing tag before another element of its name, so that a document in the element cannot end it early.
func eachElement(s string, yield func(element) (next int)) {
	tags := tagsIn(s)
	last := map[string]int{} // index of the last closing tag of each name
	for i, t := range tags {
		if t.isClosing {
			last[t.name] = i
		}
	}
	next := 0
	for i, t := range tags {
		if t.start < next || t.isClosing || formattingElements.Has(t.name) {
			continue
		}
		e := element{tag: t}
		if s[t.end-2] == '/' {
			e.closing = t
		}
		for _, o := range tags[i+1 : max(i, last[t.name])+1] {
			if o.name == t.name && !o.isClosing && e.closing.end > 0 && s[o.start-1] == '\n' {
				break
			}
			if o.name == t.name && o.isClosing {
				e.closing = o
			}
		}
		if next = yield(e); next < e.closing.start { // continue inside the element, once for each name
			delete(last, t.name)
		}
	}
}

// unquote removes quotation marks around a whole message. The client opencode adds them to command-line arguments.
func unquote(s string) string {
	if len(s) > 2 && s[0] == '"' && s[len(s)-1] == '"' && !strings.Contains(s[1:len(s)-1], `"`) {
		return s[1 : len(s)-1]
	}
	return s
}
