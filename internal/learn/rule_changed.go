package learn

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/late"
	"github.com/loci-memory/loci/internal/text"
)

// What changes is told in words of its own: a sum is raised, somebody new takes a post,
// and those whose name is known do what those who have not heard of them cannot place.

var (
	amounts = &family{rule: "amount", category: "personal", confidence: 0.85}
	weighed = &family{rule: "body", category: "health", attribute: "weight", confidence: 0.85}
	refused = &family{rule: "refused", category: "work", confidence: 0.8}
	noMore  = &family{rule: "no longer kin", category: "family", confidence: 0.85}
)

var remeasure = late.Words("raised increased upped lowered reduced cut dropped changed doubled bumped adjusted")

// raised reads what has another amount: "they raised the rent to 1020 euros", "my dose
// was lowered to 5 mg". k is the place of the verb.
func (r *reader) raised(c *clause, i, k int) bool {
	to := k + 1
	for to < len(c.words) && c.at(to) != "to" && to < k+9 {
		to++
	}
	if c.at(to) != "to" {
		return false
	}
	end := c.ending(to + 1)
	if !c.amount(to+1) && !strings.ContainsAny(c.text(to+1, end), "0123456789") || end == to+1 || end-to > 6 {
		return false
	}
	from, until := k+1, to
	if w := c.at(k - 1); w == "was" || w == "were" || w == "been" || w == "got" { // "my rent was raised to"
		from, until = i, k-1
		for until > i && helpers.Has(c.at(until-1)) {
			until--
		}
	}
	for j := from; j < until; j++ {
		if c.at(j) == "from" || c.at(j) == "up" || c.at(j) == "down" {
			until = j
		}
	}
	if w := c.at(from); w != "my" && w != "our" && w != "the" || until-from < 2 || until-from > 5 || !c.standing(from+1, until) {
		return false
	}
	what := thirdPerson(c.text(from+1, until))
	r.g = captured{}
	f := *amounts
	f.attribute = attributeOf("value", what)
	r.fact(c, &user, &f, "User's "+what+" is now "+thirdPerson(c.text(to+1, end)), "")
	return true
}

// downTo reads "I'm down to 86 kilos" and "I'm down to one coffee a day".
func (r *reader) downTo(c *clause, p *predicate) bool {
	if p.subject != "user" || p.verb.lemma != "be" && p.verb.lemma != "get" || p.neg != "" || p.tense&(present|perfect) == 0 {
		return false
	}
	k := p.rest
	for adverb.Has(c.at(k)) {
		k++
	}
	if w := c.at(k); w != "down" && w != "up" || c.at(k+1) != "to" {
		return false
	}
	end := c.ending(k + 2)
	said := c.text(k+2, end)
	number := c.at(k + 2)
	if howMany(number) == 0 && !strings.ContainsAny(number, "0123456789") || end-k > 9 || end < k+4 && !strings.ContainsAny(said, "kglb%") {
		return false
	}
	r.g = captured{}
	switch unit := strings.TrimLeft(c.at(end-1), "0123456789.,"); unit {
	case "kg", "kilo", "kilos", "kilograms", "pounds", "lbs", "lb", "stone":
		r.fact(c, &user, weighed, "User weighs "+said, "")
	default:
		if !rate(said) {
			return false
		}
		f := *amounts
		f.category = "habit"
		r.fact(c, &user, &f, "User is "+c.at(k)+" to "+said, "")
	}
	return true
}

// rate reports whether words say how much in a time: "one coffee a day".
func rate(s string) bool {
	words := strings.Fields(lower(s))
	for i := 1; i+1 < len(words); i++ {
		if w := words[i]; (w == "a" || w == "per" || w == "an" || w == "every" || w == "each") && spans.Has(words[i+1]) {
			return true
		}
	}
	return false
}

// theNew reads who took a post in the speaker's life: "the new landlord is Mrs. Haas".
func (r *reader) theNew(c *clause, i int) bool {
	if c.at(i) != "the" || c.at(i+1) != "new" {
		return false
	}
	j := kinEnd(c, i+2)
	if j == i+2 || c.at(j) != "is" {
		return false
	}
	k := j + 1
	if c.at(k) == "called" || c.at(k) == "named" {
		k++
	}
	name, kin := properName(c, k), lower(c.text(i+2, j))
	if name == "" || nationals.Has(c.at(k)) || demonym(c.at(k)) || !oneAtATime(kin) {
		return false
	}
	r.kinName(c, kin, name)
	return true
}

