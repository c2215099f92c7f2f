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
	Text, Quote, About string
	Op                 extract.Verdict
}

// Grade is how well a conversation supports a claim.
type Grade int

// The grades.
const (
	Grounded Grade = iota // the turn has the quote and does not contradict the claim
	Unproven              // the turn neither proves nor refutes the claim
	Refuted               // a part of the claim is missing in the conversation or contradicts it
)

// Grounding is the result of [Ground]. Reason explains it to people and is "" if Grounded. Span is the
// position of the quote in the turn, empty without a quote.
type Grounding struct {
	Grade  Grade
	Reason string
	Span   text.Span
}

// UnprovenConfidence is the maximum confidence of an unproven fact.
const UnprovenConfidence = 0.6

// Ground looks for evidence against a claim: unmentioned names, numbers and dates, a denial that only the
// quote has, quoted or hypothetical words, and another person. A claim without such evidence is Grounded if
// its quote is in the turn, otherwise Unproven.
func Ground(c Claim, s extract.Utterance) Grounding {
	g := newGrounds(c, s)
	if reason := g.refute(); reason != "" {
		return Grounding{Refuted, reason, g.span}
	}
	if reason := g.doubt(); reason != "" {
		return Grounding{Unproven, reason, g.span}
	}
	return Grounding{Grounded, "", g.span}
}

// Says reports whether a turn states a fact in nearly the same words.
func Says(s extract.Utterance, fact string) bool {
	g := newGrounds(Claim{Text: fact}, s)
	return g.contentWords() > 0 && g.sharedWords(g.turn)*4 >= g.contentWords()*3 && g.refute() == ""
}

// grounds holds a claim and the texts with which it is compared.
type grounds struct {
	claim         Claim
	utterance     extract.Utterance
	hasExactQuote bool      // the turn has the quote (see [locate])
	hasQuote      bool      // the turn has the quote, or a clause with the claim's words
	span          text.Span // position of the quote or clause in the turn
	fact          []token
	turn          []token
	quote         []token           // the words of the quote, or of the turn without a quote
	phrase        []token           // the quote, extended to the next punctuation on both sides
	around        []token           // the turn, the messages before it, and stored facts
	clauses       [][]token         // the clauses of the turn
	names         map[string]string // names, each with its person's role ("sister") if the text states it
	foreign       bool              // the turn is not in English
}

func newGrounds(c Claim, s extract.Utterance) *grounds {
	g := &grounds{claim: c, utterance: s, fact: readTokens(c.Text), turn: readTokens(s.Text), names: map[string]string{}}
	g.around = slices.Clone(g.turn)
	for _, words := range slices.Concat(s.Earlier, s.Background, []string{s.Before, s.Turn.Name}) {
		g.around = append(g.around, readTokens(words)...)
	}
	g.foreign = isForeign(g.turn)
	addNames(g.names, g.around)
	addNames(g.names, g.fact)
	g.clauses = clausesOf(s.Text, g.turn, g.names)
	if g.span, g.hasExactQuote = locate(s.Text, c.Quote); g.hasExactQuote {
		g.hasQuote = true
	} else {
		g.span, g.hasQuote = g.locateClaim()
	}
	g.quote, g.phrase = g.turn, g.turn
	if g.hasQuote {
		g.quote, g.phrase = tokensIn(g.turn, g.span), tokensIn(g.turn, extendToPauses(s.Text, g.span))
	}
	return g
}

// statedEarlier is the reason for dropping a claim whose only evidence is an earlier turn.
const statedEarlier = "an earlier turn already states it"

// refute returns the reason why a claim is wrong, or "" if there is no contradiction.
func (g *grounds) refute() string {
	if g.claim.Quote != "" && !g.hasExactQuote {
		for _, words := range g.utterance.Earlier {
			if _, ok := locate(words, g.claim.Quote); ok && len(strings.Fields(g.claim.Quote)) > 2 {
				return statedEarlier
			}
		}
		if !g.hasQuote {
			return "the quoted words are not in the turn"
		}
	}
	for _, c := range g.checks() {
		if reason := c.find(); reason != "" && !c.doubts {
			return reason
		}
	}
	return ""
}

// check finds evidence against a claim. If doubts is set, the evidence only makes the claim Unproven.
type check struct {
	find   func() string
	doubts bool
}

