package learn

import (
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/late"
	"github.com/loci-memory/loci/internal/text"
)

// Some things end in words of their own: couples break up, and what was planned is off.
var (
	brokeUp     = &family{rule: "broke up", category: "family", attribute: "partner", confidence: 0.85}
	newlySingle = &family{rule: "broke up", category: "family", attribute: "marital status", confidence: 0.7}
	put         = &family{rule: "cancelled", category: "plan", confidence: 0.85}
	gaveUp      = &family{rule: "cancelled", category: "possession", confidence: 0.8}
)

var partners = late.Words("wife husband partner spouse girlfriend boyfriend fiance fiancé fiancee fiancée")

// apart reads that a couple is none any more: "we broke up", "Ravi and I split up", "I
// broke up with Ravi". It reports whether the clause says so.
func (r *reader) apart(c *clause, p *predicate, couple bool, when string) bool {
	if p.neg != "" || p.subject != "user" {
		return false
	}
	j := p.rest
	if p.verb.lemma == "be" && couple && r.other != "" && (c.at(j) == "divorced" || c.at(j) == "separated") && p.tense&(present|perfect) != 0 {
		r.g = captured{}
		r.fact(c, &user, &family{rule: "marriage", category: "family", attribute: "marital status", confidence: 0.9}, "User is "+c.at(j)+" from "+r.other, when)
		return true
	}
	if p.tense&(simplePast|perfect) == 0 && p.word != "split" {
		return false
	}
	switch p.verb.lemma {
	case "break", "split":
		if c.at(j) != "up" {
			return false
		}
		j++
	case "separate", "divorce":
	default:
		return false
	}
	whom := ""
	switch {
	case c.at(j) == "with" || c.at(j) == "from" && p.verb.lemma == "separate":
		k := j + 1
		if c.at(k) == "my" && partners.Has(c.at(k+1)) {
			whom = thirdPerson(c.text(k, k+2))
		} else if end := c.nameEnd(k); end > k {
			whom = c.text(k, end)
		} else {
			return false
		}
	case couple && (j == len(c.words) || c.words[j].mark() || timing.Has(c.at(j)) && c.at(j) != "the" && c.at(j) != "a" && c.at(j) != "to" && len(c.dates(j, len(c.words))) > 0 || stops.Has(c.at(j)) || c.at(j) == "after" || adverb.Has(c.at(j))):
		whom = r.other
		if of, kin := strings.CutPrefix(whom, "User's "); kin && !partners.Has(firstLow(of)) {
			return false // "my business partner and I"
		}
		if whom == "" {
			whom = "User's partner"
		}
	default:
		return false
	}
	if p.word == "split" {
		p.tense = simplePast
	}
	with := map[string]string{"separate": " from ", "divorce": " "}[p.verb.lemma]
	if with == "" {
		with = " up with "
	}
	r.separated(c, "User "+p.says(0, "")+with+whom, when)
	return true
}

// leftBy reads that a partner left: "my girlfriend left me".
func (r *reader) leftBy(c *clause, p *predicate, kin, when string) bool {
	if p.tense&(simplePast|perfect) == 0 || p.neg != "" || !oneAtATime(kin) || kinAttribute(kin) != "partner" {
		return false
	}
	j := p.rest
	switch {
	case (p.verb.lemma == "leave" || p.verb.lemma == "dump" || p.verb.lemma == "divorce") && c.at(j) == "me":
		if w := c.at(j + 1); w != "" && !c.words[j+1].mark() && !stops.Has(w) && w != "after" && !adverb.Has(w) && w != "for" && !(timing.Has(w) && w != "a" && w != "the" && len(c.dates(j+1, len(c.words))) > 0) {
			return false // a note, or in charge
		}
	case p.verb.lemma == "break" && c.at(j) == "up" && c.at(j+1) == "with" && c.at(j+2) == "me":
		j += 2
	default:
		return false
	}
	r.separated(c, p.who+" "+c.text(p.at, j)+" User", when)
	return true
}

// separated adds that a couple is none, and that the user is single if it is news.
func (r *reader) separated(c *clause, said, when string) {
	r.g = captured{}
	dates := append(text.Resolve(when, c.said.Turn.CreatedAt), c.dates(0, len(c.words))...)
	if len(dates) > 0 && when == "" {
		said += " " + dates[0].String()
	}
	r.fact(c, &user, brokeUp, said, when)
	if len(dates) == 0 || c.said.Turn.CreatedAt.Sub(dates[0].From) < recent {
		r.fact(c, &user, newlySingle, "User is single", "")
	}
}

// recent is for how long a break-up tells that somebody is single.
const recent = 90 * 24 * time.Hour

