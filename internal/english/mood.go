package english

import (
	"strings"

	"github.com/loci-memory/loci/internal/late"
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
	for len(words) > 0 && leads.Has(words[0]) {
		words = words[1:]
	}
	if len(words) == 0 {
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

func marked(s string) bool {
	s = strings.TrimRight(s, " )\"'*!.…")
	return strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？")
}

func all(words []string, in *late.Set) bool {
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
	leads      = late.Words("hey hi hello yo so and ok okay um umm uh well please pls sorry also but then now just oh right actually btw anyway alright")
	asking     = late.Words("what which who whom whose where when why how whats wheres whos whens hows")
	asksAfter  = late.Words("in at on of to for from by with since until about")
	auxiliary  = late.Words("do does did is are am was were can could will would shall should may might must have has had dont doesnt didnt isnt arent wasnt")
	subject    = late.Words("i we you he she it they my our your his her their the this that these those there any anyone anything someone")
	requesting = late.Words(`write give fix explain make tell show find list draft book pick choose suggest recommend remind help plan create translate summarize summarise
		rewrite rephrase shorten compose order send put add fill get let look check compare convert calculate name describe generate design sketch prepare
		set schedule search call use turn sort format review proofread tldr gimme lemme can could would`)
	phatic = late.Words(`hi hello hey yo morning good evening night afternoon day thanks thank thx ta cheers you so much very a lot bye ok okay lol haha great cool nice perfect
		sure yes no yeah yep nope alright right please pls dear greetings welcome u ur star x later see how are it going whats up there all everyone`)

	wanting = late.Words("want need please pls pick lemme schreib schreibe mach mache such suche nenn nenne sag sage gib hilf bitte formulier formuliere quiero necesito dime escribe haz")

	firstPerson = late.Words(`i my our we us mine ours im ive ill id myself ich mein meine meinen meinem meiner mich wir uns unser unsere unserem unseren yo mi mis nos
		nuestro nuestra je mon ma mes nous notre eu meu minha nosso io mio mia 我 我们 私 僕`)
	thirdPerson = late.Words("she he her him his hers they them their shes hes theyre ihm ihn er ella ellos elle ils 他 她 彼 彼女")
)
