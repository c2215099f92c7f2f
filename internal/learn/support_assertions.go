package learn

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/late"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// assertion is a piece of a sentence with one secondVerb, as far as commas and
// conjunctions tell, and what must be known of it before it supports a claim.
type assertion struct {
	text.Span
	sentence int
	text     string          // folded, with plain apostrophes
	terms    map[string]bool // as termSet gives them
	subject  subject
	asks     bool   // part of a question
	unreal   bool   // hypothetical, or in a joke or a game
	intends  bool   // what is wanted or planned, not what is
	reported bool   // what another person says or thinks
	sense    string // the words that tell whether it denies: of a list, its beginning too
	past     bool   // tells of a state that was
	unplain  bool   // [oneWay] writes it otherwise
}

// subject is whom a assertion or a claim is about.
type subject struct {
	who   who
	words []string // terms of the person or thing, where there is one: "brother", "tom"
	thing bool     // no person
}

type who int

// The kinds of subject.
const (
	unknown  who = iota
	speaker      // I, we, and what is mine
	someone      // a person that words name
	somebody     // he, she, they: a person of the sentence before; nobody in particular
	listener     // you
)

var (
	segmentCut = late.Compile(`(?i)\s*[,;:()–—]+\s+|\s+-+\s+|\s*[()]\s*|\s+(?:and|but|so|because|while|though|although|whereas|or|then|plus|since|when|where|which|who)\s+`)
	jesting    = late.Compile(`(?i)\b(?:(?:just|only) kidding|i'?m (?:kidding|joking)|jk|as a joke|role-?play|pretend(?:ing)?(?: that| to)? (?:you|i|we|be)|imagine (?:that|you|i|we)|let'?s (?:say|imagine|pretend|suppose)|in (?:the|my|this|a) (?:story|novel|game|dream|movie|film|book|play|scenario)|my character|hypothetical(?:ly)?|sarcasm|what if)\b`)
	unlikely   = late.Compile(`\b(?:(?:i|we|he|she|they|you)'d|if|unless|would(?:n't)?|could(?:n't)?|might|may be|maybe|perhaps|possibly|probably|wish|suppose|supposing|imagine|whether|as if|as though|almost|nearly|in case|thought about|not sure|wonder(?:ing)?|i think i)\b`)
	intent     = late.Compile(intentWords)
	speech     = late.Compile(`\b(?:says?|said|told|tells?|asked|asks|wrote|writes|thinks?|thought|believes?|claims?|claimed|heard|read that|according to|apparently|rumou?r(?:s|ed)?|suggests?|suggested|recommends?|recommended|accus\w+|assumes?|jokes?|joked)\b`)
	myself     = late.Compile(`^(?:i|i'm|im|i've|ive|i'll|i'd|we|we're|we've|we'll|myself)\b`)
	ownedBy    = late.Compile(`^(?:my|our|mine)\b\s*`)
	pronoun    = late.Compile(`^(?:he|she|they|his|her|their|he's|she's|they're|they've|he'll|she'll|him|them|hers|theirs)\b`)
	addressed  = late.Compile(`^(?:you|your|you're|you've|yours)\b`)
	someBody   = late.Compile(`^(?:some(?:one|body)|any(?:one|body)|every(?:one|body)|people|most|many|nobody|no one|one of|the|a|an|this|that|these|those|another|all|some)\b\s*`)
	leadIn     = late.Compile(`^(?:(?:well|so|yes|yeah|yep|no|nope|oh|ah|ok|okay|sure|right|actually|btw|by the way|also|and|but|then|anyway|honestly|fyi|to be honest|tbh|in fact|currently|now|today|recently|lately|unfortunately|sadly|luckily|just|still|even|hi|hello|hey|thanks|please|because|since|that|if|when|while|though|where|which|who|as|guess what|i think(?: that)?|i guess|i mean|you know|finally|plus|remember(?: that)?|note that|for context|today|yesterday|last \w+|this \w+|in \d{4}|\w+ly)\b[\s,:!.-]*)+`)
)

