package learn

import (
	"strings"

	"github.com/loci-memory/loci/internal/late"
)

// worn is what people wear by size.
var worn = late.Words("shoe shoes boot boots trainers jeans trousers pants top tops shirt shirts dress dresses jacket coat ring hat bra skirt suit helmet bottom bottoms clothes")

// wornSize accepts a size of clothes: "size 12 tops", "a 46 shoe", "a size M".
func wornSize(c *clause, i int) string {
	j := i
	if c.at(j) == "a" || c.at(j) == "an" {
		j++
	}
	from, sized := j, c.at(j) == "size"
	for c.at(j) == "size" || c.at(j) == "eu" || c.at(j) == "uk" || c.at(j) == "us" {
		j++
	}
	number := startsInDigit(c.at(j)) && len(c.at(j)) < 6
	if !number && !(sized && letterSizes.Has(c.at(j))) {
		return ""
	}
	if j++; worn.Has(c.at(j)) {
		j++
	} else if !sized || j < len(c.words) && !c.words[j].mark() && !goesOn.Has(c.at(j)) && c.at(j) != "and" {
		return ""
	}
	if sized {
		return c.text(from, j)
	}
	return "size " + c.text(from, j)
}

// garment returns what a size is of: "shoes" of "size 46 shoe".
func garment(size string) string {
	if last := lastWord(size); worn.Has(last) {
		return strings.TrimSuffix(last, "s")
	}
	return "clothes"
}

var letterSizes = late.Words("xs s m l xl xxl small medium large")

// metres accepts how tall somebody is without the word: "1.84m", "184 cm".
func metres(c *clause, i int) string {
	w := c.at(i)
	if !startsInDigit(w) {
		return ""
	}
	unit := strings.TrimLeft(w, "0123456789.,")
	number, end := w[:len(w)-len(unit)], i+1
	if unit == "" {
		unit, end = c.at(i+1), i+2
	}
	if end < len(c.words) && !c.words[end].mark() && c.at(end) != "and" && !goesOn.Has(c.at(end)) && !trailing.Has(c.at(end)) {
		return ""
	}
	switch {
	case unit == "m" && len(number) == 4 && (number[:2] == "1." || number[:2] == "1," || number[:2] == "2."), unit == "cm" && len(number) == 3 && number[0] == '1':
		return number + " " + unit
	}
	return ""
}

// weekdays are days of the week, with how people shorten them.
var weekdays = map[string]string{
	"mon": "Monday", "tue": "Tuesday", "tues": "Tuesday", "wed": "Wednesday", "weds": "Wednesday", "thu": "Thursday", "thur": "Thursday", "thurs": "Thursday",
	"fri": "Friday", "sat": "Saturday", "sun": "Sunday", "monday": "Monday", "tuesday": "Tuesday", "wednesday": "Wednesday", "thursday": "Thursday",
	"friday": "Friday", "saturday": "Saturday", "sunday": "Sunday",
}

// workdays accepts the days from one to another: "mon to thu", "Tuesday-Friday".
func workdays(c *clause, i int) string {
	from, to := weekdays[c.at(i)], ""
	switch c.at(i + 1) {
	case "to", "till", "until", "through", "-":
		to = weekdays[c.at(i+2)]
	}
	if a, b, ok := strings.Cut(c.at(i), "-"); ok {
		from, to = weekdays[a], weekdays[b]
	}
	if from == "" || to == "" {
		return ""
	}
	return from + " to " + to
}

// lessons are what people have at the same time each week.
var lessons = late.Words("class classes lesson lessons practice training therapy rehearsal rehearsals choir band football tennis swimming dance dancing")

// weekly accepts what somebody has each week: "yoga on Tuesdays".
func weekly(c *clause, i int) string {
	j := i
	if determiner.Has(c.at(j)) || c.at(j) == "my" {
		j++
	}
	head := j
	for head < j+3 && c.at(head+1) != "on" {
		head++
	}
	if !sports.Has(c.at(head)) && !lessons.Has(c.at(head)) || c.at(head+1) != "on" || weekdays[strings.TrimSuffix(c.at(head+2), "s")] == "" || !strings.HasSuffix(c.at(head+2), "s") {
		return ""
	}
	return thirdPerson(c.text(i, c.trimmed(i, c.ending(i))))
}

