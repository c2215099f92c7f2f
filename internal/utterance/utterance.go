// Package utterance tells what of a user's message the person wrote. Chat front ends and
// coding agents send documents, project files, settings and orders of their own in the
// user's name; none of that is stored, asked, learned from or shown as the person's words.
//
// What is known of clients is data: wrappers.jsonl has a row for each mark, with the client
// and version that sends it and a message that shows it. Heuristics on free text (mails,
// code, quotations) are not here: a person may well want to keep those.
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

// row is one line of wrappers.jsonl.
type row struct {
	Form   string `json:"form"`
	Mark   string `json:"mark"`   // of begins: "…" in it is any text within a line
	Until  string `json:"until"`  // of begins and holds: the last of these, "|" between them, ends what is the client's
	Unless string `json:"unless"` // of begins: what a message without a wrapper has
	Within string `json:"within"` // of begins: the elements, "|" between them, whose last one has the person's words
	Whole  bool   `json:"whole"`  // of begins: without until, all of the message is the client's
	Client string `json:"client"` // and its version
	Source string `json:"source"` // "recorded", or where it was read, "not run"
	Shows  string `json:"shows"`  // a message
	Leaves string `json:"leaves"` // what of it is the person's
}

// table is the rows by how they are looked for.
type table struct {
	elements map[string]bool // <name …>…</name> from the start of a line: dropped
	dresses  map[string]bool // likewise, but its content stays
	begins   []row           // at the beginning of the message
	holds    []row           // anywhere: what stands before the end of it is the client's
	ends     []string        // from the start of a line to the end of the message
	endBytes [256]bool       // the first bytes of ends
	tasks    []string        // at the beginning of a message: the client's own errand
	agents   []string        // likewise: a sub-agent's request, whatever follows
	folders  []row           // in a line, before the path of the working directory; the first one counts
}

var rows = sync.OnceValue(func() []row {
	var out []row
	for line := range bytes.Lines(wrappers) {
		var r row
		if err := json.Unmarshal(line, &r); err != nil {
			panic("utterance: wrappers.jsonl: " + err.Error())
		}
		out = append(out, r)
	}
	return out
})

var known = sync.OnceValue(func() table {
	t := table{elements: map[string]bool{}, dresses: map[string]bool{}}
	for _, r := range rows() {
		switch r.Form {
		case "element":
			t.elements[r.Mark] = true
		case "dress":
			t.dresses[r.Mark] = true
		case "begins":
			t.begins = append(t.begins, r)
		case "holds":
			t.holds = append(t.holds, r)
		case "ends":
			t.ends = append(t.ends, r.Mark)
			t.endBytes[r.Mark[0]] = true
		case "task":
			t.tasks = append(t.tasks, r.Mark)
		case "subagent":
			t.agents = append(t.agents, r.Mark)
		case "folder":
			t.folders = append(t.folders, r)
		default:
			panic("utterance: wrappers.jsonl: unknown form " + r.Form)
		}
	}
	return t
})

// Words returns what the person wrote of a user's message, "" for nothing. A message without
// a known mark is returned as it is. What is opened and never closed goes to the end.
func Words(message string) string {
	t := known()
	trimmed := strings.TrimSpace(message)
	rest := trimmed
	for again := true; again; {
		rest, again = t.cutBeginning(rest)
	}
	rest = t.cutLines(rest)
	if rest = unquote(strings.TrimSpace(rest)); rest == trimmed {
		return message
	}
	return rest
}

// IsTask reports whether a message begins an errand of the client's own, such as summing up a
// conversation that grew too long: it is not part of any conversation.
func IsTask(message string) bool {
	return beginsWithAny(message, known().tasks)
}

// IsSubagent reports whether a message, wherever it stands in a request, says that the request
// is a sub-agent's: a model wrote its user messages.
func IsSubagent(message string) bool {
	return beginsWithAny(message, known().agents)
}

// maxFolder bounds the path of a working directory.
const maxFolder = 512

