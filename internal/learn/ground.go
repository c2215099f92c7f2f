package learn

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// Claim is a fact that a model proposes. Quote and Subject are "" if the model gave none. Op is the operation
// on existing facts, "" for none.
type Claim struct {
	Text, Quote, Subject string
	Op                   extract.FactOperation
}

// SupportGrade is how well a conversation supports a claim.
type SupportGrade int

// The grades.
const (
	Grounded SupportGrade = iota // the turn has the quote and does not contradict the claim
	Unproven                     // the turn neither proves nor refutes the claim
	Refuted                      // a part of the claim is missing in the conversation or contradicts it
)

// Grounding is the result of [GroundClaim]. Reason explains it to people and is "" if Grounded. Span is the
// position of the quote in the turn, empty without a quote.
type Grounding struct {
	Grade  SupportGrade
	Reason string
	Span   text.Span
}

// UnprovenConfidence is the maximum confidence of an unproven fact.
const UnprovenConfidence = 0.6

// GroundClaim looks for evidence against a claim: unmentioned names, numbers and dates, a denial that only the
// quote has, quoted or hypothetical words, and another person. A claim without such evidence is Grounded if its
// quote is in the turn, otherwise Unproven.
func GroundClaim(c Claim, s extract.Utterance) Grounding {
	g := newEvidence(c, s)
	if reason := g.refutation(); reason != "" {
		return Grounding{Refuted, reason, g.span}
	}
	if reason := g.doubtReason(); reason != "" {
		return Grounding{Unproven, reason, g.span}
	}
	return Grounding{Grounded, "", g.span}
}

// StatesFact reports whether a turn states a fact in nearly the same words.
func StatesFact(s extract.Utterance, fact string) bool {
	g := newEvidence(Claim{Text: fact}, s)
	return g.countContentWords() > 0 && g.countSharedWords(g.turnTokens)*4 >= g.countContentWords()*3 && g.refutation() == ""
}

// evidence holds a claim and the texts with which it is compared.
type evidence struct {
	claim         Claim
	utterance     extract.Utterance
	hasExactQuote bool      // the turn has the quote (see [locateQuote])
	hasQuote      bool      // the turn has the quote, or a clause with the claim's words
	span          text.Span // position of the quote or clause in the turn
	claimTokens   []token
	turnTokens    []token
	quoteTokens   []token           // the words of the quote, or of the turn without a quote
	phraseTokens  []token           // the quote, extended to the next punctuation on both sides
	contextTokens []token           // the turn, the messages before it, and stored facts
	clauses       [][]token         // the clauses of the turn
	rolesByName   map[string]string // names, each with its person's role ("sister") if the text states it
	isForeign     bool              // the turn is not in English
}

func newEvidence(c Claim, s extract.Utterance) *evidence {
	g := &evidence{claim: c, utterance: s, claimTokens: readTokens(c.Text), turnTokens: readTokens(s.Text), rolesByName: map[string]string{}}
	g.contextTokens = slices.Clone(g.turnTokens)
	for _, words := range slices.Concat(s.EarlierMessages, s.StoredMemories, []string{s.AnsweredMessage, s.Turn.Name}) {
		g.contextTokens = append(g.contextTokens, readTokens(words)...)
	}
	g.isForeign = isForeign(g.turnTokens)
	addNames(g.rolesByName, g.contextTokens)
	addNames(g.rolesByName, g.claimTokens)
	g.clauses = clausesOf(s.Text, g.turnTokens, g.rolesByName)
	if g.span, g.hasExactQuote = locateQuote(s.Text, c.Quote); g.hasExactQuote {
		g.hasQuote = true
	} else {
		g.span, g.hasQuote = g.locateClaim()
	}
	g.quoteTokens, g.phraseTokens = g.turnTokens, g.turnTokens
	if g.hasQuote {
		g.quoteTokens, g.phraseTokens = tokensIn(g.turnTokens, g.span), tokensIn(g.turnTokens, extendToPauses(s.Text, g.span))
	}
	return g
}

// reasonStatedEarlier is the reason for dropping a claim whose only evidence is an earlier turn.
const reasonStatedEarlier = "an earlier turn already states it"

// refutation returns the reason why a claim is wrong, or "" if there is no contradiction.
func (g *evidence) refutation() string {
	if g.claim.Quote != "" && !g.hasExactQuote {
		for _, words := range g.utterance.EarlierMessages {
			if _, ok := locateQuote(words, g.claim.Quote); ok && len(strings.Fields(g.claim.Quote)) > 2 {
				return reasonStatedEarlier
			}
		}
		if !g.hasQuote {
			return "the quoted words are not in the turn"
		}
	}
	for _, c := range g.checks() {
		if reason := c.findReason(); reason != "" && !c.onlyDoubts {
			return reason
		}
	}
	return ""
}

// claimCheck finds evidence against a claim. With onlyDoubts, a claim becomes Unproven instead of Refuted.
type claimCheck struct {
	findReason func() string
	onlyDoubts bool
}

