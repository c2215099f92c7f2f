package recall

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// RepeatFilter recognises turns that only repeat a question, so that an address asked for twice is
// not answered by the first question or by "I don't know".
type RepeatFilter struct {
	// Assistants also filters assistants' turns, and turns that only order or ask.
	Assistants bool
	// Keep disables the filter for mere questions and empty answers.
	Keep bool

	question          string
	terms             terms // of the question
	aboutConversation bool  // the question asks about earlier questions or answers: nothing is a repeat
}

// NewRepeatFilter reads a question.
func NewRepeatFilter(question string) *RepeatFilter {
	return &RepeatFilter{question: question, terms: termsOf(question), aboutConversation: asksBack.MatchString(question)}
}

// asksBack matches questions about the conversation itself.
var asksBack = lazy.Compile(`(?i)\b(?:ask(?:ed|ing)?|questions?|answer(?:ed|s)?|repl(?:y|ied|ies)|conversations?|chats?|talk(?:ed|ing)? about|discuss(?:ed)?|you (?:say|said|tell|told|mention(?:ed)?|suggest(?:ed)?|recommend(?:ed)?))\b`)

const (
	// maxEmptyAnswer is the greatest length in bytes of an answer that may be empty.
	maxEmptyAnswer = 320
	// maxOtherTerms is the greatest number of other terms in a repeated question.
	maxOtherTerms = 3
)

// IsRepeat reports whether a memory is a repeat: a greeting, an empty answer or one that denies to know,
// or a user's turn that only asks, with hardly any other words and no other name or number.
func (e *RepeatFilter) IsRepeat(m memory.Memory) bool {
	t := m.Turn
	switch {
	case t == nil || e.Keep:
		return false
	case e.aboutConversation:
		return t.Role == memory.RoleUser && text.Normalize(t.Content) == text.Normalize(e.question)
	case e.Assistants && hasNoStatement(t) || t.Name == memory.RecallModel:
		return true
	case t.Name != "": // people ask each other
		return false
	case t.Role == memory.RoleAssistant:
		return len(t.Content) <= maxEmptyAnswer && (english.SaysNothing(t.Content) || english.Denies(t.Content))
	}
	is := english.Purpose(t.Content)
	return is == english.Greets || is == english.Asks && !wishForOneself.MatchString(t.Content) && e.has(t.Content)
}

// wishForOneself begins a wish that may be an answer: "I need my glasses" to "Do I need them?".
var wishForOneself = lazy.Compile(`(?i)^\W*i (?:need|want)\b`)

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
	return other <= maxOtherTerms
}
