package extract

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

var (
	callMe   = &family{rule: "name", category: "personal", attribute: "name", confidence: 0.95}
	greets   = &family{rule: "greeting", category: "personal", attribute: "name", confidence: 0.85}
	kinNamed = &family{rule: "kin named", category: "family", confidence: 0.9}
	petNamed = &family{rule: "pet", category: "family", confidence: 0.9}
	reversed = &family{rule: "favourite", category: "preference", attribute: "favourite:<kind>", confidence: 0.9}
	native   = &family{rule: "native language", category: "personal", attribute: "native language", confidence: 0.95}
	belongs  = &family{rule: "matter", category: "personal", confidence: 0.85}
	dear     = &family{rule: "values", category: "preference", confidence: 0.7}
	choice   = &family{rule: "choice", category: "project", confidence: 0.6}
	helps    = &family{rule: "helps", category: "preference", confidence: 0.65}
	answers  = &family{rule: "answers", category: "preference", confidence: 0.85}
)

var user = predicate{who: "User", subject: "user"}

// ofName reads who somebody is from what they say on meeting: "Hi, I'm Ana",
// "call me Bob", "this is Ana speaking".
func (r *reader) ofName(c *clause, i int, greeted bool) bool {
	name := ""
	f := callMe
	switch {
	case greeted && c.at(i) == "i" && c.at(i+1) == "am":
		f, name = greets, properName(c, i+2)
		if name == "" || demonym(c.at(i+2)) || nationals.Has(c.at(i+2)) {
			return false
		}
	case c.first && c.hereIs(i, greeted):
		f, name = greets, c.text(i, c.nameEnd(i))
	case c.at(i) == "this" && c.at(i+1) == "is", c.at(i) == "it" && c.at(i+1) == "is":
		if last := c.at(len(c.words) - 1); last == "here" || last == "speaking" {
			name = properName(c, i+2)
		}
	default:
		for j := i; j < i+5 && j < len(c.words)-2; j++ {
			if w := c.at(j); (w == "call" || w == "calls") && c.at(j+1) == "me" && (j == i || calling.Has(c.at(j-1))) {
				name = properName(c, j+2)
				break
			}
			if !calling.Has(c.at(j)) {
				return false
			}
		}
	}
	if name == "" {
		return false
	}
	r.g = captured{}
	r.fact(c, &user, f, "User's name is "+name, "")
	return true
}

// hereIs reports whether somebody tells who writes: "Derek here, a quick question".
// "Same here" and "Sunny here" are of no one: a word that begins a sentence is a name if
// a greeting stands before it or more follows, and if we know it as no other word.
func (c *clause) hereIs(i int, greeted bool) bool {
	end := c.nameEnd(i)
	w := c.at(i)
	if end == i || end > i+2 || c.at(end) != "here" || !greeted && c.at(end+1) != "," && c.at(end+1) != "-" && end == i+1 {
		return false
	}
	_, known := Verbs()[w]
	return !known && !notHere.Has(w) && !KinWords.Has(w) && !KinPlural.Has(w) && !occupations.Has(w) && !nationals.Has(w) && !demonym(w) && !sorts.Has(w) && !Timing.Has(w) && !adverb.Has(w) && !openers.Has(w) && !empty.Has(w) && !stops.Has(w) && !trailing.Has(w) && !vagueStart.Has(w) && !pointing.Has(w)
}

// notHere are words before "here" that are of no one.
var notHere = lazy.Words("same right over out in up down all everyone nothing everything sunny rainy cold hot warm snowy cloudy winter summer spring autumn morning evening night raining snowing newbie noob beginner student developer parent american british european long first big quick question")

var calling = lazy.Words("you can please just everyone everybody people friends my they all may")

