package english

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
)

// Tense is the tense and mood of a verb.
type Tense uint16

// The tenses. Progressive is "I am running", Continued "I have been running", Wish "I would love to run".
const (
	Present Tense = 1 << iota
	Past
	Perfect
	Progressive
	Continued
	PastProgressive
	UsedTo
	Future
	GoingTo
	Can
	Wish
)

// Person is the grammatical person of a subject. PersonElided means that the statement omits its subject "I".
type Person uint8

// The persons of subjects.
const (
	PersonSpeaker Person = iota
	PersonElided
	PersonSingular
	PersonPlural
)

// Predicate is the analysis of the verbs of a statement.
type Predicate struct {
	Verb
	Tense     Tense
	Negation  string // "", "not", "no longer" or "never"
	Frequency string // the adverb of frequency ("always"), or ""
	NextToken int    // index of the first token after the verbs

	person   Person
	mainVerb string // the main verb's form in the statement
}

// frequencyAdverbs are adverbs of frequency.
var frequencyAdverbs = lazy.Words("always usually normally typically generally often rarely sometimes regularly frequently occasionally")

// Predicate parses the verbs at token i. It returns false if the verbs state no fact: "I would", "I might".
func (s *Statement) Predicate(i int, person Person) (Predicate, bool) {
	p := Predicate{person: person}
	if !p.parseVerbs(s, i) || p.NextToken > len(s.Tokens) {
		return p, false
	}
	if p.Negation == "not" {
		for j := p.NextToken; j < len(s.Tokens); j++ {
			if w := s.WordAt(j); w == "anymore" || w == "any" && (s.WordAt(j+1) == "more" || s.WordAt(j+1) == "longer") {
				p.Negation = "no longer"
			}
		}
	}
	return p, true
}

// parseAdverbs parses the adverbs and the negation at token i and returns the index after them.
func (p *Predicate) parseAdverbs(s *Statement, i int) int {
	for ; i < len(s.Tokens); i++ {
		switch w := s.WordAt(i); {
		case w == "not":
			p.Negation = "not"
		case w == "no" && s.WordAt(i+1) == "longer":
			p.Negation = "no longer"
			i++
		case w == "never":
			p.Negation = "never"
		case frequencyAdverbs.Has(w):
			p.Frequency = w
		case !IsAdverb(w) || i == len(s.Tokens)-1:
			return i
		}
	}
	return i
}

func (p *Predicate) parseVerbs(s *Statement, i int) bool {
	i = p.parseAdverbs(s, i)
	j := p.parseAdverbs(s, i+1)
	next, isVerb := ParseVerb(s.WordAt(j))
	switch w := s.WordAt(i); w {
	case "":
		return false
	case "am", "are", "is":
		return p.parseAfterBe(s, j, Present)
	case "was", "were":
		return p.parseAfterBe(s, j, Past)
	case "have", "has":
		return p.parseAfterHave(s, j)
	case "had":
		return s.WordAt(j) != "been" && s.WordAt(j) != "to" && s.WordAt(j) != "better" && p.setMainVerb(s, i, Past)
	case "will":
		if s.WordAt(j) == "be" && strings.HasSuffix(s.WordAt(j+1), "ing") {
			j++
		}
		return p.setMainVerb(s, j, Future)
	case "would":
		return slices.Contains([]string{"love", "like", "prefer"}, s.WordAt(j)) && p.setMainVerb(s, j, Wish)
	case "can":
		return p.setMainVerb(s, j, Can)
	case "do", "does", "did":
		tense := Present
		if w == "did" {
			tense = Past
		}
		if isVerb && next.Form&Base != 0 { // token j is the main verb, as in "I do not like"
			return p.setMainVerb(s, j, tense)
		}
		return p.setMainVerb(s, i, tense)
	case "used":
		if s.WordAt(i+1) == "to" {
			return p.setMainVerb(s, i+2, UsedTo)
		}
	case "been":
		return p.person == PersonElided && p.parseAfterBeen(s, j)
	}
	v, ok := ParseVerb(s.WordAt(i))
	switch {
	case !ok:
		return false
	case v.Form&Gerund != 0:
		return p.person == PersonElided && p.setMainVerb(s, i, Progressive)
	case v.Form&Base != 0 && v.Form&Preterite != 0: // present or past, as "I read" and "I quit"
		if v.BaseForm == "quit" || v.BaseForm == "cut" || v.BaseForm == "hurt" || v.BaseForm == "hit" || len(s.Dates(i, len(s.Tokens))) > 0 {
			return p.setMainVerb(s, i, Past)
		}
		return p.person != PersonElided && p.setMainVerb(s, i, Present)
	case v.Form&Base != 0 && (p.person == PersonSpeaker || p.person == PersonPlural || p.person == PersonElided && (v.BaseForm == "love" || v.BaseForm == "hate")),
		v.Form&ThirdPersonForm != 0 && p.person == PersonSingular:
		return p.setMainVerb(s, i, Present)
	case v.Form&Preterite != 0:
		return p.setMainVerb(s, i, Past)
	}
	return false
}

// setMainVerb sets the main verb to token i.
func (p *Predicate) setMainVerb(s *Statement, i int, tense Tense) bool {
	if i >= len(s.Tokens) || s.Tokens[i].IsMark() {
		return false
	}
	p.Verb, _ = ParseVerb(s.WordAt(i))
	if p.BaseForm == "" {
		p.BaseForm = s.WordAt(i)
	}
	p.Tense, p.mainVerb, p.NextToken = tense, s.WordAt(i), i+1
	return true
}

