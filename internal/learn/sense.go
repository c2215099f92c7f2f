package learn

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// What the comparison of facts knows of English: whom a fact is about, what denies it,
// and what makes it a wish or a thing of the past.

var (
	ofUser    = lazy.Compile(`^(?:the )?user's\s+`)
	isUser    = lazy.Compile(`^(?:the )?user\b`)
	toYou     = lazy.Compile(`\b(?:you|your|yours|you're|you've)\b`)
	addressed = lazy.Compile(`^(?:you|your|you're|you've|yours)\b`)
	unlikely  = lazy.Compile(`\b(?:(?:i|we|he|she|they|you)'d|if|unless|would(?:n't)?|could(?:n't)?|might|may be|maybe|perhaps|possibly|probably|wish|suppose|supposing|imagine|whether|as if|as though|almost|nearly|in case|thought about|not sure|wonder(?:ing)?|i think i)\b`)
	intent    = lazy.Compile(intentWords)
	isPast    = lazy.Compile(`\b(?:was|were|had|used to|previously|formerly|once|in the past|former|no longer|as a (?:child|kid|teen\w*)|lived|worked|owned|studied|played|smoked|drove|taught|ran|spoke)\b|\b(?:user|he|she|they|who|(?:user's|his|her|their) [\w ]{2,30}?) (?:\w+ly |also )?\w{2,}ed\b`)
)

const intentWords = `\b(?:want(?:s|ed)?(?: to)?|wanna|need(?:s|ed)? to|have to|has to|plan(?:s|ning|ned)?|going to|gonna|will|'ll|hop(?:e|es|ing|ed)|intend(?:s|ing|ed)?|consider(?:s|ing|ed)?|thinking (?:of|about)|about to|dream(?:s|ing)? (?:of|about)|looking (?:to|for|at|into)|my (?:dream|goal|plan|hope|wish|ambition)|(?:i'm|im|we're|am|are|is) (?:moving|relocating|getting|leaving|starting|becoming|buying|switching|flying|joining)|one day|someday|should|must|ought to|aim(?:s|ing)? to|goal|try(?:ing)? to|tries to|would (?:like|love)|'d (?:like|love)|wish(?:es)?|decid(?:e|ed|ing) (?:to|on)|shall|interested in|apply(?:ing)?|applied|can i|let me)\b`

// without returns s less its dates: they may be worked out from words such as
// "yesterday" and are compared as dates.
func without(s string, dates []text.Date) string {
	var b strings.Builder
	last := 0
	for _, d := range dates {
		b.WriteString(s[last:d.Start])
		last = d.End
	}
	b.WriteString(s[last:])
	return b.String()
}

// verbish ends a noun phrase.
var verbish = lazy.Words(`is was are were has have had will would can could does did do am be been lives live works work likes loves hates told says said
	thinks wants moved went got gave made taught asked owns plays plans speaks studies helped and in on at of with from to for who that which`)

var ordinals = lazy.Words("first second third fourth fifth sixth seventh eighth ninth tenth last")

func atoi(s string) int {
	n := 0
	for _, r := range s {
		if r < '0' || r > '9' || n > 1<<20 {
			return 0
		}
		n = n*10 + int(r-'0')
	}
	return n
}

// pivots are words after which it matters what comes.
var pivots = lazy.Words("than over from to before after for by instead until with")

// following returns for each pivot of s the terms that come next after it.
func following(s string) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	words := text.Words(s)
	for i, w := range words {
		if !pivots.Has(w) {
			continue
		}
		for j := i + 1; j < len(words) && j <= i+3; j++ {
			if pivots.Has(words[j]) {
				break
			}
			if t := text.Term(words[j]); t != "" {
				if out[w] == nil {
					out[w] = map[string]bool{}
				}
				out[w][t] = true
				break
			}
		}
	}
	return out
}

func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range text.Words(s) {
		set[w] = true
	}
	return set
}

