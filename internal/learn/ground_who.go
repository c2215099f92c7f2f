package learn

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/text"
)

// person is the subject of a statement.
type person struct {
	subjectKind byte   // 's' for the speaker, 'o' for another person, 0 if unknown
	role        string // role of another person: "sister"
	name        string
}

// personTerm returns the canonical word for a person ("sister"), or "" if word does not name a person.
func personTerm(word string) string {
	if text.IsPersonWord(word) || personNouns.Has(word) {
		return text.Term(word)
	}
	return ""
}

// addNames adds names with their person's role, if the text states it: "my sister Ana", "Ana, my sister".
func addNames(rolesByName map[string]string, words []token) {
	for i, t := range words {
		p := personTerm(t.word)
		if p == "" {
			continue
		}
		for j := i + 1; j < len(words) && j <= i+3; j++ {
			w := words[j]
			if w.isCapitalized {
				rolesByName[w.word] = p
				break
			}
			if w.word != "is" && w.word != "named" && w.word != "called" {
				break
			}
		}
		if i >= 2 && possessives.Has(words[i-1].word) && words[i-2].isCapitalized {
			rolesByName[words[i-2].word] = p
		}
	}
}

// checkPerson returns a reason if the claim and the quote are about different persons.
func (g *evidence) checkPerson() string {
	claimed := g.claimedPerson()
	if claimed.subjectKind == 0 {
		return ""
	}
	clause, quoted, inherited := g.subjectOfQuote(claimed)
	if quoted.subjectKind == 0 || quoted.subjectKind == 's' && claimed.subjectKind == 's' || g.wordsMention(clause, claimed) || quoted.role != "" && similarRoles(quoted.role, claimed.role) {
		return ""
	}
	switch {
	case claimed.subjectKind == 's':
		if !(inherited && mayOmitI(clause)) && !g.mentionsPersonLike(quoted) {
			return "it is about somebody else"
		}
	case quoted.subjectKind == 's':
		return "it is about the user"
	case quoted.role != "":
		return "it is about " + firstNonEmpty(quoted.name, quoted.role)
	}
	return ""
}

