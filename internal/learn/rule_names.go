package learn

import (
	"strings"

	"github.com/loci-memory/loci/internal/late"
	"github.com/loci-memory/loci/internal/text"
)

// People tell the names of those close to them beside what they say: "two cats, Miso
// and Tofu", "a daughter (Mia, 7)", "a dog called Rex and a parrot, Kiwi". Such names
// often stand behind marks that end a clause, so they are read from the whole sentence.

// being is somebody, or an animal, that the talk has just told of.
type being struct {
	kind string // "daughter", "puppy"
	name string // "" as long as nobody said it
	pet  bool
}

// mention is somebody named, and how old they are if that is said.
type mention struct{ name, age string }

func (m mention) String() string {
	if m.age != "" {
		return m.name + " (" + m.age + ")"
	}
	return m.name
}

// wide returns the clause with all that its sentence goes on to say.
func (c *clause) wide() *clause {
	wide := *c
	wide.words = c.all
	return &wide
}

// spend takes the words before place i of the whole sentence as read, and gives the
// clause what follows a closing mark there up to the next mark. It returns the place
// where that begins.
func (c *clause) spend(r *reader, i int) int {
	for i < len(c.all) && c.all[i].mark() {
		i++
	}
	end := max(i, len(c.words))
	if i > len(c.words) {
		for end < len(c.all) && !c.all[end].mark() {
			end++
		}
	}
	c.words = c.all[:end]
	if i > 0 {
		r.taken = max(r.taken, c.all[end-1].end)
		c.End = c.all[end-1].end
	}
	return i
}

// leadsName reads over what stands between somebody and their name: "called", ", who
// is called", "(", ": ". It reports whether that is no more than a comma or nothing.
func (c *clause) leadsName(j int) (next int, bare bool) {
	bare = true
	if c.at(j) == "," || c.at(j) == "-" || c.at(j) == ":" || c.at(j) == "(" {
		bare = c.at(j) == ","
		j++
	}
	switch {
	case c.at(j) == "whose" && (c.at(j+1) == "name" || c.at(j+1) == "names") && (c.at(j+2) == "is" || c.at(j+2) == "are"):
		return j + 3, false
	case c.at(j) == "who" && (c.at(j+1) == "is" || c.at(j+1) == "are") && (c.at(j+2) == "called" || c.at(j+2) == "named"):
		return j + 3, false
	case (c.at(j) == "is" || c.at(j) == "are") && (c.at(j+1) == "called" || c.at(j+1) == "named"):
		return j + 2, false
	case c.at(j) == "names" && c.at(j+1) == "are":
		return j + 2, false
	case c.at(j) == "called", c.at(j) == "named", c.at(j) == "are", c.at(j) == "namely":
		return j + 1, false
	}
	return j, bare
}

// namesAt reads the name, or with several the names, of those that stand before place j,
// and returns the place after them and a bracket or dash that they stand in.
func (c *clause) namesAt(j int, several bool) (out []mention, next int) {
	from := j
	k, bare := c.leadsName(j)
	for k < len(c.words) {
		end := c.nameEnd(k)
		if end == k || c.words[end-1].owner || nationals.Has(c.at(k)) || demonym(c.at(k)) || languages.Has(c.at(k)) || timing.Has(c.at(k)) && !(len(out) > 0 && girls.Has(c.at(k)) && !isDigit(c.at(end))) {
			break
		}
		said := mention{name: c.text(k, end)}
		said.age, end = c.ageAfter(end)
		out, next = append(out, said), end
		k = end
		if !several {
			break
		}
		for c.at(k) == "," || c.at(k) == "and" {
			k++
		}
		if k == end {
			break
		}
	}
	if len(out) == 0 {
		return nil, from
	}
	if w := c.at(next); bare && len(out) == 1 && w != "" && !c.words[next].mark() && !afterName.Has(w) && w != "both" {
		return nil, from // "I got a parcel, Amazon sent it"
	}
	if c.at(next) == ")" || c.at(next) == "-" {
		next++
	}
	return out, next
}

// girls are months that are names too.
var girls = late.Words("april may june august")

