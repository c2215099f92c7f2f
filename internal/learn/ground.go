package learn

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/late"
	"github.com/loci-memory/loci/internal/text"
)

// Claim is a fact as a model proposes it: the words that it quotes as proof and whom it
// says the fact is about, both "" where it named none.
type Claim struct{ Text, Quote, About string }

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

// WaitsForProof reports whether a fact waits, by the reason that its change has, because
// its turn was not found to say it.
func WaitsForProof(reason string) bool { return reason == "the turn does not say so" }

// Ground looks for evidence that a claim is wrong: names, numbers and dates that nobody
// said, a denial that the quote has and the claim has not, words of somebody else or of a
// made-up case, and what is said of another person. Without such evidence the claim stands,
// as Grounded if its quote is in the turn.
func Ground(c Claim, s Said) Grounding {
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
func Says(s Said, fact string) bool {
	g := newGrounds(Claim{Text: fact}, s)
	return g.wanted() > 0 && g.shared(g.turn)*4 >= g.wanted()*3 && g.refute() == ""
}

// grounds is a claim, read beside the turn and what was said before.
type grounds struct {
	claim   Claim
	said    Said
	exact   bool      // the quote stands in the turn
	placed  bool      // so does what it comes from: the same words but for small ones
	span    text.Span // where
	fact    []token
	quote   []token // the quote's words, without one those of the turn
	phrase  []token // the quote's words and those up to the next pause on both sides
	turn    []token
	around  []token           // the turn, what was said before it, and what is known
	names   map[string]string // name to the group of the person, as far as it is told
	claimed map[string]string // the same of the claim
	others  bool              // the turn is in another language than English
}

func newGrounds(c Claim, s Said) *grounds {
	g := &grounds{claim: c, said: s, fact: readTokens(c.Text), turn: readTokens(s.Text), names: map[string]string{}}
	g.span, g.exact = locate(s.Text, c.Quote)
	g.around = slices.Clone(g.turn)
	for _, words := range slices.Concat(s.Earlier, s.Background, []string{s.Before, s.Turn.Name}) {
		g.around = append(g.around, readTokens(words)...)
	}
	g.others = foreign(g.turn)
	roster(g.around, g.names, g.others)
	g.claimed = map[string]string{}
	roster(g.fact, g.claimed, false)
	for name, group := range g.claimed {
		if g.names[name] == "" || g.names[name] == anybody {
			g.names[name] = group
		}
	}
	if g.placed = g.exact; !g.placed {
		g.span, g.placed = g.place()
	}
	g.quote, g.phrase = g.turn, g.turn
	if g.placed {
		g.quote = tokensIn(g.turn, g.span)
		g.phrase = tokensIn(g.turn, widened(s.Text, g.span))
	}
	return g
}

// refute returns why a claim must be wrong, "" if nothing shows that.
func (g *grounds) refute() string {
	if !g.exact && g.claim.Quote != "" {
		if reason := g.misquoted(); reason != "" {
			return reason
		}
	}
	for _, check := range []func() string{g.ofAssistant, g.foreignWords, g.madeUp, g.unnamed, g.renamed, g.miscounted, g.misdated, g.misplaced, g.exchanged, g.turned, g.asserted, g.denied, g.ofAnother, g.unrelated} {
		if reason := check(); reason != "" {
			return reason
		}
	}
	return ""
}

// ofAssistant says that the quoted words are given back from an answer: "you wrote: …".
func (g *grounds) ofAssistant() string {
	if lead := givenBack.FindStringIndex(g.said.Text); lead != nil && g.placed && g.span.Start >= lead[1] {
		return "the turn gives back what the assistant said"
	}
	return ""
}

// givenBack leads up to the assistant's own words.
var givenBack = late.Compile(`(?i)\b(?:you|assistant|chatgpt|claude) (?:just |once |already |then )?(?:wrote|said|told me|told us|answered|replied|mentioned|claimed)[^.!?:\n]{0,30}:`)

// doubt returns why a claim that nothing refutes is not proven either, "" if it is.
func (g *grounds) doubt() string {
	switch {
	case g.claim.Quote == "":
		return "nothing is quoted for it"
	case !g.exact:
		return "the turn has the quoted words in another form"
	case g.shared(g.phrase) == 0, g.sharesNumbersOnly():
		return "the quoted words do not show it by themselves"
	}
	return ""
}

// sharesNumbersOnly reports whether a claim has nothing but numbers of words that say more.
func (g *grounds) sharesNumbersOnly() bool {
	var numbers, others []token
	for _, t := range g.phrase {
		if t.number != "" {
			numbers = append(numbers, t)
		} else if t.term != "" {
			others = append(others, t)
		}
	}
	return len(numbers) > 0 && len(others) > 0 && g.shared(others) == 0
}

// token is a word or a number of a text.
type token struct {
	text.Span
	word    string // folded, without what follows an apostrophe
	term    string // its stem, "" for a function word
	number  string // its value in digits, "" for a word
	capital bool
	opens   bool   // it is the first of its sentence
	owner   bool   // it ends in 's
	before  string // what stands between it and the token before
}

var tokenForm = late.Compile(`\d+(?:[.,:]\d+)*|\p{L}[\p{L}\p{M}]*(?:['’]\p{L}+)*`)

// readTokens reads the words and numbers of a text, "twenty-five" as one number.
func readTokens(s string) []token {
	var out []token
	last := 0
	for _, m := range tokenForm.FindAllStringIndex(s, -1) {
		raw := s[m[0]:m[1]]
		t := token{Span: text.Span{Start: m[0], End: m[1]}, before: s[last:m[0]]}
		last = m[1]
		t.opens = len(out) == 0 || strings.ContainsAny(t.before, ".!?\n:")
		if raw[0] >= '0' && raw[0] <= '9' {
			t.word, t.number = raw, plainNumber(raw)
			out = append(out, t)
			continue
		}
		first, _ := utf8.DecodeRuneInString(raw)
		t.capital = unicode.IsUpper(first)
		t.word, t.owner = bareWord(text.Fold(raw))
		t.term = text.Term(t.word)
		if n, ok := numberTable.Get()[t.word]; ok && (!t.capital || englishNumber(t.word)) {
			t.number = strconv.Itoa(n)
			if k := len(out) - 1; k >= 0 && joins(out[k], n) && (t.before == "-" || t.before == " ") {
				out[k].number, out[k].End = joined(out[k].number, n), t.End
				continue
			}
		}
		out = append(out, t)
	}
	return out
}

// bareWord cuts "'s", "'m" and the like off a folded word, and "l'" before one.
func bareWord(w string) (word string, owner bool) {
	if strings.HasSuffix(w, "n't") {
		return w, false
	}
	head, tail, ok := strings.Cut(w, "'")
	switch {
	case !ok:
		return w, false
	case len(head) == 1 && head != "i" && tail != "s" && tail != "":
		return tail, false
	}
	return head, tail == "s"
}

// joins reports whether a number word goes on the one before it: "twenty five".
func joins(t token, n int) bool {
	before, err := strconv.Atoi(t.number)
	if err != nil || t.number == t.word && n < 100 {
		return false
	}
	return before >= 20 && before < 100 && before%10 == 0 && n > 0 && n < 10 || n >= 100 && before > 0 && before < n || before >= 100 && before%100 == 0 && n < 100
}

func joined(number string, n int) string {
	before := atoi(number)
	if n >= 100 && before < n {
		return strconv.Itoa(before * n)
	}
	return strconv.Itoa(before + n)
}

var thousands = late.Compile(`^\d{1,3}(?:[.,]\d{3})+$`)

// plainNumber writes a number as others of its value are written.
func plainNumber(s string) string {
	if thousands.MatchString(s) {
		return strings.NewReplacer(".", "", ",", "").Replace(s)
	}
	s = strings.ReplaceAll(s, ",", ".")
	if whole, part, ok := strings.Cut(s, "."); ok && strings.Trim(part, "0") == "" {
		s = whole
	}
	if len(s) > 1 && !strings.ContainsAny(s, ".:") {
		s = strings.TrimLeft(s[:len(s)-1], "0") + s[len(s)-1:]
	}
	return s
}

// tokensIn returns the tokens of a span.
func tokensIn(all []token, span text.Span) []token {
	var out []token
	for _, t := range all {
		if t.End > span.Start && t.Start < span.End {
			out = append(out, t)
		}
	}
	return out
}

// widened returns a span up to the pauses around it.
func widened(s string, span text.Span) text.Span {
	const pauses = ".,;!?\n()"
	if i := strings.LastIndexAny(s[:span.Start], pauses); i >= 0 {
		span.Start = i + 1
	} else {
		span.Start = 0
	}
	if i := strings.IndexAny(s[span.End:], pauses); i >= 0 {
		span.End += i
	} else {
		span.End = len(s)
	}
	return span
}

// foreign reports whether words are of another language than English.
func foreign(words []token) bool {
	english, other := 0, 0
	for _, t := range words {
		if englishWords.Has(t.word) {
			english++
		}
		if otherWords.Has(t.word) {
			other++
		}
		if r, _ := utf8.DecodeRuneInString(t.word); r >= 0x370 {
			other += 2
		}
	}
	return other > english
}

// misquoted says why a quote that is not in the turn speaks against a claim: it stands in
// an earlier turn, or nobody said anything like it.
func (g *grounds) misquoted() string {
	for _, words := range g.said.Earlier {
		if _, ok := locate(words, g.claim.Quote); ok && len(strings.Fields(g.claim.Quote)) > 2 {
			return saidEarlier
		}
	}
	if !g.placed {
		return "the quoted words are not in the turn"
	}
	return ""
}

// saidEarlier is why a claim is dropped that rests on a turn which was learned from.
const saidEarlier = "an earlier turn says it"

// place returns where the turn has the quote but for small words, or else the sentence or
// clause that has every word of the claim.
func (g *grounds) place() (text.Span, bool) {
	if quote := readTokens(g.claim.Quote); len(quote) > 1 {
		if from, to, ok := stretch(quote, g.turn); ok {
			return text.Span{Start: g.turn[from].Start, End: g.turn[to-1].End}, true
		}
	}
	best, most := text.Span{}, 0
	for _, sentence := range text.Sentences(g.said.Text) {
		parts := [][]token{tokensIn(g.turn, sentence)}
		if g.claim.Quote != "" { // a wrong quote must be made up for by one clause that says it all
			parts = clausesOf(parts[0])
		}
		for _, part := range parts {
			if n := g.shared(part); n > most {
				best, most = text.Span{Start: part[0].Start, End: part[len(part)-1].End}, n
			}
		}
	}
	return best, most > 0 && (most >= g.wanted() || g.claim.Quote == "")
}

// wanted counts the words of the claim that carry its meaning.
func (g *grounds) wanted() int {
	n := 0
	for i, t := range g.fact {
		if t.word != "user" && (t.term != "" || t.number != "" || g.isName(i)) {
			n++
		}
	}
	return n
}

// stretch returns the words of a turn that a quote repeats with small changes: function
// words more, less or other, at most one of four.
func stretch(quote, turn []token) (from, to int, ok bool) {
	const never = 1000
	cost := func(t token) int {
		if t.term != "" || t.number != "" || negates(t) || speakerWords.Has(t.word) || ownWord.Has(t.word) || maleWords.Has(t.word) || femaleWords.Has(t.word) {
			return never
		}
		return 1
	}
	// row[j] is the least cost of the quote up to here against the turn up to j, begin[j]
	// where that part of the turn begins.
	row, begin := make([]int, len(turn)+1), make([]int, len(turn)+1)
	for j := range begin {
		begin[j] = j
	}
	for _, q := range quote {
		last, lastBegin := row[0], begin[0]
		row[0] += cost(q)
		for j := 1; j <= len(turn); j++ {
			w := turn[j-1]
			best, at := last, lastBegin
			if !sameWord(q, w) {
				best += max(cost(q), cost(w))
			}
			if c := row[j] + cost(q); c < best {
				best, at = c, begin[j]
			}
			if c := row[j-1] + cost(w); c < best {
				best, at = c, begin[j-1]
			}
			last, lastBegin = row[j], begin[j]
			row[j], begin[j] = best, at
		}
	}
	end := 0
	for j := range row {
		if row[j] < row[end] {
			end = j
		}
	}
	return begin[end], end, begin[end] < end && row[end] <= max(1, len(quote)/4)
}

// sameWord reports whether two words are one, if with a slip of the pen.
func sameWord(a, b token) bool {
	return a.word == b.word || a.number != "" && a.number == b.number || a.number == "" && b.number == "" && len(a.word) > 4 && len(b.word) > 4 && a.word[0] == b.word[0] && !negates(a) && !negates(b) && oneSlip(a.word, b.word)
}

var speechQuotes = late.Compile(`"[^"]{12,}"|“[^”]{12,}”|„[^“”]{12,}[“”]|«[^»]{12,}»`)

// foreignWords reports a quote that stands in quotation marks: words of somebody else.
func (g *grounds) foreignWords() string {
	if !g.placed {
		return ""
	}
	for _, m := range speechQuotes.FindAllStringIndex(g.said.Text, -1) {
		if m[0] < g.span.Start && g.span.End < m[1] {
			return "the words are quoted from somebody else"
		}
	}
	before := g.said.Text[:g.span.Start]
	if i := strings.LastIndexAny(before, ".!?\n"); i >= 0 {
		before = before[i+1:]
	}
	if letters.MatchString(text.Fold(g.said.Text[:g.span.Start])) {
		return "the words are those of a letter"
	}
	if unbelieved.MatchString(text.Fold(before)) && !slices.ContainsFunc(g.fact, func(t token) bool { return quoting.Has(t.word) || t.word == "according" }) {
		return "somebody else claims it"
	}
	return ""
}

// letters is how a letter begins.
var letters = late.Compile(`\b(?:dear (?:hiring|sir|madam|mr|mrs|ms|dr|team|all|customer|colleagues)|sehr geehrte[rs]?|estimad[oa]s?|to whom it may concern)\b`)

// unbelieved leads in to what somebody is not believed to know.
var unbelieved = late.Compile(`\b(?:claims|reckons|insists|swears|goes|pretends|jokes) (?:that )?$`)

// madeUp reports what is said of a case that is not real.
func (g *grounds) madeUp() string {
	const reason = "it is said of a made-up case"
	if g.said.Playing {
		return reason
	}
	if !g.placed || hedged.MatchString(text.Fold(g.claim.Text)) {
		return ""
	}
	start, end := sentenceAround(g.said.Text, g.span)
	sentence, quote := text.Fold(g.said.Text[start:end]), text.Fold(g.span.Of(g.said.Text))
	lead := text.Fold(g.said.Text[start:g.span.Start])
	switch {
	case supposed.MatchString(lead + quote), conditional.MatchString(sentence) && (conditional.MatchString(quote) || conditional.MatchString(lead)):
		return reason
	case jested.MatchString(text.Fold(firstOf(g.said.Text[g.span.End:], 24))):
		return "it is said in jest"
	}
	if m := wishful.FindStringSubmatch(quote); m != nil && !courtesies.Has(m[1]) {
		return "it is what the user would do"
	}
	return ""
}

var courtesies = late.Words("like love rather prefer say know need not have appreciate")

func firstOf(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// sentenceAround returns the bounds of the sentences that a span is in.
func sentenceAround(s string, span text.Span) (start, end int) {
	start = strings.LastIndexAny(s[:span.Start], ".!?\n") + 1
	if i := strings.IndexAny(s[span.End:], ".!?\n"); i >= 0 {
		return start, span.End + i
	}
	return start, len(s)
}

// unnamed reports a name that nobody said.
func (g *grounds) unnamed() string {
	for i, t := range g.fact {
		if !g.isName(i) || g.named(i, g.around) {
			continue
		}
		if original := g.claim.Text[t.Start:t.End]; len(original) <= 4 && strings.ToUpper(original) == original {
			continue // an abbreviation
		}
		if otherScript(g.turn) || g.others && !g.ownName(i) {
			continue // it may be a translation
		}
		return "nobody said " + g.claim.Text[t.Start:t.End]
	}
	return ""
}

// renamed reports a claim that gives one person the name of another.
func (g *grounds) renamed() string {
	for name, group := range g.claimed {
		if is := g.names[name]; group == anybody || is == anybody || near(is, group) {
			continue
		}
		for other, is := range g.names {
			if other != name && is == group && !hasWord(g.fact, other) {
				return "the name of the " + group + " is " + other
			}
		}
	}
	return ""
}

// ownName reports whether a word of the claim names whom or what it is about: what is
// called so, or has a relation to the user.
func (g *grounds) ownName(i int) bool {
	t := g.fact[i]
	return g.names[t.word] != "" && g.names[t.word] != anybody || i > 0 && (g.fact[i-1].word == "named" || g.fact[i-1].word == "called") || strings.HasPrefix(text.Fold(g.claim.About), t.word)
}

func otherScript(words []token) bool {
	return slices.ContainsFunc(words, func(t token) bool {
		r, _ := utf8.DecodeRuneInString(t.word)
		return r >= 0x370
	})
}

var noNames = late.Words("user the my i phd mr mrs ms dr st prof ok am pm usd eur gbp english")

// isName reports whether a word of the claim is a name.
func (g *grounds) isName(i int) bool {
	t := g.fact[i]
	if !t.capital || noNames.Has(t.word) || t.number != "" || isCalendar(t.word) {
		return false
	}
	if !t.opens || i > 0 {
		return true
	}
	about := readTokens(g.claim.About)
	return len(about) > 0 && about[0].word == t.word || len(about) == 0 && t.owner
}

func isCalendar(word string) bool {
	_, month := monthTable.Get()[word]
	_, day := dayTable.Get()[word]
	return month || day || feastDays[word] != [2]int{}
}

// named reports whether a name of the claim is among words: as it is, as a nickname, an
// abbreviation or in another spelling.
func (g *grounds) named(i int, words []token) bool {
	t := g.fact[i]
	for j, w := range words {
		if sameName(t.word, w) || !w.capital && alike(t, w) || j > 0 && words[j-1].word+w.word == t.word {
			return true
		}
	}
	return initials(g.fact, i, words)
}

// sameName reports whether two words name the same.
func sameName(name string, w token) bool {
	switch {
	case name == w.word, w.term != "" && text.Term(name) == w.term, len(w.word) > 1 && name == strings.TrimSuffix(w.word, "s"), w.word == strings.TrimSuffix(name, "s"):
		return true
	case nicknames.Get()[name] != "" && nicknames.Get()[name] == nicknames.Get()[w.word]:
		return true
	case len(w.word) >= 3 && strings.HasPrefix(name, w.word) && (w.capital || len(w.word) > 3), len(name) >= 4 && strings.HasPrefix(w.word, name):
		return true
	case len(name) >= 6 && len(w.word) >= 5 && !w.capital && oneSlip(name, w.word):
		return true
	case len(name) >= 5 && len(w.word) >= 5 && name[:4] == w.word[:4] && !w.capital: // "Japanese" of "japan", not "Marta" of "Marto"
		return true
	case len(w.word) >= 2 && len(w.word) <= 3 && name[0] == w.word[0] && !strings.ContainsAny(w.word, "aeiou") && lettersOf(w.word, name): // "ts"
		return true
	}
	return false
}

// lettersOf reports whether the letters of an abbreviation stand in a name, in order.
func lettersOf(short, name string) bool {
	for _, r := range short {
		i := strings.IndexRune(name, r)
		if i < 0 {
			return false
		}
		name = name[i+utf8.RuneLen(r):]
	}
	return true
}

// oneSlip reports whether one letter more, less or other, or two that changed places, make
// one word the other.
func oneSlip(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(b) && a[i] == b[i] {
		i++
	}
	switch len(a) - len(b) {
	case 0:
		return i == len(a) || a[i+1:] == b[i+1:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
	case 1:
		return a[i+1:] == b[i:]
	}
	return false
}

// initials reports whether words abbreviate the capitals from i on ("UCL"), or are what
// word i abbreviates.
func initials(fact []token, i int, words []token) bool {
	letters := ""
	for from := i; from >= 0 && from > i-4; from-- {
		letters = fact[from].word[:1] + letters
		long := letters
		for k := i + 1; k < len(fact) && k < i+4 && len(long) < 5; k++ {
			long += fact[k].word[:1]
		}
		for n := 2; n <= len(long); n++ {
			if slices.ContainsFunc(words, func(w token) bool { return w.word == long[:n] && len(letters) <= n }) {
				return true
			}
		}
	}
	short := fact[i].word
	if len(short) < 2 || len(short) > 5 {
		return false
	}
	for j := range words {
		if j+len(short) > len(words) {
			return false
		}
		if !slices.ContainsFunc(words[j:j+len(short)], func(w token) bool { return w.word == "" }) {
			same := true
			for k := range len(short) {
				same = same && words[j+k].word[0] == short[k]
			}
			if same {
				return true
			}
		}
	}
	return false
}

// anybody is the group of a name of which nothing more is known.
const anybody = "name"

// roster notes names and, as far as it is told, of whom: "my sister Ana", "Ana, my sister".
func roster(words []token, names map[string]string, others bool) {
	for i, t := range words {
		p, ok := persons.Get()[t.word]
		if !ok {
			if t.capital && !t.opens && !others && !noNames.Has(t.word) && !isCalendar(t.word) && names[t.word] == "" {
				names[t.word] = anybody
			}
			continue
		}
		for j := i + 1; j < len(words) && j <= i+3; j++ {
			w := words[j]
			if w.capital && !w.opens && !noNames.Has(w.word) && (j == i+1 || strings.TrimSpace(w.before) == "") {
				names[w.word] = p.group
				break
			}
			if w.word != "is" && w.word != "named" && w.word != "called" && w.word != "name" && w.word != "s" {
				break
			}
		}
		if i >= 2 && ownWord.Has(words[i-1].word) && words[i-2].capital && strings.HasPrefix(strings.TrimSpace(words[i-1].before), ",") {
			names[words[i-2].word] = p.group
		}
	}
}

// unrelated reports a claim that has nothing to do with the turn.
func (g *grounds) unrelated() string {
	more := slices.DeleteFunc(slices.Clone(g.turn), func(t token) bool { return having.Has(t.word) })
	if g.shared(more) > 0 || g.shared(g.turn) > 0 && g.shared(g.around) >= g.wanted() {
		return ""
	}
	const reason = "the turn says nothing of it"
	if len(g.quote) <= 6 && g.placed && strings.Contains(g.said.Before, "?") && g.shared(readTokens(g.said.Before)) > 0 { // an answer
		return ""
	}
	if !g.others {
		return reason
	}
	for i := range g.fact { // in another language only names and numbers tell
		if g.isName(i) || g.fact[i].number != "" {
			return reason
		}
	}
	return ""
}

// shared counts the words of the claim that words have too, whatever their form.
func (g *grounds) shared(words []token) int {
	n := 0
	for i, t := range g.fact {
		if t.word == "user" || t.term == "" && t.number == "" && !g.isName(i) {
			continue
		}
		if slices.ContainsFunc(words, func(w token) bool { return alike(t, w) }) || g.isName(i) && g.named(i, words) {
			n++
		}
	}
	if n == 0 {
		said := g.said.Turn.CreatedAt // a claim may have the day on which it was said, whatever it says
		dates := slices.DeleteFunc(g.factDates(), func(d interval) bool { return !d.isYear() && !said.Before(d.from) && said.Before(d.to) })
		if len(dates) > 0 && g.anyDateFits(dates, words) {
			n++
		}
	}
	return n
}

// alike reports whether two words mean much the same.
func alike(a, b token) bool {
	switch {
	case a.number != "" && b.number != "":
		return a.number == b.number
	case a.term == "" || b.term == "":
		return false
	case a.term == b.term, len(a.word) >= 5 && len(b.word) >= 5 && a.word[:4] == b.word[:4]:
		return true
	}
	p, ok := persons.Get()[a.word]
	q, also := persons.Get()[b.word]
	if ok && also && p.group == q.group {
		return true
	}
	m := oneMeaning.Get()
	return m[a.term] != "" && m[a.term] == m[b.term] || slices.Contains(text.Related(a.term), b.term)
}

// miscounted reports numbers that nobody said, or said of something else.
func (g *grounds) miscounted() string {
	numbers := g.factNumbers()
	if len(numbers) == 0 {
		return ""
	}
	said, around := numbersOf(g.quote), numbersOf(g.around)
	turn := numbersOf(g.turn)
	shares, absent := false, false
	for _, t := range numbers {
		if !hasNumber(around, t.number) && !g.derived(t) {
			return "nobody said " + g.claim.Text[t.Start:t.End]
		}
		shares = shares || hasNumber(said, t.number)
		absent = absent || !hasNumber(turn, t.number)
	}
	other := slices.ContainsFunc(g.quote, func(t token) bool {
		return t.number != "" && t.number != "1" && !slices.ContainsFunc(g.fact, func(f token) bool { return f.number != "" && hasNumber(map[string]bool{t.number: true}, f.number) })
	})
	if g.placed && other && (!shares || absent) {
		return "the quoted words have another number"
	}
	for _, t := range numbers {
		if unit := unitOf(g.fact, t); measures.Has(unit) && !hasPair(g.turn, t.number, unit) && slices.ContainsFunc(g.turn, func(o token) bool {
			u := unitOf(g.turn, o)
			return o.number == t.number && u != unit && measures.Has(u)
		}) {
			return "the turn has another unit for " + t.number
		}
		bare := slices.ContainsFunc(g.quote, func(q token) bool { return q.number == t.number && unitOf(g.quote, q) == "" })
		if unit := unitOf(g.fact, t); unit != "" && !bare && !hasPair(g.turn, t.number, unit) {
			if n := countOf(g.turn, unit); n != "" && !slices.ContainsFunc(g.fact, func(f token) bool { return f.number == n }) {
				return "the turn counts " + n
			}
		}
	}
	return ""
}

// factNumbers returns the claim's numbers that are not part of a date.
func (g *grounds) factNumbers() []token {
	dates := text.Resolve(g.claim.Text, g.said.Turn.CreatedAt)
	var out []token
	for _, t := range g.fact {
		inDate := slices.ContainsFunc(dates, func(d text.Date) bool { return t.Start < d.End && d.Start < t.End })
		if t.number != "" && t.number != "1" && !inDate && t.word[0] < 'a' || t.number != "" && t.number != "1" && !inDate && t.number != "0" && !ordinals.Has(t.word) && englishNumber(t.word) {
			out = append(out, t)
		}
	}
	return out
}

// englishNumber leaves out words that are numbers in another language only.
func englishNumber(w string) bool { _, ok := numberWord(w); return ok || w == "twice" || w == "dozen" }

// numbersOf returns the numbers that words give, in all the forms that they may have.
func numbersOf(words []token) map[string]bool {
	out := map[string]bool{}
	for i, t := range words {
		switch t.word {
		case "couple", "pair", "both", "twins", "twice", "double", "zwei", "dos":
			out["2"] = true
		case "half", "halb", "media":
			out["0.5"], out["30"] = true, true
		case "quarter":
			out["15"] = true
		case "fortnight", "fortnightly":
			out["2"] = true
		}
		if t.number == "" {
			continue
		}
		out[t.number] = true
		if hour, minutes, ok := strings.Cut(t.number, ":"); ok {
			out[hour] = true
			if n := atoi(minutes); n > 0 {
				out[minutes] = true
			}
		}
		if i+1 < len(words) && words[i+1].before == "" {
			if f, err := strconv.ParseFloat(t.number, 64); err == nil && words[i+1].word == "k" {
				out[strconv.FormatFloat(f*1000, 'f', -1, 64)] = true
			}
		}
	}
	return out
}

// hasNumber reports whether a number is among those, as hours of the day too.
func hasNumber(numbers map[string]bool, n string) bool {
	if numbers[n] {
		return true
	}
	if hour, minutes, ok := strings.Cut(n, ":"); ok {
		return (numbers[hour] || numbers[shifted(hour)]) && (atoi(minutes) == 0 || numbers[minutes])
	}
	return numbers[shifted(n)] && shifted(n) != ""
}

// shifted is an afternoon hour in the other way of counting, "" for none.
func shifted(n string) string {
	if h := atoi(n); h >= 13 && h <= 23 {
		return strconv.Itoa(h - 12)
	}
	return ""
}

// derived reports whether a number follows from others: how many are listed, a year from
// an age.
func (g *grounds) derived(t token) bool {
	n := atoi(t.number)
	if n >= 2 && n <= 6 { // "two sons, Rafe and Otis"
		names := 0
		for i := range g.fact {
			if g.isName(i) {
				names++
			}
		}
		if names >= n {
			return true
		}
	}
	return n > 1900 && n < 2100 && g.yearFits(n)
}

// yearFits reports whether an age or a number of years leads to a year.
func (g *grounds) yearFits(year int) bool {
	now := g.said.Turn.CreatedAt.Year()
	for i, t := range g.around {
		n := atoi(t.number)
		if t.number == "" || n > 110 || n < 12 && (i+1 == len(g.around) || unitDays.Get()[g.around[i+1].word] != 365) {
			continue
		}
		if year == now-n || year == now-n-1 || year == now+n {
			return true
		}
	}
	return false
}

// unitOf returns the term after a number.
func unitOf(words []token, t token) string {
	i := slices.IndexFunc(words, func(w token) bool { return w.Start == t.Start })
	if i >= 0 && i+1 == len(words) {
		for sign, unit := range signs {
			if strings.HasSuffix(t.before, sign) {
				return unit
			}
		}
	}
	if i < 0 || i+1 >= len(words) || strings.ContainsAny(words[i+1].before, ".,;:()") {
		return ""
	}
	for sign, unit := range signs {
		if strings.HasSuffix(t.before, sign) || strings.HasPrefix(words[i+1].before, sign) {
			return unit
		}
	}
	if u := words[i+1]; u.number == "" {
		if m := oneMeaning.Get()[u.term]; m != "" {
			return m
		}
		return u.term
	}
	return ""
}

// measures are units of which another one makes another amount.
var measures = late.Words("kilogram pound euro dollar mile km year month week day hour minute gram mg mcg metre stone lbs")

var signs = map[string]string{"$": "dollar", "€": "euro", "£": "pound"}

func hasPair(words []token, number, unit string) bool {
	return slices.ContainsFunc(words, func(t token) bool { return t.number == number && unitOf(words, t) == unit })
}

// countOf returns the number that stands before a unit, "" without one.
func countOf(words []token, unit string) string {
	for _, t := range words {
		if t.number != "" && t.number != "1" && unitOf(words, t) == unit {
			return t.number
		}
	}
	return ""
}

// misplaced reports a number or a word that the turn gives to something else: what the
// claim names has another one there.
func (g *grounds) misplaced() string {
	bound := bindings(g.turn)
	has := func(term string) bool {
		return slices.ContainsFunc(g.fact, func(f token) bool { return f.word == term || f.term == term })
	}
	numbers := map[string]bool{}
	for _, f := range g.fact {
		if f.number != "" {
			numbers[f.number] = true
		}
	}
	if len(numbers) == 0 {
		return ""
	}
	for n := range numbers {
		theirs := slices.ContainsFunc(bound, func(b binding) bool { return b.number == n && !has(b.term) }) &&
			!slices.ContainsFunc(bound, func(b binding) bool { return b.number == n && has(b.term) })
		if !theirs {
			continue
		}
		for _, b := range bound {
			if has(b.term) && !numbers[b.number] && !slices.ContainsFunc(bound, func(o binding) bool { return o.term == b.term && numbers[o.number] }) {
				return "the turn has " + b.number + " for " + b.term
			}
		}
	}
	return ""
}

// binding is a number and the word that it stands right behind, or that stands behind
// "for" after it.
type binding struct{ term, number string }

func bindings(words []token) []binding {
	var out []binding
	for i, t := range words {
		if t.number == "" {
			continue
		}
		j := i - 1
		for j >= 0 && linking.Has(words[j].word) && !pause(words[j+1].before) {
			j--
		}
		if j >= 0 && words[j].number == "" && !pause(words[j+1].before) && !speakerWords.Has(words[j].word) {
			out = append(out, binding{termOr(words[j]), t.number})
		}
		if i+2 < len(words) && words[i+1].word == "for" && !pause(words[i+1].before) {
			out = append(out, binding{termOr(words[i+2]), t.number})
		}
	}
	return out
}

func termOr(t token) string {
	if t.term != "" {
		return t.term
	}
	return t.word
}

func pause(s string) bool { return strings.ContainsAny(s, ".,;!?\n") }

// exchanged reports a word that was said elsewhere and stands in the claim where the
// quoted words have another: "liked Leeds better" of "liked York better".
func (g *grounds) exchanged() string {
	if !g.placed {
		return ""
	}
	in := func(words []token, t token) bool {
		return slices.ContainsFunc(words, func(w token) bool { return alike(t, w) || sameName(t.word, w) })
	}
	for i := 1; i < len(g.fact); i++ {
		t, before := g.fact[i], g.fact[i-1]
		if t.term == "" || t.number != "" || in(g.phrase, t) || !in(g.around, t) {
			continue
		}
		for k := 1; k < len(g.phrase); k++ {
			x, lead := g.phrase[k], g.phrase[k-1]
			if x.term == "" || in(g.fact, x) || before.word != lead.word && !(before.term != "" && before.term == lead.term) || pause(x.before) && before.word != "dr" {
				continue
			}
			follows := i+1 < len(g.fact) && k+1 < len(g.phrase) && g.fact[i+1].term != "" && g.fact[i+1].word == g.phrase[k+1].word
			led := before.term == "" && !unslotted.Has(before.word) && slices.ContainsFunc(g.phrase[:k-1], func(w token) bool { return i >= 2 && g.fact[i-2].term != "" && alike(g.fact[i-2], w) })
			if follows || led || titles.Has(before.word) {
				return "the quoted words have " + x.word + " for " + t.word
			}
		}
	}
	return ""
}

var unslotted = late.Words("a an the and or is are was were be user")

var titles = late.Words("dr mr mrs ms prof st herr frau senor senora uncle aunt")

// turned reports a claim that has two things the other way round: "coffee over tea", "from
// Rome to Oslo", or the one that was left as what holds.
func (g *grounds) turned() string {
	for i := 1; i+1 < len(g.phrase); i++ {
		if !pivotWords.Has(g.phrase[i].word) {
			continue
		}
		left, right := contentBefore(g.phrase, i), contentAfter(g.phrase, i)
		if left == nil || right == nil || alike(*left, *right) {
			continue
		}
		for k := 1; k+1 < len(g.fact); k++ {
			if a, b := contentBefore(g.fact, k), contentAfter(g.fact, k); g.fact[k].word == g.phrase[i].word && a != nil && b != nil && alike(*a, *right) && alike(*b, *left) {
				return "the quoted words have it the other way round"
			}
		}
		from := i >= 2 && g.phrase[i].word == "to" && slices.ContainsFunc(g.phrase[max(0, i-3):i], func(t token) bool { return t.word == "from" })
		in := func(t *token) bool { return slices.ContainsFunc(g.fact, func(f token) bool { return alike(f, *t) }) }
		if from && in(left) && !in(right) && !hasWord(g.fact, "from") && !hasEnding(g.fact) && !wasForm.MatchString(text.Fold(g.claim.Text)) {
			return "the quoted words have it as what is no longer so"
		}
	}
	return ""
}

var pivotWords = late.Words("over than to instead for")

func contentBefore(words []token, i int) *token {
	for j := i - 1; j >= 0 && j >= i-3; j-- {
		if words[j].term != "" && words[j].word != "more" || words[j].number != "" {
			return &words[j]
		}
	}
	return nil
}

func contentAfter(words []token, i int) *token {
	for j := i + 1; j < len(words) && j <= i+3 && !pause(words[j].before); j++ {
		if words[j].term != "" || words[j].number != "" {
			return &words[j]
		}
	}
	return nil
}

// asserted reports a claim that has as so what the user only asks, wishes or plans, or
// what was so.
func (g *grounds) asserted() string {
	fact := text.Fold(g.claim.Text)
	if !g.placed || !stateForm.MatchString(fact) {
		return ""
	}
	start, end := sentenceAround(g.said.Text, g.span)
	clause, _, _ := g.saidOf(whom{kind: 's'})
	if len(clause) == 0 {
		return ""
	}
	said := withoutIdioms(g.said.Text[max(start, clause[0].Start):clause[len(clause)-1].End])
	switch {
	case ownAsking.MatchString(text.Fold(g.said.Text[start:end])) && strings.HasPrefix(g.said.Text[end:], "?"):
		return "the user asks it"
	case intending.MatchString(said) && !hedged.MatchString(fact):
		return "the user wishes or plans it"
	case wasForm.MatchString(fact) || upToNow.MatchString(said):
		return ""
	case wasA.MatchString(said):
		return "the quoted words have it as what is no longer so"
	}
	for _, t := range g.fact {
		if past, ok := stateVerbs[t.word]; ok && hasWord(clause, past) {
			return "the quoted words have it as what is no longer so"
		}
	}
	return ""
}

var (
	// stateForm is a claim that something is or was done.
	stateForm = late.Compile(`^user (?:has|owns|lives|works|plays|speaks|moved|bought|stayed|went|quit|uses|ran|is an?|is allergic|finished|adopted|studies|smokes|drives|teaches|drinks)\b`)
	ownAsking = late.Compile(`^\W*(?:am i|do i|did i|have i|should i|is it true|is my \w+ (?:called|named)|could my|did you|have you)\b`)
	intending = late.Compile(`\b(?:wish|maybe|want to|wanna|plan(?:ning)? to|going to|gonna|i'll|thinking (?:of|about)|considering|would love|would like|'d love|'d like|my (?:dream|goal) is|need to|hoping|might|applied|one day|someday|almost|nearly|dream(?:ed|t) (?:of|that)|pretend\w*|not true|don't think|dont think)\b`)
	upToNow   = late.Compile(`\b(?:now|still|since|(?:i|we)(?:'ve| ?ve| have|'d))\b`)
	wasA      = late.Compile(`\bi was (?:an?|the)\b`)
)

var stateVerbs = map[string]string{"lives": "lived", "works": "worked", "owns": "owned", "plays": "played", "studies": "studied", "smokes": "smoked", "drives": "drove", "teaches": "taught"}

// interval is a time that words may mean.
type interval struct{ from, to time.Time }

func (a interval) meets(b interval) bool { return a.from.Before(b.to) && b.from.Before(a.to) }

// factDates returns the days, months and years that a claim names.
func (g *grounds) factDates() []interval {
	var out []interval
	for _, d := range text.Resolve(g.claim.Text, g.said.Turn.CreatedAt) {
		out = append(out, interval{d.From, d.To})
	}
	return out
}

// misdated reports a date or a day of the week that nobody said.
func (g *grounds) misdated() string {
	if g.said.Turn.CreatedAt.IsZero() {
		return ""
	}
	for _, t := range g.fact {
		day, ok := dayTable.Get()[t.word]
		if ok && t.capital && !g.weekdayFits(day) {
			return "nobody said " + g.claim.Text[t.Start:t.End]
		}
		if month, ok := monthTable.Get()[t.word]; ok && t.capital && !g.monthFits(month) {
			return "nobody said " + g.claim.Text[t.Start:t.End]
		}
	}
	dates := g.factDates()
	if len(dates) == 0 {
		return ""
	}
	all, near := g.intervals(g.around), []interval(nil)
	if g.placed {
		near = g.intervals(g.phrase)
	}
	for _, d := range dates {
		among := all
		if d.isYear() { // a day of this year does not tell a year
			among = slices.Concat(near, slices.DeleteFunc(slices.Clone(all), func(i interval) bool { return !i.isYear() }))
		}
		if !dateFits(d, among) && !(d.isYear() && g.yearFits(d.from.Year())) {
			return "nobody said " + d.from.Format(time.DateOnly)
		}
	}
	for _, said := range near {
		if said.isYear() && !slices.ContainsFunc(dates, said.meets) && slices.ContainsFunc(dates, interval.isYear) && hasWord(g.quote, said.from.Format("2006")) {
			return "the quoted words have another year"
		}
	}
	if len(near) > 0 && !slices.ContainsFunc(dates, func(d interval) bool { return dateFits(d, near) }) && !g.yearsOnly(dates) {
		return "the quoted words have another date"
	}
	return ""
}

func (a interval) isYear() bool { return a.to.Sub(a.from) > 300*24*time.Hour }

// yearsOnly reports whether all dates are whole years: a number of years tells them.
func (g *grounds) yearsOnly(dates []interval) bool {
	return !slices.ContainsFunc(dates, func(d interval) bool { return !d.isYear() || !g.yearFits(d.from.Year()) })
}

func (g *grounds) anyDateFits(dates []interval, words []token) bool {
	said := g.intervals(words)
	return slices.ContainsFunc(dates, func(d interval) bool { return dateFits(d, said) })
}

// dateFits reports whether a date is one of those that words may mean. A day needs a week or
// less to fit.
func dateFits(d interval, said []interval) bool {
	return slices.ContainsFunc(said, func(i interval) bool {
		return d.meets(i) && (i.to.Sub(i.from) <= max(d.to.Sub(d.from), 8*24*time.Hour))
	})
}

func (g *grounds) weekdayFits(day int) bool {
	for i, t := range g.around {
		if d, ok := dayTable.Get()[t.word]; ok {
			if d == day {
				return true
			}
			if i >= 2 && (g.around[i-1].word == "to" || g.around[i-1].word == "bis" || g.around[i-1].word == "a") { // "mon to wed"
				if from, ok := dayTable.Get()[g.around[i-2].word]; ok && (day-from+7)%7 <= (d-from+7)%7 {
					return true
				}
			}
		}
		if t.word == "weekend" && (day == 0 || day == 6) {
			return true
		}
	}
	return slices.ContainsFunc(g.intervals(g.around), func(i interval) bool {
		return i.to.Sub(i.from) <= 24*time.Hour && int(i.from.Weekday()) == day
	})
}

func (g *grounds) monthFits(month int) bool {
	return slices.ContainsFunc(g.intervals(g.around), func(i interval) bool {
		return i.to.Sub(i.from) < 100*24*time.Hour && (int(i.from.Month())-1 == month || int(i.to.AddDate(0, 0, -1).Month())-1 == month)
	})
}

// intervals returns the times that words may mean, seen from when the turn was said.
// What has no year may be of this one, the last or the next.
func (g *grounds) intervals(words []token) []interval {
	at := g.said.Turn.CreatedAt.UTC()
	if at.IsZero() || len(words) == 0 {
		return nil
	}
	today := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	r := dateHints{today: today}
	years := []int{today.Year() - 1, today.Year(), today.Year() + 1}
	for _, t := range words {
		if y := atoi(t.number); y > 1900 && y < 2100 && len(t.number) == 4 {
			years = append(years, y)
			r.add(date(y, 1, 1), date(y+1, 1, 1))
		}
	}
	for _, t := range g.around {
		if m, ok := monthTable.Get()[t.word]; ok {
			r.months = append(r.months, m)
		}
	}
	for i, t := range words {
		r.read(words, i, t, years)
	}
	for _, d := range text.Resolve(joinedText(words, g.said.Text), at) {
		r.add(d.From, d.To)
	}
	return r.found
}

// joinedText returns the part of the turn that words are of, "" if they are of more.
func joinedText(words []token, s string) string {
	first, last := words[0], words[len(words)-1]
	if last.End > len(s) || first.Start >= last.End {
		return s
	}
	return s[first.Start:last.End]
}

func date(y, m, d int) time.Time { return time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC) }

type dateHints struct {
	today  time.Time
	months []int // that were named
	found  []interval
}

func (r *dateHints) add(from, to time.Time) { r.found = append(r.found, interval{from, to}) }

func (r *dateHints) day(d time.Time) { r.add(d, d.AddDate(0, 0, 1)) }

func (r *dateHints) read(words []token, i int, t token, years []int) {
	if m, ok := monthTable.Get()[t.word]; ok {
		for _, y := range years {
			lone := true
			for _, k := range []int{i - 1, i - 2, i - 3, i + 1, i + 2, i + 3} {
				if k >= 0 && k < len(words) {
					if d := atoi(words[k].number); d >= 1 && d <= 31 {
						r.day(date(y, m+1, d))
						lone = lone && abs(k-i) > 1
					}
				}
			}
			if lone {
				r.add(date(y, m+1, 1), date(y, m+2, 1))
			}
		}
	}
	if d, ok := dayTable.Get()[t.word]; ok {
		first := (d - int(r.today.Weekday()) + 7) % 7
		for week := -1; week <= 1; week++ {
			r.day(r.today.AddDate(0, 0, first+7*week))
		}
	}
	if n, ok := relativeDays.Get()[t.word]; ok {
		r.day(r.today.AddDate(0, 0, n))
		if n == 1 { // "übermorgen" and the small hours
			r.day(r.today.AddDate(0, 0, 2))
		}
	}
	if f := feastDays[t.word]; f != [2]int{} {
		for _, y := range years {
			r.day(date(y, f[0], f[1]))
		}
	}
	if d := atoi(t.number); d >= 1 && d <= 31 && dayNumber(words, i) {
		for back := -3; back <= 4; back++ {
			month := time.Date(r.today.Year(), r.today.Month()+time.Month(back), 1, 0, 0, 0, 0, time.UTC)
			r.day(month.AddDate(0, 0, d-1))
		}
		for _, m := range r.months {
			for _, y := range years {
				r.day(date(y, m+1, d))
			}
		}
	}
	r.span(words, i, t)
}

// dayNumber reports whether a number is a day of a month: "the 18th", "til 20.", "3/5".
func dayNumber(words []token, i int) bool {
	if i+1 < len(words) && words[i+1].before == "" {
		switch words[i+1].word {
		case "st", "nd", "rd", "th":
			return true
		}
	}
	switch words[i].before {
	case "/", ".", "-", "–":
		return true
	}
	if i+1 < len(words) && (strings.HasPrefix(words[i+1].before, "/") || strings.HasPrefix(words[i+1].before, ".") && words[i+1].before != ". ") {
		return true
	}
	if i == 0 {
		return false
	}
	switch words[i-1].word {
	case "the", "on", "til", "till", "until", "by", "den", "am", "vom", "bis", "el", "le", "il", "dia", "das":
		return true
	}
	return false
}

// unitDays are the lengths of times by their words, those of other languages too.
var unitDays = late.Make(func() map[string]int {
	m := map[string]int{}
	for days, words := range map[int]string{
		1: "day days tag tage tagen día días jour jours giorno giorni dia dias", 7: "week weeks wk wks woche wochen semana semanas semaine semaines settimana settimane",
		30: "month months monat monate monaten mes meses mois mese mesi mês meses", 365: "year years yr yrs jahr jahre jahren año años an ans année années anno anni ano anos",
	} {
		for w := range strings.FieldsSeq(words) {
			m[text.Fold(w)] = days
		}
	}
	return m
})

var (
	nextWords = late.Words("next nächste nächsten nächster nächstes nachste nachsten nachster nachstes nachstem kommende kommenden proximo proxima que prochain prochaine prossimo")
	lastWords = late.Words("last past letzte letzten letzter letztes pasado pasada dernier derniere scorso scorsa since ago vor hace")
)

// span reads "next week", "3 months ago" and "in two weeks".
func (r *dateHints) span(words []token, i int, t token) {
	days, ok := unitDays.Get()[t.word]
	if !ok {
		if t.word == "weekend" || t.word == "wochenende" {
			for week := -1; week <= 1; week++ {
				sat := r.today.AddDate(0, 0, (6-int(r.today.Weekday())+7)%7+7*week)
				r.add(sat, sat.AddDate(0, 0, 2))
			}
		}
		return
	}
	counts := []int{0}
	near := func(set *late.Set) bool {
		for _, k := range []int{i - 2, i - 1, i + 1} {
			if k >= 0 && k < len(words) && set.Has(words[k].word) {
				return true
			}
		}
		return false
	}
	if near(nextWords) {
		counts = append(counts, 1)
	}
	if near(lastWords) {
		counts = append(counts, -1)
	}
	for k := max(0, i-3); k < i; k++ {
		if n := atoi(words[k].number); words[k].number != "" && n < 200 {
			counts = append(counts, n, -n)
		}
	}
	for _, n := range counts {
		switch days {
		case 1:
			r.day(r.today.AddDate(0, 0, n))
		case 7:
			monday := r.today.AddDate(0, 0, -(int(r.today.Weekday())+6)%7+7*n)
			r.add(monday, monday.AddDate(0, 0, 7))
		case 30:
			month := time.Date(r.today.Year(), r.today.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
			r.add(month, month.AddDate(0, 1, 0))
		case 365:
			r.add(date(r.today.Year()+n, 1, 1), date(r.today.Year()+n+1, 1, 1))
		}
	}
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// denied reports a claim that asserts what the quoted words deny, or denies what they
// assert.
func (g *grounds) denied() string {
	if !g.placed && g.claim.Quote == "" && len(g.turn) > 40 {
		return ""
	}
	if otherScript(g.turn) {
		return ""
	}
	fact, quote := withoutIdioms(g.claim.Text), g.phraseText()
	switch {
	case attitude(g.fact, loving) && !attitude(g.fact, loathing) && attitude(readTokens(quote), loathing) && !attitude(readTokens(quote), loving),
		attitude(g.fact, loathing) && !attitude(g.fact, loving) && attitude(g.quote, loving) && !attitude(g.quote, loathing) && !anyDenies(readTokens(quote)):
		return "the quoted words say the opposite"
	}
	phrase := readTokens(quote)
	factDenies, quoteDenies := anyDenies(readTokens(fact)), anyDenies(phrase)
	switch {
	case factDenies && !g.answersNo() && !g.deniesSomehow(), factDenies && quoteDenies && g.deniesElse(phrase):
		return "the turn does not deny it"
	case !factDenies && !g.endsOtherwise(phrase) && g.deniesClaim(phrase):
		return "the quoted words deny it"
	case !factDenies && g.outdated(phrase):
		return "the quoted words have it as what is no longer so"
	}
	for _, pair := range opposites {
		for k := range pair {
			if hasWord(g.fact, pair[k]) && !hasWord(g.fact, pair[1-k]) && hasWord(phrase, pair[1-k]) && !hasWord(phrase, pair[k]) {
				return "the quoted words say the opposite"
			}
		}
	}
	return ""
}

func hasWord(words []token, word string) bool {
	return slices.ContainsFunc(words, func(t token) bool { return t.word == word })
}

// deniesSomehow reports whether the clause that says most of the claim denies it, or says in
// words of its own that something is over or unwanted.
func (g *grounds) deniesSomehow() bool {
	denies := func(words []token) bool {
		words = readTokens(withoutIdioms(wordsAsSaid(words, g.said.Text)))
		return slices.ContainsFunc(words, func(t token) bool {
			return negates(t) || endingWords.Has(t.word) && !slices.ContainsFunc(g.fact, func(f token) bool { return f.word == t.word || alike(f, t) })
		})
	}
	if !g.placed || len(g.quote) <= 8 {
		return denies(g.quote)
	}
	best, _, _ := g.saidOf(whom{})
	return denies(best) || slices.ContainsFunc(clausesOf(g.quote), func(c []token) bool {
		return denies(c) && slices.ContainsFunc(deniedTerms(g.fact), func(t token) bool { return slices.ContainsFunc(c, func(w token) bool { return alike(t, w) }) })
	})
}

// wordsAsSaid returns the text that words are of.
func wordsAsSaid(words []token, s string) string {
	if len(words) == 0 {
		return ""
	}
	return s[words[0].Start:words[len(words)-1].End]
}

// endsOtherwise reports whether the claim itself says that something is not so, in a word
// that the quote has not.
func (g *grounds) endsOtherwise(phrase []token) bool {
	return slices.ContainsFunc(g.fact, func(t token) bool {
		return negates(t) || endingWords.Has(t.word) && !hasWord(phrase, t.word)
	})
}

// deniedTerms returns the content words right after each denial, up to a pause.
func deniedTerms(words []token) []token {
	var out []token
	for i, t := range words {
		if !negates(t) {
			continue
		}
		for j := i + 1; j < len(words) && j <= i+3 && !pause(words[j].before) && words[j].word != "but"; j++ {
			if words[j].term != "" && !lightWords.Has(words[j].word) {
				out = append(out, words[j])
			}
		}
	}
	return out
}

// deniesElse reports whether the quote denies another thing than the claim does, and
// asserts what the claim denies.
func (g *grounds) deniesElse(phrase []token) bool {
	claimed, said := deniedTerms(g.fact), deniedTerms(phrase)
	if len(claimed) == 0 || len(said) == 0 {
		return false
	}
	in := func(words []token, t token) bool {
		return slices.ContainsFunc(words, func(w token) bool { return alike(t, w) })
	}
	for _, t := range claimed {
		if in(said, t) || !in(phrase, t) {
			return false
		}
	}
	return true
}

// outdated reports whether the claim has as so what the quote says was so: "75 now, was
// 50", "used to smoke".
func (g *grounds) outdated(phrase []token) bool {
	if hasEnding(g.fact) || wasForm.MatchString(text.Fold(g.claim.Text)) {
		return false
	}
	for i, t := range phrase {
		if t.word == "used" && i+2 < len(phrase) && phrase[i+1].word == "to" && phrase[i+2].term != "" &&
			slices.ContainsFunc(g.fact, func(f token) bool { return alike(f, phrase[i+2]) }) {
			return true
		}
		if t.number == "" || t.number == "1" || !slices.ContainsFunc(g.fact, func(f token) bool { return f.number == t.number }) || hasWord(g.fact, "from") {
			continue
		}
		j := i - 1
		for j > 0 && (phrase[j].word == "the" || phrase[j].word == "on" || phrase[j].word == "at" || phrase[j].word == "of" || phrase[j].word == "than") {
			j--
		}
		if j < 0 || pause(t.before) || !oldValue.Has(phrase[j].word) {
			continue
		}
		if slices.ContainsFunc(phrase, func(o token) bool {
			return o.number != "" && o.number != t.number && !slices.ContainsFunc(g.fact, func(f token) bool { return f.number == o.number })
		}) {
			return true
		}
	}
	return false
}

// answersNo reports whether the turn answers no to what was asked.
func (g *grounds) answersNo() bool {
	return len(g.turn) > 0 && (g.turn[0].word == "no" || g.turn[0].word == "nope")
}

func (g *grounds) phraseText() string {
	if len(g.phrase) == 0 {
		return ""
	}
	return cannotStand.ReplaceAllString(withoutIdioms(g.said.Text[g.phrase[0].Start:g.phrase[len(g.phrase)-1].End]), "hate")
}

var cannotStand = late.Compile(`\b(?:can'?t|cannot) (?:stand|bear)\b`)

func withoutIdioms(s string) string { return idioms.ReplaceAllString(text.Fold(s), "") }

func attitude(words []token, of *late.Set) bool {
	return slices.ContainsFunc(words, func(t token) bool { return of.Has(t.word) })
}

func negates(t token) bool { return denying.Has(t.word) || strings.HasSuffix(t.word, "n't") }

func anyDenies(words []token) bool { return slices.ContainsFunc(words, negates) }

func hasEnding(words []token) bool {
	return slices.ContainsFunc(words, func(t token) bool { return endingWords.Has(t.word) || negates(t) })
}

// deniesClaim reports whether what follows a denial, up to a pause, is what the claim says,
// and the rest of the quote says no more of it.
func (g *grounds) deniesClaim(quote []token) bool {
	past := wasForm.MatchString(text.Fold(g.claim.Text))
	for i, t := range quote {
		if !negates(t) && (past || !ceasing.Has(t.word) || hasWord(g.fact, t.word)) {
			continue
		}
		said, all, other, j := 0, 0, false, i+1
		for ; j < len(quote) && j <= i+5 && !pause(quote[j].before) && quote[j].word != "but"; j++ {
			if quote[j].term == "" || lightWords.Has(quote[j].word) {
				continue
			}
			all++
			if slices.ContainsFunc(g.fact, func(f token) bool { return alike(f, quote[j]) }) {
				said++
				continue
			}
			if other = true; all == 1 {
				break
			}
		}
		if rest := g.shared(quote[min(j, len(quote)):]); said > 0 && rest < 2 && !(rest > 0 && other) {
			return true
		}
	}
	return false
}

// wasForm is what a fact of the past has.
var wasForm = late.Compile(`\b(?:was|were|had|used to|previously|formerly|former|until|once|ex|\w{3,}ed)\b`)

// whom is whom a statement is about.
type whom struct {
	kind   byte   // 's' the speaker, 'o' another person, 0 unknown
	group  string // of the other: as in [persons]
	name   string
	gender byte
}

// ofAnother reports a claim of one person that the quoted words say of another.
func (g *grounds) ofAnother() string {
	if !g.placed {
		return ""
	}
	claimed := g.claimedOf()
	if claimed.kind == 0 {
		return ""
	}
	clause, said, elsewhere := g.saidOf(claimed)
	if said.kind == 0 {
		return ""
	}
	switch {
	case claimed.kind == 's' && said.kind == 'o':
		if slices.ContainsFunc(clause, func(t token) bool { return speakerWords.Has(t.word) }) && !elsewhere || g.mentionsAnother(said) {
			return ""
		}
		return "it is said of somebody else"
	case claimed.kind == 'o' && said.kind == 's':
		if g.mentions(clause, claimed) || !elsewhere && g.mentions(g.quote, claimed) || claimed.group == "" || claimed.group == anybody {
			return ""
		}
		return "it is said of the user"
	case claimed.kind == 'o' && said.kind == 'o':
		if g.mentions(clause, claimed) || !elsewhere && g.mentions(g.quote, claimed) || said.name != "" && said.name == claimed.name {
			return ""
		}
		if said.name == "" && said.group == "" { // he, she
			if claimed.gender != '-' && claimed.gender != 0 && said.gender != claimed.gender && !animals.Has(claimed.group) {
				return "it is said of another person"
			}
			return ""
		}
		if claimed.name != "" && said.name != "" || claimed.group != "" && said.group != "" && claimed.group != said.group && claimed.group != anybody && said.group != anybody {
			if !slices.ContainsFunc(g.quote, func(t token) bool { return maleWords.Has(t.word) || femaleWords.Has(t.word) }) && g.shared(clause) > 0 {
				return "it is said of " + or(said.name, said.group)
			}
		}
	}
	return ""
}

var (
	animals = late.Words("dog cat pet")
	// callings are persons by what they do, which the user may do too.
	callings = late.Words("doctor dentist vet therapist teacher client boss child")
	statuses = late.Words("married engaged divorced widowed together relationship dating single")
)

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// claimedOf returns whom an English claim is about.
func (g *grounds) claimedOf() whom {
	start := 0 // behind a date: "On 2026-01-05, User …"
	for start < len(g.fact) && (g.fact[start].number != "" || g.fact[start].term == "" && start+1 < len(g.fact) && g.fact[start+1].number != "") {
		start++
	}
	fact := g.fact[start:]
	if len(fact) < 2 {
		return whom{}
	}
	first := fact[0]
	if first.word != "user" {
		if first.capital && (g.isName(start) || g.names[first.word] != "") {
			group := g.names[first.word]
			return whom{'o', group, first.word, persons.Get()[group].gender}
		}
		return whom{}
	}
	if !first.owner {
		if next := fact[1].word; next == "and" || next == "or" {
			return whom{}
		}
		return whom{kind: 's'}
	}
	for i := 1; i < len(fact) && i <= 4 && !verbish.Has(fact[i].word); i++ {
		p, ok := persons.Get()[fact[i].word]
		if !ok || fact[i].owner {
			continue
		}
		of := whom{'o', p.group, "", p.gender}
		if i+1 < len(fact) && fact[i+1].capital {
			of.name = fact[i+1].word
		}
		return of
	}
	return whom{}
}

// saidOf returns the clause of the quote that has most of what the claim says, and whom it
// is about. elsewhere says that another clause is about the one whom the claim names.
func (g *grounds) saidOf(claimed whom) (clause []token, of whom, elsewhere bool) {
	clauses := clausesOf(tokensIn(g.turn, text.Span{Start: sentenceStart(g.said.Text, g.span.Start), End: g.span.End}))
	best, most, own := -1, 0, -1
	for i, c := range clauses {
		if c[len(c)-1].End <= g.span.Start {
			continue
		}
		n := g.sharedLess(c, claimed)
		if n > most || best < 0 || n == most && g.spelledOut(c, claimed) && !g.spelledOut(clauses[best], claimed) {
			best, most = i, n
		}
		if s, explicit := g.subject(c); explicit && same(s, claimed) {
			own = i
		}
	}
	if best < 0 {
		return nil, whom{}, false
	}
	elsewhere = own >= 0 && own != best && g.sharedLess(clauses[own], claimed) < most
	for i := best; i >= 0; i-- {
		if c := clauses[i]; i > 0 && c[0].word == "who" { // of whom the clause before ends in
			for j := len(clauses[i-1]) - 1; j >= 0; j-- {
				if p, ok := persons.Get()[clauses[i-1][j].word]; ok {
					return clauses[best], whom{'o', p.group, "", p.gender}, elsewhere
				}
			}
		}
		if s, explicit := g.subject(clauses[i]); explicit {
			return clauses[best], s, elsewhere
		}
	}
	if before := tokensIn(g.turn, text.Span{End: clauses[0][0].Start}); len(before) > 0 && clauses[best][0].opens { // "Marek? Moved to Gdansk."
		if last := before[len(before)-1]; last.opens && last.capital && !noNames.Has(last.word) && !englishWords.Has(last.word) && last.term != "" {
			return clauses[best], whom{'o', g.names[last.word], last.word, 0}, elsewhere
		}
	}
	return clauses[best], whom{}, elsewhere
}

func same(a, b whom) bool {
	return a.kind == 's' && b.kind == 's' || a.kind == 'o' && b.kind == 'o' && (a.name != "" && a.name == b.name || a.group != "" && a.group != anybody && a.group == b.group)
}

// sharedLess counts what words have of a claim beside whom it is about.
func (g *grounds) sharedLess(words []token, of whom) int {
	return g.shared(slices.DeleteFunc(slices.Clone(words), func(t token) bool {
		p, ok := persons.Get()[t.word]
		return ok && p.group == of.group || of.name != "" && t.word == of.name
	}))
}

// spelledOut reports whether words name whom a claim is about, not as he or she.
func (g *grounds) spelledOut(words []token, of whom) bool {
	return slices.ContainsFunc(words, func(t token) bool {
		p, ok := persons.Get()[t.word]
		return of.kind == 's' && speakerWords.Has(t.word) || ok && of.group == p.group || of.name != "" && t.word == of.name
	})
}

func sentenceStart(s string, at int) int { return strings.LastIndexAny(s[:at], ".!?\n") + 1 }

// clausesOf cuts words at pauses and conjunctions.
func clausesOf(words []token) [][]token {
	var out [][]token
	start := 0
	cut := func(end int) {
		if end > start {
			out = append(out, words[start:end])
		}
		start = end
	}
	for i, t := range words {
		switch t.word {
		case "and", "but", "so", "because", "cause", "cos", "while", "und", "aber", "weil", "y", "pero", "et", "mais", "ed", "though", "tho", "when", "where", "who":
			if i+1 < len(words) && t.word == "and" && words[i+1].word == "i" && i-start <= 3 {
				continue // "my wife and I"
			}
			cut(i)
		default:
			if strings.ContainsAny(t.before, ",;:()") {
				cut(i)
			}
		}
	}
	cut(len(words))
	return out
}

// subject returns whom a clause is about, explicit if its words say so.
func (g *grounds) subject(clause []token) (s whom, explicit bool) {
	own := false
	for i := 0; i < len(clause) && i < 7; i++ {
		t := clause[i]
		next := ""
		if i+1 < len(clause) {
			next = clause[i+1].word
		}
		p, kin := persons.Get()[t.word]
		switch {
		case (t.word == "her" || t.word == "his") && persons.Get()[next].group != "":
			continue
		case speakerWords.Has(t.word):
			s = whom{kind: 's'}
		case maleWords.Has(t.word):
			s = whom{'o', "", "", 'm'}
		case femaleWords.Has(t.word):
			s = whom{'o', "", "", 'f'}
		case ownWord.Has(t.word):
			own = true
			continue
		case kin && t.owner && next != "" && !verbal(clause, i): // "my boss's car"
			return whom{}, false
		case kin && i+1 == len(clause) && i > 0 && len(clause) <= 3:
			return whom{}, false // "Ravi, my manager, …"
		case kin:
			s = whom{'o', p.group, "", p.gender}
			if i+1 < len(clause) && (clause[i+1].capital || g.names[next] != "") {
				s.name = next
			}
		case g.names[t.word] != "" && (g.names[t.word] != anybody || verbal(clause, i)):
			group := g.names[t.word]
			s = whom{'o', group, t.word, persons.Get()[group].gender}
		case t.capital && i == 0 && t.term != "" && !strings.HasSuffix(t.word, "ly") && !g.others && verbal(clause, i) && !englishWords.Has(t.word) && !opening.Has(t.word) && !noNames.Has(t.word) && !isCalendar(t.word):
			s = whom{'o', "", t.word, 0}
		case own && t.term != "":
			return whom{}, true // a thing of the speaker's
		case opening.Has(t.word):
			continue
		default:
			return whom{}, false
		}
		if t.word == "dr" || s.kind == 0 {
			return s, s.kind != 0
		}
		if s.kind == 'o' && next == "and" && i+2 < len(clause) && speakerWords.Has(clause[i+2].word) {
			return whom{}, true
		}
		for k := i + 1; k < len(clause) && k <= i+2; k++ { // "Tom says no more toys": not of Tom
			if s.kind == 'o' && quoting.Has(clause[k].word) {
				inner, ok := g.subject(clause[k+1:])
				return inner, ok || true
			}
		}
		return s, true
	}
	return whom{}, false
}

// verbal reports whether a verb follows word i: "Joanna's a vegetarian", "Tom lives".
func verbal(clause []token, i int) bool {
	if clause[i].owner && i+1 < len(clause) {
		w := clause[i+1]
		return w.term == "" || strings.HasSuffix(w.word, "ing") || strings.HasSuffix(w.word, "ed")
	}
	if i+1 >= len(clause) {
		return false
	}
	w := clause[i+1].word
	return verbish.Has(w) || strings.HasSuffix(w, "s") && len(w) > 3 || strings.HasSuffix(w, "ed")
}

// mentions reports whether words name whom a claim is about.
func (g *grounds) mentions(words []token, of whom) bool {
	return slices.ContainsFunc(words, func(t token) bool {
		if of.name != "" && sameName(of.name, t) {
			return true
		}
		if p, ok := persons.Get()[t.word]; ok && of.group != "" && (p.group == of.group || near(p.group, of.group)) {
			return true
		}
		if of.group != "" && of.group != anybody && g.names[t.word] == of.group {
			return true
		}
		switch t.word {
		case "it", "its", "this", "that", "they", "theyre", "their", "we", "us", "our", "who":
			return true
		}
		return of.gender != 'f' && maleWords.Has(t.word) || of.gender != 'm' && femaleWords.Has(t.word)
	})
}

// disjoint reports whether two sets share nothing.
func disjoint(a, b map[string]bool) bool {
	for w := range a {
		if b[w] {
			return false
		}
	}
	return true
}

// near reports whether two groups of persons may be one: a child is a son.
func near(a, b string) bool {
	wide := func(w string) string {
		switch w {
		case "son", "daughter", "child":
			return "child"
		case "wife", "husband", "partner", "girlfriend", "boyfriend":
			return "partner"
		case "brother", "sister", "sibling":
			return "sibling"
		case "mother", "father", "parents":
			return "parents"
		}
		return w
	}
	return wide(a) == wide(b)
}

// mentionsAnother reports whether a claim about the user names the one of whom the words
// are said: "User has a sister".
func (g *grounds) mentionsAnother(said whom) bool {
	for _, t := range g.fact[1:] {
		p, ok := persons.Get()[t.word]
		switch {
		case ok && (p.group == said.group || !callings.Has(p.group) && (!animals.Has(p.group) || said.group == "" || animals.Has(said.group))):
			return true
		case maleWords.Has(t.word), femaleWords.Has(t.word), statuses.Has(t.word):
			return true
		case said.name != "" && t.word == said.name, g.names[t.word] != "" && g.names[t.word] != anybody:
			return true
		}
	}
	return false
}
