package recall

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// Query is a parsed question.
type Query struct {
	OwnText    string // the question in the person's own words
	SearchText string // the text that the search uses
	EmbedText  string // the text to embed, see [QueryOptions]
	IsBroad    bool   // the question asks for all memories, listed by importance instead of searched

	Periods []Period // dates in a short question

	TermWeights map[string]float32 // weights below 1 of terms that occur only in statements next to a question
	NeedLogOdds float64            // log-odds that an answer needs memory, estimated only from the form of the message

	words         []string
	isAboutUser   bool         // the question is about the user
	isAboutPeople bool         // the question is about a person close to the user, or a pet
	asksForTime   bool         // the question asks for a time
	askedClasses  text.Classes // classes of the things that the question asks for
	shortness     float64      // 1 for a short question; falls to 0 for a long message (see [shortness])
}

// QueryOptions are the settings of [NewQuery]. The zero value means the defaults.
type QueryOptions struct {
	ExpandShort bool // expand short first-person questions with words that make their vectors similar to facts about people
	EmbedWhole  bool // embed the whole question, unchanged
}

const (
	// maxExpandLength is the maximum length in characters of a question that is expanded. The expansion
	// moves the vector of a short first-person question towards facts about a person.
	maxExpandLength = 100
	embedExpansion  = " height weight physical attributes user facts"
)

// NewQuery parses a question that was asked at the time now.
func NewQuery(question string, now time.Time, o QueryOptions) Query {
	sentences := sentencesOf(question)
	questions := askingSentences(sentences)
	q := Query{OwnText: joinSentences(sentences), EmbedText: textToEmbed(questions), TermWeights: statementTermWeights(sentences, questions), NeedLogOdds: needLogOdds(sentences)}
	if o.EmbedWhole {
		q.EmbedText = text.Clip(question, maxQuestionBytes)
	}
	question = text.Clip(q.OwnText, 4*maxQuestionBytes)
	q.SearchText, q.words = q.OwnText, text.Words(question)
	q.setWordFields()
	if hasUnspacedScript(question) {
		q.setUnspacedFields()
	}
	if q.shortness = shortness(countWords(sentences)); q.shortness > 0 {
		q.SearchText = withoutQuestionWords(question)
		for _, term := range text.Terms(q.SearchText) {
			q.askedClasses |= text.ClassesNamed(term)
		}
		q.Periods = questionPeriods(question, now)
		if len(sentences) == 1 && !o.EmbedWhole {
			q.EmbedText = text.Clip(q.SearchText, maxEmbedBytes)
		}
	}
	if o.ExpandShort && q.isAboutUser && utf8.RuneCountInString(question) <= maxExpandLength {
		q.EmbedText += embedExpansion
	}
	return q
}

// setWordFields sets the fields that depend on the question's words.
func (q *Query) setWordFields() {
	for i, w := range q.words {
		next := q.wordAt(i + 1)
		switch w {
		case "i", "me", "we", "myself", "mine", "my", "our":
			q.isAboutUser = true
		case "when":
			q.asksForTime = true
		case "how":
			q.asksForTime = q.asksForTime || next == "long" || next == "recently" || next == "many" && periodUnits.Has(q.wordAt(i+2))
		case "what", "which":
			q.asksForTime = q.asksForTime || timeNouns.Has(next)
		}
		q.isAboutPeople = q.isAboutPeople || text.IsPersonTerm(text.Term(w))
	}
	q.IsBroad = len(q.words) <= maxBroadWords && broadForm.MatchString(strings.Join(q.words, " ")+" ")
}

var (
	periodUnits = lazy.Words("days weeks months years")
	timeNouns   = lazy.Words("date day month year time season")
)

// wordAt returns the i-th word, or "" if i is out of range.
func (q *Query) wordAt(i int) string {
	if i < 0 || i >= len(q.words) {
		return ""
	}
	return q.words[i]
}

// withoutQuestionWords removes question words from text in scripts without spaces, where they would form
// terms with adjacent words.
func withoutQuestionWords(question string) string {
	if hasUnspacedScript(question) {
		if rest := unspacedQuestionWords.ReplaceAllString(question, " "); len(text.Terms(rest)) > 0 {
			return rest
		}
	}
	return question
}

// broadForm matches questions for all memories. It expects folded words with a space after each word.
var broadForm = lazy.Compile(`^((so|hey|hi|please|and|ok|okay|well) )*((what|everything|anything)( all| else)? (do|can|did) you (know|remember|recall|tell me|have)( \w+)? (about me|of me)|(tell me |what is |list )?(everything|all)( that)? you (know|remember|have)( \w+)?( about me| of me)?|who am i|what have you learned about me|describe me|tell me about (me|myself)|summarize what you know( about me)?|what do you remember) $`)

// maxBroadWords is the maximum number of words of a question for all memories. Longer questions name a subject.
const maxBroadWords = 12

// shortness returns 1 up to 20 words, falling to 0 at 35 words. Long messages have cues of questions by chance.
func shortness(words int) float64 {
	return min(1, max(0, float64(35-words)/15))
}
