package extract

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// clause is one statement of a turn: a sentence, or a part of one with a subject or
// a verb of its own.
type clause struct {
	said            *Utterance
	words           []word
	all             []word // the clause's words and the rest of its sentence's
	conjunction     string // the word that joins it to what stands before it
	inheritsSubject bool   // its subject is that of the clause before it
	first           bool   // it begins its sentence, where people leave "I" out
	short           bool   // words that it leaves out were put in
	text.Span
}

// text returns the turn's words from i up to j as they stand there, without the
// signs of emphasis.
func (c *clause) text(i, j int) string {
	if i >= j {
		return ""
	}
	turn := c.said.Text
	start, end := c.words[i].start, c.words[j-1].end
	for end < len(turn) && turn[end] == '"' && strings.Count(turn[start:end], `"`)%2 == 1 {
		end++
	}
	s := turn[start:end]
	if start == c.words[i].end { // the second half of "wanna"
		s = c.words[i].low + s
	}
	if strings.Contains(s, "*") {
		s = strings.ReplaceAll(s, "*", "")
	}
	if strings.Count(s, `"`)%2 == 1 {
		if start > 0 && turn[start-1] == '"' {
			s = `"` + s
		} else {
			s = strings.ReplaceAll(s, `"`, "")
		}
	}
	if end < len(turn) && turn[end] == '\'' && (strings.HasPrefix(s, "'") || strings.Contains(s, " '")) {
		s += "'"
	}
	return s
}

// at returns the small letters of word i, "" past the end.
func (c *clause) at(i int) string {
	if i < 0 || i >= len(c.words) {
		return ""
	}
	return c.words[i].low
}

// statements calls yield with each clause of a turn that a person says of the
// world. Questions, hypothetical cases, what others said, and text that is handed
// over to be worked on are left out. A clause is good until yield returns.
func statements(s *Utterance, body string, yield func(c *clause)) {
	sc := scanner{s: body}
	coded, signs := false, strings.ContainsAny(body, ";})#")
	for {
		one, more := sc.next()
		if !more {
			return
		}
		words := one.words
		if coded = coded || one.code; (signs || coded) && len(words) > 0 && remarks(body, words[0].start, coded) {
			continue
		}
		if one.asks {
			words = words[:statedBefore(words)]
		}
		if len(words) == 0 || one.code || unreal(words) {
			continue
		}
		split(words, one.bullet, func(c *clause) {
			c.said = s
			yield(c)
		})
	}
}

// remarks reports whether what begins at a place of a turn stands behind the sign of a
// comment in code: on a line after code that begins with one, or after the end of a
// statement on its line.
func remarks(body string, at int, coded bool) bool {
	from := strings.LastIndexByte(body[:at], '\n') + 1
	line := body[from:]
	if end := strings.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	lead := strings.TrimSpace(body[from:at])
	if coded && (lead == "#" || lead == "//" || lead == "--" || lead == "/*" || lead == "*" || lead == ";") {
		return true
	}
	if !strings.ContainsAny(line, ";)}") {
		return false
	}
	for _, sign := range []string{"; --", "; //", "; #", ") //", "} //", ") #", "); --"} {
		if strings.Contains(line, sign) {
			return true
		}
	}
	return false
}

// unsure are words of what is not so, or not yet.
var unsure = lazy.Words("could might maybe perhaps wish supposedly allegedly almost nearly apparently hypothetically")

// cases are words that make a whole sentence a case and no statement.
var cases = lazy.Words("assume assuming if unless whether suppose supposing imagine pretend pretending")

// reports are verbs of those who tell what others say.
var reports = lazy.Words("says said wrote told tells asked claims claimed quote quoted according rumor rumour rumors")

// unreal reports whether a sentence as a whole tells of no fact.
func unreal(words []word) bool {
	if first, second := words[0].low, words[min(1, len(words)-1)].low; (first == "haha" || first == "lol" || first == "ha") && (second == "sure" || second == "yeah" || second == "right") || first == "yeah" && second == "right" || first == "oh" && second == "sure" || first == "yeah" && second == "sure" {
		return true // nobody means what follows
	}
	if first := words[0].low; (first == "example" || first == "examples" || first == "sample") && len(words) > 2 && (words[1].low == ":" || words[2].low == ":" || words[1].low == "-") {
		return true
	}
	for i, w := range words {
		switch {
		case w.low == "not" && i == len(words)-3 && words[i+1].low == "really" && words[i+2].mark(), w.low == "(" && i+2 < len(words) && words[i+1].low == "not" && words[i+2].low == "really":
			return true
		case cases.Has(w.low):
			if w.low == "if" && polite(words[i:]) {
				continue
			}
			return true
		case reports.Has(w.low):
			if i > 0 && (words[i-1].low == "i" || words[i-1].low == "have") || byMe(words, i) || i > 3 && i == len(words)-2 && (words[i+1].low == "no" || words[i+1].low == "yes") {
				continue // "but her landlord says no" reports nothing else
			}
			return true
		case w.low == "story" || w.low == "novel" || w.low == "dream" || w.low == "movie":
			if i > 1 && words[i-2].low == "in" && (words[i-1].low == "the" || words[i-1].low == "my" || words[i-1].low == "this" || words[i-1].low == "a") {
				return true
			}
		}
	}
	return false
}