// fanOf accepts what somebody is a fan of: "a huge Radiohead fan".
func fanOf(c *clause, i int) string {
	for c.at(i) == "a" || c.at(i) == "an" || c.at(i) == "total" || bigs.Has(c.at(i)) {
		i++
	}
	end := c.before(i, 3, onlyFan)
	if end == i || !c.standing(i, end) || hanging.Has(c.at(i)) || fanNot.Has(c.at(end-1)) {
		return ""
	}
	if strings.ContainsRune(vowels, rune(c.at(i)[0])) {
		return "an " + c.text(i, end+1)
	}
	return "a " + c.text(i, end+1)
}

var (
	onlyFan = late.Words("fan")
	fanNot  = late.Words("ceiling exhaust desk cpu case electric extractor noisy broken not")
)

// gear accepts a product by name, small letters and all: "a pixel 8".
func gear(c *clause, i int) string {
	if c.at(i) == "a" || c.at(i) == "an" || c.at(i) == "my" || c.at(i) == "the" {
		i++
	} else if c.at(i-1) == "on" {
		return "" // "on Windows" may be what is asked about
	}
	if !products.Has(c.at(i)) {
		return ""
	}
	j := i + 1
	for j < len(c.words) && j < i+4 && (startsInDigit(c.at(j)) || c.at(j) == "pro" || c.at(j) == "max" || c.at(j) == "mini" || c.at(j) == "phone") {
		j++
	}
	if j < len(c.words) && !c.words[j].mark() && !goesOn.Has(c.at(j)) && !trailing.Has(c.at(j)) && c.at(j) != "if" && c.at(j) != "and" {
		return ""
	}
	return c.text(i, j)
}

// away accepts where people are for some days: "a cruise round Norway".
func away(c *clause, i int) string {
	j := i
	if !determiner.Has(c.at(j)) && c.at(j) != "their" {
		if !journeysAway.Has(c.at(j)) {
			return ""
		}
	} else {
		j++
	}
	for j < i+3 && j < len(c.words) && !journeysAway.Has(c.at(j)) {
		j++
	}
	if !journeysAway.Has(c.at(j)) {
		return ""
	}
	end := c.trimmed(i, c.undated(i, c.ending(i)))
	for end > j+1 && (c.at(end-1) == "rn" || c.at(end-1) == "atm") {
		end--
	}
	if end <= j {
		end = j + 1
	}
	if c.at(i) == "their" {
		return "a " + c.text(i+1, end)
	}
	return thirdPerson(c.text(i, end))
}

var journeysAway = late.Words("cruise holiday vacation honeymoon safari trip sabbatical")

// floorEnd returns the place after a floor: "the third floor", "the 2nd floor of an old house".
func floorEnd(c *clause, i int) int {
	if c.at(i) != "the" || !ordinals.Has(c.at(i+1)) && !isOrdinal(c.at(i+1)) && c.at(i+1) != "top" && c.at(i+1) != "ground" || c.at(i+2) != "floor" {
		return i
	}
	j := i + 3
	for k := j; k < j+7 && k < len(c.words) && !c.words[k].mark(); k++ {
		if w := c.at(k); (w == "in" || w == "near") && c.placeEnd(k+1) > k+1 {
			return k
		}
	}
	return j
}

// wentAway are what an illness has done that is over.
var wentAway = late.Words("cleared gone healed vanished disappeared")

// cleared reads that an illness is over: "my shingles have cleared up". i is the place after
// "my" or "the".
func (r *reader) cleared(c *clause, i int) bool {
	what := strings.TrimSuffix(strings.TrimSuffix(illness(c, i), "'s"), "’s")
	n := len(strings.Fields(what))
	if what == "" || n > 3 {
		return false
	}
	j := i + n
	for c.at(j) == "have" || c.at(j) == "has" || c.at(j) == "is" || c.at(j) == "are" || c.at(j) == "completely" || adverb.Has(c.at(j)) {
		j++
	}
	if c.at(j) == "gone" && (chronicEnd(c, i) > i && c.at(i) != "shingles" || !c.bounded(j+1, false)) {
		return false // for the day, mostly, or round the school
	}
	if j == i+n && !c.words[j-1].owner || !wentAway.Has(c.at(j)) && !(c.at(j) == "in" && c.at(j+1) == "remission") || c.has("not") {
		return false
	}
	r.g = captured{}
	r.fact(c, &user, &family{rule: "got over", category: "health", attribute: "condition:" + keyOf(what), confidence: 0.85}, "User no longer has "+what, "")
	return true
}

// clinics are whom people have an appointment with.
var clinics = late.Words("dentist doctor gp vet physio hairdresser barber optician therapist orthodontist dermatologist")