// checks returns all checks of the claim. The denial check is unreliable: if it fails for an operation that has a
// quote and ends a fact by its id, the result is Unproven instead of Refuted.
func (g *evidence) checks() []claimCheck {
	return []claimCheck{
		{g.checkOwnWords, false}, {g.checkHypothetical, false}, {g.checkNames, false}, {g.checkNumbers, false}, {g.checkDates, false}, {g.checkValueOwners, false}, {g.checkSwappedWords, false}, {g.checkWishes, false},
		{g.checkDenial, g.hasExactQuote && (g.claim.Op == Update || g.claim.Op == Delete)}, {g.checkPerson, false}, {g.checkSharedWords, g.hasExactQuote && g.claim.Op == Delete},
	}
}

// doubtReason returns the reason why a claim is unproven, or "" for a proven claim.
func (g *evidence) doubtReason() string {
	if !g.hasExactQuote {
		return "it has no quote from the turn"
	}
	for _, c := range g.checks() {
		if c.onlyDoubts {
			if reason := c.findReason(); reason != "" {
				return reason
			}
		}
	}
	return ""
}

// locateClaim returns the clause of the turn with most words of the claim. It returns false if no clause has a word of
// the claim, or if the claim has a quote and the clause lacks a word of the claim.
func (g *evidence) locateClaim() (text.Span, bool) {
	best, most := text.Span{}, 0
	for _, c := range g.clauses {
		if n := g.countSharedWords(c); n > most {
			best, most = text.Span{Start: c[0].Start, End: c[len(c)-1].End}, n
		}
	}
	return best, most > 0 && (g.claim.Quote == "" || most >= g.countContentWords())
}

// extendToPauses extends a span to the surrounding punctuation.
func extendToPauses(s string, span text.Span) text.Span {
	const pauses = ".,;!?\n()"
	span.Start = strings.LastIndexAny(s[:span.Start], pauses) + 1
	if i := strings.IndexAny(s[span.End:], pauses); i >= 0 {
		span.End += i
	} else {
		span.End = len(s)
	}
	return span
}

// sentenceAround returns the bounds of the sentences that contain a span.
func sentenceAround(s string, span text.Span) (start, end int) {
	start = strings.LastIndexAny(s[:span.Start], ".!?\n") + 1
	if i := strings.IndexAny(s[span.End:], ".!?\n"); i >= 0 {
		return start, span.End + i
	}
	return start, len(s)
}

// clausesOf returns the words of each clause, also split before a conjunction with another subject.
func clausesOf(s string, words []token, rolesByName map[string]string) [][]token {
	var out [][]token
	for _, sentence := range english.ParseSentences(s) {
		for _, clause := range sentence.Clauses {
			part := tokensIn(words, clause.Span)
			for i := 1; i+1 < len(part); i++ {
				conjunction, next := part[i], part[i+1]
				if strings.ContainsAny(conjunction.precedingText, ".!?\n") || conjunctions.Has(conjunction.word) && (speakerWords.Has(next.word) || possessives.Has(next.word) || rolesByName[next.word] != "") {
					out, part, i = append(out, part[:i]), part[i:], 0
				}
			}
			if len(part) > 0 {
				out = append(out, part)
			}
		}
	}
	return out
}

var speechQuotes = lazy.Compile(`"[^"]{12,}"|“[^”]{12,}”|„[^“”]{12,}[“”]|«[^»]{12,}»`)

// checkOwnWords returns a reason if the quote is not the user's own statement: it is in quotation marks, in a
// letter, or another person's claim.
func (g *evidence) checkOwnWords() string {
	s := g.utterance.Text
	for _, m := range speechQuotes.FindAllStringIndex(s, -1) {
		if m[0] < g.span.Start && g.span.End < m[1] {
			return "the words are quoted from somebody else"
		}
	}
	start, _ := sentenceAround(s, g.span)
	switch before := text.Fold(s[:g.span.Start]); {
	case salutation.MatchString(before):
		return "the words are part of a letter"
	case disbelief.MatchString(text.Fold(s[start:g.span.Start])):
		return "somebody else claims it"
	}
	return ""
}

// checkHypothetical returns a reason if the quote is about a hypothetical case.
func (g *evidence) checkHypothetical() string {
	const reason = "it is about a made-up case"
	if g.utterance.InRolePlay {
		return reason
	}
	if hedgingWords.MatchString(text.Fold(g.claim.Text)) {
		return ""
	}
	start, _ := sentenceAround(g.utterance.Text, g.span)
	quote, lead := text.Fold(g.span.Slice(g.utterance.Text)), text.Fold(g.utterance.Text[start:g.span.Start])
	switch {
	case hypotheticalOpening.MatchString(lead + quote), conditionalOpening.MatchString(lead + quote):
		return reason
	case wouldDo.MatchString(quote):
		return "the user only says what they would do"
	}
	return ""
}

// checkSharedWords returns a reason if the claim and the turn share no word.
func (g *evidence) checkSharedWords() string {
	contentTokens := slices.DeleteFunc(slices.Clone(g.turnTokens), func(t token) bool { return possessionVerbs.Has(t.word) })
	if g.countSharedWords(contentTokens) > 0 {
		return ""
	}
	if g.isForeign {
		return "" // other checks compare numbers and names, which do not depend on the language
	}
	return "the turn does not mention it"
}

