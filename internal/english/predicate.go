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

// Person is the grammatical person of a subject. PersonElided means that the verb has no subject and "I" is implied.
type Person uint8

// The persons of subjects.
const (
	Speaker Person = iota
	Elided
	Singular
	Plural
)

// Predicate is the analysis of the verbs of a statement.
type Predicate struct {
	Verb
	Tense Tense
	Neg   string // "", "not", "no longer" or "never"
	Often string // the adverb of frequency ("always"), or ""
	Rest  int    // index of the first token after the verbs

	person Person
	word   string // the main verb's form in the statement
}

// habits are adverbs of frequency.
var habits = lazy.Words("always usually normally typically generally often rarely sometimes regularly frequently occasionally")

// Predicate parses the verbs at token i. It returns false if the verbs state no fact: "I would", "I might".
func (s *Statement) Predicate(i int, person Person) (Predicate, bool) {
	p := Predicate{person: person}
	if !p.read(s, i) || p.Rest > len(s.Tokens) {
		return p, false
	}
	if p.Neg == "not" {
		for j := p.Rest; j < len(s.Tokens); j++ {
			if w := s.At(j); w == "anymore" || w == "any" && (s.At(j+1) == "more" || s.At(j+1) == "longer") {
				p.Neg = "no longer"
			}
		}
	}
	return p, true
}

// adverbs parses the adverbs and the negation at token i and returns the index after them.
func (p *Predicate) adverbs(s *Statement, i int) int {
	for ; i < len(s.Tokens); i++ {
		switch w := s.At(i); {
		case w == "not":
			p.Neg = "not"
		case w == "no" && s.At(i+1) == "longer":
			p.Neg = "no longer"
			i++
		case w == "never":
			p.Neg = "never"
		case habits.Has(w):
			p.Often = w
		case !IsAdverb(w) || i == len(s.Tokens)-1:
			return i
		}
	}
	return i
}

func (p *Predicate) read(s *Statement, i int) bool {
	i = p.adverbs(s, i)
	j := p.adverbs(s, i+1)
	next, isVerb := VerbOf(s.At(j))
	switch w := s.At(i); w {
	case "":
		return false
	case "am", "are", "is":
		return p.be(s, j, Present)
	case "was", "were":
		return p.be(s, j, Past)
	case "have", "has":
		return p.have(s, j)
	case "had":
		return s.At(j) != "been" && s.At(j) != "to" && s.At(j) != "better" && p.setMainVerb(s, i, Past)
	case "will":
		if s.At(j) == "be" && strings.HasSuffix(s.At(j+1), "ing") {
			j++
		}
		return p.setMainVerb(s, j, Future)
	case "would":
		return slices.Contains([]string{"love", "like", "prefer"}, s.At(j)) && p.setMainVerb(s, j, Wish)
	case "can":
		return p.setMainVerb(s, j, Can)
	case "do", "does", "did":
		tense := Present
		if w == "did" {
			tense = Past
		}
		if isVerb && next.Form&Base != 0 { // "I do not like"
			return p.setMainVerb(s, j, tense)
		}
		return p.setMainVerb(s, i, tense)
	case "used":
		if s.At(i+1) == "to" {
			return p.setMainVerb(s, i+2, UsedTo)
		}
	case "been":
		return p.person == Elided && p.been(s, j)
	}
	v, ok := VerbOf(s.At(i))
	switch {
	case !ok:
		return false
	case v.Form&Gerund != 0:
		return p.person == Elided && p.setMainVerb(s, i, Progressive)
	case v.Form&Base != 0 && v.Form&Preterite != 0: // "I read", "I quit"
		if v.Lemma == "quit" || v.Lemma == "cut" || v.Lemma == "hurt" || v.Lemma == "hit" || len(s.Dates(i, len(s.Tokens))) > 0 {
			return p.setMainVerb(s, i, Past)
		}
		return p.person != Elided && p.setMainVerb(s, i, Present)
	case v.Form&Base != 0 && (p.person == Speaker || p.person == Plural || p.person == Elided && (v.Lemma == "love" || v.Lemma == "hate")),
		v.Form&ThirdPersonForm != 0 && p.person == Singular:
		return p.setMainVerb(s, i, Present)
	case v.Form&Preterite != 0:
		return p.setMainVerb(s, i, Past)
	}
	return false
}

// setMainVerb sets the main verb to token i.
func (p *Predicate) setMainVerb(s *Statement, i int, t Tense) bool {
	if i >= len(s.Tokens) || s.Tokens[i].Mark() {
		return false
	}
	p.Verb, _ = VerbOf(s.At(i))
	if p.Lemma == "" {
		p.Lemma = s.At(i)
	}
	p.Tense, p.word, p.Rest = t, s.At(i), i+1
	return true
}