// ofMine reads what is said of somebody or something of the speaker's. i is the
// place after "my".
func (r *reader) ofMine(c *clause, i int, when string) {
	c.apostrophe(i)
	if j := kinEnd(c, i); j > i && c.at(j) != "tongue" && !(occasions.Has(c.at(j)) && !c.words[j-1].owner) {
		r.ofKin(c, i, j, when)
		return
	}
	if j := petEnd(c, i); j > i {
		r.ofPet(c, i, j, when)
		return
	}
	for _, f := range ofMine() {
		if !c.match(f.steps, i, &r.g) {
			continue
		}
		p := user
		for j := i; j < r.g.end; j++ {
			if c.at(j) == "not" {
				return
			}
		}
		said := ""
		if f.say == "'s" {
			p.who = "User's"
			said = "User's " + ThirdPerson(c.text(i, r.g.end)) + " " + r.g.said[r.g.n-1]
		} else {
			p.tense = present
			said = r.say(c, &p, f.family)
		}
		p = user
		r.fact(c, &p, f.family, said, when)
		return
	}
	r.ofUs(c, i, when)
}

// ofUs reads news of something of the speaker's: "my car broke down last Friday".
func (r *reader) ofUs(c *clause, i int, when string) {
	for j := i + 1; j < i+4 && j < len(c.words)-1; j++ {
		if Hanging.Has(c.at(j-1)) || pointing.Has(c.at(j-1)) || c.words[j-1].mark() {
			return
		}
		v, ok := Verbs()[c.at(j)]
		if ok && v.Form == thirdForm && v.class&^idle != 0 && (ventures.Has(c.at(j-1)) || matters.Has(c.at(j-1))) {
			p := predicate{who: "User's " + ThirdPerson(c.text(i, j)), subject: "user's " + strings.ToLower(c.text(i, j))}
			if end := c.ending(j + 1); c.standing(j+1, end) && p.read(c, j) && p.neg == "" && c.solid(j+1, end, 1) {
				r.g = captured{}
				r.fact(c, &user, belongs, p.who+" "+p.says(0, "")+" "+ThirdPerson(c.text(j+1, end)), when)
			}
			return
		}
		if w := c.at(j); !(w == "was" || w == "were" || ok && v.Form&preterite != 0 && v.Form&base == 0) {
			continue
		}
		what := ThirdPerson(c.text(i, j))
		p := predicate{who: "User's " + what, subject: "user's " + strings.ToLower(what), plural: c.at(j) == "were"}
		if !p.read(c, j) {
			return
		}
		if f, said := r.news(c, &p, when); f != nil && (when != "" || len(c.dates(j, len(c.words))) > 0) {
			r.g = captured{}
			r.fact(c, &user, events, said, when)
		}
		return
	}
}

// ofKin reads what is said of a relative or a friend: words i up to j.
func (r *reader) ofKin(c *clause, i, j int, when string) {
	kin := strings.ToLower(strings.Join(strings.Fields(c.text(i, j)), " "))
	owner := c.words[j-1].owner
	if owner {
		kin = strings.TrimSuffix(strings.TrimSuffix(kin, "'s"), "’s")
	}
	last := kin[strings.LastIndexByte(kin, ' ')+1:]
	p := predicate{who: "User's " + kin, subject: "user's " + kin, plural: KinPlural.Has(last)}
	if c.at(j) == "and" && c.at(j+1) == "i" {
		both := predicate{who: "User and User's " + kin, subject: "user", plural: true}
		if both.read(c, j+2) {
			r.facts(c, &both, when)
		}
		return
	}
	if owner && isAfterKin.Has(c.at(j)) { // "my husband's allergic"
		p.tense, p.verb, p.word, p.rest = present, verb{Lemma: "be"}, "is", j
		if v, ok := VerbOf(c.at(j)); ok && v.Form == Gerund {
			p.main(c, j, progressive)
		}
		r.facts(c, &p, when)
		return
	}
	if owner && (c.at(j) == "called" || c.at(j) == "named") { // "my mum's called Pat"
		if n := properName(c, j+1); n != "" {
			r.kinName(c, kin, n)
		}
		return
	}
	if owner {
		r.ofKinsOwn(c, kin, j)
		return
	}
	name, next := c.nameAfter(j)
	if name == "" && (c.at(j) == "called" || c.at(j) == "named") {
		name, next = c.nameAfter(j + 1)
	}
	if name == "" && c.at(j) == "is" {
		k := j + 1
		if c.at(k) == "called" || c.at(k) == "named" {
			k++
		}
		if n := properName(c, k); n != "" && !nationals.Has(c.at(k)) && !demonym(c.at(k)) {
			r.kinName(c, kin, n)
			return
		}
	}
	if name != "" && !p.plural && !kinGroup.Has(last) {
		p = introduce(kin, name)
		j = next
		if found := len(r.found); acquaintances.Has(last) {
			defer func() {
				if len(r.found) == found {
					r.kinName(c, kin, name)
				}
			}()
		} else {
			r.kinName(c, kin, name)
		}
	}
	if !p.plural && !kinGroup.Has(last) {
		r.about(c, p, j)
	}
	for c.at(j) == "," {
		j++
	}
	if w := c.at(j); w == "who" || w == "and" && c.at(j+1) == "i" {
		j++
	}
	if j == len(c.words) && !p.plural {
		r.other = p.who
	}
	if r.gone(c, &p, j, when) || p.plural && (c.at(j+1) == "called" || c.at(j+1) == "named") {
		return
	}
	if p.read(c, j) && p.tense&wish == 0 {
		r.facts(c, &p, when)
	}
}

