package learn

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/late"
	"github.com/loci-memory/loci/internal/text"
)

// What a claim says must be said of the same person.

// ofSame reports whether the statements are about whom the claim is about.
func (c *claim) ofSame(w []assertion, g *gathered) bool {
	claimTerms := map[string]bool{}
	for _, t := range c.terms {
		claimTerms[t], claimTerms[kin(t)] = true, true
	}
	spoken := false // the speaker spoke of it before
	for _, s := range w {
		if !contributes(s, claimTerms) {
			continue
		}
		switch s.subject.who {
		case someone:
			if !s.subject.about(claimTerms) && !(s.subject.thing && opines.MatchString(c.folded)) {
				return false
			}
			if c.subject.who == speaker && !s.subject.thing && !spoken && isUser.MatchString(c.folded) && !possesses.MatchString(c.folded) && !opines.MatchString(c.folded) {
				return false // "my brother plays" says nothing that the user does
			}
		case somebody, listener:
			if c.subject.who == speaker && !(s.subject.who == somebody && spoken && isCalled.MatchString(s.text)) && !(s.subject.who == listener && opines.MatchString(c.folded)) {
				return false
			}
		case speaker:
			spoken = true
			if c.subject.who == someone && (!c.subject.about(s.terms) || doesItself(s, c)) {
				return false
			}
		}
	}
	if c.subject.who == someone && !c.subject.about(g.terms) && !c.subject.about(g.person) {
		return false
	}
	return true
}

// isCalled gives a name to whom the sentence before introduced.
var isCalled = late.Compile(`^(?:he|she|it|they)(?:'s| is|'re| are|'s been) (?:called|named)\b|^(?:his|her|its|their) names? (?:is|are)\b`)

// possesses is a claim that says who somebody is to the user.
var possesses = late.Compile(`^(?:the )?user (?:also )?(?:has|had|lost|met|is (?:married|engaged|the|dating|friends|related|in a)|got|married|was|lives? with|adopted|received|knows|named)\b`)

// opines is a claim about what the user thinks of something.
var opines = late.Compile(`^(?:the )?user (?:believes?|thinks?|finds?|feels?|appreciates?|considers?|says|said|mentions?|mentioned|admires?|values?|acknowledge[sd]?|congratulate[sd]?|commend(?:s|ed)|compliment(?:s|ed)|encourage[sd]?|supports?|suggest(?:s|ed)|recommend(?:s|ed)|advise[sd]?|express(?:es|ed)|emphasi[sz]e[sd]?|describe[sd]?|cherish\w*|enjoy(?:s|ed)|is (?:proud|worried|concerned|happy|glad|sad|grateful|thankful) )\b`)

// share is how many words of the claim an assertion has.
func (s *assertion) share(claimTerms map[string]bool) int {
	n := 0
	for t := range s.terms {
		if claimTerms[t] || claimTerms[kin(t)] {
			n++
		}
	}
	return n
}

// contributes reports whether a assertion has words of the claim.
func contributes(s assertion, claimTerms map[string]bool) bool {
	for t := range s.terms {
		if claimTerms[t] || claimTerms[kin(t)] {
			return true
		}
	}
	return false
}

var tellsOf = late.Compile(`\b(?:told|tell|telling|asked|showed|wrote|texted|promised|reminded|think|know|knows) .*\bi\b`)

var speakerDoes = late.Compile(`^(?:\w+ )*?(?:i|we)(?:'m|'ve| am| have| also| really| still| just| always| never)* (\w+)`)

// doesItself reports whether the speaker does what the claim says another does: "I
// told my son I live in Rome" is not about where the son lives.
func doesItself(s assertion, c *claim) bool {
	if userAgain.MatchString(strings.TrimPrefix(ofUser.ReplaceAllString(c.folded, ""), "user")) {
		return true // and not what another does to the user
	}
	if tellsOf.MatchString(s.text) {
		return true
	}
	m := speakerDoes.FindStringSubmatch(s.text)
	if m == nil {
		return false
	}
	t := text.Term(m[1])
	return t != "" && slices.Contains(c.terms, t) && !free.Has(t)
}