// ageAfter reads how old somebody is from what follows their name: "(7)", ", 7,", "who
// is 7", ", aged 7". It returns the place after it, or j.
func (c *clause) ageAfter(j int) (age string, next int) {
	k := j
	mark := ""
	if c.at(k) == "," || c.at(k) == "(" || c.at(k) == "-" {
		mark = c.at(k)
		k++
	}
	lead := mark != ""
	switch {
	case c.at(k) == "who" && (c.at(k+1) == "is" || c.at(k+1) == "turned" || c.at(k+1) == "turns"):
		k, lead = k+2, true
	case c.at(k) == "who" && c.at(k+1) == "just" && c.at(k+2) == "turned", c.at(k) == "who" && c.at(k+1) == "is" && c.at(k+2) == "now":
		k, lead = k+3, true
	case c.at(k) == "aged", c.at(k) == "age":
		k, lead = k+1, true
	}
	n := c.at(k)
	if !isDigit(n) {
		n = yearsOld[n]
	}
	if !lead || n == "" || len(n) > 2 {
		return "", j
	}
	k++
	if w := c.at(k); w == "years" || w == "year" || w == "yrs" {
		if k++; c.at(k) == "old" {
			k++
		}
	} else if k < len(c.words) && !c.words[k].mark() && w != "and" && w != "who" && !(w == "now") {
		return "", j // "who is 7 feet tall"
	}
	if mark == "(" && c.at(k) == ")" || mark == "-" && c.at(k) == "-" {
		k++
	}
	return n, k
}

var yearsOld = map[string]string{"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12"}

// yearOld reads "6-year-old" and "10 year old" before a noun.
func (c *clause) yearOld(i int) (age string, next int) {
	w := c.at(i)
	if n, rest, ok := strings.Cut(w, "-"); ok && (rest == "year-old" || rest == "yr-old") {
		if isDigit(n) {
			return n, i + 1
		}
		return yearsOld[n], i + 1
	}
	if isDigit(w) && len(w) < 3 && (c.at(i+1) == "year" || c.at(i+1) == "years") && c.at(i+2) == "old" {
		return w, i + 3
	}
	return "", i
}

// owns are verbs of those that people have close to them.
var hasOne = late.Words("have own adopt rescue get buy foster")

// hasNamed reads those that somebody has, with their names: "a dog, Rex, and a parrot
// named Kiwi". It reports false where no name is told.
func (r *reader) hasNamed(c *clause, p *predicate) bool {
	if p.subject == "user" && p.neg == "not" && p.verb.lemma == "have" && p.tense == present && determiner.Has(c.at(p.rest)) && howMany(c.at(p.rest)) > 1 {
		if end := c.ending(p.rest + 1); end > p.rest+1 { // "I don't have two cats, I have three"
			r.last = lately{p: *p, start: c.Start, told: true, rest: text.Span{Start: c.words[p.rest+1].start, End: c.words[end-1].end}}
		}
		return true
	}
	if p.subject != "user" || p.neg != "" || !hasOne.Has(p.verb.lemma) || p.tense&(present|simplePast|perfect) == 0 || p.verb.lemma == "have" && p.tense != present {
		return false
	}
	if !determiner.Has(c.at(p.rest)) {
		return false
	}
	wide := c.wide()
	var all []member
	k, named, end := p.rest, false, p.rest
	for len(all) < 6 {
		m, next := wide.member(k)
		if next == k {
			break
		}
		all, end = append(all, m), next
		named = named || len(m.names) > 0
		for k = next; wide.at(k) == "," || wide.at(k) == "and" || wide.at(k) == "plus"; {
			k++
		}
		if k == next {
			break
		}
	}
	if !named {
		if len(all) == 1 && !all[0].many {
			r.met = being{all[0].kind, "", all[0].pet}
		}
		return false
	}
	told := *c
	told.words, told.End = wide.words[:end], wide.words[end-1].end
	for _, m := range all {
		r.tell(&told, &m)
	}
	r.taken = max(r.taken, told.End)
	if rest := wide.words[end:]; len(rest) > 1 && len(all) == 1 && len(all[0].names) == 1 {
		r.whoDoes(c, &all[0], end)
	}
	return true
}

