package text

import (
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
)

// Manner is whether a text tells something or asks for it, by its form alone.
type Manner uint8

// The manners.
const (
	Tells  Manner = iota // something in it is stated, or may be
	Phrase               // it is a phrase without a verb, which may ask or answer: "My home address, please"
	Seeks                // all of it are questions and requests: "Tell me my home address"
)

// maxSeeks is how many bytes a text has at most that does nothing but ask: a longer one
// says why, too.
const maxSeeks = 240

// MannerOf returns the manner of a text. Where a question tells something by the way
// ("You know that I moved?", "I live in Porto, right?") it is [Tells]: in doubt a text
// does. The forms are English; of other languages it knows the question mark.
func MannerOf(s string) Manner {
	if !MayAsk(s) {
		return Tells
	}
	is := Tells
	for _, sentence := range Sentences(s) {
		switch mannerOf(sentence.Of(s)) {
		case Tells:
			return Tells
		case Phrase:
			is = max(is, Phrase)
		case Seeks:
			is = Seeks
		}
	}
	return is
}

// MayAsk is false for most texts that tell something, and quick about it: those that are
// long, or begin as no question or request does and have no question mark.
func MayAsk(s string) bool {
	if len(s) > maxSeeks {
		return false
	}
	if strings.Count(s, " ") < longestPhrase || strings.IndexByte(s, '?') >= 0 || strings.Contains(s, "？") {
		return true
	}
	first, rest := firstWord(s)
	if first != "i" {
		return opensAsking.Has(first)
	}
	second, _ := firstWord(rest)
	return wishing.Has(second)
}

// firstWord returns the first run of ASCII letters in s, in small letters where it was
// in capitals, and what follows it.
func firstWord(s string) (word, rest string) {
	start := 0
	for start < len(s) && !letter(s[start]) {
		start++
	}
	end := start
	for end < len(s) && letter(s[end]) {
		end++
	}
	return strings.ToLower(s[start:end]), s[end:]
}

// mannerOf is MannerOf of one sentence. One of nothing but a greeting is a phrase.
func mannerOf(sentence string) Manner {
	marked := Asks(sentence)
	room := make([]string, 0, 24)
	EachWord(sentence, func(w string) { room = append(room, w) })
	w := words(room)
	for len(w) > 0 && leadIns.Has(w[0]) {
		w = w[1:]
	}
	for len(w) > 0 && (w[len(w)-1] == "please" || w[len(w)-1] == "thanks") {
		w = w[:len(w)-1]
	}
	if !questioning.Has(w.at(0)) && w.tells() {
		return Tells
	}
	if w.asks(marked) || w.requests(sentence) {
		return Seeks
	}
	switch bare := len(w) <= longestPhrase && !slices.ContainsFunc(w, func(x string) bool { return verbal.Has(x) }); {
	case bare && marked:
		return Seeks
	case bare:
		return Phrase
	}
	return Tells
}

// longestPhrase is how many words a phrase has at most.
const longestPhrase = 8

type words []string

// at returns a word, "" beyond the ends.
func (w words) at(i int) string {
	if i < 0 || i >= len(w) {
		return ""
	}
	return w[i]
}

// tells reports whether a question gives what it seems to ask: after "do you know" and
// its like stands a statement.
func (w words) tells() bool {
	for i, verb := range w[:min(len(w), 6)] {
		if !knowing.Has(verb) {
			continue
		}
		next := i + 1
		for w.at(next) == "you" || w.at(next) == "me" || w.at(next) == "to" && toPerson.Has(w.at(next+1)) {
			next++
		}
		x := w.at(next)
		return x == "that" || x == "to" || stating.Has(x) && w.at(next+1) != ""
	}
	return false
}

// asks reports whether the words begin as a question: with a question word or a verb
// that stands before its subject. Without a question mark the subject must show.
func (w words) asks(marked bool) bool {
	first := 0
	if leading.Has(w.at(0)) && questioning.Has(w.at(1)) { // "in which city"
		first = 1
	}
	switch {
	case questioning.Has(w.at(first)):
		if marked || contracted.Has(w.at(first)) || auxiliary.Has(w.at(first+1)) {
			return true
		}
		for i := first + 1; i < min(len(w), first+4); i++ {
			if subject.Has(w[i]) {
				return false // "what I like is …"
			}
			if auxiliary.Has(w[i]) {
				return true
			}
		}
		return len(w) == first+1 || w.at(first+1) == "about"
	case auxiliary.Has(w.at(0)):
		return marked || subject.Has(w.at(1))
	case w.at(0) == "you" && (knowing.Has(w.at(1)) || w.at(1) == "have"), strings.HasPrefix(w.at(0), "any"):
		return marked
	}
	return false
}