// noLonger reads "Ingrid isn't my boss any more", and in the next clause who is instead.
func (r *reader) noLonger(c *clause, i int) bool {
	if vacant := r.vacant; vacant != "" {
		r.vacant = ""
		if c.at(i) == "now" {
			i++
		}
		if w := c.at(i); (w == "it" || w == "that") && c.at(i+1) == "is" {
			k := i + 2
			if c.at(k) == "now" {
				k++
			}
			if name := properName(c, k); name != "" && !nationals.Has(c.at(k)) {
				r.kinName(c, vacant, name)
				return true
			}
		}
	}
	j := c.nameEnd(i)
	if j == i || c.at(j) != "is" {
		return false
	}
	k, ended := j+1, false
	switch {
	case c.at(k) == "no" && c.at(k+1) == "longer":
		k, ended = k+2, true
	case c.at(k) == "not":
		last := c.at(len(c.words) - 1)
		k, ended = k+1, last == "anymore" || last == "more" || last == "longer"
	}
	end := kinEnd(c, k+1)
	if !ended || c.at(k) != "my" && c.at(k) != "our" || end == k+1 {
		return false
	}
	kin := lower(c.text(k+1, end))
	r.g = captured{}
	r.fact(c, &user, noMore, c.text(i, j)+" is no longer User's "+kin, "")
	r.vacant = kin
	return true
}

// turnedMeDown reads who refused the speaker: "Zalando turned me down".
func (r *reader) turnedMeDown(c *clause, i int) bool {
	j := c.placeEnd(i)
	if j == i {
		return false
	}
	for c.at(j) == "just" || c.at(j) == "has" || c.at(j) == "have" {
		j++
	}
	said := ""
	switch {
	case c.at(j) == "turned" && c.at(j+1) == "me" && c.at(j+2) == "down":
		said = " turned User down"
	case c.at(j) == "rejected" && (c.at(j+1) == "me" || c.at(j+1) == "my" && c.at(j+2) == "application"):
		said = " rejected User"
	default:
		return false
	}
	r.g = captured{}
	r.fact(c, &user, refused, c.text(i, c.placeEnd(i))+said, "")
	return true
}

// byName are verbs of what is worth knowing of somebody whose name is known.
var byName = late.Words("die pass move live work start study turn get retire graduate quit leave be have marry join become love hate like play speak")

// ofNamed reads what is said of somebody by their name alone: "Leo works at Total now",
// "Biscuit passed away". Who they are only memory knows: where it does not, Dedupe drops
// what is said of them.
func (r *reader) ofNamed(c *clause, i int, when string) bool {
	name, put := "", 0
	if k, ok := c.putDown(i); ok {
		name, put = c.text(k, c.nameEnd(k)), k
	} else if end := c.nameEnd(i); end > i && end <= i+2 && end < len(c.words) && !c.words[end-1].owner {
		name = c.text(i, end)
	}
	w, _, _ := strings.Cut(lower(name), " ")
	if name == "" || r.strangers >= maxStrangers || products.Has(w) || timing.Has(w) || nationals.Has(w) || demonym(w) || occupations.Has(w) || openers.Has(w) || petWords.Has(w) || kinWords.Has(w) {
		return false
	}
	r.strangers++
	found := len(r.found)
	p := predicate{who: name, subject: lower(name)}
	r.g = captured{}
	switch {
	case put == 0 && r.gone(c, &p, c.nameEnd(i), when):
	case put > 0:
		said := name + " was put down"
		if dates := c.dates(0, len(c.words)); len(dates) > 0 {
			said += " " + dates[0].String()
		}
		r.fact(c, &p, kinDoes, said, when)
	case !p.read(c, c.nameEnd(i)) || p.tense&(ability|wish|usedTo|wasDoing) != 0 || !byName.Has(p.verb.lemma):
		return false
	case p.verb.lemma == "move" && c.at(p.rest) == "out" && p.tense&(simplePast|perfect) != 0 && p.neg == "":
		end := c.ending(p.rest)
		r.fact(c, &p, kinDoes, name+" moved out"+strings.TrimPrefix(thirdPerson(c.text(p.rest, max(end, p.rest+1))), "out"), when)
	default:
		r.facts(c, &p, when)
	}
	r.last = lately{}
	if len(r.found) > found {
		r.stranger = name
	}
	for k := found; k < len(r.found); k++ {
		r.found[k].Who = name
	}
	return len(r.found) > found
}

