package extract

import (
	"strings"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/text"
)

type phrases struct{ *english.Statement }

// longestPhrase is the maximum number of tokens of a phrase.
const longestPhrase = 24

// isMark reports whether token i is a punctuation mark or past the end.
func (p phrases) isMark(i int) bool { return i >= len(p.Tokens) || p.Tokens[i].Mark() }

// ending returns the index after the phrase at token i. The phrase ends before a conjunction, a punctuation
// mark, a comma outside a list, or a new clause after "and" ("fell and hurt his ankle").
func (p phrases) ending(i int) int {
	joint := i
	for j := i; j < len(p.Tokens); j++ {
		w := p.At(j)
		switch {
		case w == "that" && p.startsRelative(j), w == "this" && inList("pointed", p.At(j+1)), j == i && !p.isMark(j):
		case w == "that" && j > i:
			return p.trimEnd(i, j)
		case inList("pointing", w) && joint > i:
			return p.trimEnd(i, joint)
		case p.isMark(j) && w != ",", inList("stops", w) && !(w == "as" && inList("determiner", p.At(j+1))) && !(w == "since" && inList("timing", p.At(j+1))):
			return p.trimEnd(i, j)
		case w == "," && !p.isListComma(j), (w == "and" || w == "or") && p.newVerb(j+1):
			return p.trimEnd(i, j)
		case w == "," || w == "and":
			joint = j
		}
	}
	return p.trimEnd(i, len(p.Tokens))
}

// startsRelative reports whether "that" at token j begins a relative clause: "dogs that need a walk".
func (p phrases) startsRelative(j int) bool {
	return isVerb(p.At(j+1)) || p.At(j+1) == "are"
}

// newVerb reports whether token i, after "and", begins a new clause.
func (p phrases) newVerb(i int) bool {
	for english.IsAdverb(p.At(i)) {
		i++
	}
	if w := p.At(i); w == "" || inList("subjects", w) {
		return true
	}
	v, ok := english.KnownVerb(p.At(i))
	return ok && v.Form&english.Preterite != 0 && v.Form&english.Base == 0
}

// isListComma reports whether the comma at token j is part of a list, an address or a date.
func (p phrases) isListComma(j int) bool {
	if j+1 >= len(p.Tokens) || j == 0 {
		return false
	}
	if p.Tokens[j-1].Capital && p.Tokens[j+1].Capital || len(p.At(j+1)) == 4 && isNumber(p.At(j+1)) {
		return true
	}
	for k := j + 1; k < len(p.Tokens); k++ {
		switch w := p.At(k); {
		case w == "and" || w == "or":
			return !p.newVerb(k + 1)
		case w != "," && p.isMark(k), inList("subjects", w):
			return false
		}
	}
	return false
}

// trimEnd returns the end of tokens i up to j without trailing tokens that add no meaning.
func (p phrases) trimEnd(i, j int) int {
	for j > i && p.At(j-1) != "today" && (p.isMark(j-1) || inList("trailing", p.At(j-1))) {
		j--
	}
	return max(i, j)
}

// trimDate returns the end of tokens i up to j without a final date and its preposition.
func (p phrases) trimDate(i, j int) int {
	dates := p.dates(i, j)
	if len(dates) == 0 {
		return j
	}
	d, start := dates[len(dates)-1], p.Tokens[i].Start
	if start+d.End < p.Tokens[j-1].End {
		return j
	}
	for j > i && (p.Tokens[j-1].Start >= start+d.Start || inList("hanging", p.At(j-1)) || p.isMark(j-1) || p.At(j-1) == "since") {
		j--
	}
	return j
}

// endWithoutDate returns the index after the phrase at token i, without a final date.
func (p phrases) endWithoutDate(i int) int { return p.trimEnd(i, p.trimDate(i, p.ending(i))) }