// member is somebody, or several of a kind, that people have.
type member struct {
	det   string // "a", "two"
	whole string // "older brother", "3-year-old beagle"
	kind  string // without how old
	age   string
	names []mention
	pet   bool
	many  bool
}

// member reads one that somebody has from place i on, with what they are called.
func (c *clause) member(i int) (member, int) {
	m := member{det: c.at(i)}
	if !determiner.Has(m.det) || m.det == "the" || m.det == "no" || m.det == "any" {
		return m, i
	}
	k := i + 1
	m.age, k = c.yearOld(k)
	end := kinEnd(c, k)
	if end == k {
		end = petEnd(c, k)
		m.pet = end > k
	}
	if end == k || end > len(c.words) || c.words[end-1].owner || m.det == "my" || m.det == "our" {
		return m, i
	}
	m.whole, m.kind = c.text(i+1, end), lower(c.text(k, end))
	last := lastWord(m.kind)
	m.many = kinPlural.Has(last) || m.pet && m.det != "a" && m.det != "an" && m.det != "one" && m.det != "another"
	if _, bare := c.leadsName(end); bare && c.at(end) != "," && c.nameEnd(end) == end {
		return m, end
	}
	names, next := c.namesAt(end, m.many)
	if m.many && len(names) == 1 && (m.det == "two" || m.det == "three" || m.det == "four") {
		return m, end // "two dogs, Rex is the older one"
	}
	m.names = names
	return m, max(end, next)
}

// tell adds what is told of a member: that the user has them, and their names.
func (r *reader) tell(c *clause, m *member) {
	has := &family{rule: "pet", category: "family", confidence: 0.9}
	if !m.pet {
		has.rule = "has kin"
	}
	r.g = captured{}
	det := m.det
	if det == "another" {
		det = "a"
	}
	switch {
	case m.pet && !m.many && len(m.names) == 1:
		f := *petNamed
		f.attribute, f.confidence = "pet:"+keyOf(m.names[0].name), 0.95
		r.fact(c, &user, &f, "User has "+det+" "+m.whole+" named "+m.names[0].name, "")
		r.aged(c, m, m.names[0])
	case m.many || len(m.names) == 0:
		if m.pet || kinPlural.Has(lastWord(m.kind)) || hadOnes.Has(lastWord(m.kind)) {
			r.fact(c, &user, has, "User has "+det+" "+m.whole, "")
		}
		if len(m.names) > 0 {
			r.kinsNamed(c, m.kind, m.names)
		}
	default:
		if m.det == "one" && hadOnes.Has(lastWord(m.kind)) {
			r.fact(c, &user, has, "User has one "+m.kind, "")
		}
		r.kinName(c, m.kind, m.names[0].name)
		r.aged(c, m, m.names[0])
	}
}

// hadOnes are relatives of whom it is worth knowing that somebody has one.
var hadOnes = late.Words("wife husband girlfriend boyfriend partner son daughter brother sister kid child baby stepson stepdaughter stepsister stepbrother niece nephew cousin granddaughter grandson")

// kinsNamed adds the names of several.
func (r *reader) kinsNamed(c *clause, kin string, people []mention) {
	r.g = captured{}
	f := *kinNamed
	f.attribute = kin + " name"
	names := make([]string, len(people))
	for i, p := range people {
		names[i] = p.String()
	}
	are := " are "
	if petWords.Has(lastWord(kin)) {
		are, f.rule = " are named ", "pet"
	}
	last := len(names) - 1
	listed := names[last]
	if last > 0 {
		listed = strings.Join(names[:last], ", ") + " and " + listed
	}
	r.fact(c, &user, &f, "User's "+kin+are+listed, "")
}

// aged adds how old one is who was named.
func (r *reader) aged(c *clause, m *member, o mention) {
	r.met = being{m.kind, o.name, m.pet}
	age := o.age
	if age == "" && !m.pet {
		age = m.age // an animal's stands in "3-year-old beagle"
	}
	if age == "" {
		return
	}
	r.ageOf(c, r.met, age)
}

// ageOf adds how old somebody is.
func (r *reader) ageOf(c *clause, b being, age string) {
	p := b.predicate()
	r.g = captured{}
	unit := " years old"
	if age == "1" {
		unit = " year old"
	}
	r.fact(c, &p, &family{rule: "age", category: "family", attribute: "age", confidence: 0.9}, p.who+" is "+age+unit, "")
}

