package learn

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/late"
)

// What a claim says must be said in the same sense: asserted, not denied, asked, wished
// or past.

var (
	always  = late.Compile(`\b(?:always|never|every|everything|everyone|everybody|only|all|nobody|constantly|entirely|completely|forever|most|best|favou?rite|exclusively|whenever|any)\b`)
	often   = late.Compile(`\b(?:always|never|every|everything|everyone|everybody|each|daily|only|just|all|nobody|no one|constantly|entirely|completely|totally|forever|most|best|favou?rite|exclusively|whenever|any|nothing|none|not|n't|don't|doesn't|can't|won't|no|nothing but|weekdays|mornings|evenings|nights|mondays|tuesdays|wednesdays|thursdays|fridays|saturdays|sundays|weekends|love most|top|number one)\b`)
	spoke   = late.Compile(`\b(?:says?|said|told|thinks?|believes?|claims?|heard|according|suggests?|suggested|recommends?|recommended|calls?)\b`)
	asksFor = late.Compile(`\b(?:asks?|asked|asking|wonders?|wondering|curious|wants to know|interested in|inquir\w+|seeking|looking for)\b`)
	maybe   = late.Compile(`\b(?:if|unless|would|could|might|may|maybe|perhaps|possibly|probably|wish(?:es)?|consider(?:s|ing)?|hypothetical|thinking|thinks|unsure|uncertain|wants?|hopes?|plans?|dreams?|interested|wonders?|wondering|not sure|potential(?:ly)?|prefers?|almost|nearly|likely)\b`)
	meant   = late.Compile(`\b(?:is (?:moving|relocating|getting|leaving|starting|becoming|buying|switching|flying|joining)|wants?|wanted|needs?|plans?|planned|planning|going to|will|hop(?:es?|ing|ed)|intends?|intending|consider(?:s|ing|ed)?|thinking|about to|dreams?|looking|should|must|aims?|goals?|tr(?:y|ies|ying)|would|wish(?:es)?|decid(?:es|ed|ing)|upcoming|next|soon|shall|interest(?:s|ed)?|appl(?:y|ies|ying|ied)|scheduled|expects?|prepar(?:es|ing)|preferably|prefers?|has to|have to|seeks?|seeking|shopping|saving|due|deadline|starts|until|learning|working on|working towards?|excited|by)\b`)
)

// inSameSense reports whether the statements assert what the claim asserts: not as
// a question, a wish, a guess or another's words, and neither denying what the other
// asserts nor telling of the past what the claim tells of the present.
func (c *claim) inSameSense(w []assertion, g *gathered) bool {
	claimTerms := map[string]bool{}
	for _, t := range c.terms {
		claimTerms[t], claimTerms[kin(t)] = true, true
	}
	denies, asserts := false, false
	most := 0
	for _, s := range w {
		most = max(most, s.share(claimTerms))
	}
	shared, claimed := slices.ContainsFunc(w, c.shares), c.folded
	if shared {
		claimed = attribute.ReplaceAllString(claimed, "")
	}
	for _, s := range w {
		if len(w) > 1 && s.share(claimTerms)*2 <= most/2 { // what the claim says is said elsewhere
			continue
		}
		if len(w) > 1 && !contributes(s, claimTerms) {
			continue
		}
		switch {
		case s.asks && !asksFor.MatchString(c.folded):
			return false
		case s.unreal && !maybe.MatchString(c.folded):
			return false
		case s.intends && !meant.MatchString(c.folded):
			return false
		case s.reported && !spoke.MatchString(c.folded):
			return false
		}
		sense := s.sense
		if shared {
			sense = attribute.ReplaceAllString(sense, "")
		}
		if hasDenial(sense) {
			denies = true
		} else {
			asserts = true
		}
	}
	if denies && asserts || denies != hasDenial(claimed) { // of both, nobody knows which the claim means
		return false
	}
	return c.degree(g) && c.tense(w, claimTerms) && c.called(g)
}

// attribute are words that deny something else ("vegetarian" says no to meat). If
// both sides have one, it says the same on both.
var attribute = late.Compile(`\b(?:allerg\w*|intoleran\w*|vegan\w*|vegetarian\w*|\w+[- ]free)\b`)

// shares reports whether claim and assertion have such a word in common.
func (c *claim) shares(s assertion) bool {
	return slices.ContainsFunc(attribute.FindAllString(c.folded, -1), func(a string) bool {
		return strings.Contains(s.sense, a[:min(len(a), 5)])
	})
}

