package extract

import (
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// maxRuleFacts is the maximum number of facts from one turn. Texts with more facts are no chat messages.
const maxRuleFacts = 192

// FactsByRules extracts facts about the user and people close to the user from first-person English, with the rules
// of rules.txt instead of a model. Facts are in the third person and quote their source. Questions,
// hypothetical cases, jokes and other people's words give no facts.
func FactsByRules(utterances []Utterance) []Candidate {
	var out []Candidate
	conversation, inPlay := "", false
	for i := range utterances {
		s := &utterances[i]
		if s.Turn.Role != memory.RoleUser || IsOffTheRecord(s.Turn.Content) {
			continue
		}
		var wasPlayed bool
		if wasPlayed, inPlay = rolePlayState(s, s.InRolePlay || inPlay && s.Turn.Conversation == conversation); wasPlayed {
			conversation = s.Turn.Conversation
			continue
		}
		remembered, _ := memoryCommandsIn(*s)
		r := statementReader{utterance: s, lastSubject: userSubject}
		if !namedPattern("unmeant").MatchString(s.Text) {
			r.readText(s.Text)
		}
		out = append(append(out, remembered...), r.candidates[:min(len(r.candidates), maxRuleFacts)]...)
	}
	return out
}

// statementSubject is the person that a statement is about.
type statementSubject struct {
	factText    string // the subject in a fact's text: "User", "User's sister Ana"
	factSubject string // the fact's Subject: "user", "user's sister"
	role        string // role of the person, such as "sister"; "" for the user
	isPlural    bool
}

var userSubject = statementSubject{factText: "User", factSubject: "user"}

// relativeSubject returns the subject for a person close to the user, or for their pet.
func relativeSubject(word string) statementSubject {
	kin := canonicalForm("shortKin", word)
	return statementSubject{factText: "User's " + kin, factSubject: "user's " + kin, role: kin}
}

// statementReader reads the statements of one turn.
type statementReader struct {
	utterance    *Utterance
	isStoredFact bool // the text is a stored fact, in which "User" is the speaker
	candidates   []Candidate
	antecedent   statementSubject // the person that "she" or "he" means; its factSubject is "" if ambiguous
	lastSubject  statementSubject // subject of the previous statement
}

func (r *statementReader) readText(content string) {
	sentences := english.ParseSentences(content)
	for _, s := range english.Statements(content, sentences, r.utterance.Turn.CreatedAt) {
		if s.Conjunction != "when" && s.Conjunction != "where" {
			r.readStatement(phraseReader{&s})
		}
	}
	r.addNamedRelatives(content, sentences)
}

// leadInEnd returns the index of the first token after a lead-in such as "well, you know".
func (p phraseReader) leadInEnd() int {
	i := 0
	for i < len(p.Tokens)-1 {
		if p.isMark(i) || isInList("openers", p.WordAt(i)) {
			i++
			continue
		}
		lead := len(namedPattern("leading").FindString(p.Text(i, min(i+6, len(p.Tokens)))))
		if lead == 0 {
			return i
		}
		for end := p.Tokens[i].Start + lead; i < len(p.Tokens)-1 && p.Tokens[i].Start < end; {
			i++
		}
	}
	return i
}

// readStatement extracts the facts of one statement.
func (r *statementReader) readStatement(p phraseReader) {
	if p.IsRequest {
		r.readRequest(p)
		return
	}
	i := p.leadInEnd()
	when := p.leadingDate(&i)
	previous := r.lastSubject
	r.lastSubject = userSubject
	person := english.PersonSpeaker
	about := userSubject
	switch w := p.WordAt(i); {
	case p.IsAfterGreeting && w == "i" && p.WordAt(i+1) == "am" && r.applyRules(p, userSubject, "@hello", i+2, nil, ""):
		return
	case w == "i" || w == "we":
		i++
	case r.isStoredFact && w == "user" && !p.Tokens[i].IsPossessive:
		person = english.PersonSingular
		i++
	case w == "she" || w == "he":
		if about = r.antecedent; !r.antecedentFits(w) {
			r.lastSubject = statementSubject{}
			return
		}
		i++
	case p.InheritsSubject:
		if about = previous; about.factSubject == "" {
			return
		}
	case w == "my" || w == "our" || r.isStoredFact && w == "user" || isInList("women", w) || isInList("men", w): // "mum's coming over"
		if !isInList("women", w) && !isInList("men", w) {
			i++
		}
		var ok bool
		if about, i, ok = r.readAfterMy(p, i); !ok {
			return
		}
	case p.BeginsSentence && when == "" && p.omitsSpeaker(i):
		person = english.PersonElided
		if previous.factSubject != userSubject.factSubject { // who got the job is unclear: "My brother called. Got a job."
			return
		}
	default:
		r.antecedent, r.lastSubject = statementSubject{}, statementSubject{}
		if p.BeginsSentence {
			r.readRequest(p)
		}
		return
	}
	if r.lastSubject = about; about.isPlural {
		person = english.PersonPlural
	} else if about.role != "" {
		person, r.antecedent = english.PersonSingular, about
	}
	if pred, ok := p.Predicate(i, person); ok && !r.applyRules(p, about, pred.BaseForm, pred.NextToken, &pred, when) {
		r.applyRules(p, about, "@class", pred.NextToken, &pred, when)
	}
	if n := len(r.candidates) - 1; n > 0 && r.candidates[n].Model == "rule:death" && r.candidates[n-1].Model == "rule:pet" {
		r.candidates = slices.Delete(r.candidates, n-1, n) // the user no longer has a pet with this name
	}
}

// readRequest extracts a fact from a request: the preferred style of answers, or the user's name.
func (r *statementReader) readRequest(p phraseReader) {
	i := 0
	for i < len(p.Tokens)-1 && (isInList("openers", p.WordAt(i)) || isInList("politely", p.WordAt(i))) {
		i++
	}
	if !r.applyRules(p, userSubject, "@wish", i, nil, "") && p.WordAt(0) == "from" && p.WordAt(1) == "now" {
		r.applyRules(p, userSubject, "@standing", i, nil, "")
	}
}

// readAfterMy reads the person after "my" and returns the index of the predicate. If a thing follows "my", it
// applies the "my" rules and returns false.
func (r *statementReader) readAfterMy(p phraseReader, i int) (statementSubject, int, bool) {
	isPet := false
	end := p.kinEnd(i)
	if end == i {
		end = p.nounEnd(i, 3, "petWords")
		isPet = end > i
	}
	if end == i {
		r.applyRules(p, userSubject, "@my", i, nil, "")
		return statementSubject{}, 0, false
	}
	about := relativeSubject(strings.TrimPrefix(strings.ToLower(p.nameWithoutGenitive(i, end)), "new "))
	about.isPlural = isInList("kinPlural", p.WordAt(end-1))
	r.lastSubject = about
	j := end
	if p.Tokens[end-1].IsPossessive {
		if p.WordAt(j) == "name" && p.WordAt(j+1) == "is" {
			r.addNameAt(p, about, isPet, j+2)
			return statementSubject{}, 0, false
		}
		r.applyRules(p, about, "@my", j, nil, "")
	} else {
		for isInList("calling", p.WordAt(j)) {
			j++
		}
		if e := p.nameEnd(j); e > j && !about.isPlural && p.WordAt(e) != "and" && !(p.WordAt(end) == "," && e == len(p.Tokens)) {
			about = r.addName(p, about, isPet, j, e)
			j = e
		}
	}
	if p.Tokens[j-1].IsPossessive { // 's may mean "is": "my husband's allergic", "my dog's called Rex"
		if w := p.WordAt(j); !isInList("afterIs", w) && !isInList("ailments", w) && !isInList("diets", w) && !strings.HasSuffix(w, "ing") {
			return statementSubject{}, 0, false
		}
		at := text.Span{Start: p.Tokens[j-1].End, End: p.Tokens[j-1].End}
		p.Tokens = slices.Insert(slices.Clone(p.Tokens), j, english.Token{Span: at, Lower: "is"})
	}
	if k := j + 1; p.WordAt(j) == "is" {
		if isInList("calling", p.WordAt(k)) {
			k++
		}
		if r.addNameAt(p, about, isPet, k) {
			return statementSubject{}, 0, false
		}
	}
	return about, j, j < len(p.Tokens)
}

// addNameAt adds the name at token j as the name of a person or pet.
func (r *statementReader) addNameAt(p phraseReader, person statementSubject, isPet bool, j int) bool {
	if end := slotName(p, j); end > j {
		person = r.addName(p, person, isPet, j, end)
		r.lastSubject, r.antecedent = person, person
		return true
	}
	return false
}

// addName adds the name of a person or pet, in tokens i up to j, and returns the subject with the name.
func (r *statementReader) addName(p phraseReader, person statementSubject, isPet bool, i, j int) statementSubject {
	name, attribute := p.nameWithoutGenitive(i, j), canonicalForm("kinAttributes", person.role)
	c := Candidate{Category: "family", Confidence: 0.9}
	if isPet {
		c.Text, c.Attribute, c.Model = "User has a "+person.role+" named "+name, "pet:"+attributeKey(name), "rule:pet"
	} else {
		c.Text, c.Attribute, c.Model = "User's "+person.role+" is named "+name, attribute, "rule:kin named"
		if attribute == person.role {
			c.Attribute += " name"
		}
	}
	r.addCandidate(p, "user", c)
	person.factText += " " + name
	if !IsSingleValued(attribute) {
		person.factSubject += " " + strings.ToLower(name)
	}
	return person
}

// addNamedRelatives adds relatives with their names from anywhere in the text, also from questions and quoted
// words: "can my partner Tomasz eat that?".
func (r *statementReader) addNamedRelatives(content string, sentences []english.Sentence) {
	for _, sentence := range sentences {
		if sentence.IsPasted || !text.ContainsAny(sentence.Slice(content), "my", "our") {
			continue
		}
		s := english.StatementOf(content, sentence.Span, r.utterance.Turn.CreatedAt)
		p := phraseReader{&s}
		if english.IsHypothetical(s.Tokens) {
			continue
		}
		for i, t := range s.Tokens {
			k := p.kinEnd(i + 1)
			j := k
			if p.WordAt(k) == "," {
				j++
			}
			end := p.nameEnd(j)
			if t.Lower != "my" && t.Lower != "our" || k == i+1 || isInList("kinPlural", p.WordAt(k-1)) || end == j || j > k && !p.isMark(end) {
				continue
			}
			name := p.nameWithoutGenitive(j, end)
			if !slices.ContainsFunc(r.candidates, func(c Candidate) bool { return strings.Contains(c.Text, name) }) {
				s.Span = text.Span{Start: t.Start, End: p.Tokens[end-1].End}
				r.addName(p, relativeSubject(strings.ToLower(p.Text(i+1, k))), false, j, end)
			}
		}
	}
}

// antecedentFits reports whether "she" or "he" can mean the current antecedent.
func (r *statementReader) antecedentFits(pronoun string) bool {
	kin := r.antecedent.role
	if w := strings.TrimPrefix(kin[strings.LastIndexAny(kin, " -")+1:], "step"); isInList("women", w) || isInList("men", w) {
		return isInList("women", w) == (pronoun == "she")
	}
	return r.antecedent.factSubject != ""
}

// leadingDate returns a date before the subject ("Last week I …"), or "", and moves i past the date.
func (p phraseReader) leadingDate(i *int) string {
	j := *i
	for j < *i+6 && !p.isMark(j) && (isInList("spans", p.WordAt(j)) || isInList("timing", p.WordAt(j)) || p.WordAt(j) == "every" || p.WordAt(j)[0] <= '9') {
		j++
	}
	end := j
	if p.WordAt(j) == "," {
		j++
	}
	if end == *i || p.WordAt(j) != "i" && p.WordAt(j) != "we" && p.WordAt(j) != "my" {
		return ""
	}
	when := p.Text(*i, end)
	*i = j
	return strings.ToLower(when[:1]) + when[1:]
}

// omitsSpeaker reports whether the sentence at token i omits "I": "Just got back from Rome".
func (p phraseReader) omitsSpeaker(i int) bool {
	for english.IsAdverb(p.WordAt(i)) && i < len(p.Tokens)-1 {
		i++
	}
	next := p.WordAt(i + 1)
	if p.WordAt(i) == "been" {
		return true
	}
	v, ok := english.KnownVerb(p.WordAt(i))
	if !ok || next == "" || p.Tokens[i].IsPossessive || p.isMark(i+1) || english.IsConjunction(next) {
		return false
	}
	if v.Form&english.Gerund != 0 {
		return v.Class&english.Ongoing != 0 && !slices.ContainsFunc(p.Tokens[i+1:], func(t english.Token) bool {
			v, ok := english.KnownVerb(t.Lower)
			return ok && v.Form == english.ThirdPersonForm || slices.Contains([]string{"is", "are", "was", "were", "has", "can", "will", "me", "would"}, t.Lower)
		})
	}
	after, _ := english.KnownVerb(p.WordAt(i + 2)) // a verb after the noun: "married couples pay less"
	past := v.Form&english.Preterite != 0 && v.Form&english.Base == 0
	return past && next != "for" && (after.Form&english.Base == 0 || isInList("determiner", next))
}

// applyRules adds the facts of the first rule with this key that applies and matches at token i.
func (r *statementReader) applyRules(p phraseReader, person statementSubject, key string, i int, predicate *english.Predicate, leadingDate string) bool {
	for _, rule := range rulesByKey()[key] {
		if !rule.appliesTo(p, person, predicate) {
			continue
		}
		if matched, ok := p.matchSteps(rule.steps, i); ok && !(predicate != nil && predicate.Negation != "" && rule.attribute != "" && p.isRestricted(matched)) {
			r.addFacts(p, person, rule, i, predicate, matched, leadingDate)
			return true
		}
	}
	return false
}

// appliesTo reports whether a rule applies to this subject and to the verbs of the statement.
func (r *factRule) appliesTo(p phraseReader, person statementSubject, predicate *english.Predicate) bool {
	if r.person == "user" && person.role != "" || r.person == "kin" && person.role == "" || r.needsAlways && !slices.ContainsFunc(p.Tokens, func(t english.Token) bool { return t.Lower == "always" }) {
		return false
	}
	if predicate == nil {
		denied := slices.IndexFunc(p.Tokens, func(t english.Token) bool { return t.Lower == "not" })
		return r.nonVerbHead != "my" || p.WordAt(denied-1) != "is" && p.WordAt(denied-1) != "are"
	}
	if r.needsFrequency && predicate.Frequency == "" {
		return false
	}
	if r.tenses&predicate.Tense == 0 && !(r.matchesAnyVerb && predicate.Tense == english.Continued) || r.polarity == "yes" && predicate.Negation != "" || r.polarity == "not" && predicate.Negation == "" || r.polarity == "ended" && predicate.Negation != "no longer" || r.polarity == "never" && predicate.Negation != "never" {
		return false
	}
	if (r.verbClasses != 0 || r.matchesAnyVerb) && (predicate.Class&r.verbClasses == 0 && !r.matchesAnyVerb || predicate.Class&english.Idle != 0 && predicate.Class&english.Deed == 0) {
		return false
	}
	denial := strings.HasPrefix(r.factTemplate, "=") && r.polarity != "not"
	present := r.polarity == "never" || r.polarity == "not" || predicate.Tense&(english.Present|english.Progressive|english.Continued|english.Can|english.Wish) != 0
	return predicate.Negation == "" || !denial && present
}

// formMatch is the result of matching a rule's steps: the slots by name, and the index after the last token.
type formMatch struct {
	slots map[string]text.Span // ranges of tokens
	end   int
}

// matchSteps matches the tokens from index i with a rule's steps, and reports whether all steps match.
func (p phraseReader) matchSteps(steps []formStep, i int) (formMatch, bool) {
	t := formMatch{slots: map[string]text.Span{}}
	for n, s := range steps {
		switch {
		case s.endsPhrase:
			if !p.isMark(i) && !isInList("stops", p.WordAt(i)) && p.WordAt(i) != "and" && !isInList("trailing", p.WordAt(i)) && !isInList("timing", p.WordAt(i)) {
				return t, false
			}
		case s.skipAdverbs:
			for i < len(p.Tokens)-1 && (english.IsAdverb(p.WordAt(i)) || isInList("particles", p.WordAt(i))) {
				i++
			}
		case s.matchesAnyWords:
			j := p.phraseEnd(i)
			if p.isSelfContained(i, j) || len(p.dates(i, j)) > 0 {
				i = j
			} else if !s.isOptional || j > i {
				return t, false
			}
		case s.skipToNext || s.kind == "..":
			from := i
			for to := steps[n+1].acceptedWords; !slices.Contains(to, p.WordAt(i)); i++ {
				if i >= from+8 || p.isMark(i) {
					return t, false
				}
			}
			if s.slotKey != "" {
				t.slots[s.slotKey] = text.Span{Start: from, End: p.trimFillers(from, i)}
			}
		case s.acceptedWords != nil:
			if slices.Contains(s.acceptedWords, p.WordAt(i)) {
				if s.slotKey != "" {
					t.slots[s.slotKey] = text.Span{Start: i, End: i + 1}
				}
				i++
			} else if !s.isOptional {
				return t, false
			}
		default:
			end := p.matchSlot(s.kind, i)
			if end <= i {
				return t, false
			}
			t.slots[s.slotKey] = text.Span{Start: i, End: end}
			i = end
		}
	}
	t.end = i
	return t, true
}

// isRestricted reports whether a denial has a restriction: "I don't speak Spanish at home".
func (p phraseReader) isRestricted(t formMatch) bool {
	if w := p.WordAt(t.end); !p.isMark(t.end) && !isInList("wholly", w) && !((w == "at" || w == "after") && p.WordAt(t.end+1) == "all") {
		return true
	}
	for _, at := range t.slots {
		for k := at.Start + 1; k < at.End; k++ {
			if isInList("hanging", p.WordAt(k)) {
				return true
			}
		}
	}
	return false
}

// addFacts adds the facts of rule f for a matched statement, one for each item of a list.
func (r *statementReader) addFacts(p phraseReader, person statementSubject, f *factRule, i int, predicate *english.Predicate, t formMatch, leadingDate string) {
	key, slot := f.attribute, ""
	if at := strings.IndexByte(f.attribute, '<'); at >= 0 {
		key, slot = f.attribute[:at], strings.Trim(f.attribute[at:], "<>")
	}
	slotTokens := t.slots[slot]
	parts := splitList(p.inThirdPerson(slotTokens.Start, slotTokens.End))
	for _, part := range parts {
		fill := func(s string) string {
			for name, at := range t.slots {
				value := p.inThirdPerson(at.Start, at.End)
				if name == slot {
					value = part
				}
				s = strings.ReplaceAll(s, "<"+name+">", value)
			}
			return s
		}
		c := Candidate{Category: f.category, Confidence: f.confidence, Model: "rule:" + f.name, Attribute: key + attributeKey(part)}
		switch {
		case f.factTemplate == "" && predicate == nil: // a possession, in the words of the statement
			c.Text = person.factText + "'s " + p.inThirdPerson(i, t.end)
		case f.factTemplate == "" && len(parts) > 1:
			c.Text = person.factText + " " + predicate.InThirdPerson() + " " + part
		case f.factTemplate == "":
			c.Text = strings.TrimSpace(person.factText + " " + predicate.InThirdPerson() + " " + strings.TrimSuffix(p.inThirdPerson(predicate.NextToken, p.dateEnd(t.end)), " after all"))
		case f.factTemplate[0] == '\'':
			c.Text = person.factText + fill(f.factTemplate)
		case f.factTemplate[0] == '=':
			c.Text = person.factText + " " + fill(f.factTemplate[1:])
		default:
			verb, rest, _ := strings.Cut(f.factTemplate, " ")
			now := &english.Predicate{}
			if predicate != nil {
				now = predicate
			}
			c.Text = person.factText + " " + now.WithVerb(verb) + " " + fill(rest)
		}
		if leadingDate != "" && strings.Contains("event plan habit", f.category) {
			c.Text += " " + leadingDate
		}
		if person.role != "" {
			c.Category = "family"
		}
		if rest, ok := strings.CutPrefix(c.Text, "User "); ok && f.category == "preference" {
			c.Text = "User " + strings.ReplaceAll(rest, "User's ", "their ")
		}
		r.addCandidate(p, person.factSubject, c)
	}
}

// dateEnd returns the index after the date or frequency that begins at token i, or i if there is none.
func (p phraseReader) dateEnd(i int) int {
	j := p.phraseEnd(i)
	if p.WordAt(i) == "every" {
		return j
	}
	if dates := p.dates(i, j); len(dates) == 1 && p.trimDate(i, j) == i {
		return j
	}
	return i
}

func (r *statementReader) addCandidate(p phraseReader, subject string, c Candidate) {
	c.Subject, c.TurnID, c.Quote = subject, r.utterance.Turn.ID, r.utterance.Text[p.Start:p.End]
	c.Span = &memory.Span{Turn: c.TurnID, Start: p.Start, End: p.End}
	c.ValidFrom = validFrom(c.Attribute, c.Quote, r.utterance.Turn.CreatedAt)
	r.candidates = append(r.candidates, c)
}

// validFrom returns the time from which a statement is true: the only date in words. It returns zero if words have no
// date, several dates or a future date, or if the attribute may have several values.
func validFrom(attribute, words string, writtenAt time.Time) time.Time {
	if !IsSingleValued(attribute) || attribute == "birthday" || text.HasNegation(words) {
		return time.Time{}
	}
	dates := text.ResolveDates(words, writtenAt)
	if len(dates) != 1 || dates[0].From.After(writtenAt) {
		return time.Time{}
	}
	return dates[0].From
}

// splitList splits "peanuts, shrimp and soy" into three items. It returns other texts as one item.
func splitList(s string) []string {
	parts := namedPattern("list").Split(s, -1)
	for i, part := range parts {
		words := strings.Fields(part)
		if n := len(words); n == 0 || n > 3 || i == 0 && isInList("determiner", strings.ToLower(words[0])) {
			return []string{s} // "the blue and white combination" is one thing
		}
	}
	if first, last := parts[0], parts[len(parts)-1]; strings.Contains(last, " ") && !strings.HasSuffix(first, "s") && !strings.HasSuffix(first, "ing") {
		return []string{s} // "electronic and rock music" is one thing
	}
	return parts
}