// predicate returns the subject of what is said of somebody met.
func (b being) predicate() predicate {
	p := predicate{who: "User's " + b.kind, subject: "user's " + b.kind}
	if b.name != "" {
		p.who += " " + b.name
		if b.pet || !oneAtATime(b.kind) {
			p.subject += " " + lower(b.name)
		}
	}
	return p
}

// whoDoes reads what is said of the one named: "a brother, Tom, who lives in Oslo". i
// is the place after the name.
func (r *reader) whoDoes(c *clause, m *member, i int) {
	wide := c.wide()
	for wide.at(i) == "," || wide.at(i) == "and" {
		i++
	}
	if wide.at(i) != "who" && !(wide.at(i) == "he" || wide.at(i) == "she") {
		return
	}
	end := i + 1
	for end < len(wide.words) && !wide.words[end].mark() {
		end++
	}
	said := *c
	said.words, said.End = wide.words[:end], wide.words[end-1].end
	p := being{m.kind, m.names[0].name, m.pet}.predicate()
	if p.read(&said, i+1) && p.tense&(ability|wish) == 0 {
		r.facts(&said, &p, "")
		r.taken = max(r.taken, said.End)
	}
}

// ofMet reads the name and the age of whom the clause before told: "we got a kitten, her
// name is Suki", "my son is called Max and he is 6".
func (r *reader) ofMet(c *clause, i int, met being) bool {
	if met.kind == "" {
		return false
	}
	w, next := c.at(i), c.at(i+1)
	name, age := "", ""
	switch {
	case (w == "his" || w == "her" || w == "its") && next == "name" && c.at(i+2) == "is":
		name = properName(c, i+3)
	case (w == "he" || w == "she" || w == "it") && next == "is" && (c.at(i+2) == "called" || c.at(i+2) == "named"):
		name = properName(c, i+3)
	case w == "we" && (next == "named" || next == "called" || next == "call") && (c.at(i+2) == "him" || c.at(i+2) == "her" || c.at(i+2) == "it"),
		w == "i" && (next == "named" || next == "called" || next == "call") && (c.at(i+2) == "him" || c.at(i+2) == "her" || c.at(i+2) == "it"):
		name = properName(c, i+3)
	case (w == "he" || w == "she" || w == "it") && (next == "is" || next == "turned" || next == "just" && c.at(i+2) == "turned"):
		k := i + 2
		for adverb.Has(c.at(k)) || c.at(k) == "turned" {
			k++
		}
		if n := c.at(k); isDigit(n) && len(n) < 3 && (k+1 == len(c.words) || c.words[k+1].mark() || c.at(k+1) == "now" || (c.at(k+1) == "years" || c.at(k+1) == "year") && c.at(k+2) == "old") {
			age = n
		} else if w != "it" && met.name != "" && !met.pet {
			return r.metDoes(c, i, met)
		}
	case (w == "he" || w == "she") && met.name != "" && !met.pet:
		return r.metDoes(c, i, met)
	default:
		return false
	}
	switch {
	case name != "" && met.pet:
		met.name = name
		r.g = captured{}
		f := *petNamed
		f.attribute = "pet:" + keyOf(name)
		r.fact(c, &user, &f, "User has a "+met.kind+" named "+name, "")
	case name != "":
		met.name = name
		r.kinName(c, met.kind, name)
	case age != "":
		r.ageOf(c, met, age)
	default:
		return false
	}
	r.met = met
	return true
}

// metDoes reads what somebody does of whom the clause before told, by the forms of
// families alone: "she" is soon somebody else.
func (r *reader) metDoes(c *clause, i int, met being) bool {
	p := met.predicate()
	if !p.read(c, i+1) || p.tense&(present|progressive) == 0 || c.joint != "" && c.joint != "and" && c.joint != "but" && c.joint != "-" {
		return false
	}
	for _, f := range byVerb()[p.verb.lemma] {
		if p.tense&f.tenses != 0 && c.match(f.steps, p.rest, &r.g) && fits(f.family, c, &p, &r.g) {
			r.add(c, &p, f.family, "")
			r.met = met
			return true
		}
	}
	return false
}

