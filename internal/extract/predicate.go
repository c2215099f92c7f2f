package extract

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
)

// tense is when, and how, what a verb says is so.
type tense uint16

const (
	present     tense = 1 << iota // I run, I am
	simplePast                    // I ran, I was
	perfect                       // I have run, I have been
	progressive                   // I am running
	continued                     // I have been running
	wasDoing                      // I was running
	usedTo                        // I used to run
	future                        // I will run
	goingTo                       // I am going to run
	ability                       // I can run
	wish                          // I would love to run
)

// predicate is the subject and the verbs of a clause.
type predicate struct {
	who     string // as a fact says it: "User", "User's sister"
	subject string // as a fact's subject: "user", "user's sister"
	plural  bool   // "User's kids"
	tense   tense
	neg     string // "", "not", "no longer" or "never"
	often   string // "always", "usually" and the like
	word    string // the main verb as it stands there
	verb    verb
	at      int  // the main verb's place
	rest    int  // the place of the first word after it
	elided  bool // the subject was left out
	infin   bool // the verb is in its base form
}

// adverb are words that may stand around a verb and say little.
var adverb = lazy.SetOf("adverb", wordList)

// habits are the adverbs that say how often.
var habits = lazy.Words("always usually normally typically generally often rarely sometimes regularly frequently occasionally")

// fed are verbs of which "only" tells a habit: "they only eat rice".
var fed = lazy.Words("eat eats drink drinks wear wears")

// adverbs reads over the adverbs and the negation at word i.
func (p *predicate) adverbs(c *clause, i int) int {
	for ; i < len(c.words); i++ {
		switch w := c.at(i); {
		case w == "not":
			if p.neg == "" {
				p.neg = "not"
			}
		case w == "no" && c.at(i+1) == "longer":
			p.neg = "no longer"
			i++
		case w == "never":
			p.neg = "never"
		case habits.Has(w), w == "only" && fed.Has(c.at(i+1)):
			p.often = w
		case w == "have" || !adverb.Has(w):
			return i
		case i == len(c.words)-1:
			return i
		}
	}
	return i
}

// read reads the verbs that stand at word i. It reports false for what is no
// statement of a fact: "I would", "I could", "I might".
func (p *predicate) read(c *clause, i int) bool {
	if !p.verbs(c, i) {
		return false
	}
	for j := p.rest; p.neg == "not" && j < len(c.words); j++ {
		if w := c.at(j); w == "anymore" || w == "any" && (c.at(j+1) == "more" || c.at(j+1) == "longer") {
			p.neg = "no longer"
		}
	}
	return true
}

func (p *predicate) verbs(c *clause, i int) bool {
	i = p.adverbs(c, i)
	switch w := c.at(i); w {
	case "":
		return false
	case "am", "are", "is":
		return p.be(c, i+1, present)
	case "was", "were":
		return p.be(c, i+1, simplePast)
	case "have", "has":
		return p.have(c, i)
	case "had":
		if n := c.at(p.adverbs(c, i+1)); n == "been" || n == "to" || n == "better" {
			return false
		}
		return p.main(c, i, simplePast)
	case "will":
		j := p.adverbs(c, i+1)
		if c.at(j) == "be" && strings.HasSuffix(c.at(j+1), "ing") {
			return p.main(c, j+1, future)
		}
		return p.main(c, j, future)
	case "would":
		j := p.adverbs(c, i+1)
		if c.at(j) == "rather" {
			return p.main(c, j+1, wish)
		}
		if l := c.at(j); l == "love" || l == "like" || l == "prefer" {
			return p.main(c, j, wish)
		}
		return false
	case "can":
		j := p.adverbs(c, i+1)
		return p.main(c, j, ability)
	case "do", "does", "did":
		j := p.adverbs(c, i+1)
		v, ok := VerbOf(c.at(j))
		if j > i+1 && ok && v.Form&base != 0 { // "I don't like"
			t := present
			if w == "did" {
				t = simplePast
			}
			return p.main(c, j, t)
		}
		if j == i+1 && ok && v.Form&base != 0 {
			return p.main(c, j, present)
		}
		t := present
		if w == "did" {
			t = simplePast
		}
		return p.main(c, i, t)
	case "used":
		if c.at(i+1) == "to" {
			return p.main(c, i+2, usedTo)
		}
	case "been":
		return p.elided && p.been(c, i+1)
	}
	v, ok := VerbOf(c.at(i))
	if !ok {
		return false
	}
	switch {
	case v.Form&Gerund != 0:
		if !p.elided {
			return false
		}
		return p.main(c, i, progressive)
	case v.Form&base != 0 && v.Form&preterite != 0: // "I read", "I quit"
		if v.Lemma == "quit" || v.Lemma == "cut" || v.Lemma == "hurt" || v.Lemma == "hit" || len(c.dates(i, len(c.words))) > 0 {
			return p.main(c, i, simplePast)
		}
		return !p.elided && p.main(c, i, present)
	case v.Form&base != 0 && p.subject == "user", v.Form&base != 0 && p.plural:
		return p.main(c, i, present)
	case v.Form&thirdForm != 0 && p.subject != "user":
		return p.main(c, i, present)
	case v.Form&preterite != 0:
		return p.main(c, i, simplePast)
	}
	return false
}

