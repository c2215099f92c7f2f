package learn

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/late"
)

// byItsName returns a candidate about somebody named with who they are to the user, by
// what is near it or was said before it. It reports false where nobody is known by the
// name.
func byItsName(c Candidate, before []Candidate) (Candidate, bool) {
	if c.Who == "" {
		return c, true
	}
	known := func(fact, subject string) (Candidate, bool) {
		whose, subject := whoIs(c.Who, fact, subject)
		if whose == "" {
			return c, false
		}
		c.Text, c.Subject = whose+strings.TrimPrefix(c.Text, c.Who), subject
		if c.Category == "" || c.Subject != "user" {
			c.Category = "family"
		}
		return c, true
	}
	for _, n := range c.Near {
		if n.Fact.Status.Live() {
			if c, ok := known(n.Fact.Content, n.Fact.Subject); ok {
				return c, true
			}
		}
	}
	for _, b := range before {
		if b.Who == "" {
			if c, ok := known(b.Text, b.Subject); ok {
				return c, true
			}
		}
	}
	return c, false
}

// whoIs returns who somebody named is by a fact ("User's son Leo"), and the subject of
// what is said of them; "" where the fact does not tell.
func whoIs(name, fact, subject string) (whose, of string) {
	kin := func(kin string) (string, string) {
		kin = lower(kin)
		if petWords.Has(lastWord(kin)) || !oneAtATime(kin) {
			return "User's " + kin + " " + name, "user's " + kin + " " + lower(name)
		}
		return "User's " + kin + " " + name, "user's " + kin
	}
	if rest, ok := strings.CutPrefix(fact, "User's "); ok {
		if of, is, ok := strings.Cut(rest, " is named "); ok && is == name {
			return kin(of)
		}
		if of, _, ok := strings.Cut(rest, " "+name+" "); ok && len(strings.Fields(of)) < 3 && (kinWords.Has(lastWord(of)) || petWords.Has(lastWord(of))) {
			return kin(of)
		}
		of, all, ok := strings.Cut(rest, " are ")
		if ok && slices.Contains(listCut.Split(strings.TrimPrefix(agesIn.ReplaceAllString(all, ""), "named "), -1), name) {
			return kin(singular(of))
		}
	}
	if m := hasForm.FindStringSubmatch(fact); m != nil && m[2] == name {
		return kin(m[1])
	}
	if rest, ok := strings.CutPrefix(fact, "User lives with "); ok && rest == name {
		return name, "user"
	}
	return "", ""
}

var (
	agesIn  = late.Compile(` \(\d+\)`)
	hasForm = late.Compile(`^User has (?:an?|one|two) (.+) named (\pL.*)$`)
)

// singular returns one of several relatives or animals.
func singular(kin string) string {
	switch {
	case strings.HasSuffix(kin, "children"):
		return strings.TrimSuffix(kin, "ren")
	case strings.HasSuffix(kin, "puppies"):
		return strings.TrimSuffix(kin, "ies") + "y"
	}
	return strings.TrimSuffix(kin, "s")
}
