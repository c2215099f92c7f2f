package learn

import (
	"strings"

	"github.com/loci-memory/loci/internal/late"
)

// People leave out of a chat what everybody takes for said: "lactose intolerant here",
// "moving to Porto in May", "dad's on blood thinners", "dentist on Thursday at 3". Where a
// sentence begins with what only such a one begins with, it is read with those words.

// left returns the words that a sentence leaves out before word i, nil where it has a
// subject of its own or where more than one could be meant.
func (r *reader) left(c *clause, i int) []string {
	if !c.first || r.theirs || i >= len(c.words) {
		return nil
	}
	switch w := c.at(i); {
	case w == "i" || w == "we" || w == "my" || w == "our" || c.words[i].mark():
		return nil
	case (w == "born" || w == "raised") && i+2 < len(c.words) && (c.at(i+1) == "in" || c.at(i+1) == "on" || c.at(i+1) == "and"):
		return []string{"i", "was"}
	case c.isSo(i):
		return []string{"i", "am"}
	case c.isDoing(i):
		return []string{"i", "am"}
	case c.isMine(i):
		return []string{"my"}
	case shiftTimes.Has(w) && (c.at(i+1) == "shifts" || c.at(i+1) == "shift"):
		return []string{"i", "work"}
	case w == "gone" && c.at(i+1) == "off":
		return []string{"i", "have"}
	case startsInDigit(w) && worn.Has(c.at(i+1)) && c.at(i+2) == "now":
		return []string{"i", "wear"}
	case c.didNot(i):
		return []string{"i"}
	}
	return nil
}

// supply puts words before word i of a clause as if they had been said.
func (c *clause) supply(i int, lead []string) {
	at := c.words[i].start
	all := make([]word, 0, len(c.all)+len(lead))
	all = append(all, c.all[:i]...)
	for _, w := range lead {
		all = append(all, word{low: w, start: at, end: at})
	}
	c.words, c.all = append(all, c.all[i:]...)[:len(c.words)+len(lead)], append(all, c.all[i:]...)
	c.short = true
}

var (
	shiftTimes = late.Words("night early late day morning weekend rotating")
	// saidAlone are what somebody is without more words.
	saidAlone = late.Words("single married divorced engaged widowed separated pregnant retired unemployed self-employed bilingual vegan vegetarian pescatarian sober dyslexic colorblind colourblind color-blind colour-blind deaf left-handed epileptic autistic diabetic asthmatic coeliac celiac lactose gluten hard")
	// goesOn are words after which more is said of who is so.
	goesOn = late.Words("since for here now so but in again from as because until these at with after though and too")
	// able are how good somebody is at something.
	able = late.Words("good great bad decent terrible rubbish hopeless useless brilliant awful rusty")
	// taken are saidAlone of mind towards something.
	taken = late.Words("obsessed addicted afraid scared terrified hooked")
	// fans are words before "fan".
	fans = late.Words("big huge massive lifelong die-hard avid")
)

