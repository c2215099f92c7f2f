package recall

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// "Do I have a dog?" tells nothing of whoever asks it, and "Can you find a vet for my dog Rex?"
// does. What one wants to have back from memory is asked for in few forms; what one wants done, or
// known of the world, in many, and those say what it is for.

// emptiness is what a text that asks gives away.
type emptiness uint8

const (
	gives    emptiness = iota // it says something, or asks for something else than what memory may know
	presumes                  // it asks for what memory may know, and takes something for granted: "Why do I take these pills?"
	bare                      // it asks for that and says nothing: "Where do I work?"
)

// barenessOf reads a text without greetings: all sentences of it ask memory.
func barenessOf(s string) emptiness {
	is := gives
	for _, sentence := range text.Sentences(s) {
		r := emptyReader{}
		switch of := r.read(sentence.Of(s)); {
		case of == gives && r.greets:
		case of == gives:
			return gives
		case is == gives || of < is:
			is = of
		}
	}
	return is
}

// emptyReader is a sentence that may ask memory.
type emptyReader struct {
	w      []string // words not read so far
	marked bool     // with a question mark
	greets bool     // nothing but a greeting is in it
	opened bool     // it began as who asks to be reminded does: "do you know", "tell me"
}

func (r *emptyReader) read(sentence string) emptiness {
	r.marked = text.Asks(sentence)
	room := [24]string{}
	if !r.words(sentence, room[:0]) {
		return gives
	}
	r.skip(greeting)
	if len(r.w) == 0 {
		r.greets = true
		return gives
	}
	for r.open() {
		r.opened = true
		r.skip(towards)
	}
	if r.opened && (stating.Has(r.at(0)) || r.at(0) == "that") || !r.asks() {
		return gives
	}
	return r.presumes(sentence)
}

// longestBare is how many words somebody asks memory with at most.
const longestBare = 20

// words reads the words, and reports whether the sentence may ask alone: nothing is stated behind
// a comma.
func (r *emptyReader) words(sentence string, room []string) bool {
	r.w = room
	for part := range strings.FieldsFuncSeq(sentence, func(c rune) bool { return strings.ContainsRune(",;:()", c) }) {
		begins := len(r.w)
		text.EachWord(part, func(w string) { r.w = append(r.w, w) })
		if begins > 0 && begins < len(r.w) && (stating.Has(r.w[begins]) || reasons.Has(r.w[begins])) {
			return false
		}
		for begins == 0 && len(r.w) > 0 && greeting.Has(r.w[0]) {
			r.w = r.w[1:]
		}
		if len(r.w) > longestBare {
			return false
		}
	}
	for len(r.w) > 0 && ending.Has(r.w[len(r.w)-1]) {
		r.w = r.w[:len(r.w)-1]
	}
	return true
}

func (r *emptyReader) at(i int) string {
	if i >= len(r.w) {
		return ""
	}
	return r.w[i]
}

func (r *emptyReader) skip(words *lazy.Set) {
	for len(r.w) > 0 && words.Has(r.w[0]) {
		r.w = r.w[1:]
	}
}

// open takes what stands before what is asked for: "can you tell me", "I forgot".
func (r *emptyReader) open() bool {
	i := 0
	next := func(set *lazy.Set) bool {
		for softly.Has(r.at(i)) {
			i++
		}
		if !set.Has(r.at(i)) {
			return false
		}
		i++
		return true
	}
	took := func(yes bool) bool {
		if yes {
			r.w = r.w[i:]
		}
		return yes
	}
	switch first := r.at(0); {
	case first == "can" || first == "could" || first == "would" || first == "will":
		i = 1
		return took(next(you) && next(reminding) && next(me))
	case first == "do" || first == "did" || first == "have":
		i = 1
		if r.at(i) == "you" {
			return took(next(you) && next(knowing))
		}
		return took(next(iAm) && next(mentioning) && r.heard(&i))
	case first == "you":
		return took(r.marked && next(you) && next(knowing))
	case reminding.Has(first):
		return took(next(reminding) && next(me))
	case first == "i":
		i = 1
		if r.at(i) == "do" || r.at(i) == "can" {
			i++
			return took(next(not) && next(knowing))
		}
		if next(forgetting) {
			return took(asksWith.Has(r.at(i)) || r.at(i) == "if" || r.at(i) == "whether")
		}
		return took(next(wanting) && next(to) && next(knowing))
	}
	return false
}

// heard takes "you" behind "did I tell".
func (r *emptyReader) heard(i *int) bool {
	for r.at(*i) == "to" || r.at(*i) == "you" {
		*i++
	}
	return true
}

