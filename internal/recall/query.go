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
	Asked string // the person's own words
	Text  string // the text to search for
	Near  string // the text to embed: Text, expanded by setting
	Broad bool   // it asks for everything: list by importance instead of searching

	Dates []Period // in a short question

	Weights map[string]float32 // of terms of Text that count less than 1: those of statements next to a question
	Needs   float64            // log-odds that an answer needs memory, by the form of the message alone

	words       []string
	self        bool         // about the asker
	aboutPeople bool         // or about somebody close to the asker: a sister, a boss, a dog
	when        bool         // it asks for a time
	classes     text.Classes // of requested things
	prompt      float64      // 1 for a question, down to 0 for a long message without a specific one
}

// QueryOptions are the settings of [NewQuery]. The zero value means the defaults.
type QueryOptions struct {
	Expand     bool // expand short first-person questions towards facts about people
	EmbedWhole bool // Near is the whole question in its own words
}

const (
	// maxExpandLength is the greatest length in characters of a short first-person question; expansion
	// is added to it (design 1) to draw its vector to facts about a person, whatever words they
	// have.
	maxExpandLength = 100
	expansion       = " height weight physical attributes user facts"
)

// NewQuery parses a question asked at now.
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

// read finds the question's cues in its words.
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

// at returns a word, "" outside of the range.
func (q *Query) at(i int) string {
	if i < 0 || i >= len(q.words) {
		return ""
	}
	return q.words[i]
}

// withoutQuestionWords removes question words in scripts without spaces, where they would form terms with their
// neighbours.
func withoutQuestionWords(question string) string {
	if unspaced(question) {
		if rest := unspacedAsking.ReplaceAllString(question, " "); len(text.Terms(rest)) > 0 {
			return rest
		}
	}
	return question
}

// asksAll matches questions for everything, on folded words with single spaces between and after.
var asksAll = lazy.Compile(`^((so|hey|hi|please|and|ok|okay|well) )*((what|everything|anything)( all| else)? (do|can|did) you (know|remember|recall|tell me|have)( \w+)? (about me|of me)|(tell me |what is |list )?(everything|all)( that)? you (know|remember|have)( \w+)?( about me| of me)?|who am i|what have you learned about me|describe me|tell me about (me|myself)|summarize what you know( about me)?|what do you remember) $`)

// maxBroadWords is the greatest length in words of a question for everything; longer ones name a
// subject.
const maxBroadWords = 12

// shortness is 1 up to 20 words and 0 from 35 on: cues of short questions occur by chance in long
// messages.
func shortness(words int) float64 {
	return min(1, max(0, float64(35-words)/15))
}
