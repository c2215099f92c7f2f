package english

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// Mood is the purpose of a clause.
type Mood uint8

// The moods.
const (
	MoodStatement Mood = iota // the clause states a fact or opinion
	MoodQuestion              // the clause asks something
	MoodRequest               // the clause requests an action
	MoodGreeting              // the clause is a greeting, thanks or a filler
)

// moodOf returns the mood that the words of a clause express.
func moodOf(clause string) Mood {
	words, marked := text.Words(clause), hasQuestionMark(clause)
	if len(words) > 0 && len(words) < minClauseWords && greetingWords.Has(words[0]) && !marked {
		return MoodGreeting
	}
	if words = withoutLeadIn(words); len(words) == 0 {
		return MoodGreeting
	}
	first, second := words[0], ""
	if len(words) > 1 {
		second = words[1]
	}
	switch {
	case marked, questionWords.Has(first) && !subjectPronouns.Has(second), questionPrepositions.Has(first) && questionWords.Has(second),
		auxiliaries.Has(first) && subjectWords.Has(second), seeksInformation(words):
		return MoodQuestion
	case requestVerbs.Has(first):
		return MoodRequest
	case !slices.ContainsFunc(words, func(w string) bool { return !smallTalkWords.Has(w) }):
		return MoodGreeting
	}
	return MoodStatement
}

// seeksInformation reports whether words ask for information without a question: "tell me my address".
func seeksInformation(words []string) bool {
	if givingVerbs.Has(words[0]) && len(words) > 1 {
		if words[1] == "me" || words[1] == "us" {
			words = words[1:]
		}
		return len(words) > 1 && (soughtWords.Has(words[1]) || questionWords.Has(words[1]))
	}
	i := slices.IndexFunc(words, questionWords.Has)
	return i > 1 && words[0] == "i" &&
		(forgettingVerbs.Has(words[i-1]) || knowledgeWords.Has(words[i-1]) && (negationWords.Has(words[i-2]) || words[i-2] == "to"))
}

// withoutLeadIn returns the words without leading fillers: "hey so …", "ooookay …".
func withoutLeadIn(words []string) []string {
	for len(words) > 0 && leadIns.Has(withoutRepeatedEnd(words[0])) {
		words = words[1:]
	}
	return words
}

// maxQuestionBytes is the maximum number of bytes of a message that only asks. Longer messages also state something.
const maxQuestionBytes = 320

// PurposeOf returns the purpose of a message: [MoodQuestion] if it has only questions and greetings, [MoodGreeting] if it has
// only greetings, otherwise [MoodStatement].
func PurposeOf(message string) Mood {
	if len(message) > maxQuestionBytes || strings.TrimSpace(message) == "" || moodOf(firstClause(message)) == MoodStatement {
		return MoodStatement
	}
	purpose := MoodGreeting
	for _, s := range ParseSentences(message) {
		for _, c := range s.Clauses {
			switch {
			case c.Mood == MoodGreeting:
			case s.IsPasted || c.Mood != MoodQuestion:
				return MoodStatement
			default:
				purpose = MoodQuestion
			}
		}
	}
	return purpose
}

// firstClause returns the text before the first punctuation mark that ends a clause.
func firstClause(s string) string {
	words := 0
	for i := 0; i < len(s); {
		if n := wordLength(s[i:]); n > 0 {
			words++
			i += n
			continue
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		if (words >= minClauseWords || words > 0 && isGreeting(s[:i])) && endsClause(s, i, n) {
			return s[:i+n]
		}
		i += n
	}
	return s
}

// isGreeting reports whether the words before a comma are a greeting: "hi there", "Dear John".
func isGreeting(s string) bool {
	words := text.Words(s)
	return len(words) > 0 && greetingWords.Has(withoutRepeatedEnd(words[0]))
}

// withoutRepeatedEnd returns a word without repeated final letters: "hey" for "heyyy".
func withoutRepeatedEnd(w string) string {
	for len(w) > 2 && w[len(w)-1] == w[len(w)-2] && !leadIns.Has(w) && !greetingWords.Has(w) {
		w = w[:len(w)-1]
	}
	return w
}

func hasQuestionMark(s string) bool {
	s = strings.TrimRight(s, " )\"'*!.…")
	return strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？")
}

// IsFirstPerson reports whether a folded word is a subject pronoun or possessive of the speaker. "Me" does
// not count, because "tell me a joke" has no information about the speaker.
func IsFirstPerson(word string) bool { return firstPerson.Has(word) }

// IsThirdPerson reports whether a folded word is a third-person pronoun.
func IsThirdPerson(word string) bool { return thirdPerson.Has(word) }

// Folded words that indicate the mood of a clause.
var (
	leadIns              = lazy.Words("hey hi hello yo sup omg ugh hmm so and ok okay um umm uh well please pls sorry also but then now just oh right actually btw anyway alright")
	questionWords        = lazy.Words("what which who whom whose where when why how whats wheres whos whens hows")
	subjectPronouns      = lazy.Words("i we you he she they it")
	questionPrepositions = lazy.Words("in at on of to for from by with since until about")
	givingVerbs          = lazy.Words("tell give send show remind get find list name look")
	forgettingVerbs      = lazy.Words("forgot forget wonder wondering")
	soughtWords          = lazy.Words("my our the all any every everything anything about of up for")
	auxiliaries          = lazy.Words("do does did is are am was were can could will would shall should may might must have has had dont doesnt didnt isnt arent wasnt")
	subjectWords         = lazy.Words("i we you he she it they my our your his her their the this that these those there any anyone anything someone")
	requestVerbs         = lazy.Words(`write give fix explain make tell show find list draft book pick choose suggest recommend remind help plan create translate summarize summarise
		rewrite rephrase shorten compose order send put add fill get let look check compare convert calculate name describe generate design sketch prepare
		set schedule search call use turn sort format review proofread tldr gimme lemme can could would`)
	smallTalkWords = lazy.Words(`hi hello hey yo morning good evening night afternoon day thanks thank thx ta cheers you so much very a lot bye ok okay lol haha great cool nice perfect
		sure yes no yeah yep nope alright right please pls dear greetings welcome u ur star x later see how are it going whats up there all everyone`)

	greetingWords = lazy.Words("hi hey hello hallo hola yo sup dear good morning evening bonjour buenas ciao ola moin guten")

	firstPerson = lazy.Words(`i my our we us mine ours im ive ill id myself ich mein meine meinen meinem meiner mich wir uns unser unsere unserem unseren yo mi mis nos
		nuestro nuestra je mon ma mes nous notre eu meu minha nosso io mio mia 我 我们 私 僕`)
	thirdPerson = lazy.Words("she he her him his hers they them their shes hes theyre ihm ihn er ella ellos elle ils 他 她 彼 彼女")
)
