package learn

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Rules reads facts from first-person English without a model: what people say
// of their name, age, home, work, family, pets, health, diet, tastes, things,
// studies, languages, plans, habits and what they ask to be remembered. Each
// fact is in the third person and names the words it rests on. It would rather
// miss a statement than invent one: questions, hypothetical cases, jokes and the
// words of others are passed over.
func Rules(said []Said) []Candidate {
	var out []Candidate
	for _, s := range said {
		if s.Turn.Role != memory.RoleUser {
			continue
		}
		remembered, _ := commands(s)
		out = append(out, remembered...)
		for _, c := range clauses(s.Text) {
			if !within(c.Span, remembered) {
				out = append(out, read(c, s)...)
			}
		}
	}
	return out
}

func within(span text.Span, cands []Candidate) bool {
	return slices.ContainsFunc(cands, func(c Candidate) bool {
		return c.Span.Start < span.End && span.Start < c.Span.End
	})
}

// opens are the words that a clause about its speaker begins with, unless it ends
// in "is my …".
var opens = table("i i'm im i've ive i'd i'll we we're we've we'd we'll my our one call you please just everyone everybody people friends they this it's")

// ofSpeaker reports whether a clause may be about its speaker. Most are not, and
// need not be held against every family.
func ofSpeaker(clause string) bool {
	first, rest, _ := strings.Cut(strings.ToLower(clause), " ")
	return opens[strings.ReplaceAll(first, "’", "'")] || strings.Contains(rest, "my ") || strings.Contains(rest, "our ")
}

// read returns what a clause says, by the first family that takes it.
func read(c clause, s Said) []Candidate {
	if !ofSpeaker(c.text) {
		return nil
	}
	c.text = kinIs.ReplaceAllString(c.text, "$1 is $2")
	for _, f := range families {
		m := f.form().FindStringSubmatchIndex(c.text)
		if m == nil {
			continue
		}
		cands := f.read(c, m, s)
		if len(cands) == 0 {
			continue
		}
		if f.rule == "kin named" { // "my wife Maria is a doctor" says two things
			if rest, ok := nameless(f, c, m); ok {
				cands = append(cands, read(rest, s)...)
			}
		}
		return cands
	}
	return nil
}

// nameless returns the clause without the name in it, if something is said after
// the name.
func nameless(f family, c clause, m []int) (clause, bool) {
	i := 2 * f.form().SubexpIndex("name")
	rest := c.text[m[i+1]:]
	if m[i] == 0 || !strings.HasPrefix(rest, " ") {
		return c, false
	}
	c.text = strings.TrimRight(c.text[:m[i]], " ,") + rest
	return c, true
}

// kinIs is "my husband's allergic", with its verb in one letter.
var kinIs = regexp.MustCompile(`(?i)^((?:my|our) (?:[a-z]+ )?[a-z]+)['’]s (allergic|an?|from|in|vegan|vegetarian|getting|working|living|turning|studying)\b`)

func (f *family) read(c clause, m []int, s Said) []Candidate {
	groups := map[string]string{}
	for i, name := range f.form().SubexpNames() {
		if name == "" || m[2*i] < 0 {
			continue
		}
		raw := strings.TrimSpace(c.text[m[2*i]:m[2*i+1]])
		groups[name] = raw
		if accept := values[name]; accept != nil && raw != "" {
			if groups[name] = accept(raw, s.Turn.CreatedAt); groups[name] == "" {
				return nil
			}
		}
	}
	if !f.holds(c, groups, s.Turn.CreatedAt) {
		return nil
	}
	facts := []Candidate{}
	for _, g := range listed(f, groups) {
		facts = append(facts, f.candidate(g))
	}
	if old := groups["old"]; old != "" {
		facts = append(facts, Candidate{Text: "User no longer uses " + old, Subject: "user", Attribute: "uses:" + keyOf(old), Category: f.category, Confidence: f.confidence, Model: "rule:" + f.rule})
	}
	var out []Candidate
	for _, said := range facts {
		said.Span = &memory.Span{Turn: s.Turn.ID, Start: c.Start, End: c.End}
		said.Quote, said.Turn = s.Text[c.Start:c.End], s.Turn.ID
		said.ValidFrom = began(said.Attribute, said.Quote, s.Turn.CreatedAt)
		out = append(out, said)
	}
	return out
}

// holds checks what a form alone cannot say.
func (f *family) holds(c clause, g map[string]string, said time.Time) bool {
	switch f.rule {
	case "greeting":
		return c.greeted && g["name"] != "" && !demonym.MatchString(g["name"]) && strings.ToUpper(g["name"][:1]) == g["name"][:1] && strings.Contains(c.text, g["name"])
	case "switched":
		return g["old"] != "" || strings.Contains(c.text, "switched")
	case "kin named", "pet":
		return g["name"] == "" || strings.Contains(c.text, g["name"]) // lower case names nobody here
	case "event":
		return happened(g["did"], c.text, said)
	case "habit":
		return regular(g["does"])
	}
	return true
}

// idle are verbs of talk and thought: what was thought on a day is no event.
var idle = table("thought said asked wondered told meant wanted needed tried felt knew guessed hoped forgot saw heard noticed mentioned figured realized realised liked loved hated used looked seemed understood agreed assumed checked been talked discussed spoke covered")

