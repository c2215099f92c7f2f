package learn

import (
	"iter"
	"strings"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/text"
)

// Pieces splits utterances into batches of at most maxBytes bytes, one batch for each model call. It splits
// longer turns between sentences and omits no text.
func Pieces(utterances []extract.Utterance, maxBytes int) iter.Seq[[]extract.Utterance] {
	return func(yield func([]extract.Utterance) bool) {
		var piece []extract.Utterance
		room := maxBytes
		for _, s := range utterances {
			for part := range parts(s, maxBytes) {
				size := len(strings.TrimSpace(part.Shown()))
				if len(piece) > 0 && size > room {
					if !yield(piece) {
						return
					}
					piece, room = nil, maxBytes
				}
				room -= size
				piece = append(piece, part)
			}
		}
		if len(piece) > 0 {
			yield(piece)
		}
	}
}

// parts yields a turn unchanged, or copies of a long turn that each show one piece. Byte offsets stay valid.
func parts(s extract.Utterance, maxBytes int) iter.Seq[extract.Utterance] {
	return func(yield func(extract.Utterance) bool) {
		if len(s.Text) <= maxBytes {
			yield(s)
			return
		}
		for _, span := range splitText(s.Shown(), maxBytes) {
			part := s
			part.Text = keepSpan(s.Text, span)
			if s.Whole != "" {
				part.Whole = keepSpan(s.Whole, span)
			}
			if !yield(part) {
				return
			}
		}
	}
}

// keepSpan returns a text in which only a span is not blanked.
func keepSpan(s string, span text.Span) string {
	b := []byte(s)
	fill(b[:span.Start], ' ')
	fill(b[span.End:], ' ')
	return string(b)
}

// WithTurnIDs replaces the short turn names in a reply to [AskFacts] by turn ids.
func WithTurnIDs(cands []extract.Candidate, utterances []extract.Utterance) []extract.Candidate {
	for i := range cands {
		if n := turnIndex(cands[i].Turn, utterances); n >= 0 {
			cands[i].Turn = utterances[n].Turn.ID
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
