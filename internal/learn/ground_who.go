package learn

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/text"
)

// whom is whom a statement is about.
type whom struct {
	kind  byte   // 's' the speaker, 'o' another person, 0 unknown
	group string // of the other: the term for such a person
	name  string
}

// personOf returns the term of a word for a person, "" for other words.
func personOf(word string) string {
	if text.IsPersonWord(word) || people.Has(word) {
		return text.Term(word)
	}
	return ""
}

// addNames notes names and, as far as it is told, whose: "my sister Ana", "Ana, my sister".
func addNames(names map[string]string, words []token) {
	for i, t := range words {
		p := personOf(t.word)
		if p == "" {
			continue
		}
		for j := i + 1; j < len(words) && j <= i+3; j++ {
			w := words[j]
			if w.capital {
				names[w.word] = p
				break
			}
			if w.word != "is" && w.word != "named" && w.word != "called" {
				break
			}
		}
		if i >= 2 && possessives.Has(words[i-1].word) && words[i-2].capital {
			names[words[i-2].word] = p
		}
	}
}

// ofAnother reports a claim of one person that the quoted words say of another.
func (g *grounds) ofAnother() string {
	claimed := g.claimedOf()
	if claimed.kind == 0 {
		return ""
	}
	clause, said, inherited := g.saidOf(claimed)
	if said.kind == 0 || said.kind == 's' && claimed.kind == 's' || g.mentions(clause, claimed) || said.group != "" && nearGroup(said.group, claimed.group) {
		return ""
	}
	switch {
	case claimed.kind == 's':
		if !(inherited && omitsI(clause)) && !g.mentionsAnother(said) {
			return "it is said of somebody else"
		}
	case said.kind == 's':
		return "it is said of the user"
	case said.group != "":
		return "it is said of " + or(said.name, said.group)
	}
	return ""
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// claimedOf returns whom an English claim is about.
func (g *grounds) claimedOf() whom {
	start := 0 // behind a date: "On 2026-01-05, User …"
	for start < len(g.fact) && (g.fact[start].number != "" || start+1 < len(g.fact) && g.fact[start+1].number != "" && g.fact[start].term == "") {
		start++
	}
	fact := g.fact[start:]
	switch {
	case len(fact) < 2:
		return whom{}
	case fact[0].word != "user":
		if group := g.names[fact[0].word]; fact[0].capital && (g.isName(start) || group != "") {
			return whom{'o', group, fact[0].word}
		}
		return whom{}
	case !fact[0].owner:
		return whom{kind: 's'}
	}
	for i := 1; i < len(fact) && i <= 4 && !verbish.Has(fact[i].word); i++ {
		if p := personOf(fact[i].word); p != "" {
			return whom{'o', p, ""}
		}
	}
	return whom{}
}

// saidOf returns the clause of the quote that has most of what the claim says, and whom it
// is about: its own subject, or that of the clauses before it in the sentence.
func (g *grounds) saidOf(claimed whom) (clause []token, of whom, inherited bool) {
	best, most := -1, -1
	start, _ := sentenceAround(g.said.Text, g.span)
	for i, c := range g.clauses {
		if c[len(c)-1].End <= g.span.Start {
			continue
		}
		n := 2 * g.shared(slices.DeleteFunc(slices.Clone(c), func(t token) bool { return g.isOf(t, claimed) }))
		if g.mentions(c, claimed) {
			n++
		}
		if n > most {
			best, most = i, n
		}
	}
	if best < 0 {
		return nil, whom{}, false
	}
	for i := best; i >= 0 && g.clauses[i][0].Start >= start; i-- {
		if s, explicit := g.subject(g.clauses[i]); explicit {
			return g.clauses[best], s, i < best
		}
	}
	return g.clauses[best], whom{}, false
}

// omitsI reports whether a clause without a subject may be the speaker's own: no verb of
// it is in the third person.
func omitsI(clause []token) bool {
	return !slices.ContainsFunc(clause[:min(len(clause), 3)], func(t token) bool {
		return t.word == "is" || t.word == "has" || t.word == "was" || len(t.word) > 3 && strings.HasSuffix(t.word, "s") && !strings.HasSuffix(t.word, "ss")
	})
}

// subject returns whom a clause is about, explicit if its words say so.
func (g *grounds) subject(clause []token) (s whom, explicit bool) {
	for i := 0; i < len(clause) && i < 7; i++ {
		t := clause[i]
		p := personOf(t.word)
		switch group := g.names[t.word]; {
		case speakerWords.Has(t.word):
			s = whom{kind: 's'}
		case english.IsThirdPerson(t.word):
			s = whom{kind: 'o'}
		case possessives.Has(t.word):
			continue
		case t.owner && !verbal(clause, i): // "my boss's car"
			return whom{}, false
		case p != "":
			s = whom{'o', p, ""}
		case group != "", t.capital && t.term != "" && !g.foreign && verbal(clause, i) && !noNames.Has(t.word):
			s = whom{'o', group, t.word}
		case openingWords.Has(t.word):
			continue
		default:
			return whom{}, false
		}
		for k := i + 1; s.kind == 'o' && k < len(clause) && k <= i+2; k++ { // "Tom says no more toys" is not of Tom
			if quoting.Has(clause[k].word) {
				inner, _ := g.subject(clause[k+1:])
				return inner, true
			}
		}
		return s, true
	}
	return whom{}, false
}

// verbal reports whether a verb follows word i: "Joanna's a vegetarian", "Tom always eats".
func verbal(clause []token, i int) bool {
	next := i + 1
	for next < len(clause) && english.IsAdverb(clause[next].word) {
		next++
	}
	if next >= len(clause) {
		return false
	}
	w := clause[next]
	if clause[i].owner {
		return w.term == "" || strings.HasSuffix(w.word, "ing") || strings.HasSuffix(w.word, "ed")
	}
	return verbish.Has(w.word) || strings.HasSuffix(w.word, "s") && len(w.word) > 3 || strings.HasSuffix(w.word, "ed")
}

// isOf reports whether a word names a person.
func (g *grounds) isOf(t token, of whom) bool {
	p := personOf(t.word)
	return of.kind == 's' && speakerWords.Has(t.word) ||
		of.name != "" && sameName(of.name, t) ||
		of.group != "" && (p != "" && nearGroup(p, of.group) || g.names[t.word] == of.group)
}

// mentions reports whether words name a person, or may mean them by a pronoun.
func (g *grounds) mentions(words []token, of whom) bool {
	return slices.ContainsFunc(words, func(t token) bool {
		return g.isOf(t, of) || of.kind == 'o' && (anyone.Has(t.word) || english.IsThirdPerson(t.word))
	})
}

// nearGroup reports whether two groups of persons may be one: a child is a son.
func nearGroup(a, b string) bool { return a == b || slices.Contains(text.Related(a), b) }

// mentionsAnother reports whether a claim about the user names the one of whom the words
// are said: "User has a sister".
func (g *grounds) mentionsAnother(said whom) bool {
	return slices.ContainsFunc(g.fact[1:], func(t token) bool {
		p := personOf(t.word)
		return p != "" && (nearGroup(p, said.group) || text.ClassesOf(p)&text.OwnPeople()&^text.ClassesAsked("pet") != 0 || people.Has(t.word)) || heOrShe.Has(t.word) ||
			said.name != "" && t.word == said.name || g.names[t.word] != ""
	})
}

// unhasName reports a name that nobody said.
func (g *grounds) unnamed() string {
	for i, t := range g.fact {
		if !g.isName(i) || t.acronym || hasName(t, g.around) || otherScript(g.turn) {
			continue
		}
		if g.foreign && !(g.names[t.word] != "" || i > 0 && (g.fact[i-1].word == "named" || g.fact[i-1].word == "called") || strings.HasPrefix(text.Fold(g.claim.About), t.word)) {
			continue // it may be a translation
		}
		return "nobody said " + g.claim.Text[t.Start:t.End]
	}
	return ""
}

// isName reports whether a word of the claim is a name.
func (g *grounds) isName(i int) bool {
	t := g.fact[i]
	month := text.ClassesOf(t.term)&text.ClassesAsked("month") != 0 && i+1 < len(g.fact) && g.fact[i+1].number != "" // May 2026
	if !t.capital || noNames.Has(t.word) || t.number != "" || isTime(t.word) || month {
		return false
	}
	return !t.opens || i > 0 || strings.HasPrefix(text.Fold(g.claim.About), t.word) || g.claim.About == "" && t.owner
}

// isTime reports whether a word names a time: "Friday", "Fridays".
func isTime(word string) bool { return text.IsTime(word) || text.IsTime(strings.TrimSuffix(word, "s")) }

// hasName reports whether a name is among words, whatever its form.
func hasName(t token, words []token) bool {
	for _, w := range words {
		if sameName(t.word, w) || !w.capital && alike(t, w) || shortens(w, t.word) {
			return true
		}
	}
	return false
}

// shortens reports whether an acronym is short for a name, as JS is for JavaScript: its first
// letter is the name's first, the others follow in order.
func shortens(w token, name string) bool {
	if !w.acronym || len(w.word) < 2 || len(name) <= len(w.word) || w.word[0] != name[0] {
		return false
	}
	for _, letter := range w.word[1:] {
		at := strings.IndexRune(name[1:], letter)
		if at < 0 {
			return false
		}
		name = name[1+at:]
	}
	return true
}

// sameName reports whether a word is a name, or its short form.
func sameName(name string, w token) bool {
	return name == w.word || w.term != "" && text.Term(name) == w.term || len(w.word) > 1 && strings.TrimSuffix(name, "s") == strings.TrimSuffix(w.word, "s") ||
		len(w.word) >= 3 && strings.HasPrefix(name, w.word) && (w.capital || len(w.word) > 3) || len(name) >= 4 && strings.HasPrefix(w.word, name)
}
