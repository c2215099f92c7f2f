// Package responder is the built-in model loci/recall. It answers by repeating recalled memories, and each
// answer says so. It is not a language model: it draws no conclusions and knows only the recalled memories.
package responder

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Name is the model's name.
const Name = memory.RecallModel

const (
	// disclaimer is in every answer, so that nobody takes the responder for a language model.
	disclaimer = "I am loci/recall, a built-in responder that only repeats what is remembered."

	maxLines       = 6   // maximum number of memories in an answer
	maxLineLetters = 240 // maximum number of letters in a line
	nothingKnown   = "I know nothing about that yet."
)

// MemoryEffect describes what Loci will do with a message. The zero value is the usual case: Loci stores the
// message, learns from it and forgets nothing.
type MemoryEffect struct {
	NotStoredReason  string // why the message is not stored, such as "Memory is paused"; "" if it is stored
	NotLearnedReason string // why nothing is learned from the message, such as "Learning is paused"; "" if Loci learns from it
	ForgetRequest    string // what the user asks to forget; "" if nothing
	ForgetCount      int    // number of memories to forget
	ForgetUnknown    bool   // true if the search for the memories to forget failed, so that their number is unknown
}

// Respond answers a question with the hits, best first, or that it knows nothing. It acknowledges any other
// message. It promises to store, learn or forget only what effect says.
func Respond(question string, hits []memory.Hit, effect MemoryEffect) string {
	if !isRequest(question) || effect.ForgetRequest != "" {
		return acknowledge(question, hits, effect)
	}
	lines := hitLines(question, hits)
	if len(lines) == 0 {
		promise := " Tell me, and I will remember it."
		if effect.NotStoredReason != "" {
			promise = " " + effect.NotStoredReason + "."
		}
		return nothingKnown + " (" + disclaimer + promise + ")"
	}
	return "From memory:\n" + strings.Join(lines, "\n") + "\n\n(" + disclaimer + ")"
}

// requestPattern matches a question or a request such as "tell me".
var requestPattern = lazy.Compile(`(?i)^(?:please |so |and |ok(?:ay)?,? |hey,? |hi,? )*(?:what|where|when|who|whom|whose|which|why|how|do|does|did|is|are|am|was|were|can|could|will|would|should|shall|have|has|tell me|show me|list|remind me|give me|find|describe|summari[sz]e)\b`)

func isRequest(s string) bool {
	s = strings.TrimSpace(s)
	if text.EndsInQuestionMark(s) || requestPattern.MatchString(s) {
		return true
	}
	sentences := text.Sentences(s)
	for _, sentence := range sentences {
		if text.EndsInQuestionMark(sentence.Slice(s)) {
			return true
		}
	}
	return false
}

var rememberPattern = lazy.Compile(`(?i)^(?:please |ok(?:ay)?,? |hey,? |can you )*remember\b`)

// effectText returns the sentence that tells the user what Loci will do with a message.
func effectText(message string, effect MemoryEffect) string {
	switch {
	case effect.ForgetRequest != "" && effect.NotStoredReason != "":
		return effect.NotStoredReason + ", so nothing is forgotten now, and this message is not stored."
	case effect.ForgetRequest != "" && effect.NotLearnedReason != "":
		return effect.NotLearnedReason + ", so nothing is forgotten now. You can still remove it from the list of memories."
	case effect.ForgetRequest != "" && effect.ForgetUnknown:
		return "I will look for what you ask me to forget, but I cannot tell now whether I have it."
	case effect.ForgetRequest != "" && effect.ForgetCount == 0:
		return "I found nothing to forget about “" + truncated(effect.ForgetRequest) + "”."
	case effect.ForgetRequest != "":
		return "I will forget that."
	case effect.NotStoredReason != "":
		return effect.NotStoredReason + ", so this message is not stored."
	case effect.NotLearnedReason != "":
		return effect.NotLearnedReason + ": I keep what you say and learn nothing from it."
	case rememberPattern.MatchString(message):
		return "I will remember that."
	}
	return "Noted. I keep what you say and learn what will matter later."
}

func acknowledge(message string, hits []memory.Hit, effect MemoryEffect) string {
	message = strings.TrimSpace(message)
	if message == "" {
		return "There was nothing to answer. (" + disclaimer + ")"
	}
	sentence := effectText(message, effect)
	if effect.ForgetRequest != "" {
		return sentence + " (" + disclaimer + ")" // the answer does not repeat the forgotten text
	}
	related := hitLines(message, hits)
	if len(related) > 3 {
		related = related[:3]
	}
	if len(related) == 0 {
		return sentence + " (" + disclaimer + ")"
	}
	return sentence + " Related memories:\n" + strings.Join(related, "\n") + "\n\n(" + disclaimer + ")"
}

// hitLines renders hits as list items. It omits hits with the content of an earlier hit or of question.
func hitLines(question string, hits []memory.Hit) []string {
	var out []string
	seen := map[string]bool{text.Hash(question): true}
	for _, h := range hits {
		words := strings.Join(strings.Fields(h.Memory.Content()), " ")
		if words == "" || seen[text.Hash(words)] {
			continue
		}
		seen[text.Hash(words)] = true
		if len(out) == maxLines {
			break
		}
		line := "- " + inSecondPerson(h.Memory, truncated(words))
		for _, f := range h.Replacements {
			if f.Content == "" {
				line += ", which is no longer true"
				continue
			}
			line += ", but now: " + factInSecondPerson(f.Content) + " (" + f.ObservedAt.Format("2006-01-02") + ")"
		}
		for _, f := range h.Predecessors {
			line += "; before that: " + factInSecondPerson(f.Content)
		}
		out = append(out, line)
	}
	return out
}

// inSecondPerson rewrites a memory in the second person ("you"), with its date.
func inSecondPerson(m memory.Memory, content string) string {
	switch {
	case m.Fact != nil:
		line := factInSecondPerson(content)
		if m.Link != nil { // "user" in the text of a shared fact means its owner
			line = ownerName(m.Fact.Scope.Owner) + " shared: " + content
		}
		if at := m.Fact.ObservedAt; !at.IsZero() {
			line += " (" + at.Format("2006-01-02") + ")"
		}
		return line
	case m.Turn != nil && m.Turn.Role == memory.RoleUser:
		return "On " + m.Turn.CreatedAt.Format("2006-01-02") + " you said: “" + content + "”"
	case m.Turn != nil:
		return "On " + m.Turn.CreatedAt.Format("2006-01-02") + " the assistant said: “" + content + "”"
	}
	return content
}

// ownerName returns a name for the owner of a shared fact.
func ownerName(owner memory.Owner) string {
	switch owner.Kind() {
	case memory.GlobalKind:
		return "Everybody's memory"
	case memory.PoolKind:
		return "The pool " + owner.Name()
	}
	return owner.Name()
}

// secondPersonForms rewrite a fact about the user in the second person.
var secondPersonForms = []struct {
	from *lazy.Pattern
	to   string
}{
	{lazy.Compile(`^(User [a-z]+(?: [a-z ]+ (?:with|for|to|in|at|on|about|of|from))?) their\b`), "$1 your"},
	{lazy.Compile(`\b(?:[Tt]he )?[Uu]ser['’]s\b`), "your"},
	{lazy.Compile(`\b(?:[Tt]he )?[Uu]ser is\b`), "you are"},
	{lazy.Compile(`\b(?:[Tt]he )?[Uu]ser was\b`), "you were"},
	{lazy.Compile(`\b(?:[Tt]he )?[Uu]ser has\b`), "you have"},
	{lazy.Compile(`\b(?:[Tt]he )?[Uu]ser (does not|doesn't)\b`), "you do not"},
	{lazy.Compile(`\b(?:[Tt]he )?[Uu]ser no longer ([a-z]+?)s\b`), "you no longer $1"},
	{lazy.Compile(`\b(?:[Tt]he )?[Uu]ser ([a-z]+(?:ch|sh|ss|x|o))es\b`), "you $1"},
	{lazy.Compile(`\b(?:[Tt]he )?[Uu]ser ([a-z]+)ies\b`), "you ${1}y"},
	{lazy.Compile(`\b(?:[Tt]he )?[Uu]ser ([a-z]*[^s\s])s\b`), "you $1"},
	{lazy.Compile(`\b(?:[Tt]he )?[Uu]ser\b`), "you"},
}

func factInSecondPerson(fact string) string {
	for _, f := range secondPersonForms {
		fact = f.from.ReplaceAllString(fact, f.to)
	}
	r := []rune(fact)
	return strings.ToUpper(string(r[:1])) + string(r[1:])
}

func truncated(s string) string {
	r := []rune(s)
	if len(r) <= maxLineLetters {
		return s
	}
	return strings.TrimSpace(string(r[:maxLineLetters])) + " …"
}
