package learn

import (
	"regexp"
	"strings"

	"github.com/loci-memory/loci/internal/text"
)

// Which part of a candidate's content words its source must share. A quote names
// the place, so that fewer words do; without one the turn's own words decide.
const (
	quoted   = 0.3
	unquoted = 0.5
)

// supports reports whether piece, a part of said, says what the candidate does:
// all its names and numbers stand in the turn, enough of its content words stand
// in the piece, and neither denies what the other asserts.
func supports(piece string, said Said, c Candidate, share float64) bool {
	claim := undated(c.Text, said)
	turn := wordSet(said.Text + " " + said.Turn.Name)
	for _, name := range text.Names(claim) {
		for _, w := range text.Words(name) {
			if !turn[w] && w != "user" && w != "s" {
				return false
			}
		}
	}
	numbers := map[string]bool{}
	for _, n := range text.Numbers(said.Text) {
		numbers[n] = true
	}
	for _, n := range text.Numbers(claim) {
		if !numbers[n] {
			return false
		}
	}
	return covered(termSet(claim), termSet(piece)) >= share && sameSense(claim, piece)
}

// undated returns the claim without the dates in it: they were worked out from
// words such as "yesterday" and do not stand in the turn.
func undated(claim string, said Said) string {
	var b strings.Builder
	last := 0
	for _, d := range text.Resolve(claim, said.Turn.CreatedAt) {
		b.WriteString(claim[last:d.Start])
		last = d.End
	}
	b.WriteString(claim[last:])
	return b.String()
}

// denies are words that deny without a negation.
var denies = regexp.MustCompile(`(?i)\b(?:quit|stop(?:ped|s)?|gave up|given up|used to|hates?|dislikes?|avoids?|avoiding|refuse|except|anymore|former|formerly|ex|cancel\w*|left|lost|broke|allerg\w*|intoleran\w*|vegan|vegetarian|free|rather than|instead of|but|barely|hardly|lack\w*|unable|isn)\b`)

// sameSense reports whether claim and piece both deny or both assert, as far as
// words tell.
func sameSense(claim, piece string) bool {
	if text.Negated(claim) == text.Negated(piece) {
		return true
	}
	return denial(claim) != denial(piece)
}

// denial returns the denying words of s.
func denial(s string) string { return strings.ToLower(strings.Join(denies.FindAllString(s, -1), " ")) }

// around returns the sentences that a span stands in.
func around(s string, span text.Span) string {
	start, end := span.Start, span.End
	for _, sentence := range text.Sentences(s) {
		if sentence.Start < span.End && span.Start < sentence.End {
			start, end = min(start, sentence.Start), max(end, sentence.End)
		}
	}
	return s[start:end]
}

// bestSentence returns the sentence of said that supports the candidate best, if
// one does.
func bestSentence(said Said, c Candidate) (text.Span, bool) {
	var best text.Span
	most := 0.0
	claim := termSet(undated(c.Text, said))
	for _, s := range text.Sentences(said.Text) {
		piece := s.Of(said.Text)
		if share := covered(claim, termSet(piece)); share > most && supports(piece, said, c, unquoted) {
			best, most = s, share
		}
	}
	return best, most > 0
}

func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range text.Words(s) {
		set[w] = true
	}
	return set
}
