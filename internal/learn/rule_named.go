package learn

import "strings"

// apposed reads what is said of somebody whose name is told first: "Marta, my cousin, lives
// in Bergen".
func (r *reader) apposed(c *clause, i int, when string) bool {
	for c.at(i) == "the" || c.at(i) == "other" {
		i++
	}
	end := i + 1
	if c.nameEnd(i) > i {
		end = c.nameEnd(i)
	} else if c.at(i-1) != "other" || !isLetters(c.at(i)) {
		return false
	}
	if c.at(end) != "," || c.at(end+1) != "my" && c.at(end+1) != "our" {
		return false
	}
	j := kinEnd(c, end+2)
	if j == end+2 || c.at(j) != "," || kinPlural.Has(c.at(j-1)) {
		return false
	}
	kin, name := lower(c.text(end+2, j)), c.text(i, end)
	name = strings.ToUpper(name[:1]) + name[1:]
	p := predicate{who: "User's " + kin + " " + name, subject: "user's " + kin}
	if !oneAtATime(kin) {
		p.subject += " " + lower(name)
	}
	if !p.read(c, j+1) || p.tense&(ability|wish) != 0 {
		return false
	}
	found := len(r.found)
	if r.facts(c, &p, when); len(r.found) > found {
		r.kinName(c, kin, name)
	}
	return len(r.found) > found
}

// ofStranger reads what is said next of somebody named: "he's a postman now".
func (r *reader) ofStranger(c *clause, i int, name string) bool {
	if c.at(i) != "he" && c.at(i) != "she" {
		return false
	}
	p := predicate{who: name, subject: lower(name)}
	if !p.read(c, i+1) || p.tense&(present|progressive) == 0 {
		return false
	}
	found := len(r.found)
	for _, f := range byVerb()[p.verb.lemma] {
		if p.tense&f.tenses != 0 && c.match(f.steps, p.rest, &r.g) && fits(f.family, c, &p, &r.g) {
			r.add(c, &p, f.family, "")
			break
		}
	}
	for k := found; k < len(r.found); k++ {
		r.found[k].Who = name
	}
	return len(r.found) > found
}