// countContentWords counts the content words of the claim.
func (g *evidence) countContentWords() int { return g.countWords(func(int) bool { return true }) }

// countSharedWords counts the words of the claim that also occur in words, in any form. If no word occurs, a date of
// the claim counts as one word.
func (g *evidence) countSharedWords(words []token) int {
	n := g.countWords(func(i int) bool {
		return slices.ContainsFunc(words, func(w token) bool { return similarWords(g.claimTokens[i], w) })
	})
	if n == 0 && slices.ContainsFunc(g.claimDates(), func(d text.Date) bool { return g.meansDate(d, words) }) {
		return 1
	}
	return n
}

func (g *evidence) countWords(matches func(i int) bool) (n int) {
	for i, t := range g.claimTokens {
		if t.word != "user" && (t.term != "" || t.number != "") && matches(i) {
			n++
		}
	}
	return n
}

// checkDenial returns a reason if only the claim or only the quote denies something.
func (g *evidence) checkDenial() string {
	factWords, quoteWords := polarWords(g.claim.Text, false), polarWords(sourceText(g.phraseTokens, g.utterance.Text), !pastForm.MatchString(text.Fold(g.claim.Text)) && !g.expressesEnd())
	agreeing, clashing := 0, 0
	for _, f := range factWords {
		for _, w := range quoteWords {
			if f.term != "" && personTerm(f.word) == "" && similarWords(f.token, w.token) {
				if f.isDenied == w.isDenied {
					agreeing++
				} else {
					clashing++
				}
			}
		}
	}
	factDenies, quoteDenies := anyDenied(factWords), anyDenied(quoteWords)
	switch {
	case factDenies && !slices.ContainsFunc(g.quoteTokens, isNegation) && !hasOtherEnding(g.quoteTokens, g.claimTokens), factDenies && quoteDenies && clashing > agreeing:
		return "the turn does not deny it"
	case !factDenies && !hasOtherEnding(g.claimTokens, g.phraseTokens) && g.deniesClaim(quoteWords):
		return "the quoted words deny it"
	}
	return ""
}

// expressesEnd reports whether the claim has the quote's verb of ending or dislike: "quit", "hates".
func (g *evidence) expressesEnd() bool {
	return slices.ContainsFunc(g.phraseTokens, func(t token) bool {
		return ceasingVerbs.Has(t.word) && slices.ContainsFunc(g.claimTokens, func(f token) bool { return similarWords(f, t) })
	})
}

// deniesClaim reports whether quoteWords deny the claim, and no words after the denial affirm the claim.
func (g *evidence) deniesClaim(quoteWords []polarWord) bool {
	isInClaim := func(p polarWord) bool {
		return p.term != "" && slices.ContainsFunc(g.claimTokens, func(f token) bool { return similarWords(f, p.token) })
	}
	for i := 0; i < len(quoteWords); i++ {
		denied, other, rest := 0, 0, 0
		for ; i < len(quoteWords) && quoteWords[i].isDenied; i++ {
			switch {
			case isInClaim(quoteWords[i]):
				denied++
			case quoteWords[i].term != "":
				other++
			}
		}
		for _, p := range quoteWords[min(i, len(quoteWords)):] {
			if isInClaim(p) {
				rest++
			}
		}
		if denied > 0 && rest < 2 && (rest == 0 || other == 0) {
			return true
		}
	}
	return false
}

// hasOtherEnding reports whether words contain a word of [endingWords] that is not in allowed.
func hasOtherEnding(words, allowed []token) bool {
	return slices.ContainsFunc(words, func(t token) bool {
		return endingWords.Has(t.word) && !slices.ContainsFunc(allowed, func(o token) bool { return o.word == t.word || similarWords(o, t) })
	})
}

// checkWishes returns a reason if the claim states the user's wish or plan as a fact.
func (g *evidence) checkWishes() string {
	fact := text.Fold(g.claim.Text)
	if !stateForm.MatchString(fact) {
		return ""
	}
	clause, _, _ := g.subjectOfQuote(person{subjectKind: 's'})
	words := text.Fold(sourceText(tokensIn(clause, text.Span{End: g.span.End}), g.utterance.Text))
	if intentionForm.MatchString(words) {
		return "the user wishes or plans it"
	}
	return ""
}

// polarWord is a word of a text. isDenied is set if a denial is among the four words before the word.
type polarWord struct {
	token
	isDenied bool
}

// polarWords returns the words of a text. With includeEndings, a verb of ending such as "quit" counts as a denial.
func polarWords(s string, includeEndings bool) []polarWord {
	words := readTokens(text.Fold(s))
	out := make([]polarWord, len(words))
	left := 0
	for i, t := range words {
		if left--; isPause(t.precedingText) {
			left = 0
		}
		out[i] = polarWord{t, left > 0}
		if isNegation(t) || includeEndings && (ceasingVerbs.Has(t.word) || t.word == "used") {
			left = 5
		}
	}
	return out
}

func anyDenied(words []polarWord) bool {
	return slices.ContainsFunc(words, func(p polarWord) bool { return p.isDenied })
}
