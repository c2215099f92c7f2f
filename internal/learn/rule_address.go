package learn

import (
	"strings"

	"github.com/loci-memory/loci/internal/late"
)

var (
	// roads are what streets are called, streetEnds how their names end where it is one word.
	roads      = late.Words("street st road rd avenue ave lane ln drive dr way close court ct place square terrace crescent boulevard blvd gardens hill row grove mews highway quay parade")
	streetEnds = []string{"straße", "strasse", "gasse", "weg", "platz", "allee", "straat", "laan", "gatan", "vägen", "veien"}
	// housePart are parts of a house.
	housePart = late.Words("flat apartment apt unit number no floor suite room")
	// homely are words of a turn that tell of where the speaker lives.
	homely = late.Words("apartment flat house place home moved address live forget")
)

var livesAt = &family{rule: "address", category: "home", attribute: "street address", confidence: 0.9}

// address reads where the speaker lives, to the house: "we live at 12 Hill Road", "our new
// address is …", and an address alone where the turn speaks of a home.
func (r *reader) address(c *clause, i int) bool {
	j := i
	switch w := c.at(i); {
	case w == "my" || w == "our":
		for j = i + 1; c.at(j) == "new" || c.at(j) == "home" || c.at(j) == "postal" || c.at(j) == "own"; j++ {
		}
		if c.at(j) != "address" || c.at(j+1) != "is" {
			return false
		}
		for j += 2; c.at(j) == "now"; j++ {
		}
	case w == "i" || w == "we":
		for j = i + 1; c.at(j) == "now" || c.at(j) == "am" || c.at(j) == "are" || c.at(j) == "have" || c.at(j) == "just"; j++ {
		}
		if v := c.at(j); v != "live" && v != "moved" && v != "living" || c.at(j+1) != "at" && c.at(j+1) != "to" && c.at(j+1) != "in" && c.at(j+1) != "on" {
			return false
		}
		j += 2
	default:
		if !c.first || r.theirs || !r.ofHome() {
			return false
		}
	}
	end := c.addressEnd(j)
	if end == j || j == i && end < len(c.words) && !asideEnds.Has(c.at(end)) {
		return false
	}
	r.g = captured{}
	r.fact(c, &user, livesAt, "User's address is "+c.text(j, end), "")
	return true
}

// asideEnds are words before which an address ends that stands alone.
var asideEnds = late.Words(", top no with in")

// ofHome reports whether the turn speaks of where somebody lives.
func (r *reader) ofHome() bool {
	if r.home == nil { // asked by many clauses of one turn
		home := false
		for w := range strings.FieldsSeq(lower(r.said.Text)) {
			if homely.Has(strings.Trim(w, ".,!?:")) {
				home = true
				break
			}
		}
		r.home = &home
	}
	return *r.home
}

// addressEnd returns the place after an address: "flat 3, 77 Algernon Road, SE13", i
// without one.
func (c *clause) addressEnd(i int) int {
	j := i
	if end := c.withinEnd(j); end > j {
		if j = end; c.at(j) == "," {
			j++
		}
	}
	end := c.streetEnd(j)
	if end == j {
		return i
	}
	for range 3 {
		k := end
		if c.at(k) == "," {
			k++
		}
		switch w := c.at(k); {
		case c.withinEnd(k) > k:
			end = c.withinEnd(k)
		case k > end && k < len(c.words) && c.words[k].capital && w != "i":
			end = k + 1
		case k < len(c.words) && c.words[k].capital && strings.ContainsAny(w, "0123456789"): // a postcode
			end = k + 1
		default:
			return end
		}
	}
	return end
}

// withinEnd returns the place after a part of a house: "flat 3", "top floor".
func (c *clause) withinEnd(i int) int {
	if housePart.Has(c.at(i)) && startsInDigit(c.at(i+1)) {
		return i + 2
	}
	if (c.at(i) == "top" || isOrdinal(c.at(i)) || ordinals.Has(c.at(i))) && c.at(i+1) == "floor" {
		return i + 2
	}
	return i
}

func startsInDigit(w string) bool { return w != "" && w[0] >= '0' && w[0] <= '9' }

// streetEnd returns the place after a street with its number: "12 Hill Road",
// "Ringstraße 4".
func (c *clause) streetEnd(i int) int {
	if startsInDigit(c.at(i)) {
		for j := i + 1; j < len(c.words) && j < i+6 && c.words[j].capital && !c.words[j].mark(); j++ {
			if j > i+1 && roads.Has(strings.TrimSuffix(c.at(j), ".")) && !(j+1 < len(c.words) && roads.Has(c.at(j+1))) {
				return j + 1
			}
		}
		return i
	}
	if i < len(c.words) && c.words[i].capital && startsInDigit(c.at(i+1)) {
		for _, end := range streetEnds {
			if strings.HasSuffix(c.at(i), end) {
				return i + 2
			}
		}
	}
	return i
}
