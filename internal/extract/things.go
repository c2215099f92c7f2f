package extract

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
)

// ofThing reads what is said of something by its place in the speaker's life:
// "green is my favourite colour", "Maria is my wife", "running helps me relax".
func (r *reader) ofThing(c *clause, i int) {
	if r.wished(c, i) || r.chose(c, i) || pointing.Has(c.at(i)) && c.at(i) != "this" {
		return
	}
	r.g = captured{}
	if c.at(i) == "the" {
		if end := c.headed(i+1, 2, agreed); end > i+1 && (c.at(end) == "is" || c.at(end) == "are") {
			r.ofMine(c, i+1, "")
			return
		}
	}
	for j := i + 1; j < len(c.words) && j < i+14; j++ {
		w := c.at(j)
		if (w == "is" || w == "are" || w == "was") && (c.at(j+1) == "my" || c.at(j+1) == "our" || c.at(j+1) == "one" && c.at(j+2) == "of" && c.at(j+3) == "my") {
			r.is(c, i, j)
			return
		}
		if (w == "is" || w == "helps") && r.means(c, i, j) {
			return
		}
		if (w == "is" || w == "are") && firmly(c, j+1) {
			if c.standing(i, j) && !c.vague(i) && j-i < 9 {
				what := ThirdPerson(c.text(i, j))
				r.fact(c, &user, choice, strings.ToUpper(what[:1])+what[1:]+" "+w+" "+strings.ToLower(c.text(j+1, len(c.words)))+" for User", "")
			}
			return
		}
		if w == "me" && c.at(j-1) == "to" && j == len(c.words)-1 {
			r.matters(c, i, j-1)
			return
		}
		if helping.Has(w) && c.at(j+1) == "me" {
			r.helps(c, i, j)
			return
		}
		if c.words[j].mark() && w != "," {
			return
		}
	}
}

var helping = lazy.Words("helps makes gives keeps inspires motivates relaxes calms reminds brings allows lets means")

// is reads "… is my favourite colour"; j is the place of the verb.
func (r *reader) is(c *clause, i, j int) {
	k := j + 2
	one := c.at(j+1) == "one"
	if one {
		k = j + 4
	}
	if end := kinEnd(c, k); end > k && end == len(c.words) && !one {
		if name := c.text(i, j); c.nameEnd(i) == j {
			r.kinName(c, strings.ToLower(c.text(k, end)), name)
		}
		return
	}
	if !c.standing(i, j) || c.vague(i) || j-i > 8 || c.at(i) == "the" && c.words[i+1].low == "one" {
		return
	}
	if two := c.at(k) + " " + c.at(k+1); j == i+1 && languages.Has(c.at(i)) && (two == "native language" || two == "first language" || two == "mother tongue") {
		r.fact(c, &user, native, "User's native language is "+c.text(i, j), "")
		return
	}
	thing := ThirdPerson(c.text(i, j))
	if v, ok := Verbs()[c.at(i)]; ok && v.Form == Gerund {
		thing = strings.ToLower(thing[:1]) + thing[1:]
	}
	for c.at(k) == "absolute" || c.at(k) == "all-time" {
		k++
	}
	switch w := c.at(k); {
	case (w == "favorite" || w == "favourite" || w == "fave"):
		kind := strings.ToLower(c.text(k+1, c.trimmed(k+1, c.ending(k+1))))
		if kind == "" && !one {
			f := *reversed
			f.attribute = "taste:" + keyOf(thing)
			r.fact(c, &user, &f, "User loves "+thing, "")
			return
		}
		if kind == "" || len(strings.Fields(kind)) > 5 || pointing.Has(kind) {
			return
		}
		r.g.set("kind", kind)
		f := *reversed
		said := "User's favourite " + kind + " is " + thing
		if one {
			f.attribute, said = "", "One of User's favourite "+kind+" is "+thing
		}
		r.fact(c, &user, &f, said, "")
	default:
		end := c.headed(k, 3, mattersToo)
		if end > k && c.trimmed(k, len(c.words)) == end {
			r.fact(c, &user, belongs, "User's "+ThirdPerson(c.text(k, end))+" is "+thing, "")
		}
	}
}

var mattersToo = lazy.SetOf("mattersToo", wordList)