// byMe reports whether the speaker is who told, and left "I" out: "I'm allergic to cats, told
// her no way".
func byMe(words []word, i int) bool {
	if i < 3 || words[0].low != "i" || words[i-1].low != "," && words[i-1].low != "and" || i+1 == len(words) {
		return false
	}
	switch words[i].low {
	case "told", "asked", "wrote":
		next := words[i+1].low
		return next == "her" || next == "him" || next == "them" || next == "my" || next == "our"
	}
	return false
}

// polite reports whether an "if" is one of courtesy: "if it helps, I'm a nurse".
func polite(words []word) bool {
	if len(words) < 3 {
		return false
	}
	switch words[1].low + " " + words[2].low {
	case "it helps", "that helps", "it matters", "that matters", "you are", "you must", "you need", "you want", "it is", "that is":
		return true
	}
	return false
}

// asking are words that a question begins with.
var asking = lazy.Words("what where when who how why which can could do does did is are should would will any have has tell am")

// statedBefore returns how many words of a question are a statement before it: "I
// live in Lisbon, what should I see?" has one up to the comma.
func statedBefore(words []word) int {
	for i := 1; i < len(words)-1; i++ {
		if w := words[i].low; !words[i].mark() && w != "and" && w != "so" && w != "but" {
			continue
		}
		j := i + 1
		for j < len(words) && (words[j].low == "so" || words[j].low == "and" || words[j].low == "but" || words[j].low == "then" || words[j].mark()) {
			j++
		}
		if j < len(words) && asking.Has(words[j].low) {
			return i
		}
	}
	return 0
}

var (
	// subjects are words that begin a clause.
	subjects = lazy.Words("i we he she it they you there please everyone nobody let")
	// Owners begin the subject of a clause, or a thing.
	Owners = lazy.Words("my our his her their your this that the these those its")
	// joints join clauses.
	joints = lazy.SetOf("joints", wordList)
	// seconds are verbs in the present that may be a second one of a subject: few
	// of them are nouns.
	seconds = lazy.SetOf("seconds", wordList)
)

// split cuts a sentence into clauses.
func split(words []word, bullet bool, yield func(c *clause)) {
	var out clause
	emit := func(i, j int, conjunction string, inheritsSubject bool) {
		if i < j {
			out = clause{words: words[i:j], all: words[i:], conjunction: conjunction, inheritsSubject: inheritsSubject, first: i == 0 && !bullet}
			out.Start, out.End = words[i].start, words[j-1].end
			yield(&out)
		}
	}
	start, conjunction, inheritsSubject := 0, "", false
	for i := 1; i < len(words)-1; i++ {
		w := words[i]
		if w.low == "(" && i+2 < len(words) && IsDigit(words[i+1].low) && words[i+2].low == ")" { // "Tom (7)"
			i += 2
			continue
		}
		hard := w.mark() && w.low != ","
		if !hard && w.low != "," && !joints.Has(w.low) {
			continue
		}
		j, joined := i, ""
		for j < len(words) && (words[j].mark() || joints.Has(words[j].low)) {
			if !words[j].mark() {
				joined = words[j].low
			}
			j++
		}
		if j == len(words) {
			break
		}
		s := j // "but now I live in Oslo"
		if s+2 < len(words) && (words[s].low == "turns" || words[s].low == "turned") && words[s+1].low == "out" {
			s += 2
		}
		for s < len(words)-1 && adverb.Has(words[s].low) {
			s++
		}
		opens := hard || (words[s].low == "i" || words[s].low == "we") || subjects.Has(words[j].low) || Owners.Has(words[j].low) && verbSoon(words[j+1:])
		second := !opens && (joined == "" && w.low == "," && (deedNext(words, j) || theirs(words[start:i], inheritsSubject)) || joined == "and" || joined == "but" || joined == "then" || joined == "so" && words[s].low != "like") && secondVerb(words[start:i], words[j:], inheritsSubject)
		if !opens && !second {
			i = j - 1
			continue
		}
		if w.low == "," && joined == "" && opens && !hard && words[j].low == "that" {
			i = j - 1
			continue
		}
		emit(start, i, conjunction, inheritsSubject)
		start, conjunction, inheritsSubject = j, joined, second
		if hard && joined == "" {
			conjunction = w.low
		}
		i = j - 1
		if i < start {
			i = start
		}
	}
	emit(start, len(words), conjunction, inheritsSubject)
}

