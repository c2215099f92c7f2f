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
var slots = sync.OnceValue(func() map[string]func(p phrases, i int) int {
	return map[string]func(p phrases, i int) int{
		"age": age, "ahead": ahead, "aim": aim, "all": all, "called": name, "company": company, "date": date, "dated": dated,
		"did": did, "doing": doing, "exact": exact, "general": general, "given": givenUp, "home": home, "language": language,
		"name": name, "news": news, "often": often, "place": place, "role": role, "thing": thing, "tool": tool, "trait": trait,
	}
})

// matchSlot returns the index after the words that a slot of this kind accepts from token i.
func (p phrases) matchSlot(kind string, i int) int {
	if i >= len(p.Tokens) {
		return i
	}
	list := strings.Trim(kind, "[{(+)}]")
	switch kind[0] {
	case '(':
		return p.afterNoun(i, 3, list)
	case '+':
		return p.phraseWithWord(list, i)
	case '[':
		if inList(list, p.At(i)) && !p.Tokens[i].Possessive {
			return i + 1
		}
		return i
	case '{':
		return p.phraseWithNoun(list, i)
	}
	return max(i, slots()[kind](p, i))
}

// phraseWithNoun accepts a phrase that has a noun of a word list and begins with or follows "a", "two" or "my".
func (p phrases) phraseWithNoun(list string, i int) int {
	from := i
	if inList("determiner", p.At(i)) && p.At(i) != "the" {
		from++
	} else if !inList("determiner", p.At(i-1)) {
		return i
	}
	head := p.afterNoun(from, 4, list)
	if head == from {
		return i
	}
	if from == i {
		for j := head; p.At(head) == "for" && j < head+5; j++ { // "my deadline for the report"
			if p.At(j) == "is" {
				return j
			}
		}
		return head
	}
	if j := p.endWithoutDate(i); j > head && p.selfContained(i, j) && p.At(head) != "and" {
		return j
	}
	return head
}

// phraseWithWord accepts a phrase that has a word of a word list, possibly after a number: "50mg".
func (p phrases) phraseWithWord(list string, i int) int {
	j := p.ending(i)
	has := func(t english.Token) bool { return inList(list, strings.TrimLeft(t.Low, "0123456789.")) }
	if slices.ContainsFunc(p.Tokens[i:j], has) && (p.selfContained(i, j) || inList("hanging", p.At(i))) {
		return j
	}
	return i
}

// thing accepts a self-contained phrase, without its date.
func thing(p phrases, i int) int {
	j := p.endWithoutDate(i)
	if j-i > 12 || p.vague(i) || !p.selfContained(i, j) || inList("timing", strings.TrimSuffix(p.At(i), "s")) && j == i+1 {
		return i
	}
	return j
}

// all accepts the rest of the statement.
func all(p phrases, i int) int {
	if j := len(p.Tokens); !inList("subjects", p.At(i)) && p.selfContained(i, j) {
		return j
	}
	return i
}

// general accepts a thing that does not depend on the situation, unlike "the second one".
func general(p phrases, i int) int {
	if p.At(i) == "the" && i+1 < len(p.Tokens) && !p.Tokens[i+1].Capital && p.At(i+2) != "of" || p.At(i) == "to" {
		return i
	}
	return thing(p, i)
}

// exact accepts a thing together with its date.
func exact(p phrases, i int) int {
	if j := p.ending(i); !p.vague(i) && p.selfContained(i, j) {
		return j
	}
	return i
}

// name accepts a person's name.
func name(p phrases, i int) int {
	j := p.nameEnd(i)
	if j > i && !inList("nationalities", p.At(i)) && (p.isMark(j) || inList("afterName", p.At(j))) {
		return j
	}
	return i
}

// place accepts the name of a place where somebody may live.
func place(p phrases, i int) int {
	if j := p.placeEnd(i); j > i {
		if w := p.At(i); w != "the" && w != "new" && inList("notPlace", w) {
			return i
		}
		return p.trimDate(i, j)
	}
	if w := p.At(i); w == "a" || w == "the" {
		j := p.afterNoun(i+1, 4, "settledIn")
		switch {
		case j == i+1:
			return i
		case inList("hanging", p.At(j)):
			return max(j, p.placeEnd(j+1))
		}
		return j
	}
	if inList("notPlace", p.At(i)) || inList("empty", p.At(i)) {
		return i
	}
	for j := i; j <= i+2; j++ { // "new york"
		if p.isMark(j) || inList("afterPlace", p.At(j)) || english.IsAdverb(p.At(j)) {
			return j
		}
		if isVerb(p.At(j)) {
			return i
		}
	}
	return i
}

// home accepts the name of a place that people move to, but not of a bank or team.
func home(p phrases, i int) int {
	j := place(p, i)
	if w := p.At(i); !p.Tokens[i].Capital && w != "the" && w != "a" {
		return i
	}
	for _, t := range p.Tokens[i:j] {
		if inner := p.Source(t)[1:]; inner != strings.ToLower(inner) && !inList("shortPlaces", t.Low) {
			return i // "SQLite" and "ING" are not places
		}
	}
	return j
}