const intentWords = `\b(?:want(?:s|ed)?(?: to)?|wanna|need(?:s|ed)? to|have to|has to|plan(?:s|ning|ned)?|going to|gonna|will|'ll|hop(?:e|es|ing|ed)|intend(?:s|ing|ed)?|consider(?:s|ing|ed)?|thinking (?:of|about)|about to|dream(?:s|ing)? (?:of|about)|looking (?:to|for|at|into)|my (?:dream|goal|plan|hope|wish|ambition)|(?:i'm|im|we're|am|are|is) (?:moving|relocating|getting|leaving|starting|becoming|buying|switching|flying|joining)|one day|someday|should|must|ought to|aim(?:s|ing)? to|goal|try(?:ing)? to|tries to|would (?:like|love)|'d (?:like|love)|wish(?:es)?|decid(?:e|ed|ing) (?:to|on)|shall|interested in|apply(?:ing)?|applied|can i|let me)\b`

// people are terms of persons other than the speaker.
var people = late.SetOf(`brother sister sibling mother mom mum mommy father dad daddy parent son daughter kid child children baby wife
	husband partner spouse girlfriend boyfriend fiance fiancee friend buddy bestie uncle aunt auntie cousin niece nephew grandmother grandma
	grandfather grandpa granny grandparent stepmother stepfather stepson stepdaughter boss manager supervisor colleague coworker teammate
	neighbor neighbour roommate flatmate landlord tenant teacher professor tutor coach trainer doctor therapist dentist lawyer client
	customer student employee guest guy man woman girl boy lady person people folks family in-law ex guests twin twins team user`, termsOf)

func termsOf(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		if t := text.Term(w); t != "" {
			m[t] = true
		}
	}
	return m
}

// sameKin are names of one relative.
var sameKin = late.Make(func() map[string]string {
	m := map[string]string{}
	for _, group := range []string{"mother mom mum mommy mama", "father dad daddy papa", "grandmother grandma granny nana", "grandfather grandpa granddad",
		"kid child children", "neighbor neighbour", "colleague coworker", "roommate flatmate", "fiance fiancee", "boss manager supervisor"} {
		first := ""
		for w := range strings.FieldsSeq(group) {
			if first == "" {
				first = text.Term(w)
			}
			m[text.Term(w)] = first
		}
	}
	return m
})

// wider are the terms for a relative that hold for several: a wife is a spouse.
var wider = late.Make(func() map[string][]string {
	m := map[string][]string{}
	for narrow, wide := range map[string]string{"wife husband": "spouse partner", "girlfriend boyfriend fiance fiancee": "partner", "son daughter": "kid child", "brother sister": "sibling", "mother father": "parent"} {
		for n := range strings.FieldsSeq(narrow) {
			for w := range strings.FieldsSeq(wide) {
				m[text.Term(n)] = append(m[text.Term(n)], text.Term(w))
			}
		}
	}
	return m
})

func kin(term string) string {
	if same, ok := sameKin.Get()[term]; ok {
		return same
	}
	return term
}

// assertions reads what a turn says, in order.
func assertions(s Said) []assertion {
	var out []assertion
	jest := jesting.MatchString(text.Fold(s.Text))
	for n, sentence := range text.Sentences(s.Text) {
		body := sentence.Of(s.Text)
		parts := segments(body)
		question := text.Asks(body)
		asks := false
		var last subject
		unreal, reported := false, false
		for i, part := range parts {
			piece := part.Of(body)
			plainly := oneWay(piece)
			st := assertion{
				Span:     text.Span{Start: sentence.Start + part.Start, End: sentence.Start + part.End},
				sentence: n, text: text.Fold(plainly), terms: termSet(plainly), unplain: plainly != piece,
			}
			st.subject = readSubject(piece, s.Turn.Role)
			own := st.subject.who != unknown
			switch {
			case part.of && i > 0:
				st.subject = subject{who: someone, words: lastTerms(out[len(out)-1].text)}
			case !own:
				st.subject = last
			}
			last = st.subject
			st.past = !strings.Contains(st.text, "now") && (!own && i > 0 && out[len(out)-1].past || wasState.MatchString(st.text) && !notPast.MatchString(st.text))
			st.sense = st.text
			if !own && i > 0 && isItem(st.text) {
				st.sense = out[len(out)-1].sense + " " + st.text
			}
			unreal = unreal && !own || unlikely.MatchString(st.text)
			// What follows "she told me" is hers until the speaker speaks again.
			reported = reported && !myself.MatchString(st.text) || st.subject.who != speaker && speech.MatchString(st.text) || heard.MatchString(st.text)
			// "I live in Lisbon, what should I see?" states something before it asks.
			asks = asks || question && (i == len(parts)-1 || !own || interrogative.MatchString(st.text))
			st.asks, st.unreal, st.reported = asks, jest || unreal, reported
			st.intends = intent.MatchString(st.text)
			out = append(out, st)
		}
	}
	return out
}

