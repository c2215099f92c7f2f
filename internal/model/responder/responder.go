// Package responder is the built-in model loci/recall. It answers by repeating recalled memories, and says
// so. It is not a language model: it draws no conclusions and knows only the recalled memories.
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
	who = "I am loci/recall, a built-in responder that only repeats what is remembered."

	most     = 6   // maximum number of memories in an answer
	longest  = 240 // maximum number of letters in a line
	fallback = "I know nothing about that yet."
)

// MemoryEffect describes what memory will do with a message. The zero value is the usual case: memory stores
// the message, learns from it and forgets nothing.
type Outlook struct {
	Unkept    string // why the message is not stored, such as "Memory is paused"; "" if it is stored
	Unlearned string // why nothing is learned from the message, such as "Learning is paused"; "" if Loci learns from it
	Forget    string // what the user asks to forget; "" if nothing
	Found     int    // number of memories to forget
	Unsure    bool   // the search for the memories to forget failed
}

// Respond answers a question with the hits, best first, and acknowledges a statement. Without hits it says
// that it knows nothing. It promises only what the effect allows.
func Respond(question string, hits []memory.Hit, o Outlook) string {
	if !asks(question) || o.Forget != "" {
		return acknowledge(question, hits, o)
	}
	lines := lines(question, hits)
	if len(lines) == 0 {
		promise := " Tell me, and I will remember it."
		if o.Unkept != "" {
			promise = " " + o.Unkept + "."
		}
		return fallback + " (" + who + promise + ")"
	}
	return "From memory:\n" + strings.Join(lines, "\n") + "\n\n(" + who + ")"
}

// requestPattern matches a question or a request such as "tell me".
var request = lazy.Compile(`(?i)^(?:please |so |and |ok(?:ay)?,? |hey,? |hi,? )*(?:what|where|when|who|whom|whose|which|why|how|do|does|did|is|are|am|was|were|can|could|will|would|should|shall|have|has|tell me|show me|list|remind me|give me|find|describe|summari[sz]e)\b`)

func asks(s string) bool {
	s = strings.TrimSpace(s)
	if text.Asks(s) || request.MatchString(s) {
		return true
	}
	sentences := text.Sentences(s)
	for _, sentence := range sentences {
		if text.Asks(sentence.Of(s)) {
			return true
		}
	}
	return false
}

var wish = lazy.Compile(`(?i)^(?:please |ok(?:ay)?,? |hey,? |can you )*remember\b`)

// effectText tells the user what memory will do with a message.
func outlookText(message string, o Outlook) string {
	switch {
	case o.Forget != "" && o.Unkept != "":
		return o.Unkept + ", so nothing is forgotten now, and this message is not stored."
	case o.Forget != "" && o.Unlearned != "":
		return o.Unlearned + ", so nothing is forgotten now. You can still remove it from the list of memories."
	case o.Forget != "" && o.Unsure:
		return "I will look for what you ask me to forget, but I cannot tell now whether I have it."
	case o.Forget != "" && o.Found == 0:
		return "I found nothing to forget about “" + shortened(o.Forget) + "”."
	case o.Forget != "":
		return "I will forget that."
	case o.Unkept != "":
		return o.Unkept + ", so this message is not stored."
	case o.Unlearned != "":
		return o.Unlearned + ": I keep what you say and learn nothing from it."
	case wish.MatchString(message):
		return "I will remember that."
	}
	return "Noted. I keep what you say and learn what will matter later."
}

func acknowledge(message string, hits []memory.Hit, o Outlook) string {
	message = strings.TrimSpace(message)
	if message == "" {
		return "There was nothing to answer. (" + who + ")"
	}
	head := outlookText(message, o)
	if o.Forget != "" {
		return head + " (" + who + ")" // the answer does not repeat the forgotten text
	}
	related := lines(message, hits)
	if len(related) > 3 {
		related = related[:3]
	}
	if len(related) == 0 {
		return head + " (" + who + ")"
	}
	return head + " Related memories:\n" + strings.Join(related, "\n") + "\n\n(" + who + ")"
}

// hitLines renders each hit once, as a list item. If a fact and a turn have the same content, only the first
// is rendered.
func lines(question string, hits []memory.Hit) []string {
	var out []string
	seen := map[string]bool{text.Hash(question): true}
	for _, h := range hits {
		words := strings.Join(strings.Fields(h.Memory.Content()), " ")
		if words == "" || seen[text.Hash(words)] {
			continue
		}
		seen[text.Hash(words)] = true
		if len(out) == most {
			break
		}
		line := "- " + addressed(h.Memory, shortened(words))
		for _, f := range h.Now {
			if f.Content == "" {
				line += ", which is no longer true"
				continue
			}
			line += ", but now: " + toUser(f.Content) + " (" + f.ObservedAt.Format("2006-01-02") + ")"
		}
		for _, f := range h.Before {
			line += "; before that: " + toUser(f.Content)
		}
		out = append(out, line)
	}
	return out
}

// inSecondPerson rewrites a memory in the second person ("you"), with its date.
func addressed(m memory.Memory, words string) string {
	switch {
	case m.Fact != nil:
		line := toUser(words)
		if m.Link != nil { // "user" in the text of a shared fact means its owner
			line = ownerName(m.Fact.Scope.Owner) + " shared: " + words
		}
		if at := m.Fact.ObservedAt; !at.IsZero() {
			line += " (" + at.Format("2006-01-02") + ")"
		}
		return line
	case m.Turn != nil && m.Turn.Role == memory.RoleUser:
		return "On " + m.Turn.CreatedAt.Format("2006-01-02") + " you said: “" + words + "”"
	case m.Turn != nil:
		return "On " + m.Turn.CreatedAt.Format("2006-01-02") + " the assistant said: “" + words + "”"
	}
	return words
}

// ownerName returns a name for the owner of a shared fact.
func ownerName(home memory.Owner) string {
	switch home.Kind() {
	case memory.GlobalKind:
		return "Everybody's memory"
	case memory.PoolKind:
		return "The pool " + home.Name()
	}
	return home.Name()
}

// secondPersonForms rewrite a fact about the user in the second person.
var forms = []struct {
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

func toUser(fact string) string {
	for _, f := range forms {
		fact = f.from.ReplaceAllString(fact, f.to)
	}
	r := []rune(fact)
	return strings.ToUpper(string(r[:1])) + string(r[1:])
}

func shortened(s string) string {
	r := []rune(s)
	if len(r) <= longest {
		return s
	}
	return strings.TrimSpace(string(r[:longest])) + " …"
}
