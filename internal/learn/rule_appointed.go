package learn

import (
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/late"
	"github.com/loci-memory/loci/internal/text"
)

// What has one date at a time, and what has one value, goes by the attributes
// "date:" and "value:" with the sorted terms of what it is, so that "the deadline
// for the report" and "my report deadline" are one.
var (
	appointments = &family{rule: "appointed", category: "plan", confidence: 0.85}
	restless     = late.Words("moved pushed postponed rescheduled shifted extended delayed")
	// fresh are words of a thing that do not tell it from another.
	fresh = late.Words("new updated current revised original next upcoming my our the a an is are of for with to on in at user's")
)

// attributeOf returns the attribute of a thing of which there is one, "" for no thing.
func attributeOf(kind, thing string) string {
	var kept []string
	for w := range strings.FieldsSeq(thing) {
		if !fresh.Has(lower(strings.Trim(w, ","))) {
			kept = append(kept, w)
		}
	}
	terms := text.Terms(strings.Join(kept, " "))
	slices.Sort(terms)
	terms = slices.Compact(terms)
	if len(terms) == 0 || len(terms) > 6 {
		return ""
	}
	return kind + ":" + strings.Join(terms, " ")
}

// appointed reads the day that something has, or was put on: "the deadline for the
// report was moved to 9 June", "my 20 June deadline for the grant". It reports
// whether that is all that the clause says.
func (r *reader) appointed(c *clause, i int) bool {
	deadline := -1
	for k := i; k < len(c.words); k++ {
		switch w := c.at(k); {
		case restless.Has(w) && r.putOff(c, i, k),
			(w == "cancelled" || w == "canceled" || w == "called" || w == "off") && r.cancelled(c, i, k),
			remeasure.Has(w) && k > i && r.raised(c, i, k),
			w == "now" && r.nowOn(c, i, k):
			return true
		}
		if c.at(k) == "deadline" && deadline < 0 {
			deadline = k
		}
	}
	return deadline >= 0 && r.due(c, i, deadline)
}

// putOff reads what was put on another day; k is the place of its verb.
func (r *reader) putOff(c *clause, i, k int) bool {
	to := k + 1
	for to < len(c.words) && c.at(to) != "to" && c.at(to) != "until" {
		to++
	}
	end := c.ending(to + 1)
	dates := c.dates(to+1, end)
	if len(dates) == 0 || dates[0].Start > 0 {
		return false
	}
	from, until := i, k // the thing's words
	if w := c.at(i); w == "i" || w == "we" {
		for j := i + 1; j < k; j++ {
			if !adverb.Has(c.at(j)) && c.at(j) != "have" && c.at(j) != "had" && c.at(j) != "just" {
				return false
			}
		}
		from, until = k+1, to
	}
	for until > from && (helpers.Has(c.at(until-1)) || adverb.Has(c.at(until-1))) {
		until--
	}
	for j := from; j < until; j++ { // "from May 3"
		if c.at(j) == "from" {
			until = j
		}
	}
	if w := c.at(from); w != "my" && w != "our" && w != "the" {
		return false
	}
	head := c.headed(from+1, 3, dayed)
	if head == from+1 || head > until || !c.standing(from+1, until) || until-from > 8 || c.joint == "if" {
		return false
	}
	thing := thirdPerson(c.text(from+1, until))
	when := strings.TrimSpace(c.text(to+1, end))
	r.dates(c, thing, " is now "+onDay(when, dates[0]))
	return true
}

// dayed are what has a day: the occasions and more that is too common a word to be
// one everywhere.
var dayed = late.SetOf("call session lecture talk release launch delivery submission lesson start move", func(words string) map[string]bool {
	all := maps.Clone(occasions.All())
	for w := range strings.FieldsSeq(words) {
		all[w] = true
	}
	return all
})

var helpers = late.Words("was were has have been got is are being had just now also")

// onDay returns a date with the preposition that it needs: "on 9 June", "in June".
func onDay(when string, d text.Date) string {
	for _, lead := range []string{"on ", "in "} {
		if strings.HasPrefix(lower(when), lead) {
			return when
		}
	}
	prep, _, _ := strings.Cut(d.String(), " ")
	return prep + " " + when
}

// dates adds the fact that a thing of the speaker's has a date.
func (r *reader) dates(c *clause, thing, says string) {
	r.g = captured{}
	f := *appointments
	f.attribute = attributeOf("date", thing)
	r.fact(c, &user, &f, "User's "+thing+says, "")
}

