package extract

import (
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// What no family takes is read by the class of its verb.
var (
	events     = &family{rule: "event", category: "event", confidence: 0.8}
	eventsToo  = &family{rule: "event undated", category: "event", confidence: 0.8}
	activities = &family{rule: "activity", category: "habit", confidence: 0.85}
	since      = &family{rule: "since", category: "habit", confidence: 0.85}
	regularly  = &family{rule: "habit", category: "habit", confidence: 0.8}
	does       = &family{rule: "does", category: "habit", confidence: 0.7}
	plans      = &family{rule: "plan", category: "plan", confidence: 0.8}
	plansToo   = &family{rule: "plan undated", category: "plan", confidence: 0.65}
	formerly   = &family{rule: "formerly", category: "habit", confidence: 0.8}
	kinDoes    = &family{rule: "kin does", category: "family", confidence: 0.8}
	dropped    = &family{rule: "dropped", category: "plan", confidence: 0.75}
	ended      = &family{rule: "ended", category: "habit", confidence: 0.8}
)

// news returns what a clause tells of something done, going on, done regularly or
// to be done, or nil.
func (r *reader) news(c *clause, p *predicate, when string) (*family, string) {
	v := p.verb
	if p.often == "only" && c.inCase() {
		return nil, ""
	}
	if p.tense == ability && p.subject != "user" {
		return nil, "" // "my sister can come on Friday"
	}
	if v.Lemma == "be" {
		return r.copular(c, p, when)
	}
	if v.class&idle != 0 && v.class&(deed|light|ongoing|routine) == 0 || v.Lemma == "have to" || c.at(p.rest) == "that" {
		return nil, ""
	}
	if v.Lemma == "start" || v.Lemma == "begin" {
		then := Verbs()[c.at(p.rest+1)]
		if c.at(p.rest) == "with" || c.at(p.rest) == "to" && then.class&idle != 0 && then.class&(deed|light|routine) == 0 {
			return nil, ""
		}
	}
	if next := c.at(p.rest); v.Lemma == "move" && next != "to" && next != "from" && next != "in" && next != "into" && next != "out" && next != "back" && next != "my" && next != "our" {
		return nil, ""
	}
	j := c.ending(p.rest)
	end := j
	if p.tense == perfect && p.neg == "never" {
		j = c.beforeThis(p.rest, j)
	}
	if p.tense == perfect && p.neg == "not" && v.class&(deed|light|routine|plain) != 0 && c.longSince(p.rest) {
		if end := c.ending(p.rest); c.at(p.rest) == "since" || c.standing(p.rest, end) {
			return ended, p.who + " " + p.says(0, "") + " " + ThirdPerson(c.text(p.rest, end)) // "I haven't smoked since New Year"
		}
		return nil, ""
	}
	given := p.subject != "user" && (c.at(p.rest) == "us" || c.at(p.rest) == "me") && givers.Has(v.Lemma) && c.standing(p.rest+1, j) // "lent us 10k"
	if !given && c.vague(p.rest) && c.at(p.rest) != "to" || !c.standing(p.rest, j) && !(alone.Has(v.Lemma) && j == p.rest) {
		if !(j > p.rest && (len(c.dates(p.rest, j)) > 0 || when != "") && v.class&deed != 0 && (alone.Has(v.Lemma) || p.subject != "user")) {
			return nil, ""
		}
	}
	f := r.class(c, p, j, when)
	if f == nil {
		return nil, ""
	}
	if p.subject != "user" && f != kinDoes {
		kin := *kinDoes
		kin.confidence = min(kin.confidence, f.confidence)
		f = &kin
	}
	said := p.who + " " + p.says(0, "")
	if second, ok := Verbs()[c.at(p.rest+1)]; p.tense == present && !p.plural && c.at(p.rest) == "and" && ok && second.Form&base != 0 {
		said += " and " + thirdOf(c.at(p.rest+1)) // "I practise and train every day"
		p.rest += 2
	}
	if end > p.rest {
		said += " " + ThirdPerson(c.text(p.rest, end))
	}
	return f, said
}

// beginning are verbs of what is fixed for a day to come.
var beginning = lazy.Words("start begin finish graduate retire")

// givers are verbs of what others do for the speaker.
var givers = lazy.Words("lend give buy teach leave send pay")

// class returns the family of a statement whose object is the words up to j, nil
// if it is not worth knowing.
func (r *reader) class(c *clause, p *predicate, j int, when string) *family {
	v := p.verb
	said := c.said.Turn.CreatedAt
	var dates []text.Date
	if when != "" {
		dates = text.Resolve(when, said)
	}
	dates = append(dates, c.dates(p.rest, j)...)
	switch p.tense {
	case simplePast, perfect:
		if v.Lemma == "get" {
			if w, ok := Verbs()[c.at(p.rest)]; ok && (w.class&deed != 0 || undergone.Has(c.at(p.rest))) && w.Form&participle != 0 {
				return eventsToo // "I got promoted at work"
			}
		}
		if p.neg == "not" || p.neg == "no longer" {
			return nil
		}
		dated := false
		for _, d := range dates {
			dated = dated || !d.From.After(said)
		}
		known := c.names(p.rest, j)
		if v.class == 0 && p.infin {
			return nil // "I did leaf through it"
		}
		switch {
		case c.amount(p.rest) && counted.Has(v.Lemma):
			return eventsToo
		case dated && (v.class&(deed|light) != 0 || v.class == 0):
			return events
		case c.agoish(p.rest, j) && v.class&(deed|light) != 0:
			return events
		case p.tense == perfect && p.neg == "never" && (v.class&(deed|light) != 0 || v.class&idle == 0 && c.kind(p.rest, j)):
			return eventsToo
		case v.class&deed != 0 && c.solid(p.rest, j, 1):
			return eventsToo
		case attends.Has(v.Lemma) && p.neg == "" && c.attended(p.rest, j):
			return eventsToo
		case (v.class&light != 0 && v.class&idle == 0 || v.class == 0) && known && c.solid(p.rest, j, 2):
			return eventsToo
		}
	case progressive, continued:
		if p.neg != "" {
			if p.neg == "not" && p.tense == progressive && c.afterAll() && c.solid(p.rest, j, 1) {
				return dropped
			}
			if p.neg == "no longer" && (v.class&(ongoing|routine) != 0 || journeying.Has(v.Lemma) && c.names(p.rest, j)) {
				return ended
			}
			return nil
		}
		for _, d := range dates {
			if d.To.After(midnight(said)) && p.tense == progressive && v.class != 0 {
				return plans
			}
		}
		switch {
		case p.tense == continued && c.sinceWhen(p.rest):
			return since
		case v.class&ongoing != 0 && v.Lemma != "look" && v.Lemma != "try" && v.Lemma != "hope" && c.solid(p.rest, j, 1):
			return activities
		case p.tense == continued && v.class&(ongoing|routine) != 0:
			return activities
		}
	case present:
		if p.neg == "" && beginning.Has(v.Lemma) && c.solid(p.rest, j, 1) {
			for _, d := range dates {
				if d.From.After(said) {
					return plans // "my son starts school in August"
				}
			}
		}
		often := p.often != "" || c.often(p.rest) || when != "" && len(dates) == 0
		switch {
		case p.neg == "no longer":
			return ended
		case p.neg != "":
			if v.class&routine != 0 || v.Lemma == "eat" || v.Lemma == "drink" || v.Lemma == "own" {
				return does
			}
			return nil
		case often && v.class&(routine|light|deed|ongoing|plain) != 0 && v.Lemma != "need" && v.Lemma != "want" && v.Lemma != "find":
			return regularly
		case v.class&routine != 0 && c.solid(p.rest, j, 1):
			return does
		}
	case usedTo:
		return formerly
	case future, goingTo:
		if p.neg != "" && v.class&(deed|aim) != 0 && v.class&idle == 0 && (p.neg == "no longer" || c.afterAll()) && c.solid(p.rest, j, 1) {
			return dropped
		}
		if p.neg != "" || p.verb.Lemma == "ask" {
			return nil
		}
		from := midnight(said)
		if p.tense == future {
			from = from.AddDate(0, 0, 1)
		}
		for _, d := range dates {
			if d.To.After(from) && (p.tense == goingTo || p.tense == future) {
				return plans
			}
		}
		if w := c.at(p.rest); p.verb.class&deed != 0 && c.solid(p.rest, j, 1) && len(dates) == 0 && !(strings.HasSuffix(w, "ing") && Verbs()[w].class&deed == 0) && w != "up" && w != "with" {
			return plansToo
		}
	}
	return nil
}

// copular reads what somebody is or was, where no family took it.
func (r *reader) copular(c *clause, p *predicate, when string) (*family, string) {
	j := c.ending(p.rest)
	if !c.standing(p.rest, j) {
		return nil, ""
	}
	what := ThirdPerson(c.text(p.rest, j))
	if p.subject != "user" {
		if state(c, p.rest) == "" || p.tense == simplePast && len(c.dates(p.rest, j)) == 0 && when == "" && c.at(p.rest) != "born" {
			return nil, ""
		}
		return kinDoes, p.who + " " + p.says(0, "") + " " + what
	}
	if p.tense == future && (c.at(p.rest) == "in" || c.at(p.rest) == "at") && c.names(p.rest, j) {
		for _, d := range append(text.Resolve(when, r.said.Turn.CreatedAt), c.dates(p.rest, j)...) {
			if d.To.After(midnight(r.said.Turn.CreatedAt).AddDate(0, 0, 1)) {
				return plans, p.who + " " + p.says(0, "") + " " + what
			}
		}
	}
	if p.tense == perfect && p.neg == "never" && c.at(p.rest) == "to" && c.names(p.rest, j) {
		return eventsToo, p.who + " " + p.says(0, "") + " " + what
	}
	if (p.tense == simplePast || p.tense == perfect) && p.neg == "" {
		w := c.at(p.rest)
		v, ok := Verbs()[w]
		if undergone.Has(w) || ok && v.Form&participle != 0 && v.class&deed != 0 && (when != "" || len(c.dates(p.rest, j)) > 0) {
			if c.solid(p.rest+1, j, 1) {
				return eventsToo, p.who + " " + p.says(0, "") + " " + what
			}
		}
		switch w {
		case "in", "at", "to", "on":
			if c.names(p.rest, j) && (p.tense == perfect || when != "" || len(c.dates(p.rest, j)) > 0) {
				return events, p.who + " " + p.says(0, "") + " " + what
			}
		}
	}
	return nil, ""
}

// beforeThis returns where what was never done ends before the case at hand: "never
// used a lathe in this project".
func (c *clause) beforeThis(i, j int) int {
	for k := i + 1; k+1 < j; k++ {
		if (c.at(k) == "in" || c.at(k) == "for") && c.at(k+1) == "this" && j-k < 5 {
			return k
		}
	}
	return j
}

// kind reports whether the words tell of a kind of thing: "any tests", "a licence",
// "my lessons".
func (c *clause) kind(i, j int) bool {
	return (c.at(i) == "any" || determiner.Has(c.at(i)) || c.names(i, j)) && c.solid(i, j, 2)
}

var journeying = lazy.Words("go fly travel move")

// afterAll reports whether a clause takes a plan back.
func (c *clause) afterAll() bool {
	for i := range c.words {
		if c.at(i) == "after" && c.at(i+1) == "all" {
			return true
		}
	}
	return false
}

// undergone are participles of what happens to people.
var undergone = lazy.SetOf("undergone", wordList)

var attends = lazy.Words("go have take give get host attend do lead join")

// gatherings are what people go to, take or have beside the occasions.
var gatherings = lazy.SetOf("gatherings", wordList)

// attended reports whether the words begin with an occasion: "on a tour of Lisbon".
func (c *clause) attended(i, j int) bool {
	if w := c.at(i); w == "on" || w == "to" || w == "for" || w == "at" || w == "through" {
		i++
	}
	if !determiner.Has(c.at(i)) || c.at(i) == "the" {
		return false
	}
	return c.headed(i, 5, occasions) > i && c.solid(i, j, 2) || c.headed(i, 5, gatherings) > i && c.solid(i, j, 1)
}

// counted are verbs whose news is a number.
var counted = lazy.SetOf("counted", wordList)

var units = lazy.SetOf("units", wordList)

// amount reports whether a number with a unit stands at i or soon after.
func (c *clause) amount(i int) bool {
	for k := i; k < i+4 && k < len(c.words); k++ {
		w := c.at(k)
		digit := w[0] >= '0' && w[0] <= '9' || CountWords.Has(w)
		switch {
		case strings.HasPrefix(w, "$"), strings.HasPrefix(w, "€"), strings.HasPrefix(w, "£"), strings.HasPrefix(w, "¥"):
			return true
		case digit && (units.Has(c.at(k+1)) || units.Has(strings.TrimLeft(w, "0123456789.,")) || k > i && units.Has(c.at(k-1))):
			return true
		case w == "that", w == "it", c.words[k].mark():
			return false
		}
	}
	return false
}

// CountWords are the numbers that are written as words.
var CountWords = lazy.Words("two three four five six seven eight nine ten fifteen twenty thirty forty fifty sixty ninety hundred")

// solid reports whether at least n of the words are content of their own.
func (c *clause) solid(i, j, n int) bool {
	for k := i; k < j; k++ {
		if w := c.at(k); !empty.Has(w) && !adverb.Has(w) && !Timing.Has(w) && !c.words[k].mark() && len(w) > 2 {
			if n--; n == 0 {
				return true
			}
		}
	}
	return false
}

// names reports whether the words name somebody or something, or somebody close.
func (c *clause) names(i, j int) bool {
	for k := i; k < j; k++ {
		w := c.at(k)
		switch {
		case c.words[k].capital && w != "i" && !months.Has(w) && !Timing.Has(w):
			return true
		case (w == "my" || w == "our") && (kinEnd(c, k+1) > k+1 || petEnd(c, k+1) > k+1):
			return true
		}
	}
	return false
}

// agoish reports whether the words tell a time in the past that has no date: "a
// few years ago", "when I was ten", "recently".
func (c *clause) agoish(i, j int) bool {
	for k := i; k < len(c.words) && k <= j; k++ {
		switch c.at(k) {
		case "ago", "childhood":
			return true
		case "when":
			return c.at(k+1) == "i" && c.at(k+2) == "was"
		}
	}
	return false
}

// sinceWhen reports whether the words say for how long something has gone on.
func (c *clause) sinceWhen(i int) bool {
	for ; i < len(c.words); i++ {
		switch c.at(i) {
		case "years", "year", "months", "month", "weeks", "decade", "decades", "since", "childhood", "ages":
			return true
		}
	}
	return false
}

// longSince reports whether the words end in how long ago something was last done.
func (c *clause) longSince(i int) bool {
	for ; i+1 < len(c.words); i++ {
		w := c.at(i)
		if w != "since" && w != "in" && w != "for" {
			continue
		}
		for k := i + 1; k < len(c.words) && k < i+4; k++ {
			switch n := c.at(k); {
			case w == "since" && feasts.Has(n), n == "years", n == "months", n == "year", n == "month", n == "weeks" && w != "since", n == "ages", n == "decades", months.Has(n) && w == "since", IsDigit(n) && len(n) == 4:
				return true
			}
		}
	}
	return false
}

// feasts are days and seasons that people count from.
var feasts = lazy.Words("easter christmas ramadan halloween thanksgiving lent new summer winter spring autumn")

var spans = lazy.SetOf("spans", wordList)

// The classes of times that come again, and of places.
var (
	timeClasses  = sync.OnceValue(func() text.Classes { return classesOf("weekday month season holiday") })
	placeClasses = sync.OnceValue(func() text.Classes { return classesOf("city country") })
)

// NamesTime reports whether a word names a time of the day or of the year: "evening", "winter".
func NamesTime(word string) bool {
	term := text.Term(word)
	return spans.Has(word) || (text.ClassesOf(term)|text.ClassesAsked(term))&timeClasses() != 0
}

// often reports whether the words say how often.
func (c *clause) often(i int) bool {
	from := i
	for ; i < len(c.words); i++ {
		switch w := c.at(i); {
		case w == "every" || w == "each":
			for k := i + 1; k < i+4; k++ {
				if spans.Has(c.at(k)) {
					return true
				}
			}
		case w == "once" || w == "twice" || w == "times":
			if a := c.at(i + 1); (a == "a" || a == "an" || a == "per") && spans.Has(c.at(i+2)) {
				return true
			}
		case (w == "a" || w == "per") && spans.Has(c.at(i+1)) && i > from+1 && (i+2 == len(c.words) || c.words[i+2].mark() || Hanging.Has(c.at(i+2)) || trailing.Has(c.at(i+2))):
			return true // "three coffees a day"
		case w == "on" && strings.HasSuffix(c.at(i+1), "days") && spans.Has(c.at(i+1)), w == "daily", w == "weekly", w == "monthly":
			return true
		case w == "weekends" && (c.at(i-1) == "on" || c.at(i-1) == "the"):
			return true
		}
	}
	return false
}