// asks reports whether what is left asks for what somebody may have told: in the form of a question
// or, if that was opened, of a clause or a thing. What ought to be is no such question.
func (r *emptyReader) asks() bool {
	first := 0
	if leadingTo.Has(r.at(0)) && asksWith.Has(r.at(1)) {
		first = 1
	}
	switch w := r.at(first); {
	case asksWith.Has(w):
		if !r.inverted(first) && !r.opened {
			return false
		}
		if w == "how" && r.at(first+1) == "do" && (me.Has(r.at(first+2)) || r.at(first+2) == "i" || r.at(first+2) == "we" || r.at(first+2) == "one") {
			return false // that asks for instructions
		}
	case being.Has(w):
		if !r.marked && !ones.Has(r.at(first+1)) && !stating.Has(r.at(first+1)) {
			return false
		}
	case r.opened && (w == "whether" || w == "if"):
	case r.opened && ones.Has(w):
		if r.states(first + 1) {
			return false
		}
	default:
		return false
	}
	for _, w := range r.w[first:] {
		if advice.Has(w) || w == "you" || w == "your" {
			return false
		}
	}
	return true
}

// states reports whether the thing at a place has a verb of its own: "my wife is pregnant" behind "did
// I tell you". "My wife" has none, nor has "the dog I have".
func (r *emptyReader) states(thing int) bool {
	for i := thing + 1; i < len(r.w); i++ {
		w := r.w[i]
		if (being.Has(w) || happened.Has(w) || len(w) > 4 && strings.HasSuffix(w, "ed")) && !stating.Has(r.at(i-1)) {
			return true
		}
	}
	return false
}

// inverted reports whether a question word is followed as in a question: its verb before its
// subject.
func (r *emptyReader) inverted(at int) bool {
	if r.marked || ones.Has(r.at(at+1)) || contracted.Has(r.at(at)) {
		return true
	}
	for i := at + 1; i < at+5; i++ {
		if being.Has(r.at(i)) {
			return true
		}
		if stating.Has(r.at(i)) || ones.Has(r.at(i)) {
			return false
		}
	}
	return false
}

// mostBare is how many words of its own a question has that takes nothing for granted.
const mostBare = 4

// presumes tells whether a question takes something for granted.
func (r *emptyReader) presumes(sentence string) emptiness {
	self, own, before := false, 0, ""
	for _, w := range r.w {
		self = self || oneself.Has(w)
		if w == "why" || reasons.Has(w) || text.IsTime(w) && !vague.Has(w) || w[0] >= '0' && w[0] <= '9' ||
			purposes.Has(before) && w == "my" {
			return presumes
		}
		if term := text.Term(w); term != "" && !asking.Has(term) && !fillers.Has(term) {
			own++
		}
		before = w
	}
	if !self || own > mostBare || len(text.Names(sentence)) > 0 {
		return presumes
	}
	return bare
}

// Words of questions to memory, folded.
var (
	greeting = lazy.Words("hey hi hello so and ok okay um well please sorry also but then now again quick question one just thanks thank oh right actually btw good morning evening afternoon yes no wait hmm")
	ending   = lazy.Words("please thanks again exactly actually btw")
	towards  = lazy.Words("again of about please")
	softly   = lazy.Words("still even please just maybe quickly ever already really also would kindly quite")

	you        = lazy.Words("you")
	iAm        = lazy.Words("i")
	not        = lazy.Words("not")
	to         = lazy.Words("to")
	me         = lazy.Words("me us we")
	reminding  = lazy.Words("tell remind")
	knowing    = lazy.Words("know remember recall")
	mentioning = lazy.Words("tell told mention mentioned say said")
	forgetting = lazy.Words("forgot forget wonder")
	wanting    = lazy.Words("want need like")

	asksWith   = lazy.Words("what which who whom whose where when why how whats wheres whos whens hows")
	contracted = lazy.Words("whats wheres whos whens hows")
	leadingTo  = lazy.Words("in at on of to for from by with since until about")
	being      = lazy.Words("do does did is are am was were have has had will")
	happened   = lazy.Words("died left got went came lost broke quit sold bought became had gave made took won fell hurt wants likes lives works needs loves hates plays goes")
	advice     = lazy.Words("can could should would may might must shall need best recommend suggest")
	ones       = lazy.Words("my our his her their its the")
	stating    = lazy.Words("i we he she they im ive it")
	oneself    = lazy.Words("i my me mine myself we our us ours am it he she they him her them his their")
	reasons    = lazy.Words("because since so though although as")
	purposes   = lazy.Words("for with against without")
	vague      = lazy.Words("day date time year month week now today morning evening night birthday weekend before after ago already once yet still past later")
)
