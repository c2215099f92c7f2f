package english

import (
	"slices"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// SaysNothing reports whether an assistant's reply adds no information: all its clauses ask, greet, deny
// knowledge, refer to the user's words, promise to remember, or describe the moment.
func SaysNothing(reply string) bool {
	if clause := firstClause(reply); !isEmptyClause(clause, moodOf(clause)) { // the first clause decides most replies
		return false
	}
	return !slices.ContainsFunc(Read(reply), func(s Sentence) bool {
		return slices.ContainsFunc(s.Clauses, func(c Clause) bool { return !isEmptyClause(c.Of(reply), c.Mood) })
	})
}

// Denies reports whether a reply begins with a denial: its speaker does not know the answer.
func Denies(reply string) bool {
	reply = text.Clip(reply, denialWithin)
	statements := 0
	for _, s := range Read(reply) {
		for _, c := range s.Clauses {
			if denies(text.Words(c.Of(reply))) {
				return true
			}
			if c.Mood == States || c.Mood == Requests {
				statements++
			}
		}
		if statements > 1 {
			return false
		}
	}
	return false
}

// denialWithin is the number of bytes at the start of a reply that may contain a denial.
const denialWithin = 240

func isEmptyClause(clause string, is Mood) bool {
	if is == Asks || is == Greets {
		return true
	}
	words := text.Words(clause)
	return denies(words) || creditsUser(words) || momentary.MatchString(clause) || promises(words)
}

// denies reports whether a clause denies knowledge: "I don't know", "you never said".
func denies(words []string) bool {
	return slices.ContainsFunc(words, negating.Has) && slices.ContainsFunc(words, knowing.Has)
}

// creditsUser reports whether a clause refers to words of the user: "you told me …".
func creditsUser(words []string) bool {
	you := slices.IndexFunc(words, listener.Has)
	return you >= 0 && slices.ContainsFunc(words[you+1:], telling.Has)
}

// promises reports whether a clause promises to remember: "I'll keep it in mind", "noted".
func promises(words []string) bool {
	return len(words) > 0 && len(words) <= shortPromise && slices.ContainsFunc(words, noting.Has) &&
		(noting.Has(words[0]) || words[0] == "i" || leads.Has(words[0]) || phatic.Has(words[0]))
}

// shortPromise is the maximum number of words of a promise.
const shortPromise = 10

var (
	momentary = lazy.Compile(`(?i)\b(?:right now|at the moment|at present|gerade eben|en este momento|en ce moment)\b`)

	negating = lazy.Words("not no never nothing none unable cannot nicht kein keine keinen nie noch pas ne aucune nunca ningun ninguna nao")
	knowing  = lazy.Words(`know knows knowledge recall remember find found see aware sure information info detail details record records access idea clue memory
		mention mentioned mentions told tell shared share said say provided given come nothing weiss gesagt erzahlt erwahnt angaben informationen tengo
		informacion dicho datos connais sais dit informacao sei`)
	listener = lazy.Words("you du sie ihr tu usted vous voce")
	telling  = lazy.Words("told mentioned said shared say tell gesagt erzahlt erwahnt dijiste dicho mencionaste dit disse")
	noting   = lazy.Words("remember noted note keep merke gemerkt notiert anotado")
)
