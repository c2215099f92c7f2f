package learn

import "strings"

// vitals are what is measured of a body.
var vitals = table("cholesterol eyesight vision hearing bmi triglycerides")

// vitalEnd returns the place after something that is measured of a body: "blood
// pressure".
func vitalEnd(c *clause, i int) int {
	switch c.at(i) + " " + c.at(i+1) {
	case "blood pressure", "blood sugar", "heart rate", "iron level", "iron levels":
		return i + 2
	}
	if vitals[c.at(i)] {
		return i + 1
	}
	return i
}

// level accepts how something measured is: "a bit high", "140 over 90".
func level(c *clause, i int) string {
	j := i
	for c.at(j) == "a" || c.at(j) == "bit" || c.at(j) == "little" || adverb[c.at(j)] && c.at(j) != "" {
		j++
	}
	switch w := c.at(j); {
	case w == "high", w == "low", w == "elevated", w == "normal", w == "borderline", w == "poor", w == "bad", w == "good", isDigit(strings.SplitN(w, "/", 2)[0]):
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