func (p *predicate) main(c *clause, i int, t tense) bool {
	v, _ := VerbOf(c.at(i))
	if v.Lemma == "" {
		v.Lemma = c.at(i)
	}
	if i >= len(c.words) || c.words[i].mark() {
		return false
	}
	p.tense, p.verb, p.word, p.at, p.rest = t, v, c.at(i), i, i+1
	p.infin = v.Form&base != 0
	return true
}

// be reads what follows a form of "be".
func (p *predicate) be(c *clause, i int, t tense) bool {
	i = p.adverbs(c, i)
	w := c.at(i)
	if w == "going" || w == "about" && t == present {
		if c.at(i+1) == "to" {
			if v, ok := VerbOf(c.at(i + 2)); ok && v.Form&base != 0 {
				return t == present && p.main(c, i+2, goingTo)
			}
		}
	}
	if v, ok := VerbOf(w); ok && v.Form == Gerund && w != "being" && (v.class != 0 || !strings.HasSuffix(w, "ing") || i+1 < len(c.words)) {
		if t == present {
			return p.main(c, i, progressive)
		}
		return p.main(c, i, wasDoing)
	}
	p.tense, p.verb, p.word, p.at, p.rest = t, verb{Lemma: "be"}, c.at(i-1), i, i
	return i < len(c.words)
}

// have reads what follows "have" at i.
func (p *predicate) have(c *clause, i int) bool {
	j := p.adverbs(c, i+1)
	switch w := c.at(j); w {
	case "been":
		return p.been(c, j+1)
	case "to":
		p.tense, p.verb, p.word, p.at, p.rest = present, verb{Lemma: "have to"}, "has", i, j
		return true
	case "got":
		k := p.adverbs(c, j+1)
		if v, ok := Verbs()[c.at(k)]; k < len(c.words) && (!ok || v.Form&participle == 0) && !undergone.Has(c.at(k)) && c.at(k) != "to" && c.at(k) != "back" && !diets.Has(c.at(k)) && c.at(k) != "married" {
			p.tense, p.verb, p.word, p.at, p.rest = present, verb{Lemma: "have"}, "have", i, k
			return true
		}
		return p.main(c, j, perfect)
	default:
		v, ok := VerbOf(w)
		if ok && v.Form&participle != 0 && (v.Form&base == 0 || v.Lemma == "become" || v.Lemma == "come" || v.Lemma == "run" || v.Lemma == "read") {
			return p.main(c, j, perfect)
		}
	}
	p.tense, p.verb, p.word, p.at, p.rest = present, verb{Lemma: "have"}, "have", i, j
	return j < len(c.words)
}

// been reads what follows "have been".
func (p *predicate) been(c *clause, i int) bool {
	i = p.adverbs(c, i)
	if v, ok := VerbOf(c.at(i)); ok && v.Form == Gerund {
		return p.main(c, i, continued)
	}
	p.tense, p.verb, p.word, p.at, p.rest = perfect, verb{Lemma: "be"}, "been", i, i
	return i < len(c.words)
}

// says returns the verbs as a fact says them of its subject: "lives", "no longer
// lives", "has been living". as is another tense than their own, or 0.
func (p *predicate) says(as tense, lemma string) string {
	t := p.tense
	if as != 0 {
		t = as
	}
	often := p.often
	if as != 0 && as != p.tense {
		often = ""
	}
	if lemma == "" {
		lemma = p.verb.Lemma
	} else if as == 0 {
		as = t
	}
	finite := lemma
	is, has, does := "is", "has", "does"
	if p.plural {
		is, has, does = "are", "have", "do"
	} else {
		finite = thirdOf(lemma)
	}
	word := p.word
	if as != 0 {
		word = lemma
	}
	neg := p.neg
	spaced := func(parts ...string) string {
		out := parts[:0]
		for _, w := range parts {
			if w != "" {
				out = append(out, w)
			}
		}
		return strings.Join(out, " ")
	}
	switch {
	case lemma == "be":
		switch t {
		case simplePast:
			if p.plural {
				return spaced("were", neg)
			}
			return spaced("was", neg)
		case perfect:
			return spaced(has, neg, "been")
		case usedTo:
			return "used to be"
		case future:
			return spaced("will", neg, "be")
		case goingTo:
			return spaced(is, neg, "going to be")
		case ability, wish:
			return "would be"
		}
		return spaced(is, neg)
	case t == present || t == ability && as == present:
		if neg == "not" {
			return spaced(does, "not", often, lemma)
		}
		return spaced(neg, often, finite)
	case t == simplePast:
		if neg == "not" {
			return "did not " + lemma
		}
		if p.infin && as == 0 && p.verb.Form&preterite == 0 {
			return "did " + word // "I did manage"
		}
		return spaced(neg, word)
	case t == perfect:
		return spaced(has, neg, word)
	case t == progressive:
		return spaced(is, neg, word)
	case t == continued:
		return spaced(has, neg, "been", word)
	case t == usedTo:
		return "used to " + lemma
	case t == future, t == goingTo:
		if neg != "" {
			return spaced("will", neg, lemma)
		}
		if t == goingTo {
			return is + " going to " + lemma
		}
		if p.plural {
			return "plan to " + lemma
		}
		return "plans to " + lemma
	case t == ability:
		if neg != "" {
			return "cannot " + lemma
		}
		return "can " + lemma
	case t == wish:
		return "would " + lemma
	}
	return word
}