// cancelled reads what will not take place or is given up: "the trip to Rome is off",
// "I cancelled my gym membership". k is the place of "cancelled", "off" or "called".
func (r *reader) cancelled(c *clause, i, k int) bool {
	after := k + 1
	switch c.at(k) {
	case "called":
		if c.at(k+1) != "off" {
			return false
		}
		after = k + 2
	case "off":
		if w := c.at(k - 1); w != "is" && w != "are" && !adverb.Has(w) || k+1 < len(c.words) && !c.words[k+1].mark() && !timing.Has(c.at(k+1)) {
			return false
		}
	}
	from, until := i, k
	unsaid := i == k && c.first && !r.theirs && (c.at(after) == "my" || c.at(after) == "our") // "cancelled my haircut"
	byUs := c.at(i) == "i" || c.at(i) == "we" || c.heir || unsaid
	if byUs {
		from, until = after, c.ending(after)
		for j := i + 1; j < k; j++ {
			if w := c.at(j); !adverb.Has(w) && w != "have" && w != "had" && w != "to" && w != "am" {
				return false
			}
		}
	}
	for until > from && (helpers.Has(c.at(until-1)) || adverb.Has(c.at(until-1))) {
		until--
	}
	until = c.undated(from, until)
	det := c.at(from)
	if byUs && c.at(k) != "off" && c.nameEnd(from) > from && until-from < 5 && !timing.Has(det) { // "we cancelled Malta"
		r.g = captured{}
		r.fact(c, &user, gaveUp, "User cancelled "+c.text(from, until), "")
		return true
	}
	if det != "my" && det != "our" && det != "the" || until-from < 2 || until-from > 8 || !c.standing(from+1, until) {
		return false
	}
	thing := thirdPerson(c.text(from+1, until))
	r.g = captured{}
	head := c.headed(from+1, 3, dayed)
	if end := c.headed(from+1, 3, trips); end > from+1 {
		head = end
	}
	switch {
	case c.at(from+1) == "engagement":
		r.fact(c, &user, newlySingle, "User is no longer engaged", "")
	case c.at(k) == "off" && head > from+1 && !ownOccasions.Has(c.at(head-1)) && c.at(head-1) != "meeting" && c.at(head-1) != "concert" && c.at(head-1) != "conference":
		return false // my game is off today
	case head > from+1 && head <= until && (det != "the" || ownOccasions.Has(c.at(head-1))):
		f := *put
		f.attribute = attributeOf("date", thing)
		r.fact(c, &user, &f, "User's "+thing+" is cancelled", "")
	case byUs && det != "the" && c.headed(from, 4, holdings) > from:
		r.fact(c, &user, gaveUp, "User cancelled User's "+thing, "")
	default:
		return false
	}
	return true
}

var (
	trips = late.Words("trip flight holiday vacation honeymoon journey cruise tour visit move reunion housewarming")
	// ownOccasions are occasions that are the speaker's when they say "the".
	ownOccasions = late.Words("trip flight holiday vacation honeymoon wedding interview appointment surgery operation exam party reunion move cruise visit")
)

// dismissed reads who ended somebody's work: "Intel laid me off".
func (r *reader) dismissed(c *clause, i int) bool {
	j := c.placeEnd(i)
	if j == i || pointing.Has(c.at(i)) || subjects.Has(c.at(i)) {
		return false
	}
	for c.at(j) == "just" || c.at(j) == "has" || c.at(j) == "have" {
		j++
	}
	switch c.at(j) + " " + c.at(j+1) + " " + c.at(j+2) {
	case "laid me off", "let me go", "made me redundant":
	default:
		if c.at(j) != "fired" || c.at(j+1) != "me" {
			return false
		}
	}
	r.g = captured{}
	r.fact(c, &user, &family{rule: "left", category: "work", attribute: "employer", confidence: 0.85}, "User no longer works at "+c.text(i, c.placeEnd(i)), "")
	return true
}

// lastDay reads that somebody has left where they worked, or works no more: "Friday was my
// last day at the hotel", "Retired!".
func (r *reader) lastDay(c *clause, i int) bool {
	if c.first && c.at(i) == "retired" && (i+1 == len(c.words) || c.words[i+1].mark()) && !r.theirs {
		r.g = captured{}
		r.fact(c, &user, &family{rule: "work", category: "work", attribute: "occupation", confidence: 0.85}, "User is retired", "")
		return true
	}
	for k := i; k+3 < len(c.words) && k < i+6; k++ {
		if c.at(k) != "last" || c.at(k+1) != "day" || c.at(k+2) != "at" {
			continue
		}
		mine := k > i && c.at(k-1) == "my" && (c.at(k-2) == "was" || k-1 == i) || k == i && c.first && !r.theirs
		place := company(c, k+3)
		past := c.at(k-2) == "was" || c.has("was") || c.has("yesterday") || c.has("today")
		if !mine || !past || place == "" || c.has("school") {
			return false
		}
		r.g = captured{}
		r.fact(c, &user, &family{rule: "left", category: "work", attribute: "left:" + keyOf(place), confidence: 0.85}, "User no longer works at "+place, "")
		return true
	}
	return false
}

// nowOn reads what has another day than was known: "the trip to Crete is now in August".
// k is the place of "now".
func (r *reader) nowOn(c *clause, i, k int) bool {
	det := c.at(i)
	if c.at(k-1) != "is" || c.at(k+1) != "on" && c.at(k+1) != "in" || det != "the" && det != "my" && det != "our" || k-1-i < 2 || k-i > 9 || !c.standing(i+1, k-1) {
		return false
	}
	end := c.ending(k + 2)
	dates := c.dates(k+2, end)
	if len(dates) == 0 || dates[0].Start > 0 || c.headed(i+1, 3, dayed) == i+1 && c.headed(i+1, 3, trips) == i+1 {
		return false
	}
	r.dates(c, thirdPerson(c.text(i+1, k-1)), " is now "+c.at(k+1)+" "+strings.TrimSpace(c.text(k+2, end)))
	return true
}