// degree reports whether the claim says no more than was said: "always" is more
// than often, and a favourite is more than what is liked.
func (c *claim) degree(g *gathered) bool {
	for _, word := range always.FindAllString(c.folded, -1) {
		if !often.MatchString(g.folded) {
			return false
		}
		superlative := word == "best" || word == "most" || strings.HasPrefix(word, "favo")
		if superlative && !superlatives.MatchString(g.folded) {
			return false
		}
	}
	return true
}

var superlatives = late.Compile(`\b(?:best|most|favou?rites?|top|number one|\w+est|prefer|#1)\b`)

var (
	// denials turn a assertion around without a negation, or say that it is over.
	denialForm = late.Compile(denialWords)
	doubly     = late.Compile(`\b(?:can't|cannot|couldn't) (?:stand|bear|take)\b|\bnot (?:a fan|fond|keen|into|for me)\b|\bisn't for me\b|\bno longer\b|\b(?:don't|doesn't|do not|does not|not|didn't|can't|cannot|won't) +(?:[\w'-]+ +){0,6}any ?(?:more|longer)\b|\bnot only\b|\b(?:no problem|no doubt|no worries|why not|not to mention|can't wait|couldn't be happier|can't stop|can't live without|can't get enough)\b`)
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

var unsureOf = late.Compile(`\b(?:think|know|believe|feel|i|you|we|he|she|they)\b`)

// withoutDoing says how something is done, not that it is not.
var withoutDoing = late.Compile(`\bwithout \w+ing\b`)

var negationWord = late.Compile(`^(?:not?|\w+n't|cannot|cant|dont|doesnt|didnt|isnt|wont|havent|hasnt|wasnt|never|none|nothing|nobody|neither|nor|without)$`)

var (
	wasState  = late.Compile(`\b(?:i|we|he|she|they|it|my \w+|our \w+) (?:also |once |originally |even )?(?:was|were|lived|worked|had|owned|studied|played|smoked|drove|taught|ran|drank|spoke|collected|sang)\b`)
	notPast   = late.Compile(`\b(?:(?:was|were) (?:born|diagnosed|raised|promoted|accepted|married|given|named|hired|told|able|just|recently|thinking|wondering|going)|had (?:a|my|our|twins)? ?(?:\w+ )?(?:baby|son|daughter|twins|kid)|since i was|i've had|have had|(?:have|has|'ve|'s) (?:lived|worked|owned|studied|played|had|been))\b`)
	isState   = late.Compile(`\b(?:is|has|lives?|works?|owns?|studies|plays|smokes|drives|teaches|runs|drinks|speaks|collects|sings|currently|now)\b`)
	isPast    = late.Compile(`\b(?:was|were|had|used to|previously|formerly|once|in the past|former|no longer|as a (?:child|kid|teen\w*)|lived|worked|owned|studied|played|smoked|drove|taught|ran|spoke)\b|\b(?:user|he|she|they|who|(?:user's|his|her|their) [\w ]{2,30}?) (?:\w+ly |also )?\w{2,}ed\b`)
	departure = late.Compile(`\b(?:moved|moving|relocated|left|switched|changed|transferred|migrated|went)\b.*?\b(?:from|out of) (\w+)`)
)

// tense reports whether what the claim says is so was not only so once.
func (c *claim) tense(w []assertion, claimTerms map[string]bool) bool {
	if isPast.MatchString(c.folded) || !isState.MatchString(c.folded) {
		return true
	}
	for _, s := range w {
		if contributes(s, claimTerms) && s.past {
			return false
		}
	}
	return true
}

// called reports whether the user's name is said to be the user's: people name
// others too.
func (c *claim) called(g *gathered) bool {
	if !namesUser.MatchString(c.folded) || len(c.names) == 0 {
		return true
	}
	for _, m := range introduced.FindAllString(g.folded, -1) {
		if strings.Contains(m, c.names[0]) {
			return true
		}
	}
	return false
}

var (
	namesUser  = late.Compile(`^(?:the )?user(?:'s (?:first |last |full |nick)?name is| is (?:called|named))\b`)
	introduced = late.Compile(`\b(?:name(?:'s| is)|i'm|im|i am|calls? me|this is|known as|go by|goes by|nickname is|as)(?: [\w'-]+){1,2}|^[\w'-]+ here\b`)
)
