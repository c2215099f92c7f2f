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
	requestForm    *regexp.Regexp // matches the whole request, folded
	attributes     []string       // names of attributes, or prefixes of names, which end in ":"
	category       string         // category whose facts the name means, such as "health"; "" for none
	statementForm  *regexp.Regexp // how people state the attribute, in the first or third person; nil matches no sentence
	needsAttribute bool           // a fact must have the attribute; words are not enough: "a dog named Rex" does not state the user's name
}

// ownedPrefix matches words such as "about my current" before something that the user owns.
const ownedPrefix = `(?:about )?(?:(?:my|our|the user's|user's) )?(?:current |present |new |own |whole |entire )*`

func requestPattern(words, phrases string) *regexp.Regexp {
	if phrases != "" {
		phrases = "|(?:about )?(?:" + phrases + ")"
	}
	return regexp.MustCompile(`^(?:` + ownedPrefix + `(?:` + words + `)` + phrases + `)$`)
}

func statementPattern(form string) *regexp.Regexp { return regexp.MustCompile(`(?i)` + form) }

// everydayNames are tried in order. Former things ("my old job") have their own entry. The patterns compile
// on first use because requests to forget are rare.
var everydayNames = sync.OnceValue(func() []everydayName {
	return []everydayName{
		{requestPattern(`job|work|profession|occupation|career|role|employment|job title`, `what i do(?: for (?:a living|work))?`), []string{"occupation", "employer", "field", "left:"}, "", statementPattern(`\b(?:i|user) (?:currently |now )?works? (?:at|for|as)\b|\b(?:my|user's) job\b`), false},
		{requestPattern(`employer|company|workplace|firm`, `where i work|who(?:m)? i work for`), []string{"employer", "left:"}, "", statementPattern(`\b(?:i|user) (?:currently |now )?works? (?:at|for)\b`), false},
		{requestPattern(`(?:old|former|previous|last|past) (?:job|work|employer|company)`, `where i (?:used to work|worked)`), []string{"past employer:", "past occupation:", "left:"}, "", nil, false},
		{requestPattern(`salary|pay|wages?|income|earnings|paycheck`, `(?:how much|what) i (?:earn|make|get paid)`), []string{"salary", "income", "value:salari", "value:incom", "value:wage"}, "", statementPattern(`\b(?:i|user) (?:\w+ )?earns? |\b(?:my|user's) (?:\w+ )?(?:salary|income|wage|pay) |\b(?:i|user) (?:\w+ )?(?:makes?|gets? paid|(?:am|is) paid) [$€£]?\d`), false},
		{requestPattern(`home|address|home address|house|apartment|flat|city|town|place|residence|location`, `where i live`), []string{"home", "address", "household"}, "", statementPattern(`\b(?:i|user) (?:\w+ )?lives? (?:in|at|on|near)\b|\b(?:my|user's) (?:home )?address\b`), false},
		{requestPattern(`(?:old|former|previous|last|past) (?:home|address|house|apartment|flat|city|place)`, `where i (?:used to live|lived)`), []string{"past home:"}, "", statementPattern(`\b(?:i|user) used to live\b`), false},
		{requestPattern(`age`, `how old i am`), []string{"age"}, "", statementPattern(`\b(?:i am|i'm|user is) \d+ (?:years|yrs|yo)\b`), false},
		{requestPattern(`birthday|birth date|birthdate|date of birth|dob`, `when i was born`), []string{"birthday"}, "", statementPattern(`\b(?:i|user) was born (?:on|in (?:19|20)\d\d)`), false},
		{requestPattern(`name|first name|full name|real name`, `what i am called`), []string{"name"}, "", statementPattern(`\b(?:my|user's) (?:\w+ )?name is\b|\bcall me\b`), true},
		{requestPattern(`diet|eating habits`, `what i eat`), []string{"diet", "eats:"}, "", nil, false},
		{requestPattern(`allergy|allergies`, `what i am allergic to`), []string{"allergy:"}, "", statementPattern(`\b(?:i am|i'm|user is) (?:\w+ )?allergic\b`), false},
		{requestPattern(`diagnosis|diagnoses|illness(?:es)?|disease|sickness|(?:medical )?conditions?`, ``), []string{"condition:", "condition"}, "", statementPattern(`\b(?:i|user) (?:was|got|has been|have been) diagnosed\b`), false},
		{requestPattern(`health|health (?:issues|problems|data)|medical (?:history|data)`, ``), nil, "health", nil, false},
		{requestPattern(`marriage|divorce|marital status|relationship status`, ``), []string{"marital status"}, "", nil, false},
		{requestPattern(`phone|(?:phone|mobile|cell) number|mobile`, ``), []string{"phone", "mobile"}, "", nil, false},
		{requestPattern(`e-?mail(?: address)?`, ``), []string{"email"}, "", nil, false},
		{requestPattern(`pets?|animals`, ``), []string{"pet:"}, "", nil, false},
		{requestPattern(`hobby|hobbies|pastimes?`, ``), []string{"hobby", "plays:"}, "", nil, false},
		{requestPattern(`nationality|citizenship`, ``), []string{"nationality"}, "", nil, false},
		{requestPattern(`hometown|home town`, `where i (?:am|come) from|where i grew up`), []string{"hometown", "birthplace"}, "", nil, false},
	}
})

func everydayNameOf(request string) *everydayName {
	request = strings.Join(strings.Fields(text.Fold(strings.ReplaceAll(request, "’", "'"))), " ")
	for _, e := range everydayNames() {
		if e.requestForm.MatchString(request) {
			return &e
		}
	}
	return nil
}

func (e *everydayName) matchesCandidate(c extract.Candidate) bool {
	if c.Subject != "user" || isAboutOthers(c.Text) {
		return false
	}
	return e.category != "" && c.Category == e.category || slices.ContainsFunc(e.attributes, func(a string) bool {
		return c.Attribute == a || strings.HasSuffix(a, ":") && strings.HasPrefix(c.Attribute, a)
	})
}

// matchesSentence reports whether a sentence states the user's value of the attribute.
func (e *everydayName) matchesSentence(sentence string) bool {
	return e.statementForm != nil && !isAboutOthers(sentence) && e.statementForm.MatchString(strings.ReplaceAll(sentence, "’", "'"))
}

// relativesThing matches something that belongs to a person close to the user: "my sister's birthday".
var relativesThing = lazy.Compile(`(?i)\b(?:my|our|user['’]s) (?:\w+ )?(\w+)['’]s\b`)

// isAboutOthers reports whether a sentence is about people close to the user, or about these people's things.
func isAboutOthers(sentence string) bool {
	return relativesThing.MatchString(sentence) || isAboutKin(sentence)
}

// isAboutKin reports whether a sentence's subject is a person close to the user.
func isAboutKin(sentence string) bool {
	m := ownedSubject.FindStringSubmatch(sentence)
	return m != nil && text.IsPersonWord(strings.ToLower(m[1]))
}

// ownedSubject captures the noun of a subject that belongs to the user.
var ownedSubject = lazy.Compile(`(?i)^\W*(?:my|our|user['’]s) (?:(?:little|older|younger|big|best|elder|late) )?(\w+)\b`)