func firstNonEmpty(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// claimedPerson returns the person that an English claim is about.
func (g *evidence) claimedPerson() person {
	start := 0 // index of the first word after a date: "On 2026-01-05, User …"
	for start < len(g.claimTokens) && (g.claimTokens[start].number != "" || start+1 < len(g.claimTokens) && g.claimTokens[start+1].number != "" && g.claimTokens[start].term == "") {
		start++
	}
	fact := g.claimTokens[start:]
	switch {
	case len(fact) < 2:
		return person{}
	case fact[0].word != "user":
		if group := g.rolesByName[fact[0].word]; fact[0].isCapitalized && (g.isNameAt(start) || group != "") {
			return person{'o', group, fact[0].word}
		}
		return person{}
	case !fact[0].isPossessive:
		return person{subjectKind: 's'}
	}
	for i := 1; i < len(fact) && i <= 4 && !verbWords.Has(fact[i].word); i++ {
		if p := personTerm(fact[i].word); p != "" {
			return person{'o', p, ""}
		}
	}
	return person{}
}

// subjectOfQuote returns the clause of the quote with most words of the claim, and the clause's person.
// isInherited reports whether only an earlier clause names that person.
func (g *evidence) subjectOfQuote(claimSubject person) (clause []token, subject person, isInherited bool) {
	best, most := -1, -1
	start, _ := sentenceAround(g.utterance.Text, g.span)
	for i, c := range g.clauses {
		if c[len(c)-1].End <= g.span.Start {
			continue
		}
		n := 2 * g.countSharedWords(slices.DeleteFunc(slices.Clone(c), func(t token) bool { return g.refersTo(t, claimSubject) }))
		if g.wordsMention(c, claimSubject) {
			n++
		}
		if n > most {
			best, most = i, n
		}
	}
	if best < 0 {
		return nil, person{}, false
	}
	for i := best; i >= 0 && g.clauses[i][0].Start >= start; i-- {
		if s, explicit := g.clauseSubject(g.clauses[i]); explicit {
			return g.clauses[best], s, i < best
		}
	}
	return g.clauses[best], person{}, false
}

// mayOmitI reports whether a clause may omit "I", because no third-person verb is among the first three words.
func mayOmitI(clause []token) bool {
	return !slices.ContainsFunc(clause[:min(len(clause), 3)], func(t token) bool {
		return t.word == "is" || t.word == "has" || t.word == "was" || len(t.word) > 3 && strings.HasSuffix(t.word, "s") && !strings.HasSuffix(t.word, "ss")
	})
}

// clauseSubject returns the person that a clause is about. isExplicit reports whether the clause names the person.
func (g *evidence) clauseSubject(clause []token) (subject person, isExplicit bool) {
	for i := 0; i < len(clause) && i < 7; i++ {
		t := clause[i]
		p := personTerm(t.word)
		switch group := g.rolesByName[t.word]; {
		case speakerWords.Has(t.word):
			subject = person{subjectKind: 's'}
		case english.IsThirdPerson(t.word):
			subject = person{subjectKind: 'o'}
		case possessives.Has(t.word):
			continue
		case t.isPossessive && !verbFollows(clause, i): // "my boss's car"
			return person{}, false
		case p != "":
			subject = person{'o', p, ""}
		case group != "", t.isCapitalized && t.term != "" && !g.isForeign && verbFollows(clause, i) && !capitalizedNonNames.Has(t.word):
			subject = person{'o', group, t.word}
		case openingWords.Has(t.word):
			continue
		default:
			return person{}, false
		}
		for k := i + 1; subject.subjectKind == 'o' && k < len(clause) && k <= i+2; k++ { // "Tom says no more toys" is not about Tom
			if quotingVerbs.Has(clause[k].word) {
				inner, _ := g.clauseSubject(clause[k+1:])
				return inner, true
			}
		}
		return subject, true
	}
	return person{}, false
}

// verbFollows reports whether a verb follows word i and adverbs: "Joanna's a vegetarian", "Tom always eats".
func verbFollows(clause []token, wordIndex int) bool {
	next := wordIndex + 1
	for next < len(clause) && english.IsAdverb(clause[next].word) {
		next++
	}
	if next >= len(clause) {
		return false
	}
	w := clause[next]
	if clause[wordIndex].isPossessive {
		return w.term == "" || strings.HasSuffix(w.word, "ing") || strings.HasSuffix(w.word, "ed")
	}
	return verbWords.Has(w.word) || strings.HasSuffix(w.word, "s") && len(w.word) > 3 || strings.HasSuffix(w.word, "ed")
}

// refersTo reports whether a word refers to the person.
func (g *evidence) refersTo(t token, subject person) bool {
	p := personTerm(t.word)
	return subject.subjectKind == 's' && speakerWords.Has(t.word) ||
		subject.name != "" && sameName(subject.name, t) ||
		subject.role != "" && (p != "" && similarRoles(p, subject.role) || g.rolesByName[t.word] == subject.role)
}

// wordsMention reports whether words name a person, or contain a pronoun that may refer to the person.
func (g *evidence) wordsMention(words []token, subject person) bool {
	return slices.ContainsFunc(words, func(t token) bool {
		return g.refersTo(t, subject) || subject.subjectKind == 'o' && (referringWords.Has(t.word) || english.IsThirdPerson(t.word))
	})
}

// similarRoles reports whether two roles may mean the same person, such as child and son.
func similarRoles(a, b string) bool { return a == b || slices.Contains(text.Synonyms(a), b) }

// mentionsPersonLike reports whether a claim about the user names a person of quotedPerson's role: "a sister".
func (g *evidence) mentionsPersonLike(quotedPerson person) bool {
	return slices.ContainsFunc(g.claimTokens[1:], func(t token) bool {
		p := personTerm(t.word)
		return p != "" && (similarRoles(p, quotedPerson.role) || text.ClassesOf(p)&text.ClosePersonClasses()&^text.ClassesNamed("pet") != 0 || personNouns.Has(t.word)) || heOrShe.Has(t.word) ||
			quotedPerson.name != "" && t.word == quotedPerson.name || g.rolesByName[t.word] != ""
	})
}

// checkNames returns a reason if the claim has a name that nobody mentioned.
func (g *evidence) checkNames() string {
	for i, t := range g.claimTokens {
		if !g.isNameAt(i) || t.isAcronym || hasName(t, g.contextTokens) || hasNonLatinWord(g.turnTokens) {
			continue
		}
		if g.isForeign && !(g.rolesByName[t.word] != "" || i > 0 && (g.claimTokens[i-1].word == "named" || g.claimTokens[i-1].word == "called") || strings.HasPrefix(text.Fold(g.claim.Subject), t.word)) {
			continue // the name may be a translation
		}
		return "nobody mentioned " + g.claim.Text[t.Start:t.End]
	}
	return ""
}

func (g *evidence) isNameAt(i int) bool {
	t := g.claimTokens[i]
	month := text.ClassesOf(t.term)&text.ClassesNamed("month") != 0 && i+1 < len(g.claimTokens) && g.claimTokens[i+1].number != "" // May 2026
	if !t.isCapitalized || capitalizedNonNames.Has(t.word) || t.number != "" || isTimeWord(t.word) || month {
		return false
	}
	return !t.beginsSentence || i > 0 || strings.HasPrefix(text.Fold(g.claim.Subject), t.word) || g.claim.Subject == "" && t.isPossessive
}

// isTimeWord reports whether a word names a time: "Friday", "Fridays".
func isTimeWord(word string) bool {
	return text.IsTimeWord(word) || text.IsTimeWord(strings.TrimSuffix(word, "s"))
}

// hasName reports whether words contain a name in any form.
func hasName(t token, words []token) bool {
	for _, w := range words {
		if sameName(t.word, w) || !w.isCapitalized && similarWords(t, w) || isAcronymOf(w, t.word) {
			return true
		}
	}
	return false
}

// isAcronymOf reports whether an acronym may mean a name, as JS means JavaScript: the first letters are equal,
// and the name has the other letters in order.
func isAcronymOf(acronym token, name string) bool {
	if !acronym.isAcronym || len(acronym.word) < 2 || len(name) <= len(acronym.word) || acronym.word[0] != name[0] {
		return false
	}
	for _, letter := range acronym.word[1:] {
		at := strings.IndexRune(name[1:], letter)
		if at < 0 {
			return false
		}
		name = name[1+at:]
	}
	return true
}

// sameName reports whether a word is a name or a short form of it.
func sameName(name string, w token) bool {
	return name == w.word || w.term != "" && text.Term(name) == w.term || len(w.word) > 1 && strings.TrimSuffix(name, "s") == strings.TrimSuffix(w.word, "s") ||
		len(w.word) >= 3 && strings.HasPrefix(name, w.word) && (w.isCapitalized || len(w.word) > 3) || len(name) >= 4 && strings.HasPrefix(w.word, name)
}
