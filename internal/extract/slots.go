package extract

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/english"
)

// slots returns the kinds of words that a rule may require, by name. Each function returns the index after
// the words that it accepts from token i, or i if it accepts no words.
var slots = sync.OnceValue(func() map[string]func(p phraseReader, i int) int {
	return map[string]func(p phraseReader, i int) int{
		"age": slotAge, "ahead": slotFutureDate, "aim": slotAim, "all": slotRestOfStatement, "called": slotName, "company": slotCompany, "date": slotDate, "dated": slotPastDate,
		"did": slotDeed, "doing": slotGerund, "exact": slotWithDate, "general": slotGeneral, "given": slotGivenUp, "home": slotHome, "language": slotLanguages,
		"name": slotName, "news": slotEvent, "often": slotRepeated, "place": slotPlace, "role": slotRole, "thing": slotThing, "tool": slotTool, "trait": slotTrait,
	}
})

// matchSlot returns the index after the words that a slot of this kind accepts from token i.
func (p phraseReader) matchSlot(kind string, i int) int {
	if i >= len(p.Tokens) {
		return i
	}
	list := strings.Trim(kind, "[{(+)}]")
	switch kind[0] {
	case '(':
		return p.nounEnd(i, 3, list)
	case '+':
		return p.phraseWithWord(list, i)
	case '[':
		if isInList(list, p.WordAt(i)) && !p.Tokens[i].IsPossessive {
			return i + 1
		}
		return i
	case '{':
		return p.phraseWithNoun(list, i)
	}
	return max(i, slots()[kind](p, i))
}

// phraseWithNoun accepts a phrase that has a noun of a word list and begins with or follows "a", "two" or "my".
func (p phraseReader) phraseWithNoun(list string, i int) int {
	from := i
	if isInList("determiner", p.WordAt(i)) && p.WordAt(i) != "the" {
		from++
	} else if !isInList("determiner", p.WordAt(i-1)) {
		return i
	}
	head := p.nounEnd(from, 4, list)
	if head == from {
		return i
	}
	if from == i {
		for j := head; p.WordAt(head) == "for" && j < head+5; j++ { // skip "for the report" in "my deadline for the report is Friday"
			if p.WordAt(j) == "is" {
				return j
			}
		}
		return head
	}
	if j := p.endWithoutDate(i); j > head && p.isSelfContained(i, j) && p.WordAt(head) != "and" {
		return j
	}
	return head
}

// phraseWithWord accepts a phrase that has a word of a word list, possibly after a number: "50mg".
func (p phraseReader) phraseWithWord(list string, i int) int {
	j := p.phraseEnd(i)
	has := func(t english.Token) bool { return isInList(list, strings.TrimLeft(t.Lower, "0123456789.")) }
	if slices.ContainsFunc(p.Tokens[i:j], has) && (p.isSelfContained(i, j) || isInList("hanging", p.WordAt(i))) {
		return j
	}
	return i
}

// slotThing accepts a self-contained phrase, without its date.
func slotThing(p phraseReader, i int) int {
	j := p.endWithoutDate(i)
	if j-i > 12 || p.beginsVaguely(i) || !p.isSelfContained(i, j) || isInList("timing", strings.TrimSuffix(p.WordAt(i), "s")) && j == i+1 {
		return i
	}
	return j
}

// slotRestOfStatement accepts the rest of the statement.
func slotRestOfStatement(p phraseReader, i int) int {
	if j := len(p.Tokens); !isInList("subjects", p.WordAt(i)) && p.isSelfContained(i, j) {
		return j
	}
	return i
}

// slotGeneral accepts a thing that does not depend on the situation, unlike "the second one".
func slotGeneral(p phraseReader, i int) int {
	if p.WordAt(i) == "the" && i+1 < len(p.Tokens) && !p.Tokens[i+1].IsCapitalized && p.WordAt(i+2) != "of" || p.WordAt(i) == "to" {
		return i
	}
	return slotThing(p, i)
}

// slotWithDate accepts a thing together with its date.
func slotWithDate(p phraseReader, i int) int {
	if j := p.phraseEnd(i); !p.beginsVaguely(i) && p.isSelfContained(i, j) {
		return j
	}
	return i
}