// namesBeside reads relatives whose names stand beside them wherever that is, also in a question or
// in what somebody said: "can my partner Tomasz eat that?".
func (r *reader) namesBeside(body string) {
	sc := scanner{s: body}
	for {
		one, more := sc.next()
		if !more {
			return
		}
		if one.code || slices.ContainsFunc(one.words, func(w word) bool { return cases.Has(w.low) || fictions.Has(w.low) }) {
			continue
		}
		c := clause{said: r.said, words: one.words, all: one.words}
		for i := 0; i+2 < len(c.words); i++ {
			if w := c.at(i); w != "my" && w != "our" {
				continue
			}
			k := kinEnd(&c, i+1)
			j, apart := k, c.at(k) == ","
			if apart {
				j++
			}
			end := c.nameEnd(j)
			if listed := c.at(end) == "and" || c.at(end) == "," && (c.at(end+1) == "and" || c.nameEnd(end+1) > end+1); apart && (listed || end < len(c.words) && !c.words[end].mark()) {
				continue // "my sister, Tom and I"
			}
			if k == i+1 || end == j || end > j+2 || c.words[k-1].owner || c.words[end-1].owner || KinPlural.Has(c.at(k-1)) || kinGroup.Has(c.at(k-1)) {
				continue
			}
			name := c.text(j, end)
			known := slices.ContainsFunc(r.found, func(f Candidate) bool { return strings.Contains(f.Text, name) })
			c.Start, c.End = c.words[i].start, c.words[end-1].end
			if !known && !within(c.Span, r.spoken) {
				r.kinName(&c, strings.ToLower(c.text(i+1, k)), name)
			}
		}
	}
}

// fictions are words of what is made up.
var fictions = lazy.Words("story novel dream movie film character")

// about notes of whom a clause tells. i is the place after its subject.
func (r *reader) about(c *clause, p predicate, i int) {
	if r.subject = p; !c.namesSomebody(i) {
		r.whom = p
	}
}

// keepWhom forgets whom a pronoun means where a clause is about somebody else, and returns what
// forgets it once a clause was read that names somebody else. i is the place of its subject.
func (r *reader) keepWhom(c *clause, i int) func() {
	switch w := c.at(i); {
	case w == "i" || w == "we" || w == "it" || w == "she" || w == "he":
		i++
	case c.inheritsSubject:
	default:
		r.whom = predicate{}
		return func() {}
	}
	return func() {
		if c.namesSomebody(i) {
			r.whom = predicate{}
		}
	}
}

// namesSomebody reports whether the words from i on name a relative, an animal or what may be a
// person: a name that does not stand behind "in", "at" or the like.
func (c *clause) namesSomebody(i int) bool {
	for ; i < len(c.words); i++ {
		w := c.words[i]
		if KinWords.Has(w.low) || KinPlural.Has(w.low) || PetWords.Has(w.low) || persons.Has(w.low) {
			return true
		}
		if w.capital && w.low != "i" && !Timing.Has(w.low) && !months.Has(w.low) && !placing.Has(c.at(i-1)) && !(i > 0 && c.words[i-1].capital) {
			return true
		}
	}
	return false
}

var (
	persons = lazy.Words("he she him they them man woman guy girl boy lady doctor teacher kid child baby")
	placing = lazy.Words("in at from to near around of for with by")
)

