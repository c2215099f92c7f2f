package learn

import (
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// These tables for checking claims have common words of the most used languages. Claims in other languages
// pass the checks.

// chatSynonyms are synonyms in chats, in addition to those of [text.Synonyms].
var chatSynonyms = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for _, group := range []string{"vegetarian veggie", "girlfriend gf", "boyfriend bf", "university uni", "birthday bday", "surgery operation op", "medication pill med meds", "live lives living based home here moved", "cannot cant unable handle"} {
		for w := range strings.FieldsSeq(group) {
			m[w], m[text.Term(w)] = group, group
		}
	}
	return m
})

// linkingWords may occur between a word and its number.
var linkingWords = lazy.Words("is are was were s of at on in the a an like about around so ca for by to only just now it that than some roughly approx turned turns turning since from bin seit am um gegen el la los de en")

// openingWords may precede the subject of a clause.
var openingWords = lazy.Words(`so well ok okay yeah yes yep no nope oh ah ugh lol haha ha hey hi btw also and but or then because cause cos since that if when while though actually update
	honestly apparently now today and/or plus like omg god wait sorry still just even this the our my her his their old dear poor new dead late little younger older elder eldest youngest youngest big own
	und aber auch ja ach nein mein meine der die das weil da mi mis tu su pero y mon ma mes et mais`)

var (
	speakerWords = lazy.Words("i im ive id ill me we us weve were myself ich wir mir mich uns yo nosotros je j nous moi io noi eu nos ik wij ours mine")
	possessives  = lazy.Words("my our mein meine meinen meinem meiner unser unsere mi mis nuestro nuestra mon ma mes notre mio mia mijn meu minha")
)

// quotingVerbs introduce reported speech, which is not about its speaker.
var quotingVerbs = lazy.Words("says said say saying thinks thought reckons told tells claims claimed texted wrote goes asked meint sagt meinte sagte dice dijo dit wants")

// hedgingWords matches words for a wish, a plan or a guess.
var hedgingWords = lazy.Compile(`\b(?:if|would|could|should|might|may|maybe|perhaps|possibl\w+|wish\w*|want\w*|hop(?:es|ing|ed)|consider\w*|think\w*|plan\w*|hypothetical\w*|dream\w*|interested|wonder\w*|potential\w*|unsure|undecided|asked|asking|idea|jok\w+|imagin\w+|once|when|until|unless|likes?|loves?|prefers?|intends?|needs?|lottery|expects?|goal)\b`)

var (
	// hypotheticalOpening matches the beginning of a hypothetical sentence.
	hypotheticalOpening = lazy.Compile(`\b(?:what if|what would happen if|if (?:i|we|he|she|they|my \w+|u|you) (?:was|were|had|could|won|did|\w+ed|ever)|if only|imagine|imagining|suppose|supposing|pretend\w*|let'?s say|say (?:i|we) (?:had|was|were|got|won)|hypothetical\w*|role-?play\w*|act as|you'?re a|in (?:my|the|a|this) (?:novel|story|game|dream|book|script)|stell dir vor|wenn ich \w+ (?:wäre|hätte|würde)|si (?:fuera|tuviera|fuese)|imagina\w*|et si)\b`)
	// conditionalOpening matches the beginning of a sentence with a condition.
	conditionalOpening = lazy.Compile(`^(?:\W*(?:lol|haha|omg|god|ok|so|and|but|well|ugh|like)\b)*\W*(?:if|wenn|falls|si|se|als)\b`)
	// wouldDo matches an action that the speaker only would do: "I could move".
	wouldDo = lazy.Compile(`\b(?:(?:i|we|u|you)(?: (?:would|could|should|might)|'d)|id|ud|youd)(?: (?:just|probably|totally|literally|even|also|never|prob))* (\w+)`)
)