// booked reads an occasion on a day to come that stands alone: "dentist on Thursday at 3",
// "job interview with Arup on Monday".
func (r *reader) booked(c *clause, i int) bool {
	if !c.first || r.theirs || !c.occasionAt(i) {
		return false
	}
	end := c.ending(i)
	from := -1
	for k := i + 1; k < end && k < i+7; k++ {
		if w := c.at(k); (w == "on" || w == "at" || weekdays[w] != "" || w == "tomorrow" || w == "next" || w == "this") && from < 0 && len(c.dates(k, end)) > 0 {
			from = k
		}
		if v, ok := verbs()[c.at(k)]; c.at(k) == "is" || c.at(k) == "was" || c.at(k) == "are" || ok && v.form&(preterite|thirdForm) != 0 && v.form&base == 0 {
			return false
		}
	}
	if from < 0 || c.isTopic(i) || c.forOthers(i, end) {
		return false
	}
	dates := c.dates(from, end)
	if !dates[0].To.After(midnight(c.said.Turn.CreatedAt)) || !c.standing(i, from) {
		return false
	}
	what := thirdPerson(c.text(i, from))
	if c.words[from-1].owner { // "surgery's on 20 May"
		what = strings.TrimSuffix(strings.TrimSuffix(what, "'s"), "’s")
	}
	if clinics.Has(lower(what)) {
		what += " appointment"
	}
	if c.at(i) != "a" && c.at(i) != "an" {
		if what = lower(what[:1]) + what[1:]; strings.ContainsRune(vowels, rune(what[0])) || strings.HasPrefix(what, "mri") || strings.HasPrefix(what, "x-ray") {
			what = "an " + what
		} else {
			what = "a " + what
		}
	}
	r.g = captured{}
	r.fact(c, &user, &family{rule: "plan", category: "plan", confidence: 0.75}, "User has "+what+" "+thirdPerson(c.text(from, end)), "")
	return true
}

// occasionAt reports whether an occasion of the speaker's own begins at i.
func (c *clause) occasionAt(i int) bool {
	if c.at(i) == "a" || c.at(i) == "an" {
		i++
	}
	if clinics.Has(c.at(i)) {
		return true
	}
	end := c.headed(i, 2, visitsTo)
	return end > i
}

// forOthers reports whether the words from i to end name whom something is for: "for my son", "for
// Leo", "for the dog".
func (c *clause) forOthers(i, end int) bool {
	for k := i; k < end; k++ {
		if c.at(k) != "for" {
			continue
		}
		j := k + 1
		if determiner.Has(c.at(j)) || owners.Has(c.at(j)) {
			j++
		}
		if kinEnd(c, j) > j || petEnd(c, j) > j || acquaintances.Has(c.at(j)) || pointing.Has(c.at(k+1)) || j == k+1 && c.nameEnd(j) > j {
			return true
		}
	}
	return false
}

// visitsTo are occasions that people name alone and go to themselves.
var visitsTo = late.Words("appointment interview surgery operation checkup check-up haircut scan mri x-ray exam")

// postponed reads who gave the speaker another day: "the dentist moved me to 19 June".
func (r *reader) postponed(c *clause, i int) bool {
	if c.at(i) == "the" || c.at(i) == "my" {
		i++
	}
	if !clinics.Has(c.at(i)) {
		return false
	}
	k := i + 1
	for c.at(k) == "has" || c.at(k) == "just" || c.at(k) == "have" {
		k++
	}
	if !restless.Has(c.at(k)) && c.at(k) != "put" && c.at(k) != "switched" || c.at(k+1) != "me" || c.at(k+2) != "to" {
		return false
	}
	end := c.ending(k + 3)
	dates := c.dates(k+3, end)
	if len(dates) == 0 {
		return false
	}
	r.dates(c, c.at(i)+" appointment", " is now "+onDay(c.text(k+3, end), dates[0]))
	return true
}

