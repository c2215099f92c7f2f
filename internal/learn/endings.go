package learn

import (
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// What is over is told in words of its own: a dog that somebody has is ended by "no
// longer has a dog", by "User's dog died" and by "gave Rex away". The forms here read
// from such a statement what it ends, and a known fact is over if it says just that.

// endSort is in what way something is over.
type endSort int

const (
	undone    endSort = iota + 1 // no longer done or had: "no longer has a dog", "quit running"
	parted                       // given away, sold, left: "sold User's car"
	died                         // "User's dog died"
	calledOff                    // "User's trip to Rome is cancelled"
	movedOut                     // "Nina moved out"
	unplanned                    // "is no longer going to Japan", "will not run the marathon"
)

var endForms = []struct {
	form  *lazy.Pattern
	sort  endSort
	given bool // what is over stands as a gerund or a noun
}{
	{lazy.Compile(`^user(?:'s [\w' -]+?)? (?:is|are) (?:no longer|not) going to (?P<what>.+)$|^user(?:'s [\w' -]+?)? will not (?P<what2>.+)$`), unplanned, false},
	{lazy.Compile(`^user(?:'s [\w' -]+?)? (?:is |are )?(?:no longer|does not|do not|doesn't|cannot) (?P<what>.+)$`), undone, false},
	{lazy.Compile(`^user(?:'s [\w' -]+?)? (?:has |have )?(?:finally )?(?:quit|stopped|gave up on|given up on|gave up|given up|is done with|came off) (?P<what>.+)$`), undone, true},
	{lazy.Compile(`^user (?:has )?(?:cancelled|canceled|called off) (?P<what>.+)$`), calledOff, false},
	{lazy.Compile(`^user(?:'s [\w' -]+?)? (?:has )?(?:sold|gave away|given away|rehomed|got rid of|donated|returned|closed|closed down|shut down) (?P<what>(?:user's|the|an?|his|her|their|both|all|most|one) .+)$`), parted, false},
	{lazy.Compile(`^user(?:'s [\w' -]+?)? (?:has )?(?:dropped out of|moved out of|graduated from) (?P<what>.+)$`), parted, false},
	{lazy.Compile(`^user gave (?P<what>.+) away\b`), parted, false},
	{lazy.Compile(`^user's (?P<what>[\pL\d' -]+?) (?:has |have |sadly )?(?:died|passed away|was put (?:down|to sleep)|ran away)\b`), died, false},
	{lazy.Compile(`^user's (?P<what>[\w' -]+?) (?:is|are|was|were|has been) (?:now )?(?:cancelled|canceled|called off|off)$`), calledOff, false},
	{lazy.Compile(`^user (?:has )?handed (?P<what>.+?) over to .+$`), undone, true},
	{lazy.Compile(`^user(?:'s [\w' -]+?)? (?:has|have) not (?:[\w]+ly )?(?P<what>.+?) (?:since|for|in)$|^user(?:'s [\w' -]+?)? (?:has|have) not (?:[\w]+ly )?(?P<what2>.+?) (?:since|for|in) .+$`), undone, false},
	{lazy.Compile(`^user (?:has )?(?:left|resigned from|stepped down from|was kicked out of) (?P<what>(?:the|user's|an?) .+?)(?: (?:over|because|after|for|due|since|when|and)\b.*)?$`), parted, false},
	{lazy.Compile(`^user (?:has )?replaced (?P<what>(?:user's|the) .+?) (?:with|by) .+$`), parted, false},
	{lazy.Compile(`^user (?:has )?(?:got|had) (?P<what>user's .+?) (?:off|out|removed)$`), parted, false},
	{lazy.Compile(`^(?P<what>[\w' -]+?) (?:has )?moved out\b`), movedOut, false},
	{lazy.Compile(`^user is (?:no longer|not) (?P<what>\w+ing .+)$`), unplanned, false},
	{lazy.Compile(`^user's (?P<what>[\w' -]+?) (?:was|were|got|has been) stolen$`), parted, false},
	{lazy.Compile(`^user (?:has )?(?:traded|swapped|exchanged|part-exchanged) (?P<what>(?:user's|the) .+?) (?:in )?for .+$`), parted, false},
	{lazy.Compile(`^user (?:has )?dropped (?P<what>.+)$`), undone, true},
}

// ending is what a statement says has come to an end.
type ending struct {
	sort  endSort
	verb  string          // the base form of the verb, of what is no longer done
	terms map[string]bool // of the rest
	at    time.Time       // when it ended, if a day is named
}

// endOf reads what a statement ends, false if it ends nothing.
func endOf(said string, at time.Time) (ending, bool) {
	dates := text.Resolve(said, at)
	folded := text.Fold(strings.TrimSpace(without(said, dates)))
	for extract.Hanging.Has(lastWord(folded)) {
		folded = strings.TrimSpace(strings.TrimSuffix(folded, lastWord(folded)))
	}
	for _, f := range endForms {
		m := f.form.FindStringSubmatch(folded)
		if m == nil {
			continue
		}
		what := m[1]
		if what == "" && len(m) > 2 {
			what = m[2]
		}
		e := ending{sort: f.sort}
		if len(dates) == 1 {
			e.at = dates[0].To
		}
		if e.sort == undone || e.sort == unplanned {
			first, rest, _ := strings.Cut(what, " ")
			if f.given && extract.Hanging.Has(first) && !articles.Has(first) && !extract.Owners.Has(first) {
				return ending{}, false // who stopped by a shop ended nothing
			}
			v, known := extract.VerbOf(first)
			noun := f.given && (!known || v.Form&extract.Gerund == 0) // "quit tennis"
			if !articles.Has(first) && !extract.Owners.Has(first) && first != "user's" && !noun {
				e.verb, what = baseVerb(first), rest
			}
		}
		e.terms = extract.TermSet(what)
		for t := range articleTerms.All() {
			delete(e.terms, t)
		}
		return e, len(e.terms) > 0 || e.verb != ""
	}
	return ending{}, false
}

var (
	articles     = lazy.Words("a an the any his her their that")
	articleTerms = lazy.SetOf("any again anymore more all place home", extract.TermsOf)
	havingForm   = lazy.Compile(`^user (?:also |still |now |currently |only )*(?:has|owns|drives|rides|keeps|adopted|bought|rents|is renting|runs|uses|subscribes to|lives with|lives in|works at) (.+)$|^user's (?:car|bike|phone|laptop|computer) is (.+)$`)
	objectEnd    = lazy.Compile(` (?:named|called|with|in|at|of|for|from|that|who|which|on|to|since)\b|[,(]`)
	many         = lazy.Compile(`^(?:two|three|four|five|six|seven|eight|nine|ten|several|many|\d+) `)
	mainVerb     = lazy.Compile(`^user(?:'s [\w-]+(?: [\w-]+)??)? (?:(?:is|are|has|have|been|also|still|now|currently|usually|always|often|regularly|sometimes|really|both) )*([\w-]+)`)
	// activity are verbs of what is named by a noun when it is given up: "quit tennis".
	activity = lazy.Words("play take attend do practise practice study learn eat drink use smoke work go have join coach teach sing love lead run volunteer attend train")
	journeys = lazy.SetOf("trip flight visit journey holiday vacation travel stay tour", extract.TermsOf)
	visits   = lazy.Words("go visit fly travel move trip come see")
	schooled = lazy.SetOf("school university college degree course class studies", extract.TermsOf)
)

func lastWord(s string) string { return s[strings.LastIndexByte(s, ' ')+1:] }

// ends reports whether what is over is what the known fact says is so.
func (e *ending) ends(c *extract.Candidate, f *memory.Fact) bool {
	if Denied(f.Content) || !e.at.IsZero() && f.ObservedAt.Sub(e.at) > outlived {
		return false
	}
	known := text.Fold(f.Content)
	switch e.sort {
	case died:
		return e.buried(c, f, known)
	case movedOut:
		m := livesWith.FindStringSubmatch(known)
		return m != nil && f.Subject == "user" && extract.Covered(less(e.terms, map[string]bool{"user": true}), extract.TermSet(m[1])) == 1
	}
	if f.Subject != c.Subject {
		return false
	}
	terms := extract.TermSet(known)
	has := func(want map[string]bool) bool {
		for t := range want {
			if !terms[t] && !bridged(t, known) {
				return false
			}
		}
		return true
	}
	switch e.sort {
	case calledOff:
		if m := havingForm.FindStringSubmatch(known); m != nil && e.holding(known) {
			return true
		}
		return toCome(f, known) && has(e.terms) || toCome(f, known) && !disjoint(e.terms, journeys.All()) && beyondJourney(e.terms) && has(less(e.terms, journeys.All()))
	case unplanned:
		if visits.Has(e.verb) {
			return toCome(f, known) && has(e.terms)
		}
		return toCome(f, known) && (e.verb == "" || terms[text.Term(e.verb)]) && has(e.terms)
	case parted:
		if rest := less(e.terms, schooled.All()); studying.MatchString(known) && (len(rest) == 0 || has(rest)) {
			return true
		}
		return e.holding(known) || e.member(known)
	}
	if !has(e.terms) && e.verb != "" && !(toCome(f, known) && visits.Has(e.verb) && has(e.terms)) {
		return false
	}
	if withoutForm.MatchString(known) {
		return false // gluten-free bread has none
	}
	switch e.verb {
	case "have", "own", "drive", "keep":
		return e.holding(known)
	case "":
		m := mainVerb.FindStringSubmatch(known)
		return m != nil && has(e.terms) && (activity.Has(baseVerb(m[1])) || m[1] == "on")
	}
	return e.doing(known, terms)
}

var withoutForm = lazy.Compile(`[- ]free\b`)

// outlived is how long after its end a fact may have been said for the end still to be
// news: who was laid off years ago works where they say they do.
const outlived = 180 * 24 * time.Hour

var studying = lazy.Compile(`^user (?:is |now |currently )*(?:studies|studying|a student|enrolled|majors)\b`)

func less(terms, gone map[string]bool) map[string]bool {
	out := map[string]bool{}
	for t := range terms {
		if !gone[t] {
			out[t] = true
		}
	}
	return out
}

// beyondJourney reports whether more is said than that it is a journey.
func beyondJourney(terms map[string]bool) bool { return len(less(terms, journeys.All())) > 0 }

// toCome reports whether a fact tells of what is to come.
func toCome(f *memory.Fact, folded string) bool {
	return f.Category == "plan" || f.Category == "goal" || strings.HasPrefix(f.Attribute, "date:") || intent.MatchString(folded)
}

// baseVerb returns the base form of a verb, or the term of a word that is none.
func baseVerb(word string) string {
	if v, ok := extract.Verbs()[word]; ok {
		return v.Lemma
	}
	return text.Term(word)
}

// holding reports whether a known fact says that the user has what is over: a thing of
// that kind, or one of that name.
func (e *ending) holding(known string) bool {
	m := havingForm.FindStringSubmatch(known)
	if m == nil {
		return false
	}
	object := m[1] + m[2]
	if strings.Contains(object, " and ") || e.sort != undone && many.MatchString(object) {
		return false // of several, who knows which
	}
	head, rest := object, ""
	if at := objectEnd.FindStringIndex(object); at != nil {
		head, rest = object[:at[0]], object[at[0]:]
	}
	last := text.Term(lastWord(strings.TrimSpace(head)))
	all := extract.TermSet(head + " " + rest)
	ofKind := e.terms[last]
	for t := range e.terms {
		if bridged(t, lastWord(strings.TrimSpace(head))) {
			ofKind = true
		} else if !all[t] {
			return false
		}
	}
	return ofKind || e.sort == calledOff || extract.Covered(e.terms, extract.TermSet(rest)) == 1
}

var (
	livesWith  = lazy.Compile(`^user (?:lives with|shares .+ with) ([\w' -]+)$`)
	memberForm = lazy.Compile(`^user (?:also |still |now |currently )*(?:is (?:a )?(?:active )?(?:member|part|volunteer|player|captain|treasurer|secretary|president|chair) (?:of|in|at|for)|is in|is on|plays [\w ]*?(?:in|for|with)|sings in|belongs to|volunteers (?:at|for|with|in)|coaches|attends|trains at|dances in) (.+)$`)
)

// member reports whether a known fact says that the user belongs to what they left.
func (e *ending) member(known string) bool {
	m := memberForm.FindStringSubmatch(known)
	return m != nil && extract.Covered(e.terms, extract.TermSet(m[1])) == 1
}

// doing reports whether a known fact says that the user does what is over.
func (e *ending) doing(known string, terms map[string]bool) bool {
	at := mainVerb.FindStringSubmatchIndex(known)
	if at == nil {
		return false
	}
	word := known[at[2]:at[3]]
	if word == "on" && e.verb == "take" {
		return true // "is on antibiotics"
	}
	if next, _, _ := strings.Cut(strings.TrimSpace(known[at[3]:]), " "); (word == "goes" || word == "go") && baseVerb(next) == e.verb {
		return true // "goes running"
	}
	if baseVerb(word) != e.verb {
		return false
	}
	if len(e.terms) > 0 {
		return true
	}
	next, _, _ := strings.Cut(strings.TrimSpace(known[at[3]:]), " ")
	// "Runs a bakery" goes on after "quit running", and "drinks tea" after "does not drink".
	return !articles.Has(next) && (next == "" || extract.Timing.Has(next) || extract.Hanging.Has(next) || extract.IsDigit(next) || extract.CountWords.Has(next) || next == "every" || next == "daily" || next == "once" || next == "twice")
}

// buried reports whether a known fact is of one who died: that the user has them, or
// how they are.
func (e *ending) buried(c *extract.Candidate, f *memory.Fact, known string) bool {
	if f.Subject == c.Subject && f.Subject != "user" {
		return !isPast.MatchString(known)
	}
	return f.Subject == "user" && e.holding(known)
}

// noCouple says that a couple is none any more.
var noCouple = lazy.Compile(`\b(?:divorced|broke up|broken up|split up|separated|left user)\b`)

// unpairs reports whether a candidate ends that somebody whom both name is the user's
// partner.
func unpairs(c extract.Candidate, f memory.Fact) bool {
	if f.Attribute != "partner" || c.Subject != f.Subject || !noCouple.MatchString(text.Fold(c.Text)) || noCouple.MatchString(text.Fold(f.Content)) {
		return false
	}
	known := nameSet(f.Content)
	for name := range nameSet(c.Text) {
		if known[name] {
			return true
		}
	}
	return false
}

// putOff reports whether a candidate gives what a known plan is about another day.
func putOff(c extract.Candidate, f memory.Fact) bool {
	of, ok := strings.CutPrefix(c.Attribute, "date:")
	if !ok || c.Subject != f.Subject || !strings.Contains(c.Text, " is now ") || f.Attribute != "" && !strings.HasPrefix(f.Attribute, "date:") {
		return false
	}
	known := text.Fold(f.Content)
	if !toCome(&f, known) || len(strings.Fields(of)) < 2 || len(text.Resolve(f.Content, f.ObservedAt)) == 0 {
		return false
	}
	terms := extract.TermSet(known)
	return !slices.ContainsFunc(strings.Fields(of), func(t string) bool { return !terms[t] })
}

// counting is a fact that says no more than how many of something the user has.
var counting = lazy.Compile(`^User (?:only )?has (?:only |now )?(\w+) ([\w-]+(?: [\w-]+)?)$`)

// recounts reports whether a fact says another number of what the known one counts. "A
// dog" may be one of two, "one dog" is not.
func recounts(said, quote, known string) bool {
	a, b := counting.FindStringSubmatch(said), counting.FindStringSubmatch(known)
	if a == nil || b == nil {
		return false
	}
	m, n := howMany(a[1]), howMany(b[1])
	if m == 0 || n == 0 || m == n || kin(text.Term(lastWord(a[2]))) != kin(text.Term(lastWord(b[2]))) {
		return false
	}
	if strings.Contains(b[2], " ") && !strings.EqualFold(a[2], b[2]) {
		return false // "a red car" may be a second one
	}
	return m > n || a[1] != "a" && a[1] != "an" || onlyNow.MatchString(quote)
}

var onlyNow = lazy.Compile(`(?i)\b(?:only|just)\b.*\b(?:now|left)\b|\bnow only\b`)

func howMany(w string) int {
	switch w = strings.ToLower(w); w {
	case "a", "an", "one":
		return 1
	case "no":
		return 0
	}
	if n := text.Numbers(w); len(n) == 1 {
		return atoi(n[0])
	}
	return 0
}

// changed are words by which people tell that something is otherwise than before.
var changed = lazy.Compile(`(?i)\b(?:now|no longer|any ?more|just|moved?|relocated|became|switched|quit|left|new|turn(?:s|ed)|got|these days|gave up|stopped|started|instead|since|again|after all)\b`)

// together reports whether a kind of relative is spoken of as one: "my parents".
var together = lazy.Words("parents kids children grandparents in-laws grandkids grandchildren twins")

// someOf reports whether a subject may be one of several: "my sister" without a name
// may be another sister than the one spoken of before.
func someOf(subject string) bool {
	of, ok := strings.CutPrefix(subject, "user's ")
	if !ok || extract.OneAtATime(of) {
		return false
	}
	last := lastWord(of)
	return (extract.KinWords.Has(last) || extract.KinPlural.Has(last) || extract.PetWords.Has(last)) && !together.Has(last) && !oneOfThem.Has(strings.Fields(of)[0])
}

var oneOfThem = lazy.Words("older younger elder oldest youngest eldest big little middle only")

// sameTimes are words of when something is done.
var sameTimes = lazy.Compile(`\b(?:mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?|mornings?|evenings?|nights?|afternoons?|usually|instead|weekends?|daily|weekly|every|each|once|twice|times?|an?|per|day|week|month|year|two|three|four|five|six|usually|always|often|on|in|at|the|around|about|\d+(?:[:.]\d\d)?(?:am|pm|km|miles)?)\b`)

// retimed reports whether two facts tell of the same habit at other times, of which the
// later is how it is now.
func retimed(c extract.Candidate, f memory.Fact) bool {
	if c.Category != f.Category || c.Category != "habit" && c.Category != "plan" || !nowSo.MatchString(c.Quote) || alsoSo.MatchString(c.Quote) || c.Subject != f.Subject {
		return false
	}
	squeeze := func(s string) []string {
		if c.Category == "plan" {
			s = without(s, text.Resolve(s, c.ObservedAt))
		}
		s = switchedTo.ReplaceAllString(s, "User ")
		terms := text.Terms(sameTimes.ReplaceAllString(text.Fold(s), " "))
		slices.Sort(terms)
		return terms
	}
	a, b := squeeze(c.Text), squeeze(f.Content)
	return len(a) > 1 && slices.Equal(a, b) && text.Fold(c.Text) != text.Fold(f.Content)
}

var (
	switchedTo = lazy.Compile(`^User (?:has )?(?:switched|changed) to `)
	nowSo      = lazy.Compile(`(?i)\b(?:now|these days|instead|nowadays|switched to|changed to|rebook(?:ed)?|rescheduled|postponed)\b`)
	alsoSo     = lazy.Compile(`(?i)\b(?:also|too|as well)\b`)
)

// disjoint reports whether two sets share nothing.
func disjoint(a, b map[string]bool) bool {
	for w := range a {
		if b[w] {
			return false
		}
	}
	return true
}
