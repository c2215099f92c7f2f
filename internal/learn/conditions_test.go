package learn

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/extract"
)

// TestConditionsOfFacts: what says when or on what occasion a fact holds, and what does not.
func TestConditionsOfFacts(t *testing.T) {
	for _, line := range strings.Split(strings.TrimSpace(`
different | User likes green tea in the morning | User likes green tea in the evening
different | User works at Siemens on weekdays | User works at a bar on weekends
different | User lives in Lisbon in winter | User lives in Faro in summer
different | User lives in Lisbon | User lives in Faro in July and August
different | User works as a nurse | User works as a translator on Sundays
different | User works at a school | User works at a bar at night
different | User lives in Berlin | User lives in Potsdam while the flat is renovated
different | User lives in Berlin | User lives in Oslo during the week
different | User's favourite food in winter is raclette | User's favourite food in summer is gazpacho
different | User's favourite food is raclette in winter | User's favourite food is gazpacho
different | User likes coffee at work | User does not like coffee at home
different | User likes coffee | User dislikes coffee after dinner
same | User lives in Berlin | User lives in Lisbon since May
same | User lives in Berlin | User lives in Lisbon since May 2024
same | User lives in Berlin | User moved to Lisbon in May
same | User lives in Berlin | User lives in a flat in Lisbon
same | User lives in Berlin with Anna | User lives in Lisbon
same | User works as a nurse at Charité | User works as a doctor
same | User works as a night nurse | User works as a teacher
same | User lives in Berlin in winter | User lives in Lisbon in the winter
same | User's name is April | User's name is June
same | User is married to April | User is married to June
same | User's birthday is May 3 | User's birthday is June 4
same | User was born on May 3 | User was born on June 4
same | User is 34 years old | User is 35 years old
same | User's favourite season is winter | User's favourite season is summer
same | User likes coffee very much | User dislikes coffee
same | User likes coffee because it is warm | User dislikes coffee
`), "\n") {
		p := strings.Split(line, " | ")
		_, attribute := extract.Classify(p[1])
		if got := sameConditions(p[1], p[2], attribute); got != (p[0] == "same") {
			t.Errorf("%q and %q: same conditions %v: %v and %v", p[1], p[2], got, conditions(p[1], attribute), conditions(p[2], attribute))
		}
	}
}
