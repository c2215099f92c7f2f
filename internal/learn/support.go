package learn

import (
	"slices"
	"strings"
	"time"

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
		if !silent[t] && !free[t] && !slices.Contains(c.terms, t) {
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
	ofUser    = lazily(`^(?:the )?user's\s+`)
	isUser    = lazily(`^(?:the )?user\b`)
	userAgain = lazily(`\buser\b`)
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
var framing = lazily(`^User (?:finding|finds|found|feeling|feels|felt|expressing|expresses|expressed|is excited|was excited|is grateful|appreciates|appreciating|considers|considering|showing|describing|described|enjoying|shared|mentioned) `)

var partCut = lazily(`\s*[,;]\s+(?:and |but |who |which )?|\s+(?:and|but|who|which)\s+`)

var furtherVerb = lazily(`^(?:also |now |currently |really |no longer |not |does |has |is |was |found |felt |\w+s |\w+ed |\w+ing |had )`)

// claimParts cuts "User lives in Rome and works at Acme" in two, each with its
// subject. What is no second furtherVerb stays with the first.
func claimParts(fact string) []string {
	lead := isUser.FindString(strings.ToLower(fact))
	if lead == "" || strings.HasPrefix(strings.ToLower(fact[len(lead):]), "'s") {
		return nil
	}
	var parts []string
	last := 0
	for _, m := range append(partCut.FindAllIndex(fact), []int{len(fact), len(fact)}) {
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
		if !silent[t] && !free[t] {
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
				if people[t] {
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

var toYou = lazily(`\b(?:you|your|yours|you're|you've)\b`)

var pointsBack = lazily(`\b(?:he|she|they|it|his|her|their|its|that|there|this|them|him|one)\b|^it's|^he's|^she's`)

// worded reports whether the claim's words are there: each itself, or one that
// says the same.
func (c *claim) worded(g *gathered) bool {
	for _, n := range c.names {
		if !g.words[n] && !g.person[n] && !g.terms[text.Term(n)] && !(opines.MatchString(c.folded) && g.addresses(n)) {
			return false
		}
	}
	missing := 0
	for i, t := range c.terms {
		if g.has(t) {
			continue
		}
		missing++
		if missing > c.spare() || c.exchanged(i, g) {
			return false
		}
	}
	folded := g.folded
	if c.subject.who == speaker {
		folded = anothers.ReplaceAllString(folded, "another's")
	}
	for _, e := range evidence {
		if e.claim.MatchString(c.folded) && !e.said.MatchString(folded) {
			return false
		}
	}
	return true
}

// anothers is what belongs to a person of the user's.
var anothers = lazily(`\b(?:my|our) (?:\w+[- ])?(?:brother|sister|mother|mom|mum|father|dad|parent|son|daughter|kid|child|wife|husband|partner|girlfriend|boyfriend|friend|uncle|aunt|cousin|grand\w+|boss|manager|colleague|coworker|neighbou?r|roommate|flatmate|landlord|teacher|doctor|ex)s?'s?\b`)

// spare returns how many of a claim's words may be the model's own. The longer the
// claim, the less one word decides; of what somebody thinks of a thing, less than
// of what is so.
func (c *claim) spare() int {
	switch n := len(c.terms); {
	case n >= longClaim:
		return n / 2
	case n >= 3 && opines.MatchString(c.folded):
		return 1
	default:
		return n / 4
	}
}

// has reports whether the words say what a term of a claim does.
func (g *gathered) has(t string) bool {
	return g.terms[t] || g.terms[kin(t)] || g.person[kin(t)] || bridged(t, g.folded)
}

// exchanged reports whether another word stands where the claim's i-th should:
// "coffee every morning" for "tea every morning". In a short claim one neighbour
// tells, in a long one both must.
func (c *claim) exchanged(i int, g *gathered) bool {
	left, right := i == 0, i+1 == len(c.terms)
	lone := len(c.terms) < longClaim
	if i > 0 {
		at := slices.Index(g.order, c.terms[i-1])
		left = at >= 0 && at+1 < len(g.order) && !slices.Contains(c.terms, g.order[at+1])
		if left && lone {
			return true
		}
	}
	if i+1 < len(c.terms) {
		at := slices.Index(g.order, c.terms[i+1])
		right = at > 0 && !slices.Contains(c.terms, g.order[at-1])
		if right && lone {
			return true
		}
	}
	return left && right && !lone
}

// longClaim is from how many words on a claim may be worded freely.
const longClaim = 6

// dated reports whether the claim's dates are those that were said.
func (c *claim) dated(g *gathered, said Said) bool {
	if len(c.dates) == 0 {
		return true
	}
	known := text.Resolve(g.raw, c.at)
	if g.raw != g.text {
		known = append(known, text.Resolve(g.text, c.at)...)
	}
	for _, d := range c.dates {
		if !slices.ContainsFunc(known, func(k text.Date) bool { return within2(d, k) || within2(k, d) || yearApart(d, k) }) && !sinceYears(d, g, c.at) {
			return false
		}
	}
	return true
}

// within2 reports whether a lies in b.
func within2(a, b text.Date) bool { return !a.From.Before(b.From) && !a.To.After(b.To) }

// yearApart reports whether two dates are the same day or month of years that nobody
// named: "in March" is of one year or another by the words around it.
func yearApart(a, b text.Date) bool {
	return a.Relative && b.Relative && a.Grain == b.Grain && a.From.Month() == b.From.Month() && a.From.Day() == b.From.Day()
}

var forYears = lazily(`\b(\w+) years?\b`)

// sinceYears reports whether a year follows from "for three years".
func sinceYears(d text.Date, g *gathered, at time.Time) bool {
	if d.Grain != text.Year || at.IsZero() {
		return false
	}
	for _, m := range forYears.FindAllSubmatch(g.folded) {
		for _, n := range text.Numbers(m[1]) {
			if years := atoi(n); years > 0 && d.From.Year() == at.Year()-years {
				return true
			}
		}
	}
	return false
}

func atoi(s string) int {
	n := 0
	for _, r := range s {
		if r < '0' || r > '9' || n > 1<<20 {
			return 0
		}
		n = n*10 + int(r-'0')
	}
	return n
}

// counted reports whether the claim's numbers are there and count the same things.
func (c *claim) counted(g *gathered) bool {
	for _, w := range text.Words(c.text) { // the first is not the second
		if ordinals[w] && !g.words[w] && anyOf(g.words, ordinals) {
			return false
		}
	}
	if len(c.numbers) == 0 {
		return true
	}
	said := counts(g.text)
	for _, n := range counts(c.text) {
		found, fits := false, false
		for _, s := range said {
			if s.number == n.number {
				found = true
				fits = fits || n.of == "" || s.of == n.of || !countedElsewhere(said, n)
			}
		}
		if !found || !fits {
			return false
		}
	}
	for _, word := range currencies { // 500 dollars are not 500 euros
		if strings.Contains(c.folded, word) && !strings.Contains(g.folded, word) {
			return false
		}
	}
	return true
}

var ordinals = table("first second third fourth fifth sixth seventh eighth ninth tenth last")

func anyOf(words, of map[string]bool) bool {
	for w := range of {
		if words[w] {
			return true
		}
	}
	return false
}

var currencies = []string{" dollars", " euros", " pounds", " yen"}

// count is a number and the term after it: "3 cats".
type count struct{ number, of string }

func counts(s string) []count {
	var out []count
	words := text.Words(s)
	for i, w := range words {
		for _, n := range text.Numbers(w) {
			c := count{number: n}
			for j := i + 1; j < len(words) && j <= i+4 && c.of == "" && len(text.Numbers(words[j])) == 0; j++ {
				c.of = text.Term(words[j])
			}
			out = append(out, c)
		}
	}
	return out
}

// countedElsewhere reports whether the thing of n is counted by another number.
func countedElsewhere(said []count, n count) bool {
	return slices.ContainsFunc(said, func(s count) bool { return s.of == n.of && s.number != n.number })
}

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
var isCalled = lazily(`^(?:he|she|it|they)(?:'s| is|'re| are|'s been) (?:called|named)\b|^(?:his|her|its|their) names? (?:is|are)\b`)

// possesses is a claim that says who somebody is to the user.
var possesses = lazily(`^(?:the )?user (?:also )?(?:has|had|lost|met|is (?:married|engaged|the|dating|friends|related|in a)|got|married|was|lives? with|adopted|received|knows|named)\b`)

// opines is a claim about what the user thinks of something.
var opines = lazily(`^(?:the )?user (?:believes?|thinks?|finds?|feels?|appreciates?|considers?|says|said|mentions?|mentioned|admires?|values?|acknowledge[sd]?|congratulate[sd]?|commend(?:s|ed)|compliment(?:s|ed)|encourage[sd]?|supports?|suggest(?:s|ed)|recommend(?:s|ed)|advise[sd]?|express(?:es|ed)|emphasi[sz]e[sd]?|describe[sd]?|cherish\w*|enjoy(?:s|ed)|is (?:proud|worried|concerned|happy|glad|sad|grateful|thankful) )\b`)

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

var tellsOf = lazily(`\b(?:told|tell|telling|asked|showed|wrote|texted|promised|reminded|think|know|knows) .*\bi\b`)

var speakerDoes = lazily(`^(?:\w+ )*?(?:i|we)(?:'m|'ve| am| have| also| really| still| just| always| never)* (\w+)`)

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
	return t != "" && slices.Contains(c.terms, t) && !free[t]
}

var (
	always  = lazily(`\b(?:always|never|every|everything|everyone|everybody|only|all|nobody|constantly|entirely|completely|forever|most|best|favou?rite|exclusively|whenever|any)\b`)
	often   = lazily(`\b(?:always|never|every|everything|everyone|everybody|each|daily|only|just|all|nobody|no one|constantly|entirely|completely|totally|forever|most|best|favou?rite|exclusively|whenever|any|nothing|none|not|n't|don't|doesn't|can't|won't|no|nothing but|weekdays|mornings|evenings|nights|mondays|tuesdays|wednesdays|thursdays|fridays|saturdays|sundays|weekends|love most|top|number one)\b`)
	spoke   = lazily(`\b(?:says?|said|told|thinks?|believes?|claims?|heard|according|suggests?|suggested|recommends?|recommended|calls?)\b`)
	asksFor = lazily(`\b(?:asks?|asked|asking|wonders?|wondering|curious|wants to know|interested in|inquir\w+|seeking|looking for)\b`)
	maybe   = lazily(`\b(?:if|unless|would|could|might|may|maybe|perhaps|possibly|probably|wish(?:es)?|consider(?:s|ing)?|hypothetical|thinking|thinks|unsure|uncertain|wants?|hopes?|plans?|dreams?|interested|wonders?|wondering|not sure|potential(?:ly)?|prefers?|almost|nearly|likely)\b`)
	meant   = lazily(`\b(?:is (?:moving|relocating|getting|leaving|starting|becoming|buying|switching|flying|joining)|wants?|wanted|needs?|plans?|planned|planning|going to|will|hop(?:es?|ing|ed)|intends?|intending|consider(?:s|ing|ed)?|thinking|about to|dreams?|looking|should|must|aims?|goals?|tr(?:y|ies|ying)|would|wish(?:es)?|decid(?:es|ed|ing)|upcoming|next|soon|shall|interest(?:s|ed)?|appl(?:y|ies|ying|ied)|scheduled|expects?|prepar(?:es|ing)|preferably|prefers?|has to|have to|seeks?|seeking|shopping|saving|due|deadline|starts|until|learning|working on|working towards?|excited|by)\b`)
)

// inSameSense reports whether the statements assert what the claim asserts: not as
// a question, a wish, a guess or another's words, and neither denying what the other
// asserts nor telling of the past what the claim tells of the present.
func (c *claim) inSameSense(w []assertion, g *gathered) bool {
	claimTerms := map[string]bool{}
	for _, t := range c.terms {
		claimTerms[t], claimTerms[kin(t)] = true, true
	}
	denies, asserts := false, false
	most := 0
	for _, s := range w {
		most = max(most, s.share(claimTerms))
	}
	shared, claimed := slices.ContainsFunc(w, c.shares), c.folded
	if shared {
		claimed = attribute.ReplaceAllString(claimed, "")
	}
	for _, s := range w {
		if len(w) > 1 && s.share(claimTerms)*2 <= most/2 { // what the claim says is said elsewhere
			continue
		}
		if len(w) > 1 && !contributes(s, claimTerms) {
			continue
		}
		switch {
		case s.asks && !asksFor.MatchString(c.folded):
			return false
		case s.unreal && !maybe.MatchString(c.folded):
			return false
		case s.intends && !meant.MatchString(c.folded):
			return false
		case s.reported && !spoke.MatchString(c.folded):
			return false
		}
		sense := s.sense
		if shared {
			sense = attribute.ReplaceAllString(sense, "")
		}
		if hasDenial(sense) {
			denies = true
		} else {
			asserts = true
		}
	}
	if denies && asserts || denies != hasDenial(claimed) { // of both, nobody knows which the claim means
		return false
	}
	return c.degree(g) && c.tense(w, claimTerms) && c.called(g)
}

// attribute are words that deny something else ("vegetarian" says no to meat). If
// both sides have one, it says the same on both.
var attribute = lazily(`\b(?:allerg\w*|intoleran\w*|vegan\w*|vegetarian\w*|\w+[- ]free)\b`)

// shares reports whether claim and assertion have such a word in common.
func (c *claim) shares(s assertion) bool {
	return slices.ContainsFunc(attribute.FindAllString(c.folded, -1), func(a string) bool {
		return strings.Contains(s.sense, a[:min(len(a), 5)])
	})
}

// degree reports whether the claim says no more than was said: "always" is more
// than often, and a favourite is more than what is liked.
func (c *claim) degree(g *gathered) bool {
	for _, word := range always.FindAllString(c.folded, -1) {
		if !often.MatchString(g.folded) {
			return false
		}
		superlative := word == "best" || word == "most" || strings.HasPrefix(word, "favo")
		if superlative && !superlatives.MatchString(g.folded) {
			return false
		}
	}
	return true
}

var superlatives = lazily(`\b(?:best|most|favou?rites?|top|number one|\w+est|prefer|#1)\b`)

var (
	// denials turn a assertion around without a negation, or say that it is over.
	denialForm = lazily(denialWords)
	doubly     = lazily(`\b(?:can't|cannot|couldn't) (?:stand|bear|take)\b|\bnot (?:a fan|fond|keen|into|for me)\b|\bisn't for me\b|\bno longer\b|\b(?:don't|doesn't|do not|does not|not|didn't|can't|cannot|won't) (?:[\w'-]+ ){0,6}any ?(?:more|longer)\b|\bnot only\b|\b(?:no problem|no doubt|no worries|why not|not to mention|can't wait|couldn't be happier|can't stop|can't live without|can't get enough)\b`)
)

const denialWords = `\b(?:quit|stop(?:ped|s|ping)?|gave up|giv(?:e|en|ing) up|used to|hat(?:e|es|ed|ing)|dislik\w*|detest\w*|despis\w*|loath\w*|avoid\w*|refus\w*|except|any ?more|former(?:ly)?|previous(?:ly)?|cancel\w*|left|lost|lose|broke up|allerg\w*|intoleran\w*|vegan|vegetarian|(?:gluten|dairy|sugar|lactose|meat|nut|alcohol|caffeine|smoke|drug|debt)[- ]?free|free (?:of|from)|rather than|instead of|barely|hardly|rarely|seldom|lack\w*|unable|ex-\w+|sold|gave (?:away|my|our|his|her|their|user's)|donat\w*|threw (?:away|out)|resigned|fired|laid off|died|passed away|divorced|far from|skip\w*|deni(?:es|ed)|\w+n't|cannot|(?:everything|anything|everyone|all) but|no|not|havent|hasnt|wasnt|never|none|nothing|nobody|neither|nor|without|cant|dont|doesnt|didnt|isnt|wont)\b`

var denyWords = map[string]string{"not only": "", "no problem": "", "no doubt": "", "no worries": "", "why not": "", "not to mention": "", "can't wait": "",
	"couldn't be happier": "", "can't stop": "love", "can't live without": "love", "can't get enough": "love"}

// hasDenial reports whether s denies or ends something. Two denials make none: not
// allergic, never quit.
func hasDenial(folded string) bool {
	folded = withoutDoing.ReplaceAllString(folded, "")
	folded = doubly.ReplaceAllStringFunc(folded, func(m string) string {
		if with, ok := denyWords[m]; ok {
			return with
		}
		if strings.HasSuffix(m, "more") && unsureOf.MatchString(m) {
			return m // "I don't think I can any more"
		}
		return "hate"
	})
	negated, denied := false, false
	for _, m := range denialForm.FindAllString(folded, -1) {
		if negationWord.MatchString(m) {
			negated = true
		} else {
			denied = true
		}
	}
	return negated != denied
}

var unsureOf = lazily(`\b(?:think|know|believe|feel|i|you|we|he|she|they)\b`)

// withoutDoing says how something is done, not that it is not.
var withoutDoing = lazily(`\bwithout \w+ing\b`)

var negationWord = lazily(`^(?:not?|\w+n't|cannot|cant|dont|doesnt|didnt|isnt|wont|havent|hasnt|wasnt|never|none|nothing|nobody|neither|nor|without)$`)

var (
	wasState  = lazily(`\b(?:i|we|he|she|they|it|my \w+|our \w+) (?:also |once |originally |even )?(?:was|were|lived|worked|had|owned|studied|played|smoked|drove|taught|ran|drank|spoke|collected|sang)\b`)
	notPast   = lazily(`\b(?:(?:was|were) (?:born|diagnosed|raised|promoted|accepted|married|given|named|hired|told|able|just|recently|thinking|wondering|going)|had (?:a|my|our|twins)? ?(?:\w+ )?(?:baby|son|daughter|twins|kid)|since i was|i've had|have had|(?:have|has|'ve|'s) (?:lived|worked|owned|studied|played|had|been))\b`)
	isState   = lazily(`\b(?:is|has|lives?|works?|owns?|studies|plays|smokes|drives|teaches|runs|drinks|speaks|collects|sings|currently|now)\b`)
	isPast    = lazily(`\b(?:was|were|had|used to|previously|formerly|once|in the past|former|no longer|as a (?:child|kid|teen\w*)|lived|worked|owned|studied|played|smoked|drove|taught|ran|spoke)\b|\b(?:user|he|she|they|who|(?:user's|his|her|their) [\w ]{2,30}?) (?:\w+ly |also )?\w{2,}ed\b`)
	departure = lazily(`\b(?:moved|moving|relocated|left|switched|changed|transferred|migrated|went)\b.*?\b(?:from|out of) (\w+)`)
)

// tense reports whether what the claim says is so was not only so once.
func (c *claim) tense(w []assertion, claimTerms map[string]bool) bool {
	if isPast.MatchString(c.folded) || !isState.MatchString(c.folded) {
		return true
	}
	for _, s := range w {
		if contributes(s, claimTerms) && s.past {
			return false
		}
	}
	return true
}

// called reports whether the user's name is said to be the user's: people name
// others too.
func (c *claim) called(g *gathered) bool {
	if !namesUser.MatchString(c.folded) || len(c.names) == 0 {
		return true
	}
	for _, m := range introduced.FindAllString(g.folded, -1) {
		if strings.Contains(m, c.names[0]) {
			return true
		}
	}
	return false
}

var (
	namesUser  = lazily(`^(?:the )?user(?:'s (?:first |last |full |nick)?name is| is (?:called|named))\b`)
	introduced = lazily(`\b(?:name(?:'s| is)|i'm|im|i am|calls? me|this is|known as|go by|goes by|nickname is|as)(?: [\w'-]+){1,2}|^[\w'-]+ here\b`)
)

// pivots are words after which it matters what comes.
var pivots = table("than over from to before after for by instead until with")

// inOrder reports whether what stands after "than", "from" and their like in the
// claim is not what stands elsewhere in the words: tea over coffee is not coffee
// over tea.
func (c *claim) inOrder(g *gathered) bool {
	inClaim, inWords := following(c.text), following(g.text)
	for pivot, terms := range inClaim {
		there := inWords[pivot]
		if len(there) == 0 {
			continue
		}
		if sides[pivot] && c.turned(terms, there, g) {
			return false
		}
		for t := range terms {
			if !there[t] && g.terms[t] && elsewhere(inWords, pivot, t) {
				return false
			}
		}
	}
	if inClaim["than"] != nil || inClaim["over"] != nil {
		after := inWords["than"]
		if after == nil {
			after = inWords["over"]
		}
		for t := range after {
			if firstIs(c.text, t, inClaim) {
				return false
			}
		}
	}
	if m := departure.FindStringSubmatch(g.folded); m != nil && !leaves.MatchString(c.folded) {
		if t := text.Term(m[1]); t != "" && (slices.Contains(c.terms, t) || slices.Contains(text.Words(c.whole), m[1])) {
			return false
		}
	}
	return true
}

// sides are pivots that have one thing on each side: sugar for honey.
var sides = table("for instead than over")

// turned reports whether what follows a pivot in the claim stands before it in the
// words, and the other way round.
func (c *claim) turned(inClaim, inWords map[string]bool, g *gathered) bool {
	for t := range inClaim {
		for w := range inWords {
			if !inClaim[w] && !inWords[t] && slices.Contains(g.order, t) && slices.Contains(c.terms, w) {
				return true
			}
		}
	}
	return false
}

var leaves = lazily(`\b(?:from|left|lived|used|previously|formerly|former|no longer|was|were|moved|switched|changed)\b`)

// elsewhere reports whether a term follows another pivot.
func elsewhere(after map[string]map[string]bool, pivot, term string) bool {
	for p, terms := range after {
		if p != pivot && terms[term] {
			return true
		}
	}
	return false
}

// firstIs reports whether t stands in s but not after "than" or "over".
func firstIs(s, t string, after map[string]map[string]bool) bool {
	return !after["than"][t] && !after["over"][t] && termSet(s)[t]
}

// following returns for each pivot of s the terms that come next after it.
func following(s string) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	words := text.Words(s)
	for i, w := range words {
		if !pivots[w] {
			continue
		}
		for j := i + 1; j < len(words) && j <= i+3; j++ {
			if pivots[words[j]] {
				break
			}
			if t := text.Term(words[j]); t != "" && !free[t] {
				if out[w] == nil {
					out[w] = map[string]bool{}
				}
				out[w][t] = true
				break
			}
		}
	}
	return out
}

func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range text.Words(s) {
		set[w] = true
	}
	return set
}
