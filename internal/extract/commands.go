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

// Command is a wish about memory in a user's own words: "forget my old address".
type Command struct {
	What string // what to forget, "" with All
	All  bool   // everything
	// Of says what the wish names where nothing else tells that memory is meant: then it
	// is about memory only if a fact is known of it.
	Of Naming
	// OffTheRecord is set where the wish may be the first to say what it is about: "don't
	// remember that I smoke". It goes itself then, whatever else is known.
	OffTheRecord bool
	Span         memory.Span
}

// Naming is what a wish to forget names that may be about something else than memory.
type Naming int

// The kinds of them. The zero value is a wish that is about memory for sure.
const (
	NamesNothing   Naming = iota
	NamesSomebody         // "forget about Eva": whom a fact calls so, or whose they are
	NamesThing            // "forget the door code": of which one fact says what it is
	NamesStatement        // "forget that the door code is 17": that one fact makes
)

// Commands returns what the user asks to be remembered, as candidates that never
// wait, and what they ask to be forgotten. With a model as with rules these are
// read from the words themselves.
func Commands(said []Utterance) (remember []Candidate, forget []Command) {
	for _, s := range said {
		if s.Turn.Role == memory.RoleUser {
			r, f := commands(s)
			remember, forget = append(remember, r...), append(forget, f...)
		}
	}
	return remember, forget
}

// commandWords are those that a wish about memory needs one of.
var commandWords = []string{
	"remember", "memori", "note", "mind", "forget", "save", "store", "delete", "erase", "remove", "clear", "wipe", "drop", "scrap",
}

func commands(s Utterance) (remember []Candidate, forget []Command) {
	if !text.Holds(s.Text, commandWords...) {
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
			continue // "note that it returns nil" is for whoever reads
		}
		for _, c := range remembering(that, strings.TrimRight(what, " ?!."), s) {
			c.Span = &memory.Span{Turn: s.Turn.ID, Start: sentence.Start, End: sentence.End}
			c.Quote, c.Turn = words, s.Turn.ID
			c.Remember, c.Confidence = true, 1
			remember = append(remember, c)
		}
	}
	return remember, forget
}

// remembering returns the facts of "remember …": those a rule reads, or else the
// words themselves in the third person.
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
		return nil // a hint to whoever reads, not a thing to know
	case that == "to":
		will := text.Absolute("I will "+what, s.Turn.CreatedAt) // with its tense, so that "on Friday" is to come
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

// ReadPlain returns what the rules read in words that stand by themselves.
func ReadPlain(what string, s Utterance) []Candidate {
	r := reader{said: &Utterance{Turn: s.Turn, Text: what}, last: user}
	r.read(what)
	return r.found
}

// forgetting reads what the pattern "forget" found in a sentence.
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
	if !ofMemory && !unsaid && talksOn(words, len(words)-len(m[4])) {
		return Command{}, false
	}
	if ofMemory || pattern("of own").MatchString(words) {
		return Command{What: about, OffTheRecord: unsaid}, about != ""
	}
	if name := pattern("name").FindStringSubmatch(about); name != nil {
		return Command{What: name[1], Of: NamesSomebody}, true
	}
	if !forget { // what else is deleted has nothing to do with memory
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

// talksOn reports whether behind what is to be forgotten, which begins at a place and is not
// called the speaker's own, another clause states something: "forget the gym, I cancelled it".
func talksOn(words string, at int) bool {
	for _, s := range english.Statements(words, english.Read(words), time.Time{}) {
		if s.Start > at {
			what := strings.TrimRight(words[at:s.Start], " ,;:-–—")
			return len(text.Terms(what)) > 0 && !pattern("of own").MatchString(what)
		}
	}
	return false
}

// recordWords are words of which a wish to keep something off the record has one.
var recordWords = []string{
	"remember", "memor", "save ", "store ", "keep ", "note ", "record", "learn ", "log ", "write ", "between ",
}

// OffTheRecord reports whether who says this wishes that it is not remembered: "don't remember
// this: I take Prozac", "off the record, …". It is for the whole turn.
func OffTheRecord(said string) bool {
	return text.Holds(said, recordWords...) && pattern("off the record").MatchString(said)
}

// Instructs reports whether a text tells a model what to do.
func Instructs(s string) bool { return pattern("instruction").MatchString(s) }