// born reads where and when somebody was born, where both are told.
func (r *reader) born(c *clause, p *predicate, when string) bool {
	if p.verb.lemma != "be" || p.tense != simplePast || p.neg != "" || c.at(p.rest) != "born" {
		return false
	}
	place, day := "", ""
	for k := p.rest + 1; k < len(c.words); {
		lead := c.at(k)
		if lead != "in" && lead != "on" && lead != "," {
			break
		}
		if lead == "," {
			k++
			continue
		}
		end := k + 1
		for end < len(c.words) && c.at(end) != "in" && c.at(end) != "on" && !stops.Has(c.at(end)) && c.at(end) != "and" {
			end++
		}
		for end > k+1 && c.words[end-1].mark() {
			end--
		}
		said := c.text(k+1, end)
		switch dates := c.dates(k+1, end); {
		case end == k+1:
			return false
		case isDigit(said) && len(said) == 4, len(dates) == 1 && dates[0].Start == 0 && dates[0].End == len(said):
			day = lead + " " + said
		case lead == "in" && c.placeEnd(k+1) == end:
			place = said
		default:
			return false
		}
		k = end
	}
	if place == "" || day == "" {
		return false
	}
	r.g = captured{}
	r.fact(c, p, &family{rule: "birthday", category: "personal", attribute: "birthday", confidence: 0.95}, p.who+" was born "+day, when)
	r.fact(c, p, &family{rule: "birthplace", category: "personal", attribute: "birthplace", confidence: 0.9}, p.who+" was born in "+place, "")
	return true
}

// lately is what a clause told, for one that goes on from it: "… but my wife doesn't".
type lately struct {
	p     predicate
	rest  text.Span // what followed its verb
	start int
	told  bool
}

// likewise reads who does, or does not do, what the clause before told: "I'm a
// vegetarian but my wife isn't", "I don't eat meat, my husband does".
func (r *reader) likewise(c *clause, i int, last *lately) bool {
	if !last.told || last.rest.End == 0 || last.p.neg == "never" || last.p.tense&(present) == 0 {
		return false
	}
	if w := c.at(i); (w == "i" || w == "we") && c.at(i+1) == "have" && last.p.verb.lemma == "have" && last.p.neg == "not" && i+3 == len(c.words) && howMany(c.at(i+2)) > 0 {
		return r.goesOn(c, last, "I have "+c.at(i+2)+" ")
	}
	var j int
	switch w := c.at(i); {
	case w == "i" || w == "we":
		j = i + 1
	case w == "my" || w == "our":
		if j = kinEnd(c, i+1); j == i+1 {
			return false
		}
		j = max(j, c.nameEnd(j))
	default:
		return false
	}
	who, aux := c.text(i, j), c.at(j)
	j++
	not := c.at(j) == "not"
	if not {
		j++
	}
	for j < len(c.words) && (c.words[j].mark() || c.at(j) == "too" || c.at(j) == "either" || c.at(j) == "though") {
		j++
	}
	if j < len(c.words) || not == (last.p.neg != "") && (c.joint == "but" || c.joint == "") {
		return false
	}
	said, v := "", last.p.verb.lemma
	switch aux {
	case "is", "are", "am":
		if v != "be" {
			return false
		}
		said = aux
		if not {
			said += " not"
		}
	case "do", "does":
		switch {
		case v == "be" || v == "have to":
			return false
		case not:
			said = aux + " not " + v
		case aux == "does":
			said = thirdOf(v)
		default:
			said = v
		}
	default:
		return false
	}
	return r.goesOn(c, last, who+" "+said+" ")
}

// goesOn reads what a clause says with the end of the one before.
func (r *reader) goesOn(c *clause, last *lately, lead string) bool {
	found := len(r.found)
	for _, cand := range readPlain(lead+r.said.Text[last.rest.Start:last.rest.End], *r.said) {
		cand.Span.Start, cand.Span.End = last.start, c.End
		cand.Quote = r.said.Text[last.start:c.End]
		r.found = append(r.found, cand)
	}
	return len(r.found) > found
}