// slotName accepts a person's name.
func slotName(p phraseReader, i int) int {
	j := p.nameEnd(i)
	if j > i && !isInList("nationalities", p.WordAt(i)) && (p.isMark(j) || isInList("afterName", p.WordAt(j))) {
		return j
	}
	return i
}

// slotPlace accepts the name of a place where somebody may live.
func slotPlace(p phraseReader, i int) int {
	if j := p.placeEnd(i); j > i {
		if w := p.WordAt(i); w != "the" && w != "new" && isInList("notPlace", w) {
			return i
		}
		return p.trimDate(i, j)
	}
	if w := p.WordAt(i); w == "a" || w == "the" {
		j := p.nounEnd(i+1, 4, "settledIn")
		switch {
		case j == i+1:
			return i
		case isInList("hanging", p.WordAt(j)):
			return max(j, p.placeEnd(j+1))
		}
		return j
	}
	if isInList("notPlace", p.WordAt(i)) || isInList("empty", p.WordAt(i)) {
		return i
	}
	for j := i; j <= i+2; j++ { // "new york"
		if p.isMark(j) || isInList("afterPlace", p.WordAt(j)) || english.IsAdverb(p.WordAt(j)) {
			return j
		}
		if isVerb(p.WordAt(j)) {
			return i
		}
	}
	return i
}

// slotHome accepts the name of a place that people move to, but not of a bank or team.
func slotHome(p phraseReader, i int) int {
	j := slotPlace(p, i)
	if w := p.WordAt(i); !p.Tokens[i].IsCapitalized && w != "the" && w != "a" {
		return i
	}
	for _, t := range p.Tokens[i:j] {
		if inner := p.Source(t)[1:]; inner != strings.ToLower(inner) && !isInList("shortPlaces", t.Lower) {
			return i // "SQLite" and "ING" are not places
		}
	}
	return j
}

// slotCompany accepts the name of an employer.
func slotCompany(p phraseReader, i int) int {
	switch p.WordAt(i) {
	case "a", "an", "the", "my", "our":
		if j := p.nounEnd(i+1, 4, "firms"); j > i+1 {
			return j
		}
		return i
	}
	return p.trimDate(i, p.placeEnd(i))
}

// slotRole accepts a phrase whose noun is an occupation: "a senior data scientist".
func slotRole(p phraseReader, i int) int {
	if d := p.WordAt(i); d != "a" && d != "an" && d != "the" && p.WordAt(i-1) != "as" {
		return i
	}
	head := p.nounEnd(i, 6, "occupations")
	if j := p.endWithoutDate(i); head > i && p.isSelfContained(i, j) {
		return max(j, head)
	}
	return head
}

func slotAge(p phraseReader, i int) int {
	if n := p.WordAt(i); isNumber(n) && len(n) < 3 {
		return i + 1
	}
	return i
}

// slotLanguages accepts one or more languages.
func slotLanguages(p phraseReader, i int) int {
	last := i
	for j := i; j < len(p.Tokens); j++ {
		if w := p.WordAt(j); isInList("languages", w) {
			last = j + 1
		} else if w != "and" && w != "," && w != "both" {
			break
		}
	}
	return last
}

// slotTool accepts a thing with a proper name.
func slotTool(p phraseReader, i int) int {
	if !p.Tokens[i].IsCapitalized && !(isInList("tools", p.WordAt(i)) && p.nounEndsBefore(i+1)) {
		return i
	}
	j := i
	for !p.isMark(j) && !isInList("hanging", p.WordAt(j)) {
		j++
	}
	if j = p.trimFillers(i, p.trimDate(i, j)); p.isSelfContained(i, j) {
		return j
	}
	return i
}

// slotTrait accepts a trait that lasts longer than a day.
func slotTrait(p phraseReader, i int) int {
	if w := p.WordAt(i); isInList("passingState", w) || isInList("hanging", w) && w != "a" && w != "an" || strings.HasSuffix(w, "ing") {
		return i
	}
	return slotWithDate(p, i)
}

