package extract

import (
	"github.com/loci-memory/loci/internal/lazy"
)

// pieces are the kinds that a form may ask for in its middle: they return the
// place after the words they accept from i on, or i.
var pieces map[string]func(c *clause, i int) int

func init() { // names itself through kids and pets
	pieces = map[string]func(c *clause, i int) int{
		"pet": petEnd, "city": func(c *clause, i int) int { return c.placeEnd(i) },
		"where":   among(lazy.Words("in near at outside by on")),
		"atfor":   among(lazy.Words("at for with")),
		"count":   among(lazy.Words("a an my our one two three four five six seven eight nine ten another")),
		"marital": among(lazy.Words("single married divorced engaged widowed separated")),
		"law":     among(lazy.Words("kosher halal")),
		"age":     ageEnd, "manner": mannerEnd, "big": bigEnd,
		"kind":    func(c *clause, i int) int { return c.before(i, 4, kindEnds) },
		"titled":  func(c *clause, i int) int { return c.before(i, 3, titleEnds) },
		"stack":   func(c *clause, i int) int { return c.headed(i, 3, stack) },
		"oldtool": func(c *clause, i int) int { return c.before(i, 6, onlyTo) },

		"aimed": func(c *clause, i int) int { return c.headed(i, 3, aims) },
		"occasion": func(c *clause, i int) int {
			j := c.headed(i, 3, occasions)
			if w := c.at(j); j > i && (w == "to" || w == "with" || w == "for" || w == "in" || w == "at") { // "my flight to Oslo"
				if k := c.before(j, 5, copulas); k > j && c.standing(i, k) {
					return k
				}
			}
			return j
		},
		"matter": func(c *clause, i int) int {
			j := c.headed(i, 3, matters)
			if j > i && (c.at(j) == "for" || c.at(j) == "of") { // "my income for the week"
				if k := c.before(j, 4, copulas); k > j {
					return k
				}
			}
			return j
		},
	}
	values = map[string]func(c *clause, i int) string{
		"title": title, "owned": owned, "device": device,
		"name": properName, "called": called, "place": place, "company": company, "firm": firm, "role": role,

		"language": language, "thing": thing, "general": general, "phrase": phrase,
		"tool": tool, "day": withDate,
		"all": whole, "exact": exact,
		"jobless": oneOf(jobless), "workless": oneOf(lazy.Words("unemployed jobless")), "dieting": dieting,
		"whereabouts": whereabouts, "venture": headed(ventures, 4), "sort": sortOf, "pets": pets,
		"allergen": allergen, "ailing": ailing, "diet": diet, "refused": thing, "habit": habitual,
		"preferred": preferred, "degree": headed(degrees, 3), "played": played,
		"appointment": appointment, "aim": aimed, "doing": doing, "duty": duty, "upcoming": upcoming, "holding": holding, "trade": ofTrade, "sport": sport, "amount": amountOf, "awaited": awaited,
		"chosen": chosen, "project": project, "goal": goal, "matters": matterOf, "kids": kids, "illness": illness, "diagnosis": diagnosis,
	}
}

var (
	copulas = lazy.Words("is are has was")
	// kindEnds are words before which the kind of a favourite ends: "band these days is".
	kindEnds = lazy.Words("is are has was these nowadays currently lately now")
	onlyTo   = lazy.Words("to")
	// titleEnds are words before which what has a name ends: "our main branch is called trunk".
	titleEnds = lazy.Words("is are to")
	stack     = lazy.SetOf("stack", wordList)
)

func among(words *lazy.Set) func(c *clause, i int) int {
	return func(c *clause, i int) int {
		if words.Has(c.at(i)) {
			return i + 1
		}
		return i
	}
}

func oneOf(words *lazy.Set) func(c *clause, i int) string {
	return func(c *clause, i int) string {
		if words.Has(c.at(i)) {
			return c.at(i)
		}
		return ""
	}
}

// before returns the place of the first of the words that stands at most n words
// after i, i without one.
func (c *clause) before(i, n int, words *lazy.Set) int {
	for j := i + 1; j <= i+n && j < len(c.words) && !c.words[j-1].mark(); j++ {
		if words.Has(c.at(j)) {
			return j
		}
	}
	return i
}

// headed returns the place after the first of heads that stands at most n words
// after i, i without one. A head before another noun is none: "my dog walker".
func (c *clause) headed(i, n int, heads *lazy.Set) int {
	for j := i; j <= i+n && j < len(c.words) && !c.words[j].mark() && !Hanging.Has(c.at(j)) || j == i && (c.at(j) == "a" || c.at(j) == "an" || c.at(j) == "my" || c.at(j) == "our" || c.at(j) == "the"); j++ {
		if heads.Has(c.at(j)) && !heads.Has(c.at(j+1)) {
			return j + 1
		}
	}
	return i
}