// introduce returns the subject of what is said of a relative or animal by name. Of several
// friends, or animals, each has facts of their own.
func introduce(kin, name string) predicate {
	p := predicate{who: "User's " + kin + " " + name, subject: "user's " + kin}
	if !OneAtATime(kin) {
		p.subject += " " + strings.ToLower(name)
	}
	return p
}

// refersTo reports whether "she" or "he" can be the one who was spoken of last.
func (r *reader) refersTo(pronoun string) bool {
	kin := strings.TrimPrefix(r.whom.subject, "user's ")
	if kin == "" {
		return false
	}
	for w := range strings.FieldsSeq(strings.ReplaceAll(kin, "-", " ")) {
		w = strings.TrimPrefix(strings.TrimPrefix(w, "step"), "grand")
		if women.Has(w) {
			return pronoun == "she"
		}
		if men.Has(w) {
			return pronoun == "he"
		}
	}
	return true
}

var (
	women = lazy.Words("mother mum mom mam mama mummy mommy ma sister daughter aunt auntie aunty niece wife girlfriend fiancee fiancée granny gran nan nana")
	men   = lazy.Words("father dad daddy papa pa pop brother son uncle nephew husband boyfriend fiance fiancé grandad")
)

// apostrophe reads "my wifes scan" and "my moms birthday" as what is theirs: nobody has
// several of those.
func (c *clause) apostrophe(i int) {
	switch w := c.at(i); w {
	case "wifes", "husbands", "mums", "moms", "dads", "girlfriends", "boyfriends", "mothers", "fathers":
		if next := c.at(i + 1); next == "" || c.words[i+1].mark() || next == "are" || next == "were" || next == "have" || Hanging.Has(next) {
			return
		}
		c.words[i].low, c.words[i].owner = w[:len(w)-1], true
		c.words[i].end--
	}
}

var isAfterKin = lazy.Words("allergic a an from in vegan vegetarian getting working living turning studying pregnant moving learning obsessed blind deaf on into dyslexic autistic diabetic asthmatic retired engaged divorced married starting afraid scared coming going leaving already not")

// acquaintances are people of whom it is enough to say their names with what is said
// of them.
var acquaintances = lazy.Words("friend colleague coworker neighbor neighbour roommate flatmate cousin teammate buddy classmate housemate uncle aunt niece nephew")

// OneAtATime reports whether a person has one such relative at most at a time.
func OneAtATime(kin string) bool { return Single(kinAttribute(kin)) }

func (r *reader) kinName(c *clause, kin, name string) {
	kin = strings.TrimPrefix(kin, "new ")
	r.g = captured{}
	f := *kinNamed
	f.attribute = kinAttribute(kin)
	if f.attribute == kin {
		f.attribute = kin + " name"
	}
	r.fact(c, &user, &f, "User's "+kin+" is named "+name, "")
}

// nameAfter returns the name that stands at j, between commas or not, and the
// place after it.
func (c *clause) nameAfter(j int) (name string, next int) {
	k := j
	if c.at(k) == "," {
		k++
	}
	end := c.nameEnd(k)
	if end == k || c.words[end-1].owner || c.at(k) == "i" || k > j && end < len(c.all) && c.all[end].low == "and" { // "my sister, Tom and I"
		return "", j
	}
	if end < len(c.words) && !c.words[end].mark() && !afterName.Has(c.at(end)) {
		if v, ok := VerbOf(c.at(end)); !ok || v.Form&(preterite|thirdForm) == 0 {
			return "", j
		}
	}
	return c.text(k, end), end
}

