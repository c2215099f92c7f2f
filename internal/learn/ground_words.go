package learn

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// The tables of the grounding check. They hold common words of the languages in which
// most chats are written; a language that is missing here loses only these checks.

// personTable has one person a line: m, f or -, and the words for that person, the
// first of which names the group.
const personTable = `
f mother mum mom mama mommy mummy mam mutter mutti madre mamá mère maman mãe moeder mamma
m father dad daddy papa papá vater vati padre père pai vader babbo pa
f sister sis schwester hermana sœur soeur sorella irmã zus
m brother bro bruder hermano frère fratello irmão broer
f wife missus wifey ehefrau esposa mujer femme moglie vrouw
m husband hubby ehemann marido mari marito man
f girlfriend gf freundin novia copine fidanzata namorada vriendin
m boyfriend bf freund novio copain fidanzato namorado vriend
- partner spouse fiancé fiancée fiance fiancee pareja lebensgefährte lebensgefährtin
f daughter tochter hija fille figlia filha dochter girl
m son sohn hijo fils figlio filho zoon boy
- child kid kids children baby toddler infant newborn kind kinder niño niña niños bebé enfant enfants bambino crianças kinderen twins
f grandmother grandma gran granny nan nana oma großmutter abuela yaya grand-mère mamie nonna avó
m grandfather grandpa grandad granddad opa großvater abuelo grand-père papi nonno avô
f aunt auntie tante tía zia tia
m uncle onkel tío oncle zio oom
f niece nichte sobrina nièce
m nephew neffe sobrino neveu
- cousin cousine primo prima cugino cugina
- parents parent folks eltern padres genitori pais ouders
- sibling siblings geschwister
- inlaws in-laws inlaw schwiegereltern suegros suegra suegro schwiegermutter schwiegervater schwägerin schwager cuñada cuñado
- friend mate buddy pal bestie bff kumpel amigo amiga ami amie amico amica vriendje dude guy
- colleague coworker workmate kollege kollegin colega collègue collega teammate
- boss manager supervisor lead chef chefin vorgesetzter jefe jefa patron patronne capo chefe baas
- flatmate roommate housemate mitbewohner mitbewohnerin compañero coloc
- neighbour neighbor nachbar nachbarin vecino vecina voisin voisine vicino buurman
- landlord landlady vermieter vermieterin casero propriétaire
- ex
- doctor doc gp dr arzt ärztin médico médica médecin dottore consultant
- dentist zahnarzt zahnärztin
- vet tierarzt
- therapist psychologist counsellor
- teacher professor prof tutor lehrer lehrerin profesor profesora coach trainer
- client customer kunde kundin cliente
- family familie familia famille famiglia
- dog puppy pup hund perro perra chien cane cachorro hond dachshund whippet
- cat kitten katze kater gato gata chat gatto kat
- pet hamster rabbit parrot horse pony
- son-in-law daughter-in-law sister-in-law brother-in-law mother-in-law father-in-law
- lady woman man people person someone`

type person struct {
	group  string
	gender byte // 'm', 'f' or '-'
}

// persons maps a folded word for a person to whom it means.
var persons = lazy.Make(func() map[string]person {
	m := map[string]person{}
	for line := range strings.Lines(personTable) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		for _, w := range words[1:] {
			w = text.Fold(w)
			if _, taken := m[w]; !taken {
				m[w] = person{text.Fold(words[1]), words[0][0]}
			}
		}
	}
	return m
})

// oneMeaning has groups of words that people and models use for the same thing in a
// chat, beside the persons.
var oneMeaning = lazy.Make(func() map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(meaningTable) {
		words := strings.Fields(line)
		for _, w := range words {
			m[text.Term(w)] = words[0]
			m[w] = words[0]
		}
	}
	return m
})

const meaningTable = `
vegetarian veggie vegetariana vegetariano vegetarisch
university uni college
birthday bday born
elevator lift
apartment flat condo place
quit stopped resigned stop resign gave notice
surgery operation op
medication pill med meds
doctor gp dr doc physician
married husband wife hubby wedding spouse
appointment appt
vacation holiday trip
work job works working employer employed
live lives living im based home here moved
allergic allergy allergisch alérgico alérgica
drink alcohol booze
named name called calls
budget money
pregnant expecting preggo
favourite favorite fave
cannot cant unable handle
television tv
bicycle bike cycle cycles`

