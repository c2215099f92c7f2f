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
	States   Mood = iota // it states a fact or opinion
	Asks                 // it is a question
	Requests             // it requests an action
	Greets               // it is a greeting, thanks or a filler
)

// moodOf returns the mood that the words of a clause express.
func moodOf(clause string) Mood {
	words, marked := text.Words(clause), marked(clause)
	if len(words) > 0 && len(words) < shortClause && greeting.Has(words[0]) && !marked {
		return Greets
	}
	if words = withoutLeadIn(words); len(words) == 0 {
		return Greets
	}
	first, second := words[0], ""
	if len(words) > 1 {
		second = words[1]
	}
	switch {
	case marked, asking.Has(first) && !pronoun.Has(second), asksAfter.Has(first) && asking.Has(second),
		auxiliary.Has(first) && subject.Has(second), seeks(words):
		return Asks
	case requesting.Has(first):
		return Requests
	case !slices.ContainsFunc(words, func(w string) bool { return !phatic.Has(w) }):
		return Greets
	}
	return States
}

// seeks reports whether words ask for information without a question: "tell me my address".
func seeks(words []string) bool {
	if giving.Has(words[0]) && len(words) > 1 {
		if words[1] == "me" || words[1] == "us" {
			words = words[1:]
		}
		return len(words) > 1 && (sought.Has(words[1]) || asking.Has(words[1]))
	}
	i := slices.IndexFunc(words, asking.Has)
	return i > 1 && words[0] == "i" &&
		(unknown.Has(words[i-1]) || knowing.Has(words[i-1]) && (negating.Has(words[i-2]) || words[i-2] == "to"))
}

// withoutLeadIn returns the words without leading fillers: "hey so …", "ooookay …".
func withoutLeadIn(words []string) []string {
	for len(words) > 0 && leads.Has(unstretched(words[0])) {
		words = words[1:]
	}
	return words
}

// longestAsked is the maximum number of bytes of a message that only asks. Longer messages also state something.
const longestAsked = 320

// Purpose returns the purpose of a message: [Asks] if it has only questions and greetings, [Greets] if it has
// only greetings, otherwise [States].
func Purpose(message string) Mood {
	if len(message) > longestAsked || strings.TrimSpace(message) == "" || moodOf(firstClause(message)) == States {
		return States
	}
	is := Greets
	for _, s := range Read(message) {
		for _, c := range s.Clauses {
			switch {
			case c.Mood == Greets:
			case s.Pasted || c.Mood != Asks:
				return States
			default:
				is = Asks
			}
		}
	}
	return is
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
		if (words >= shortClause || words > 0 && greets(s[:i])) && separates(s, i, n) {
			return s[:i+n]
		}
		i += n
	}
	return s
}

// greets reports whether the words before a comma are a greeting: "hi there", "Dear John".
func greets(s string) bool {
	words := text.Words(s)
	return len(words) > 0 && greeting.Has(unstretched(words[0]))
}

// unstretched returns a word without repeated final letters: "hey" for "heyyy".
func unstretched(w string) string {
	for len(w) > 2 && w[len(w)-1] == w[len(w)-2] && !leads.Has(w) && !greeting.Has(w) {
		w = w[:len(w)-1]
	}
	return w
}

func marked(s string) bool {
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
	leads      = lazy.Words("hey hi hello yo sup omg ugh hmm so and ok okay um umm uh well please pls sorry also but then now just oh right actually btw anyway alright")
	asking     = lazy.Words("what which who whom whose where when why how whats wheres whos whens hows")
	pronoun    = lazy.Words("i we you he she they it")
	asksAfter  = lazy.Words("in at on of to for from by with since until about")
	giving     = lazy.Words("tell give send show remind get find list name look")
	unknown    = lazy.Words("forgot forget wonder wondering")
	sought     = lazy.Words("my our the all any every everything anything about of up for")
	auxiliary  = lazy.Words("do does did is are am was were can could will would shall should may might must have has had dont doesnt didnt isnt arent wasnt")
	subject    = lazy.Words("i we you he she it they my our your his her their the this that these those there any anyone anything someone")
	requesting = lazy.Words(`write give fix explain make tell show find list draft book pick choose suggest recommend remind help plan create translate summarize summarise
		rewrite rephrase shorten compose order send put add fill get let look check compare convert calculate name describe generate design sketch prepare
		set schedule search call use turn sort format review proofread tldr gimme lemme can could would`)
	phatic = lazy.Words(`hi hello hey yo morning good evening night afternoon day thanks thank thx ta cheers you so much very a lot bye ok okay lol haha great cool nice perfect
		sure yes no yeah yep nope alright right please pls dear greetings welcome u ur star x later see how are it going whats up there all everyone`)

	greeting = lazy.Words("hi hey hello hallo hola yo sup dear good morning evening bonjour buenas ciao ola moin guten")

	firstPerson = lazy.Words(`i my our we us mine ours im ive ill id myself ich mein meine meinen meinem meiner mich wir uns unser unsere unserem unseren yo mi mis nos
		nuestro nuestra je mon ma mes nous notre eu meu minha nosso io mio mia 我 我们 私 僕`)
	thirdPerson = lazy.Words("she he her him his hers they them their shes hes theyre ihm ihn er ella ellos elle ils 他 她 彼 彼女")
)
