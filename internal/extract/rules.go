package extract

import (
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Cuts returns the pieces of a text, each at most so many bytes, cut between sentences;
// pieces of white space are left out.
func Cuts(s string, most int) []text.Span {
	var out []text.Span
	start, end := 0, 0
	cut := func() {
		if strings.TrimSpace(s[start:end]) != "" {
			out = append(out, text.Span{Start: start, End: end})
		}
		start = end
	}
	for _, span := range text.Sentences(s) {
		if span.End-start > most {
			cut()
		}
		for span.End-start > most { // one sentence of that size is none
			end = start + most
			for end > start && s[end]&0xc0 == 0x80 {
				end--
			}
			cut()
		}
		end = span.End
	}
	end = len(s)
	cut()
	return out
}

// Rules reads facts from first-person English without a model: what people say of
// their name, age, home, work, family, pets, health, diet, tastes, things,
// studies, languages, plans, goals, habits, of what they did, and what they ask to
// be remembered. Each fact is in the third person and names the words it rests on.
// It would rather miss a statement than invent one: questions, hypothetical cases,
// jokes and the words of others are passed over.
//
// A turn is cut into clauses ([statements]), a clause into its subject, its verbs
// and what follows ([predicate]). The verb finds the families that it may belong
// to, and the first whose form takes the rest speaks for the clause. What no family
// takes may still tell of something done, going on or done again and again, by
// the classes of verbs in tables/verbs.txt.
func Rules(said []Utterance) []Candidate {
	var out []Candidate
	conversation, inPlay := "", false
	for i := range said {
		s := &said[i]
		if s.Turn.Role != memory.RoleUser {
			continue
		}
		if OffTheRecord(s.Turn.Content) {
			continue
		}
		var played bool
		if played, inPlay = plays(s, s.Playing || inPlay && s.Turn.Conversation == conversation); played {
			conversation = s.Turn.Conversation
			continue
		}
		room := maxRead
		for _, span := range Cuts(s.Text, ReadAtOnce) {
			found := readPiece(*s, span, &out)
			found = found[:min(len(found), room)]
			room -= len(found)
			out = append(out, found...)
		}
	}
	return lasting(out)
}

// maxRead bounds the facts of one turn: what has more is no talk, and each is held
// against all others.
const maxRead = 192

// fewWords is how many statements later what was said may be taken back.
const fewWords = 32

// lasting leaves out what the same talk ends later, and an end that did not last: "I
// work at Acme. I left Acme."
func lasting(cands []Candidate) []Candidate {
	gone := map[int]bool{}
	for i, d := range cands {
		if d.Attribute == "" || !text.Negated(d.Text) {
			continue
		}
		d = Classified(d) // what is left is an employer no more
		about := func(o Candidate) bool {
			return o.Subject == d.Subject && o.Attribute == d.Attribute && Single(d.Attribute) && !text.Negated(o.Text) && SameThing(d.Text, o.Text)
		}
		for j := max(0, i-fewWords); j < i; j++ {
			gone[j] = gone[j] || about(cands[j]) && !cands[j].Remember
		}
		if later := cands[i+1 : min(i+1+fewWords, len(cands))]; !d.Remember && slices.ContainsFunc(later, about) {
			gone[i] = true
		}
	}
	if len(gone) == 0 {
		return cands
	}
	var out []Candidate
	for i, c := range cands {
		if !gone[i] {
			out = append(out, c)
		}
	}
	return out
}

// ReadAtOnce bounds the text in which clauses are held against each other.
const ReadAtOnce = 32 << 10

// readPiece reads a piece of a turn. What is asked to be remembered it adds to the candidates
// so far; it returns the facts.
func readPiece(s Utterance, piece text.Span, sofar *[]Candidate) []Candidate {
	s.Text = s.Text[piece.Start:piece.End]
	inTurn := func(c Candidate) Candidate {
		if c.Span != nil && c.Turn == s.Turn.ID {
			c.Span = &memory.Span{Turn: c.Span.Turn, Start: c.Span.Start + piece.Start, End: c.Span.End + piece.Start}
		}
		return c
	}
	remembered, _ := commands(s)
	for _, c := range remembered {
		*sofar = append(*sofar, inTurn(c))
	}
	shown := s
	shown.Text = monthsCapital(s.Text)
	r := reader{said: &shown, spoken: remembered}
	r.turn()
	for k, c := range r.found {
		if c.Span != nil && c.Turn == s.Turn.ID {
			c.Quote = s.Text[c.Span.Start:c.Span.End]
		}
		r.found[k] = inTurn(c)
	}
	return r.found
}

func within(span text.Span, cands []Candidate) bool {
	return slices.ContainsFunc(cands, func(c Candidate) bool {
		return c.Span.Start < span.End && span.Start < c.Span.End
	})
}

// reader reads the clauses of one turn.
type reader struct {
	said   *Utterance
	spoken []Candidate // what was asked to be remembered: its words are taken
	found  []Candidate

	greeted bool
	theirs  bool      // the last subject was somebody else
	other   string    // whom the clause before named and said nothing of: "Ravi and I …"
	whom    predicate // whom "she" or "he" means; who is "" where that is not clear
	subject predicate // of the clause before, where that is a relative; else its who is ""
	g       captured
}

func (r *reader) turn() {
	body := text.Own(r.said.Text)
	if notMeant(body) {
		return
	}
	statements(r.said, body, func(c *clause) {
		if !within(c.Span, r.spoken) {
			r.clause(c)
		}
	})
	r.namesBeside(body)
}

// openers are words that people say before they say something.
var openers = lazy.SetOf("openers", wordList)

// openings are phrases of the same kind.
var openings = []string{
	"by the way", "heads up", "fun fact", "quick one", "small update", "its official", "it is official", "in other news", "for info", "just so you know", "you know", "for the record", "to be honest", "in fact", "as you know", "as i said", "as i mentioned",
	"for context", "for reference", "some context", "about me", "a bit about me", "these days", "right now", "at the moment", "thank you so much", "thank you",
	"thanks so much", "thanks a lot", "quick update", "good news", "great news", "big news", "first of all", "of course", "just to add", "just to clarify",
	"just to let you know", "for what it is worth", "in general", "i guess", "i mean", "you see", "guess what", "i think", "i believe", "i would say", "i would say that",
	"as for me", "for me", "on the bright side", "on a brighter note", "on the plus side", "not gonna lie", "it turns out", "it turns out that", "turns out", "turns out that", "turned out", "turned out that", "it turned out", "it turned out that", "good morning", "good evening", "good afternoon", "the thing is", "the truth is",
	"if it helps", "if that helps", "if it matters", "in case it helps", "if you are wondering", "if you are curious", "if you must know", "if you want to know", "note that", "in my spare time", "in my free time",
}

var openingsBy = lazy.Make(func() map[string][][]string {
	out := map[string][][]string{}
	for _, o := range openings {
		words := strings.Fields(o)
		out[words[0]] = append(out[words[0]], words)
	}
	return out
})

// opened returns the place of the first word after what leads up to a clause, and
// reports whether that was a greeting.
func (c *clause) opened() (i int, greeted bool) {
	for i < len(c.words) {
		w := c.at(i)
		if c.words[i].mark() {
			i++
			continue
		}
		if n := c.opening(i); n > 0 {
			i += n
			continue
		}
		if openers.Has(w) && i+1 < len(c.words) && !(w == "no" && c.at(i+1) == "longer") {
			greeted = greeted || w == "hi" || w == "hello" || w == "hey"
			i++
			if greeted && c.at(i) == "there" {
				i++
			}
			// "Hey Mel, I …"
			if i+1 < len(c.words) && c.words[i].capital && c.words[i+1].low == "," && c.at(i) != "i" && (w == "hi" || w == "hello" || w == "hey" || w == "thanks" || w == "wow" || w == "yeah" || w == "oh" || w == "yes") {
				i += 2
			}
			continue
		}
		break
	}
	return i, greeted
}

func (c *clause) opening(i int) int {
	longest := 0
next:
	for _, words := range openingsBy.Get()[c.at(i)] {
		for k, w := range words {
			if c.at(i+k) != w {
				continue next
			}
		}
		if w := c.at(i + len(words)); w == "" || c.words[i+len(words)-1].low == "think" && w == "about" || w == "of" {
			continue
		}
		longest = max(longest, len(words))
	}
	return longest
}

// subordinators are joints of clauses that say nothing by themselves: "when I was in Rome".
var subordinators = lazy.Words("when before until where or which who")

// clause reads what a clause says.
func (r *reader) clause(c *clause) {
	if len(c.words) == 0 || subordinators.Has(c.conjunction) {
		return
	}
	c.withoutAside()
	for _, w := range c.words {
		if unsure.Has(w.low) {
			return
		}
	}
	defer func(before string) {
		if r.other == before {
			r.other = ""
		}
	}(r.other)
	i, greeted := c.opened()
	if i >= len(c.words) || greeting(c) {
		r.greeted = r.greeted || greeted || greeting(c)
		return
	}
	greeted = greeted || r.greeted
	r.greeted = false
	if !c.fromNowOn() {
		c.withoutRetraction(i)
	}
	r.whose(c, i)
	defer r.keepWhom(c, i)()
	before := r.subject
	r.subject = predicate{}
	if r.ofName(c, i, greeted) {
		return
	}
	when := ""
	if k := c.fronted(i); k > i {
		when = c.text(i, k)
		i = k
		for c.at(i) == "," {
			i++
		}
	}
	p := predicate{who: "User", subject: "user", elided: c.short}
	switch w := c.at(i); {
	case w == "i" || w == "we":
		i++
	case (w == "she" || w == "he") && r.refersTo(w):
		p = r.whom
		r.subject = p
		i++
	case c.inheritsSubject:
		if before.who != "" {
			p, r.subject = before, before
		} else if r.theirs {
			return
		}
	case w == "my" || w == "our":
		r.ofMine(c, i+1, when)
		return
	case c.first && when == "" && r.elides(c, i):
		if r.theirs {
			return
		}
		p.elided = true
	case when == "" && c.nameEnd(i) == len(c.words):
		r.other = c.text(i, len(c.words))
		return
	default:
		r.ofThing(c, i)
		return
	}
	if !p.read(c, i) {
		return
	}
	r.facts(c, &p, when)
}

// withoutRetraction takes off what a clause sets right at its end: "on 9 May, not 7 May".
func (c *clause) withoutRetraction(i int) {
	for k := i + 2; k+1 < len(c.words); k++ {
		if c.at(k) == "," && c.at(k+1) == "not" && len(c.words)-k < 6 && c.at(k+2) != "any" && c.at(k+2) != "really" {
			c.words = c.words[:k]
			c.all = c.words
			return
		}
	}
}

func greeting(c *clause) bool {
	switch c.at(0) {
	case "hi", "hello", "hey":
		return len(c.words) < 3
	}
	return false
}

// fronted returns the place after a date that stands before the subject: "Last
// week I …".
func (c *clause) fronted(i int) int {
	j := i
	for j < len(c.words) && j < i+8 && (spans.Has(c.at(j)) || c.at(j) == "every" || Timing.Has(c.at(j)) || IsDigit(c.at(j)) || c.at(j) == "," && j > i || isOrdinal(c.at(j))) {
		j++
	}
	if j == i || j >= len(c.words) || c.at(j) != "i" && c.at(j) != "we" && c.at(j) != "my" && c.at(j) != "our" {
		return i
	}
	end := j
	for end > i && c.words[end-1].mark() {
		end--
	}
	if end > i && (len(c.dates(i, end)) > 0 || regularTime(c.words[i:end])) {
		return end
	}
	return i
}

// regularTime reports whether words say how often: "on weekends", "every morning".
func regularTime(words []word) bool {
	for i, w := range words {
		if w.low == "every" || w.low == "each" || i > 0 && words[i-1].low == "on" && spans.Has(w.low) && strings.HasSuffix(w.low, "s") {
			return true
		}
	}
	return false
}

func isOrdinal(w string) bool {
	return len(w) > 2 && w[0] >= '0' && w[0] <= '9' && (strings.HasSuffix(w, "th") || strings.HasSuffix(w, "st") || strings.HasSuffix(w, "nd") || strings.HasSuffix(w, "rd"))
}

// elides reports whether a sentence leaves out "I": "Just got back from Rome".
func (r *reader) elides(c *clause, i int) bool {
	for adverb.Has(c.at(i)) && i < len(c.words)-1 {
		i++
	}
	w := c.at(i)
	next := c.at(i + 1)
	switch w {
	case "been":
		return next != ""
	case "love", "hate", "loved", "enjoyed":
		after, ok := Verbs()[next] // "Love is all" and "Love brings joy" have a subject
		return i+2 < len(c.words) && !pointing.Has(next) && !joints.Has(next) && next != "is" && next != "was" && !(ok && after.Form == thirdForm)
	case "do":
		third := c.at(i + 2)
		return next == "not" && (third == "like" || third == "love" || third == "enjoy")
	case "can":
		return next == "not"
	}
	v, ok := Verbs()[w]
	if !ok || next == "" || c.words[i+1].mark() {
		return false
	}
	switch {
	case v.Form&Gerund != 0:
		if c.words[i].owner || joints.Has(next) || c.subjectAhead(i+1) {
			return false
		}
		return v.class&(ongoing|idle) != 0 && (v.Lemma == "plan" || v.Lemma == "hope" || v.Lemma == "try" || v.Lemma == "think" || v.Lemma == "work" || v.Lemma == "learn" || v.Lemma == "train" || v.Lemma == "study" || v.Lemma == "look" || v.Lemma == "consider" || v.Lemma == "prepare" || v.Lemma == "research" || v.Lemma == "read" || v.Lemma == "write") || w == "going" && next == "to" || w == "loving" || w == "enjoying"
	case v.Form&preterite != 0 && v.Form&base == 0:
		if v.Lemma == "marry" && (next == "couples" || next == "people" || next == "men" || next == "women" || next == "life") {
			return false
		}
		return v.class&(deed|light) != 0 && next != "by" && (next != "for" || v.Lemma == "apply")
	}
	return false
}

// subjectAhead reports whether what begins at i is the subject of a verb behind it:
// "learning about birds relaxes me".
func (c *clause) subjectAhead(i int) bool {
	for ; i < len(c.words); i++ {
		switch w := c.at(i); w {
		case "is", "are", "was", "were", "has", "can", "will", "does", "would", "could", "should":
			return true
		default:
			if v, ok := Verbs()[w]; ok && v.Form == thirdForm && c.at(i+1) == "me" || helping.Has(w) {
				return true
			}
			if c.at(i+1) == "me" && strings.HasSuffix(w, "s") {
				return true
			}
		}
	}
	return false
}

// facts turns what a clause says of a subject into facts.
func (r *reader) facts(c *clause, p *predicate, when string) {
	for p.verb.Lemma == "like" && c.at(p.rest) == "like" { // as some people talk
		p.rest++
	}
	if last := c.at(len(c.words) - 1); p.often != "" && (last == "then" || last == "there") {
		return // when, or where, was said before
	}
	if w := c.at(p.rest); p.subject != "user" && (w == "i" || w == "we") {
		return // "she prefers we wait": what the user does to please her
	}
	for _, f := range byVerb()[p.verb.Lemma] {
		if p.tense&f.tenses == 0 || !c.match(f.steps, p.rest, &r.g) || !fits(f.family, c, p, &r.g) {
			continue
		}
		if p.neg != "" && p.neg != "no longer" && r.qualified(c, p, f.family) {
			return
		}
		r.add(c, p, f.family, when)
		return
	}
	if f, said := r.news(c, p, when); f != nil && !strings.HasSuffix(said, " is allergic") { // to what?
		r.fact(c, p, f, said, when)
	}
}

// add makes facts of what a family has taken.
func (r *reader) add(c *clause, p *predicate, f *family, when string) {
	g := r.g
	if old := g.get("old"); old != "" {
		r.fact(c, p, f, p.who+" uses "+g.get("tool"), when)
		r.fact(c, p, &family{rule: f.rule, category: f.category, confidence: f.confidence, attribute: "uses:" + keyOf(old)}, p.who+" no longer uses "+old, when)
		return
	}
	for _, one := range listed(f, &g) {
		r.g = one
		r.fact(c, p, f, r.say(c, p, f), when)
	}
}

// say returns a fact's words.
func (r *reader) say(c *clause, p *predicate, f *family) string {
	g := &r.g
	kept := func(s string) string { return s }
	say := f.say
	if f.rule == "age" && p.subject != "user" {
		say = "" // "turned 6 yesterday" says more of a child than "6 years old"
	}
	switch {
	case f.rule == "lost job": // with its day: it may be long ago
		end := c.ending(p.rest)
		if !c.standing(p.rest, end) && len(c.dates(p.rest, end)) == 0 {
			end = g.end
		}
		if max(end, g.end) == p.rest {
			return p.who + " " + p.says(0, "")
		}
		return p.who + " " + p.says(0, "") + " " + ThirdPerson(c.text(p.rest, max(end, g.end)))
	case say == "":
		out := p.who + " " + p.says(0, "")
		if lead := c.text(p.rest, g.end); lead != "" {
			out += " " + ThirdPerson(lead)
		}
		if g.n > 0 && g.end < len(c.words) && f.rule != "age" {
			out += " " + g.said[g.n-1]
		} else if f.rule == "age" {
			out = p.who + " " + p.says(0, "") + " " + ThirdPerson(c.text(p.rest, c.ending(p.rest)))
		}
		return out
	case say[0] == '\'':
		return p.who + filled(say, g, kept)
	case say[0] == '@':
		return p.who + " " + filled(say[1:], g, kept)
	case say[0] == '=':
		return p.who + " " + p.says(f.as, p.verb.Lemma) + filled(say[1:], g, kept)
	default:
		lemma, tail, _ := strings.Cut(say, " ")
		return strings.TrimRight(p.who+" "+p.says(f.as, lemma)+" "+filled(tail, g, kept), " ")
	}
}

// fact adds one fact.
func (r *reader) fact(c *clause, p *predicate, f *family, said, when string) {
	quote := c.said.Text[c.Start:c.End]
	if when != "" && (f.category == "event" || f.category == "plan" || f.category == "habit" || f.category == "family" || f.category == "project") {
		said += " " + lowerFirst(when)
	}
	attribute := filled(f.attribute, &r.g, keyOf)
	if strings.HasSuffix(attribute, ":") {
		attribute += keyOf(p.verb.Lemma)
	}
	if attribute == "employer" && r.g.get("prep") == "with" {
		attribute = "" // "works with Anna" is at no firm
	}
	subject := p.subject
	category := f.category
	if subject != "user" {
		category = "family"
	}
	confidence := f.confidence
	if p.elided {
		confidence -= 0.05
	}
	if rest, ok := strings.CutPrefix(said, "User "); ok && category == "preference" {
		said = "User " + strings.ReplaceAll(rest, "User's ", "their ")
	}
	cand := Candidate{
		Text: said, Subject: subject, Attribute: strings.TrimSuffix(attribute, ":"), Category: category, Confidence: confidence,
		Model: "rule:" + f.rule, Quote: quote, Turn: c.said.Turn.ID,
		Span: &memory.Span{Turn: c.said.Turn.ID, Start: c.Start, End: c.End},
	}
	if Single(cand.Attribute) && dateHint(c.words) {
		cand.ValidFrom = began(cand.Attribute, quote, c.said.Turn.CreatedAt)
	}
	r.found = append(r.found, cand)
}

func lowerFirst(s string) string {
	first, _, _ := strings.Cut(strings.ToLower(s), " ")
	if Timing.Has(strings.Trim(first, ",")) && !months.Has(first) && !strings.HasSuffix(first, "day") || first == "yesterday" || first == "today" {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

// listed gives each item of a list of things a fact of its own, where the
// attribute is about one thing.
func listed(f *family, g *captured) []captured {
	for i := range g.n {
		if !strings.Contains(f.attribute, ":<"+g.names[i]+">") {
			continue
		}
		parts := items(g.said[i])
		if len(parts) < 2 {
			continue
		}
		var out []captured
		for _, item := range parts {
			one := *g
			one.said[i] = item
			out = append(out, one)
		}
		return out
	}
	return []captured{*g}
}

var listCut = lazy.Compile(`(?i)\s*,\s*(?:and |or |& )?|\s+(?:and|or|&)\s+`)

// items cuts "peanuts, shrimp and soy" in three. What is not a list of short items
// stays whole.
func items(s string) []string {
	if !strings.ContainsAny(s, ",&") && !strings.Contains(s, " and ") && !strings.Contains(s, " or ") {
		return nil
	}
	parts := listCut.Split(s, -1)
	for i, p := range parts {
		if n := len(strings.Fields(p)); n == 0 || n > 3 || i == 0 && determiner.Has(strings.ToLower(strings.Fields(p)[0])) || strings.HasPrefix(p, "both ") {
			return nil // "the blue and white combination" is one thing
		}
	}
	first, last := parts[0], parts[len(parts)-1]
	if strings.Contains(last, " ") && !strings.HasSuffix(first, "s") && !strings.HasSuffix(first, "ing") {
		return nil // and so is "electronic and rock music"
	}
	return parts
}

// kinAttribute is single where a person has one such relative at a time.
func kinAttribute(kin string) string {
	switch kin {
	case "wife", "husband", "partner", "spouse", "girlfriend", "boyfriend", "fiance", "fiancé", "fiancee", "fiancée":
		return "partner"
	case "mother", "mom", "mum":
		return "relative:mother"
	case "father", "dad":
		return "relative:father"
	case "boss", "manager", "supervisor":
		return "relative:boss"
	case "best friend", "therapist", "doctor", "dentist", "landlord":
		return "relative:" + kin
	}
	if newer, ok := strings.CutPrefix(kin, "new "); ok && newer != "friend" {
		return kinAttribute(newer)
	}
	return kin
}

// began returns since when a statement holds: the past or present date in its
// words, for what has one value at a time.
func began(attribute, words string, said time.Time) time.Time {
	if !Single(attribute) || attribute == "birthday" || text.Negated(words) {
		return time.Time{}
	}
	dates := text.Resolve(words, said)
	if len(dates) != 1 || dates[0].From.After(said) {
		return time.Time{}
	}
	return dates[0].From
}
