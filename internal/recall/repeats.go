package recall

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// A repeat asks, or repeats what was told: who asks for their address a second time is not told that
// they asked before, nor what they were answered.

// RepeatFilter tells of one question which turns only repeat it. It is not safe for concurrent
// use.
type RepeatFilter struct {
	// Told leaves out, besides, what assistants said and what was only ordered or asked.
	Told bool
	// Keep leaves in what only asks, and what answers it.
	Keep bool

	question string
	terms    map[string]bool // that ask; nil before the first turn that may be a repeat
	related  map[string]bool // other words for them
	confirms bool            // a yes is an answer
	heard    bool            // it asks for what was asked or answered before: nothing is a repeat then
	manners  []manner        // of turns that were looked at
	replied  map[place]bool  // where what somebody asked of memory is answered
	plain    terms           // all that the question has
	numbers  []string        // that it names
	room     terms           // for what others tell
	kinds    text.Classes    // of things that it asks for
	clean    []memory.Memory // hits among which no repeat was, in their order
}

// NewRepeatFilter reads a question.
func NewRepeatFilter(question string) *RepeatFilter {
	return &RepeatFilter{question: question, heard: asksBack.MatchString(question)}
}

// asksBack are questions about the talk itself.
var asksBack = lazy.Compile(`(?i)\b(?:ask(?:ed|ing)?|questions?|answer(?:ed|s)?|repl(?:y|ied|ies)|conversations?|chats?|talk(?:ed|ing)? about|discuss(?:ed)?|you (?:say|said|tell|told|mention(?:ed)?|suggest(?:ed)?|recommend(?:ed)?))\b`)

// Repeated reports whether a candidate is an answer that only repeats what memory holds:
// one of the built-in model's.
func (e *RepeatFilter) Repeated(c *memory.Candidate) bool {
	return !e.heard && c.Kind == memory.KindTurn && c.Role == memory.RoleAssistant && (e.Told || c.Speaker == memory.RecallModel)
}

// Is reports whether a memory is a repeat whatever stands beside it: an answer of the built-in
// model, or a turn by which the user asked what is asked now, or anything of memory, and told
// nothing. Words that all ask with, and a word more where there are many, make no other question
// of it; a name, a number or a thing of some kind does.
func (e *RepeatFilter) Is(hit memory.Memory) bool {
	t := hit.Turn
	if t == nil || e.Keep {
		return false
	}
	if e.heard {
		return t.Role == memory.RoleUser && text.Normalize(t.Content) == text.Normalize(e.question)
	}
	if t.Role == memory.RoleAssistant && (t.Name == memory.RecallModel || t.Name == "" && len(t.Content) <= longestAgain && english.SaysNothing(t.Content)) || e.Told && tellsNothing(t) {
		return true
	}
	m := e.manner(t)
	if m.is != english.Asks {
		return m.is == english.Greets && t.Role == memory.RoleUser
	}
	e.read()
	if m.bare && !e.grants(t.Content) {
		return true
	}
	if len(e.terms) == 0 || e.confirms && ofOneself.MatchString(t.Content) {
		return false
	}
	said, extra := 0, 0
	for _, term := range text.Terms(m.asked) {
		switch {
		case e.terms[term]:
			said++
		case fillers.Has(term):
		case asking.Has(term) || text.ClassesAsked(term) != 0:
		case text.ClassesOf(term) != 0:
			return false
		case e.related[term]:
			said++
		default:
			extra++
		}
	}
	return said > 0 && (extra == 0 || extra*extraEvery <= said+extra && !e.names(t.Content))
}

// manner is how a turn is meant.
type manner struct {
	turn  string
	is    english.Mood
	bare  bool   // it asks for what memory may know, and tells nothing
	asked string // as it is meant to be spelt
}

// manner reads a turn, each once.
func (e *RepeatFilter) manner(t *memory.Turn) manner {
	for _, m := range e.manners {
		if m.turn == t.ID {
			return m
		}
	}
	is, questions := english.Purpose(t.Content)
	m := manner{turn: t.ID, is: is, asked: t.Content}
	own := t.Role == memory.RoleUser && t.Name == "" // people ask each other
	tells := func(question []string) bool { return !bare(question) }
	m.bare = own && is == english.Asks && len(text.Names(m.asked)) == 0 && !slices.ContainsFunc(questions, tells)
	e.manners = append(e.manners, m)
	return m
}

// extraEvery is of how many words one may be another.
const extraEvery = 4

// names reports whether a text names somebody, something or a number that the question
// does not.
func (e *RepeatFilter) names(content string) bool {
	for _, name := range text.Names(content) {
		if !strings.Contains(text.Fold(e.question), text.Fold(name)) {
			return true
		}
	}
	for _, number := range text.Numbers(content) {
		if !strings.Contains(e.question, number) {
			return true
		}
	}
	named := false
	text.EachWord(content, func(w string) {
		term := text.Term(w)
		named = named || text.IsTime(w) && !e.terms[term] && !asking.Has(term) && !fillers.Has(term)
	})
	return named
}

// read finds the terms that the question asks with: all of them, where it has none but
// those that everybody does.
func (e *RepeatFilter) read() {
	if e.terms != nil {
		return
	}
	e.terms, e.related = map[string]bool{}, map[string]bool{}
	all := text.Terms(e.question)
	own := slices.DeleteFunc(slices.Clone(all), func(term string) bool { return fillers.Has(term) || asking.Has(term) })
	if len(own) == 0 {
		own = all
	}
	for _, term := range own {
		e.terms[term] = true
		for _, other := range text.Related(term) {
			e.related[other] = true
		}
	}
	for _, term := range all {
		e.kinds |= text.ClassesAsked(term)
	}
	e.confirms = confirms.MatchString(e.question) && !knows.MatchString(e.question)
}

// ofOneself begins a wish that may be an answer: "I need my glasses" to "Do I need them?".
var ofOneself = lazy.Compile(`(?i)^\W*i\b`)

// knows are questions to which yes is none: "Do you know my address?".
var knows = lazy.Compile(`(?i)\byou (?:still |even )?(?:know|remember|recall|have|tell|find|look)\b`)

// confirms are questions to which yes is an answer, "Am I a nurse?".
var confirms = lazy.Compile(`(?i)^\W*(?:(?:so|and|hey|ok|okay|well)\W+)*(?:do|does|did|is|are|am|was|were|has|have|had|will|would)\b`)

// fillers change nothing about what a question asks, and asking are words to ask with.
const (
	fillerWords = "now still again currently current today please actually really ok exactly ever already once more"
	askingWords = `know tell remind give show find look list need want wonder remember recall forgot say said mention send check search help let
		describe repeat quick question hey hi hello thanks idea info information detail details place street number exact full kind sort type thing
		anything something everything name date day time year use before previously`
)

var (
	fillers, asking = lazy.SetOf(fillerWords, termSet), lazy.SetOf(askingWords, termSet)
	plainlyAsking   = lazy.Make(func() terms {
		return termsOf(fillerWords + " know tell remind give show find look list need want wonder remember recall forgot check search help let repeat")
	})
)

func termSet(list string) map[string]bool {
	m := map[string]bool{}
	for _, term := range text.Terms(list) {
		m[term] = true
	}
	return m
}