// checks returns all checks of the claim. The denial check is unreliable, so it only doubts an operation that
// has a quote and ends a named fact.
func (g *grounds) checks() []check {
	return []check{
		{g.notUsersWords, false}, {g.hypothetical, false}, {g.unmentionedName, false}, {g.unmentionedNumber, false}, {g.unmentionedDate, false}, {g.misattributedValue, false}, {g.swappedWord, false}, {g.unfulfilled, false},
		{g.denied, g.hasExactQuote && (g.claim.Op == Update || g.claim.Op == Delete)}, {g.aboutAnother, false}, {g.unrelated, g.hasExactQuote && g.claim.Op == Delete},
	}
}

// doubt returns the reason why a claim is unproven, or "" for a proven claim.
func (g *grounds) doubt() string {
	if !g.hasExactQuote {
		return "it has no quote from the turn"
	}
	for _, c := range g.checks() {
		if c.doubts {
			if reason := c.find(); reason != "" {
				return reason
			}
		}
	}
	return ""
}

// locateClaim returns the clause of the turn with most words of the claim. ok is false if the clause has
// none, or if the claim has a quote and the clause lacks a word.
func (g *grounds) locateClaim() (text.Span, bool) {
	best, most := text.Span{}, 0
	for _, c := range g.clauses {
		if n := g.sharedWords(c); n > most {
			best, most = text.Span{Start: c[0].Start, End: c[len(c)-1].End}, n
		}
	}
	return best, most > 0 && (g.claim.Quote == "" || most >= g.contentWords())
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
func clausesOf(s string, words []token, names map[string]string) [][]token {
	var out [][]token
	for _, sentence := range english.Read(s) {
		for _, clause := range sentence.Clauses {
			part := tokensIn(words, clause.Span)
			for i := 1; i+1 < len(part); i++ {
				joint, next := part[i], part[i+1]
				if strings.ContainsAny(joint.before, ".!?\n") || conjunctions.Has(joint.word) && (speakerWords.Has(next.word) || possessives.Has(next.word) || names[next.word] != "") {
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

// notUsersWords returns a reason if the quote is not the user's own statement: it is in quotation marks, in a
// letter, or another person's claim.
func (g *grounds) notUsersWords() string {
	s := g.utterance.Text
	for _, m := range speechQuotes.FindAllStringIndex(s, -1) {
		if m[0] < g.span.Start && g.span.End < m[1] {
			return "the words are quoted from somebody else"
		}
	}
	start, _ := sentenceAround(s, g.span)
	switch before := text.Fold(s[:g.span.Start]); {
	case letters.MatchString(before):
		return "the words are part of a letter"
	case disbelieved.MatchString(text.Fold(s[start:g.span.Start])):
		return "somebody else claims it"
	}
	return ""
}

// hypothetical returns a reason if the quote is about a hypothetical case.
func (g *grounds) hypothetical() string {
	const reason = "it is about a made-up case"
	if g.utterance.Playing {
		return reason
	}
	if hedgingWords.MatchString(text.Fold(g.claim.Text)) {
		return ""
	}
	start, _ := sentenceAround(g.utterance.Text, g.span)
	quote, lead := text.Fold(g.span.Of(g.utterance.Text)), text.Fold(g.utterance.Text[start:g.span.Start])
	switch {
	case hypotheticalOpening.MatchString(lead + quote), conditionalOpening.MatchString(lead + quote):
		return reason
	case wouldDo.MatchString(quote):
		return "the user only says what they would do"
	}
	return ""
}

// unrelated returns a reason if the claim and the turn share no word.
func (g *grounds) unrelated() string {
	more := slices.DeleteFunc(slices.Clone(g.turn), func(t token) bool { return having.Has(t.word) })
	if g.sharedWords(more) > 0 {
		return ""
	}
	if g.foreign {
		return "" // other checks compare numbers and names, which do not depend on the language
	}
	return "the turn does not mention it"
}

// contentWords counts the content words of the claim.
func (g *grounds) contentWords() int { return g.count(func(int) bool { return true }) }

// sharedWords counts the words of the claim that also occur in words, in any form. A shared date counts only
// if no word is shared.
func (g *grounds) sharedWords(words []token) int {
	n := g.count(func(i int) bool {
		return slices.ContainsFunc(words, func(w token) bool { return alike(g.fact[i], w) })
	})
	if n == 0 && slices.ContainsFunc(g.dates(), func(d text.Date) bool { return g.meansDate(d, words) }) {
		return 1
	}
	return n
}

func (g *grounds) count(has func(i int) bool) (n int) {
	for i, t := range g.fact {
		if t.word != "user" && (t.term != "" || t.number != "") && has(i) {
			n++
		}
	}
	return n
}

// denied returns a reason if only the claim or only the quote denies something.
func (g *grounds) denied() string {
	fact, quoted := polarity(g.claim.Text, false), polarity(sourceOfWords(g.phrase, g.utterance.Text), !pastForm.MatchString(text.Fold(g.claim.Text)) && !g.expressesEnd())
	agree, clash := 0, 0
	for _, f := range fact {
		for _, w := range quoted {
			if f.term != "" && personOf(f.word) == "" && alike(f.token, w.token) {
				if f.denied == w.denied {
					agree++
				} else {
					clash++
				}
			}
		}
	}
	factDenies, saidDenies := anyDenied(fact), anyDenied(quoted)
	switch {
	case factDenies && !slices.ContainsFunc(g.quote, negates) && !endsMore(g.quote, g.fact), factDenies && saidDenies && clash > agree:
		return "the turn does not deny it"
	case !factDenies && !endsMore(g.fact, g.phrase) && g.deniesClaim(quoted):
		return "the quoted words deny it"
	}
	return ""
}

// expressesEnd reports whether the claim has the quote's verb of ending or dislike: "quit", "hates".
func (g *grounds) expressesEnd() bool {
	return slices.ContainsFunc(g.phrase, func(t token) bool {
		return ceasing.Has(t.word) && slices.ContainsFunc(g.fact, func(f token) bool { return alike(f, t) })
	})
}

// deniesClaim reports whether the quoted words deny the claim, and the words after the denial do not affirm it.
func (g *grounds) deniesClaim(quoted []polarWord) bool {
	among := func(p polarWord) bool {
		return p.term != "" && slices.ContainsFunc(g.fact, func(f token) bool { return alike(f, p.token) })
	}
	for i := 0; i < len(quoted); i++ {
		denied, other, rest := 0, 0, 0
		for ; i < len(quoted) && quoted[i].denied; i++ {
			switch {
			case among(quoted[i]):
				denied++
			case quoted[i].term != "":
				other++
			}
		}
		for _, p := range quoted[min(i, len(quoted)):] {
			if among(p) {
				rest++
			}
		}
		if denied > 0 && rest < 2 && (rest == 0 || other == 0) {
			return true
		}
	}
	return false
}

// endsMore reports whether words contain a word of [endingWords] that is not in others.
func endsMore(words, others []token) bool {
	return slices.ContainsFunc(words, func(t token) bool {
		return endingWords.Has(t.word) && !slices.ContainsFunc(others, func(o token) bool { return o.word == t.word || alike(o, t) })
	})
}

// unfulfilled returns a reason if the claim states the user's wish or plan as a fact.
func (g *grounds) unfulfilled() string {
	fact := text.Fold(g.claim.Text)
	if !stateForm.MatchString(fact) {
		return ""
	}
	clause, _, _ := g.subjectOfQuote(person{kind: 's'})
	words := text.Fold(sourceOfWords(tokensIn(clause, text.Span{End: g.span.End}), g.utterance.Text))
	if intending.MatchString(words) {
		return "the user wishes or plans it"
	}
	return ""
}

// polarWord is a word. denied is set if a denial is among the few words before it.
type polarWord struct {
	token
	denied bool
}

// polarity returns the words of a text, with denied set after a denial or, with ends, a verb of ending.
func polarity(s string, ends bool) []polarWord {
	words := readTokens(text.Fold(s))
	out := make([]polarWord, len(words))
	left := 0
	for i, t := range words {
		if left--; isPause(t.before) {
			left = 0
		}
		out[i] = polarWord{t, left > 0}
		if negates(t) || ends && (ceasing.Has(t.word) || t.word == "used") {
			left = 5
		}
	}
	return out
}

func anyDenied(words []polarWord) bool {
	return slices.ContainsFunc(words, func(p polarWord) bool { return p.denied })
}
