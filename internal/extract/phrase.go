package extract

import (
	"strings"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/text"
)

// phraseReader finds the phrases of a statement. i and j are indexes of tokens.
type phraseReader struct{ *english.Statement }

// maxPhraseTokens is the maximum number of tokens of a phrase.
const maxPhraseTokens = 24

// isMark reports whether token i is a punctuation mark or past the end.
func (p phraseReader) isMark(i int) bool { return i >= len(p.Tokens) || p.Tokens[i].IsMark() }

// phraseEnd returns the index after the phrase at token i. The phrase ends before a conjunction, a punctuation
// mark, a comma outside a list, or a new clause after "and" ("fell and hurt his ankle").
func (p phraseReader) phraseEnd(i int) int {
	lastJoint := i
	for j := i; j < len(p.Tokens); j++ {
		w := p.WordAt(j)
		switch {
		case w == "that" && p.beginsRelativeClause(j), w == "this" && isInList("pointed", p.WordAt(j+1)), j == i && !p.isMark(j):
		case w == "that" && j > i:
			return p.trimFillers(i, j)
		case isInList("pointing", w) && lastJoint > i:
			return p.trimFillers(i, lastJoint)
		case p.isMark(j) && w != ",", isInList("stops", w) && !(w == "as" && isInList("determiner", p.WordAt(j+1))) && !(w == "since" && isInList("timing", p.WordAt(j+1))):
			return p.trimFillers(i, j)
		case w == "," && !p.isListComma(j), (w == "and" || w == "or") && p.beginsNewClause(j+1):
			return p.trimFillers(i, j)
		case w == "," || w == "and":
			lastJoint = j
		}
	}
	return p.trimFillers(i, len(p.Tokens))
}

// beginsRelativeClause reports whether "that" at token j begins a relative clause: "dogs that need a walk".
func (p phraseReader) beginsRelativeClause(j int) bool {
	return isVerb(p.WordAt(j+1)) || p.WordAt(j+1) == "are"
}

// beginsNewClause reports whether token i, after "and", begins a new clause.
func (p phraseReader) beginsNewClause(i int) bool {
	for english.IsAdverb(p.WordAt(i)) {
		i++
	}
	if w := p.WordAt(i); w == "" || isInList("subjects", w) {
		return true
	}
	v, ok := english.KnownVerb(p.WordAt(i))
	return ok && v.Form&english.Preterite != 0 && v.Form&english.Base == 0
}

// isListComma reports whether the comma at token j is part of a list, an address or a date.
func (p phraseReader) isListComma(j int) bool {
	if j+1 >= len(p.Tokens) || j == 0 {
		return false
	}
	if p.Tokens[j-1].IsCapitalized && p.Tokens[j+1].IsCapitalized || len(p.WordAt(j+1)) == 4 && isNumber(p.WordAt(j+1)) {
		return true
	}
	for k := j + 1; k < len(p.Tokens); k++ {
		switch w := p.WordAt(k); {
		case w == "and" || w == "or":
			return !p.beginsNewClause(k + 1)
		case w != "," && p.isMark(k), isInList("subjects", w):
			return false
		}
	}
	return false
}

// trimFillers returns the end of tokens i up to j without final tokens that add no meaning.
func (p phraseReader) trimFillers(i, j int) int {
	for j > i && p.WordAt(j-1) != "today" && (p.isMark(j-1) || isInList("trailing", p.WordAt(j-1))) {
		j--
	}
	return max(i, j)
}

// trimDate returns the end of tokens i up to j without a final date and its preposition.
func (p phraseReader) trimDate(i, j int) int {
	dates := p.dates(i, j)
	if len(dates) == 0 {
		return j
	}
	d, start := dates[len(dates)-1], p.Tokens[i].Start
	if start+d.End < p.Tokens[j-1].End {
		return j
	}
	for j > i && (p.Tokens[j-1].Start >= start+d.Start || isInList("hanging", p.WordAt(j-1)) || p.isMark(j-1) || p.WordAt(j-1) == "since") {
		j--
	}
	return j
}

// endWithoutDate returns the index after the phrase at token i, without a final date.
func (p phraseReader) endWithoutDate(i int) int {
	return p.trimFillers(i, p.trimDate(i, p.phraseEnd(i)))
}

