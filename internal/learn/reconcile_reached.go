package learn

import (
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/late"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Much of what people tell as news changes what was so without a word of its end: what
// was wanted is got, what was worked on is done, a child is born, a sum is another one.

// overtaken returns why a known fact holds no more once a candidate does, "" if it does
// still. It looks at what is neither ended in words nor another value of one attribute.
func overtaken(c *Candidate, f *memory.Fact) string {
	if Denied(c.Text) {
		if replacedBy(c, f) {
			return "somebody else is now"
		}
		return ""
	}
	if Denied(f.Content) {
		if hasNow(c, f) {
			return "has one now"
		}
		return ""
	}
	switch {
	case reached(c, f):
		return "it is reached"
	case finished(c, f):
		return "it is done"
	case delivered(c, f):
		return "the child is born"
	case remeasured(c, f):
		return "another amount"
	case restudied(c, f):
		return "studies something else"
	case turnedDown(c, f):
		return "it was refused"
	case healed(c, f):
		return "it is healed"
	}
	return ""
}

// aimsAt is a known fact of something that the user means to do or to get.
var aimsAt = late.Compile(`^user (?:also |still |really |now )*(?:wants? to|would (?:like|love) to|plans? to|is planning to|hopes? to|is hoping to|needs? to|intends to|is going to|(?:has )?decided to|aims? to|is trying to|tries to|has to|cannot wait to|is saving (?:up )?to|is thinking of|is thinking about|is considering|dreams of) (?P<verb>[\w-]+)(?P<what> .+)$|^user is (?:still |also |now )*(?:looking|searching|saving up|saving) for(?P<sought> .+)$`)

// deedGroups are verbs for much the same when something meant is done.
var deedGroups = late.Make(func() map[string]string {
	out := map[string]string{}
	for _, group := range []string{"get buy find purchase acquire adopt order rent have sign land receive", "visit go travel fly", "finish complete submit", "quit leave", "move relocate"} {
		first, _, _ := strings.Cut(group, " ")
		for w := range strings.FieldsSeq(group) {
			out[w] = first
		}
	}
	return out
})

func deedOf(lemma string) string {
	if g := deedGroups.Get()[lemma]; g != "" {
		return g
	}
	return lemma
}

// reached reports whether a candidate says that what the user meant to do is done: "wants
// to buy an electric car", "bought an electric car". Learning is never done.
func reached(c *Candidate, f *memory.Fact) bool {
	if c.Subject != "user" || f.Subject != "user" || toCome(&memory.Fact{Category: c.Category, Attribute: c.Attribute}, text.Fold(c.Text)) {
		return false
	}
	known := text.Fold(strings.TrimSpace(without(f.Content, text.Resolve(f.Content, f.ObservedAt))))
	m := aimsAt.FindStringSubmatch(known)
	if m == nil {
		return false
	}
	meant, object := deedOf(baseVerb(m[1])), m[2]+m[3]
	if m[3] != "" {
		meant = "get"
	}
	if meant == "learn" || meant == "be" || earlier(c, f) {
		return false
	}
	after, did := didSo(c.Quote, meant)
	if !did {
		return false
	}
	done := doneForm.FindStringSubmatch(text.Fold(without(c.Text, text.Resolve(c.Text, c.ObservedAt))))
	return done != nil && sameObject(object, done[1]) || sameObject(object, after)
}

// doneForm is what somebody did, or has since.
var doneForm = late.Compile(`^user (?:has |finally |just |already |now )*(?:[\w-]+)((?: (?:to|a|an|the|user's|new|our|his|her) .+| .+))$`)

// didSo reports whether words have a verb in the past for what was meant, and returns
// what stands after it.
func didSo(quote, meant string) (after string, did bool) {
	words := strings.Fields(text.Fold(quote))
	for i, w := range words {
		v, ok := verbs()[strings.Trim(w, ".,;:!?()")]
		if ok && v.form&(preterite|participle) != 0 && (v.form&base == 0 || v.lemma == "quit" || v.lemma == "run") && deedOf(v.lemma) == meant {
			return strings.TrimRight(strings.Join(words[i+1:], " "), ".!"), true
		}
	}
	return "", false
}

// sameObject reports whether what was done is what was meant: the same noun with the
// same words before it, and nothing named that differs.
func sameObject(meant, did string) bool {
	headOf := func(s string) (head, rest map[string]bool) {
		s = strings.TrimSpace(s)
		for _, lead := range []string{"to ", "for ", "in ", "at ", "myself ", "themself "} {
			s = strings.TrimPrefix(s, lead)
		}
		at := objectEnd.FindStringIndex(s)
		h, r := s, ""
		if at != nil {
			h, r = s[:at[0]], s[at[0]:]
		}
		return less(termSet(h), newness.All()), termSet(r)
	}
	a, rest := headOf(meant)
	b, more := headOf(did)
	if len(a) == 0 || len(a) != len(b) || covered(a, b) < 1 {
		return false
	}
	// "A flat in Hamburg" is found by "a flat", not by "a flat in Kiel".
	return len(rest) == 0 || len(more) == 0 || covered(rest, more) > 0 || covered(more, rest) > 0
}

var newness = late.SetOf("new another one some second-hand used finally a an the his her user own", termsOf)

// earlier reports whether what a candidate tells was so before the known fact was said.
func earlier(c *Candidate, f *memory.Fact) bool {
	for _, d := range text.Resolve(c.Text, c.ObservedAt) {
		if d.To.Before(f.ObservedAt.Add(-24 * time.Hour)) {
			return true
		}
	}
	return false
}

var (
	completedForm = late.Compile(`^user (?:has |have )?(?:finally |just |now |successfully )*(?P<verb>finished|completed|handed in|submitted|turned in|wrapped up|passed|aced|published|defended|delivered|sat|took|ran|did|got through|is done with|is finished with|is through with) (?P<what>.+)$|^user's (?P<what2>.+?) is finished$`)
	underway      = late.Compile(`^user (?:is|has been) (?:still |currently |also |now |busy )*(?P<verb>writing|working on|preparing|training|reading|studying|building|renovating|knitting|sewing|painting|revising|editing|translating|taking|doing|practising|practicing|cramming|restoring|drafting|remodeling|remodelling|planning|organizing|organising|rehearsing|sitting)(?: for| on)? (?P<what>.+)$|^user (?:wants|plans|hopes|needs|intends|aims|has) to (?P<verb2>finish|complete|pass|submit|hand in|run|write|take) (?P<what2>.+)$|^user has (?P<what3>(?:an? |user's )?(?:[\w-]+ ){0,3}(?:exam|test|deadline|assignment|presentation)\b.*)$`)
	attempted     = late.Words("sat took ran did")
)

// finished reports whether a candidate says that what was under way is done: "is writing
// a thesis on reefs", "handed in the thesis".
func finished(c *Candidate, f *memory.Fact) bool {
	if c.Subject != f.Subject || earlier(c, f) {
		return false
	}
	did := completedForm.FindStringSubmatch(text.Fold(without(c.Text, text.Resolve(c.Text, c.ObservedAt))))
	going := underway.FindStringSubmatch(text.Fold(without(f.Content, text.Resolve(f.Content, f.ObservedAt))))
	if did == nil || going == nil {
		return false
	}
	if attempted.Has(did[1]) && !aspired.MatchString(going[1]+going[3]) {
		return false
	}
	what := did[2] + did[3]
	if first, rest, ok := strings.Cut(what, " "); ok && strings.HasSuffix(first, "ing") {
		if v, known := verbOf(first); known && v.form&gerund != 0 {
			what = rest // "finished reading Dune"
		}
	}
	at := objectEnd.FindStringIndex(what)
	if at != nil {
		what = what[:at[0]]
	}
	terms, known := less(termSet(what), newness.All()), termSet(going[2]+going[4]+going[5])
	delete(terms, "user")
	if doing := text.Term(going[1]); len(terms) > 1 {
		delete(terms, doing) // "the kitchen renovation" is what was renovated
	}
	return len(terms) > 0 && covered(terms, known) == 1
}

// aspired are what people are about until the day comes.
var aspired = late.Compile(`^(?:preparing|training|studying|revising|cramming|rehearsing|practi[sc]ing|pass|run|take)$`)

var (
	bornForm     = late.Compile(`^user's (?:[\w-]+ )?(?:son|daughter|baby|twins|child|little (?:girl|boy)|kid)s? (?:[\w-]+ )?(?:was|were|is|has been) (?:finally )?born\b|\b(?:had|gave birth to|welcomed) (?:a|an|the|user's|our|his|her|their|twin) ?(?:[\w-]+ ){0,2}(?:baby|boy|girl|son|daughter|twins|boys|girls)\b|\bgave birth\b`)
	expectedForm = late.Compile(`^user(?:'s (?:wife|partner|girlfriend|fiancee))? (?:[\w']+ )?(?:is|are) (?:[\w-]+ )*(?:pregnant|expecting)\b|\bbaby is due\b|\bis due\b.*\bbaby\b`)
)

// delivered reports whether a candidate tells that a child was born that was expected.
func delivered(c *Candidate, f *memory.Fact) bool {
	return (c.Subject == "user" || partnersOwn(c.Subject)) && (f.Subject == "user" || partnersOwn(f.Subject)) && expectedForm.MatchString(text.Fold(f.Content)) && bornForm.MatchString(text.Fold(c.Text)) && !earlier(c, f)
}

// justBorn reports whether words tell that a child of the user's was born these days.
func justBorn(subject, said, when string, now time.Time) bool {
	if !strings.HasPrefix(said, "User's ") || subject == "user" || !strings.Contains(said, " born") || !bornForm.MatchString(text.Fold(said)) {
		return false
	}
	dates := text.Resolve(said+" "+when, now)
	return len(dates) > 0 && now.Sub(dates[0].To) < recent && !dates[0].From.After(now)
}

func partnersOwn(subject string) bool {
	of, ok := strings.CutPrefix(subject, "user's ")
	first, _, _ := strings.Cut(of, " ")
	return ok && partners.Has(first)
}

var (
	nowForm    = late.Compile(`^user's (?P<what>.+?) is now (?P<value>.*\d.*)$`)
	downToForm = late.Compile(`^user is (?:now )?(?:down|up) to (?P<value>.+)$`)
	amountForm = late.Compile(`\b(?P<n>\d[\d.,]*|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|a|an|one|half a|half an) ?(?P<unit>[a-z€$£%]+)`)
)

// remeasured reports whether a candidate says another amount of what is known in the same
// unit: "takes 10 mg of lisinopril", "lisinopril is now 20 mg".
func remeasured(c *Candidate, f *memory.Fact) bool {
	if c.Subject != f.Subject || toCome(f, text.Fold(f.Content)) {
		return false
	}
	said, known := text.Fold(oneWay(c.Text)), text.Fold(oneWay(f.Content))
	terms := termSet(known)
	if m := nowForm.FindStringSubmatch(said); m != nil {
		what := termSet(m[1])
		value, had := amountForm.FindStringSubmatch(m[2]), amountForm.FindAllStringSubmatch(known, -1)
		if bare := bareNumber.FindString(m[2]); value == nil && bare != "" && len(what) > 0 && covered(what, terms) == 1 {
			return anyNumber.MatchString(known) && !strings.Contains(known, bare) // "upped to 75"
		}
		if value == nil || len(what) == 0 || covered(what, terms) < 1 {
			return false
		}
		return slices.ContainsFunc(had, func(h []string) bool { return h[2] == value[2] && h[1] != value[1] })
	}
	if m := downToForm.FindStringSubmatch(said); m != nil {
		value := termSet(numberWords.ReplaceAllString(m[1], " "))
		return len(value) > 1 && covered(value, terms) == 1 && amountForm.MatchString(known) && !strings.Contains(known, m[1])
	}
	return false
}

var (
	bareNumber = late.Compile(`^\d[\d.,]*$`)
	anyNumber  = late.Compile(`\b\d[\d.,]*`)
)

var numberWords = late.Compile(`\b(?:\d[\d.,]*|one|a|an|per|half)\b`)

// restudied reports whether a candidate says what the user went over to study.
func restudied(c *Candidate, f *memory.Fact) bool {
	return c.Subject == f.Subject && c.Model == "rule:switched studies" && studying.MatchString(text.Fold(f.Content))
}

var (
	refusedBy = late.Compile(`^(?P<who>.+?) (?:turned user down|rejected user)$`)
	applied   = late.Compile(`\b(?:interview|appl(?:y|ied|ying|ication|ies)|offer|audition)\b`)
)

// turnedDown reports whether a candidate says that those refused to whom the user applied.
func turnedDown(c *Candidate, f *memory.Fact) bool {
	m := refusedBy.FindStringSubmatch(text.Fold(strings.TrimSpace(without(c.Text, text.Resolve(c.Text, c.ObservedAt)))))
	known := text.Fold(f.Content)
	return m != nil && f.Subject == "user" && applied.MatchString(known) && covered(termSet(m[1]), termSet(known)) == 1
}

var (
	healedForm = late.Compile(`^user's (?P<part>[\w ]+?) (?:is|are|has|have) (?:now |finally |fully |completely |all )*(?:fine|better|healed|recovered|ok|okay|good)\b`)
	injuryForm = late.Compile(`\b(?:broken|broke|sprained|fractured|torn|tore|twisted|dislocated|injured|hurt|bad)\b`)
)

// healed reports whether a candidate says that what was broken is well again.
func healed(c *Candidate, f *memory.Fact) bool {
	m := healedForm.FindStringSubmatch(text.Fold(c.Text))
	known := text.Fold(f.Content)
	return m != nil && c.Subject == f.Subject && injuryForm.MatchString(known) && covered(termSet(m[1]), termSet(known)) == 1
}

// noneOf are what nobody has who has none of a kind.
var noneOf = map[string]func(c *Candidate) bool{
	"pet": func(c *Candidate) bool {
		return c.Subject == "user" && (strings.HasPrefix(c.Attribute, "pet:") || hasOf(c.Text, petWords))
	},
	"kid": func(c *Candidate) bool { return ofOffspring(c) }, "child": func(c *Candidate) bool { return ofOffspring(c) },
	"sibl": func(c *Candidate) bool { return hasOf(c.Text, late.Words("brother sister brothers sisters")) },
	"car":  func(c *Candidate) bool { return c.Attribute == "has:car" },
}

func ofOffspring(c *Candidate) bool {
	return hasOf(c.Text, offspring) && (strings.HasPrefix(c.Text, "User has ") || strings.HasSuffix(c.Attribute, " name") || bornForm.MatchString(text.Fold(c.Text)))
}

// hasOf reports whether what the user has, or what is theirs, is one of these.
func hasOf(fact string, of *late.Set) bool {
	m := hadForm.FindStringSubmatch(text.Fold(fact))
	return m != nil && slices.ContainsFunc(text.Words(m[1]), func(w string) bool { return of.Has(w) })
}

var hadForm = late.Compile(`^user(?:'s| (?:has|adopted|got|bought)(?: an?| one| two| three| \d)?) ((?:[\w-]+ ?){1,3}?)(?: named| is named| are| was born|$)`)

var nothingOf = late.Compile(`^user (?:does not have|has no|does not own) (?:any |a |an )?([\w-]+)(?: any ?more| yet)?$`)

// hasNow reports whether a candidate tells of one of a kind of which the user had none.
func hasNow(c *Candidate, f *memory.Fact) bool {
	m := nothingOf.FindStringSubmatch(text.Fold(f.Content))
	if m == nil || f.Subject != "user" {
		return false
	}
	is := noneOf[text.Term(m[1])]
	return is != nil && is(c)
}

var (
	notKin = late.Compile(`^(.+) is no longer User's (.+)$`)
	isKin  = late.Compile(`^User's (.+?)(?:'s name)? is (?:named |called )?(\pL.*)$`)
)

// replacedBy reports whether a candidate says that somebody is no more who they are
// known to be: "Ingrid is no longer User's boss".
func replacedBy(c *Candidate, f *memory.Fact) bool {
	a, b := notKin.FindStringSubmatch(c.Text), isKin.FindStringSubmatch(f.Content)
	return a != nil && b != nil && strings.EqualFold(a[1], b[2]) && kinAttribute(lower(a[2])) == kinAttribute(lower(b[1]))
}
