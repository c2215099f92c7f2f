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

	Dates []memory.Moment // that a short question names

	words   []string
	self    bool         // about the one who asks
	owns    bool         // or about somebody of theirs
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
	q := Query{Asked: question, Text: question, words: text.Words(question)}
	reword := q.read()
	if q.prompt = fade(len(q.words)); q.prompt > 0 {
		if reword {
			q.Text = searched(question)
		}
		for _, term := range text.Terms(q.Text) {
			q.classes |= text.ClassesAsked(term)
		}
		q.Dates = momentsIn(question, now)
	}
	if o.Expand && q.self && len(question) <= expandUpTo {
		q.Text += " user personal information preferences"
	}
	return q
}

// read finds what the question asks for by its words, and reports whether it has
// words that are not searched for as they stand.
func (q *Query) read() (reword bool) {
	mayBeBroad := false
	for i, w := range q.words {
		prev, next := q.at(i-1), q.at(i+1)
		switch w {
		case "i", "me", "we", "myself":
			q.self = true
		case "mine":
			q.self = true
		case "my", "our":
			q.self = true
			q.owns = q.owns || text.IsPerson(text.Term(next)) || text.IsPerson(text.Term(q.at(i+2)))
		case "when":
			q.when = true
		case "where":
			q.where = true
		case "how":
			q.count = q.count || measures[next]
			q.when = q.when || next == "long" || next == "recently" || next == "many" && periods[q.at(i+2)]
		case "what", "which":
			q.when = q.when || times[next]
			q.where = q.where || places[next] || places[q.at(i+2)]
		case "of":
			q.count = q.count || prev == "number" || prev == "amount" || prev == "total"
		case "now", "currently", "nowadays", "days", "moment", "present", "please":
			reword = true
		case "living":
			reword = reword || prev == "a" && q.at(i-2) == "for"
		case "based":
			reword = reword || prev == "i"
		}
		q.title = q.title || titled[w]
		mayBeBroad = mayBeBroad || broad[w]
	}
	q.Broad = mayBeBroad && len(q.words) <= broadUpTo && asksAll.MatchString(strings.Join(q.words, " ")+" ")
	return reword
}

// at returns a word, "" beyond the ends.
func (q *Query) at(i int) string {
	if i < 0 || i >= len(q.words) {
		return ""
	}
	return q.words[i]
}

// Words that questions ask with, folded.
var (
	measures = set("many much often old long far tall big") // how …
	periods  = set("days weeks months years")               // how many …
	times    = set("date day month year time season")       // what …
	places   = set(`place places city cities town towns country countries state states area areas location locations
		venue venues beach beaches park parks museum museums restaurant restaurants`)
	titled = set(`book books novel movie movies film films song songs album band show series game games podcast title
		titled called named name`)
	broad = set("know remember recall have tell am learned describe summarize") // one of them is in each question of asksAll
)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// What people say of their job and home in words that mean other things, too.
var (
	forALiving = regexp.MustCompile(`(?i)\bfor a living\b`)
	amBased    = regexp.MustCompile(`(?i)\bam I based\b`)
)

// present is what people add to a question about how things are now. What memory
// holds is about now unless it says otherwise, so these words find nothing.
var present = regexp.MustCompile(`(?i)\b(right now|now|currently|nowadays|these days|at the moment|at present|please)\b`)

// searched is a question without such words, or all of it if it has no others, and
// with plain ones for those of jobs and homes.
func searched(question string) string {
	rest := present.ReplaceAllString(question, "")
	rest = amBased.ReplaceAllString(forALiving.ReplaceAllString(rest, "as a job"), "do I live")
	if len(text.Words(rest)) == 0 {
		return question
	}
	return rest
}

// asksAll are the questions for whatever is known, matched against folded words
// with single spaces between and after.
var asksAll = regexp.MustCompile(`^((so|hey|hi|please|and|ok|okay|well) )*((what|everything|anything)( all| else)? (do|can|did) you (know|remember|recall|tell me|have)( \w+)? (about me|of me)|(tell me |what is |list )?(everything|all)( that)? you (know|remember|have)( \w+)?( about me| of me)?|who am i|what have you learned about me|describe me|tell me about (me|myself)|summarize what you know( about me)?|what do you remember) $`)

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