// helps reads "running helps me relax"; j is the place of the verb.
func (r *reader) helps(c *clause, i, j int) {
	v, ok := Verbs()[c.at(i)]
	thing := c.at(i) == "the" && j-i > 2 || ok && v.Form&Gerund != 0 && c.at(i) != "being" && c.at(i) != "having" && c.at(i) != "seeing"
	if !thing || !c.standing(i, j) || j-i > 7 {
		return
	}
	if end := c.ending(j + 2); c.standing(j+2, end) && end-j > 3 {
		subject := ThirdPerson(c.text(i, j))
		r.fact(c, &user, helps, strings.ToUpper(subject[:1])+subject[1:]+" "+c.at(j)+" User "+ThirdPerson(c.text(j+2, end)), "")
	}
}

// agreed are the matters of a plan that people speak of as "the budget".
var agreed = lazy.Words("baby budget deadline goal priority aim target objective timeline")

// means reads what doing something is to the speaker: "painting is my way to relax".
func (r *reader) means(c *clause, i, j int) bool {
	v, ok := Verbs()[c.at(i)]
	end := c.ending(j + 1)
	if !ok || v.Form != Gerund || v.class&(deed|light|routine|ongoing) == 0 || !c.standing(i, j) || !c.standing(j+1, end) || c.at(j+1) == "my" {
		return false
	}
	for k := j + 1; k < end; k++ {
		if w := c.at(k); w == "my" || w == "me" {
			what := ThirdPerson(c.text(i, j))
			r.fact(c, &user, helps, strings.ToUpper(what[:1])+what[1:]+" "+c.at(j)+" "+ThirdPerson(c.text(j+1, end)), "")
			return true
		}
	}
	return false
}

// firmly reports whether the clause ends in what somebody insists on: "a must".
func firmly(c *clause, i int) bool {
	for adverb.Has(c.at(i)) || c.at(i) == "a" || c.at(i) == "an" {
		i++
	}
	w := c.at(i)
	return i == len(c.words)-1 && (w == "must" || w == "deal-breaker" || w == "dealbreaker" || w == "non-negotiable" || w == "no-go" || w == "must-have" || w == "off-limits")
}

var precious = lazy.Words("important precious matters special everything")

// matters reads "a tidy desk is important to me"; j is the place of "to".
func (r *reader) matters(c *clause, i, j int) {
	for k := i + 1; k < j && k < i+7; k++ {
		if w := c.at(k); w != "is" && w != "are" && w != "matters" && w != "means" {
			continue
		}
		if precious.Has(c.at(j-1)) && c.standing(i, k) && !c.vague(i) && c.at(i) != "the" {
			what := ThirdPerson(c.text(i, k))
			r.fact(c, &user, dear, strings.ToUpper(what[:1])+what[1:]+" "+c.text(k, j)+" to User", "")
		}
		return
	}
}

// chose reads what is to be done from what somebody proposes: "let's go with the
// blue one" says nothing, "let's go with Plan B" does.
func (r *reader) chose(c *clause, i int) bool {
	if c.at(i) != "let" || c.at(i+1) != "us" {
		return false
	}
	j := i + 2
	for adverb.Has(c.at(j)) && j < len(c.words)-1 {
		j++
	}
	lead := c.at(j) + " " + c.at(j+1)
	switch lead {
	case "go with", "stick with", "stick to", "focus on", "aim for", "lock in", "go for", "settle on", "proceed with", "keep to":
	default:
		if c.at(j) != "prioritize" && c.at(j) != "prioritise" && c.at(j) != "use" && c.at(j) != "schedule" && c.at(j) != "book" && c.at(j) != "add" {
			return true
		}
		lead = c.at(j)
	}
	k := j + len(strings.Fields(lead))
	said := chosen(c, k)
	if said == "" {
		return true
	}
	r.g = captured{}
	r.fact(c, &user, choice, "User wants to "+lead+" "+said, "")
	return true
}