// endingWords end or deny something. After ceasingVerbs, the object of the verb has ended.
var (
	endingWords = lazy.Words(`stop stopped stopping quit quits quitting left leave leaving lost lose sold gave given dropped drop ditched cancelled canceled cancel cancels scrapped scrap ended over died dead passed
		retired broke divorced ex allergic allergy allergies intolerant intolerance vegan vegetarian veggie teetotal sober hate hates hated dislike dislikes avoid avoids avoiding refuse refuses instead rather off
		switched switching fired laid bailed expired closed failed missed former formerly previously used anymore longer unable except only skip skips free lack lacks forbidden banned against moved out
		unemployed single childless afraid scared dumped finished exclud excl excluding aufgehört gekündigt storniert storniert verkauft allergisch dejado dejó vendido arrêté quitté wrong hardly barely rarely seldom negative coeliac celiac
		struggles struggle tired deny denies denied doubt doubts reject rejected secret private hide hides hiding minus without less`)
	possessionVerbs = lazy.Words("have has had having got own owns owned")

	ceasingVerbs = lazy.Words("quit quitting stop stopped stopping cancelled canceled dropped ditched scrapped sold hate hates")
)

var (
	conjunctions        = lazy.Words("and but so because cause cos while und aber weil y pero et mais ed though tho when where who")
	referringWords      = lazy.Words("it its this that they theyre their we us our who")
	capitalizedNonNames = lazy.Words("user the my i phd mr mrs ms dr st prof ok am pm usd eur gbp english")
	titles              = lazy.Words("dr mr mrs ms prof st herr frau senor senora uncle aunt")
	functionWords       = lazy.Words("a an the and or is are was were be user")

	// salutation matches the salutation of a letter; disbelief, the introduction of a claim that the user doubts.
	salutation = lazy.Compile(`\b(?:dear (?:hiring|sir|madam|mr|mrs|ms|dr|team|all|customer|colleagues)|sehr geehrte[rs]?|estimad[oa]s?|to whom it may concern)\b`)
	disbelief  = lazy.Compile(`\b(?:claims|reckons|insists|swears|goes|pretends|jokes) (?:that )?$`)
)

var (
	// pastForm matches words about the past; stateForm matches facts about a state or a deed.
	pastForm      = lazy.Compile(`\b(?:was|were|had|used to|previously|formerly|former|until|once|ex|quit|stopped|no longer|\w{3,}ed)\b`)
	stateForm     = lazy.Compile(`^user (?:has|owns|lives|works|plays|speaks|moved|bought|stayed|went|quit|uses|ran|is an?|is allergic|finished|adopted|studies|smokes|drives|teaches|drinks)\b`)
	intentionForm = lazy.Compile(`\b(?:wish|maybe|want to|wanna|plan(?:ning)? to|going to|gonna|i'll|thinking (?:of|about)|considering|would love|would like|'d love|'d like|my (?:dream|goal) is|need to|hoping|might|applied|one day|someday|almost|nearly|dream(?:ed|t) (?:of|that)|pretend\w*|not true|don't think|dont think)\b`)
)

var (
	// personNouns are words for persons, in addition to those of [text.IsPersonWord].
	personNouns = lazy.Words("child children kid kids baby toddler infant newborn boy girl gf bf mate dude guy ex client customer professor woman man someone")
	heOrShe     = lazy.Words("he hes him his himself she shes her hers herself")
	// foreignDenials negate a statement in languages other than English.
	foreignDenials = lazy.Words(`nicht kein keine keinen keinem keiner nie niemals ohne nimmer nunca jamas tampoco sin ningun ninguna pas jamais sans aucun aucune non senza nessun nao nem sem niet geen nooit zonder nada`)
)

// verbWords are verbs and small words that end the noun phrase before them.
var verbWords = lazy.Words(`is was are were has have had will would can could does did do am be been lives live works work likes loves hates told says said
	thinks wants moved went got gave made taught asked owns plays plans speaks studies helped and in on at of with from to for who that which`)