// dates returns the dates in tokens i up to j.
func (p phrases) dates(i, j int) []text.Date {
	for k := i; k < j; k++ {
		if w := p.At(k); inList("timing", w) && !inList("hanging", w) || w[0] >= '0' && w[0] <= '9' {
			return p.Dates(i, j)
		}
	}
	return nil
}

// selfContained reports whether the tokens have a meaning that does not depend on the conversation.
func (p phrases) selfContained(i, j int) bool {
	if i >= j || j-i > longestPhrase || inList("hanging", p.At(j-1)) {
		return false
	}
	content := false
	for k := i; k < j; k++ {
		w := p.At(k)
		switch {
		case w == "that" && k > i && p.startsRelative(k), w == "this" && inList("pointed", p.At(k+1)):
		case inList("pointing", w):
			return false
		case !inList("empty", w) && !p.isMark(k) && !english.IsAdverb(w) && !inList("timing", w):
			content = true
		}
	}
	return content
}

// vague reports whether the phrase at token i begins with words that have no meaning alone.
func (p phrases) vague(i int) bool {
	return inList("vagueStart", p.At(i)) || p.At(i) == "the" && inList("vagueHead", p.At(i+1)) && p.At(i+2) != "of"
}

func (p phrases) thirdPerson(i, j int) string { return english.ThirdPerson(p.Text(i, j)) }

// afterNoun returns the index after the first noun of a word list, at most n tokens after i, or i if there is
// no such noun. A noun before another noun does not count: "my dog walker".
func (p phrases) afterNoun(i, n int, list string) int {
	for j := i; j <= i+n && !p.isMark(j) && (j == i || !inList("hanging", p.At(j))); j++ {
		if inList(list, p.At(j)) && p.endsNoun(j+1) {
			return j + 1
		}
	}
	return i
}

// endsNoun reports whether a noun phrase ends before token j.
func (p phrases) endsNoun(j int) bool {
	w := p.At(j)
	if p.isMark(j) || p.Tokens[j].Capital || inList("hanging", w) || inList("timing", w) || inList("trailing", w) || inList("subjects", w) || english.IsConjunction(w) {
		return true
	}
	v, ok := english.KnownVerb(w)
	return ok && v.Form&english.Base == 0
}

// nameEnd returns the index after the name that begins at token i, or i if there is no name.
func (p phrases) nameEnd(i int) int {
	if p.isMark(i) || !p.Tokens[i].Capital || inList("notName", p.At(i)) {
		return i
	}
	j := i + 1
	for !p.isMark(j) && p.Tokens[j].Capital {
		j++
	}
	return j
}

// placeEnd returns the index after the place name that begins at token i, or i if there is no such name.
func (p phrases) placeEnd(i int) int {
	capital := func(k int) bool { return !p.isMark(k) && p.Tokens[k].Capital && p.At(k) != "user" }
	j := i
	if p.At(j) == "the" {
		j++
	}
	if !capital(j) {
		return i
	}
	for j++; ; j++ {
		if !capital(j) && !(inList("linking", p.At(j)) && capital(j+1)) {
			return j
		}
	}
}

// kinEnd returns the index after the word for a relative or friend at token i ("older sister"), or i.
func (p phrases) kinEnd(i int) int {
	end := i
	for j := i; j < i+3; j++ {
		if w := p.At(j); inList("kinPlural", w) || inList("kinWords", w) && (p.Tokens[j].Possessive || p.endsNoun(j+1) || isVerb(p.At(j+1))) {
			end = j + 1
		} else if !inList("kinLead", w) {
			break
		}
	}
	return end
}

// nameText returns the name in tokens i up to j without a genitive 's.
func (p phrases) nameText(i, j int) string {
	called := strings.TrimRight(p.Text(i, j), ".'’-")
	if p.Tokens[j-1].Possessive {
		called = strings.TrimSuffix(strings.TrimSuffix(called, "'s"), "’s")
	}
	return called
}

func isVerb(w string) bool {
	_, ok := english.KnownVerb(w)
	return ok
}

func isNumber(w string) bool { return w != "" && strings.Trim(w, "0123456789") == "" }
