package extract

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
)

// sortOf accepts what kind of person somebody is: "a single mom of two".
func sortOf(c *clause, i int) string {
	if d := c.at(i); d != "a" && d != "an" && d != "the" {
		return ""
	}
	head := i
	for j := i + 1; j < len(c.words) && j < i+5 && !c.words[j].mark() && !Hanging.Has(c.at(j)); j++ {
		if sorts.Has(c.at(j)) {
			head = j + 1
		}
	}
	if head == i || head < len(c.words) && !c.words[head].mark() && !Hanging.Has(c.at(head)) && !stops.Has(c.at(head)) && c.at(head) != "and" && c.at(head) != "myself" {
		return ""
	}
	if j := c.trimmed(i, c.undated(i, c.ending(i))); j >= head && c.standing(i, j) && j-i < 9 {
		return ThirdPerson(c.text(i, j))
	}
	return ThirdPerson(c.text(i, head))
}

// ofTrade accepts a short phrase whose noun is made of a verb or a trade: "a slow
// learner".
func ofTrade(c *clause, i int) string {
	if d := c.at(i); d != "a" && d != "an" {
		return ""
	}
	j := i + 1
	for j < len(c.words) && j < i+5 && !c.words[j].mark() && !Hanging.Has(c.at(j)) && !stops.Has(c.at(j)) && c.at(j) != "and" {
		j++
	}
	last := c.at(j - 1)
	if j == i+1 || len(last) < 5 || notTrade.Has(last) || !c.standing(i, j) || c.at(i+1) == "bit" || c.at(i+1) == "little" || j < len(c.words) && Hanging.Has(c.at(j)) && c.at(j) != "of" && c.at(j) != "in" && c.at(j) != "at" {
		return ""
	}
	for _, end := range []string{"er", "ist", "ian", "eer", "ie", "tor", "man", "woman", "ant"} {
		if strings.HasSuffix(last, end) {
			return ThirdPerson(c.text(i, j))
		}
	}
	return ""
}

var notTrade = lazy.SetOf("notTrade", wordList)

// Words for relatives: one, several, and groups.
var (
	KinWords  = lazy.SetOf("kinWords", wordList)
	KinPlural = lazy.SetOf("kinPlural", wordList)
	kinGroup  = lazy.Words("family team")
	kinLead   = lazy.SetOf("kinLead", wordList)
	PetWords  = lazy.SetOf("petWords", wordList)
)

// kinEnd returns the place after a relative, a friend or the like: "older sister".
func kinEnd(c *clause, i int) int {
	j := i
	for kinLead.Has(c.at(j)) && j < i+3 && !(c.at(j) == "ex" && !KinWords.Has(c.at(j+1))) {
		j++
	}
	if w := c.at(j); KinWords.Has(w) || KinPlural.Has(w) || kinGroup.Has(w) {
		return j + 1
	}
	if j > i && c.at(j-1) == "baby" && (j == len(c.words) || c.words[j].mark() || c.at(j) == "named" || c.at(j) == "called") {
		return j
	}
	switch c.at(j) + " " + c.at(j+1) {
	case "business partner", "team lead", "team leader", "line manager", "project manager":
		return j + 2
	}
	return i
}

// petEnd returns the place after an animal: "golden retriever".
func petEnd(c *clause, i int) int {
	for j := i; j < i+4 && j < len(c.words) && !c.words[j].mark() && !Hanging.Has(c.at(j)); j++ {
		if c.at(j) == "guinea" {
			return j + 2
		}
		if PetWords.Has(c.at(j)) && !PetWords.Has(c.at(j+1)) {
			return j + 1
		}
	}
	return i
}

// pets accepts animals without a name: "two cats".
func pets(c *clause, i int) string {
	if !determiner.Has(c.at(i)) || c.at(i) == "the" || c.at(i) == "my" {
		return ""
	}
	j := petEnd(c, i+1)
	if j == i+1 || c.words[j-1].owner || j < len(c.words) && !afterPet(c, j) {
		return ""
	}
	if e := c.trimmed(i, c.undated(i, c.ending(i))); e > j && c.at(j) == "and" && c.standing(i, e) {
		j = e
	}
	return ThirdPerson(c.text(i, j))
}

// afterPet reports whether an animal's name ends before word j: "a dog walker" is none.
func afterPet(c *clause, j int) bool {
	w := c.at(j)
	return c.words[j].mark() || Hanging.Has(w) || stops.Has(w) || Timing.Has(w) || adverb.Has(w) || trailing.Has(w) || c.words[j].capital || joints.Has(w) || past(w) || CountWords.Has(w) || IsDigit(w) || w == "today" || w == "called" || w == "named" || w == "who" || w == "that" || pointing.Has(w)
}

