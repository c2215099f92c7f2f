package learn

import "strings"

// faith accepts a religion that somebody is of.
func faith(c *clause, i int) string {
	j := i
	for c.at(j) == "a" || c.at(j) == "an" || adverb[c.at(j)] || c.at(j) == "devout" || c.at(j) == "practicing" || c.at(j) == "practising" || c.at(j) == "roman" {
		j++
	}
	if !faiths[c.at(j)] || j+1 < len(c.words) && !c.words[j+1].mark() && c.at(j+1) != "and" {
		return ""
	}
	return c.text(i, j+1)
}

var faiths = table("catholic christian protestant muslim jewish hindu buddhist sikh atheist agnostic mormon orthodox quaker lutheran methodist")

// zones are short names of time zones.
var zones = table("cet cest eet eest wet west gmt utc bst est edt eastern cst cdt mst mdt pst pdt pacific ist jst kst aest aedt nzst sgt hkt msk")

// zone accepts a time zone: "CET", "GMT+2", "Eastern time".
func zone(c *clause, i int) string {
	j := i
	w := strings.TrimRight(strings.NewReplacer("+", "", "-", "").Replace(c.at(j)), "0123456789:")
	timed := func(k int) bool { return c.at(k) == "time" || c.at(k) == "timezone" }
	switch {
	case c.at(i) == "" || !c.words[i].capital:
		return ""
	case zones[w]:
		j++
		if isDigit(c.at(j)) || strings.HasPrefix(c.at(j), "+") {
			j++
		}
	case timed(i + 1), timed(i+2) && c.words[i+1].capital: // "Lisbon time"
		j = i + 1
		if timed(i + 2) {
			j++
		}
	default:
		return ""
	}
	if end := j; timed(end) {
		end++
		if c.at(end) == "zone" || c.at(end-1) == "timezone" || zones[w] && w != "eastern" && w != "pacific" {
			return c.text(i, j)
		}
		return c.text(i, end)
	}
	if w == "eastern" || w == "pacific" || w == "west" || w == "wet" {
		return ""
	}
	return c.text(i, j)
}

// grade accepts the year of a school that somebody is in: "third grade", "year 4".
func grade(c *clause, i int) string {
	two := c.at(i + 1)
	switch w := c.at(i); {
	case two == "grade" && (isOrdinal(w) || ordinals[w]), w == "year" && isDigit(two), w == "grade" && isDigit(two),
		two == "school" && (w == "high" || w == "middle" || w == "primary" || w == "elementary" || w == "secondary"):
		return c.text(i, i+2)
	case w == "kindergarten", w == "preschool":
		return c.text(i, i+1)
	}
	return ""
}

// notWhere are names after "I'm in" that are no places.
var notWhere = table("it hr sales marketing finance engineering accounting english math maths spanish french german monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december")

// whereabouts accepts the place where somebody is, which need not be their home.
func whereabouts(c *clause, i int) string {
	j := c.placeEnd(i)
	if j == i || notWhere[c.at(i)] || c.at(i) == "the" {
		return ""
	}
	for k := j; k < len(c.words); k++ {
		if w := c.at(k); !c.words[k].mark() && !adverb[w] && !timing[w] && w != "right" && w != "moment" && w != "for" && w != "work" {
			return ""
		}
	}
	return strings.TrimRight(c.text(i, c.undated(i, j)), ".,'’- ")
}

// ofOurs accepts a thing of the speaker's.
func ofOurs(c *clause, i int) string {
	if c.at(i) != "my" && c.at(i) != "our" {
		return ""
	}
	return thing(c, i)
}