// lastTerms returns the terms of the last words of s, which a relative clause
// tells of.
func lastTerms(s string) []string {
	words := strings.Fields(s)
	return text.Terms(strings.Join(words[max(0, len(words)-2):], " "))
}

// isItem reports whether s is a further thing in a list, without a verb of its own.
func isItem(s string) bool {
	words := text.Words(s)
	return len(words) > 0 && len(words) <= 3 && !strings.HasSuffix(words[0], "ed") && !strings.HasSuffix(words[0], "s") || len(words) == 1
}

var interrogative = late.Compile(`^(?:\w+ )?(?:do|does|did|is|are|am|was|were|can|could|should|would|will|have|has|what|where|when|who|how|why|which|isn't|aren't|don't|doesn't)\b`)

// heard is where the speaker passes on what another person holds.
var heard = late.Compile(`\b(?:i (?:heard|read)|told me|tells me|asked me|texted me|reminded me|according to|apparently)\b`)

// segment is a piece of a sentence between commas and conjunctions; of says that
// it tells of what the piece before ends in ("a boy who …").
type segment struct {
	text.Span
	of bool
}

func segments(s string) []segment {
	var out []segment
	start, of := 0, false
	add := func(end int) {
		if strings.TrimSpace(s[start:end]) != "" {
			out = append(out, segment{text.Span{Start: start, End: end}, of})
		}
	}
	for _, m := range segmentCut.FindAllStringIndex(s, -1) {
		before := s[start:m[0]]
		if andI.MatchString(s[m[0]:]) && isSubject(before) || exceptFor.MatchString(before) && strings.TrimSpace(s[m[0]:m[1]]) == "but" {
			continue // "my wife and I" is one subject, "all but one" one thing
		}
		add(m[0])
		start, of = m[1], relative.MatchString(s[m[0]:m[1]]) || relative.MatchString(firstWords(s[m[1]:], 1))
	}
	add(len(s))
	return out
}

var (
	relative  = late.Compile(`(?i)\b(?:who|which|whose)\b`)
	exceptFor = late.Compile(`(?i)\b(?:everything|anything|everyone|all|nothing|anyone)$`)
)

// isSubject reports whether what stands before "and I" is a person and no more.
func isSubject(s string) bool {
	words := text.Words(s)
	return len(words) > 0 && len(words) <= 4 && !slices.ContainsFunc(words, func(w string) bool { return verbish.Has(w) || strings.HasSuffix(w, "ed") })
}

var andI = late.Compile(`(?i)^\s+and\s+i\b`)

// readSubject returns whom a piece of a sentence is about, unknown if it names
// nobody.
func readSubject(piece string, role memory.Role) subject {
	folded := text.Fold(strings.TrimSpace(piece))
	led := leadIn.FindString(folded)
	rest := strings.TrimSpace(folded[len(led):])
	me, you := speaker, listener
	if role == memory.RoleAssistant {
		me, you = listener, speaker // the user is the one it speaks to
	}
	switch {
	case myself.MatchString(rest), withMe.MatchString(firstWords(rest, 5)):
		return subject{who: me}
	case addressed.MatchString(rest) && !(you == listener && toMe.MatchString(rest)):
		return subject{who: you}
	case pronoun.MatchString(rest) && !(strings.HasPrefix(rest, "the") && toMe.MatchString(rest)):
		return subject{who: somebody}
	}
	head := firstWords(rest, 5)
	if m := ownedBy.FindString(rest); m != "" {
		if persons := personsIn(head, 4); len(persons) > 0 {
			return subject{who: someone, words: persons}
		}
		return ofThing(rest[len(m):], me)
	}
	if crowd.MatchString(rest) {
		return subject{who: somebody}
	}
	if m := someBody.FindString(rest); m != "" {
		if persons := personsIn(head, 3); len(persons) > 0 {
			return subject{who: someone, words: persons}
		}
		if toMe.MatchString(rest) {
			return subject{}
		}
		return ofThing(rest[len(m):], unknown)
	}
	if persons := personsIn(firstWords(rest, 2), 2); len(persons) > 0 {
		return subject{who: someone, words: persons}
	}
	// "Tom lives …": a capitalised word before a verb in the third person.
	original := strings.TrimSpace(piece)
	if len(original) >= len(led) {
		original = strings.TrimSpace(original[len(led):])
	}
	if m := namedVerb.FindStringSubmatch(original); m != nil && !noName.Has(strings.ToLower(strings.TrimSpace(m[1]))) && !toMe.MatchString(rest) {
		return subject{who: someone, words: text.Terms(m[1])}
	}
	return subject{}
}