// setClasslessVerb sets a main verb without a class: "be", "have" or "have to".
func (p *Predicate) setClasslessVerb(baseForm string, tense Tense, nextToken int) bool {
	p.Verb, p.mainVerb, p.Tense, p.NextToken = Verb{BaseForm: baseForm}, baseForm, tense, nextToken
	return true
}

// parseAfterBe parses the words after a form of "be" at token i.
func (p *Predicate) parseAfterBe(s *Statement, i int, tense Tense) bool {
	w := s.WordAt(i)
	if w == "going" && s.WordAt(i+1) == "to" {
		if v, ok := ParseVerb(s.WordAt(i + 2)); ok && v.Form&Base != 0 {
			return tense == Present && p.setMainVerb(s, i+2, GoingTo)
		}
	}
	if v, ok := ParseVerb(w); ok && v.Form == Gerund && w != "being" && (v.Class != 0 || i+1 < len(s.Tokens)) {
		if tense == Past {
			return p.setMainVerb(s, i, PastProgressive)
		}
		return p.setMainVerb(s, i, Progressive)
	}
	return p.setClasslessVerb("be", tense, i) && i < len(s.Tokens)
}

// parseAfterHave parses the words after "have", starting at token j.
func (p *Predicate) parseAfterHave(s *Statement, j int) bool {
	v, ok := ParseVerb(s.WordAt(j))
	switch w := s.WordAt(j); {
	case w == "been":
		return p.parseAfterBeen(s, p.parseAdverbs(s, j+1))
	case w == "to":
		return p.setClasslessVerb("have to", Present, j+1)
	case w == "got":
		next, isVerb := KnownVerb(s.WordAt(j + 1))
		if !isVerb || next.Form&Participle == 0 {
			return s.WordAt(j+1) != "to" && p.setClasslessVerb("have", Present, j+1)
		}
		return p.setMainVerb(s, j, Perfect)
	case ok && v.Form&Participle != 0 && (v.Form&Base == 0 || v.BaseForm == "become" || v.BaseForm == "come" || v.BaseForm == "run" || v.BaseForm == "read"):
		return p.setMainVerb(s, j, Perfect)
	}
	return p.setClasslessVerb("have", Present, j) && j < len(s.Tokens)
}

// parseAfterBeen parses the words after "have been" at token i.
func (p *Predicate) parseAfterBeen(s *Statement, i int) bool {
	if v, ok := ParseVerb(s.WordAt(i)); ok && v.Form == Gerund {
		return p.setMainVerb(s, i, Continued)
	}
	p.setClasslessVerb("be", Perfect, i)
	p.mainVerb = "been"
	return i < len(s.Tokens)
}

// InThirdPerson returns the predicate in the third person: "lives", "no longer lives", "has been living".
func (p *Predicate) InThirdPerson() string {
	is, has, was := "is", "has", "was"
	if p.person == PersonPlural {
		is, has, was = "are", "have", "were"
	}
	switch be := p.BaseForm == "be"; p.Tense {
	case Present:
		return p.WithVerb(p.BaseForm)
	case Past:
		switch {
		case be:
			return joinWords(was, p.Negation)
		case p.Negation == "not":
			return "did not " + p.BaseForm
		case p.Form&Base != 0 && p.Form&Preterite == 0:
			return "did " + p.mainVerb // "I did manage"
		}
		return joinWords(p.Negation, p.mainVerb)
	case Perfect:
		return joinWords(has, p.Negation, p.mainVerb)
	case Progressive:
		return joinWords(is, p.Negation, p.mainVerb)
	case Continued:
		return joinWords(has, p.Negation, "been", p.mainVerb)
	case PastProgressive:
		return joinWords(was, p.Negation, p.mainVerb)
	case UsedTo:
		return "used to " + p.BaseForm
	case Future, GoingTo:
		switch {
		case p.Negation != "" || be:
			return joinWords("will", p.Negation, p.BaseForm)
		case p.Tense == GoingTo:
			return is + " going to " + p.BaseForm
		case p.Form&Gerund != 0:
			return "will be " + p.mainVerb
		case p.person == PersonPlural:
			return "plan to " + p.BaseForm
		}
		return "plans to " + p.BaseForm
	case Can:
		if p.Negation != "" {
			return "cannot " + p.BaseForm
		}
		return "can " + p.BaseForm
	}
	return "would " + p.BaseForm
}

// WithVerb returns the verb baseForm in the present tense, with the negation and adverb of the predicate: "does not live".
func (p *Predicate) WithVerb(baseForm string) string {
	finite, does := regularThirdPerson(baseForm), "does"
	switch {
	case baseForm == "be" && p.person == PersonPlural:
		return joinWords("are", p.Negation)
	case baseForm == "be":
		return joinWords("is", p.Negation)
	case baseForm == "have to":
		finite = "has to"
	case p.person == PersonPlural:
		finite, does = baseForm, "do"
	}
	if p.Negation == "not" {
		return joinWords(does, "not", p.Frequency, baseForm)
	}
	return joinWords(p.Negation, p.Frequency, finite)
}

// joinWords joins the non-empty words with spaces.
func joinWords(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}