// maxStrangers bounds how many statements of a turn about somebody named are looked up.
const maxStrangers = 3

// putDown returns the place of the animal's name in "we had to put Moss down".
func (c *clause) putDown(i int) (name int, ok bool) {
	if w := c.at(i); w != "we" && w != "i" {
		return 0, false
	}
	k := i + 1
	for adverb.Has(c.at(k)) || c.at(k) == "have" || c.at(k) == "had" || c.at(k) == "to" {
		k++
	}
	end := c.nameEnd(k + 1)
	if c.at(k) != "put" || end == k+1 {
		return 0, false
	}
	two := c.at(end) + " " + c.at(end+1)
	return k + 1, c.at(end) == "down" || two == "to sleep"
}

var products = late.SetOf("products", wordList)

// pursued accepts what people take up and give up: a language, a game, lessons.
func pursued(c *clause, i int) string {
	w := c.at(i)
	v, ok := verbs()[w]
	switch {
	case languages.Has(w):
		return language(c, i)
	case played(c, i) != "":
		return played(c, i)
	case ok && v.form&gerund != 0 && v.lemma != "be" && v.lemma != "try":
		return thing(c, i)
	case (w == "my" || w == "the") && c.headed(i, 3, pursuits) > i:
		return thirdPerson(c.text(i, c.headed(i, 3, pursuits)))
	}
	return ""
}

var pursuits = late.Words("lessons lesson class classes course training diet degree phd thesis novel book blog podcast studies antibiotics pills meds medication painkillers antidepressants keto piano guitar violin")

// workplaceEnd returns the place after where people go each day.
func workplaceEnd(c *clause, i int) int {
	j := i
	if c.at(j) == "the" || c.at(j) == "my" {
		j++
	}
	switch c.at(j) {
	case "work", "school", "uni", "university", "college", "office", "campus":
		return j + 1
	}
	return i
}

// vehicleEnd returns the place after what people ride to work on.
func vehicleEnd(c *clause, i int) int {
	if c.at(i) != "the" && c.at(i) != "a" && c.at(i) != "my" {
		return i
	}
	switch c.at(i + 1) {
	case "bus", "train", "tram", "metro", "subway", "ferry", "underground", "tube", "car", "bike", "scooter", "bicycle":
		return i + 2
	}
	return i
}

// teamEnd returns the place after a team: "the marketing team".
func teamEnd(c *clause, i int) int {
	if c.at(i) != "the" && c.at(i) != "our" {
		return i
	}
	for j := i + 2; j < i+5; j++ {
		switch c.at(j) {
		case "team", "department", "division", "squad":
			return j + 1
		}
		if j >= len(c.words) || c.words[j].mark() || hanging.Has(c.at(j)) {
			break
		}
	}
	return i
}

// subjectOf accepts a field that people study.
func subjectOf(c *clause, i int) string {
	j := i
	for j < i+3 && j < len(c.words) && !c.words[j].mark() && !hanging.Has(c.at(j)) && !stops.Has(c.at(j)) {
		if fields.Has(c.at(j)) && (j+1 == len(c.words) || c.words[j+1].mark() || hanging.Has(c.at(j+1)) || stops.Has(c.at(j+1)) || adverb.Has(c.at(j+1)) || timing.Has(c.at(j+1)) || trailing.Has(c.at(j+1))) {
			return c.text(i, j+1)
		}
		j++
	}
	return ""
}

var fields = late.Words("history philosophy law medicine biology chemistry physics mathematics maths math economics psychology sociology linguistics literature engineering architecture nursing business marketing finance accounting politics geography geology art design music theology anthropology archaeology journalism informatics science statistics pharmacy dentistry education english german french spanish")

var hospitals = late.Words("hospital rehab prison jail icu intensive")

func hospitalEnd(c *clause, i int) int {
	j := i
	if c.at(j) == "the" {
		j++
	}
	if hospitals.Has(c.at(j)) && c.at(j+1) != "administration" && c.at(j+1) != "management" {
		if c.at(j+1) == "care" {
			return j + 2
		}
		return j + 1
	}
	return i
}

// bodyEnd returns the place after a part of the body.
func bodyEnd(c *clause, i int) int {
	j := i
	if c.at(j) == "left" || c.at(j) == "right" || c.at(j) == "lower" {
		j++
	}
	if bodyParts.Has(c.at(j)) {
		return j + 1
	}
	return i
}

