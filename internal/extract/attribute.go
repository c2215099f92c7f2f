package extract

import (
	"cmp"
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// aliases are the names that models give to attributes which have one here.
var aliases = map[string]string{
	"location": "home", "residence": "home", "city": "home", "lives in": "home", "address": "home", "home city": "home", "current city": "home", "living place": "home", "home location": "home",
	"job": "occupation", "profession": "occupation", "job title": "occupation", "role": "occupation", "position": "occupation", "career": "occupation",
	"company": "employer", "workplace": "employer", "works at": "employer", "works for": "employer",
	"spouse": "partner", "wife": "partner", "husband": "partner", "girlfriend": "partner", "boyfriend": "partner", "fiance": "partner", "fiancee": "partner",
	"first name": "name", "full name": "name", "user name": "name",
	"date of birth": "birthday", "birth date": "birthday", "birthdate": "birthday", "dob": "birthday",
	"dietary preference": "diet", "dietary restriction": "diet", "eating habits": "diet",
	"place of birth": "birthplace", "origin": "hometown",
	"relationship status": "marital status", "civil status": "marital status",
	"time zone": "timezone",
}

// singles are the attributes that have one value at a time: a newer one takes the
// older one's place. So does one with a key of its own, "taste:coffee", but for what
// people may have several of, "has:car".
var singles = map[string]bool{
	"name": true, "age": true, "birthday": true, "home": true, "hometown": true, "birthplace": true, "employer": true, "occupation": true,
	"partner": true, "marital status": true, "diet": true, "timezone": true, "height": true, "weight": true,
	"nationality": true, "religion": true, "pronouns": true, "working time": true, "whereabouts": true, "school year": true, "pregnancy": true, "leave": true, "team": true, "blood pressure": true, "blood sugar": true, "cholesterol": true, "heart rate": true, "email": true, "phone": true, "blood type": true, "native language": true, "street address": true,
}

// Single reports whether somebody has one value of an attribute at a time.
func Single(attribute string) bool {
	return singles[attribute] || strings.Contains(attribute, ":") && !strings.HasPrefix(attribute, "has:")
}

// shape is how a fact of one attribute reads.
type shape struct {
	form                *lazy.Pattern
	attribute, category string
}

// shapes find the attribute of a fact in the words that rules and most models
// use. The first group is its key, where an attribute ends in ":", or else must be to a home.
var shapes = []shape{
	{lazy.Compile(`(?i)^user(?:'s)? (?:first |full |real )?name is `), "name", "personal"},
	{lazy.Compile(`(?i)^user is (?:called|named) `), "name", "personal"},
	{lazy.Compile(`(?i)^user is \d+ years old`), "age", "personal"},
	{lazy.Compile(`(?i)^user(?:'s birthday is| was born (?:on|in (?:19|20)\d\d))`), "birthday", "personal"},
	{lazy.Compile(`(?i)^user (?:(?:no longer|currently|now) )?(?:lives?|resides?|is based|is living) (?:(?:in|at|near)\b|on (?-i:an? |the |\pL?\d|[A-Z]))`), "home", "home"},
	{lazy.Compile(`(?i)^user (?:does not|doesn't) live in\b`), "home", "home"},
	{lazy.Compile(`(?i)^user (?:has )?(?:moved|relocated) ((?:from .+ )?to\b.*)`), "home", "home"},
	{lazy.Compile(`(?i)^user (?:comes|is|is originally) from\b|^user grew up in\b|^user's hometown is\b`), "hometown", "personal"},
	{lazy.Compile(`(?i)^user (?:(?:no longer|currently|now) )?works? (?:at|for)\b`), "employer", "work"},
	{lazy.Compile(`(?i)^user (?:(?:no longer|currently|now) )?works? as\b|^user is (?:(?:no longer )?(?:an?|the) )(?:[a-z-]+ ){0,3}(?:engineer|developer|teacher|nurse|doctor|designer|manager|student|lawyer|writer|artist|chef|programmer|scientist|architect|accountant|consultant|analyst)\b`), "occupation", "work"},
	{lazy.Compile(`(?i)^user is (?:no longer |not )?(?:an? )?(?:strict )?(?:vegan|vegetarian|veggie|pescatarian|omnivore|on a keto diet)\b`), "diet", "health"},
	{lazy.Compile(`(?i)^user is (?:no longer |not )?allergic to (?:the )?(.+)`), "allergy:", "health"},
	{lazy.Compile(`(?i)^user(?:'s favou?rite) (.+?) (?:is|are)\b`), "favourite:", "preference"},
	{lazy.Compile(`(?i)^user (?:(?:no longer|really|still|now|always|never|strongly) )*(?:(?:does not|doesn't) )?(?:likes?|loves?|enjoys?|hates?|dislikes?|adores?|detests?|can't stand|cannot stand) (?:the )?(.+)`), "taste:", "preference"},
	{lazy.Compile(`(?i)^user is (?:no longer )?(?:single|married|divorced|engaged|widowed)\b`), "marital status", "family"},
	{lazy.Compile(`(?i)^user's (?:wife|husband|partner|girlfriend|boyfriend|fianc[ée]e?|spouse)(?:'s name is|(?: is|'s name is) (?:named|called)| is (?-i:[A-Z])\w+$)`), "partner", "family"},
	{lazy.Compile(`(?i)^user's (mother|father|mom|mum|dad)(?:'s name)? is (?:called |named )?(?-i:[A-Z])`), "relative:", "family"},
	{lazy.Compile(`(?i)^user(?:'s timezone is| is in the .+ time ?zone)`), "timezone", "personal"},
}

// Classified returns the candidate with subject, attribute and category: its own
// in our words, or what its form tells.
func Classified(c Candidate) Candidate {
	c.Subject, c.Attribute, c.Category = strings.TrimSpace(strings.ToLower(c.Subject)), strings.TrimSpace(strings.ToLower(c.Attribute)), strings.TrimSpace(strings.ToLower(c.Category))
	if c.Subject == "the user" || c.Subject == "me" || c.Subject == "i" {
		c.Subject = "user"
	}
	if own, ok := aliases[c.Attribute]; ok {
		c.Attribute = own
	}
	subject, attribute, category := classify(c.Text)
	if attribute != "" {
		c.Subject, c.Attribute = subject, attribute
	}
	if c.Category == "" {
		c.Category = cmp.Or(category, CategoryOf(c.Text))
	}
	if c.Subject == "" {
		c.Subject = subject
	}
	return c
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

// Classify returns what a fact's words say about whom it is about and about which attribute of
// theirs, "" for what they do not say. The rules read what somebody writes of themselves.
func Classify(fact string) (subject, attribute string) {
	c := Candidate{Text: fact}
	if told := Rules([]Utterance{{Turn: memory.Turn{Role: memory.RoleUser, Content: fact}, Text: fact}}); len(told) == 1 {
		c = told[0]
	}
	c = Classified(c)
	return c.Subject, c.Attribute
}

func classify(fact string) (subject, attribute, category string) {
	fact = strings.Replace(strings.TrimPrefix(fact, "The "), "’", "'", 1)
	if strings.HasPrefix(strings.ToLower(fact), "user") {
		subject = "user"
	}
	for _, s := range shapes {
		m := s.form.FindStringSubmatch(fact)
		if m == nil || s.attribute == "home" && len(m) > 1 && !settles(m[1]) {
			continue
		}
		if !strings.HasSuffix(s.attribute, ":") {
			return "user", s.attribute, s.category
		}
		if key := keyOf(m[1]); key != "" {
			return "user", s.attribute + key, s.category
		}
	}
	return subject, "", ""
}

// keyEnds is where the thing that an attribute is about ends and what is said of
// it begins.
var keyEnds = lazy.Compile(`(?i)[,;:.(]| (?:and|or|but|because|since|when|while|with|for|in|on|at|from|than|as|very|a lot|so|after|before|anymore|any more|more) ?`)

// keyOf returns the terms of a thing, so that "the spicy foods" and "spicy food"
// are one.
func keyOf(thing string) string {
	if m := keyEnds.FindStringIndex(thing); m != nil && m[0] > 0 {
		thing = thing[:m[0]]
	}
	return strings.Join(text.Terms(thing), " ")
}
