package learn

import (
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/late"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// claim is what a candidate asserts, as far as it must be found in the words that
// it is from.
type claim struct {
	whole   string // folded
	text    string // without dates
	folded  string
	terms   []string // what must be there, in order
	names   []string // folded words of names
	numbers []string
	dates   []text.Date
	subject subject
	at      time.Time // when the turn was said
}

// readClaim reads a candidate's words as of the time they were said.
func readClaim(s string, said Said) claim {
	at := said.Turn.CreatedAt
	c := claim{whole: text.Fold(s), dates: text.Resolve(s, at), at: at}
	c.text = oneWay(without(s, c.dates))
	c.folded = text.Fold(c.text)
	for _, t := range text.Terms(c.text) {
		if !silent.Has(t) && !free.Has(t) && !slices.Contains(c.terms, t) {
			c.terms = append(c.terms, t)
		}
	}
	if len(c.terms) == 0 { // "User is married": then the usual words count
		for t := range termSet(c.text) {
			c.terms = append(c.terms, t)
		}
	}
	for _, name := range text.Names(c.text) {
		for _, w := range text.Words(name) {
			if w != "user" && w != "s" {
				c.names = append(c.names, w)
			}
		}
	}
	c.numbers = text.Numbers(c.text)
	c.subject = claimSubject(c.folded, c.text)
	return c
}

// without returns s less its dates: they may be worked out from words such as
// "yesterday" and are compared as dates.
func without(s string, dates []text.Date) string {
	var b strings.Builder
	last := 0
	for _, d := range dates {
		b.WriteString(s[last:d.Start])
		last = d.End
	}
	b.WriteString(s[last:])
	return b.String()
}

var (
	ofUser    = late.Compile(`^(?:the )?user's\s+`)
	isUser    = late.Compile(`^(?:the )?user\b`)
	userAgain = late.Compile(`\buser\b`)
)

func claimSubject(folded, original string) subject {
	if m := ofUser.FindString(folded); m != "" {
		if persons := personsIn(firstWords(folded[len(m):], 4), 3); len(persons) > 0 {
			return subject{who: someone, words: persons}
		}
		return subject{who: speaker}
	}
	if isUser.MatchString(folded) {
		return subject{who: speaker}
	}
	return readSubject(original, memory.RoleUser)
}

// widest is how many statements a claim may be gathered from.
const widest = 8

// supports returns the part of what was said that supports a claim best: the
// fewest statements next to each other that have all of it and say it of the same
// person, in the same sense. prefer is where a quote stands, empty without one.
func supports(fact string, said Said, all []assertion, prefer text.Span) (text.Span, bool) {
	if span, ok := repeated(fact, said, all); ok {
		return span, true
	}
	if span, ok := supportsWhole(readClaim(fact, said), said, all, prefer); ok {
		return span, true
	}
	parts := claimParts(fact)
	if len(parts) < 2 || len(parts) > 4 {
		return text.Span{}, false
	}
	whole := text.Span{Start: -1}
	for i, part := range parts { // two things in one fact may be said in two sentences
		span, ok := supportsWhole(readClaim(part, said), said, all, prefer)
		if !ok && i > 0 && framing.MatchString(part) && !hasDenial(text.Fold(part)) {
			continue
		}
		if !ok {
			return text.Span{}, false
		}
		if whole.Start < 0 || span.Start < whole.Start {
			whole.Start = span.Start
		}
		whole.End = max(whole.End, span.End)
	}
	return whole, true
}

// framing is a part of a claim that says how the rest is felt: a model's own words,
// often, and nothing that anybody would act on.
var framing = late.Compile(`^User (?:finding|finds|found|feeling|feels|felt|expressing|expresses|expressed|is excited|was excited|is grateful|appreciates|appreciating|considers|considering|showing|describing|described|enjoying|shared|mentioned) `)

var partCut = late.Compile(`\s*[,;]\s+(?:and |but |who |which )?|\s+(?:and|but|who|which)\s+`)

var furtherVerb = late.Compile(`^(?:also |now |currently |really |no longer |not |does |has |is |was |found |felt |\w+s |\w+ed |\w+ing |had )`)

// claimParts cuts "User lives in Rome and works at Acme" in two, each with its
// subject. What is no second furtherVerb stays with the first.
func claimParts(fact string) []string {
	lead := isUser.FindString(strings.ToLower(fact))
	if lead == "" || strings.HasPrefix(strings.ToLower(fact[len(lead):]), "'s") {
		return nil
	}
	var parts []string
	last := 0
	for _, m := range append(partCut.FindAllStringIndex(fact, -1), []int{len(fact), len(fact)}) {
		rest := fact[m[1]:]
		if m[0] < len(fact) && !furtherVerb.MatchString(rest) && !strings.HasPrefix(strings.ToLower(rest), "user") {
			continue
		}
		part := fact[last:m[0]]
		if !isUser.MatchString(strings.ToLower(part)) {
			part = "User " + part
		}
		parts = append(parts, part)
		last = m[1]
	}
	return parts
}

// What bounds the search in a long turn: from how many statements on only those are
// looked at that share a word with the claim, and how often statements are put
// together for one claim.
const (
	shortTurn  = 40
	maxWindows = 600
)

func supportsWhole(c claim, said Said, all []assertion, prefer text.Span) (text.Span, bool) {
	if len(c.terms) == 0 && len(c.numbers) == 0 {
		return text.Span{}, false
	}
	tries, terms := 0, map[string]bool{}
	for _, t := range c.terms {
		terms[t], terms[kin(t)] = true, true
	}
	for pass := range 2 { // first where the quote is
		if pass == 0 && prefer.End == 0 {
			continue
		}
		for width := 1; width <= widest; width++ {
			for i := len(all) - width; i >= 0; i-- { // the newest first
				w := all[i : i+width]
				if w[width-1].sentence-w[0].sentence > 2 || pass == 0 && (w[width-1].End <= prefer.Start || w[0].Start >= prefer.End) {
					continue
				}
				if len(all) > shortTurn && !slices.ContainsFunc(w, func(s assertion) bool { return contributes(s, terms) }) {
					continue
				}
				if tries++; tries > maxWindows {
					return text.Span{}, false
				}
				if c.heldBy(w, all[:i], said) {
					return text.Span{Start: w[0].Start, End: w[width-1].End}, true
				}
			}
		}
	}
	return text.Span{}, false
}

// heldBy reports whether statements next to each other say what the claim does.
// before are those that a pronoun may point back to.
func (c *claim) heldBy(w, before []assertion, said Said) bool {
	g := gather(w, before, said)
	return c.worded(g) && c.dated(g, said) && c.counted(g) && c.ofSame(w, g) && c.inSameSense(w, g) && c.inOrder(g)
}

// gathered is statements taken together.
type gathered struct {
	raw, text, folded string          // as it was said, and as [oneWay] writes it
	words             map[string]bool // folded, as text.Words gives them
	terms             map[string]bool
	order             []string        // the terms as they stand, less free ones
	person            map[string]bool // terms of the sentence before, for "he" and "she"
	turn              string          // all that was said
}

func gather(w, before []assertion, said Said) *gathered {
	g := &gathered{turn: said.Text, text: said.Text[w[0].Start:w[len(w)-1].End], terms: map[string]bool{}, person: map[string]bool{}}
	if name := said.Turn.Name; name != "" {
		g.text = name + ": " + g.text
	}
	g.raw = g.text
	if slices.ContainsFunc(w, func(s assertion) bool { return s.unplain }) {
		g.text = oneWay(g.text)
	}
	g.folded = text.Fold(g.text)
	g.words = wordSet(g.text)
	for _, t := range text.Terms(g.text) {
		if !silent.Has(t) && !free.Has(t) {
			g.order = append(g.order, t)
		}
	}
	for t := range termSet(g.text) {
		g.terms[kin(t)] = true
		g.terms[t] = true
	}
	if slices.ContainsFunc(w, func(s assertion) bool { return s.subject.who == somebody || pointsBack.MatchString(s.text) }) {
		for i := len(before) - 1; i >= 0 && before[i].sentence >= w[0].sentence-1; i-- {
			for t := range before[i].terms {
				if people.Has(t) {
					g.person[kin(t)] = true
				}
			}
			for _, name := range text.Names(said.Text[before[i].Start:before[i].End]) {
				for _, word := range text.Words(name) {
					g.person[word], g.person[text.Term(word)] = true, true
				}
			}
		}
	}
	return g
}

// addresses reports whether the statements speak to somebody whom the turn names:
// "Thanks, Tim! … I value your help."
func (g *gathered) addresses(name string) bool {
	return toYou.MatchString(g.folded) && strings.Contains(strings.ToLower(g.turn), name)
}

var toYou = late.Compile(`\b(?:you|your|yours|you're|you've)\b`)

var pointsBack = late.Compile(`\b(?:he|she|they|it|his|her|their|its|that|there|this|them|him|one)\b|^it's|^he's|^she's`)