// requests reports whether the words wish to be told something.
func (w words) requests(sentence string) bool {
	next := func(i int) bool { return sought.Has(w.at(i)) || questioning.Has(w.at(i)) }
	switch w.at(0) {
	case "tell", "give", "send", "show", "remind", "get", "find":
		if x := w.at(1); x == "me" || x == "us" {
			return w.at(2) != "to" && w.at(2) != "that" && !stating.Has(w.at(2))
		}
		return w[0] != "tell" && w[0] != "remind" && w[0] != "give" && next(1)
	case "look":
		return w.at(1) == "up" || w.at(1) == "for"
	case "search":
		return w.at(1) == "for" || next(1)
	case "list", "name", "describe", "check", "repeat", "state", "recall", "summarize", "summarise":
		return next(1)
	case "let":
		return w.at(1) == "me" && (w.at(2) == "know" || w.at(2) == "have" || w.at(2) == "see")
	case "i":
		return w.wishes(sentence, next)
	}
	return false
}

// wishes reports whether what follows "I" is the wish to know.
func (w words) wishes(sentence string, next func(int) bool) bool {
	i := 1
	for w.at(i) == "really" || w.at(i) == "just" || w.at(i) == "also" || w.at(i) == "would" || w.at(i) == "am" {
		i++
	}
	verb := w.at(i)
	switch verb {
	case "like":
		if !strings.Contains(sentence, "d like") { // I would; who does says so
			return false
		}
	case "need", "want", "have":
	case "wonder", "wondering", "asking":
		return true
	case "forgot", "forget":
		return questioning.Has(w.at(i + 1))
	case "looking", "searching":
		return w.at(i+1) == "for" && next(i+2)
	case "trying":
	case "can", "could", "do", "did", "cannot":
		if verb != "cannot" {
			i++
		}
		return (w.at(i) == "not" || verb == "cannot") && (w.at(i+1) == "remember" || w.at(i+1) == "recall" || w.at(i+1) == "find" || w.at(i+1) == "know") && next(i+2)
	default:
		return false
	}
	if w.at(i+1) == "to" {
		switch w.at(i + 2) {
		case "know":
			return true
		case "look":
			return w.at(i+3) == "up"
		case "see", "find", "remember", "recall": // "what it was", and not "the doctor"
			return questioning.Has(w.at(i + 3))
		}
		return false
	}
	return verb != "have" && verb != "trying" && next(i+1)
}

// Words that show how a sentence is meant, folded. What follows a contraction's
// apostrophe is not a word here.
var (
	leadIns     = lazy.Words("hey hi hello so and ok okay um well please sorry also but then now again quick question just thanks oh right actually btw")
	questioning = lazy.Words("what which who whom whose where when why how whats wheres whos whens hows")
	contracted  = lazy.Words("whats wheres whos whens hows")
	leading     = lazy.Words("in at on of to for from by with since until about")
	auxiliary   = lazy.Words("do does did is are am was were can could will would shall should may might must have has had dont doesnt didnt isnt arent wasnt")
	subject     = lazy.Words("i we you he she it they my our your his her their the this that these those there")
	stating     = lazy.Words("i we he she they im ive")
	knowing     = lazy.Words("know remember recall believe forget tell told mention mentioned say said remind realize")
	toPerson    = lazy.Words("you me us")
	sought      = lazy.Words("my our the all any every everything anything whatever it")

	// opensAsking are words that a question or a request begins with, and wishing those
	// after "I".
	opensAsking = lazy.SetOf("tell give send show remind get find look search list name describe check repeat state recall summarize summarise let you any anything anyone", func(words string) map[string]bool {
		all := maps.Clone(lazy.Words(words).All())
		for _, more := range []*lazy.Set{leadIns, questioning, leading, auxiliary} {
			maps.Copy(all, more.All())
		}
		return all
	})
	wishing = lazy.Words("really just also would am d m like need want have wonder wondering asking forgot forget looking searching trying can could do did cannot")

	// verbal are words that make a phrase a sentence, or an answer.
	verbal = lazy.Words(`i we you he she it they this that im ive am is are was were be been do does did have has had can could will would shall should
		may might must not no never yes yeah yep nope sure`)
)