// kids accepts relatives that somebody has: "two kids".
func kids(c *clause, i int) string {
	d := c.at(i)
	if !determiner.Has(d) && !KinPlural.Has(d) && !KinPlural.Has(c.at(i+1)) || d == "the" || Hanging.Has(c.at(i)) && !determiner.Has(d) {
		return ""
	}
	j := i + 1
	if !determiner.Has(d) {
		j = i
	}
	for ; j < len(c.words) && j < i+4; j++ {
		w := c.at(j)
		if KinPlural.Has(w) || w == "wife" || w == "husband" || w == "girlfriend" || w == "boyfriend" || w == "partner" || w == "son" || w == "daughter" || w == "brother" || w == "sister" || w == "kid" || w == "child" || w == "baby" || w == "toddler" || w == "teenager" {
			e := c.trimmed(i, c.ending(i))
			if e < j+1 || !c.standing(i, e) {
				e = j + 1
			}
			if d == "any" {
				i++
			}
			return ThirdPerson(c.text(i, e))
		}
		if c.words[j].mark() || Hanging.Has(w) || w == "million" || w == "hundred" || w == "thousand" || w == "billion" {
			return ""
		}
	}
	return ""
}

// allergen accepts "a severe nut allergy" and gives "nut".
func allergen(c *clause, i int) string {
	j := i
	for c.at(j) == "a" || c.at(j) == "an" || c.at(j) == "severe" || c.at(j) == "bad" || c.at(j) == "mild" || c.at(j) == "serious" {
		j++
	}
	for k := j + 1; k < j+3; k++ {
		if w := c.at(k); w == "allergy" || w == "allergies" {
			return c.text(j, k)
		}
	}
	return ""
}

// ailing accepts a condition in an adjective.
func ailing(c *clause, i int) string {
	switch w, next := c.at(i), c.at(i+1); {
	case (w == "lactose" || w == "gluten" || w == "fructose") && next == "intolerant":
		return c.text(i, i+2)
	case w == "intolerant" && next == "to":
		return exact(c, i)
	case w == "hard" && next == "of" && c.at(i+2) == "hearing":
		return c.text(i, i+3)
	case (w == "deaf" || w == "blind") && next == "in" && (c.at(i+2) == "one" || c.at(i+2) == "my"):
		return ThirdPerson(c.text(i, min(i+4, len(c.words))))
	case w == "a" && next == "type" && c.at(i+3) == "diabetic":
		return c.text(i, i+4)
	case strings.HasSuffix(w, "-intolerant"), ailments.Has(w):
		return c.text(i, i+1)
	case (w == "color" || w == "colour") && next == "blind":
		return c.text(i, i+2)
	case (w == "a" || w == "an" || w == "recovering") && (next == "alcoholic" || next == "diabetic" || c.at(i+2) == "alcoholic"):
		return phrase(c, i)
	}
	return ""
}

var ailments = lazy.SetOf("ailments", wordList)

// eponyms are illnesses that are called after a doctor.
var eponyms = lazy.Words("alzheimer parkinson crohn hashimoto tourette sjogren raynaud")

var illnesses = lazy.SetOf("illnesses", wordList)

// illness accepts what a doctor has a name for.
func illness(c *clause, i int) string {
	j := i
	if c.at(j) == "a" || c.at(j) == "an" {
		j++
	}
	for k := j; k < j+4 && k < len(c.words) && !c.words[k].mark(); k++ {
		w := c.at(k)
		switch {
		case illnesses.Has(w), c.words[k].owner && eponyms.Has(w):
			if next := c.at(k + 1); next == "disease" || next == "syndrome" {
				k++
			}
			return c.text(j, k+1)
		case (w == "intolerance" || w == "pressure" || w == "disease" || w == "condition" || w == "injury" || w == "disorder" || w == "syndrome" || w == "pain" || w == "fever" || w == "surgery") && k > j && c.at(j) != "the":
			return ThirdPerson(c.text(i, k+1))
		}
	}
	return ""
}

var diets = lazy.Words("vegan vegetarian pescatarian sober")

// diet accepts a way of eating.
func diet(c *clause, i int) string {
	j := i
	for c.at(j) == "a" || c.at(j) == "an" || c.at(j) == "strict" || adverb.Has(c.at(j)) {
		j++
	}
	switch c.at(j) {
	case "vegans", "vegetarians":
		return strings.TrimSuffix(c.at(j), "s")
	case "vegan", "vegetarian", "veggie", "pescatarian", "pescetarian", "carnivore", "flexitarian", "gluten-free", "dairy-free", "sober", "plant-based":
		if next := c.at(j + 1); next == "" || c.words[j+1].mark() || Hanging.Has(next) || stops.Has(next) || Timing.Has(next) || next == "and" || adverb.Has(next) || next == "anymore" || next == "any" {
			return c.text(i, j+1)
		}
	case "on":
		for k := j + 1; k < j+5; k++ {
			if c.at(k) == "diet" && !pointing.Has(c.at(k-1)) && k > j+1 {
				return ThirdPerson(c.text(i, k+1))
			}
		}
	}
	return ""
}

// diagnosis accepts what somebody has been found to have, without how old they were.
func diagnosis(c *clause, i int) string {
	what := thing(c, i)
	if at := strings.LastIndex(what, " at "); at > 0 {
		if then := what[at+len(" at "):]; IsDigit(then[:1]) || strings.HasPrefix(then, "age ") || strings.HasPrefix(then, "the age ") {
			return what[:at]
		}
	}
	return what
}

// dieting accepts the name of a diet: "keto diet".
func dieting(c *clause, i int) string {
	for j := i; j < i+3; j++ {
		if c.at(j) == "diet" && j > i {
			return ThirdPerson(c.text(i, j+1))
		}
	}
	return ""
}