// setOtherVerb sets a main verb without a class: "be", "have" or "have to".
func (p *Predicate) setOtherVerb(lemma string, t Tense, rest int) bool {
	p.Verb, p.word, p.Tense, p.Rest = Verb{Lemma: lemma}, lemma, t, rest
	return true
}

// be parses the words after a form of "be" at token i.
func (p *Predicate) be(s *Statement, i int, t Tense) bool {
	w := s.At(i)
	if w == "going" && s.At(i+1) == "to" {
		if v, ok := VerbOf(s.At(i + 2)); ok && v.Form&Base != 0 {
			return t == Present && p.setMainVerb(s, i+2, GoingTo)
		}
	}
	if v, ok := VerbOf(w); ok && v.Form == Gerund && w != "being" && (v.Class != 0 || i+1 < len(s.Tokens)) {
		if t == Past {
			return p.setMainVerb(s, i, PastProgressive)
		}
		return p.setMainVerb(s, i, Progressive)
	}
	return p.setOtherVerb("be", t, i) && i < len(s.Tokens)
}

// have parses the words after "have", starting at token j.
func (p *Predicate) have(s *Statement, j int) bool {
	v, ok := VerbOf(s.At(j))
	switch w := s.At(j); {
	case w == "been":
		return p.been(s, p.adverbs(s, j+1))
	case w == "to":
		return p.setOtherVerb("have to", Present, j+1)
	case w == "got":
		next, isVerb := KnownVerb(s.At(j + 1))
		if !isVerb || next.Form&Participle == 0 {
			return s.At(j+1) != "to" && p.setOtherVerb("have", Present, j+1)
		}
		return p.setMainVerb(s, j, Perfect)
	case ok && v.Form&Participle != 0 && (v.Form&Base == 0 || v.Lemma == "become" || v.Lemma == "come" || v.Lemma == "run" || v.Lemma == "read"):
		return p.setMainVerb(s, j, Perfect)
	}
	return p.setOtherVerb("have", Present, j) && j < len(s.Tokens)
}

// been parses the words after "have been" at token i.
func (p *Predicate) been(s *Statement, i int) bool {
	if v, ok := VerbOf(s.At(i)); ok && v.Form == Gerund {
		return p.setMainVerb(s, i, Continued)
	}
	p.setOtherVerb("be", Perfect, i)
	p.word = "been"
	return i < len(s.Tokens)
}

// Says returns the predicate in the third person: "lives", "no longer lives", "has been living".
func (p *Predicate) Says() string {
	is, has, was := "is", "has", "was"
	if p.person == Plural {
		is, has, was = "are", "have", "were"
	}
	switch be := p.Lemma == "be"; p.Tense {
	case Present:
		return p.SaysNow(p.Lemma)
	case Past:
		switch {
		case be:
			return joinWords(was, p.Neg)
		case p.Neg == "not":
			return "did not " + p.Lemma
		case p.Form&Base != 0 && p.Form&Preterite == 0:
			return "did " + p.word // "I did manage"
		}
		return joinWords(p.Neg, p.word)
	case Perfect:
		return joinWords(has, p.Neg, p.word)
	case Progressive:
		return joinWords(is, p.Neg, p.word)
	case Continued:
		return joinWords(has, p.Neg, "been", p.word)
	case PastProgressive:
		return joinWords(was, p.Neg, p.word)
	case UsedTo:
		return "used to " + p.Lemma
	case Future, GoingTo:
		switch {
		case p.Neg != "" || be:
			return joinWords("will", p.Neg, p.Lemma)
		case p.Tense == GoingTo:
			return is + " going to " + p.Lemma
		case p.Form&Gerund != 0:
			return "will be " + p.word
		case p.person == Plural:
			return "plan to " + p.Lemma
		}
		return "plans to " + p.Lemma
	case Can:
		if p.Neg != "" {
			return "cannot " + p.Lemma
		}
		return "can " + p.Lemma
	}
	return "would " + p.Lemma
}

// SaysNow returns the verb lemma in the present tense, with the negation and adverb of the predicate: "does not live".
func (p *Predicate) SaysNow(lemma string) string {
	finite, does := thirdOf(lemma), "does"
	switch {
	case lemma == "be" && p.person == Plural:
		return joinWords("are", p.Neg)
	case lemma == "be":
		return joinWords("is", p.Neg)
	case lemma == "have to":
		finite = "has to"
	case p.person == Plural:
		finite, does = lemma, "do"
	}
	if p.Neg == "not" {
		return joinWords(does, "not", p.Often, lemma)
	}
	return joinWords(p.Neg, p.Often, finite)
}

// joinWords joins the non-empty words with spaces.
func joinWords(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}
