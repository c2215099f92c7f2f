package engine

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/memory"
)

// read reports whether a model reads the chat. loci/recall answers from memory alone.
func (x *Exchange) read() bool {
	return x.e.opts.Recall.Read && x.in.Chat.Model != memory.RecallModel
}

// carries returns which turns recall does not give to the request, by id: those that it holds,
// of a chat that no model reads the question alone, and those that it takes the place of.
func (x *Exchange) carries() map[string]bool {
	out := map[string]bool{}
	for i, id := range x.at.Turns {
		if id != "" && (x.read() || i >= x.in.Chat.LastUser()) {
			out[id] = true
		}
	}
	for id := range x.replaces() {
		out[id] = true
	}
	return out
}

// replaces returns the turns that the request takes the place of, by id.
func (x *Exchange) replaces() map[string]bool {
	out := map[string]bool{}
	for _, id := range x.at.Leave {
		out[id] = true
	}
	return out
}

// said returns what the request says, if a model reads it: the others must be told.
func (x *Exchange) said() []string {
	if !x.read() {
		return nil
	}
	var said []string
	for _, m := range x.in.Chat.Messages {
		said = append(said, m.Text)
	}
	return said
}

// uncarried parts hits in those to tell and those that the request holds already.
func (r *recalling) uncarried(hits []memory.Hit) (fresh, held []memory.Hit) {
	if len(r.q.Said)+len(r.q.Replaced) == 0 {
		return hits, nil
	}
	for _, h := range hits {
		if r.carries(h.Memory) {
			held = append(held, h)
		} else {
			fresh = append(fresh, h)
		}
	}
	return fresh, held
}

// carries reports whether the request holds a memory already: a fact learned from
// nothing but its turns, or what stands in it word for word.
func (r *recalling) carries(m memory.Memory) bool {
	carries, known := r.carried[m.ID()]
	if known {
		return carries
	}
	if m.Fact != nil && m.Link == nil && len(m.Fact.Provenance.Turns) > 0 {
		from := r.q.Replaced
		if len(r.q.Said) > 0 {
			from = r.q.Exclude
		}
		carries = !slices.ContainsFunc(m.Fact.Provenance.Turns, func(id string) bool { return !from[id] })
	}
	content := strings.TrimSpace(m.Content())
	carries = carries || slices.ContainsFunc(r.q.Said, func(said string) bool { return holds(said, content) })
	if r.carried == nil {
		r.carried = map[string]bool{}
	}
	r.carried[m.ID()] = carries
	return carries
}

// quotable is how many words make a text's standing in another no accident.
const quotable = 3

// holds reports whether content is all of a message or, unless it is a word or two,
// stands in it as whole words.
func holds(message, content string) bool {
	if content == "" || strings.TrimSpace(message) == content {
		return content != ""
	}
	for from := 0; ; {
		at := strings.Index(message[from:], content)
		if at < 0 || from == 0 && len(strings.Fields(content)) < quotable {
			return false
		}
		start, end := from+at, from+at+len(content)
		before, _ := utf8.DecodeLastRuneInString(message[:start])
		after, _ := utf8.DecodeRuneInString(message[end:])
		if !inWord(before) && !inWord(after) {
			return true
		}
		from = end
	}
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
