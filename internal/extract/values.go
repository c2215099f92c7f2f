package extract

import (
	"strings"
	"time"
	"unicode"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// values say of each kind of thing that a form asks for what it accepts: they
// return what the words from i on name, in the third person, or "" if they name
// nothing of the kind.
var values map[string]func(c *clause, i int) string

var (
	// stops end what a phrase names, in front of anything.
	stops = lazy.SetOf("stops", wordList)
	// pointing words mean something said elsewhere.
	pointing = lazy.SetOf("pointing", wordList)
	// trailing words add nothing at the end of a phrase.
	trailing = lazy.SetOf("trailing", wordList)
	// Hanging words want another after them.
	Hanging = lazy.SetOf("hanging", wordList)
	// empty words name no thing in particular.
	empty = lazy.SetOf("empty", wordList)
	// Timing words may be part of a date.
	Timing = lazy.SetOf("timing", wordList)
	// pointed are times that "this" and "that" stand before.
	pointed = lazy.SetOf("pointed", wordList)
)

// dateHint reports whether the words of s may name a time.
func dateHint(words []word) bool {
	for _, w := range words {
		switch w.low {
		case "in", "on", "at", "the", "a", "an", "of", "to", "this", "from", "by", "new", "since", "back", "other", "before", "few", "day", "days", "during", "around", "may", "until", "couple", "end", "soon", "later", "lately", "recently", "fall", "march", "spring":
			if w.low != "may" && w.low != "march" && w.low != "fall" && w.low != "spring" || !w.capital && w.low != "fall" && w.low != "spring" {
				continue
			}
			return true
		}
		if Timing.Has(w.low) || w.low[0] >= '0' && w.low[0] <= '9' {
			return true
		}
	}
	return false
}

// dates returns the dates among the words from i up to j.
func (c *clause) dates(i, j int) []text.Date {
	if i >= j || !dateHint(c.words[i:j]) {
		return nil
	}
	return text.Resolve(c.text(i, j), c.said.Turn.CreatedAt)
}

// ending returns where the phrase that begins at word i ends: before a conjunction,
// a relative clause, a comma that no list goes on after, or what is joined to it and
// points elsewhere ("fell and hurt his ankle").
func (c *clause) ending(i int) int {
	j, joint := c.extent(i), i
	for k := i; k < j; k++ {
		switch w := c.at(k); {
		case w == "and" || w == ",":
			joint = k
		case pointing.Has(w) && joint > i && !(w == "this" && pointed.Has(c.at(k+1))) && !(w == "that" && c.relates(i, k)) && w != "one":
			if joint-2 >= i && (c.at(joint-2) == "a" || c.at(joint-2) == "an") {
				return j // "a quiet and sunny flat for them" has no half
			}
			return c.trimmed(i, joint)
		}
	}
	return j
}

func (c *clause) extent(i int) int {
	j := i
	for ; j < len(c.words); j++ {
		w := c.words[j]
		switch {
		case (w.low == "that" || w.low == "who") && j > i:
			if !c.relates(i, j) {
				return c.trimmed(i, j)
			}
		case w.mark() && w.low != ",", w.low == "by" && c.at(j+1) == "the" && c.at(j+2) == "way":
			return c.trimmed(i, j)
		case w.low == "when" && c.at(j+1) == "i" && c.at(j+2) == "was", w.low == "as" && (c.at(j+1) == "a" || c.at(j+1) == "an" || c.at(j+1) == "my"), w.low == "since" && Timing.Has(c.at(j+1)) && (c.at(j+1) != "the" || Timing.Has(c.at(j+2))):
			continue
		case stops.Has(w.low) && j > i:
			return c.trimmed(i, j)
		case w.low == ",":
			if !c.listGoesOn(i, j) {
				return c.trimmed(i, j)
			}
		case (w.low == "and" || w.low == "or") && c.newVerb(j+1):
			return c.trimmed(i, j)
		}
	}
	return c.trimmed(i, j)
}

// relates reports whether the word at j begins a relative clause that says more of
// the noun before it, in words that mean the same elsewhere: "dogs that need a walk".
func (c *clause) relates(i, j int) bool {
	v, ok := Verbs()[c.at(j+1)]
	if w := c.at(j + 1); !ok && w != "is" && w != "are" && w != "has" && w != "have" || v.Form == Gerund {
		return false
	}
	if v, ok := Verbs()[c.at(j-1)]; ok && v.Form&(preterite|Gerund) != 0 && j-1 == i || adverb.Has(c.at(j-1)) || Hanging.Has(c.at(j-1)) {
		return false
	}
	for k := j + 1; k < len(c.words); k++ {
		if w := c.at(k); pointing.Has(w) && !pointed.Has(c.at(k+1)) || k > j+9 {
			return false
		}
		if c.words[k].mark() {
			return k > j+2
		}
	}
	return len(c.words) > j+2
}

// newVerb reports whether the word at i begins something of its own after "and".
func (c *clause) newVerb(i int) bool {
	for adverb.Has(c.at(i)) {
		i++
	}
	switch c.at(i) {
	case "i", "we", "it", "he", "she", "they", "you", "that", "am", "was", "were", "have", "has", "had", "is", "are", "so", "then", "now", "just", "there", "this", "will", "can", "could", "would", "do", "did", "not", "":
		return true
	}
	switch c.at(i) {
	case "get", "go", "come":
		return true
	}
	v, ok := Verbs()[c.at(i)]
	return ok && v.Form&preterite != 0 && (v.Form&base == 0 || Owners.Has(c.at(i+1)))
}

// listGoesOn reports whether the comma at j stands in a list, an address or a date.
func (c *clause) listGoesOn(i, j int) bool {
	if j == i || j+1 >= len(c.words) {
		return false
	}
	before, after := c.words[j-1], c.words[j+1]
	if before.capital && after.capital && after.low != "i" || IsDigit(after.low) && len(after.low) == 4 {
		return true
	}
	n := 0
	for k := j + 1; k < len(c.words); k++ {
		w := c.words[k]
		switch {
		case w.low == "and" || w.low == "or":
			return !c.newVerb(k+1) && n <= 5
		case w.low == ",":
			if n == 0 {
				return false
			}
			n = 0
			continue
		case w.mark(), stops.Has(w.low), subjects.Has(w.low), pointing.Has(w.low), asking.Has(w.low):
			return false
		}
		if n++; n > 5 {
			return false
		}
	}
	return false
}

// trimmed returns j less the words before it that add nothing.
func (c *clause) trimmed(i, j int) int {
	if j < len(c.words) && j-2 > i && (c.at(j-2) == "and" || c.at(j-2) == "or") { // "baking and cooking even more"
		if v, ok := Verbs()[c.at(j-1)]; ok && v.Form == Gerund {
			j -= 2
		}
	}
	for j > i && (c.words[j-1].mark() || trailing.Has(c.words[j-1].low)) {
		if t := c.words[j-1].low; (t == "today" || t == "moment" || t == "days" || t == "recently") && j-2 >= i {
			if t == "today" {
				return j
			}
			if p := c.at(j - 2); t == "days" && p != "these" {
				return j
			} else if t == "days" || t == "moment" {
				j-- // "these days", "at the moment"
				if t == "moment" {
					j--
				}
			}
		}
		if t := c.words[j-1].low; (t == "more" || t == "better") && hasVerbBefore(c, i, j) {
			return j // "read more"
		}
		j--
	}
	return max(i, j)
}

func hasVerbBefore(c *clause, i, j int) bool {
	if j-2 < i {
		return false
	}
	v, ok := Verbs()[c.at(j-2)]
	return ok && v.Form&base != 0
}

// undated returns j less a date at the end of the words from i, and what leads to it.
func (c *clause) undated(i, j int) int {
	for _, d := range c.dates(i, j) {
		from := c.words[i].start + d.Start
		if c.words[i].start+d.End < c.words[j-1].end {
			continue
		}
		for j > i && c.words[j-1].start >= from {
			j--
		}
		for j > i && (Hanging.Has(c.at(j-1)) || c.words[j-1].mark() || c.at(j-1) == "since") {
			j--
		}
		return j
	}
	return j
}

// standing reports whether the words mean the same outside of the conversation.
func (c *clause) standing(i, j int) bool {
	if i >= j || j-i > 24 || Hanging.Has(c.at(j-1)) || strings.HasSuffix(c.at(j-1), "-") {
		return false
	}
	content := false
	for k := i; k < j; k++ {
		w := c.words[k].low
		if pointing.Has(w) {
			if w == "that" && k > i && c.relates(i, k) {
				continue
			}
			if w == "this" && pointed.Has(c.at(k+1)) || w == "one" && k+1 < j && c.at(k-1) != "the" && c.at(k-1) != "this" && (!Hanging.Has(c.at(k+1)) || c.at(k+1) == "of") {
				continue
			}
			return false
		}
		if !empty.Has(w) && !c.words[k].mark() && !adverb.Has(w) && !Timing.Has(w) {
			content = true
		}
	}
	return content
}

// vagueStart are words that begin what says nothing by itself.
var vagueStart = lazy.SetOf("vagueStart", wordList)

// vagueHead are what is at hand after "the".
var vagueHead = lazy.SetOf("vagueHead", wordList)

func (c *clause) vague(i int) bool {
	first := c.at(i)
	switch first {
	case "on", "in", "at", "with", "for", "about", "of", "from":
		i++
		first = c.at(i)
	}
	if first == "all" && c.at(i+1) == "the" {
		return true
	}
	if (first == "all" || first == "both" || first == "some" || first == "any") && c.at(i+1) != "of" && !pointing.Has(c.at(i+1)) {
		return false
	}
	return vagueStart.Has(first) || first == "the" && vagueHead.Has(c.at(i+1)) && c.at(i+2) != "of" || first == "to" && idleTo.Has(c.at(i+1))
}

var idleTo = lazy.SetOf("idleTo", wordList)

// thing accepts what means the same outside of the conversation, without its date.
func thing(c *clause, i int) string {
	j := c.ending(i)
	if comma := c.before(i, 12, commas); j-i > 12 && comma > i {
		j = comma
	}
	j = c.trimmed(i, c.undated(i, j))
	if c.at(i) == "the" && j-1 > i && vagueHead.Has(c.at(j-1)) && c.at(i+1) != "feeling" {
		return ""
	}
	if j-i > 12 || c.vague(i) || !c.standing(i, j) || c.halved(i, j) {
		return ""
	}
	return ThirdPerson(c.text(i, j))
}

// shared are things that "the" makes nobody's in particular.
var shared = lazy.Words("ocean sea beach mountains outdoors rain snow sun moon stars night city countryside forest woods theater theatre opera ballet gym violin piano guitar drums cello blues arts winter summer spring autumn fall water wind cold heat quiet")

// general accepts a thing in general: "I like the second one" is about what is at
// hand.
func general(c *clause, i int) string {
	if c.at(i) == "the" && i+1 < len(c.words) && !c.words[i+1].capital && !shared.Has(c.at(i+1)) && c.at(i+2) != "of" {
		return ""
	}
	return thing(c, i)
}

// halved reports whether a comma between adjectives cut the phrase short: "a
// small, sunny flat".
func (c *clause) halved(i, j int) bool {
	if c.at(j) != "," || c.at(j+1) == "and" || j-2 < i {
		return false
	}
	switch c.at(j - 2) {
	case "a", "an":
		return true
	}
	return false
}

// phrase accepts any words, without their date.
func phrase(c *clause, i int) string {
	j := c.ending(i)
	return ThirdPerson(c.text(i, c.trimmed(i, c.undated(i, j))))
}

// exact is a phrase that must mean something by itself, with its date.
func exact(c *clause, i int) string {
	j := c.ending(i)
	if c.vague(i) || !c.standing(i, j) {
		return ""
	}
	return ThirdPerson(c.text(i, j))
}

// whole is exact without a look at how it begins.
func whole(c *clause, i int) string {
	j := c.ending(i)
	if !c.standing(i, j) {
		return ""
	}
	return ThirdPerson(c.text(i, j))
}

// notName are capitalised words that follow "I'm" or begin a clause and name nobody.
var notName = lazy.SetOf("notName", wordList)

func demonym(low string) bool {
	for _, end := range []string{"ish", "ese", "ian", "ean", "ican", "ing", "ed"} {
		if strings.HasSuffix(low, end) {
			return low != "ian" && low != "brian" && low != "vivian" && low != "ed" && low != "jean" && low != "sean" && low != "dean"
		}
	}
	return false
}

// afterName are words that may follow a name.
var afterName = lazy.SetOf("afterName", wordList)

// properName accepts a person's name.
func properName(c *clause, i int) string {
	j := c.nameEnd(i)
	if j == i {
		return ""
	}
	name := strings.TrimRight(c.text(i, j), ".'’-")
	if c.words[j-1].owner {
		name = strings.TrimSuffix(strings.TrimSuffix(name, "'s"), "’s")
	}
	if len(name) < 2 || name == strings.ToUpper(name) && len(name) < 4 && len(name) != 2 {
		return ""
	}
	if j == len(c.words) || c.words[j].mark() || afterName.Has(c.at(j)) {
		return name
	}
	return ""
}

// nameParts may stand between the parts of a name.
var nameParts = lazy.Words("de da di van von der la le el bin al")

// nameEnd returns where the name that begins at word i ends, i without one.
func (c *clause) nameEnd(i int) int {
	if i >= len(c.words) || !c.words[i].capital || notName.Has(c.at(i)) || c.words[i].mark() {
		return i
	}
	j := i + 1
	for j < len(c.words) && j-i < 5 && (c.words[j].capital && c.at(j) != "i" || nameParts.Has(c.at(j)) && j+1 < len(c.words) && c.words[j+1].capital) {
		j++
	}
	return j
}

// called accepts a name in small letters too: "my name is ana".
func called(c *clause, i int) string {
	if w := c.at(i); i == len(c.words)-1 && !c.words[i].capital && len(w) > 2 && isLetters(w) && !notName.Has(w) && !demonym(w) {
		return strings.ToUpper(w[:1]) + w[1:]
	}
	return properName(c, i)
}

// title accepts the name of a thing as it is written: "trunk".
func title(c *clause, i int) string {
	name := called(c, i)
	if said := c.text(i, min(i+1, len(c.words))); strings.EqualFold(name, said) {
		return said
	}
	return name
}

func isLetters(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
}

// IsDigit reports whether a text is digits alone.
func IsDigit(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

var (
	// placeParts may stand between the parts of a place's name.
	placeParts = lazy.Words("de da do del of the la le los las upon am an der and")
	// settledIn are kinds of places that people live in.
	settledIn = lazy.SetOf("settledIn", wordList)
	// notPlace are words that follow "live in" and name no place.
	notPlace = lazy.SetOf("notPlace", wordList)
	// afterPlace end a place written in small letters.
	afterPlace = lazy.SetOf("afterPlace", wordList)
)

// place accepts where somebody may live.
func place(c *clause, i int) string {
	first := c.at(i)
	if first == "a" || first == "an" || first == "the" {
		for j := i + 1; j < len(c.words) && j < i+6; j++ {
			if !settledIn.Has(c.at(j)) {
				continue
			}
			j++
			if w := c.at(j); w == "in" || w == "near" || w == "of" || w == "outside" || w == "by" {
				if end := c.placeEnd(j + 1); end > j+1 {
					j = end
				}
			}
			return c.text(i, j)
		}
	}
	if j := c.placeEnd(i); j > i {
		return strings.TrimRight(c.text(i, c.undated(i, j)), ".,'’- ")
	}
	j := i
	for j < len(c.words) && j < i+4 && !c.words[j].mark() && !afterPlace.Has(c.at(j)) && isLetters(strings.ReplaceAll(c.at(j), "-", "")) && !adverb.Has(c.at(j)) && !Timing.Has(c.at(j)) {
		j++
	}
	if j == i || j-i > 3 || notPlace.Has(first) || j < len(c.words) && !c.words[j].mark() && !afterPlace.Has(c.at(j)) && !adverb.Has(c.at(j)) && !Timing.Has(c.at(j)) {
		return ""
	}
	return c.text(i, j)
}

// placeEnd returns where the name of a place that begins at word i ends, i
// without one.
func (c *clause) placeEnd(i int) int {
	j := i
	if c.at(j) == "the" && j+1 < len(c.words) {
		j++
	}
	if j >= len(c.words) || !c.words[j].capital || c.at(j) == "i" {
		return i
	}
	for j++; j < len(c.words); j++ {
		switch {
		case c.words[j].capital && !c.words[j].mark() && c.at(j) != "i":
		case c.at(j) == "," && j+1 < len(c.words) && c.words[j+1].capital && c.at(j+1) != "i":
		case placeParts.Has(c.at(j)) && j+1 < len(c.words) && c.words[j+1].capital && c.at(j+1) != "i":
		default:
			return j
		}
	}
	return j
}

// firms are kinds of places that people work at.
var firms = lazy.SetOf("firms", wordList)

func company(c *clause, i int) string {
	switch c.at(i) {
	case "a", "an", "the", "my", "our":
		for j := i + 1; j < len(c.words) && j < i+6 && !c.words[j].mark(); j++ {
			if firms.Has(c.at(j)) {
				return ThirdPerson(c.text(i, j+1))
			}
		}
	}
	j := c.placeEnd(i)
	return strings.TrimRight(c.text(i, c.undated(i, max(i, j))), ".,'’- ")
}

// firm accepts a company by name alone: people join gyms too.
func firm(c *clause, i int) string {
	if i < len(c.words) && c.words[i].capital && c.at(i) != "i" {
		return company(c, i)
	}
	return ""
}

// roleEnd are words after the head of a role.
var roleEnd = lazy.SetOf("roleEnd", wordList)

// role accepts a phrase whose head is an occupation.
func role(c *clause, i int) string {
	if d := c.at(i); d != "a" && d != "an" && d != "the" && d != "now" && (i == 0 || c.at(i-1) != "now" && c.at(i-1) != "as" && c.at(i-1) != "is" && c.at(i-1) != "being") {
		return ""
	}
	head := i
	for head < len(c.words) && !roleEnd.Has(c.at(head)) && !c.words[head].mark() {
		head++
	}
	last := c.at(head - 1)
	if head == i || head-i > 7 || c.words[head-1].owner || !occupations.Has(last) && !occupations.Has(strings.TrimSuffix(last, "s")) && !c.asA(i, head) {
		return ""
	}
	j := c.trimmed(i, c.undated(i, c.ending(i)))
	if j < head || !c.standing(i, j) {
		j = head
	}
	return ThirdPerson(c.text(i, j))
}

// asA reports whether the words up to head are what somebody works as, whatever it is.
func (c *clause) asA(i, head int) bool {
	if c.at(i-1) != "as" || c.at(i) != "a" && c.at(i) != "an" || head-i > 4 || head-i < 2 || !c.standing(i, head) {
		return false
	}
	for k := i - 2; k >= 0 && k > i-5; k-- {
		if v, ok := Verbs()[c.at(k)]; ok && v.Lemma == "work" {
			return !notTrade.Has(c.at(head-1)) && !c.has("treat") && c.at(head-1) != "team" && c.at(head-1) != "couple" && c.at(head-1) != "group"
		}
	}
	return false
}

func language(c *clause, i int) string {
	var out []string
	for ; i < len(c.words); i++ {
		switch w := c.at(i); {
		case languages.Has(w):
			out = append(out, strings.ToUpper(w[:1])+w[1:])
		case w == "and" || w == "," || w == "fluently" || w == "both" || w == "fluent" || w == "some":
		default:
			return strings.Join(out, " and ")
		}
	}
	return strings.Join(out, " and ")
}

// withDate accepts words with a date, up to the end of it.
func withDate(c *clause, i int) string {
	dates := c.dates(i, len(c.words))
	if len(dates) == 0 {
		return ""
	}
	raw := c.text(i, len(c.words))
	return ThirdPerson(strings.TrimSpace(raw[:dates[len(dates)-1].End]))
}

// dated accepts what means something by itself and has a date.
func dated(c *clause, i int) string {
	if j := c.ending(i); len(c.dates(i, j)) > 0 || IsDigit(strings.Trim(c.at(i), "$€£,.%")) {
		return whole(c, i)
	}
	return ""
}

// planned accepts what is to happen on a day or in a time that has a date.
func planned(c *clause, i int) string { return c.plannedFrom(i, midnight(c.said.Turn.CreatedAt)) }

func (c *clause) plannedFrom(i int, from time.Time) string {
	for _, d := range c.dates(i, len(c.words)) {
		if !d.To.After(from) {
			continue
		}
		j := c.ending(i)
		for j < len(c.words) && c.words[j].start < c.words[i].start+d.End {
			j++
		}
		if j-i > 22 || !c.standing(i, j) {
			return ""
		}
		return ThirdPerson(c.text(i, j))
	}
	return ""
}

// upcoming accepts a date to come and what is said of it: "on Friday at 9am".
func upcoming(c *clause, i int) string {
	j := c.ending(i)
	for k := i; k < j; k++ {
		if pointing.Has(c.at(k)) && !pointed.Has(c.at(k+1)) {
			return ""
		}
	}
	for _, d := range c.dates(i, j) {
		if d.To.After(midnight(c.said.Turn.CreatedAt)) {
			return ThirdPerson(c.text(i, j))
		}
	}
	return ""
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// passing is how somebody is for a day.
var passingState = lazy.SetOf("passingState", wordList)

// state accepts what somebody is for longer than a day.
func state(c *clause, i int) string {
	if w := c.at(i); w == "on" || w == "at" || w == "in" {
		return "" // of a moment, mostly
	}
	if passingState.Has(c.at(i)) || strings.HasSuffix(c.at(i), "ing") || c.vague(i) {
		return ""
	}
	return whole(c, i)
}

func ageEnd(c *clause, i int) int {
	if n := c.at(i); IsDigit(n) && (len(n) == 2 || len(n) == 3 && n <= "120" || len(n) == 1 && n >= "3") {
		return i + 1
	}
	return i
}

// tool accepts what has a name of its own.
func tool(c *clause, i int) string {
	if i >= len(c.words) || !c.words[i].capital && !c.smallTool(i) || c.at(i) == "i" {
		return ""
	}
	j := i
	for j < len(c.words) && j < i+6 && !c.words[j].mark() && !toolEnd.Has(c.at(j)) && !stops.Has(c.at(j)) {
		j++
	}
	j = c.trimmed(i, c.undated(i, j))
	if j == i || j-i > 5 || !c.standing(i, j) {
		return ""
	}
	return ThirdPerson(c.text(i, j))
}

// smallTool reports whether word i is a tool's name in small letters, and stands alone: "uv", but
// not "uv protection".
func (c *clause) smallTool(i int) bool {
	next := c.at(i + 1)
	return tools.Has(c.at(i)) && (next == "" || c.words[i+1].mark() || toolEnd.Has(next) || stops.Has(next) || adverb.Has(next) || Timing.Has(next) || IsDigit(next))
}

// tools are programs whose names people write in small letters.
var tools = lazy.SetOf("tools", wordList)

var toolEnd = lazy.Words("to from in on at with and or now that")

var commas = lazy.Words(",")
