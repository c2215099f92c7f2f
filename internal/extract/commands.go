package extract

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Command is a request about memory in a user's own words: "forget my old address".
type Command struct {
	What string // the thing or statement to forget; "" if Everything is set
	All  bool   // forget everything
	// Of is the kind of object in a request that does not mention memory. Such a request counts only if
	// memory has a fact about the object.
	Of Naming
	// OffTheRecord is set if the request may be the first mention of its object: "don't remember that I
	// smoke". The request's turn is then redacted.
	OffTheRecord bool
	Span         memory.Span
}

// Naming is the kind of object in an ambiguous request to forget.
type Naming int

// The kinds. The zero value means that the request clearly concerns memory.
const (
	NamesNothing   Naming = iota
	NamesSomebody         // "forget about Eva": a person named in a fact
	NamesThing            // "forget the door code": one fact states the code
	NamesStatement        // "forget that the door code is 17": a fact states the same
)

// Commands returns the statements that the user asks to remember, as candidates without review, and the
// requests to forget. It is used even if a model extracts facts.
func Commands(utterances []Utterance) (remember []Candidate, forget []Command) {
	for _, s := range utterances {
		if s.Turn.Role == memory.RoleUser {
			r, f := commands(s)
			remember, forget = append(remember, r...), append(forget, f...)
		}
	}
	return remember, forget
}

// Every request about memory contains one of commandWords.
var commandWords = []string{
	"remember", "memori", "note", "mind", "forget", "save", "store", "delete", "erase", "remove", "clear", "wipe", "drop", "scrap",
}

func commands(s Utterance) (remember []Candidate, forget []Command) {
	if !text.ContainsAny(s.Text, commandWords...) {
		return nil, nil
	}
	for _, sentence := range text.Sentences(s.Text) {
		words := sentence.Of(s.Text)
		if m := pattern("forget").FindStringSubmatch(words); m != nil && !pattern("remember").MatchString(words) {
			if c, ok := forgetting(m, words); ok {
				c.Span = memory.Span{Turn: s.Turn.ID, Start: sentence.Start, End: sentence.End}
				forget = append(forget, c)
			}
			continue
		}
		m := pattern("remember").FindStringSubmatch(words)
		if m == nil || text.Asks(words) && !pattern("wished").MatchString(words) {
			continue
		}
		note, that, what := m[1], strings.ToLower(strings.TrimSpace(m[2])), m[3]
		if note != "" && (that != "that" || !pattern("own first").MatchString(what)) {
			continue // "note that it returns nil" addresses the reader
		}
		for _, c := range remembering(that, strings.TrimRight(what, " ?!."), s) {
			c.Span = &memory.Span{Turn: s.Turn.ID, Start: sentence.Start, End: sentence.End}
			c.Quote, c.Turn = words, s.Turn.ID
			c.RememberRequested, c.Confidence = true, 1
			remember = append(remember, c)
		}
	}
	return remember, forget
}

// remembering returns the facts after "remember", "remember that" or "remember to": facts found by rules, or
// else the words in the third person.
func remembering(that, what string, s Utterance) []Candidate {
	if that != "that" && pattern("wishes").MatchString(what) {
		if out := ReadPlain("always "+what, s); len(out) > 0 {
			return out
		}
	}
	fact := Candidate{Subject: "user", Model: "rule:remember"}
	switch {
	case what == "", pattern("idiom").MatchString(what), pattern("to other").MatchString(what), Instructs(what),
		that == "to" && !pattern("own").MatchString(what), that == "" && !pattern("own").MatchString(what) && !pattern("states").MatchString(what):
		return nil // the words advise the reader and state no fact
	case that == "to":
		will := text.Absolute("I will "+what, s.Turn.CreatedAt) // the future tense makes "on Friday" mean the next Friday
		fact.Text = "User wants to be reminded to " + english.ThirdPerson(strings.TrimPrefix(will, "I will "))
		fact.Category = "plan"
		return []Candidate{fact}
	}
	if out := ReadPlain(what, s); len(out) > 0 {
		return out
	}
	fact.Text = english.ThirdPerson(what)
	first, n := utf8.DecodeRuneInString(fact.Text)
	fact.Text = string(unicode.ToUpper(first)) + fact.Text[n:]
	return []Candidate{fact}
}

// ReadPlain returns the candidates that the rules find in words of a turn, without the rest of the turn.
func ReadPlain(what string, s Utterance) []Candidate {
	r := reader{utterance: &Utterance{Turn: s.Turn, Text: what}, last: user}
	r.read(what)
	return r.found
}

// forgetting returns the command for a match m of the pattern "forget" in a sentence.
func forgetting(m []string, words string) (Command, bool) {
	strict, unsaid, forget, what := m[1] != "", m[2] != "", m[3] != "", strings.TrimRight(m[4], " .!?")
	if strict && (!pattern("plainly").MatchString(what) || text.Asks(words)) {
		return Command{}, false
	}
	if pattern("everything").MatchString(what) {
		return Command{All: true}, !unsaid
	}
	if pattern("idiom").MatchString(what) {
		return Command{}, false
	}
	about := strings.TrimSpace(pattern("in memory").ReplaceAllString(pattern("about").ReplaceAllString(what, ""), ""))
	ofMemory := pattern("of memory").MatchString(words)
	if !ofMemory && !unsaid && continuesAfter(words, len(words)-len(m[4])) {
		return Command{}, false
	}
	if ofMemory || pattern("of own").MatchString(words) {
		return Command{What: about, OffTheRecord: unsaid}, about != ""
	}
	if name := pattern("name").FindStringSubmatch(about); name != nil {
		return Command{What: name[1], Of: NamesSomebody}, true
	}
	if !forget { // deleting anything else does not concern memory
		return Command{}, false
	}
	if strings.HasPrefix(strings.ToLower(what), "that ") && pattern("states").MatchString(about) {
		return Command{What: about, Of: NamesStatement}, true
	}
	if thing := pattern("thing").FindStringSubmatch(about); thing != nil {
		return Command{What: thing[1], Of: NamesThing}, true
	}
	return Command{}, false
}

// continuesAfter reports whether another clause follows the object of a request: "forget the gym, I cancelled
// it". at is the byte offset of the object.
func continuesAfter(words string, at int) bool {
	for _, s := range english.Statements(words, english.Read(words), time.Time{}) {
		if s.Start > at {
			what := strings.TrimRight(words[at:s.Start], " ,;:-–—")
			return len(text.Terms(what)) > 0 && !pattern("of own").MatchString(what)
		}
	}
	return false
}

// Every request to keep something off the record contains one of recordWords.
var recordWords = []string{
	"remember", "memor", "save ", "store ", "keep ", "note ", "record", "learn ", "log ", "write ", "between ",
}

// OffTheRecord reports whether the speaker asks not to remember the message: "don't remember this: I take
// Prozac", "off the record, …".
func OffTheRecord(message string) bool {
	return text.ContainsAny(message, recordWords...) && pattern("off the record").MatchString(message)
}

// Instructs reports whether a text gives a model instructions.
func Instructs(s string) bool { return pattern("instruction").MatchString(s) }
