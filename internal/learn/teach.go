package learn

import (
	"strings"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

var (
	// fillers are greetings, thanks and the like in the most spoken languages. They contain no facts.
	fillers = lazy.Words("hi hey hello hola hallo bonjour salut ciao ola morning afternoon evening night good guten tag buenos dias bye goodbye adios thanks thank thx ty gracias danke merci grazie obrigado " +
		"please bitte you so much very a lot ok okay k kk vale gut genial super perfecto perfect great nice cool awesome lovely lol haha hahaha lmao wow yay sure yep yeah got it makes sense will do there everyone again")

	// englishWords distinguish English from other languages.
	englishWords = lazy.Words("the a an is are was were to and of in it its it's you your that this for with on at be what what's how why when where which who can could would should do does did please make give write tell show " +
		"some any more one just but or not no if about there have has get need want like up out so then thanks okay now")

	// personWords refer to people. The list omits "me", because requests contain "me".
	personWords = lazy.Words("i i'm im i've ive i'd i'll my mine myself we we're we've our ours us he he's she she's they they're they've him her hers his their theirs them himself herself themselves")

	// correctionWords occur in corrections, in lasting preferences, and in statements that something began or ended.
	correctionWords = lazy.Words("no nope not actually nvm nevermind scratch wrong instead rather anymore correction correct cancelled canceled off moved changed still quit left stopped started starting switched switching dropped finished using " +
		"always never prefer whenever default remember")
)

// MayContainFact reports whether a turn may contain a fact, so that asking a model is worthwhile. English text must
// have a person, name, number, date or correction; other text must be more than a greeting.
func MayContainFact(s extract.Utterance) bool {
	words := text.Words(s.Text)
	englishCount, fillerCount := 0, 0
	for _, w := range words {
		if fillers.Has(w) {
			fillerCount++
		}
		if englishWords.Has(w) {
			englishCount++
		}
	}
	switch {
	case fillerCount == len(words):
		return false
	case strings.HasSuffix(strings.TrimRight(s.AnsweredMessage, " \n\"'*)"), "?"): // the turn may be an answer of any form to a question
		return true
	case 10*englishCount < 3*len(words), strings.ContainsAny(s.Text, "0123456789"), len(text.Names(s.Text)) > 0:
		return true
	}
	for _, w := range words {
		if personWords.Has(w) || correctionWords.Has(w) || text.IsPersonWord(w) || text.IsNumberWord(w) {
			return true
		}
	}
	return strings.Contains(strings.ToLower(s.Text), "when you ") || len(text.ResolveDates(s.Text, s.Turn.CreatedAt)) > 0
}
