package retrieve

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/memory"
)

// uncarried parts hits in those to tell and those that the request holds already.
func (r *Recalling) uncarried(hits []memory.Hit) (fresh, held []memory.Hit) {
	if len(r.Q.Said)+len(r.Q.Replaced) == 0 {
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
func (r *Recalling) carries(m memory.Memory) bool {
	carries, known := r.carried[m.ID()]
	if known {
		return carries
	}
	if m.Fact != nil && m.Link == nil && len(m.Fact.Provenance.Turns) > 0 {
		from := r.Q.Replaced
		if len(r.Q.Said) > 0 {
			from = r.Q.Exclude
		}
		carries = !slices.ContainsFunc(m.Fact.Provenance.Turns, func(id string) bool { return !from[id] })
	}
	content := strings.TrimSpace(m.Content())
	carries = carries || slices.ContainsFunc(r.Q.Said, func(said string) bool { return holds(said, content) })
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