// deedNext reports whether what begins at j goes on after a comma with another deed: "sold my
// bike, got a scooter instead".
func deedNext(words []word, j int) bool {
	v, ok := Verbs()[words[j].low]
	return ok && v.Form&preterite != 0 && v.Form&base == 0 && v.class&deed != 0 && j+1 < len(words) && determiner.Has(words[j+1].low)
}

// verbSoon reports whether a verb follows within a few words, as it does after a
// subject.
func verbSoon(words []word) bool {
	for i, w := range words {
		if i == 5 || w.mark() {
			return false
		}
		switch w.low {
		case "is", "are", "was", "were", "has", "have", "will", "can", "does", "did", "do", "had":
			return true
		}
		if v, ok := Verbs()[w.low]; ok && i > 0 && v.Form&(preterite|thirdForm) != 0 {
			return true
		}
	}
	return false
}

// secondVerb reports whether next begins with a second verb of the same subject, in
// the tense of the first: "I moved to Leeds and started a bakery". goesOn is as in [theirs].
func secondVerb(before, next []word, goesOn bool) bool {
	i := 0
	for i < len(next)-1 && adverb.Has(next[i].low) {
		i++
	}
	w := next[i].low
	v, ok := VerbOf(w)
	if i == len(next)-1 && !ok {
		return false
	}
	for k := 1; k < len(before); k++ { // "I want to help and teach": the second is not a finite verb
		if b := before[k-1].low; b == "to" || b == "can" || b == "will" {
			if v, ok := Verbs()[before[k].low]; ok && v.Form&base != 0 && seconds.Has(w) {
				return false
			}
		}
	}
	if seconds.Has(w) && w != "was" && w != "can" && w != "do" && w != "am" {
		return finite(before) == base
	}
	if w == "am" || w == "was" || w == "do" || w == "can" {
		return i+1 < len(next) && finite(before) != 0
	}
	return ok && v.Form&preterite != 0 && v.Form&base == 0 && finite(before) == preterite || ok && v.Form == thirdForm && theirs(before, goesOn)
}

// theirs reports whether a clause says in the present what a relative of the speaker's does, or
// whom "she" or "he" means. goesOn is whether its subject is that of the clause before it.
func theirs(words []word, goesOn bool) bool {
	i := 0
	switch w := words[0].low; {
	case w == "my" || w == "our":
		c := clause{words: words}
		if i = kinEnd(&c, 1); i == 1 {
			return false
		}
		i = c.nameEnd(i)
	case w == "she" || w == "he":
		i = 1
	case !goesOn:
		return false
	}
	for i < len(words) && adverb.Has(words[i].low) {
		i++
	}
	if i == len(words) {
		return false
	}
	v, ok := VerbOf(words[i].low)
	return ok && v.Form == thirdForm || words[i].low == "is" || words[i].low == "has"
}

// finite returns the form of the verb after the first "I" of a clause: base,
// preterite, or 0 without one.
func finite(words []word) form {
	for i, w := range words {
		if w.low != "i" && w.low != "we" {
			if i == 0 && !adverb.Has(w.low) {
				if v, ok := Verbs()[w.low]; ok && v.Form&preterite != 0 && v.Form&base == 0 {
					return preterite // "Moved to Leeds and started a bakery"
				}
			}
			continue
		}
		for i++; i < len(words) && adverb.Has(words[i].low); i++ {
		}
		if i == len(words) {
			return 0
		}
		switch w := words[i].low; w {
		case "am", "are", "do", "have", "can":
			return base
		case "was", "were", "did", "had":
			return preterite
		default:
			v, ok := VerbOf(w)
			switch {
			case !ok:
				return 0
			case v.Form&base != 0:
				return base
			case v.Form&preterite != 0:
				return preterite
			}
		}
		return 0
	}
	return 0
}
