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
	case r.pastMemories == nil && r.repeatFilter().IsRepeat(h.Memory):
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
	r.recordDropped(h, stage)
	return stage
}

// maxDroppedTraced bounds the number of dropped hits in a trace.
const maxDroppedTraced = 20

// recordDropped adds a dropped hit to the trace.
func (r *Pipeline) recordDropped(h memory.Hit, stage string) {
	if len(r.DroppedHits) < maxDroppedTraced {
		r.DroppedHits = append(r.DroppedHits, recall.DroppedHit{Hit: h, Stage: stage})
	}
}

// repeatFilter returns the filter that detects turns that repeat the question.
func (r *Pipeline) repeatFilter() *recall.RepeatFilter {
	if r.repeatDetector == nil {
		r.repeatDetector = recall.NewRepeatFilter(r.askedText)
		r.repeatDetector.OnlyUserStatements, r.repeatDetector.IsDisabled = r.Retriever.Opts.Recall.OnlyStatements, r.Retriever.Opts.Recall.RecallQuestions
	}
	return r.repeatDetector
}

// requestContains reports whether the request already contains a memory: all source turns of a
// fact, or the memory's text word for word.
func (r *Pipeline) requestContains(m memory.Memory) bool {
	if m.Fact != nil && m.Link == nil && len(m.Fact.Provenance.Turns) > 0 {
		turnIDs := r.Question.ReplacedTurns
		if len(r.Question.RequestTexts) > 0 {
			turnIDs = r.Question.ExcludeIDs
		}
		if !slices.ContainsFunc(m.Fact.Provenance.Turns, func(id string) bool { return !turnIDs[id] }) {
			return true
		}
	}
	content := strings.TrimSpace(m.Content())
	return slices.ContainsFunc(r.Question.RequestTexts, func(message string) bool { return containsText(message, content) })
}

// minQuotedWords is the minimum number of words of a memory that is recognized within a longer message.
const minQuotedWords = 3

// containsText reports whether content is the whole message or, if content has at least [minQuotedWords]
// words, a part of the message between word boundaries.
func containsText(message, content string) bool {
	if content == "" || strings.TrimSpace(message) == content {
		return content != ""
	}
	for offset := 0; ; {
		index := strings.Index(message[offset:], content)
		if index < 0 || offset == 0 && len(strings.Fields(content)) < minQuotedWords {
			return false
		}
		start, end := offset+index, offset+index+len(content)
		previous, _ := utf8.DecodeLastRuneInString(message[:start])
		next, _ := utf8.DecodeRuneInString(message[end:])
		if !isWordRune(previous) && !isWordRune(next) {
			return true
		}
		offset = end
	}
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
