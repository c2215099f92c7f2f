package retrieve

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// dropReason returns why a hit is dropped regardless of its score, or "". Reason "echo": the hit repeats
// the question. Reason "carried": the request already contains the hit.
func (r *Pipeline) dropReason(h memory.Hit) (stage string) {
	switch {
	case r.history == nil && r.filter().IsRepeat(h.Memory):
		stage = "echo"
	case r.requestContains(h.Memory):
		stage = "carried"
	default:
		return ""
	}
	if r.droppedIDs == nil {
		r.droppedIDs = map[string]bool{}
	}
	r.droppedIDs[h.Memory.ID()] = true
	r.drop(h, stage)
	return stage
}

// maxDroppedTraced bounds the number of dropped hits in a trace.
const maxDroppedTraced = 20

// recordDropped adds a dropped hit to the trace.
func (r *Pipeline) drop(h memory.Hit, stage string) {
	if len(r.Dropped) < maxDroppedTraced {
		r.Dropped = append(r.Dropped, recall.Dropped{Hit: h, Stage: stage})
	}
}

// repeatFilter returns the filter that detects turns that repeat the question.
func (r *Pipeline) filter() *recall.RepeatFilter {
	if r.repeats == nil {
		r.repeats = recall.NewRepeatFilter(r.asked)
		r.repeats.Assistants, r.repeats.Keep = r.E.Opts.Recall.Statements, r.E.Opts.Recall.Questions
	}
	return r.repeats
}

// requestContains reports whether the request already contains a memory: all source turns of a
// fact, or the memory's text word for word.
func (r *Pipeline) requestContains(m memory.Memory) bool {
	if m.Fact != nil && m.Link == nil && len(m.Fact.Provenance.Turns) > 0 {
		from := r.Q.Replaced
		if len(r.Q.Messages) > 0 {
			from = r.Q.Exclude
		}
		if !slices.ContainsFunc(m.Fact.Provenance.Turns, func(id string) bool { return !from[id] }) {
			return true
		}
	}
	content := strings.TrimSpace(m.Content())
	return slices.ContainsFunc(r.Q.Messages, func(message string) bool { return holds(message, content) })
}

// minQuotedWords is the number of words from which a match within another text is not a coincidence.
const quotable = 3

// containsText reports whether content is the whole message or, if content has at least [minQuotedWords]
// words, a part of the message between word boundaries.
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
