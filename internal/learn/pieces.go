package learn

import (
	"strings"

	"github.com/loci-memory/loci/internal/text"
)

// Pieces parts what was said into as much as one call of a model reads, in bytes. A
// turn that is longer comes in several, cut between sentences; nothing is left out.
func Pieces(said []Said, most int) [][]Said {
	var out [][]Said
	room := 0
	for _, s := range said {
		for _, part := range parts(s, most) {
			size := len(strings.TrimSpace(part.Text))
			if len(out) == 0 || size > room {
				out, room = append(out, nil), most
			}
			room -= size
			last := len(out) - 1
			out[last] = append(out[last], part)
		}
	}
	return out
}

// parts returns a turn as it is, or as several that each show a piece of it: what
// they do not show is blank, so that places stay what they are.
func parts(s Said, most int) []Said {
	if len(s.Text) <= most {
		return []Said{s}
	}
	var out []Said
	start, end := 0, 0
	show := func() {
		if strings.TrimSpace(s.Text[start:end]) != "" {
			b := []byte(s.Text)
			fill(b[:start], ' ')
			fill(b[end:], ' ')
			part := s
			part.Text = string(b)
			out = append(out, part)
		}
		start = end
	}
	for _, span := range text.Sentences(s.Text) {
		if span.End-start > most {
			show()
		}
		for span.End-start > most { // one sentence of that size is none
			end = start + most
			for end > start && s.Text[end]&0xc0 == 0x80 {
				end--
			}
			show()
		}
		end = span.End
	}
	end = len(s.Text)
	show()
	return out
}

// Whose returns candidates that name turns by their ids, where the reply to
// [AskFacts] named them by their short ones.
func Whose(cands []Candidate, said []Said) []Candidate {
	for i := range cands {
		if n := named(cands[i].Turn, said); n >= 0 {
			cands[i].Turn = said[n].Turn.ID
		}
	}
	return cands
}
