package recall

import (
	"math/bits"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// Query is a question, read.
type Query struct {
	Asked string // what the person wrote of it
	Text  string // what to search for
	Near  string // what to search near to in meaning: Text, expanded by setting
	Broad bool   // asks for whatever is known: list by importance instead of searching

	Dates []Period // that a short question names

	Weights map[string]float32 // of terms of Text that count less than 1, those of statements beside a question
	Needs   float64            // log-odds that an answer needs memory, by the form of the message alone

	words   []string
	self    bool         // about the one who asks
	owns    bool         // or about somebody whom one calls one's own: a sister, a boss, a dog
	when    bool         // for a time
	classes text.Classes // of things it asks for
	prompt  float64      // 1 for a question, fading to 0 for a long message, which asks for nothing in particular
}

// QueryOptions are the settings of [NewQuery]. The zero value means the defaults.
type QueryOptions struct {
	Expand bool // short first-person questions are near to what is known of people, too
	AsSaid bool // Near is the whole question in its own words
}

const (
	// expandUpTo is the length in characters up to which a first-person question is
	// short, and expansion what is added to it (design 1). No memory has to have these
	// words: they draw the question's vector to facts about a person.
	expandUpTo = 100
	expansion  = " height weight physical attributes user facts"
)

// NewQuery reads a question asked at now.
func NewQuery(question string, now time.Time, o QueryOptions) Query {
	sentences := sentencesOf(question)
	q := Query{Asked: joined(sentences), Near: near(sentences), Weights: weigh(sentences), Needs: needs(sentences)}
	if o.AsSaid {
		q.Near = text.Clip(question, mostAsked)
	}
	question = text.Clip(q.Asked, 4*mostAsked)
	q.Text, q.words = q.Asked, text.Words(question)
	reword := q.read()
	if unspaced(question) {
		q.readUnspaced()
	}
	if q.prompt = fade(ownWords(sentences)); q.prompt > 0 {
		q.Text = searched(question, reword)
		for _, term := range text.Terms(q.Text) {
			q.classes |= text.ClassesAsked(term)
		}
		q.Dates = periodsIn(question, now)
		if len(sentences) == 1 && !o.AsSaid {
			q.Near = text.Clip(q.Text, mostNear)
		}
	}
	if o.Expand && q.self && utf8.RuneCountInString(question) <= expandUpTo {
		q.Near += expansion
	}
	return q
}

// read finds what the question asks for by its words, and returns the forms one of whose
// words it has.
func (q *Query) read() (reword forms) {
	mayBeBroad, all := false, wordsThatAsk.Get()
	var here, next, second wordThatAsks // of this word and the two after it
	if len(q.words) > 1 {
		second = all[q.words[1]]
	}
	if len(q.words) > 0 {
		next = all[q.words[0]]
	}
	for i, w := range q.words {
		here, next, second = next, second, all[q.at(i+2)]
		switch w {
		case "i", "me", "we", "myself", "mine", "my", "our":
			q.self = true
		case "when":
			q.when = true
		case "how":
			after := q.at(i + 1)
			q.when = q.when || after == "long" || after == "recently" || after == "many" && second.is&ofPeriod != 0
		case "what", "which":
			q.when = q.when || next.is&ofTime != 0
		}
		reword |= here.forms
		q.owns = q.owns || text.IsPerson(text.Term(w))
		mayBeBroad = mayBeBroad || here.is&broad != 0
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

// wordThatAsks is what a word may say in a question.
type wordThatAsks struct {
	is    kindsOfWord
	forms forms // that have it
}

// kindsOfWord is a set of kinds of words that questions ask with.
type kindsOfWord uint8

const (
	ofPeriod kindsOfWord = 1 << iota // how many …
	ofTime                           // what …
	broad                            // one of them is in each question of asksAll
)

// forms is a set of places in everyday, which has no more.
type forms uint32

// wordsThatAsk are the words that questions ask with, folded. They are in one place: a word
// of a question is looked for once, and most are not there.
var wordsThatAsk = lazy.Make(func() map[string]wordThatAsks {
	all := map[string]wordThatAsks{}
	for is, words := range map[kindsOfWord]string{
		ofPeriod: "days weeks months years",
		ofTime:   "date day month year time season",
		broad:    "know remember recall have tell am learned describe summarize",
	} {
		for w := range strings.FieldsSeq(words) {
			a := all[w]
			a.is |= is
			all[w] = a
		}
	}
	for i := range everyday {
		for w := range strings.FieldsSeq(everyday[i].words) {
			a := all[w]
			a.forms |= 1 << i
			all[w] = a
		}
	}
	return all
})

// form is what people ask in words that find nothing, or something else, and what to
// search for instead. It adds words to those that may be in an answer, and takes away
// only those that ask: what was said in the asker's own words is found by them.
type form struct {
	words string // one of which the question has: most have none, and are spared the rest
	asked *lazy.Pattern
	plain string
}

// somebodyDoes is what stands before a verb in a question.
const somebodyDoes = `(?:do|does|did|should|can|could|will|would|are|were|is|was|am) (?:my )?\w+\s+`

// everyday are the forms, applied one after the other.
var everyday = []form{
	// What leads in to a question is not asked for.
	{"tell remind", lazy.Compile(`(?i)^\W*(?:(?:hey|hi|so|and|ok|okay|um|well|quick question)\W+)*(?:(?:can|could|would|will) you |please )*(?:tell|remind) me(?: again)?(?: about| of)?\b`), ""},
	{"know remember recall forgot forget", lazy.Compile(`(?i)^\W*(?:(?:hey|hi|so|and|ok|okay|um|well)\W+)*(?:(?:do|can|did) you (?:still |happen to )?(?:know|remember|recall)|what do you (?:know|remember) (?:about|of)|I (?:forgot|forget|can['’]?t remember|don['’]?t remember|no longer know))\b`), ""},
	{"mention mentioned say said tell told", lazy.Compile(`(?i)\b(?:did|have) I (?:ever |already )?(?:mention(?:ed)?|tell you|told you|say|said)(?: (?:that|about|(?:any|some)thing about))?\b`), ""},
	// What memory holds is about now unless it says otherwise.
	{"now currently nowadays days moment present please still ever again more anymore", lazy.Compile(`(?i)\b(?:right now|now|currently|nowadays|these days|at the moment|at present|please|still|ever|again|any ?more)\b`), ""},
	{"living", lazy.Compile(`(?i)\bfor a living\b`), "as a job"},
	{"work", lazy.Compile(`(?i)\b((?:do|does|did) for work)\b`), "$1, as a job"},
	{"based", lazy.Compile(`(?i)\bam I based\b`), "am I based, do I live"},
	{"work office", lazy.Compile(`(?i)\b(how (?:do|did|does|can) \w+ (?:get|go|travel) to (?:work|the office))\b`), "$1, bus or train"},
	// The number or the age is what is looked for, not what is said.
	{"old", lazy.Compile(`(?i)\bhow old am I\b`), "my age, birthday, how old"},
	{"old", lazy.Compile(`(?i)\bhow old (is|are|was|were)\b`), "$1"},
	{"much many", lazy.Compile(`(?i)\bhow (?:much|many)\b`), "how"},
	// What somebody does not like they may have said to hate.
	{"like love enjoy", lazy.Compile(`(?i)\b((?:do|does|did)(?:n['’]?t| not) (?:my )?\w+ (?:like|love|enjoy))\b`), "$1, hate"},
	{"like love enjoy", lazy.Compile(`(?i)\b((?:do|does|did) (?:my )?\w+ not (?:like|love|enjoy))\b`), "$1, hate"},
	{"like love enjoy", lazy.Compile(`(?i)\b(\w+ (?:do|does|did)(?:n['’]?t| not) (?:like|love|enjoy))\b`), "$1, hate"},
	{"think feel", lazy.Compile(`(?i)\b(do|did|does) (\w+) (?:think|feel) (?:of|about)\b`), "$1 $2"},
	// To go or get somewhere is what one does anywhere. When one goes is asked of going.
	{"go going get getting", lazy.Compile(`(?i)\b(` + somebodyDoes + `(?:go|going) (?:on|at|every|after|before|when))\b|\b(` + somebodyDoes + `)(?:go|going|get|getting)\b`), "$1$2"},
	{"kind kinds sort sorts type types", lazy.Compile(`(?i)\b(?:kind|sort|type)s? of\b`), ""},
	// What somebody or something is like is not what anybody likes.
	{"like", lazy.Compile(`(?i)\b(what(?:['’]?s| is| are| was| were) (?:it|(?:the|my|our|your|his|her|their) (?:\w{3,} )??\w{4,})) like\b`), "$1"},
	// What has a name is looked for, not the word; one's own is. Somebody calls, too.
	{"called named", lazy.Compile(`(?i)\b((?:am|is|are|was|were|what['’]?s|['’]re)\b.*) (?:called|named)(\W*)$`), "$1$2"},
	{"name names", lazy.Compile(`(?i)\b(my (?:(?:own|full|whole|complete|real|first|last|given|family) )?name)\b|\bnames?\b(?: of\b)?`), "$1"},
}

// searched is a question in plain words; of are the forms one of whose words it has. A form
// that leaves it without any is not applied: who asks for their name asks for a name.
func searched(question string, of forms) string {
	if unspaced(question) {
		if rest := unspacedAsking.ReplaceAllString(question, " "); len(text.Terms(rest)) > 0 {
			question = rest
		}
	}
	for ; of != 0; of &= of - 1 {
		f := &everyday[bits.TrailingZeros32(uint32(of))]
		if rest := f.asked.ReplaceAllString(question, f.plain); rest != question && len(text.Terms(rest)) > 0 {
			question = rest
		}
	}
	return question
}

// asksAll are the questions for whatever is known, matched against folded words
// with single spaces between and after.
var asksAll = lazy.Compile(`^((so|hey|hi|please|and|ok|okay|well) )*((what|everything|anything)( all| else)? (do|can|did) you (know|remember|recall|tell me|have)( \w+)? (about me|of me)|(tell me |what is |list )?(everything|all)( that)? you (know|remember|have)( \w+)?( about me| of me)?|who am i|what have you learned about me|describe me|tell me about (me|myself)|summarize what you know( about me)?|what do you remember) $`)

// broadUpTo is how many words a question for everything may have; longer ones
// name what they are after.
const broadUpTo = 12

// fade is 1 up to 20 words and 0 from 35 on: cues of short questions are tripped
// by chance in long messages.
func fade(words int) float64 {
	return min(1, max(0, float64(35-words)/15))
}