// verbPhraseEnd returns the index after a verb and its object, or i if the verb lacks the form or all of the classes.
func (p phraseReader) verbPhraseEnd(i int, form english.VerbForm, class english.VerbClass) int {
	v, ok := english.KnownVerb(p.WordAt(i))
	if !ok || v.Form&form == 0 || v.Class&class == 0 || p.beginsVaguely(i+1) && p.WordAt(i+1) != "to" || p.WordAt(i+1) == "the" && v.Class&english.Deed == 0 {
		return i
	}
	if j := p.phraseEnd(i); p.isSelfContained(i+1, j) {
		return j
	}
	return i
}

// slotAim accepts the infinitive of a verb of intention; slotGerund accepts a gerund.
func slotAim(p phraseReader, i int) int { return p.verbPhraseEnd(i, english.Base, english.Aim) }

func slotGerund(p phraseReader, i int) int {
	return p.verbPhraseEnd(i, english.Gerund, english.Aim|english.Deed|english.Ongoing|english.Routine)
}

// slotGivenUp accepts something that people give up: an activity or a habit.
func slotGivenUp(p phraseReader, i int) int {
	if j := p.endWithoutDate(i); strings.HasSuffix(p.WordAt(i), "ing") && p.isSelfContained(i, j) {
		return j
	}
	if w := p.WordAt(i); isInList("habits", w) || isInList("games", w) {
		return i + 1
	}
	return i
}

// slotDeed accepts a deed, but not one that only continues something: "moved on to the next task".
func slotDeed(p phraseReader, i int) int {
	if w := p.WordAt(i); w == "on" || w == "with" {
		return i
	}
	return slotWithDate(p, i)
}

// slotEvent accepts an event that matters even without a date, because a name, "my" or "a" makes it specific.
func slotEvent(p phraseReader, i int) int {
	j := p.phraseEnd(i)
	if p.WordAt(i) == "it" || p.WordAt(i) == "to" || p.beginsVaguely(i) || !p.isSelfContained(i, j) {
		return i
	}
	for k := i; k < j; k++ {
		if p.Tokens[k].IsCapitalized && p.WordAt(k) != "i" && !isInList("timing", p.WordAt(k)) || (p.WordAt(k) == "my" || p.WordAt(k) == "our") && p.WordAt(k+1) != "" || p.WordAt(k) == "a" || p.WordAt(k) == "an" {
			return j
		}
	}
	return i
}

// slotPastDate accepts a deed with a past date; slotFutureDate accepts a deed with a future date.
func slotPastDate(p phraseReader, i int) int {
	return p.phraseWithDate(i, func(from, _ time.Time) bool { return !from.After(p.WrittenAt()) })
}

func slotFutureDate(p phraseReader, i int) int {
	return p.phraseWithDate(i, func(_, to time.Time) bool { return to.After(startOfDay(p.WrittenAt())) })
}

func (p phraseReader) phraseWithDate(i int, accepts func(from, to time.Time) bool) int {
	j := p.phraseEnd(i)
	for k := i; k < j; k++ {
		if isInList("pointing", p.WordAt(k)) && !isInList("pointed", p.WordAt(k+1)) {
			return i
		}
	}
	for _, d := range p.dates(i, j) {
		if accepts(d.From, d.To) {
			return j
		}
	}
	return i
}

func startOfDay(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// slotDate accepts words up to and including a date.
func slotDate(p phraseReader, i int) int {
	j := p.phraseEnd(i)
	dates := p.dates(i, j)
	if len(dates) == 0 || dates[0].Start > 0 {
		return i
	}
	for k := i; k < j; k++ {
		if p.Tokens[k].End >= p.Tokens[i].Start+dates[0].End {
			return k + 1
		}
	}
	return i
}

// slotRepeated accepts a repeated action: "every Friday", "twice a week".
func slotRepeated(p phraseReader, i int) int {
	j := p.phraseEnd(i)
	for k := i; k < j; k++ {
		switch w, next := p.WordAt(k), p.WordAt(k+1); {
		case w == "every" && (isInList("spans", next) || isInList("spans", p.WordAt(k+2))), w == "a" && isInList("spans", next) && k > i+1,
			w == "on" && strings.HasSuffix(next, "s") && isInList("spans", next), w == "daily":
			return slotWithDate(p, i)
		}
	}
	return i
}
