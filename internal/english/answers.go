package english

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// IsAnswerPreference reports whether a fact states the user's preferred style of answers: "User prefers short
// answers". It knows common words of English and of some other languages.
func IsAnswerPreference(fact string) bool {
	words := text.Words(fact)
	if len(words) == 0 || len(words) > maxPreferenceWords {
		return false
	}
	has := func(in *lazy.Set) bool { return slices.ContainsFunc(words, in.Has) }
	isOfUser := slices.ContainsFunc(words[:min(4, len(words))], func(w string) bool { return w == "user" || w == "i" || w == "my" })
	return has(answerWords) && (has(wishWords) && isOfUser || orderWords.Has(words[0])) || strings.Contains(fact, "from now on:")
}

// maxPreferenceWords is the maximum number of words of a fact about the style of answers.
const maxPreferenceWords = 60

// Folded words of facts about the style of answers.
var (
	wishWords = lazy.Words(`want wants wanted prefer prefers preferred need needs like likes ask asks asked expect expects should must always would use uses
		mochte will bevorzugt wunscht quiere prefiere veut prefere`)
	// answerWords are words for answers and their style.
	answerWords = lazy.Words(`answer answers reply replies response responses explanation explanations feedback paragraph paragraphs sentence sentences bullet bullets
		emoji emojis heading headings markdown jargon pleasantries praise flattery tone metric imperial celsius fahrenheit units pinyin diff diffs addressed
		corrected corrections step concise antworten antwort respuestas respuesta reponses reponse`)
	orderWords = lazy.Words("always never no do use avoid immer nie siempre toujours")
)