// isSo reports whether the words from i on say how somebody is: "allergic to sesame",
// "no longer in Austin", "on sertraline", "in a wheelchair".
func (c *clause) isSo(i int) bool {
	for c.at(i) == "not" || c.at(i) == "no" && c.at(i+1) == "longer" || c.at(i) == "longer" || c.at(i) == "still" || c.at(i) == "really" || c.at(i) == "officially" {
		i++
	}
	w, next := c.at(i), c.at(i+1)
	switch {
	case w == "allergic":
		return next == "to" && i+2 < len(c.words)
	case w == "on":
		return drug(c, i+1) != "" && !c.has("is") && !c.has("are") && !c.isTopic(i)
	case w == "off":
		return (next == "the" || next == "my") && (aid(c, i+2) != "" || drug(c, i+2) != "")
	case w == "in":
		return next == "a" && c.at(i+2) == "wheelchair" && c.bounded(i+3, false) || i > 1 && c.at(i-1) == "longer" && c.placeEnd(i+1) > i+1
	case w == "up":
		return (next == "at" || next == "by") && startsInDigit(c.at(i+2))
	case w == "down":
		return next == "to" && startsInDigit(c.at(i+2))
	case able.Has(w):
		return next == "at" && i+2 < len(c.words) && !timing.Has(c.at(i+2)) && !pointing.Has(c.at(i+2)) && c.at(i+2) != "least" && c.at(i+2) != "all" && c.at(i+2) != "first"
	case taken.Has(w):
		return (next == "with" || next == "to" || next == "of" || next == "on") && i+2 < len(c.words)
	case w == "a":
		return i > 0 && c.at(i-1) == "not" && (next == "fan" || fans.Has(next) && c.at(i+2) == "fan")
	case fans.Has(w):
		return c.before(i, 3, late.Words("fan")) > i
	case w == "self" && next == "employed", (w == "lactose" || w == "gluten") && next == "intolerant":
		return c.bounded(i+2, false)
	case w == "hard":
		return next == "of" && c.at(i+2) == "hearing"
	case w == "lactose" || w == "gluten":
		return false
	}
	return saidAlone.Has(w) && c.bounded(i+1, w == "single" || w == "engaged")
}

// isTopic reports whether the words from i on are what a question behind them, or a comparison, is
// about: "on ibuprofen: how much a day?", "on aspirin vs ibuprofen".
func (c *clause) isTopic(i int) bool {
	for _, w := range c.all[i:] {
		if w.low == "vs" || w.low == "versus" {
			return true
		}
	}
	return strings.HasPrefix(c.said.Text[c.all[len(c.all)-1].end:], ":")
}

// bounded reports whether nothing from i on is what the words before it belong to: "vegan
// since May", not "vegan food". A lone word must be called out where it may answer
// something else.
func (c *clause) bounded(i int, loud bool) bool {
	for i < len(c.words) && c.words[i].mark() {
		i++
	}
	if i == len(c.words) {
		after := c.said.Text[c.words[i-1].end:]
		return i > 1 && !loud || strings.HasPrefix(after, "!")
	}
	if c.at(i) == "and" && (saidAlone.Has(c.at(i+1)) || ailments.Has(c.at(i+1)) || saidAlone.Has(c.at(i+2))) {
		return false // "vegan and vegetarian dishes"
	}
	return c.at(i) != "please" && (c.words[i-1].mark() || goesOn.Has(c.at(i)))
}

// toComes are verbs of what somebody does on a day to come.
var toComes = late.Words("go fly travel move see meet visit start begin pick drive take have host leave join run attend marry fly ride hike climb sail get play")

// isDoing reports whether the words from i on begin with what somebody is about: "doing a
// masters in hydrology", "flying to Oslo on 3 June".
func (c *clause) isDoing(i int) bool {
	for c.at(i) == "still" || c.at(i) == "currently" || c.at(i) == "now" {
		i++
	}
	v, ok := verbs()[c.at(i)]
	next := c.at(i + 1)
	if !ok || v.form&gerund == 0 || c.words[i].owner || next == "" || c.words[i+1].mark() || joints.Has(next) || c.subjectAhead(i+1) || helping.Has(next) {
		return false
	}
	switch v.lemma {
	case "see", "date":
		if next == "someone" || next == "somebody" || v.lemma == "date" {
			return true
		}
	case "do", "take":
		if determiner.Has(next) && next != "the" && (c.headed(i+1, 4, degrees) > i+1 || c.headed(i+1, 4, pursuits) > i+1) {
			return true
		}
	case "eat":
		return c.has("again")
	case "live", "stay", "work", "train", "save", "fast":
		return next == "in" || next == "at" || next == "for" || next == "as" || next == "near" || v.lemma == "stay" && next == "with" || v.lemma == "live" && (next == "with" && owners.Has(c.at(i+2)) || next == "alone")
	case "rent":
		return next == "a" || next == "an"
	case "study", "learn":
		return languages.Has(next) || c.words[i+1].capital
	}
	if !toComes.Has(v.lemma) || pointing.Has(next) || c.has("since") || v.lemma == "see" && !c.names(i+1, i+2) {
		return false
	}
	for _, d := range c.dates(i+1, len(c.words)) {
		if d.To.After(midnight(c.said.Turn.CreatedAt)) {
			return true
		}
	}
	return false
}

