package learn

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// Claim is a fact as a model proposes it: the words that it quotes as proof and whom it
// says the fact is about, both "" where it named none. Op is what it does to known facts that
// it names by id, "" without those.
type Claim struct {
	Text, Quote, About string
	Op                 extract.Verdict
}

// Grade says how far a conversation bears out a claim.
type Grade int

// The grades.
const (
	Grounded Grade = iota // the quote stands in the turn, and nothing speaks against it
	Unproven              // nothing speaks for it or against it
	Refuted               // something in it is not in the conversation, or contradicts it
)

// Grounding is the result of [Ground]. Reason is for people, "" for what is Grounded;
// Span is where the turn has the quote, empty if it does not.
type Grounding struct {
	Grade  Grade
	Reason string
	Span   text.Span
}

// UnprovenConfidence is the most confidence of a fact that nothing proves.
const UnprovenConfidence = 0.6

// Ground looks for evidence that a claim is wrong: names, numbers and dates that nobody
// said, a denial that the quote has and the claim has not, words of somebody else or of a
// made-up case, and what is said of another person. Without such evidence the claim holds,
// as Grounded if its quote is in the turn.
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

// Says reports whether a turn says a fact, in about its words.
func Says(s extract.Utterance, fact string) bool {
	g := newGrounds(Claim{Text: fact}, s)
	return g.wanted() > 0 && g.shared(g.turn)*4 >= g.wanted()*3 && g.refute() == ""
}

// grounds is a claim, read beside the turn and what was said before.
type grounds struct {
	claim   Claim
	said    extract.Utterance
	exact   bool      // the quote stands in the turn letter by letter
	placed  bool      // so does what it comes from: the same words but for small ones
	span    text.Span // where
	fact    []token
	turn    []token
	quote   []token           // the quote's words, without one those of the turn
	phrase  []token           // the quote's words and those up to the next pause on both sides
	around  []token           // the turn, what was said before it, and what is known
	clauses [][]token         // of the turn
	names   map[string]string // names and of whom they are, as far as it is told
	foreign bool              // the turn is in another language than English
}

func newGrounds(c Claim, s extract.Utterance) *grounds {
	g := &grounds{claim: c, said: s, fact: readTokens(c.Text), turn: readTokens(s.Text), names: map[string]string{}}
	g.around = slices.Clone(g.turn)
	for _, words := range slices.Concat(s.Earlier, s.Background, []string{s.Before, s.Turn.Name}) {
		g.around = append(g.around, readTokens(words)...)
	}
	g.foreign = isForeign(g.turn)
	addNames(g.names, g.around)
	addNames(g.names, g.fact)
	g.clauses = clausesOf(s.Text, g.turn, g.names)
	if g.span, g.exact = locate(s.Text, c.Quote); g.exact {
		g.placed = true
	} else {
		g.span, g.placed = g.place()
	}
	g.quote, g.phrase = g.turn, g.turn
	if g.placed {
		g.quote, g.phrase = tokensIn(g.turn, g.span), tokensIn(g.turn, widened(s.Text, g.span))
	}
	return g
}

// saidEarlier is why a claim is dropped that rests on a turn which was learned from.
const saidEarlier = "an earlier turn says it"

