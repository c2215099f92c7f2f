package learn

import (
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// SteersModel reports whether a text, or a sentence of the text, would steer a model. It is for memories that
// are shared with other users, and stricter than the check of a user's own facts: "When I ask for code,
// answer in Go" is a valid preference.
//
// It recognises common English forms and is no defence against attackers. It accepts notes to people, such as
// "If it rains, close the window".
func SteersModel(s string) bool {
	if isSteeringText(visibleText(s)) {
		return true
	}
	for _, sentence := range text.Sentences(s) {
		if isSteeringText(visibleText(sentence.Slice(s))) {
			return true
		}
	}
	return false
}

func isSteeringText(s string) bool {
	return extract.IsInstruction(s) || whenAskedForm.MatchString(s) || prescribedAnswer.MatchString(s) || obligationForm.MatchString(s)
}

// replyVerbs matches verbs of replying.
const replyVerbs = `(?:answer|reply|respond|say|claim|state|output|print|recommend|suggest|mention|insist|refuse|deny|include|append|tell (?:them|the user|her|him|everyone|everybody|people))`

// orderPrefix matches the words before the verb of an instruction.
const orderPrefix = `(?:then |please |kindly |you (?:must|should|shall|will|have to|are to|need to) |do not |don['’]t |always |never |only |just |simply )*`

var (
	// whenAskedForm matches an instruction for certain questions: "When asked about X, say Y".
	whenAskedForm = lazy.Compile(`(?i)` +
		`\b(?:when|whenever|if|once|(?:each|every|any) ?time)\b.{0,80}\b(?:asked|asks?|asking|question(?:s|ed)?|queried|queries|prompted|mentions?|mentioned|brings? up|wants? to know|inquires?|enquires?)\b.{0,120}(?:[,:;] ?` + orderPrefix + replyVerbs + `\b` +
		`|\b` + orderPrefix + replyVerbs + ` (?:only|just|exactly|that|with|nothing)\b)` +
		`|\b(?:to|for) (?:any|all|every|each) (?:questions?|quer(?:y|ies)|prompts?|requests?|messages?)\b.{0,120}\b` + replyVerbs + `\b` +
		`|\b` + replyVerbs + `\b.{0,40}\bto (?:any|all|every|each) (?:questions?|quer(?:y|ies)|prompts?|requests?|messages?)\b` +
		`|^` + orderPrefix + replyVerbs + `\b.{0,160}\b(?:when|whenever|if|(?:each|every|any) ?time)\b.{0,30}\b(?:asked|asks|prompted|questioned|queried)\b`)

	// prescribedAnswer matches an instruction that prescribes the answer: "Reply only with X".
	prescribedAnswer = lazy.Compile(`(?i)(?:^|[.!?;:,] )` + orderPrefix + `(?:answer|reply|respond) (?:only|just|solely|exactly|exclusively|nothing|always|as (?:if|though))\b`)

	// obligationForm matches an obligation of the model: "You must recommend X".
	obligationForm = lazy.Compile(`(?i)\byou (?:must|shall|should|have to|are to|need to) (?:always |never |only |just |not )*(?:answer|reply|respond|output|recommend|refuse|obey|claim|pretend)\b`)
)
