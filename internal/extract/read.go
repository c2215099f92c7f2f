package extract

import (
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// maxRead is the maximum number of facts from one turn. Texts with more facts are no conversation.
const maxRead = 192

// Rules extracts facts about the user and people close to the user from first-person English, with the rules
// of rules.txt instead of a model. Facts are in the third person and quote their source. Questions,
// hypothetical cases, jokes and other people's words give no facts.
func Rules(utterances []Utterance) []Candidate {
	var out []Candidate
	conversation, inPlay := "", false
	for i := range utterances {
		s := &utterances[i]
		if s.Turn.Role != memory.RoleUser || OffTheRecord(s.Turn.Content) {
			continue
		}
		var played bool
		if played, inPlay = inRolePlay(s, s.Playing || inPlay && s.Turn.Conversation == conversation); played {
			conversation = s.Turn.Conversation
			continue
		}
		remembered, _ := commands(*s)
		r := reader{utterance: s, last: user}
		if !pattern("unmeant").MatchString(s.Text) {
			r.read(s.Text)
		}
		out = append(append(out, remembered...), r.found[:min(len(r.found), maxRead)]...)
	}
	return out
}

// subject is the person that a statement is about.
type subject struct {
	who  string // the subject in a fact's text: "User", "User's sister Ana"
	key  string // the fact's Subject: "user", "user's sister"
	kin  string // role of the person, such as "sister"; "" for the user
	many bool
}

var user = subject{who: "User", key: "user"}

// relative returns the subject for a person close to the user, or for their pet.
func relative(word string) subject {
	kin := canonical("shortKin", word)
	return subject{who: "User's " + kin, key: "user's " + kin, kin: kin}
}

// reader reads the statements of one turn.
type reader struct {
	utterance  *Utterance
	readsFact  bool // the text is a stored fact, in which "User" is the speaker
	found      []Candidate
	antecedent subject // the person that "she" or "he" means; its key is "" if ambiguous
	last       subject // subject of the previous statement
}

func (r *reader) read(body string) {
	sentences := english.Read(body)
	for _, s := range english.Statements(body, sentences, r.utterance.Turn.CreatedAt) {
		if s.Conjunction != "when" && s.Conjunction != "where" {
			r.statement(phrases{&s})
		}
	}
	r.namesNextTo(body, sentences)
}

// afterLeadIn returns the index of the first token after a lead-in such as "well, you know".
func (p phrases) afterLeadIn() int {
	i := 0
	for i < len(p.Tokens)-1 {
		if p.isMark(i) || inList("openers", p.At(i)) {
			i++
			continue
		}
		lead := len(pattern("leading").FindString(p.Text(i, min(i+6, len(p.Tokens)))))
		if lead == 0 {
			return i
		}
		for end := p.Tokens[i].Start + lead; i < len(p.Tokens)-1 && p.Tokens[i].Start < end; {
			i++
		}
	}
	return i
}

// statement extracts the facts of one statement.
func (r *reader) statement(p phrases) {
	if p.IsRequest {
		r.readRequest(p)
		return
	}
	i := p.afterLeadIn()
	when := p.leadingDate(&i)
	before := r.last
	r.last = user
	person := english.Speaker
	about := user
	switch w := p.At(i); {
	case p.AfterGreeting && w == "i" && p.At(i+1) == "am" && r.match(p, user, "@hello", i+2, nil, ""):
		return
	case w == "i" || w == "we":
		i++
	case r.readsFact && w == "user" && !p.Tokens[i].Possessive:
		person = english.Singular
		i++
	case w == "she" || w == "he":
		if about = r.antecedent; !r.refersTo(w) {
			r.last = subject{}
			return
		}
		i++
	case p.InheritsSubject:
		if about = before; about.key == "" {
			return
		}
	case w == "my" || w == "our" || r.readsFact && w == "user" || inList("women", w) || inList("men", w): // "mum's coming over"
		if !inList("women", w) && !inList("men", w) {
			i++
		}
		var ok bool
		if about, i, ok = r.readAfterMy(p, i); !ok {
			return
		}
	case p.BeginsSentence && when == "" && p.omitsI(i):
		person = english.Elided
		if before.key != user.key { // "My brother called. Got a job."
			return
		}
	default:
		r.antecedent, r.last = subject{}, subject{}
		if p.BeginsSentence {
			r.readRequest(p)
		}
		return
	}
	if r.last = about; about.many {
		person = english.Plural
	} else if about.kin != "" {
		person, r.antecedent = english.Singular, about
	}
	if pred, ok := p.Predicate(i, person); ok && !r.match(p, about, pred.Lemma, pred.Rest, &pred, when) {
		r.match(p, about, "@class", pred.Rest, &pred, when)
	}
	if n := len(r.found) - 1; n > 0 && r.found[n].Model == "rule:death" && r.found[n-1].Model == "rule:pet" {
		r.found = slices.Delete(r.found, n-1, n) // the user no longer has a pet with this name
	}
}

// readRequest extracts a fact from a request: the preferred style of answers, or the user's name.
func (r *reader) readRequest(p phrases) {
	i := 0
	for i < len(p.Tokens)-1 && (inList("openers", p.At(i)) || inList("politely", p.At(i))) {
		i++
	}
	if !r.match(p, user, "@wish", i, nil, "") && p.At(0) == "from" && p.At(1) == "now" {
		r.match(p, user, "@standing", i, nil, "")
	}
}

// readAfterMy reads the person after "my" and returns the index of the predicate. If a thing follows "my", it
// applies the "my" rules and returns false.
func (r *reader) readAfterMy(p phrases, i int) (subject, int, bool) {
	isPet := false
	end := p.kinEnd(i)
	if end == i {
		end = p.afterNoun(i, 3, "petWords")
		isPet = end > i
	}
	if end == i {
		r.match(p, user, "@my", i, nil, "")
		return subject{}, 0, false
	}
	about := relative(strings.TrimPrefix(strings.ToLower(p.nameText(i, end)), "new "))
	about.many = inList("kinPlural", p.At(end-1))
	r.last = about
	j := end
	if p.Tokens[end-1].Possessive {
		if p.At(j) == "name" && p.At(j+1) == "is" {
			r.addNameAt(p, about, isPet, j+2)
			return subject{}, 0, false
		}
		r.match(p, about, "@my", j, nil, "")
	} else {
		for inList("calling", p.At(j)) {
			j++
		}
		if e := p.nameEnd(j); e > j && !about.many && p.At(e) != "and" && !(p.At(end) == "," && e == len(p.Tokens)) {
			about = r.introduce(p, about, isPet, j, e)
			j = e
		}
	}
	if p.Tokens[j-1].Possessive { // "my husband's allergic", "my dog's called Rex"
		if w := p.At(j); !inList("afterIs", w) && !inList("ailments", w) && !inList("diets", w) && !strings.HasSuffix(w, "ing") {
			return subject{}, 0, false
		}
		at := text.Span{Start: p.Tokens[j-1].End, End: p.Tokens[j-1].End}
		p.Tokens = slices.Insert(slices.Clone(p.Tokens), j, english.Token{Span: at, Low: "is"})
	}
	if k := j + 1; p.At(j) == "is" {
		if inList("calling", p.At(k)) {
			k++
		}
		if r.addNameAt(p, about, isPet, k) {
			return subject{}, 0, false
		}
	}
	return about, j, j < len(p.Tokens)
}

// addNameAt adds the name at token j as the name of a person or pet.
func (r *reader) addNameAt(p phrases, about subject, isPet bool, j int) bool {
	if end := name(p, j); end > j {
		about = r.introduce(p, about, isPet, j, end)
		r.last, r.antecedent = about, about
		return true
	}
	return false
}

// introduce adds the name of a person or pet, in tokens i up to j, and returns the subject with the name.
func (r *reader) introduce(p phrases, about subject, isPet bool, i, j int) subject {
	called, attribute := p.nameText(i, j), canonical("kinAttributes", about.kin)
	c := Candidate{Category: "family", Confidence: 0.9}
	if isPet {
		c.Text, c.Attribute, c.Model = "User has a "+about.kin+" named "+called, "pet:"+keyOf(called), "rule:pet"
	} else {
		c.Text, c.Attribute, c.Model = "User's "+about.kin+" is named "+called, attribute, "rule:kin named"
		if attribute == about.kin {
			c.Attribute += " name"
		}
	}
	r.add(p, "user", c)
	about.who += " " + called
	if !Single(attribute) {
		about.key += " " + strings.ToLower(called)
	}
	return about
}

// namesNextTo adds relatives with their names from anywhere in the text, also from questions and quoted
// words: "can my partner Tomasz eat that?".
func (r *reader) namesNextTo(body string, sentences []english.Sentence) {
	for _, sentence := range sentences {
		if sentence.Pasted || !text.ContainsAny(sentence.Of(body), "my", "our") {
			continue
		}
		s := english.StatementOf(body, sentence.Span, r.utterance.Turn.CreatedAt)
		p := phrases{&s}
		if english.IsHypothetical(s.Tokens) {
			continue
		}
		for i, t := range s.Tokens {
			k := p.kinEnd(i + 1)
			j := k
			if p.At(k) == "," {
				j++
			}
			end := p.nameEnd(j)
			if t.Low != "my" && t.Low != "our" || k == i+1 || inList("kinPlural", p.At(k-1)) || end == j || j > k && !p.isMark(end) {
				continue
			}
			called := p.nameText(j, end)
			if !slices.ContainsFunc(r.found, func(c Candidate) bool { return strings.Contains(c.Text, called) }) {
				s.Span = text.Span{Start: t.Start, End: p.Tokens[end-1].End}
				r.introduce(p, relative(strings.ToLower(p.Text(i+1, k))), false, j, end)
			}
		}
	}
}

// refersTo reports whether "she" or "he" can mean the current antecedent.
func (r *reader) refersTo(pronoun string) bool {
	kin := r.antecedent.kin
	if w := strings.TrimPrefix(kin[strings.LastIndexAny(kin, " -")+1:], "step"); inList("women", w) || inList("men", w) {
		return inList("women", w) == (pronoun == "she")
	}
	return r.antecedent.key != ""
}

// leadingDate returns a date before the subject ("Last week I …"), or "", and moves i past the date.
func (p phrases) leadingDate(i *int) string {
	j := *i
	for j < *i+6 && !p.isMark(j) && (inList("spans", p.At(j)) || inList("timing", p.At(j)) || p.At(j) == "every" || p.At(j)[0] <= '9') {
		j++
	}
	end := j
	if p.At(j) == "," {
		j++
	}
	if end == *i || p.At(j) != "i" && p.At(j) != "we" && p.At(j) != "my" {
		return ""
	}
	when := p.Text(*i, end)
	*i = j
	return strings.ToLower(when[:1]) + when[1:]
}

// omitsI reports whether the sentence at token i omits "I": "Just got back from Rome".
func (p phrases) omitsI(i int) bool {
	for english.IsAdverb(p.At(i)) && i < len(p.Tokens)-1 {
		i++
	}
	next := p.At(i + 1)
	if p.At(i) == "been" {
		return true
	}
	v, ok := english.KnownVerb(p.At(i))
	if !ok || next == "" || p.Tokens[i].Possessive || p.isMark(i+1) || english.IsConjunction(next) {
		return false
	}
	if v.Form&english.Gerund != 0 {
		return v.Class&english.Ongoing != 0 && !slices.ContainsFunc(p.Tokens[i+1:], func(t english.Token) bool {
			v, ok := english.KnownVerb(t.Low)
			return ok && v.Form == english.ThirdPersonForm || slices.Contains([]string{"is", "are", "was", "were", "has", "can", "will", "me", "would"}, t.Low)
		})
	}
	after, _ := english.KnownVerb(p.At(i + 2)) // "married couples pay less"
	past := v.Form&english.Preterite != 0 && v.Form&english.Base == 0
	return past && next != "for" && (after.Form&english.Base == 0 || inList("determiner", next))
}

// match adds the facts of the first rule with this key that applies and matches at token i.
func (r *reader) match(p phrases, about subject, key string, i int, pred *english.Predicate, when string) bool {
	for _, rule := range rules()[key] {
		if !rule.fits(p, about, pred) {
			continue
		}
		if taken, ok := p.match(rule.form, i); ok && !(pred != nil && pred.Neg != "" && rule.attribute != "" && p.isRestricted(taken)) {
			r.facts(p, about, rule, i, pred, taken, when)
			return true
		}
	}
	return false
}

// fits reports whether a rule applies to this subject and to the verbs of the statement.
func (r *rule) fits(p phrases, about subject, pred *english.Predicate) bool {
	if r.person == "user" && about.kin != "" || r.person == "kin" && about.kin == "" || r.always && !slices.ContainsFunc(p.Tokens, func(t english.Token) bool { return t.Low == "always" }) {
		return false
	}
	if pred == nil {
		denied := slices.IndexFunc(p.Tokens, func(t english.Token) bool { return t.Low == "not" })
		return r.head != "my" || p.At(denied-1) != "is" && p.At(denied-1) != "are"
	}
	if r.often && pred.Often == "" {
		return false
	}
	if r.tenses&pred.Tense == 0 && !(r.anyVerb && pred.Tense == english.Continued) || r.polarity == "yes" && pred.Neg != "" || r.polarity == "not" && pred.Neg == "" || r.polarity == "ended" && pred.Neg != "no longer" || r.polarity == "never" && pred.Neg != "never" {
		return false
	}
	if (r.classes != 0 || r.anyVerb) && (pred.Class&r.classes == 0 && !r.anyVerb || pred.Class&english.Idle != 0 && pred.Class&english.Deed == 0) {
		return false
	}
	denial := strings.HasPrefix(r.fact, "=") && r.polarity != "not"
	present := r.polarity == "never" || r.polarity == "not" || pred.Tense&(english.Present|english.Progressive|english.Continued|english.Can|english.Wish) != 0
	return pred.Neg == "" || !denial && present
}

// formMatch is the result of matching a form: its slots by name, and the index after its last token.
type formMatch struct {
	slots map[string]text.Span // ranges of tokens
	end   int
}

// match matches the tokens from index i with a form.
func (p phrases) match(form []step, i int) (formMatch, bool) {
	t := formMatch{slots: map[string]text.Span{}}
	for n, s := range form {
		switch {
		case s.end:
			if !p.isMark(i) && !inList("stops", p.At(i)) && p.At(i) != "and" && !inList("trailing", p.At(i)) && !inList("timing", p.At(i)) {
				return t, false
			}
		case s.loose:
			for i < len(p.Tokens)-1 && (english.IsAdverb(p.At(i)) || inList("particles", p.At(i))) {
				i++
			}
		case s.rest:
			j := p.ending(i)
			if p.selfContained(i, j) || len(p.dates(i, j)) > 0 {
				i = j
			} else if !s.optional || j > i {
				return t, false
			}
		case s.seek || s.kind == "..":
			from := i
			for to := form[n+1].words; !slices.Contains(to, p.At(i)); i++ {
				if i >= from+8 || p.isMark(i) {
					return t, false
				}
			}
			if s.slot != "" {
				t.slots[s.slot] = text.Span{Start: from, End: p.trimEnd(from, i)}
			}
		case s.words != nil:
			if slices.Contains(s.words, p.At(i)) {
				if s.slot != "" {
					t.slots[s.slot] = text.Span{Start: i, End: i + 1}
				}
				i++
			} else if !s.optional {
				return t, false
			}
		default:
			end := p.matchSlot(s.kind, i)
			if end <= i {
				return t, false
			}
			t.slots[s.slot] = text.Span{Start: i, End: end}
			i = end
		}
	}
	t.end = i
	return t, true
}

// isRestricted reports whether a denial has a restriction: "I don't speak Spanish at home".
func (p phrases) isRestricted(t formMatch) bool {
	if w := p.At(t.end); !p.isMark(t.end) && !inList("wholly", w) && !((w == "at" || w == "after") && p.At(t.end+1) == "all") {
		return true
	}
	for _, at := range t.slots {
		for k := at.Start + 1; k < at.End; k++ {
			if inList("hanging", p.At(k)) {
				return true
			}
		}
	}
	return false
}

// facts adds the facts of a rule f for a matched statement, one for each item of a list.
func (r *reader) facts(p phrases, about subject, f *rule, i int, pred *english.Predicate, t formMatch, when string) {
	key, slot := f.attribute, ""
	if at := strings.IndexByte(f.attribute, '<'); at >= 0 {
		key, slot = f.attribute[:at], strings.Trim(f.attribute[at:], "<>")
	}
	of := t.slots[slot]
	parts := items(p.thirdPerson(of.Start, of.End))
	for _, part := range parts {
		fill := func(s string) string {
			for name, at := range t.slots {
				with := p.thirdPerson(at.Start, at.End)
				if name == slot {
					with = part
				}
				s = strings.ReplaceAll(s, "<"+name+">", with)
			}
			return s
		}
		c := Candidate{Category: f.category, Confidence: f.confidence, Model: "rule:" + f.name, Attribute: key + keyOf(part)}
		switch {
		case f.fact == "" && pred == nil: // a possession, in the words of the statement
			c.Text = about.who + "'s " + p.thirdPerson(i, t.end)
		case f.fact == "" && len(parts) > 1:
			c.Text = about.who + " " + pred.Says() + " " + part
		case f.fact == "":
			c.Text = strings.TrimSpace(about.who + " " + pred.Says() + " " + strings.TrimSuffix(p.thirdPerson(pred.Rest, p.dateEnd(t.end)), " after all"))
		case f.fact[0] == '\'':
			c.Text = about.who + fill(f.fact)
		case f.fact[0] == '=':
			c.Text = about.who + " " + fill(f.fact[1:])
		default:
			verb, rest, _ := strings.Cut(f.fact, " ")
			now := &english.Predicate{}
			if pred != nil {
				now = pred
			}
			c.Text = about.who + " " + now.SaysNow(verb) + " " + fill(rest)
		}
		if when != "" && strings.Contains("event plan habit", f.category) {
			c.Text += " " + when
		}
		if about.kin != "" {
			c.Category = "family"
		}
		if rest, ok := strings.CutPrefix(c.Text, "User "); ok && f.category == "preference" {
			c.Text = "User " + strings.ReplaceAll(rest, "User's ", "their ")
		}
		r.add(p, about.key, c)
	}
}

// dateEnd returns the index after the date or frequency that begins at token i, or i.
func (p phrases) dateEnd(i int) int {
	j := p.ending(i)
	if p.At(i) == "every" {
		return j
	}
	if dates := p.dates(i, j); len(dates) == 1 && p.trimDate(i, j) == i {
		return j
	}
	return i
}

// add adds one fact from a statement.
func (r *reader) add(p phrases, about string, c Candidate) {
	c.Subject, c.Turn, c.Quote = about, r.utterance.Turn.ID, r.utterance.Text[p.Start:p.End]
	c.Span = &memory.Span{Turn: c.Turn, Start: p.Start, End: p.End}
	c.ValidFrom = validFrom(c.Attribute, c.Quote, r.utterance.Turn.CreatedAt)
	r.found = append(r.found, c)
}

// validFrom returns the time from which a statement is true: the only date in its words, unless in the
// future. It is zero for other words and for attributes with several values.
func validFrom(attribute, words string, writtenAt time.Time) time.Time {
	if !Single(attribute) || attribute == "birthday" || text.Negated(words) {
		return time.Time{}
	}
	dates := text.Resolve(words, writtenAt)
	if len(dates) != 1 || dates[0].From.After(writtenAt) {
		return time.Time{}
	}
	return dates[0].From
}

// items splits "peanuts, shrimp and soy" into three items. It returns other texts as one item.
func items(s string) []string {
	parts := pattern("list").Split(s, -1)
	for i, part := range parts {
		words := strings.Fields(part)
		if n := len(words); n == 0 || n > 3 || i == 0 && inList("determiner", strings.ToLower(words[0])) {
			return []string{s} // "the blue and white combination" is one thing
		}
	}
	if first, last := parts[0], parts[len(parts)-1]; strings.Contains(last, " ") && !strings.HasSuffix(first, "s") && !strings.HasSuffix(first, "ing") {
		return []string{s} // "electronic and rock music" is one thing
	}
	return parts
}
