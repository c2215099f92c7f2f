package learn

import (
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/late"
)

// vitals are what is measured of a body.
var vitals = late.Words("cholesterol eyesight vision hearing bmi triglycerides")

// vitalEnd returns the place after something that is measured of a body: "blood
// pressure".
func vitalEnd(c *clause, i int) int {
	switch c.at(i) + " " + c.at(i+1) {
	case "blood pressure", "blood sugar", "heart rate", "iron level", "iron levels":
		return i + 2
	}
	if vitals.Has(c.at(i)) {
		return i + 1
	}
	return i
}

// level accepts how something measured is: "a bit high", "140 over 90".
func level(c *clause, i int) string {
	j := i
	for c.at(j) == "a" || c.at(j) == "bit" || c.at(j) == "little" || adverb.Has(c.at(j)) && c.at(j) != "" {
		j++
	}
	switch w := c.at(j); {
	case w == "high", w == "low", w == "elevated", w == "normal", w == "borderline", w == "poor", w == "bad", w == "good", w == "back" && c.at(j+1) == "to" && c.at(j+2) == "normal", isDigit(strings.SplitN(w, "/", 2)[0]):
		return phrase(c, i)
	}
	return ""
}

// dieting accepts the name of a diet: "keto diet".
func dieting(c *clause, i int) string {
	for j := i; j < i+3; j++ {
		if c.at(j) == "diet" && j > i {
			return thirdPerson(c.text(i, j+1))
		}
	}
	return ""
}

// restricted accepts what people cannot have for their health.
func restricted(c *clause, i int) string {
	switch c.at(i) {
	case "dairy", "gluten", "lactose", "nuts", "peanuts", "sugar", "caffeine", "alcohol", "shellfish", "eggs", "wheat", "milk", "pork", "meat", "fish", "soy", "coffee", "salt":
		return thing(c, i)
	}
	return ""
}

// aid accepts what somebody needs to see, hear or walk.
func aid(c *clause, i int) string {
	j := i
	if c.at(j) == "a" || c.at(j) == "an" || c.at(j) == "my" {
		j++
	}
	switch w := c.at(j); {
	case w == "glasses", w == "contacts", w == "braces", w == "dentures", w == "wheelchair", w == "walker", w == "cane", w == "inhaler", w == "cpap", w == "crutches":
		return thirdPerson(c.text(i, j+1))
	case w == "hearing" && strings.HasPrefix(c.at(j+1), "aid"), w == "contact" && c.at(j+1) == "lenses", w == "reading" && c.at(j+1) == "glasses":
		return thirdPerson(c.text(i, j+2))
	}
	return ""
}

// expecting is how far off the day is that somebody with child is due, for those who
// say no more.
const expecting = 21 * 24 * time.Hour

// dueDay accepts the day on which a child is to come: "in May", "on 3 June".
func dueDay(c *clause, i int) string {
	if c.at(i) != "in" && c.at(i) != "on" {
		return ""
	}
	dates := c.dates(i, len(c.words))
	if len(dates) == 0 || dates[0].Start > 3 || dates[0].To.Sub(c.said.Turn.CreatedAt) < expecting {
		return "" // who is due on Friday may be so at work
	}
	return c.text(i, len(c.words))[:dates[0].End]
}