// numberTable has numbers as they are written in words, by language.
var numberTable = lazy.Make(func() map[string]int {
	m := map[string]int{}
	for _, row := range []string{
		"zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty",
		"- first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth",
		"null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn zwanzig",
		"- erste zweite dritte vierte fünfte sechste siebte achte neunte zehnte",
		"cero - dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve veinte",
		"zéro - deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf vingt",
		"zero - due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici diciassette diciotto diciannove venti",
		"zero - dois três quatro cinco seis sete oito nove dez onze doze treze quatorze quinze dezesseis dezessete dezoito dezenove vinte",
		"nul een twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien zeventien achttien negentien twintig",
		"- once twice thrice",
		"- single couple triplets",
		"- solo both",
		"- zwilling pair",
		"- einmal zweimal dreimal",
		"- ein twins",
		"- un double",
	} {
		for i, w := range strings.Fields(row) {
			if _, taken := m[text.Fold(w)]; !taken && w != "-" {
				m[text.Fold(w)] = i
			}
		}
	}
	for i, w := range strings.Fields("thirty forty fifty sixty seventy eighty ninety") {
		m[w] = 10 * (i + 3)
	}
	for i, w := range strings.Fields("dreissig vierzig funfzig sechzig siebzig achtzig neunzig") {
		m[w] = 10 * (i + 3)
	}
	for i, w := range strings.Fields("treinta cuarenta cincuenta sesenta setenta ochenta noventa") {
		m[w] = 10 * (i + 3)
	}
	for w, n := range map[string]int{"dozen": 12, "dutzend": 12, "fortnight": 14, "noon": 12, "midday": 12, "mittags": 12, "midnight": 0, "hundred": 100, "hundert": 100, "cien": 100, "cent": 100, "thousand": 1000, "tausend": 1000, "mil": 1000, "grand": 1000} {
		m[w] = n
	}
	return m
})

// monthTable and dayTable are the names of the months, from January, and of the days,
// from Sunday, with their short forms.
var (
	monthTable = calendarNames(
		"january jan januar janner enero janvier gennaio janeiro januari",
		"february feb februar febrero fevrier febbraio fevereiro februari",
		"march mar marz marzo mars marco maart",
		"april apr abril avril aprile",
		"may mai mayo maggio maio mei",
		"june jun juni junio juin giugno junho",
		"july jul juli julio juillet luglio julho",
		"august aug agosto aout augustus",
		"september sept sep septiembre septembre settembre setembro",
		"october oct okt oktober octubre octobre ottobre outubro",
		"november nov noviembre novembre novembro",
		"december dec dez dezember diciembre decembre dicembre dezembro")
	dayTable = calendarNames(
		"sunday sun sundays sonntag sonntags domingo domingos dimanche domenica zondag",
		"monday mon mondays montag montags lunes lundi lunedi segunda maandag",
		"tuesday tue tues tuesdays dienstag dienstags martes mardi martedi terca dinsdag",
		"wednesday wed weds wednesdays mittwoch mittwochs miercoles mercredi mercoledi quarta woensdag",
		"thursday thu thur thurs thursdays donnerstag donnerstags jueves jeudi giovedi quinta donderdag",
		"friday fri fridays freitag freitags viernes vendredi venerdi sexta vrijdag",
		"saturday sat saturdays samstag samstags sonnabend sabado sabados samedi sabato zaterdag")
	// relativeDays are words for a day by its distance from today.
	relativeDays = lazy.Make(func() map[string]int {
		m := map[string]int{}
		for days, words := range map[int]string{
			0:  "today tonight now just heute gerade grad vorhin hoy ahora aujourd'hui oggi hoje vandaag this",
			1:  "tomorrow tmrw tmr tomoz 2moro morgen mañana demain domani amanhã",
			-1: "yesterday yday gestern ayer hier ieri ontem gisteren last",
			2:  "übermorgen pasado dopodomani",
			-2: "vorgestern anteayer avant-hier",
		} {
			for w := range strings.FieldsSeq(words) {
				m[text.Fold(w)] = days
			}
		}
		return m
	})
)

func calendarNames(rows ...string) *lazy.Value[map[string]int] {
	return lazy.Make(func() map[string]int {
		m := map[string]int{}
		for i, row := range rows {
			for w := range strings.FieldsSeq(row) {
				m[w] = i
			}
		}
		return m
	})
}

