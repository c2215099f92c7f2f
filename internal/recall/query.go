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
	Asked string // the question in the person's own words
	Text  string // the text that the search uses
	Near  string // the text to embed, see [QueryOptions]
	Broad bool   // the question asks for all memories, listed by importance instead of searched

	Dates []Period // dates in a short question

	Weights map[string]float32 // weights below 1 of terms that occur only in statements next to a question
	Needs   float64            // log-odds that an answer needs memory, estimated only from the form of the message

	words       []string
	self        bool         // the question is about the user
	aboutPeople bool         // the question is about a person close to the user, or a pet
	when        bool         // the question asks for a time
	classes     text.Classes // classes of the things that the question asks for
	prompt      float64      // 1 for a short question; falls to 0 for a long message (see [shortness])
}

// QueryOptions are the settings of [NewQuery]. The zero value means the defaults.
type QueryOptions struct {
	Expand     bool // expand short first-person questions with words that make their vectors similar to facts about people
	EmbedWhole bool // embed the whole question, unchanged
}

const (
	// maxExpandLength is the maximum length in characters of a question that is expanded. The expansion
	// (design 1) moves the vector of a short first-person question towards facts about a person.
	maxExpandLength = 100
	expansion       = " height weight physical attributes user facts"
)

// NewQuery parses a question that was asked at the time now.
func NewQuery(question string, now time.Time, o QueryOptions) Query {
	sentences := sentencesOf(question)
	asks := askingSentences(sentences)
	q := Query{Asked: joinSentences(sentences), Near: textToEmbed(asks), Weights: weigh(sentences, asks), Needs: memoryNeed(sentences)}
	if o.EmbedWhole {
		q.Near = text.Clip(question, maxAskBytes)
	}
	question = text.Clip(q.Asked, 4*maxAskBytes)
	q.Text, q.words = q.Asked, text.Words(question)
	q.read()
	if unspaced(question) {
		q.readUnspaced()
	}
	if q.prompt = shortness(ownWords(sentences)); q.prompt > 0 {
		q.Text = withoutQuestionWords(question)
		for _, term := range text.Terms(q.Text) {
			q.classes |= text.ClassesAsked(term)
		}
		q.Dates = periodsIn(question, now)
		if len(sentences) == 1 && !o.EmbedWhole {
			q.Near = text.Clip(q.Text, maxEmbedBytes)
		}
	}
	if o.Expand && q.self && utf8.RuneCountInString(question) <= maxExpandLength {
		q.Near += expansion
	}
	return q
}

// read sets the fields that depend on the question's words.
func (q *Query) read() {
	for i, w := range q.words {
		next := q.at(i + 1)
		switch w {
		case "i", "me", "we", "myself", "mine", "my", "our":
			q.self = true
		case "when":
			q.when = true
		case "how":
			q.when = q.when || next == "long" || next == "recently" || next == "many" && periods.Has(q.at(i+2))
		case "what", "which":
			q.when = q.when || times.Has(next)
		}
		q.aboutPeople = q.aboutPeople || text.IsPerson(text.Term(w))
	}
	q.Broad = len(q.words) <= maxBroadWords && asksAll.MatchString(strings.Join(q.words, " ")+" ")
}

var (
	periods = lazy.Words("days weeks months years")
	times   = lazy.Words("date day month year time season")
)

// at returns the i-th word, or "" if i is out of range.
func (q *Query) at(i int) string {
	if i < 0 || i >= len(q.words) {
		return ""
	}
	return q.words[i]
}

// withoutQuestionWords removes question words from text in scripts without spaces, where they would form
// terms with adjacent words.
func withoutQuestionWords(question string) string {
	if unspaced(question) {
		if rest := unspacedAsking.ReplaceAllString(question, " "); len(text.Terms(rest)) > 0 {
			return rest
		}
	}
	return question
}

// asksAll matches questions for all memories. It expects folded words with a space after each word.
var asksAll = lazy.Compile(`^((so|hey|hi|please|and|ok|okay|well) )*((what|everything|anything)( all| else)? (do|can|did) you (know|remember|recall|tell me|have)( \w+)? (about me|of me)|(tell me |what is |list )?(everything|all)( that)? you (know|remember|have)( \w+)?( about me| of me)?|who am i|what have you learned about me|describe me|tell me about (me|myself)|summarize what you know( about me)?|what do you remember) $`)

// maxBroadWords is the maximum number of words of a question for all memories. Longer questions name a subject.
const maxBroadWords = 12

// shortness returns 1 up to 20 words, falling to 0 at 35 words. Long messages have cues of questions by chance.
func shortness(words int) float64 {
	return min(1, max(0, float64(35-words)/15))
}