// ofKinsOwn reads "my wife's name is Maria" and "my mom's birthday is on June 3rd".
func (r *reader) ofKinsOwn(c *clause, kin string, j int) {
	what := c.at(j)
	if (what == "scan" || what == "operation" || what == "surgery" || what == "appointment" || what == "exam" || what == "flight" || what == "interview") && c.at(j+1) == "is" {
		if day := upcoming(c, j+2); day != "" {
			r.g = captured{}
			f := *kinNamed
			f.rule, f.attribute, f.confidence = "kin's", kin+"'s "+what, 0.85
			r.fact(c, &user, &f, "User's "+kin+"'s "+what+" is "+day, "")
		}
		return
	}
	if what == "first" && c.at(j+1) == "name" {
		j++
		what = "name"
	}
	k := j + 1
	if what == "favorite" || what == "favourite" {
		what += " " + c.at(k)
		k++
	}
	if c.at(k) != "is" {
		return
	}
	r.g = captured{}
	switch {
	case what == "name":
		if name := properName(c, k+1); name != "" {
			r.kinName(c, kin, name)
		}
	case what == "birthday", what == "anniversary", what == "address", what == "job", what == "email", strings.HasPrefix(what, "favo"):
		if said := exact(c, k+1); said != "" {
			f := *kinNamed
			f.rule, f.attribute = "kin's", kin+"'s "+what
			r.fact(c, &user, &f, "User's "+kin+"'s "+what+" is "+said, "")
		}
	}
}

// ofPet reads what is said of an animal of the speaker's: words i up to j.
func (r *reader) ofPet(c *clause, i, j int, when string) {
	pet := strings.ToLower(c.text(i, j))
	owner := c.words[j-1].owner
	if owner {
		pet = strings.TrimSuffix(strings.TrimSuffix(pet, "'s"), "’s")
	}
	var name string
	var next int
	switch {
	case owner && c.at(j) == "name" && c.at(j+1) == "is":
		name, next = properName(c, j+2), len(c.words)
	case c.at(j) == "called", c.at(j) == "named":
		name, next = properName(c, j+1), len(c.words)
	case c.at(j) == "is" && (c.at(j+1) == "called" || c.at(j+1) == "named"):
		name, next = properName(c, j+2), len(c.words)
	default:
		name, next = c.nameAfter(j)
	}
	r.g = captured{}
	if name != "" && r.gone(c, &predicate{who: "User's " + pet + " " + name, subject: "user's " + pet + " " + strings.ToLower(name)}, next, when) {
		return
	}
	if name != "" {
		f := *petNamed
		f.attribute = "pet:" + keyOf(name)
		r.fact(c, &user, &f, "User has a "+pet+" named "+name, "")
	}
	if next >= len(c.words) || owner {
		return
	}
	for c.at(next) == "," {
		next++
	}
	p := predicate{who: "User's " + pet, subject: "user's " + pet, plural: strings.HasSuffix(pet, "s")}
	if name != "" {
		p = introduce(pet, name)
	}
	if !p.plural {
		r.about(c, p, next)
	}
	if !r.gone(c, &p, next, when) && !(p.plural && (c.at(next+1) == "called" || c.at(next+1) == "named")) && p.read(c, next) && p.tense&(simplePast|perfect|present) != 0 {
		r.facts(c, &p, when)
	}
}

// gone reads that somebody died or, of an animal, is away for good. i is the place of
// the verb.
func (r *reader) gone(c *clause, p *predicate, i int, when string) bool {
	for i < len(c.words) && (c.words[i].mark() || adverb.Has(c.at(i))) {
		i++
	}
	q := *p
	if !q.read(c, i) || q.neg != "" || q.tense&(simplePast|perfect) == 0 {
		return false
	}
	verb := ""
	switch next := c.at(q.rest); {
	case q.verb.Lemma == "die":
		verb = "died"
	case q.verb.Lemma == "pass" && next == "away":
		verb = "passed away"
	case q.verb.Lemma == "run" && next == "away":
		verb = "ran away"
	case q.verb.Lemma == "be" && next == "put" && (c.at(q.rest+1) == "down" || c.at(q.rest+1) == "to" && c.at(q.rest+2) == "sleep"):
		verb = "was put down"
	default:
		return false
	}
	said := p.who + " " + verb
	if dates := c.dates(q.rest, len(c.words)); len(dates) > 0 && when == "" {
		d := dates[0]
		if d.Grain == text.Day && d.From.After(c.said.Turn.CreatedAt) { // "on Sunday" is the last one
			d.From, d.To = d.From.AddDate(0, 0, -7), d.To.AddDate(0, 0, -7)
		}
		said += " " + d.String()
	}
	if len(said) < MinLength {
		said = strings.Replace(said, " "+verb, " has "+verb, 1) // no fact is shorter
	}
	r.g = captured{}
	r.fact(c, p, kinDoes, said, when)
	return true
}
