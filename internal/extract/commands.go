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

// ForgetCommand is a request to forget in a user's own words: "forget my old address".
type ForgetCommand struct {
	Object       string // the thing or statement to forget; "" if IsEverything is set
	IsEverything bool   // forget everything
	// ObjectKind is the kind of object in a request that does not mention memory. Such a request counts as a request
	// to forget only if a stored fact is about the object.
	ObjectKind ObjectKind
	// IsOffTheRecord is set if the request may be the first mention of its object: "don't remember that I
	// smoke". The request's turn is then redacted.
	OffTheRecord bool
	Span         memory.Span
}

// ObjectKind is the kind of object in an ambiguous request to forget.
type ObjectKind int

// The kinds. The zero value means that the request clearly concerns memory.
const (
	ObjectUnambiguous ObjectKind = iota
	ObjectPerson                 // "forget about Eva": a person named in a fact
	ObjectThing                  // "forget the door code": one fact states the code
	ObjectStatement              // "forget that the door code is 17": a fact states the same
)

// MemoryCommands returns the statements that the user asks to remember, as candidates without review, and the
// requests to forget. Callers must apply both even if a model extracts the facts.
func MemoryCommands(utterances []Utterance) (candidates []Candidate, commands []ForgetCommand) {
	for _, s := range utterances {
		if s.Turn.Role == memory.RoleUser {
			r, f := memoryCommandsIn(s)
			candidates, commands = append(candidates, r...), append(commands, f...)
		}
	}
	return candidates, commands
}

// commandWords are parts of words. Every request about memory contains one of them.
var commandWords = []string{
	"remember", "memori", "note", "mind", "forget", "save", "store", "delete", "erase", "remove", "clear", "wipe", "drop", "scrap",
}

func memoryCommandsIn(s Utterance) (candidates []Candidate, commands []ForgetCommand) {
	if !text.ContainsAny(s.Text, commandWords...) {
		return nil, nil
	}
	for _, sentence := range text.Sentences(s.Text) {
		words := sentence.Slice(s.Text)
		if m := namedPattern("forget").FindStringSubmatch(words); m != nil && !namedPattern("remember").MatchString(words) {
			if c, ok := forgetCommand(m, words); ok {
				c.Span = memory.Span{Turn: s.Turn.ID, Start: sentence.Start, End: sentence.End}
				commands = append(commands, c)
			}
			continue
		}
		m := namedPattern("remember").FindStringSubmatch(words)
		if m == nil || text.EndsInQuestionMark(words) && !namedPattern("wished").MatchString(words) {
			continue
		}
		noteVerb, conjunction, object := m[1], strings.ToLower(strings.TrimSpace(m[2])), m[3]
		if noteVerb != "" && (conjunction != "that" || !namedPattern("own first").MatchString(object)) {
			continue // "note that it returns nil" addresses the reader
		}
		for _, c := range rememberedFacts(conjunction, strings.TrimRight(object, " ?!."), s) {
			c.Span = &memory.Span{Turn: s.Turn.ID, Start: sentence.Start, End: sentence.End}
			c.Quote, c.TurnID = words, s.Turn.ID
			c.RememberRequested, c.Confidence = true, 1
			candidates = append(candidates, c)
		}
	}
	return candidates, commands
}

// rememberedFacts returns the facts after "remember", "remember that" or "remember to": facts found by rules, or
// else the words in the third person.
func rememberedFacts(conjunction, words string, s Utterance) []Candidate {
	if conjunction != "that" && namedPattern("wishes").MatchString(words) {
		if out := CandidatesIn("always "+words, s); len(out) > 0 {
			return out
		}
	}
	fact := Candidate{Subject: "user", Model: "rule:remember"}
	switch {
	case words == "", namedPattern("idiom").MatchString(words), namedPattern("to other").MatchString(words), IsInstruction(words),
		conjunction == "to" && !namedPattern("own").MatchString(words), conjunction == "" && !namedPattern("own").MatchString(words) && !namedPattern("states").MatchString(words):
		return nil // the words advise the reader and state no fact
	case conjunction == "to":
		will := text.WithAbsoluteDates("I will "+words, s.Turn.CreatedAt) // the future tense makes "on Friday" mean the next Friday
		fact.Text = "User wants to be reminded to " + english.ToThirdPerson(strings.TrimPrefix(will, "I will "))
		fact.Category = "plan"
		return []Candidate{fact}
	}
	if out := CandidatesIn(words, s); len(out) > 0 {
		return out
	}
	fact.Text = english.ToThirdPerson(words)
	first, n := utf8.DecodeRuneInString(fact.Text)
	fact.Text = string(unicode.ToUpper(first)) + fact.Text[n:]
	return []Candidate{fact}
}

// CandidatesIn returns the candidates that the rules find in words, a part of the turn s.
func CandidatesIn(words string, s Utterance) []Candidate {
	r := statementReader{utterance: &Utterance{Turn: s.Turn, Text: words}, lastSubject: userSubject}
	r.readText(words)
	return r.candidates
}

// forgetCommand returns the command for a match of the pattern "forget" in a sentence (words).
func forgetCommand(match []string, words string) (ForgetCommand, bool) {
	needsPlainObject, offTheRecord, saysForget, object := match[1] != "", match[2] != "", match[3] != "", strings.TrimRight(match[4], " .!?")
	if needsPlainObject && (!namedPattern("plainly").MatchString(object) || text.EndsInQuestionMark(words)) {
		return ForgetCommand{}, false
	}
	if namedPattern("everything").MatchString(object) {
		return ForgetCommand{IsEverything: true}, !offTheRecord
	}
	if namedPattern("idiom").MatchString(object) {
		return ForgetCommand{}, false
	}
	target := strings.TrimSpace(namedPattern("in memory").ReplaceAllString(namedPattern("about").ReplaceAllString(object, ""), ""))
	ofMemory := namedPattern("of memory").MatchString(words)
	if !ofMemory && !offTheRecord && clauseFollows(words, len(words)-len(match[4])) {
		return ForgetCommand{}, false
	}
	if ofMemory || namedPattern("of own").MatchString(words) {
		return ForgetCommand{Object: target, OffTheRecord: offTheRecord}, target != ""
	}
	if name := namedPattern("name").FindStringSubmatch(target); name != nil {
		return ForgetCommand{Object: name[1], ObjectKind: ObjectPerson}, true
	}
	if !saysForget { // deleting anything else does not concern memory
		return ForgetCommand{}, false
	}
	if strings.HasPrefix(strings.ToLower(object), "that ") && namedPattern("states").MatchString(target) {
		return ForgetCommand{Object: target, ObjectKind: ObjectStatement}, true
	}
	if thing := namedPattern("thing").FindStringSubmatch(target); thing != nil {
		return ForgetCommand{Object: thing[1], ObjectKind: ObjectThing}, true
	}
	return ForgetCommand{}, false
}

// clauseFollows reports whether another clause follows the object of a request: "forget the gym, I cancelled
// it". objectStart is the byte offset of the object.
func clauseFollows(words string, objectStart int) bool {
	for _, s := range english.Statements(words, english.ParseSentences(words), time.Time{}) {
		if s.Start > objectStart {
			object := strings.TrimRight(words[objectStart:s.Start], " ,;:-–—")
			return len(text.Terms(object)) > 0 && !namedPattern("of own").MatchString(object)
		}
	}
	return false
}

// recordWords are parts of words. Every request to keep something off the record contains one of them.
var recordWords = []string{
	"remember", "memor", "save ", "store ", "keep ", "note ", "record", "learn ", "log ", "write ", "between ",
}

// IsOffTheRecord reports whether the speaker asks not to remember the message: "don't remember this: I take
// Prozac", "off the record, …".
func IsOffTheRecord(message string) bool {
	return text.ContainsAny(message, recordWords...) && namedPattern("off the record").MatchString(message)
}

// IsInstruction reports whether a text gives a model instructions.
func IsInstruction(s string) bool { return namedPattern("instruction").MatchString(s) }
