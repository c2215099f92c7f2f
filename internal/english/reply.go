package english

import (
	"slices"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// HasNoInformation reports whether an assistant's reply adds no information: all its clauses ask, greet, deny
// knowledge, refer to the user's words, promise to remember, or describe the current moment (momentForm).
func HasNoInformation(reply string) bool {
	if clause := firstClause(reply); !isEmptyClause(clause, moodOf(clause)) { // for most replies, the first clause decides the result
		return false
	}
	return !slices.ContainsFunc(ParseSentences(reply), func(s Sentence) bool {
		return slices.ContainsFunc(s.Clauses, func(c Clause) bool { return !isEmptyClause(c.Slice(reply), c.Mood) })
	})
}

// BeginsWithDenial reports whether a reply begins with a denial: its speaker does not know the answer.
func BeginsWithDenial(reply string) bool {
	reply = text.Clip(reply, maxDenialBytes)
	statements := 0
	for _, s := range ParseSentences(reply) {
		for _, c := range s.Clauses {
			if deniesKnowledge(text.Words(c.Slice(reply))) {
				return true
			}
			if c.Mood == MoodStatement || c.Mood == MoodRequest {
				statements++
			}
		}
		if statements > 1 {
			return false
		}
	}
	return false
}

// maxDenialBytes is the number of bytes at the start of a reply that may contain a denial.
const maxDenialBytes = 240

func isEmptyClause(clause string, mood Mood) bool {
	if mood == MoodQuestion || mood == MoodGreeting {
		return true
	}
	words := text.Words(clause)
	return deniesKnowledge(words) || refersToUserWords(words) || momentForm.MatchString(clause) || promisesToRemember(words)
}

// deniesKnowledge reports whether a clause denies knowledge: "I don't know", "you never said".
func deniesKnowledge(words []string) bool {
	return slices.ContainsFunc(words, negationWords.Has) && slices.ContainsFunc(words, knowledgeWords.Has)
}

// refersToUserWords reports whether a clause refers to something that the user said: "you told me …".
func refersToUserWords(words []string) bool {
	you := slices.IndexFunc(words, listenerPronouns.Has)
	return you >= 0 && slices.ContainsFunc(words[you+1:], tellingWords.Has)
}

// promisesToRemember reports whether a clause promises to remember: "I'll keep it in mind", "noted".
func promisesToRemember(words []string) bool {
	return len(words) > 0 && len(words) <= maxPromiseWords && slices.ContainsFunc(words, promiseWords.Has) &&
		(promiseWords.Has(words[0]) || words[0] == "i" || leadIns.Has(words[0]) || smallTalkWords.Has(words[0]))
}

// maxPromiseWords is the maximum number of words of a promise.
const maxPromiseWords = 10

var (
	momentForm = lazy.Compile(`(?i)\b(?:right now|at the moment|at present|gerade eben|en este momento|en ce moment)\b`)

	negationWords  = lazy.Words("not no never nothing none unable cannot nicht kein keine keinen nie noch pas ne aucune nunca ningun ninguna nao")
	knowledgeWords = lazy.Words(`know knows knowledge recall remember find found see aware sure information info detail details record records access idea clue memory
		mention mentioned mentions told tell shared share said say provided given come nothing weiss gesagt erzahlt erwahnt angaben informationen tengo
		informacion dicho datos connais sais dit informacao sei`)
	listenerPronouns = lazy.Words("you du sie ihr tu usted vous voce")
	tellingWords     = lazy.Words("told mentioned said shared say tell gesagt erzahlt erwahnt dijiste dicho mencionaste dit disse")
	promiseWords     = lazy.Words("remember noted note keep merke gemerkt notiert anotado")
)