// headed accepts a phrase that begins with "a", "my" and their like and has one of
// heads as its noun, with what is said of that.
func headed(heads *lazy.Set, n int) func(c *clause, i int) string {
	return func(c *clause, i int) string {
		if !determiner.Has(c.at(i)) {
			return ""
		}
		head := c.headed(i, n+1, heads)
		if head == i {
			return ""
		}
		if j := max(head, c.trimmed(i, c.undated(i, c.ending(i)))); c.standing(i, j) {
			return ThirdPerson(c.text(i, j))
		}
		return ThirdPerson(c.text(i, head))
	}
}

var determiner = lazy.SetOf("determiner", wordList)

var (
	ventures = lazy.SetOf("ventures", wordList)
	degrees  = lazy.SetOf("degrees", wordList)

	jobless   = lazy.Words("retired self-employed freelancing")
	holdings  = lazy.SetOf("holdings", wordList)
	aims      = lazy.SetOf("aims", wordList)
	occasions = lazy.SetOf("occasions", wordList)
	matters   = lazy.SetOf("matters", wordList)
	games     = lazy.Words("guitar piano violin cello drums bass flute saxophone sax trumpet clarinet ukulele harp tennis football soccer basketball chess golf rugby hockey volleyball badminton cricket squash padel poker baseball softball lacrosse keyboard banjo harmonica viola oboe d&d bridge pickleball")
	sorts     = lazy.SetOf("sorts", wordList)
)

// played accepts what is played: games and instruments.
func played(c *clause, i int) string {
	j := i
	if c.at(j) == "the" {
		j++
	}
	if c.at(j) == "video" && c.at(j+1) == "games" || c.at(j) == "board" && c.at(j+1) == "games" {
		return c.text(i, j+2)
	}
	if !games.Has(c.at(j)) {
		return ""
	}
	return c.text(i, j+1)
}

var months = lazy.Words("january february march april may june july august september october november december")

func mannerEnd(c *clause, i int) int {
	switch w := c.at(i); {
	case w == "remotely", w == "full-time", w == "part-time", w == "freelance", w == "mostly":
		return i + 1
	case (w == "full" || w == "part") && c.at(i+1) == "time", w == "from" && c.at(i+1) == "home":
		return i + 2
	}
	return i
}

func bigEnd(c *clause, i int) int {
	j := i
	for bigs.Has(c.at(j)) {
		j++
	}
	return j
}

var bigs = lazy.Words("big huge massive die-hard avid lifelong real true such")

// habitual accepts a habit that people give up.
func habitual(c *clause, i int) string {
	switch c.at(i) {
	case "smoking", "drinking", "eating", "vaping", "caffeine", "alcohol", "coffee", "sugar", "meat", "gluten", "dairy", "gambling", "soda", "taking", "playing", "going", "using", "watching", "buying", "working", "cigarettes", "running", "wearing":
		return thing(c, i)
	}
	return played(c, i)
}

func preferred(c *clause, i int) string {
	if c.at(i) == "not" {
		return exact(c, i)
	}
	return compared(c, i)
}

// compared accepts a thing with what it is held against: "tea over coffee".
func compared(c *clause, i int) string {
	if c.vague(i) && c.at(i) != "to" || c.at(i) == "the" && i+1 < len(c.words) && vagueHead.Has(c.at(i+1)) {
		return ""
	}
	return exact(c, i)
}

// appointment accepts an occasion on a day to come.
func appointment(c *clause, i int) string {
	if !determiner.Has(c.at(i)) || c.at(i) == "the" {
		return ""
	}
	if c.headed(i, 5, occasions) == i {
		return ""
	}
	return planned(c, i)
}

// holding accepts something that people have for years.
func holding(c *clause, i int) string {
	if c.at(i) == "the" || c.at(i) == "any" || c.at(i) == "no" {
		return ""
	}
	return headed(holdings, 3)(c, i)
}

// amountOf accepts a time or a sum that somebody has.
func amountOf(c *clause, i int) string {
	if !c.amount(i) || c.at(i) == "to" || c.at(i) == "the" {
		return ""
	}
	return whole(c, i)
}

var sports = lazy.SetOf("sports", wordList)

// sport accepts what people "do": yoga, charity work.
func sport(c *clause, i int) string {
	j := i
	for ; j < i+3 && j < len(c.words) && !c.words[j].mark(); j++ {
		if w, next := c.at(j), c.at(j+1); sports.Has(w) {
			break
		} else if (w == "charity" || w == "volunteer" || w == "freelance" || w == "community") && next == "work" || w == "martial" && next == "arts" || (w == "weight" || w == "strength") && next == "training" {
			j++
			break
		}
	}
	if j >= i+3 || j >= len(c.words) || c.words[j].mark() || Hanging.Has(c.at(i)) {
		return ""
	}
	if end := c.ending(i); c.standing(i, end) && end > j {
		return ThirdPerson(c.text(i, end))
	}
	return ThirdPerson(c.text(i, j+1))
}

// project accepts what somebody organises: an occasion, or what has a date.
func project(c *clause, i int) string {
	if determiner.Has(c.at(i)) && c.headed(i, 4, occasions) > i {
		return exact(c, i)
	}
	return planned(c, i)
}

