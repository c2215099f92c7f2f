package recall

import (
	"regexp"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Query is a question, read.
type Query struct {
	Asked string // as it came
	Text  string // what to search for: the question, expanded by setting
	Broad bool   // asks for whatever is known: list by importance instead of searching

	Dates []memory.Moment // that the question names

	words   map[string]bool
	self    bool         // about the one who asks
	when    bool         // for a time
	count   bool         // for a number
	where   bool         // for a place
	title   bool         // for the name of a book, film, song …
	classes text.Classes // of things it asks for
	prompt  float64      // 1 for a question, fading to 0 for a long message, which asks for nothing in particular
}

// QueryOptions are the settings of [NewQuery]. The zero value means the defaults.
type QueryOptions struct {
	Expand bool // add words to short first-person questions (a seed's habit; off)
}

// expandUpTo is the length in bytes up to which a first-person question is short.
const expandUpTo = 100

// NewQuery reads a question asked at now.
func NewQuery(question string, now time.Time, o QueryOptions) Query {
	words := text.Words(question)
	q := Query{Asked: question, Text: searched(question), words: map[string]bool{}}
	for _, w := range words {
		q.words[w] = true
	}
	for _, term := range text.Terms(question) {
		q.classes |= text.ClassesAsked(term)
	}
	lower := strings.Join(words, " ") + " "
	q.self = q.any("i", "my", "me", "mine", "we", "our", "myself")
	q.when = asksWhen.MatchString(lower)
	q.count = asksCount.MatchString(lower)
	q.where = asksWhere.MatchString(lower)
	q.title = asksTitle.MatchString(lower)
	q.Broad = asksAll.MatchString(lower) && len(words) <= broadUpTo
	q.prompt = fade(len(words))
	q.Dates = momentsIn(question, now)
	if o.Expand && q.self && len(question) <= expandUpTo {
		q.Text += " user personal information preferences"
	}
	return q
}

// present is what people add to a question about how things are now. What memory
// holds is about now unless it says otherwise, so these words find nothing.
var present = regexp.MustCompile(`(?i)\b(right now|now|currently|nowadays|these days|at the moment|at present|please)\b`)

// searched is a question without such words, or all of it if it has no others.
func searched(question string) string {
	rest := present.ReplaceAllString(question, "")
	if len(text.Words(rest)) == 0 {
		return question
	}
	return rest
}

func (q *Query) any(words ...string) bool {
	for _, w := range words {
		if q.words[w] {
			return true
		}
	}
	return false
}

// What a question asks for. They are matched against folded words with single
// spaces between and after.
var (
	asksWhen  = regexp.MustCompile(`\bwhen\b|\b(what|which) (date|day|month|year|time|season)\b|\bhow (long|recently)\b|\b(since|until) when\b|\bhow many (days|weeks|months|years)\b`)
	asksCount = regexp.MustCompile(`\bhow (many|much|often|old|long|far|tall|big)\b|\b(number|amount|total) of\b`)
	asksWhere = regexp.MustCompile(`\bwhere\b|\b(what|which) (\w+ )?(place|city|town|country|state|area|location|venue|beach|park|museum|restaurant)s?\b`)
	asksTitle = regexp.MustCompile(`\b(book|books|novel|movie|movies|film|films|song|songs|album|band|show|series|game|games|podcast|title|titled|called|named|name)\b`)
	asksAll   = regexp.MustCompile(`^((so|hey|hi|please|and|ok|okay|well) )*((what|everything|anything)( all| else)? (do|can|did) you (know|remember|recall|tell me|have)( \w+)? (about me|of me)|(tell me |what is |list )?(everything|all)( that)? you (know|remember|have)( \w+)?( about me| of me)?|who am i|what have you learned about me|describe me|tell me about (me|myself)|summarize what you know( about me)?|what do you remember) $`)
)

// broadUpTo is how many words a question for everything may have; longer ones
// name what they are after.
const broadUpTo = 12

// fade is 1 up to 20 words and 0 from 35 on: cues of short questions are tripped
// by chance in long messages.
func fade(words int) float64 {
	return min(1, max(0, float64(35-words)/15))
}

// momentsIn returns the dates a question names, each as exact as it is named.
func momentsIn(question string, now time.Time) []memory.Moment {
	var out []memory.Moment
	for _, d := range text.Resolve(question, now) {
		m := memory.Moment{Year: int16(d.From.Year()), Month: int8(d.From.Month()), Day: int8(d.From.Day())}
		switch d.Grain {
		case text.Year, text.Season:
			m.Month, m.Day = 0, 0
		case text.Month:
			m.Day = 0
			if d.Relative && !namesYear(d.Of(question)) && !relativeMonth.MatchString(strings.ToLower(d.Of(question))) {
				m.Year = 0 // "in May" of any year
			}
		case text.Week, text.Weekend:
			m.Day = 0
		case text.Day:
			if d.Relative && hasDigit(d.Of(question)) && !namesYear(d.Of(question)) && !strings.Contains(d.Of(question), "ago") {
				m.Year = 0 // "on 7 May" of any year
			}
		}
		out = append(out, m)
	}
	return out
}

var relativeMonth = regexp.MustCompile(`\b(last|this|next|past|previous|coming|ago|in \w+ months)\b`)

var fourDigits = regexp.MustCompile(`\b(19|20)\d\d\b`)

func namesYear(s string) bool { return fourDigits.MatchString(s) }

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }
