package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/english"
	"github.com/loci-memory/loci/internal/lazy"
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

var (
	rememberForm = lazy.Compile(`(?i)^(?:(?:please|ok|okay|hey|hi|and|also|so|loci|can you|could you|will you|i (?:want|need) you to|i['’]d like you to)[, ]+)*(?:remember|memori[sz]e|note down|(?P<note>note)|(?:make|take) (?:a )?note|keep in mind|don['’]t forget|do not forget|(?:save|store)(?: this)? (?:to|in) (?:your )?memory)(?::\s*|\s+)(?:(?:for (?:later|next time|the future|me)|please|this|the following)[:,]?\s+)*(?P<that>that\s+|of\s+|:\s*|to\s+|about\s+)?(?P<what>.+)$`)
	forgetForm   = lazy.Compile(`(?i)^(?:(?:please|ok|okay|hey|hi|and|also|so|now|loci|can you|could you|will you|i (?:want|need) you to|i['’]d like you to|you can|you should)[, ]+)*(?:(?P<strict>drop|scrap|(?P<unsaid>don['’]t|do not|stop) (?:remember(?:ing)?|memori[sz](?:e|ing)|stor(?:e|ing)|sav(?:e|ing)|keep(?:ing)?(?: in mind)?))|(?P<forget>forget)|delete|erase|remove|clear|wipe)\s+(?:from (?:your )?memory )?(?P<what>.+)$`)
	forgetAll    = lazy.Compile(`(?i)^(?:everything|all)(?: (?:that )?(?:you (?:know|remember|have|stored)|i(?:['’]ve| have)? (?:said|told you)|of (?:it|that|this)))*(?: about me| so far| from your memory| in (?:your )?memory)*$|^(?:all|everything in) (?:of )?(?:my|your) (?:memory|memories|data)$|^me$|^(?:my|your) memor(?:y|ies)$`)
	forgetAbout  = lazy.Compile(`(?i)^(?:about |that |(?:what|everything|anything|all|the things?) (?:that )?(?:i|you)(?:['’]ve| have)? (?:just )?(?:said|told you|mentioned|know|remember) (?:about |of )|everything (?:you know )?about |all (?:you know )?about |anything about |the (?:fact|memory) (?:that|about|of) |my memory (?:of|about) )+`)
	inMemory     = lazy.Compile(`(?: please| (?:from|in) your memory| from memory)+$`)
	idiom        = lazy.Compile(`(?i)^(?:about )?(?:(?:it|this|that|this one|that one|it all|what i (?:just )?said)(?:,? (?:please|then|now|for now))?(?:[,;:–—-].*| (?:and|but|let['’]?s|let us|i['’]ll|we)\b.*)?|the (?:last|previous|above) (?:one|message|part|question|step|line|paragraph|sentence)s?\b.*|the \w+ (?:column|row|file|line|word|function|variable|tag|element|space|comma)s?\b.*)$`)
	ofMemory     = lazy.Compile(`(?i)\b(?:memor(?:y|ies)|you know|you remember|about me|i (?:said|told)|my|i|i['’]m)\b`)

	// plainly is how a wish about memory goes on after verbs that are mostly about
	// other things: "drop the table" is none, "don't remember where it was" neither.
	plainly = lazy.Compile(`(?i)^(?:(?:about )?(?:my|our) |that (?:i|i['’]m|i['’]ve|i['’]d|my|our|we)\b|(?:what|everything|anything|all|the things?) (?:that )?(?:i|you)(?:['’]ve| have)? (?:just )?(?:said|told|mentioned|know|remember)|the (?:fact|memory) )|\bmemory\b`)
	aName   = lazy.Compile(`^((?:\p{Lu}[\p{L}'’-]+)(?: \p{Lu}[\p{L}'’-]+){0,2})$`)
	aThing  = lazy.Compile(`(?i)^the ((?:[\p{L}\p{N}'’-]+ ){0,3}[\p{L}\p{N}'’-]+)$`)
)

// commandWords are those that a wish about memory needs one of.
var commandWords = []string{"remember", "memori", "note", "mind", "forget", "save", "store", "delete", "erase", "remove", "clear", "wipe", "drop", "scrap"}

func commands(s Utterance) (remember []Candidate, forget []Command) {
	if !text.Holds(s.Text, commandWords...) {
		return nil, nil
	}
	body := s.Text
	for _, sentence := range text.Sentences(body) {
		words := strings.TrimSpace(sentence.Of(body))
		if m := forgetForm.FindStringSubmatch(words); m != nil && !rememberForm.MatchString(words) {
			if c, ok := forgetting(m, words); ok {
				c.Span = memory.Span{Turn: s.Turn.ID, Start: sentence.Start, End: sentence.End}
				forget = append(forget, c)
			}
			continue
		}
		m := rememberForm.FindStringSubmatch(words)
		if m == nil || text.Asks(words) && !wished.MatchString(words) {
			continue
		}
		that, what := strings.ToLower(strings.TrimSpace(m[rememberForm.SubexpIndex("that")])), m[rememberForm.SubexpIndex("what")]
		if m[rememberForm.SubexpIndex("note")] != "" && (that != "that" || !ownFirst.MatchString(what)) {
			continue // "note that it returns nil" is for whoever reads
		}
		for _, c := range remembering(that, strings.TrimRight(what, " ?!."), s) {
			c.Span = &memory.Span{Turn: s.Turn.ID, Start: sentence.Start, End: sentence.End}
			c.Quote, c.Turn = sentence.Of(s.Text), s.Turn.ID
			c.Remember, c.Confidence = true, 1
			remember = append(remember, c)
		}
	}
	return remember, forget
}

// wished is a question that is none: "can you remember that …?"
var wished = lazy.Compile(`(?i)^(?:can|could|will) you (?:please )?(?:remember|note|memori[sz]e|keep)\b.*\bthat\b`)

// remembering returns the facts of "remember …": those a rule reads, or else the
// words themselves in the third person.
func remembering(that, what string, s Utterance) []Candidate {
	if that != "that" && wishes.MatchString(what) {
		if out := ReadPlain("always "+what, s); len(out) > 0 {
			return out
		}
	}
	fact := Candidate{Subject: "user", Model: "rule:remember"}
	switch {
	case what == "", idiom.MatchString(what), toOther.MatchString(what), Instructs(what),
		that == "to" && !own.MatchString(what), that == "" && !own.MatchString(what) && !states.MatchString(what):
		return nil // a hint to whoever reads, not a thing to know
	case that == "to":
		will := text.Absolute("I will "+what, s.Turn.CreatedAt) // with its tense, so that "on Friday" is to come
		fact.Text, fact.Category = "User wants to be reminded to "+english.ThirdPerson(strings.TrimPrefix(will, "I will ")), "plan"
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

// wishes begins a wish how to be answered or called: "remember to call me Max", "remember to answer in French".
var wishes = lazy.Compile(`(?i)^(?:always|answer|reply|respond|call me|address me) `)

// ReadPlain returns what the rules read in words that stand by themselves.
func ReadPlain(what string, s Utterance) []Candidate {
	alone := Utterance{Turn: s.Turn, Text: what}
	r := reader{said: &alone, last: user}
	r.read(what)
	return r.found
}

// toOther begins what is said to the assistant about itself.
var toOther = lazy.Compile(`(?i)^(?:[-–—]|(?:you|your|we|yourself|consider|always|never|do not|don['’]t|and|or|as|when|how|where|what|why|each|every)\b)`)

// states is the verb of what says how something is.
var states = lazy.Compile(`(?i)\b(?:is|are|was|has|have|lives|works)\b`)

// ownFirst begins what somebody says of themselves.
var ownFirst = lazy.Compile(`(?i)^(?:i|i['’](?:m|ve|d|ll)|my|our)\b`)

// own are the words of somebody who speaks of their own things.
var own = lazy.Compile(`(?i)\b(?:i|i['’]m|my|me|mine|our)\b`)

// forgetting reads what [forgetForm] found in a sentence.
func forgetting(m []string, words string) (Command, bool) {
	part := func(name string) string { return m[forgetForm.SubexpIndex(name)] }
	what, unsaid := strings.TrimRight(strings.TrimSpace(part("what")), " .!?"), part("unsaid") != ""
	if part("strict") != "" && (!plainly.MatchString(what) || text.Asks(words)) {
		return Command{}, false
	}
	if forgetAll.MatchString(what) {
		return Command{All: true}, !unsaid
	}
	if idiom.MatchString(what) {
		return Command{}, false
	}
	about := strings.TrimSpace(inMemory.ReplaceAllString(forgetAbout.ReplaceAllString(what, ""), ""))
	if ofMemory.MatchString(words) {
		return Command{What: about, OffTheRecord: unsaid}, about != ""
	}
	if name := aName.FindStringSubmatch(about); name != nil {
		return Command{What: name[1], Of: NamesSomebody}, true
	}
	if part("forget") == "" { // what else is deleted has nothing to do with memory
		return Command{}, false
	}
	if strings.HasPrefix(strings.ToLower(what), "that ") && states.MatchString(about) {
		return Command{What: about, Of: NamesStatement}, true
	}
	if thing := aThing.FindStringSubmatch(about); thing != nil {
		return Command{What: thing[1], Of: NamesThing}, true
	}
	return Command{}, false
}