var goingOn = regexp.MustCompile(`(?i)^(?:\w+ ){1,3}\w+ing\b`)

// happened reports whether a clause tells of something done in a time with a date.
func happened(did, clause string, said time.Time) bool {
	words := strings.Fields(strings.ToLower(did))
	for len(words) > 1 && isAdverb.MatchString(words[0]) {
		words = words[1:]
	}
	verb := words[0]
	if (verb == "was" || verb == "were") && goingOn.MatchString(did) {
		return false
	}
	if idle[verb] || !past(verb) {
		return false
	}
	for _, d := range text.Resolve(clause, said) {
		if !d.From.After(said) {
			return true
		}
	}
	return false
}

// regular reports whether a habit's verb is in the present.
func regular(does string) bool {
	verb, _, _ := strings.Cut(strings.ToLower(does), " ")
	return !past(verb) && !fixed[verb] && verb != "think" && verb != "feel" && verb != "see" && verb != "want"
}

// listed gives each item of a list of things a fact of its own, where the
// attribute is about one thing.
func listed(f *family, g map[string]string) []map[string]string {
	for _, group := range []string{"food", "thing", "general", "language"} {
		if !strings.Contains(f.attribute, ":${"+group+"}") {
			continue
		}
		items := items(g[group])
		if len(items) < 2 {
			continue
		}
		var out []map[string]string
		for _, item := range items {
			one := map[string]string{}
			for k, v := range g {
				one[k] = v
			}
			one[group] = item
			out = append(out, one)
		}
		return out
	}
	return []map[string]string{g}
}

var listCut = regexp.MustCompile(`(?i)\s*,\s*(?:and |or |& )?|\s+(?:and|or|&)\s+`)

// items cuts "peanuts, shrimp and soy" in three. What is no list of short items
// stays whole.
func items(s string) []string {
	parts := listCut.Split(s, -1)
	for i, p := range parts {
		if n := len(strings.Fields(p)); n == 0 || n > 3 || i == 0 && article.MatchString(p) {
			return nil // "the blue and white combination" is one thing
		}
	}
	first, last := parts[0], parts[len(parts)-1]
	if strings.Contains(last, " ") && !strings.HasSuffix(first, "s") && !strings.HasSuffix(first, "ing") {
		return nil // and so is "electronic and rock music"
	}
	return parts
}

var article = regexp.MustCompile(`(?i)^(?:the|an?|my|our|both) `)

var placeholder = regexp.MustCompile(`\$\{([a-z]+)(?::([a-z]+))?\}`)

func (f *family) candidate(g map[string]string) Candidate {
	said := placeholder.ReplaceAllStringFunc(f.say, func(p string) string {
		m := placeholder.FindStringSubmatch(p)
		return filled(m[1], m[2], g)
	})
	attribute := placeholder.ReplaceAllStringFunc(f.attribute, func(p string) string {
		return keyOf(g[placeholder.FindStringSubmatch(p)[1]])
	})
	if kin := g["kin"]; kin != "" && f.rule == "kin named" {
		attribute = kinAttribute(strings.ToLower(kin))
	}
	subject := "user"
	if kin := strings.ToLower(g["kin"]); f.rule == "kin does" {
		subject = "user's " + kin
		if single(kinAttribute(kin)) { // of several sisters each may live elsewhere
			_, attribute = Classify("User" + g["rest"])
		}
	}
	return Candidate{
		Text: said, Subject: subject, Attribute: strings.TrimSuffix(attribute, ":"), Category: f.category,
		Confidence: f.confidence, Model: "rule:" + f.rule,
	}
}

// filled returns a group as a fact says it.
func filled(group, as string, g map[string]string) string {
	switch {
	case group == "verbs":
		return third(strings.ToLower(g["verb"]))
	case group == "likes":
		return third(strings.TrimSuffix(strings.ToLower(g["verb"]), "d"))
	case group == "to":
		if g["name"] == "" {
			return ""
		}
		return " to " + g["name"]
	case as == "verb":
		words := strings.Fields(g[group])
		agreeVerb(words)
		return strings.Join(words, " ")
	case group == "kin" || group == "pet" || group == "kind" || group == "what":
		return strings.ToLower(g[group])
	}
	return g[group]
}

// kinAttribute is single where a person has one such relative at a time.
func kinAttribute(kin string) string {
	switch kin {
	case "wife", "husband", "partner", "spouse", "girlfriend", "boyfriend", "fiance", "fiancé", "fiancee", "fiancée":
		return "partner"
	case "mother", "mom", "mum":
		return "relative:mother"
	case "father", "dad":
		return "relative:father"
	case "boss", "manager", "best friend", "therapist", "doctor":
		return "relative:" + kin
	}
	return kin
}

// began returns since when a statement holds: the past or present date in its
// words, for what has one value at a time.
func began(attribute, words string, said time.Time) time.Time {
	if !single(attribute) || attribute == "birthday" || text.Negated(words) {
		return time.Time{}
	}
	dates := text.Resolve(words, said)
	if len(dates) != 1 || dates[0].From.After(said) {
		return time.Time{}
	}
	return dates[0].From
}
