package extract

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
)

// notWhere are names after "I'm in" that are not places.
var notWhere = lazy.Words("it hr sales marketing finance engineering accounting english math maths spanish french german monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december")

// programs are what people are "in" who sit before a screen, and more that is no place.
var programs = lazy.Words("excel word powerpoint outlook vim emacs vscode visual vs python java javascript typescript rust go c react vue angular docker kubernetes linux windows photoshop figma slack teams zoom gmail chrome firefox safari github gitlab jira notion terminal unity blender xcode android sql chapter part section step level season episode class group team plan phase stage row line love debug power slytherin gryffindor hufflepuff ravenclaw")

var shortPlaces = lazy.Words("nyc la sf dc uk usa us uae nz")

// acronym reports whether a word is in capitals.
func acronym(w string) bool { return len(w) > 1 && len(w) < 6 && w == strings.ToUpper(w) }

// whereabouts accepts the place where somebody is, which need not be their home.
func whereabouts(c *clause, i int) string {
	j := c.placeEnd(i)
	if j == i || notWhere.Has(c.at(i)) || programs.Has(c.at(i)) || c.at(i) == "the" || acronym(c.text(i, i+1)) && !shortPlaces.Has(c.at(i)) {
		return ""
	}
	for k := j; k < len(c.words); k++ {
		if w := c.at(k); !c.words[k].mark() && !adverb.Has(w) && !Timing.Has(w) && w != "right" && w != "moment" && w != "for" && w != "work" {
			return ""
		}
	}
	return strings.TrimRight(c.text(i, c.undated(i, j)), ".,'’- ")
}