// company accepts the name of an employer.
func company(p phrases, i int) int {
	switch p.At(i) {
	case "a", "an", "the", "my", "our":
		if j := p.afterNoun(i+1, 4, "firms"); j > i+1 {
			return j
		}
		return i
	}
	return p.trimDate(i, p.placeEnd(i))
}

// role accepts a phrase whose noun is an occupation: "a senior data scientist".
func role(p phrases, i int) int {
	if d := p.At(i); d != "a" && d != "an" && d != "the" && p.At(i-1) != "as" {
		return i
	}
	head := p.afterNoun(i, 6, "occupations")
	if j := p.endWithoutDate(i); head > i && p.selfContained(i, j) {
		return max(j, head)
	}
	return head
}

// age accepts a person's age.
func age(p phrases, i int) int {
	if n := p.At(i); isNumber(n) && len(n) < 3 {
		return i + 1
	}
	return i
}

// language accepts one or more languages.
func language(p phrases, i int) int {
	last := i
	for j := i; j < len(p.Tokens); j++ {
		if w := p.At(j); inList("languages", w) {
			last = j + 1
		} else if w != "and" && w != "," && w != "both" {
			break
		}
	}
	return last
}

// tool accepts a thing with a proper name.
func tool(p phrases, i int) int {
	if !p.Tokens[i].Capital && !(inList("tools", p.At(i)) && p.endsNoun(i+1)) {
		return i
	}
	j := i
	for !p.isMark(j) && !inList("hanging", p.At(j)) {
		j++
	}
	if j = p.trimEnd(i, p.trimDate(i, j)); p.selfContained(i, j) {
		return j
	}
	return i
}

// trait accepts a trait that lasts longer than a day.
func trait(p phrases, i int) int {
	if w := p.At(i); inList("passingState", w) || inList("hanging", w) && w != "a" && w != "an" || strings.HasSuffix(w, "ing") {
		return i
	}
	return exact(p, i)
}

// verbPhrase accepts a verb of these classes in the given form, with its object.
func (p phrases) verbPhrase(i int, form english.Form, of english.Class) int {
	v, ok := english.KnownVerb(p.At(i))
	if !ok || v.Form&form == 0 || v.Class&of == 0 || p.vague(i+1) && p.At(i+1) != "to" || p.At(i+1) == "the" && v.Class&english.Deed == 0 {
		return i
	}
	if j := p.ending(i); p.selfContained(i+1, j) {
		return j
	}
	return i
}

// aim accepts the infinitive of a verb of intention; doing accepts a gerund.
func aim(p phrases, i int) int { return p.verbPhrase(i, english.Base, english.Aim) }

func doing(p phrases, i int) int {
	return p.verbPhrase(i, english.Gerund, english.Aim|english.Deed|english.Ongoing|english.Routine)
}

// givenUp accepts something that people give up: an activity or a habit.
func givenUp(p phrases, i int) int {
	if j := p.endWithoutDate(i); strings.HasSuffix(p.At(i), "ing") && p.selfContained(i, j) {
		return j
	}
	if w := p.At(i); inList("habits", w) || inList("games", w) {
		return i + 1
	}
	return i
}

// did accepts a deed, but not one that only continues something: "moved on to the next task".
func did(p phrases, i int) int {
	if w := p.At(i); w == "on" || w == "with" {
		return i
	}
	return exact(p, i)
}

// news accepts an event that matters even without a date, because a name, "my" or "a" makes it specific.
func news(p phrases, i int) int {
	j := p.ending(i)
	if p.At(i) == "it" || p.At(i) == "to" || p.vague(i) || !p.selfContained(i, j) {
		return i
	}
	for k := i; k < j; k++ {
		if p.Tokens[k].Capital && p.At(k) != "i" && !inList("timing", p.At(k)) || (p.At(k) == "my" || p.At(k) == "our") && p.At(k+1) != "" || p.At(k) == "a" || p.At(k) == "an" {
			return j
		}
	}
	return i
}

// dated accepts a deed with a past date; ahead accepts a deed with a future date.
func dated(p phrases, i int) int {
	return p.onADay(i, func(from, _ time.Time) bool { return !from.After(p.WrittenAt()) })
}

func ahead(p phrases, i int) int {
	return p.onADay(i, func(_, to time.Time) bool { return to.After(midnight(p.WrittenAt())) })
}

func (p phrases) onADay(i int, fits func(from, to time.Time) bool) int {
	j := p.ending(i)
	for k := i; k < j; k++ {
		if inList("pointing", p.At(k)) && !inList("pointed", p.At(k+1)) {
			return i
		}
	}
	for _, d := range p.dates(i, j) {
		if fits(d.From, d.To) {
			return j
		}
	}
	return i
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// date accepts words up to and including a date.
func date(p phrases, i int) int {
	j := p.ending(i)
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

// often accepts a repeated action: "every Friday", "twice a week".
func often(p phrases, i int) int {
	j := p.ending(i)
	for k := i; k < j; k++ {
		switch w, next := p.At(k), p.At(k+1); {
		case w == "every" && (inList("spans", next) || inList("spans", p.At(k+2))), w == "a" && inList("spans", next) && k > i+1,
			w == "on" && strings.HasSuffix(next, "s") && inList("spans", next), w == "daily":
			return exact(p, i)
		}
	}
	return i
}