// wished reads how somebody wants to be answered, where it is said for more than
// one answer: "please keep your answers short", "always answer in German".
func (r *reader) wished(c *clause, i int) bool {
	always := false
	for j := range c.words {
		switch w := c.at(j); w {
		case "always":
			always = true
		case "from":
			always = always || c.at(j+1) == "now" && c.at(j+2) == "on"
		case "future":
			always = always || c.at(j-1) == "in" || c.at(j-1) == "the"
		case "never":
			always = always || j <= i+1
		}
	}
	for adverb.Has(c.at(i)) && c.at(i) != "never" || politely.Has(c.at(i)) || c.at(i) == "from" || c.at(i) == "on" || c.at(i) == "in" || c.at(i) == "future" || c.at(i) == "the" || c.at(i) == "," {
		i++
		if i >= len(c.words) {
			return false
		}
	}
	say := ""
	switch w := c.at(i); w {
	case "keep", "make":
		if w2 := c.at(i + 1); (w2 == "your" || w2 == "the" || w2 == "all") && replies.Has(c.at(i+2)) || replies.Has(c.at(i+1)) {
			j := i + 2
			if !replies.Has(c.at(i + 1)) {
				j = i + 3
			}
			if said := c.text(j, c.trimmed(j, c.ending(j))); said != "" && len(strings.Fields(said)) < 7 {
				say = "User prefers answers that are " + said
			}
		}
	case "answer", "reply", "respond", "write", "talk", "speak":
		j := i + 1
		if (c.at(j) == "to" || c.at(j) == "with") && c.at(j+1) == "me" {
			j += 2
		}
		if said := c.text(j, c.trimmed(j, c.ending(j))); always && c.at(j) == "in" && said != "" && len(strings.Fields(said)) < 7 && c.standing(j, c.ending(j)) {
			say = "User prefers answers " + said
		}
	case "use":
		if said := whole(c, i+1); always && said != "" && len(strings.Fields(said)) < 6 {
			say = "User prefers answers that use " + said
		}
	case "do":
		if c.at(i+1) != "not" {
			return false
		}
		fallthrough
	case "never", "avoid", "stop":
		j := i + 1
		if w == "do" {
			j++
		}
		if c.at(j) == "ever" {
			j++
		}
		if c.at(j) == "use" || c.at(j) == "using" || w == "stop" && c.at(j) == "with" {
			j++
		} else if w == "never" || w == "do" {
			return false
		}
		if said := whole(c, j); said != "" && styles(c, j) {
			say = "User prefers answers without " + said
		}
	}
	if say == "" && c.fromNowOn() {
		say = c.standingWish()
	}
	if say == "" && (always || c.denied(i) || c.at(len(c.words)-2) == "with" && c.at(len(c.words)-1) == "me") {
		say = c.manner(i)
	}
	if say == "" {
		return false
	}
	r.g = captured{}
	r.fact(c, &user, answers, say, "")
	return true
}

// manner returns how to answer, where at most "use" says so: "always metric", "no bullet points with me".
func (c *clause) manner(i int) string {
	end := len(c.words)
	for end > i && (politely.Has(c.at(end-1)) || c.words[end-1].mark()) {
		end--
	}
	if c.at(end-2) == "with" && c.at(end-1) == "me" {
		end -= 2
	}
	how := "that use "
	if c.denied(i) {
		how = "without "
	} else if c.at(i) == "use" {
		i++
	}
	end = c.trimmed(i, end)
	if n := end - i; n < 1 || n > 4 || !styles(c, i) {
		return ""
	}
	return "User prefers answers " + how + strings.ToLower(c.text(i, end))
}

// denied reports whether a word before i denies.
func (c *clause) denied(i int) bool {
	for j := range i {
		if w := c.at(j); w == "no" || w == "not" || w == "never" {
			return true
		}
	}
	return false
}

// fromNowOn reports whether a clause begins with a wish that lasts.
func (c *clause) fromNowOn() bool {
	begins := c.text(0, min(3, len(c.words)))
	return strings.EqualFold(begins, "from now on") || strings.EqualFold(begins, "from here on")
}

// standingWish returns what is wanted from now on, "" where somebody is spoken of: "tests with
// Bun", "run the linter first".
func (c *clause) standingWish() string {
	i := 3
	for c.at(i) == "," || c.at(i) == "please" {
		i++
	}
	if i >= len(c.words) || subjects.Has(c.at(i)) || Owners.Has(c.at(i)) || pointing.Has(c.at(i)) {
		return ""
	}
	if n := len(c.words) - i; n < 2 || n > 16 || !c.standing(i, len(c.words)) {
		return ""
	}
	return "User wants from now on: " + ThirdPerson(c.text(i, len(c.words)))
}

// politely are words around a request: "btw could you please …".
var politely = lazy.Words("please pls plz btw can could would will you")

var replies = lazy.Words("answers replies responses explanations messages")

// styles reports whether a word from i on is about how text is written.
func styles(c *clause, i int) bool {
	for ; i < len(c.words); i++ {
		switch c.at(i) {
		case "emoji", "emojis", "jargon", "bullet", "bullets", "headings", "markdown", "tables", "slang", "exclamation", "abbreviations", "acronyms", "small-talk", "filler", "swearing", "metric", "imperial", "celsius", "fahrenheit":
			return true
		}
	}
	return false
}