// ofThing returns the subject that is a thing or an animal: what it does its owner
// does not. What says something of the owner (name, job) is the owner's.
func ofThing(rest string, owner who) subject {
	var words []string
	for _, w := range text.Words(firstWords(rest, 6)) {
		if verbish.Has(w) || len(words) > 0 && (strings.HasSuffix(w, "ed") || len(w) > 4 && strings.HasSuffix(w, "es")) {
			break
		}
		t := text.Term(w)
		if ownersOwn.Has(t) {
			return subject{who: owner}
		}
		if t != "" {
			words = append(words, t)
		}
	}
	if len(words) == 0 || len(words) > 4 {
		return subject{who: owner}
	}
	return subject{who: someone, words: words, thing: true}
}

// ownersOwn are things whose description describes their owner.
var ownersOwn = late.SetOf(`name nickname job work role title occupation profession career passion life day goal plan dream hobby favorite favourite
	preference age birthday timezone diet weight height background hometown degree major thing problem issue place home blood allergy condition
	answer point case question question reason fact truth deal pronouns native first second last best biggest only mother time commute schedule
	routine habit morning evening weekend week`, termsOf)

var (
	crowd  = late.Compile(`^(?:some(?:one|body)|any(?:one|body)|every(?:one|body)|people|most|many|nobody|no one|one of|others)\b`)
	withMe = late.Compile(`\band i\b`)
	toMe   = late.Compile(`\b(?:me|my|us|our)\b`) // things do it to the speaker
)

var namedVerb = late.Compile(`^((?:\p{Lu}[\p{L}'’-]+ ?){1,3})(?:(?:also|still|now|just|really|never|always|recently) )?(?:is|was|has|had|are|will|can|does|did|lives?|works?|likes?|loves?|hates?|moved|went|got|says?|said|told|owns?|wants?|plays?|plans?|drinks?|eats?|speaks?|studies|teaches|thinks|[\p{Ll}]{3,}ed) `)

var noName = late.Words("after before during since while when although despite because once things thanks lots i it there this that today tomorrow yesterday what where who how why yes no thanks")

func firstWords(s string, n int) string {
	words := strings.Fields(s)
	return strings.Join(words[:min(n, len(words))], " ")
}

// verbish ends a noun phrase.
var verbish = late.Words(`is was are were has have had will would can could does did do am be been lives live works work likes loves hates told says said
	thinks wants moved went got gave made taught asked owns plays plans speaks studies helped and in on at of with from to for who that which`)

// personsIn returns the terms of the persons among the first words of s, up to the
// first verb or preposition, and the name that stands with them. The owner of what
// follows ("my boss's car") counts: it is about the boss.
func personsIn(s string, n int) []string {
	var out []string
	named := false
	for i, w := range text.Words(s) {
		if i > n || verbish.Has(w) {
			break
		}
		t := text.Term(w)
		if people.Has(t) {
			out = append(out, kin(t))
			named = true
		}
	}
	if !named {
		return nil
	}
	return out
}

// about reports whether the words that name a person are among the terms.
func (s subject) about(terms map[string]bool) bool {
	return slices.ContainsFunc(s.words, func(w string) bool {
		if terms[w] {
			return true
		}
		for t := range terms {
			if kin(t) == w || slices.Contains(wider.Get()[w], t) || slices.Contains(wider.Get()[t], w) {
				return true
			}
		}
		return false
	})
}