// Folder returns the directory that a coding agent says it works in, an absolute path, in its
// system message or in what it puts around a user's words; "" where it says none.
func Folder(message string) string {
	for _, r := range known().folders {
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

func beginsWithAny(message string, marks []string) bool {
	message = strings.TrimSpace(message)
	return slices.ContainsFunc(marks, func(mark string) bool { return strings.HasPrefix(message, mark) })
}

// cutBeginning drops one wrapper that the message begins with.
func (t *table) cutBeginning(s string) (rest string, cut bool) {
	for _, r := range t.begins {
		if !r.opens(s) || r.Unless != "" && strings.Contains(s, r.Unless) {
			continue
		}
		if r.Within != "" {
			return r.inside(s), false
		}
		if end := r.end(s); end > 0 {
			return strings.TrimSpace(s[end:]), true
		}
		if r.Until == "" || r.Whole {
			return "", false
		}
	}
	for _, r := range t.holds {
		if strings.Contains(s, r.Mark) {
			if end := r.end(s); end > 0 {
				return strings.TrimSpace(s[end:]), true
			}
		}
	}
	return s, false
}

// opens reports whether a message begins with the row's mark.
func (r *row) opens(s string) bool {
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
func (r *row) end(s string) int {
	end := 0
	for until := range strings.SplitSeq(r.Until, "|") {
		if i := strings.LastIndex(s, until); until != "" && i >= 0 {
			end = max(end, i+len(until))
		}
	}
	return end
}

// cutLines drops elements that begin a line, the tags of those that only dress the words, and
// what stands from a line with an ending mark on.
func (t *table) cutLines(s string) string {
	var out strings.Builder
	kept, changed := 0, false // s[:kept] is written or dropped
	var dressed string        // the name of the element that was opened: there is one
	for at := 0; at < len(s); {
		end := len(s)
		if i := strings.IndexByte(s[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line := strings.TrimLeft(s[at:end], " \t")
		start := end - len(line)
		if t.endsHere(s[start:]) {
			out.WriteString(s[kept:start])
			return out.String()
		}
		name, tag := openTag(line)
		switch {
		case name != "" && t.elements[name]:
			out.WriteString(s[kept:start])
			changed = true
			at = closed(s, start, tag, name)
			kept = at
			continue
		case name != "" && t.dresses[name] && dressed == "":
			dressed = name
			out.WriteString(s[kept:start])
			changed = true
			kept = start + tag
			if i := strings.LastIndex(s, "</"+name+">"); i >= kept {
				inner := s[kept:i]
				s = s[:kept] + inner + strings.TrimLeft(s[i+len(name)+3:], " \t")
			}
			at = kept
			continue
		}
		at = end
	}
	if !changed {
		return s
	}
	out.WriteString(s[kept:])
	return out.String()
}

func (t *table) endsHere(s string) bool {
	if s == "" || !t.endBytes[s[0]] {
		return false
	}
	for _, mark := range t.ends {
		if strings.HasPrefix(s, mark) {
			return true
		}
	}
	return false
}

// openTag returns the name of the tag that a line begins with and the length of the tag, ""
// for none.
func openTag(line string) (name string, length int) {
	if !strings.HasPrefix(line, "<") {
		return "", 0
	}
	end := strings.IndexByte(line, '>')
	if end < 0 {
		return "", 0
	}
	name, _, _ = strings.Cut(strings.TrimSuffix(line[1:end], "/"), " ")
	return name, end + 1
}

// closed returns where an element ends that begins at start: behind its closing tag. Where
// several elements of the name follow each other, each ends by itself; within one the last
// closing tag before the next opening one counts, so that no document closes its own.
func closed(s string, start, tag int, name string) int {
	if strings.HasSuffix(s[start:start+tag], "/>") {
		return start + tag
	}
	stop := len(s)
	if i := strings.Index(s[start+tag:], "\n<"+name); i >= 0 {
		if strings.Contains(s[start+tag:start+tag+i], "</"+name+">") {
			stop = start + tag + i
		}
	}
	i := strings.LastIndex(s[start+tag:stop], "</"+name+">")
	if i < 0 {
		return len(s)
	}
	return start + tag + i + len(name) + 3
}

// unquote takes off quotation marks around all of a message, as opencode puts them around
// what its command line was given.
func unquote(s string) string {
	if len(s) > 2 && s[0] == '"' && s[len(s)-1] == '"' && !strings.Contains(s[1:len(s)-1], `"`) {
		return s[1 : len(s)-1]
	}
	return s
}
