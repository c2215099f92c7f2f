package recall

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// RepeatFilter tells of one question which turns only repeat it: who asks for their address a second
// time is not told that they asked before, nor that nobody knew.
type RepeatFilter struct {
	// Told leaves out, besides, what assistants said and what was only ordered or asked.
	Told bool
	// Keep leaves in what only asks, and what says nothing.
	Keep bool

	question string
	terms    terms // of the question
	heard    bool  // it asks for what was asked or answered before: nothing is a repeat then
}

// NewRepeatFilter reads a question.
func NewRepeatFilter(question string) *RepeatFilter {
	return &RepeatFilter{question: question, terms: termsOf(question), heard: asksBack.MatchString(question)}
}

// asksBack are questions about the talk itself.
var asksBack = lazy.Compile(`(?i)\b(?:ask(?:ed|ing)?|questions?|answer(?:ed|s)?|repl(?:y|ied|ies)|conversations?|chats?|talk(?:ed|ing)? about|discuss(?:ed)?|you (?:say|said|tell|told|mention(?:ed)?|suggest(?:ed)?|recommend(?:ed)?))\b`)

const (
	// longestSlight is how many bytes an answer has at most that may say nothing.
	longestSlight = 320
	// mostOther is how many other terms a turn has at most that repeats a question.
	mostOther = 3
)

// Is reports whether a memory is a repeat: a greeting, an answer that says nothing or denies to know, or a turn in which
// the user only asks, in hardly any other words and without another name or number.
func (e *RepeatFilter) Is(m memory.Memory) bool {
	t := m.Turn
	switch {
	case t == nil || e.Keep:
		return false
	case e.heard:
		return t.Role == memory.RoleUser && text.Normalize(t.Content) == text.Normalize(e.question)
	case e.Told && tellsNothing(t) || t.Name == memory.RecallModel:
		return true
	case t.Name != "": // people ask each other
		return false
	case t.Role == memory.RoleAssistant:
		return len(t.Content) <= longestSlight && (english.SaysNothing(t.Content) || english.Denies(t.Content))
	}
	is := english.Purpose(t.Content)
	return is == english.Greets || is == english.Asks && !ofOneself.MatchString(t.Content) && e.has(t.Content)
}

// ofOneself begins a wish that may be an answer: "I need my glasses" to "Do I need them?".
var ofOneself = lazy.Compile(`(?i)^\W*i (?:need|want)\b`)

// has reports whether the question has all names and numbers of a text and nearly all other words.
func (e *RepeatFilter) has(content string) bool {
	for _, name := range slices.Concat(text.Names(content), text.Numbers(content)) {
		if !strings.Contains(text.Fold(e.question), text.Fold(name)) {
			return false
		}
	}
	other := 0
	for _, term := range termsOf(content) {
		if !e.terms.has(term) {
			other++
		}
	}
	return other <= mostOther
}
