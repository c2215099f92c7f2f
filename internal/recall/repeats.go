package recall

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// RepeatFilter recognises turns that only repeat a question, or an answer without information. Without it, a
// repeated question would find its first occurrence, or the answer "I don't know".
type RepeatFilter struct {
	// OnlyUserStatements makes all turns of assistants, and all turns that only order a task or ask, count as repeats.
	OnlyUserStatements bool
	// IsDisabled turns the filter off: no turn counts as a repeat.
	IsDisabled bool

	question            string
	terms               terms // terms of the question
	isAboutConversation bool  // the question asks about earlier questions or answers, so that no turn is a repeat
}

// NewRepeatFilter returns the filter for a question.
func NewRepeatFilter(question string) *RepeatFilter {
	return &RepeatFilter{question: question, terms: termsOf(question), isAboutConversation: conversationWords.MatchString(question)}
}

// conversationWords matches questions about the conversation itself.
var conversationWords = lazy.Compile(`(?i)\b(?:ask(?:ed|ing)?|questions?|answer(?:ed|s)?|repl(?:y|ied|ies)|conversations?|chats?|talk(?:ed|ing)? about|discuss(?:ed)?|you (?:say|said|tell|told|mention(?:ed)?|suggest(?:ed)?|recommend(?:ed)?))\b`)

const (
	// maxEmptyAnswerBytes is the maximum length in bytes of an answer without information.
	maxEmptyAnswerBytes = 320
	// maxOtherTerms is the maximum number of terms that the question lacks in a turn that repeats the question.
	maxOtherTerms = 3
)

// IsRepeat reports whether a memory has no information: a greeting, an answer that is empty or denies knowledge, or a
// user's question that repeats the filter's question: it adds hardly any words and no name or number.
func (e *RepeatFilter) IsRepeat(m memory.Memory) bool {
	t := m.Turn
	switch {
	case t == nil || e.IsDisabled:
		return false
	case e.isAboutConversation:
		return t.Role == memory.RoleUser && text.Normalize(t.Content) == text.Normalize(e.question)
	case e.OnlyUserStatements && hasNoStatement(t) || t.Name == memory.RecallModel:
		return true
	case t.Name != "": // a question between people is not a repeat
		return false
	case t.Role == memory.RoleAssistant:
		return len(t.Content) <= maxEmptyAnswerBytes && (english.HasNoInformation(t.Content) || english.BeginsWithDenial(t.Content))
	}
	purpose := english.PurposeOf(t.Content)
	return purpose == english.MoodGreeting || purpose == english.MoodQuestion && !wishForOneself.MatchString(t.Content) && e.coversWords(t.Content)
}

// wishForOneself matches the beginning of a wish that may be an answer: "I need my glasses" to "Do I need them?".
var wishForOneself = lazy.Compile(`(?i)^\W*i (?:need|want)\b`)

// coversWords reports whether the question has all names and numbers of a text and nearly all of its other words.
func (e *RepeatFilter) coversWords(content string) bool {
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