// refute returns why a claim must be wrong, "" if nothing shows that.
func (g *grounds) refute() string {
	if g.claim.Quote != "" && !g.exact {
		for _, words := range g.said.Earlier {
			if _, ok := locate(words, g.claim.Quote); ok && len(strings.Fields(g.claim.Quote)) > 2 {
				return saidEarlier
			}
		}
		if !g.placed {
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

// check finds what speaks against a claim. doubts says that it does not refute it.
type check struct {
	find   func() string
	doubts bool
}

// checks returns what is checked. People deny in words that no list has: whether they do is in
// doubt at most where the quote of an operation stands that names what it ends.
func (g *grounds) checks() []check {
	return []check{
		{g.notTheirs, false}, {g.madeUp, false}, {g.unnamed, false}, {g.uncounted, false}, {g.undated, false}, {g.misbound, false}, {g.exchanged, false}, {g.unfulfilled, false},
		{g.denied, g.exact && (g.claim.Op == Update || g.claim.Op == Delete)}, {g.ofAnother, false}, {g.unrelated, g.exact && g.claim.Op == Delete},
	}
}

// doubt returns why a claim that is not refuted is not proven either, "" if it is.
func (g *grounds) doubt() string {
	if !g.exact {
		return "the turn is not quoted for it"
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

// place returns the clause of the turn that says most of the claim: all of it, where a quote
// is given that the turn does not have.
func (g *grounds) place() (text.Span, bool) {
	best, most := text.Span{}, 0
	for _, c := range g.clauses {
		if n := g.shared(c); n > most {
			best, most = text.Span{Start: c[0].Start, End: c[len(c)-1].End}, n
		}
	}
	return best, most > 0 && (g.claim.Quote == "" || most >= g.wanted())
}

// widened returns a span up to the pauses around it.
func widened(s string, span text.Span) text.Span {
	const pauses = ".,;!?\n()"
	span.Start = strings.LastIndexAny(s[:span.Start], pauses) + 1
	if i := strings.IndexAny(s[span.End:], pauses); i >= 0 {
		span.End += i
	} else {
		span.End = len(s)
	}
	return span
}

// sentenceAround returns the bounds of the sentences that a span is in.
func sentenceAround(s string, span text.Span) (start, end int) {
	start = strings.LastIndexAny(s[:span.Start], ".!?\n") + 1
	if i := strings.IndexAny(s[span.End:], ".!?\n"); i >= 0 {
		return start, span.End + i
	}
	return start, len(s)
}

// clausesOf returns the words of each clause, cut also where a conjunction leads to another
// subject.
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

// notTheirs reports a quote that the user did not say of themself: what stands in quotation
// marks, in a letter, and what somebody claims.
func (g *grounds) notTheirs() string {
	s := g.said.Text
	for _, m := range speechQuotes.FindAllStringIndex(s, -1) {
		if m[0] < g.span.Start && g.span.End < m[1] {
			return "the words are quoted from somebody else"
		}
	}
	start, _ := sentenceAround(s, g.span)
	switch before := text.Fold(s[:g.span.Start]); {
	case letters.MatchString(before):
		return "the words are those of a letter"
	case disbelieved.MatchString(text.Fold(s[start:g.span.Start])):
		return "somebody else claims it"
	}
	return ""
}

// madeUp reports what is said of a case that is not real.
func (g *grounds) madeUp() string {
	const reason = "it is said of a made-up case"
	if g.said.Playing {
		return reason
	}
	if hedged.MatchString(text.Fold(g.claim.Text)) {
		return ""
	}
	start, _ := sentenceAround(g.said.Text, g.span)
	quote, lead := text.Fold(g.span.Of(g.said.Text)), text.Fold(g.said.Text[start:g.span.Start])
	switch {
	case supposed.MatchString(lead + quote), conditional.MatchString(lead + quote):
		return reason
	case wishful.MatchString(quote):
		return "it is what the user would do"
	}
	return ""
}

// unrelated reports a claim that has nothing to do with the turn.
func (g *grounds) unrelated() string {
	more := slices.DeleteFunc(slices.Clone(g.turn), func(t token) bool { return having.Has(t.word) })
	if g.shared(more) > 0 {
		return ""
	}
	if g.foreign {
		return "" // in another language only numbers and names tell, which are checked before
	}
	return "the turn says nothing of it"
}

// wanted counts the words of the claim that carry its meaning.
func (g *grounds) wanted() int { return g.count(func(int) bool { return true }) }

// shared counts the words of the claim that words have too, whatever their form. A date
// counts if there is nothing else.
func (g *grounds) shared(words []token) int {
	n := g.count(func(i int) bool {
		return slices.ContainsFunc(words, func(w token) bool { return alike(g.fact[i], w) })
	})
	if n == 0 && slices.ContainsFunc(g.dates(), func(d text.Date) bool { return g.dated(d, words) }) {
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

// denied reports a claim that asserts what the quoted words deny, or denies what they
// assert.
func (g *grounds) denied() string {
	fact, said := polarity(g.claim.Text, false), polarity(wordsAsSaid(g.phrase, g.said.Text), !pastForm.MatchString(text.Fold(g.claim.Text)) && !g.ceases())
	agree, clash := 0, 0
	for _, f := range fact {
		for _, w := range said {
			if f.term != "" && personOf(f.word) == "" && alike(f.token, w.token) {
				if f.denied == w.denied {
					agree++
				} else {
					clash++
				}
			}
		}
	}
	factDenies, saidDenies := anyDenied(fact), anyDenied(said)
	switch {
	case factDenies && !slices.ContainsFunc(g.quote, negates) && !endsMore(g.quote, g.fact), factDenies && saidDenies && clash > agree:
		return "the turn does not deny it"
	case !factDenies && !endsMore(g.fact, g.phrase) && g.deniesClaim(said):
		return "the quoted words deny it"
	}
	return ""
}

// ceases reports whether the claim itself says what is over or disliked.
func (g *grounds) ceases() bool {
	return slices.ContainsFunc(g.phrase, func(t token) bool {
		return ceasing.Has(t.word) && slices.ContainsFunc(g.fact, func(f token) bool { return alike(f, t) })
	})
}

// deniesClaim reports whether what the quoted words deny is what the claim says, and what
// follows says no more of it.
func (g *grounds) deniesClaim(said []polar) bool {
	among := func(p polar) bool {
		return p.term != "" && slices.ContainsFunc(g.fact, func(f token) bool { return alike(f, p.token) })
	}
	for i := 0; i < len(said); i++ {
		denied, other, rest := 0, 0, 0
		for ; i < len(said) && said[i].denied; i++ {
			switch {
			case among(said[i]):
				denied++
			case said[i].term != "":
				other++
			}
		}
		for _, p := range said[min(i, len(said)):] {
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

// endsMore reports whether words say that something is not or no longer so in a word that
// others have not.
func endsMore(words, others []token) bool {
	return slices.ContainsFunc(words, func(t token) bool {
		return endingWords.Has(t.word) && !slices.ContainsFunc(others, func(o token) bool { return o.word == t.word || alike(o, t) })
	})
}

// unfulfilled reports a claim that has as so what the user wishes or plans.
func (g *grounds) unfulfilled() string {
	fact := text.Fold(g.claim.Text)
	if !stateForm.MatchString(fact) {
		return ""
	}
	clause, _, _ := g.saidOf(whom{kind: 's'})
	said := text.Fold(wordsAsSaid(tokensIn(clause, text.Span{End: g.span.End}), g.said.Text))
	if intending.MatchString(said) {
		return "the user wishes or plans it"
	}
	return ""
}

// polar is a word, denied if a denial stands shortly before it.
type polar struct {
	token
	denied bool
}

// polarity reads the words of a text with what is denied of them, and, if ends is set, what
// is said to be over.
func polarity(s string, ends bool) []polar {
	words := readTokens(text.Fold(s))
	out := make([]polar, len(words))
	left := 0
	for i, t := range words {
		if left--; isPause(t.before) {
			left = 0
		}
		out[i] = polar{t, left > 0}
		if negates(t) || ends && (ceasing.Has(t.word) || t.word == "used") {
			left = 5
		}
	}
	return out
}

func anyDenied(words []polar) bool {
	return slices.ContainsFunc(words, func(p polar) bool { return p.denied })
}
