package learn

import "strings"

// brief reads what people say of themselves in a list of few words: "nurse, night
// shifts, two kids", "34, vegan, living in Cork". Each item must be one that somebody
// says of themselves, and one at least must be of a person: "nurse, night shifts" may be
// an offer of work, "doctor, lawyer" a choice.
func (r *reader) brief(c *clause, i int) bool {
	var said []string
	telling, from := false, i
	once := map[string]bool{}
	for k := i; k <= len(c.words); k++ {
		if k < len(c.words) && !c.words[k].mark() && !(c.at(k) == "and" && k > from) {
			continue
		}
		if k == from {
			from = k + 1
			continue
		}
		lead, tells := c.item(from, k)
		if lead == "" || len(said) == 8 || strings.HasPrefix(lead, "I am") && lead != "I am" && once["work"] || isDigit(c.at(from)) && lead == "I am" && once["age"] {
			return false
		}
		once["work"] = once["work"] || strings.HasPrefix(lead, "I am") && lead != "I am"
		once["age"] = once["age"] || isDigit(c.at(from)) && lead == "I am"
		telling = telling || tells
		said, from = append(said, lead+" "+lowerUnlessName(c, from, k)), k+1
	}
	if len(said) < 2 || !telling {
		return false
	}
	before := len(r.found)
	for _, s := range said {
		for _, cand := range readPlain(s, *r.said) {
			cand.Span.Start, cand.Span.End = c.Start, c.End
			cand.Quote = r.said.Text[c.Start:c.End]
			r.found = append(r.found, cand)
		}
	}
	return len(r.found) > before
}

func lowerUnlessName(c *clause, i, j int) string {
	s := c.text(i, j)
	if i == 0 && c.nameEnd(i) == i+1 && !nationals.Has(c.at(i)) {
		return lower(s[:1]) + s[1:]
	}
	return s
}

// item returns what leads an item of such a list, "" if it is none. It reports whether
// it tells that the list is about the speaker.
func (c *clause) item(i, j int) (lead string, telling bool) {
	first, last := c.at(i), c.at(j-1)
	switch {
	case j-i > 5:
		return "", false
	case j-i == 1 && isDigit(first) && len(first) == 2, j-i == 2 && isDigit(first) && (last == "yo" || last == "y/o"), j-i == 3 && isDigit(first) && last == "old":
		return "I am", true
	case occupations.Has(last) && j-i < 4 && !hanging.Has(first):
		switch {
		case first == "a" || first == "an":
			return "I am", false
		case strings.ContainsRune(vowels, rune(first[0])):
			return "I am an", false
		}
		return "I am a", false
	case (last == "shifts" || last == "shift") && j-i == 2, last == "remotely" && j-i == 1, last == "part-time" && j-i == 1:
		return "I work", false
	case determiner.Has(first) && first != "the" && first != "my" && j-i > 1 && (kinPlural.Has(last) || petWords.Has(last) || kinWords.Has(last) && first != "a"):
		return "I have", kinPlural.Has(last)
	case j-i == 1 && (diets.Has(first) || first == "single" || first == "married" || first == "divorced" || first == "engaged" || first == "widowed" || ailments.Has(first)):
		return "I am", true
	case (first == "living" || first == "based" || first == "from") && c.placeEnd(i+1)+c.placeEnd(i+2) > 2*i+3:
		return "I am", true
	case first == "allergic" && c.at(i+1) == "to":
		return "I am", false
	}
	return "", false
}
