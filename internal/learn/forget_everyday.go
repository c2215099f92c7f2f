package learn

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// everydayName is a common name for an attribute in requests to forget, such as "my job".
type everydayName struct {
	asked      *regexp.Regexp // matches the whole request, folded
	attributes []string       // attributes, or prefixes of attributes, which end in ":"
	category   string         // a whole category; "" for none
	statement  *regexp.Regexp // how people state the attribute, in the first or third person; nil: no pattern
	only       bool           // only the attribute matches, not words: "a dog named Rex" does not state the user's name
}

// callsOwn matches words such as "about my current" before something that the user owns.
const callsOwn = `(?:about )?(?:(?:my|our|the user's|user's) )?(?:current |present |new |own |whole |entire )*`

func callsIt(words, phrases string) *regexp.Regexp {
	if phrases != "" {
		phrases = "|(?:about )?(?:" + phrases + ")"
	}
	return regexp.MustCompile(`^(?:` + callsOwn + `(?:` + words + `)` + phrases + `)$`)
}

func statedAs(form string) *regexp.Regexp { return regexp.MustCompile(`(?i)` + form) }

// everydayNames are tried in order. Former things ("my old job") have their own entry. The patterns compile
// on first use because requests to forget are rare.
var everydayNames = sync.OnceValue(func() []everydayName {
	return []everydayName{
		{callsIt(`job|work|profession|occupation|career|role|employment|job title`, `what i do(?: for (?:a living|work))?`), []string{"occupation", "employer", "field", "left:"}, "", statedAs(`\b(?:i|user) (?:currently |now )?works? (?:at|for|as)\b|\b(?:my|user's) job\b`), false},
		{callsIt(`employer|company|workplace|firm`, `where i work|who(?:m)? i work for`), []string{"employer", "left:"}, "", statedAs(`\b(?:i|user) (?:currently |now )?works? (?:at|for)\b`), false},
		{callsIt(`(?:old|former|previous|last|past) (?:job|work|employer|company)`, `where i (?:used to work|worked)`), []string{"past employer:", "past occupation:", "left:"}, "", nil, false},
		{callsIt(`salary|pay|wages?|income|earnings|paycheck`, `(?:how much|what) i (?:earn|make|get paid)`), []string{"salary", "income", "value:salari", "value:incom", "value:wage"}, "", statedAs(`\b(?:i|user) (?:\w+ )?earns? |\b(?:my|user's) (?:\w+ )?(?:salary|income|wage|pay) |\b(?:i|user) (?:\w+ )?(?:makes?|gets? paid|(?:am|is) paid) [$€£]?\d`), false},
		{callsIt(`home|address|home address|house|apartment|flat|city|town|place|residence|location`, `where i live`), []string{"home", "address", "household"}, "", statedAs(`\b(?:i|user) (?:\w+ )?lives? (?:in|at|on|near)\b|\b(?:my|user's) (?:home )?address\b`), false},
		{callsIt(`(?:old|former|previous|last|past) (?:home|address|house|apartment|flat|city|place)`, `where i (?:used to live|lived)`), []string{"past home:"}, "", statedAs(`\b(?:i|user) used to live\b`), false},
		{callsIt(`age`, `how old i am`), []string{"age"}, "", statedAs(`\b(?:i am|i'm|user is) \d+ (?:years|yrs|yo)\b`), false},
		{callsIt(`birthday|birth date|birthdate|date of birth|dob`, `when i was born`), []string{"birthday"}, "", statedAs(`\b(?:i|user) was born (?:on|in (?:19|20)\d\d)`), false},
		{callsIt(`name|first name|full name|real name`, `what i am called`), []string{"name"}, "", statedAs(`\b(?:my|user's) (?:\w+ )?name is\b|\bcall me\b`), true},
		{callsIt(`diet|eating habits`, `what i eat`), []string{"diet", "eats:"}, "", nil, false},
		{callsIt(`allergy|allergies`, `what i am allergic to`), []string{"allergy:"}, "", statedAs(`\b(?:i am|i'm|user is) (?:\w+ )?allergic\b`), false},
		{callsIt(`diagnosis|diagnoses|illness(?:es)?|disease|sickness|(?:medical )?conditions?`, ``), []string{"condition:", "condition"}, "", statedAs(`\b(?:i|user) (?:was|got|has been|have been) diagnosed\b`), false},
		{callsIt(`health|health (?:issues|problems|data)|medical (?:history|data)`, ``), nil, "health", nil, false},
		{callsIt(`marriage|divorce|marital status|relationship status`, ``), []string{"marital status"}, "", nil, false},
		{callsIt(`phone|(?:phone|mobile|cell) number|mobile`, ``), []string{"phone", "mobile"}, "", nil, false},
		{callsIt(`e-?mail(?: address)?`, ``), []string{"email"}, "", nil, false},
		{callsIt(`pets?|animals`, ``), []string{"pet:"}, "", nil, false},
		{callsIt(`hobby|hobbies|pastimes?`, ``), []string{"hobby", "plays:"}, "", nil, false},
		{callsIt(`nationality|citizenship`, ``), []string{"nationality"}, "", nil, false},
		{callsIt(`hometown|home town`, `where i (?:am|come) from|where i grew up`), []string{"hometown", "birthplace"}, "", nil, false},
	}
})

func everydayNameOf(what string) *everydayName {
	what = strings.Join(strings.Fields(text.Fold(strings.ReplaceAll(what, "’", "'"))), " ")
	for _, e := range everydayNames() {
		if e.asked.MatchString(what) {
			return &e
		}
	}
	return nil
}

func (e *everydayName) has(c extract.Candidate) bool {
	if c.Subject != "user" || isAboutOthers(c.Text) {
		return false
	}
	return e.category != "" && c.Category == e.category || slices.ContainsFunc(e.attributes, func(a string) bool {
		return c.Attribute == a || strings.HasSuffix(a, ":") && strings.HasPrefix(c.Attribute, a)
	})
}

// says reports whether a sentence states the user's value of the attribute.
func (e *everydayName) says(sentence string) bool {
	return e.statement != nil && !isAboutOthers(sentence) && e.statement.MatchString(strings.ReplaceAll(sentence, "’", "'"))
}

// possessed matches something that belongs to a person close to the user: "my sister's birthday".
var possessed = lazy.Compile(`(?i)\b(?:my|our|user['’]s) (?:\w+ )?(\w+)['’]s\b`)

// isAboutOthers reports whether a sentence is about people close to the user, or about these people's things.
func isAboutOthers(sentence string) bool {
	return possessed.MatchString(sentence) || isAboutKin(sentence)
}

// isAboutKin reports whether a sentence's subject is a person close to the user.
func isAboutKin(sentence string) bool {
	m := ownedSubject.FindStringSubmatch(sentence)
	return m != nil && text.IsPersonWord(strings.ToLower(m[1]))
}

// ownedSubject captures the noun of a subject that belongs to the user.
var ownedSubject = lazy.Compile(`(?i)^\W*(?:my|our|user['’]s) (?:(?:little|older|younger|big|best|elder|late) )?(\w+)\b`)