// chosen accepts what was decided for, by a name that says what it is.
func chosen(c *clause, i int) string {
	if c.vague(i) || c.at(i) == "to" || particles.Has(c.at(i)) || Hanging.Has(c.at(i)) && !determiner.Has(c.at(i)) {
		return ""
	}
	j := c.ending(i)
	named := false
	for k := i; k < j; k++ {
		named = named || c.words[k].capital && !c.words[k].mark() || IsDigit(c.at(k))
	}
	if !named && j-i < 3 || !c.standing(i, j) {
		return ""
	}
	return ThirdPerson(c.text(i, j))
}

// aimed accepts what somebody means to do, by its verb.
func aimed(c *clause, i int) string {
	for adverb.Has(c.at(i)) && i < len(c.words)-1 {
		i++
	}
	v, ok := Verbs()[c.at(i)]
	if !ok || v.Form&base == 0 || v.class&aim == 0 {
		return ""
	}
	switch next := c.at(i + 1); v.Lemma {
	case "be": // "a mother", not "clear"
		if !determiner.Has(c.at(i+1)) && c.at(i+1) != "more" && c.at(i+1) != "known" {
			return ""
		}
	case "see":
		if !c.names(i+1, c.ending(i+1)) {
			return ""
		}
	case "get", "do", "have", "use", "take": // mostly what is at hand
		if next == "the" || next == "moving" || next == "started" || next == "going" || next == "back" || next == "this" || next == "up" {
			return ""
		}
	case "make":
		if next == "sure" {
			return ""
		}
	case "move", "keep", "continue":
		if next == "forward" || next == "on" || next == "going" || next == "with" || next == "moving" {
			return ""
		}
	}
	return c.act(i, v)
}

// duty accepts what somebody has to do, if it is more than a step of what is at hand.
func duty(c *clause, i int) string {
	if v, ok := Verbs()[c.at(i)]; !ok || v.class&deed == 0 || v.class&idle != 0 {
		return ""
	}
	return aimed(c, i)
}

// doing accepts what somebody means to do, as a gerund.
func doing(c *clause, i int) string {
	v, ok := Verbs()[c.at(i)]
	if !ok || v.Form&Gerund == 0 || v.class&(aim|deed|ongoing|routine|light) == 0 {
		return ""
	}
	return c.act(i, v)
}

// act accepts a verb and what it is done to, if they mean something by themselves.
func (c *clause) act(i int, v verb) string {
	j := c.ending(i)
	if !c.standing(i+1, j) && !(alone.Has(v.Lemma) && j-i < 3 && j > i) {
		return ""
	}
	if c.vague(i+1) && c.at(i+1) != "to" || c.halved(i, j) {
		return ""
	}
	return ThirdPerson(c.text(i, j))
}

// alone are verbs that say enough without an object.
var alone = lazy.SetOf("alone", wordList)

// awaited accepts what somebody looks forward to.
func awaited(c *clause, i int) string {
	if said := doing(c, i); said != "" {
		return said
	}
	if determiner.Has(c.at(i)) && c.headed(i, 4, occasions) > i {
		return exact(c, i)
	}
	return dated(c, i)
}

// goal accepts what a goal is: something to do or to be had.
func goal(c *clause, i int) string {
	if c.at(i) == "to" {
		if said := aimed(c, i+1); said != "" {
			return "to " + said
		}
		return ""
	}
	return compared(c, i)
}

// matterOf accepts what something of the speaker's is.
func matterOf(c *clause, i int) string {
	if passingState.Has(c.at(i)) && c.at(i) != "being" && c.at(i) != "not" || adverb.Has(c.at(i)) && passingState.Has(c.at(i+1)) {
		return ""
	}
	if c.at(i) == "to" {
		return goal(c, i)
	}
	return compared(c, i)
}

func device(c *clause, i int) string {
	d := c.at(i)
	if d == "myself" {
		i++
		d = c.at(i)
	}
	if !determiner.Has(d) || d == "the" || d == "any" || d == "no" {
		return ""
	}
	j := c.headed(i, 5, devices)
	if j == i {
		return ""
	}
	return ThirdPerson(c.text(i, c.placed(j)))
}

// owned accepts a thing that is one among others: "a red Toyota".
func owned(c *clause, i int) string {
	if !determiner.Has(c.at(i)) || c.at(i) == "any" || c.at(i) == "no" || c.at(i) == "some" {
		return ""
	}
	if c.at(i) == "the" || c.at(i) == "my" && c.at(i+1) != "own" {
		return ""
	}
	return thing(c, i)
}

// placed returns the place after where a thing is, how old it is or what it is called:
// "a house in Delft", "a cello from 1910", "a boat named Ida".
func (c *clause) placed(j int) int {
	switch w := c.at(j); {
	case w == "in" || w == "near":
		if end := c.placeEnd(j + 1); end > j+1 && !Timing.Has(c.at(j+1)) {
			return end
		}
	case w == "from" && IsDigit(c.at(j+1)) && len(c.at(j+1)) == 4:
		return j + 2
	case w == "called" || w == "named":
		if end := c.nameEnd(j + 1); end > j+1 {
			return end
		}
	}
	return j
}

var devices = lazy.SetOf("devices", wordList)