var (
	// elders are those whom a speaker calls so of their own.
	elders = late.Words("mum mom mam mommy mummy dad daddy grandma grandpa grandad granddad gran nan nana granny")
	// closest are those who are the speaker's where something is told that happened.
	closest = late.Words("wife husband girlfriend boyfriend sister brother son daughter")
	// ownMatters are what everybody has one of.
	ownMatters = late.Words("rent birthday")
)

// isMine reports whether the words from i on begin with somebody or something of the
// speaker's: "dad's on blood thinners", "favourite colour is teal".
func (c *clause) isMine(i int) bool {
	w, next := strings.TrimSuffix(strings.TrimSuffix(c.at(i), "'s"), "’s"), c.at(i+1)
	v, ok := verbs()[next]
	told := ok && v.form&preterite != 0 && v.form&base == 0
	switch {
	case w == "favourite" || w == "favorite" || w == "fave":
		return c.before(i, 4, copulas) > i+1
	case elders.Has(w):
		return c.words[i].owner && isAfterKin.Has(next) || next == "is" || next == "has" || next == "was" || told || ok && v.form&thirdForm != 0 && v.class&^idle != 0
	case closest.Has(w):
		return next == "is" && isAfterKin.Has(c.at(i+2)) || told || next == "has" || c.words[i].owner && isAfterKin.Has(next)
	case ownMatters.Has(w):
		return c.words[i].owner && startsInDigit(next) || next == "is" && (startsInDigit(c.at(i+2)) || c.at(i+2) == "on" || c.at(i+2) == "now") || next == "went" || next == "rose"
	}
	return false
}

// didNot reports whether the words from i on tell what somebody has not done, or still does:
// "haven't smoked since May", "never learned to drive", "still owe 400".
func (c *clause) didNot(i int) bool {
	w, next := c.at(i), c.at(i+1)
	v, ok := verbs()[next]
	switch {
	case w == "have" && next == "not":
		v, ok := verbOf(c.at(i + 2))
		return ok && v.form&participle != 0
	case w == "never":
		return ok && v.form&(preterite|participle) != 0 && v.form&base == 0
	case i > 0 && (c.at(i-1) == "still" || c.at(i-1) == "currently"):
		v, ok := verbs()[w]
		return ok && v.form&base != 0 && v.form&(gerund|preterite) == 0 && v.class&(routine|plain) != 0 && i+1 < len(c.words) && w != "need" && w != "want" && w != "think"
	case w == "quit":
		return c.isGivenUp(i + 1)
	}
	return false
}

// isGivenUp reports whether the words from i on are what somebody quits in their life: "my job",
// "smoking in March". "Quit the app" and "quit smoking tips please" are no news.
func (c *clause) isGivenUp(i int) bool {
	if c.at(i) == "my" {
		return i+1 < len(c.words)
	}
	next := c.at(i + 1)
	if next == "around" {
		return false
	}
	if habitual(c, i) != "" && (next == "" || c.words[i+1].mark() || goesOn.Has(next) || timing.Has(next) || startsInDigit(next) || countWords.Has(next)) {
		return true
	}
	return ofThings.Has(c.at(i)) && next != "" && next != "on"
}

// ofThings are what one does with something.
var ofThings = late.Words("taking playing using watching buying eating drinking wearing going")

// chatted reads what stands in chats without a sentence around it, or with a form of its own.
func (r *reader) chatted(c *clause, i int) bool {
	if r.booked(c, i) || r.postponed(c, i) || r.isCalled(c, i) || r.enough(c, i) || r.onDays(c, i) {
		return true
	}
	if w := c.at(i); w == "my" || w == "the" || w == "our" {
		return r.cleared(c, i+1)
	}
	return false
}
