package learn

import (
	"iter"
	"strings"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/text"
)

// Batches splits utterances into batches of at most maxBytes bytes, one batch for each model call. It splits
// longer turns between sentences and omits no text.
func Batches(utterances []extract.Utterance, maxBytes int) iter.Seq[[]extract.Utterance] {
	return func(yield func([]extract.Utterance) bool) {
		var batch []extract.Utterance
		remaining := maxBytes
		for _, s := range utterances {
			for part := range splitTurn(s, maxBytes) {
				size := len(strings.TrimSpace(part.TextForModel()))
				if len(batch) > 0 && size > remaining {
					if !yield(batch) {
						return
					}
					batch, remaining = nil, maxBytes
				}
				remaining -= size
				batch = append(batch, part)
			}
		}
		if len(batch) > 0 {
			yield(batch)
		}
	}
}

// splitTurn yields a turn unchanged, or copies of a long turn that each show one piece. Byte offsets stay valid.
func splitTurn(s extract.Utterance, maxBytes int) iter.Seq[extract.Utterance] {
	return func(yield func(extract.Utterance) bool) {
		if len(s.Text) <= maxBytes {
			yield(s)
			return
		}
		for _, span := range splitText(s.TextForModel(), maxBytes) {
			part := s
			part.Text = blankOutside(s.Text, span)
			if s.FullText != "" {
				part.FullText = blankOutside(s.FullText, span)
			}
			if !yield(part) {
				return
			}
		}
	}
}

// blankOutside returns a text in which only a span is not blanked.
func blankOutside(s string, span text.Span) string {
	b := []byte(s)
	overwrite(b[:span.Start], ' ')
	overwrite(b[span.End:], ' ')
	return string(b)
}

// WithTurnIDs replaces the short turn ids in a reply to [AskFacts] by turn ids.
func WithTurnIDs(cands []extract.Candidate, utterances []extract.Utterance) []extract.Candidate {
	for i := range cands {
		if n := turnIndex(cands[i].TurnID, utterances); n >= 0 {
			cands[i].TurnID = utterances[n].Turn.ID
		}
	}
	return cands
}

// splitText splits a text between sentences into pieces of at most maxBytes bytes. It omits blank pieces.
func splitText(s string, maxBytes int) []text.Span {
	var out []text.Span
	start, end := 0, 0
	cut := func() {
		if strings.TrimSpace(s[start:end]) != "" {
			out = append(out, text.Span{Start: start, End: end})
		}
		start = end
	}
	for _, span := range text.Sentences(s) {
		if span.End-start > maxBytes {
			cut()
		}
		for span.End-start > maxBytes { // the sentence is longer than a piece
			end = start + maxBytes
			for end > start && s[end]&0xc0 == 0x80 {
				end--
			}
			cut()
		}
		end = span.End
	}
	end = len(s)
	cut()
	return out
}
