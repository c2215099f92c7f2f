package learn

import (
	"strings"

	"github.com/loci-memory/loci/internal/late"
)

// faith accepts a religion that somebody is of.
func faith(c *clause, i int) string {
	j := i
	for c.at(j) == "a" || c.at(j) == "an" || adverb.Has(c.at(j)) || c.at(j) == "devout" || c.at(j) == "practicing" || c.at(j) == "practising" || c.at(j) == "roman" {
		j++
	}
	if !faiths.Has(c.at(j)) || j+1 < len(c.words) && !c.words[j+1].mark() && c.at(j+1) != "and" {
		return ""
	}
	return c.text(i, j+1)
}

var faiths = late.Words("catholic christian protestant muslim jewish hindu buddhist sikh atheist agnostic mormon orthodox quaker lutheran methodist")

// zones are short names of time zones.
var zones = late.Words("cet cest eet eest wet west gmt utc bst est edt eastern cst cdt central mst mdt mountain pst pdt pacific ist jst kst aest aedt nzst sgt hkt msk")

var longZones = late.Words("eastern central mountain pacific")

// zone accepts a time zone: "CET", "GMT+2", "Eastern time".
func zone(c *clause, i int) string {
	j := i
	w := strings.TrimRight(strings.NewReplacer("+", "", "-", "").Replace(c.at(j)), "0123456789:")
	timed := func(k int) bool { return c.at(k) == "time" || c.at(k) == "timezone" }
	switch {
	case c.at(i) == "" || !c.words[i].capital:
		return ""
	case zones.Has(w):
		j++
		if isDigit(c.at(j)) || strings.HasPrefix(c.at(j), "+") {
			j++
		}
	case timed(i+1) && (c.at(i+1) == "timezone" || c.at(i+2) == "zone"): // "the Lisbon time zone"
		j = i + 1
	default:
		return ""
	}
	if end := j; timed(end) {
		end++
		if c.at(end) == "zone" || c.at(end-1) == "timezone" || zones.Has(w) && !longZones.Has(w) {
			return c.text(i, j)
		}
		return c.text(i, end)
	}
	if longZones.Has(w) || w == "west" || w == "wet" {
		return ""
	}
	return c.text(i, j)
}

// grade accepts the year of a school that somebody is in: "third grade", "year 4".
func grade(c *clause, i int) string {
	two := c.at(i + 1)
	switch w := c.at(i); {
	case two == "grade" && (isOrdinal(w) || ordinals.Has(w)), w == "year" && isDigit(two), w == "grade" && isDigit(two),
		two == "school" && (w == "high" || w == "middle" || w == "primary" || w == "elementary" || w == "secondary"):
		return c.text(i, i+2)
	case w == "kindergarten", w == "preschool":
		return c.text(i, i+1)
	}
	return ""
}

// notWhere are names after "I'm in" that are no places.
var notWhere = late.Words("it hr sales marketing finance engineering accounting english math maths spanish french german monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december")

// programs are what people are "in" who sit before a screen, and more that is no place.
var programs = late.Words("excel word powerpoint outlook vim emacs vscode visual vs python java javascript typescript rust go c react vue angular docker kubernetes linux windows photoshop figma slack teams zoom gmail chrome firefox safari github gitlab jira notion terminal unity blender xcode android sql chapter part section step level season episode class group team plan phase stage row line love debug power slytherin gryffindor hufflepuff ravenclaw")

var shortPlaces = late.Words("nyc la sf dc uk usa us uae nz")

// acronym reports whether a word is in capitals.
func acronym(w string) bool { return len(w) > 1 && len(w) < 6 && w == strings.ToUpper(w) }

// whereabouts accepts the place where somebody is, which need not be their home.
func whereabouts(c *clause, i int) string {
	j := c.placeEnd(i)
	if j == i || notWhere.Has(c.at(i)) || programs.Has(c.at(i)) || c.at(i) == "the" || acronym(c.text(i, i+1)) && !shortPlaces.Has(c.at(i)) {
		return ""
	}
	for k := j; k < len(c.words); k++ {
		if w := c.at(k); !c.words[k].mark() && !adverb.Has(w) && !timing.Has(w) && w != "right" && w != "moment" && w != "for" && w != "work" {
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
	if c.headed(i, 4, devices) == i && c.headed(i, 4, holdings) == i && petEnd(c, i+1) == i+1 {
		return "" // doubts are got rid of too
	}
	return thing(c, i)
}