// dates returns the dates in tokens i up to j.
func (p phraseReader) dates(i, j int) []text.Date {
	for k := i; k < j; k++ {
		if w := p.WordAt(k); isInList("timing", w) && !isInList("hanging", w) || w[0] >= '0' && w[0] <= '9' {
			return p.Dates(i, j)
		}
	}
	return nil
}

// isSelfContained reports whether the tokens have a meaning that does not depend on the conversation.
func (p phraseReader) isSelfContained(i, j int) bool {
	if i >= j || j-i > maxPhraseTokens || isInList("hanging", p.WordAt(j-1)) {
		return false
	}
	hasContent := false
	for k := i; k < j; k++ {
		w := p.WordAt(k)
		switch {
		case w == "that" && k > i && p.beginsRelativeClause(k), w == "this" && isInList("pointed", p.WordAt(k+1)):
		case isInList("pointing", w):
			return false
		case !isInList("empty", w) && !p.isMark(k) && !english.IsAdverb(w) && !isInList("timing", w):
			hasContent = true
		}
	}
	return hasContent
}

// beginsVaguely reports whether the phrase at token i begins with words that have no meaning alone.
func (p phraseReader) beginsVaguely(i int) bool {
	return isInList("vagueStart", p.WordAt(i)) || p.WordAt(i) == "the" && isInList("vagueHead", p.WordAt(i+1)) && p.WordAt(i+2) != "of"
}

func (p phraseReader) inThirdPerson(i, j int) string { return english.ToThirdPerson(p.Text(i, j)) }

// nounEnd returns the index after the first noun of a word list, at most n tokens after i, or i if there is
// no such noun. A noun before another noun does not count: "my dog walker".
func (p phraseReader) nounEnd(i, n int, list string) int {
	for j := i; j <= i+n && !p.isMark(j) && (j == i || !isInList("hanging", p.WordAt(j))); j++ {
		if isInList(list, p.WordAt(j)) && p.nounEndsBefore(j+1) {
			return j + 1
		}
	}
	return i
}

// nounEndsBefore reports whether a noun phrase ends before token j.
func (p phraseReader) nounEndsBefore(j int) bool {
	w := p.WordAt(j)
	if p.isMark(j) || p.Tokens[j].IsCapitalized || isInList("hanging", w) || isInList("timing", w) || isInList("trailing", w) || isInList("subjects", w) || english.IsConjunction(w) {
		return true
	}
	v, ok := english.KnownVerb(w)
	return ok && v.Form&english.Base == 0
}

// nameEnd returns the index after the name that begins at token i, or i if there is no name.
func (p phraseReader) nameEnd(i int) int {
	if p.isMark(i) || !p.Tokens[i].IsCapitalized || isInList("notName", p.WordAt(i)) {
		return i
	}
	j := i + 1
	for !p.isMark(j) && p.Tokens[j].IsCapitalized {
		j++
	}
	return j
}

// placeEnd returns the index after the place name that begins at token i, or i if there is no such name.
func (p phraseReader) placeEnd(i int) int {
	isCapitalized := func(k int) bool { return !p.isMark(k) && p.Tokens[k].IsCapitalized && p.WordAt(k) != "user" }
	j := i
	if p.WordAt(j) == "the" {
		j++
	}
	if !isCapitalized(j) {
		return i
	}
	for j++; ; j++ {
		if !isCapitalized(j) && !(isInList("linking", p.WordAt(j)) && isCapitalized(j+1)) {
			return j
		}
	}
}

// kinEnd returns the index after the word for a relative or friend at token i ("older sister"), or i if there is none.
func (p phraseReader) kinEnd(i int) int {
	end := i
	for j := i; j < i+3; j++ {
		if w := p.WordAt(j); isInList("kinPlural", w) || isInList("kinWords", w) && (p.Tokens[j].IsPossessive || p.nounEndsBefore(j+1) || isVerb(p.WordAt(j+1))) {
			end = j + 1
		} else if !isInList("kinLead", w) {
			break
		}
	}
	return end
}

// nameWithoutGenitive returns the name in tokens i up to j without a genitive 's.
func (p phraseReader) nameWithoutGenitive(i, j int) string {
	name := strings.TrimRight(p.Text(i, j), ".'’-")
	if p.Tokens[j-1].IsPossessive {
		name = strings.TrimSuffix(strings.TrimSuffix(name, "'s"), "’s")
	}
	return name
}

func isVerb(w string) bool {
	_, ok := english.KnownVerb(w)
	return ok
}

func isNumber(w string) bool { return w != "" && strings.Trim(w, "0123456789") == "" }