var (
	// denials turn a assertion around without a negation, or say that it is over.
	denialForm = lazy.Compile(denialWords)
	doubly     = lazy.Compile(`\b(?:can't|cannot|couldn't) (?:stand|bear|take)\b|\bnot (?:a fan|fond|keen|into|for me)\b|\bisn't for me\b|\bno longer\b|\b(?:don't|doesn't|do not|does not|not|didn't|can't|cannot|won't) +(?:[\w'-]+ +){0,6}any ?(?:more|longer)\b|\bnot only\b|\b(?:no problem|no doubt|no worries|why not|not to mention|can't wait|couldn't be happier|can't stop|can't live without|can't get enough)\b`)
)

const denialWords = `\b(?:quit|stop(?:ped|s|ping)?|gave up|giv(?:e|en|ing) up|used to|hat(?:e|es|ed|ing)|dislik\w*|detest\w*|despis\w*|loath\w*|avoid\w*|refus\w*|except|any ?more|former(?:ly)?|previous(?:ly)?|cancel\w*|left|lost|lose|broke up|allerg\w*|intoleran\w*|vegan|vegetarian|(?:gluten|dairy|sugar|lactose|meat|nut|alcohol|caffeine|smoke|drug|debt)[- ]?free|free (?:of|from)|rather than|instead of|barely|hardly|rarely|seldom|lack\w*|unable|ex-\w+|sold|gave (?:away|my|our|his|her|their|user's)|donat\w*|threw (?:away|out)|resigned|fired|laid off|taken off|took me off|came off|died|passed away|divorced|far from|skip\w*|deni(?:es|ed)|\w+n't|cannot|(?:everything|anything|everyone|all) but|no|not|havent|hasnt|wasnt|never|none|nothing|nobody|neither|nor|without|cant|dont|doesnt|didnt|isnt|wont)\b`

var denyWords = map[string]string{"not only": "", "no problem": "", "no doubt": "", "no worries": "", "why not": "", "not to mention": "", "can't wait": "",
	"couldn't be happier": "", "can't stop": "love", "can't live without": "love", "can't get enough": "love"}

// hasDenial reports whether s denies or ends something. Two denials make none: not
// allergic, never quit.
func hasDenial(folded string) bool {
	folded = withoutDoing.ReplaceAllString(folded, "")
	folded = doubly.ReplaceAllStringFunc(folded, func(m string) string {
		if with, ok := denyWords[m]; ok {
			return with
		}
		if strings.HasSuffix(m, "more") && unsureOf.MatchString(m) {
			return m // "I don't think I can any more"
		}
		return "hate"
	})
	negated, denied := false, false
	for _, m := range denialForm.FindAllString(folded, -1) {
		if negationWord.MatchString(m) {
			negated = true
		} else {
			denied = true
		}
	}
	return negated != denied
}

var unsureOf = lazy.Compile(`\b(?:think|know|believe|feel|i|you|we|he|she|they)\b`)

// withoutDoing says how something is done, not that it is not.
var withoutDoing = lazy.Compile(`\bwithout \w+ing\b`)

var negationWord = lazy.Compile(`^(?:not?|\w+n't|cannot|cant|dont|doesnt|didnt|isnt|wont|havent|hasnt|wasnt|never|none|nothing|nobody|neither|nor|without)$`)

// kin returns the first of the words for a person, another word as it is.
func kin(word string) string {
	if p, ok := persons.Get()[word]; ok {
		return p.group
	}
	return word
}

// bridged reports whether words name one of the kind that a term is: a dog is a pet.
func bridged(term, words string) bool {
	form := kindsOf[term]
	return form != nil && form.MatchString(words)
}

var kindsOf = map[string]*lazy.Pattern{
	"pet":   lazy.Compile(`\b(?:dogs?|cats?|puppy|puppies|kittens?|hamsters?|rabbits?|parrots?|goldfish|pets?)\b`),
	"car":   lazy.Compile(`\b(?:car|truck|suv|tesla|toyota|honda|ford|bmw|audi|sedan|van)\b`),
	"bike":  lazy.Compile(`\b(?:bikes?|bicycles?)\b`),
	"job":   lazy.Compile(`\b(?:job|position|role|work\w*|hired|gig)\b`),
	"child": lazy.Compile(`\b(?:son|daughter|sons|daughters|twins|baby|toddler|kids?|child|children)\b`),
	"trip":  lazy.Compile(`\b(?:trip|travel\w*|visit\w*|went|going|vacation|holiday)\b`),
}
