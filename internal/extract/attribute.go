package extract

import (
	"cmp"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// IsSingleValued reports whether an attribute has one value at a time, as "taste:coffee" has. "has:car" may
// have several values, because people may have several cars.
func IsSingleValued(attribute string) bool {
	return isInList("singles", strings.ReplaceAll(attribute, " ", "-")) ||
		strings.Contains(attribute, ":") && !strings.HasPrefix(attribute, "has:")
}

// WithClassification returns the candidate with its subject, attribute and category in canonical form.
// Missing values are derived from the text.
func WithClassification(c Candidate) Candidate {
	for _, named := range []*string{&c.Subject, &c.Attribute, &c.Category} {
		*named = strings.TrimSpace(strings.ToLower(*named))
	}
	if c.Subject == "the user" || c.Subject == "me" || c.Subject == "i" {
		c.Subject = "user"
	}
	c.Attribute = canonicalForm("aliases", c.Attribute)
	derived := candidateOf(c.Text)
	category := ""
	if derived.Attribute != "" {
		c.Subject, c.Attribute = derived.Subject, derived.Attribute
		if derived.Subject == "user" { // the rules give every fact about another person the category family
			category = derived.Category
		}
	}
	c.Category = cmp.Or(c.Category, category, CategoryOf(c.Text))
	c.Subject = cmp.Or(c.Subject, derived.Subject)
	return c
}

// SubjectAndAttribute returns the subject and the attribute that a fact's words express; "" means unknown.
func SubjectAndAttribute(fact string) (subject, attribute string) {
	read := candidateOf(fact)
	return read.Subject, read.Attribute
}

// candidateOf returns the candidate that the rules find in a fact such as "User lives in Lisbon".
func candidateOf(fact string) Candidate {
	fact = strings.TrimPrefix(fact, "The ")
	utterance := Utterance{Text: fact, Turn: memory.Turn{CreatedAt: time.Unix(0, 0).UTC()}}
	r := statementReader{utterance: &utterance, lastSubject: userSubject, isStoredFact: true}
	r.readText(fact)
	switch candidates := r.candidates; {
	case len(candidates) > 1 && candidates[0].Model == "rule:kin named": // the first candidate is a relative's name, the second the fact
		return candidates[1]
	case len(candidates) > 0 && candidates[0].Model != "rule:event": // the rule's subject of an event may be wrong: a raised rent concerns the user
		return candidates[0]
	case strings.HasPrefix(strings.ToLower(fact), "user"):
		return Candidate{Subject: "user"}
	}
	return Candidate{}
}

// categories are tried in order. A fact has a category if it has one of the words, or a word of one of the
// kinds (names of classes of package text).
var categories = []struct {
	name, kinds string
	words       *lazy.Set
}{
	{"health", "illness injury medicine", lazy.SetOf("allergic allergy intolerance illness disease diagnosed diagnosis medication medicine dose mg mcg pill pregnant surgery operation doctor gp dentist therapist hospital diabetic", AllTermSet)},
	{"family", "relative partner", lazy.SetOf("kid child baby twins parents boyfriend girlfriend husband wife", AllTermSet)},
	{"work", "job", lazy.SetOf("job work employer employed office boss manager colleague career salary", AllTermSet)},
}

// CategoryOf returns the category that a fact's words imply, or "".
func CategoryOf(fact string) string {
	terms := text.Terms(fact)
	for _, c := range categories {
		kinds := classesNamed(c.kinds)
		for _, t := range terms {
			if c.words.Has(t) || text.ClassesOf(t)&kinds != 0 {
				return c.name
			}
		}
	}
	return ""
}

func classesNamed(names string) (kinds text.Classes) {
	for name := range strings.FieldsSeq(names) {
		kinds |= text.ClassesNamed(text.Term(name))
	}
	return kinds
}

// attributeKey returns the terms of a thing as a key: "the spicy foods" and "spicy food" have equal keys.
func attributeKey(thing string) string {
	if m := namedPattern("key ends").FindStringIndex(thing); m != nil && m[0] > 0 {
		thing = thing[:m[0]]
	}
	return strings.Join(text.Terms(thing), " ")
}