// Function words by which a text is taken for English or for another language.
var (
	englishWords = lazy.Words("the i i'm im my and is was to a for of on it have has with you we they he she at be are do don't dont can not this that what how just so but got need no me your her his from by been u pls any if when where why lol ok thx thanks user user's")
	otherWords   = lazy.Words(`ich und der das den dem mein meine meinen bin hab habe ist sind nicht mit für auf eine einen ein wir war seit auch noch zum zur
		yo el los las mi mis soy es que con para un una en tengo estoy del al por pero como le lo se su
		je suis mon ma mes une est et le les dans pour avec pas des du j'ai nous au
		io sono il di che ho per non con mia mio della nel
		eu sou meu minha não com uma do da em tenho
		ik ben mijn een het van niet heb voor met`)
)

// linking words stand between a word and the number that belongs to it.
var linking = lazy.Words("is are was were s of at on in the a an like about around so ca for by to only just now it that than some roughly approx turned turns turning since from bin seit am um gegen el la los de en")

// openingWords may stand before the subject of a clause.
var openingWords = lazy.Words(`so well ok okay yeah yes yep no nope oh ah ugh lol haha ha hey hi btw also and but or then because cause cos since that if when while though actually update
	honestly apparently now today and/or plus like omg god wait sorry still just even this the our my her his their old dear poor new dead late little younger older elder eldest youngest youngest big own
	und aber auch ja ach nein mein meine der die das weil da mi mis tu su pero y mon ma mes et mais`)

var (
	speakerWords = lazy.Words("i im ive id ill me we us weve were myself ich wir mir mich uns yo nosotros je j nous moi io noi eu nos ik wij ours mine")
	maleWords    = lazy.Words("he hes him his himself él")
	femaleWords  = lazy.Words("she shes her hers herself ella elle")
	possessives  = lazy.Words("my our mein meine meinen meinem meiner unser unsere mi mis nuestro nuestra mon ma mes notre mio mia mijn meu minha")
)

// quoting are verbs by which somebody is quoted: what follows is not said of them.
var quoting = lazy.Words("says said say saying thinks thought reckons told tells claims claimed texted wrote goes asked meint sagt meinte sagte dice dijo dit wants")

// hedges of a fact: it is told as a wish, a plan or a guess.
var hedged = lazy.Compile(`\b(?:if|would|could|should|might|may|maybe|perhaps|possibl\w+|wish\w*|want\w*|hop(?:es|ing|ed)|consider\w*|think\w*|plan\w*|hypothetical\w*|dream\w*|interested|wonder\w*|potential\w*|unsure|undecided|asked|asking|idea|jok\w+|imagin\w+|once|when|until|unless|likes?|loves?|prefers?|intends?|needs?|lottery|expects?|goal)\b`)

var (
	// supposed opens a case that is made up.
	supposed = lazy.Compile(`\b(?:what if|what would happen if|if (?:i|we|he|she|they|my \w+|u|you) (?:was|were|had|could|won|did|\w+ed|ever)|if only|imagine|imagining|suppose|supposing|pretend\w*|let'?s say|say (?:i|we) (?:had|was|were|got|won)|hypothetical\w*|role-?play\w*|act as|you'?re a|in (?:my|the|a|this) (?:novel|story|game|dream|book|script)|stell dir vor|wenn ich \w+ (?:wäre|hätte|würde)|si (?:fuera|tuviera|fuese)|imagina\w*|et si)\b`)
	// conditional opens a sentence whose rest holds only if something happens.
	conditional = lazy.Compile(`^(?:\W*(?:lol|haha|omg|god|ok|so|and|but|well|ugh|like)\b)*\W*(?:if|wenn|falls|si|se|als)\b`)
	// wishful is what the speaker would do, not what they do.
	wishful = lazy.Compile(`\b(?:i|we|u|you)(?: (?:would|could|should|might)|'d|d)(?: (?:just|probably|totally|literally|even|also|never|prob))* (\w+)`)
)

// idioms hold a word of denial and deny nothing.
var idioms = lazy.Compile(`\b(?:can'?t wait|not gonna lie|no idea|not only|why not|no problem|no worries|no doubt|never looked back|not (?:too |so )?sure|don'?t (?:know|forget|worry)|not to mention|no matter|isn'?t that|don'?t you|doesn'?t it)\b`)

