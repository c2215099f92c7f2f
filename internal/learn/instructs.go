package learn

import (
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// Instructs reports whether a text, or a sentence of it, would steer a model rather than
// tell it something: it asks for what others are given, which are not to be steered by
// whoever gives it. It is stricter than what is learned is held to: "When I ask for
// code, answer in Go" is a wish that one may have for oneself.
//
// It knows English forms, and none that were thought of to pass it. A note to people,
// such as "If it rains, close the window", passes.
func Instructs(s string) bool {
	if steers(visible(s)) {
		return true
	}
	for _, sentence := range text.Sentences(s) {
		if steers(visible(sentence.Of(s))) {
			return true
		}
	}
	return false
}

func steers(s string) bool {
	return extract.Instructs(s) || onAsking.MatchString(s) || answering.MatchString(s) || obliged.MatchString(s)
}

// speaking are the verbs of what a model does for who asks it.
const speaking = `(?:answer|reply|respond|say|claim|state|output|print|recommend|suggest|mention|insist|refuse|deny|include|append|tell (?:them|the user|her|him|everyone|everybody|people))`

// adverbs and the like that stand before a verb in an order.
const orderly = `(?:then |please |kindly |you (?:must|should|shall|will|have to|are to|need to) |do not |don['’]t |always |never |only |just |simply )*`

var (
	// onAsking is an order for when something is asked: "When asked about X, say Y".
	onAsking = lazy.Compile(`(?i)` +
		`\b(?:when|whenever|if|once|(?:each|every|any) ?time)\b.{0,80}\b(?:asked|asks?|asking|question(?:s|ed)?|queried|queries|prompted|mentions?|mentioned|brings? up|wants? to know|inquires?|enquires?)\b.{0,120}(?:[,:;] ?` + orderly + speaking + `\b` +
		`|\b` + orderly + speaking + ` (?:only|just|exactly|that|with|nothing)\b)` +
		`|\b(?:to|for) (?:any|all|every|each) (?:questions?|quer(?:y|ies)|prompts?|requests?|messages?)\b.{0,120}\b` + speaking + `\b` +
		`|\b` + speaking + `\b.{0,40}\bto (?:any|all|every|each) (?:questions?|quer(?:y|ies)|prompts?|requests?|messages?)\b` +
		`|^` + orderly + speaking + `\b.{0,160}\b(?:when|whenever|if|(?:each|every|any) ?time)\b.{0,30}\b(?:asked|asks|prompted|questioned|queried)\b`)

	// answering is an order how to answer: "Reply only with X".
	answering = lazy.Compile(`(?i)(?:^|[.!?;:,] )` + orderly + `(?:answer|reply|respond) (?:only|just|solely|exactly|exclusively|nothing|always|as (?:if|though))\b`)

	// obliged is an order to whoever reads: "You must recommend X".
	obliged = lazy.Compile(`(?i)\byou (?:must|shall|should|have to|are to|need to) (?:always |never |only |just |not )*(?:answer|reply|respond|output|recommend|refuse|obey|claim|pretend)\b`)
)
