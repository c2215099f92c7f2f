package extract

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// notWhere are names after "I'm in" that are not places.
var notWhere = lazy.Words("it hr sales marketing finance engineering accounting english math maths spanish french german monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december")

// programs are what people are "in" who sit before a screen, and more that is no place.
var programs = lazy.Words("excel word powerpoint outlook vim emacs vscode visual vs python java javascript typescript rust go c react vue angular docker kubernetes linux windows photoshop figma slack teams zoom gmail chrome firefox safari github gitlab jira notion terminal unity blender xcode android sql chapter part section step level season episode class group team plan phase stage row line love debug power slytherin gryffindor hufflepuff ravenclaw")

var shortPlaces = lazy.Words("nyc la sf dc uk usa us uae nz")

// settles reports whether words after "moved" lead to a home: either end is a place by the tables
// or, where only one is named, a name that may be one. People change banks and teams, too.
func settles(words string) bool {
	from, to, _ := strings.Cut(" "+words, " to ")
	isPlace := func(s string) bool {
		return slices.ContainsFunc(strings.Fields(strings.ToLower(s)), func(w string) bool {
			return w == "live" || settledIn.Has(w) || text.ClassesOf(text.Term(w))&placeClasses() != 0
		})
	}
	if end := keyEnds.FindStringIndex(to); end != nil {
		if strings.HasPrefix(to[end[0]:], " from ") {
			from = to[end[0]:]
		}
		to = to[:end[0]]
	}
	if strings.HasPrefix(from, " from ") {
		return isPlace(to) || isPlace(from)
	}
	name, _, _ := strings.Cut(to, " ")
	return isPlace(to) || mayBePlace(name) && name != strings.ToLower(name)
}

// mayBePlace reports whether a name is none of those that are known to be something else.
func mayBePlace(name string) bool {
	low := strings.ToLower(name)
	return !notWhere.Has(low) && !programs.Has(low) && low != "the" && (!acronym(name) || shortPlaces.Has(low))
}

// acronym reports whether a word is in capitals.
func acronym(w string) bool { return len(w) > 1 && len(w) < 6 && w == strings.ToUpper(w) }

// whereabouts accepts the place where somebody is, which need not be their home.
func whereabouts(c *clause, i int) string {
	j := c.placeEnd(i)
	if j == i || !mayBePlace(c.text(i, i+1)) {
		return ""
	}
	for k := j; k < len(c.words); k++ {
		if w := c.at(k); !c.words[k].mark() && !adverb.Has(w) && !Timing.Has(w) && w != "right" && w != "moment" && w != "for" && w != "work" {
			return ""
		}
	}
	return strings.TrimRight(c.text(i, c.undated(i, j)), ".,'’- ")
}
