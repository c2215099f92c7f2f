package learn

import (
	"iter"
	"strings"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/text"
)

// Pieces parts what was said into as much as one call of a model reads, in bytes. A
// turn that is longer comes in several, cut between sentences; nothing is left out.
func Pieces(said []extract.Utterance, most int) iter.Seq[[]extract.Utterance] {
	return func(yield func([]extract.Utterance) bool) {
		var piece []extract.Utterance
		room := most
		for _, s := range said {
			for part := range parts(s, most) {
				size := len(strings.TrimSpace(part.Shown()))
				if len(piece) > 0 && size > room {
					if !yield(piece) {
						return
					}
					piece, room = nil, most
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

// parts yields a turn as it is, or several that each show a piece of it: what
// they do not show is blank, so that places stay what they are.
func parts(s extract.Utterance, most int) iter.Seq[extract.Utterance] {
	return func(yield func(extract.Utterance) bool) {
		if len(s.Text) <= most {
			yield(s)
			return
		}
		for _, span := range cuts(s.Shown(), most) {
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

// keepSpan returns a text with everything outside of a span blanked out.
func keepSpan(s string, span text.Span) string {
	b := []byte(s)
	fill(b[:span.Start], ' ')
	fill(b[span.End:], ' ')
	return string(b)
}

// Whose returns candidates that name turns by their ids, where the reply to
// [AskFacts] named them by their short ones.
func Whose(cands []extract.Candidate, said []extract.Utterance) []extract.Candidate {
	for i := range cands {
		if n := named(cands[i].Turn, said); n >= 0 {
			cands[i].Turn = said[n].Turn.ID
		}
	}
	return cands
}

// cuts returns the pieces of a text, each at most so many bytes, cut between sentences;
// pieces of white space are left out.
func cuts(s string, most int) []text.Span {
	var out []text.Span
	start, end := 0, 0
	cut := func() {
		if strings.TrimSpace(s[start:end]) != "" {
			out = append(out, text.Span{Start: start, End: end})
		}
		start = end
	}
	for _, span := range text.Sentences(s) {
		if span.End-start > most {
			cut()
		}
		for span.End-start > most { // one sentence of that size is none
			end = start + most
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