var bodyParts = late.Words("arm leg wrist ankle knee shoulder elbow foot hand finger toe rib ribs back hip nose collarbone hamstring neck thumb")

// lengthy accepts the length of answers that somebody would rather have.
func lengthy(c *clause, i int) string {
	j := c.ending(i)
	long, replied := false, false
	for k := i; k < j; k++ {
		w := c.at(k)
		long = long || w == "short" || w == "shorter" || w == "long" || w == "longer" || w == "brief" || w == "briefer" || w == "detailed" || w == "concise" || w == "details"
		replied = replied || replies.Has(w)
	}
	if !long || !replied || !c.standing(i, j) {
		return ""
	}
	return thirdPerson(c.text(i, j))
}

// prescribed reads what a doctor has put the speaker on or taken them off: "they took me
// off lisinopril".
func (r *reader) prescribed(c *clause, i int) bool {
	if r.withdrawn(c, i) {
		return true
	}
	for k := i + 1; k+3 < len(c.words) && k < i+6; k++ {
		w, way := c.at(k), c.at(k+2)
		on := (w == "put" || w == "started") && way == "on"
		off := (w == "took" || w == "taken") && way == "off"
		if c.at(k+1) != "me" || !on && !off || c.at(i) == "you" || c.has("not") {
			continue
		}
		j := k + 3
		if c.at(j) == "my" || c.at(j) == "the" {
			j++
		}
		name := drug(c, j)
		if name == "" {
			return false
		}
		r.g = captured{}
		f := &family{rule: "medicine", category: "health", attribute: "medicine:" + keyOf(drugIn(name)), confidence: 0.85}
		if on {
			r.fact(c, &user, f, "User takes "+name, "")
		} else {
			r.fact(c, &user, f, "User no longer takes "+name, "")
		}
		return true
	}
	return false
}

// starts are families of what may begin on a day to come: "accepted a job at Acme
// starting 1 June".
var starts = late.Words("work moved")

var laterWords = late.Words("starting start starts beginning effective next tomorrow")

// toStart adds a statement of something that begins later in its own words, as a plan.
func (r *reader) toStart(c *clause, p *predicate, when string) bool {
	if !slices.ContainsFunc(c.words[p.rest:], func(w word) bool { return laterWords.Has(w.low) }) {
		return false
	}
	said := c.said.Turn.CreatedAt
	dates := c.dates(p.rest, len(c.words))
	if len(dates) == 0 || dates[0].From.Before(midnight(said).AddDate(0, 0, 1)) {
		return false
	}
	end := len(c.words)
	if e := c.ending(p.rest); e > p.rest && len(c.dates(p.rest, e)) > 0 {
		end = e
	}
	if !c.standing(p.rest, end) {
		return true
	}
	r.g = captured{}
	rest := strings.TrimPrefix(text.Absolute("will "+c.text(p.rest, end), said), "will ") // the day is to come, though the verb is past
	r.fact(c, p, plans, p.who+" "+p.says(0, "")+" "+thirdPerson(rest), when)
	return true
}

// stolen reads "my bike got stolen". i is the place after "my".
func (r *reader) stolen(c *clause, i int, when string) bool {
	k := i
	for k < len(c.words) && k < i+5 && c.at(k) != "stolen" {
		k++
	}
	until := k
	for until > i && (helpers.Has(c.at(until-1)) || adverb.Has(c.at(until-1))) {
		until--
	}
	if c.at(k) != "stolen" || until == k || until == i || !c.standing(i, until) || c.has("not") || c.has("almost") {
		return false
	}
	said := "User's " + thirdPerson(c.text(i, until)) + " was stolen"
	if dates := c.dates(k, len(c.words)); len(dates) > 0 {
		said += " " + dates[0].String()
	}
	r.g = captured{}
	r.fact(c, &user, events, said, when)
	return true
}

// undertakings are what people work on until it is finished.
var undertakings = late.Words("renovation renovations thesis dissertation manuscript novel course training treatment chemo chemotherapy therapy degree phd internship apprenticeship project kitchen extension divorce move exams finals sabbatical")

// undertakingEnd returns the place after such a thing: "kitchen renovation".
func undertakingEnd(c *clause, i int) int {
	for j := i; j < i+3 && j < len(c.words) && !c.words[j].mark() && !hanging.Has(c.at(j)); j++ {
		if w := c.at(j + 1); undertakings.Has(c.at(j)) && (w == "is" || w == "are") {
			return j + 1
		}
	}
	return i
}
