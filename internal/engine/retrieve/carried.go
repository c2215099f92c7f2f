package retrieve

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// uncarried splits hits into new ones and those that the request contains already.
func (r *Pipeline) uncarried(hits []memory.Hit) (fresh, held []memory.Hit) {
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

// carries reports whether the request contains a memory already: a fact learned only from
// its turns, or a text that it quotes word for word.
func (r *Pipeline) carries(m memory.Memory) bool {
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

// quotable is the number of words from which a match inside another text is no coincidence.
const quotable = 3

// holds reports whether content is the whole message or, from [quotable] words on, a part of
// it that begins and ends at word boundaries.
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

const (
	// repeatsTraced bounds how many repeats a trace names.
	repeatsTraced = 20

	// repeatSearches bounds the searches for one question. While more than half of the
	// candidates are repeats it searches again: a question asked a hundred times crowds out
	// its answer.
	repeatSearches = 4
)

// askedAgain is the threshold of a question that was asked before: half the usual one,
// since the earlier questions make its words common.
var askedAgain = recall.DefaultAnswered / 2

// unrepeated returns candidates without answers of the built-in model, which only repeat
// memories.
func (r *Pipeline) unrepeated(cands []memory.Candidate) []memory.Candidate {
	if r.history != nil {
		return cands
	}
	r.repeatFilter = recall.NewRepeatFilter(r.asked)
	r.repeatFilter.Told, r.repeatFilter.Keep = r.E.Opts.Recall.Told, r.E.Opts.Recall.Questions
	return slices.DeleteFunc(cands, func(c memory.Candidate) bool {
		if !r.repeatFilter.Repeated(&c) {
			return false
		}
		r.repeats[c.ID] = true
		r.noteRepeat(memory.Hit{Memory: memory.Memory{Turn: &memory.Turn{ID: c.ID}}, Score: c.Score, Why: c.Why})
		return true
	})
}

// repeatsIn notes the repeats of the question among hits, and reports whether there are any.
func (r *Pipeline) repeatsIn(hits []memory.Hit) (found bool) {
	if r.repeatFilter == nil {
		return false
	}
	for _, h := range hits {
		if r.repeatFilter.Is(h.Memory) {
			r.repeats[h.Memory.ID()], found = true, true
			r.noteRepeat(h)
		}
	}
	return found
}

func (r *Pipeline) noteRepeat(h memory.Hit) {
	if len(r.filtered) < repeatsTraced {
		r.filtered = append(r.filtered, recall.Dropped{Hit: h, Stage: "echo"})
	}
}
