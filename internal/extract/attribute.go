package extract

import (
	"cmp"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Single reports whether somebody has one value of an attribute at a time: a newer one takes the older
// one's place. So does one with a key of its own, "taste:coffee", but for what people may have several
// of, "has:car".
func Single(attribute string) bool {
	return in("singles", strings.ReplaceAll(attribute, " ", "-")) ||
		strings.Contains(attribute, ":") && !strings.HasPrefix(attribute, "has:")
}

// Classified returns the candidate with subject, attribute and category: its own
// in our words, or what its words tell.
func Classified(c Candidate) Candidate {
	for _, named := range []*string{&c.Subject, &c.Attribute, &c.Category} {
		*named = strings.TrimSpace(strings.ToLower(*named))
	}
	if c.Subject == "the user" || c.Subject == "me" || c.Subject == "i" {
		c.Subject = "user"
	}
	c.Attribute = paired("aliases", c.Attribute)
	told := classify(c.Text)
	category := ""
	if told.Attribute != "" {
		c.Subject, c.Attribute = told.Subject, told.Attribute
		if told.Subject == "user" { // of others it would be family, which says less
			category = told.Category
		}
	}
	c.Category = cmp.Or(c.Category, category, CategoryOf(c.Text))
	c.Subject = cmp.Or(c.Subject, told.Subject)
	return c
}

// Classify returns what a fact's words say about whom it is about and about which attribute of
// theirs, "" for what they do not say.
func Classify(fact string) (subject, attribute string) {
	told := classify(fact)
	return told.Subject, told.Attribute
}

// classify returns what the rules read in a fact: "User lives in Lisbon".
func classify(fact string) Candidate {
	fact = strings.TrimPrefix(fact, "The ")
	said := Utterance{Text: fact, Turn: memory.Turn{CreatedAt: time.Unix(0, 0).UTC()}}
	r := reader{said: &said, last: user, ofFacts: true}
	r.read(fact)
	switch found := r.found; {
	case len(found) > 1 && found[0].Model == "rule:kin named": // and what is said of them
		return found[1]
	case len(found) > 0 && found[0].Model != "rule:event": // which may be the user's own matter: a raised rent
		return found[0]
	case strings.HasPrefix(strings.ToLower(fact), "user"):
		return Candidate{Subject: "user"}
	}
	return Candidate{}
}

// categories are what a fact may be about by its words, the first that fits: kinds of things
// that package text knows, and words beside them.
var categories = []struct {
	name, kinds string
	words       *lazy.Set
}{
	{"health", "illness injury medicine", lazy.SetOf("allergic allergy intolerance illness disease diagnosed diagnosis medication medicine dose mg mcg pill pregnant surgery operation doctor gp dentist therapist hospital diabetic", TermsOf)},
	{"family", "relative partner", lazy.SetOf("kid child baby twins parents boyfriend girlfriend husband wife", TermsOf)},
	{"work", "job", lazy.SetOf("job work employer employed office boss manager colleague career salary", TermsOf)},
}

// CategoryOf returns the category that a fact's words tell, "" for none.
func CategoryOf(fact string) string {
	terms := text.Terms(fact)
	for _, c := range categories {
		kinds := classesOf(c.kinds)
		for _, t := range terms {
			if c.words.Has(t) || text.ClassesOf(t)&kinds != 0 {
				return c.name
			}
		}
	}
	return ""
}

// classesOf returns the classes of these names.
func classesOf(names string) (kinds text.Classes) {
	for name := range strings.FieldsSeq(names) {
		kinds |= text.ClassesAsked(text.Term(name))
	}
	return kinds
}

// keyOf returns the terms of a thing, so that "the spicy foods" and "spicy food"
// are one.
func keyOf(thing string) string {
	if m := pattern("key ends").FindStringIndex(thing); m != nil && m[0] > 0 {
		thing = thing[:m[0]]
	}
	return strings.Join(text.Terms(thing), " ")
}