// due reads the day of a deadline that is spoken of as known: "I have a deadline of
// 1 April for the first draft", "my 20 June deadline for the grant". k is the place
// of "deadline". It reports whether the clause says no more.
func (r *reader) due(c *clause, i, k int) bool {
	start := k // of what it is the deadline of
	for start > i && !owners.Has(c.at(start-1)) && c.at(start-1) != "a" && c.at(start-1) != "an" && k-start < 6 && !c.words[start-1].mark() {
		start--
	}
	det := c.at(start - 1)
	has := c.at(start-2) == "have" && c.at(start-3) == "i" || c.at(start-2) == "have" && c.at(start-3) == "we"
	if start == i || det != "my" && det != "our" && det != "the" && !has {
		return false
	}
	var day text.Date
	after := k + 1
	when, thing := "", c.text(start, k+1)
	if of := c.at(k + 1); of == "of" || of == "on" {
		dates := c.dates(k+2, len(c.words))
		if len(dates) == 0 || dates[0].Start > 0 {
			return false
		}
		day, when = dates[0], c.text(k+2, len(c.words))[:dates[0].End]
		for after = k + 2; after < len(c.words) && c.words[after].start < c.words[k+2].start+day.End; {
			after++
		}
	} else {
		dates := c.dates(start, k)
		if len(dates) == 0 {
			return false
		}
		day = dates[0]
		when = c.text(start, k)[day.Start:day.End]
		thing = strings.Join(strings.Fields(c.text(start, k)[:day.Start]+" "+c.text(start, k)[day.End:]+" deadline"), " ")
	}
	for c.at(after) == "," {
		after++
	}
	if v, ok := verbs()[c.at(after+1)]; c.at(after) == "for" || c.at(after) == "to" && ok && v.form&base != 0 {
		end := c.ending(after + 1)
		for e := after + 1; e < end; e++ {
			if c.at(e) == "," {
				end = e
			}
		}
		if !c.standing(after+1, end) || end-after > 9 {
			return false
		}
		thing += " " + c.text(after, end)
	}
	is := " is "
	if known, ok := strings.CutPrefix(thing, "new "); ok {
		thing, is = known, " is now "
	}
	if thing == "deadline" && !has && det == "the" {
		return false
	}
	r.dates(c, thirdPerson(thing), is+onDay(when, day))
	return has
}

// figure returns the attribute of a matter that has a number or a date, of something
// on a day, and of how often something was done so far; else the one given.
func (r *reader) figure(f *family, said, attribute string) string {
	if m := soFar.FindStringSubmatch(said); m != nil && f.category == "event" {
		if key := keyOf(m[2]); strings.Contains(key, " ") {
			return "count:" + lower(m[1]) + " " + key
		}
	}
	what, is, found := strings.Cut(strings.TrimPrefix(said, "User's "), " is ")
	switch {
	case f.rule == "has kin", f.rule == "owns", f.rule == "has", f.category == "event" && soldForm.MatchString(said):
		return kindHad(said, attribute)
	case f.rule == "answers" && answersLong.MatchString(said), f.rule == "prefer" && answersLong.MatchString(said):
		return "answers:length"
	case f.rule == "prefer":
		return pairOf(said, attribute)
	case strings.HasPrefix(f.rule, "plan") && strings.Contains(said, " getting married"):
		return attributeOf("date", "wedding")
	case f.rule == "matter" && found && is != "" && strings.ContainsAny(is, "0123456789"):
		if occasions.Has(occasion(what)) {
			return attributeOf("date", what)
		}
		return attributeOf("value", what)
	case f.rule == "plan" && found && strings.HasPrefix(said, "User's "):
		return attributeOf("date", what)
	case f.rule == "plan" && strings.HasPrefix(said, "User has "):
		if dates := text.Resolve(said, r.said.Turn.CreatedAt); len(dates) > 0 {
			return attributeOf("date", strings.TrimPrefix(said[:dates[0].Start], "User has "))
		}
	}
	return attribute
}

// answersLong is a wish for how long answers are.
var answersLong = late.Compile(`\b(?:short|shorter|long|longer|brief|concise|detailed|details)\b.*\b(?:answers|replies|responses|explanations)\b|\b(?:answers|replies|responses|explanations)\b.*\b(?:short|shorter|long|longer|brief|concise|detailed)\b`)

// soldForm is what says that a thing is another's now.
var soldForm = late.Compile(`^User (?:has )?(?:sold|crashed|totalled|totaled|lost) (?:User's|the) `)

// kindHad returns the attribute of things and people that are told under several names:
// a Toyota is a car, a daughter a child, and who has a girlfriend is not single.
func kindHad(said, attribute string) string {
	for _, w := range text.Words(said) {
		switch {
		case cars.Has(w):
			return "has:car"
		case offspring.Has(w):
			return "has:kid"
		case partners.Has(w) && !text.Negated(said):
			return "marital status"
		}
	}
	return attribute
}

var (
	cars      = late.Words("car cars toyota honda ford bmw prius jeep tesla volvo audi mazda nissan volkswagen vw skoda fiat renault peugeot kia hyundai subaru mercedes")
	offspring = late.Words("boys girls kid kids child children son sons daughter daughters twins baby")
)

// pairOf returns the attribute of a choice between two: "tea over coffee" and "coffee
// over tea" are of one.
func pairOf(said, attribute string) string {
	a, b, ok := strings.Cut(said, " over ")
	if !ok {
		return attribute
	}
	_, a, _ = strings.Cut(a, "prefers ")
	terms := append(text.Terms(a), text.Terms(b)...)
	slices.Sort(terms)
	if len(terms) == 0 || len(terms) > 6 {
		return attribute
	}
	return "choice:" + strings.Join(terms, " ")
}

// soFar is how often something was done up to now.
var soFar = late.Compile(`^User has (\w+) [0-9][0-9,]* (.+)$`)

// occasion returns the occasion among the words of a thing, "" without one.
func occasion(thing string) string {
	for w := range strings.FieldsSeq(thing) {
		if occasions.Has(lower(w)) {
			return lower(w)
		}
	}
	return ""
}