// denying are words that turn a statement around, and endingWords those that say in
// other words that something is not or no longer so.
var (
	denying = lazy.Words(`not no never none nor neither nothing nobody nowhere without cannot cant dont doesnt didnt isnt arent wasnt wont havent hasnt hadnt wouldnt shouldnt
		nicht kein keine keinen keinem keiner nie niemals ohne nimmer nunca jamás tampoco sin ningún ninguna pas jamais sans aucun aucune non senza nessun não nem sem nunca niet geen nooit zonder nada`)
	endingWords = lazy.Words(`stop stopped stopping quit quits quitting left leave leaving lost lose sold gave given dropped drop ditched cancelled canceled cancel cancels scrapped scrap ended over died dead passed
		retired broke divorced ex allergic allergy allergies intolerant intolerance vegan vegetarian veggie teetotal sober hate hates hated dislike dislikes avoid avoids avoiding refuse refuses instead rather off
		switched switching fired laid bailed expired closed failed missed former formerly previously used anymore longer unable except only skip skips free lack lacks forbidden banned against moved out
		unemployed single childless afraid scared dumped finished exclud excl excluding aufgehört gekündigt storniert storniert verkauft allergisch dejado dejó vendido arrêté quitté wrong hardly barely rarely seldom negative coeliac celiac
		struggles struggle tired deny denies denied doubt doubts reject rejected secret private hide hides hiding minus without less`)
	// lightWords say little between a denial and what it denies.
	lightWords = lazy.Words("longer more really actually even been going gonna able ever just want wanna anymore myself btw tho also too still mehr wirklich más plus")
	having     = lazy.Words("have has had having got own owns owned")

	ceasing = lazy.Words("quit quitting stop stopped stopping cancelled canceled dropped ditched scrapped sold hate hates")
)

var (
	conjunctions = lazy.Words("and but so because cause cos while und aber weil y pero et mais ed though tho when where who")
	anyone       = lazy.Words("it its this that they theyre their we us our who")
	noNames      = lazy.Words("user the my i phd mr mrs ms dr st prof ok am pm usd eur gbp english")
	callings     = lazy.Words("doctor dentist vet therapist teacher client boss child dog cat pet")
	statuses     = lazy.Words("married engaged divorced widowed together relationship dating single")
	titles       = lazy.Words("dr mr mrs ms prof st herr frau senor senora uncle aunt")
	unslotted    = lazy.Words("a an the and or is are was were be user")
	beforeDays   = lazy.Words("the on til till until by den am vom bis el le il dia das")
	nextWords    = lazy.Words("next nachste nachsten nachster nachstes nachstem kommende kommenden proximo proxima que prochain prochaine prossimo")
	lastWords    = lazy.Words("last past letzte letzten letzter letztes letztem pasado pasada dernier derniere scorso scorsa since ago vor hace")
	courtesies   = lazy.Words("like love rather prefer say know need not have appreciate")

	// letters is how a letter begins, disbelieved what leads to what somebody is not
	// believed to know.
	letters     = lazy.Compile(`\b(?:dear (?:hiring|sir|madam|mr|mrs|ms|dr|team|all|customer|colleagues)|sehr geehrte[rs]?|estimad[oa]s?|to whom it may concern)\b`)
	disbelieved = lazy.Compile(`\b(?:claims|reckons|insists|swears|goes|pretends|jokes) (?:that )?$`)
)

// unitDays are the lengths of times by their words, those of other languages too.
var unitDays = lazy.Make(func() map[string]int {
	m := map[string]int{}
	for days, words := range map[int]string{
		1: "day days tag tage tagen día días jour jours giorno giorni dia dias", 7: "week weeks wk wks woche wochen semana semanas semaine semaines settimana settimane",
		30: "month months monat monate monaten mes meses mois mese mesi mês", 365: "year years yr yrs jahr jahre jahren año años an ans année années anno anni ano anos",
	} {
		for w := range strings.FieldsSeq(words) {
			m[text.Fold(w)] = days
		}
	}
	return m
})

// pastForm is what a fact of the past has.
var pastForm = lazy.Compile(`\b(?:was|were|had|used to|previously|formerly|former|until|once|ex|quit|stopped|no longer|\w{3,}ed)\b`)
