package english

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// Mood is what a clause is for.
type Mood uint8

// The moods.
const (
	States   Mood = iota // it tells something
	Asks                 // it is a question
	Requests             // it wants something done
	Greets               // it is a greeting, thanks, or a word by which talk goes on
)

// moodOf returns the mood of a clause by its words.
func moodOf(clause string) Mood {
	words := text.Words(clause)
	if len(words) > 0 && len(words) < shortClause && greeting.Has(words[0]) && !marked(clause) {
		return Greets
	}
	if words = unled(words); len(words) == 0 {
		return Greets
	}
	first, second := words[0], ""
	if len(words) > 1 {
		second = words[1]
	}
	if marked(clause) || asking.Has(first) || asksAfter.Has(first) && asking.Has(second) || auxiliary.Has(first) && subject.Has(second) {
		return Asks
	}
	if requesting.Has(first) {
		return Requests
	}
	if all(words, phatic) {
		return Greets
	}
	return States
}

// unled returns words without those that lead in to a clause: "hey so …", "ooookay …".
func unled(words []string) []string {
	for len(words) > 0 && leads.Has(unstretched(words[0])) {
		words = words[1:]
	}
	return words
}

// Purpose returns what a message says without greetings and the words that lead in to its clauses,
// and what all of it is for: [Asks] if there are questions and at most greetings beside, [Greets] if there are
// greetings alone, else [States]. Without a question mark a clause such as "what I like …" may tell.
func Purpose(message string) (asked string, is Mood) {
	var b strings.Builder
	is = Greets
	for _, s := range Read(message) {
		for _, c := range s.Clauses {
			of := c.Of(message)
			if c.Mood == Greets {
				continue
			}
			switch words := unled(text.Words(of)); {
			case s.Pasted, c.Mood != Asks, !marked(of) && len(words) > 1 && asking.Has(words[0]) && pronoun.Has(words[1]):
				is = States
			case is == Greets:
				is = Asks
			}
			b.WriteString(withoutLead(of))
			b.WriteByte(' ')
		}
	}
	if b.Len() == 0 && strings.TrimSpace(message) == "" {
		return "", States
	}
	return b.String(), is
}

// MayAsk is false for most messages that tell something, and quick about it.
func MayAsk(message string) bool { return text.MayAsk(withoutLead(message)) }

// withoutLead returns a clause without the words that lead in to it.
func withoutLead(s string) string {
	for i := 0; i < len(s); {
		n := wordLength(s[i:])
		switch {
		case n == 0:
			i += signLength(s[i:])
			continue
		case leads.Has(unstretched(strings.ToLower(s[i : i+n]))):
			s, i = s[i+n:], 0
			continue
		}
		break
	}
	return strings.TrimSpace(s)
}

// greets reports whether a few words before a comma greet somebody: "hi there", "Dear John".
func greets(s string) bool {
	words := text.Words(s)
	return len(words) > 0 && greeting.Has(unstretched(words[0]))
}

// unstretched returns a word that is written long for emphasis as it is spelt: "heyyy".
func unstretched(w string) string {
	for len(w) > 2 && w[len(w)-1] == w[len(w)-2] && !leads.Has(w) && !greeting.Has(w) {
		w = w[:len(w)-1]
	}
	return w
}

func marked(s string) bool {
	s = strings.TrimRight(s, " )\"'*!.…")
	return strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？")
}

func all(words []string, in *lazy.Set) bool {
	for _, w := range words {
		if !in.Has(w) {
			return false
		}
	}
	return true
}

// IsRequest reports whether a folded word asks for something to be done.
func IsRequest(word string) bool { return requesting.Has(word) || wanting.Has(word) }

// IsFirstPerson reports whether a folded word is a pronoun of the one who speaks. Objects such as
// "me" are left out: "tell me a joke" is about nobody.
func IsFirstPerson(word string) bool { return firstPerson.Has(word) }

// IsThirdPerson reports whether a folded word is a pronoun of somebody who is not named.
func IsThirdPerson(word string) bool { return thirdPerson.Has(word) }

// Words that show how a clause is meant, folded.
var (
	leads      = lazy.Words("hey hi hello yo sup omg ugh hmm so and ok okay um umm uh well please pls sorry also but then now just oh right actually btw anyway alright")
	asking     = lazy.Words("what which who whom whose where when why how whats wheres whos whens hows")
	pronoun    = lazy.Words("i we you he she they it")
	asksAfter  = lazy.Words("in at on of to for from by with since until about")
	auxiliary  = lazy.Words("do does did is are am was were can could will would shall should may might must have has had dont doesnt didnt isnt arent wasnt")
	subject    = lazy.Words("i we you he she it they my our your his her their the this that these those there any anyone anything someone")
	requesting = lazy.Words(`write give fix explain make tell show find list draft book pick choose suggest recommend remind help plan create translate summarize summarise
		rewrite rephrase shorten compose order send put add fill get let look check compare convert calculate name describe generate design sketch prepare
		set schedule search call use turn sort format review proofread tldr gimme lemme can could would`)
	phatic = lazy.Words(`hi hello hey yo morning good evening night afternoon day thanks thank thx ta cheers you so much very a lot bye ok okay lol haha great cool nice perfect
		sure yes no yeah yep nope alright right please pls dear greetings welcome u ur star x later see how are it going whats up there all everyone`)

	greeting = lazy.Words("hi hey hello hallo hola yo sup dear good morning evening bonjour buenas ciao ola moin guten")

	wanting = lazy.Words("want need please pls pick lemme schreib schreibe mach mache such suche nenn nenne sag sage gib hilf bitte formulier formuliere quiero necesito dime escribe haz")

	firstPerson = lazy.Words(`i my our we us mine ours im ive ill id myself ich mein meine meinen meinem meiner mich wir uns unser unsere unserem unseren yo mi mis nos
		nuestro nuestra je mon ma mes nous notre eu meu minha nosso io mio mia 我 我们 私 僕`)
	thirdPerson = lazy.Words("she he her him his hers they them their shes hes theyre ihm ihn er ella ellos elle ils 他 她 彼 彼女")
)