// isCalled reads "it's spelled Kathryn" and pronouns: "they/them please".
func (r *reader) isCalled(c *clause, i int) bool {
	r.g = captured{}
	for k := i; k < i+4 && k < len(c.words); k++ {
		if spoken.Has(c.at(k)) && (k == i || c.at(k-1) == "are" || c.at(k-1) == "use" || c.at(k-1) == "am") && (k > i || c.first && (k+1 == len(c.words) || c.at(k+1) == "please" || c.at(k+1) == "pronouns" || c.words[k+1].mark())) {
			if k > i && c.at(i) != "i" && c.at(i) != "my" {
				return false
			}
			r.fact(c, &user, &family{rule: "pronouns", category: "personal", attribute: "pronouns", confidence: 0.9}, "User's pronouns are "+c.at(k), "")
			return true
		}
	}
	j := i
	if c.at(j) == "my" && c.at(j+1) == "name" || c.at(j) == "it" || c.at(j) == "its" {
		j++
	}
	for c.at(j) == "name" || c.at(j) == "is" {
		j++
	}
	if j == i || c.at(j) != "spelled" && c.at(j) != "spelt" {
		return false
	}
	name := c.text(j+1, c.nameEnd(j+1))
	if w := c.at(c.nameEnd(j + 1)); name == "" || w != "" && w != "with" && !c.words[c.nameEnd(j+1)].mark() {
		return false
	}
	r.fact(c, &user, &family{rule: "spelled", category: "personal", confidence: 0.8}, "User spells their name "+name, "")
	return true
}

// spoken are the pronouns that people tell of themselves.
var spoken = late.Words("they/them she/her he/him she/they he/they they/she they/he she/her/hers he/him/his they/them/theirs")

// enough reads what somebody does no more: "no more squash for me".
func (r *reader) enough(c *clause, i int) bool {
	if c.at(i) == "more" && i > 0 && c.at(i-1) == "no" { // which opens a sentence, too
		i--
	}
	if c.at(i) != "no" || c.at(i+1) != "more" {
		return false
	}
	for k := i + 3; k < i+6; k++ {
		if c.at(k) != "for" || c.at(k+1) != "me" || k+2 < len(c.words) && !c.words[k+2].mark() {
			continue
		}
		what := c.text(i+2, k)
		if !c.standing(i+2, k) || !(played(c, i+2) != "" || sports.Has(c.at(i+2)) || habitual(c, i+2) != "" || strings.HasSuffix(c.at(i+2), "ing")) {
			return false
		}
		r.g = captured{}
		r.fact(c, &user, &family{rule: "stopped", category: "habit", attribute: "habit:" + keyOf(what), confidence: 0.8}, "User gave up "+thirdPerson(what), "")
		return true
	}
	return false
}

// onDays reads when something is each week: "yoga's on Wednesdays now".
func (r *reader) onDays(c *clause, i int) bool {
	j := i
	if c.at(j) == "my" || c.at(j) == "our" {
		j++
	}
	w := strings.TrimSuffix(strings.TrimSuffix(c.at(j), "'s"), "’s")
	if !sports.Has(w) && !lessons.Has(w) || j == i && !c.first {
		return false
	}
	k := j + 1
	if !c.words[j].owner {
		if c.at(k) != "is" && c.at(k) != "are" {
			return false
		}
		k++
	}
	for adverb.Has(c.at(k)) {
		k++
	}
	day := c.at(k + 1)
	if c.at(k) != "on" || !strings.HasSuffix(day, "s") || weekdays[strings.TrimSuffix(day, "s")] == "" {
		return false
	}
	r.g = captured{}
	end := c.trimmed(k, c.ending(k))
	r.fact(c, &user, regularly, "User has "+w+" "+c.text(k, end), "")
	return true
}

// splitUp reports whether a clause is the name, in small letters, of one of a couple that the
// rest of the sentence says is none any more: "clara and i broke up".
func (c *clause) splitUp(i int) bool {
	w, all := c.at(i), c.wide()
	if i != len(c.words)-1 || all.at(i+1) != "and" || all.at(i+2) != "i" || c.words[i].capital || len(w) < 3 || !isLetters(w) || kinWords.Has(w) || kinPlural.Has(w) || pointing.Has(w) || subjects.Has(w) {
		return false
	}
	k := i + 3
	for adverb.Has(all.at(k)) || all.at(k) == "have" {
		k++
	}
	switch all.at(k) + " " + all.at(k+1) {
	case "broke up", "split up", "broken up":
		return true
	}
	return all.at(k) == "separated"
}

// groups are what people belong to and leave.
var groups = late.Words("choir band club party team church union greens committee board orchestra society association council squad")

// groupOf accepts such a group that is known: "the choir", "the Green party".
func groupOf(c *clause, i int) string {
	if c.at(i) != "the" && c.at(i) != "my" {
		return ""
	}
	end := c.headed(i+1, 2, groups)
	if w := c.at(end); end == i+1 || w == "at" || w == "with" || w == "for" || end < len(c.words) && !c.words[end].mark() && !goesOn.Has(w) && !timing.Has(w) {
		return "" // at three in the morning
	}
	if c.at(end-1) == "party" && end == i+2 {
		return "" // where people went home from
	}
	return thirdPerson(c.text(i, end))
}
