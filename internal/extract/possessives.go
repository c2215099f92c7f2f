package extract

// whose notes whom a clause is about, where its subject says so: somebody else, or the
// speaker. What leaves its subject out is about the same one: "My brother called. Got a job at
// the post office."
func (r *reader) whose(c *clause, i int) {
	switch w := c.at(i); {
	case w == "i" || w == "we":
		r.theirs = false
	case w == "he" || w == "she":
		r.theirs = true
	case w == "my" || w == "our":
		r.theirs = kinEnd(c, i+1) > i+1 || petEnd(c, i+1) > i+1
	default:
		if end := c.nameEnd(i); end > i && end < len(c.words) && !occupations.Has(w) {
			v, ok := VerbOf(c.at(end))
			_, itself := VerbOf(w)
			if ok && !itself && v.Form&(preterite|thirdForm) != 0 && c.at(end) != "is" && c.at(end) != "has" && c.at(end) != "was" { // "Life has been hard"
				r.theirs = true
			}
		}
	}
}

// asides are words at the end of a clause that are no part of what it says.
var asides = [][]string{{"by", "the", "way"}, {"btw"}, {"lol"}, {"haha"}, {"tbh"}, {"just", "so", "you", "know"}, {"wish", "me", "luck"}, {"fingers", "crossed"}, {"fyi"}, {"rn"}, {"atm"},
	{"that", "is", "all"}, {"if", "that", "matters"}, {"sorry", "not", "sorry"}}

// withoutAside takes such words off.
func (c *clause) withoutAside() {
	for _, aside := range asides {
		from := len(c.words) - len(aside)
		if from < 3 {
			continue
		}
		same := true
		for k, w := range aside {
			same = same && c.at(from+k) == w
		}
		if !same {
			continue
		}
		for from > 0 && c.words[from-1].mark() {
			from--
		}
		c.words = c.words[:from]
		c.all = c.words
		return
	}
}
