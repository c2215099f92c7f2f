package english

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// Topics is a set of what facts about a person may say that holds for long and matters in talk about
// other things.
type Topics uint8

// The topics.
const (
	Answers Topics = 1 << iota // how they want to be answered: it matters always
	Food                       // what they must not or do not eat
	Body                       // illnesses, allergies, medicines
	Access                     // what they cannot see, hear, read or reach
	Kin                        // who is close to them, by name
	Theirs                     // beside one of these: it is about somebody else
	Named                      // it names somebody close, whatever else it says: see [KinIn]
)

// StandingIn returns the topics of which a fact says something that stands. It knows English facts, as
// rules and models write them, and the commonest words of some other languages.
func StandingIn(fact string) (is Topics) {
	words := text.Words(fact)
	if len(words) == 0 || len(words) > longestStanding {
		return 0
	}
	has := func(in *lazy.Set) bool { return slices.ContainsFunc(words, in.Has) }
	if has(styles) && (has(wishes) && aboutUser(words) || orders.Has(words[0])) || strings.Contains(fact, "from now on:") {
		is |= Answers
	}
	if has(diets) || has(never) && has(consumes) {
		is |= Food
	}
	if has(reactions) {
		is |= Body
		if !has(notEaten) {
			is |= Food
		}
	}
	if has(illnesses) || dose.MatchString(fact) || medical(words) {
		is |= Body
	}
	if has(senses) || cannot(words) {
		is |= Access
	}
	if kin(words, fact) {
		is |= Kin
	} else if is != 0 && is != Answers && !ofUser(words) {
		is |= Theirs
	}
	if len(KinIn(fact)) > 0 {
		is |= Named
	}
	return is
}

// TopicsOf returns the topics that what a person wrote in a message touches: [Answers] always, and
// [Theirs] where they speak of others, too.
func TopicsOf(message string) (is Topics) {
	is = Answers
	for _, s := range Read(text.Clip(message, mostTouching)) {
		if s.Pasted {
			continue
		}
		for _, w := range text.Words(s.Of(message)) {
			for topic, words := range touching {
				if words.Has(w) {
					is |= topic
				}
			}
			if together.Has(w) {
				is |= Theirs
			}
		}
	}
	return is
}

// mostTouching is how many bytes of a message are read for what it touches.
const mostTouching = 4 << 10

// longestStanding is how many words a fact has at most that stands: a longer one is a story.
const longestStanding = 60

// cannot reports whether somebody cannot or must not move or perceive in some way: "must not climb ladders".
func cannot(words []string) bool {
	for i, w := range words {
		if moves.Has(w) && (i > 0 && never.Has(words[i-1]) || i > 1 && never.Has(words[i-2])) {
			return true
		}
	}
	return false
}

// aboutUser reports whether a fact is about the user.
func aboutUser(words []string) bool {
	return slices.ContainsFunc(words[:min(4, len(words))], func(w string) bool { return w == "user" || w == "i" || w == "my" })
}

// ofUser reports whether a fact is about the user, and not about somebody of theirs.
func ofUser(words []string) bool {
	i := slices.IndexFunc(words[:min(4, len(words))], func(w string) bool { return w == "user" || w == "i" })
	return i >= 0 && (i+1 == len(words) || !text.IsPersonWord(words[i+1]))
}

// kin reports whether a fact names somebody who is close to the user: "User's husband is Henrik".
func kin(words []string, fact string) bool {
	for i, w := range words[:min(5, len(words))] {
		if i > 0 && text.IsPersonWord(w) && i+1 < len(words) && (words[i+1] == "is" || words[i+1] == "s" || words[i+1] == "named" || words[i+1] == "called") {
			return aboutUser(words) && len(text.Names(fact)) > 0
		}
	}
	return false
}

// KinIn returns the names of people and pets that a fact says are close to somebody, folded: those behind
// words such as "brother", as in "User runs a shop with User's brother Faisal".
func KinIn(fact string) (names []string) {
	near := 0 // how many words may still stand before the name
	for word := range strings.FieldsFuncSeq(fact, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' }) {
		folded := strings.ToLower(word)
		first, _ := utf8.DecodeRuneInString(word)
		switch {
		case text.IsPersonWord(folded):
			near = 4
			continue
		case near > 0 && beforeName.Has(folded):
			near--
			continue
		case near > 0 && (unicode.IsUpper(first) || mayBeName(folded)):
			names = append(names, text.Words(word)...)
		}
		near = 0
	}
	return names
}

// mayBeName reports whether a word without a capital behind what somebody is may be their name, as
// people who type in small letters write it: no word of grammar and no form of another word.
func mayBeName(word string) bool {
	return len(word) > 2 && len(text.Terms(word)) > 0 && text.Term(word) == word
}

// beforeName are words between what somebody is and their name.
var beforeName = lazy.Words("is was s name named called mr mrs ms dr")

// medical reports whether a word is of the form of an illness.
func medical(words []string) bool {
	for _, w := range words {
		for _, end := range [...]string{"itis", "emia", "aemia", "pathy", "algia", "plegia", "osclerosis", "fibrillation"} {
			if len(w) > len(end)+2 && strings.HasSuffix(w, end) && w != "sympathy" && w != "empathy" {
				return true
			}
		}
	}
	return false
}

var dose = lazy.Compile(`(?i)\b\d+ ?(?:mg|mcg|µg)\b`)

// Words of facts that stand, folded.
var (
	wishes = lazy.Words(`want wants wanted prefer prefers preferred need needs like likes ask asks asked expect expects should must always would use uses
		mochte will bevorzugt wunscht quiere prefiere veut prefere`)
	never = lazy.Words("no not never without avoid avoids cannot cant doesnt dont dislikes hates nothing neither kein keine nicht nie ohne nunca sin jamais sans")
	// styles are words for what an answer is and how it is written.
	styles = lazy.Words(`answer answers reply replies response responses explanation explanations feedback paragraph paragraphs sentence sentences bullet bullets
		emoji emojis heading headings markdown jargon pleasantries praise flattery tone metric imperial celsius fahrenheit units pinyin diff diffs addressed
		corrected corrections step concise antworten antwort respuestas respuesta reponses reponse`)
	orders = lazy.Words("always never no do use avoid immer nie siempre toujours")
	diets  = lazy.Words(`vegetarian vegan pescatarian pescetarian coeliac celiac kosher halal gluten lactose keto diabetic diabetes prediabetic vegetarier vegetarierin
		veganer veganerin vegetariano vegetariana vegano vegana vegetarien vegetarienne zoliakie pregnant`)
	consumes  = lazy.Words("eat eats eating drink drinks drinking dairy alcohol meat pork beef fish eggs sugar caffeine isst trinkt come bebe")
	reactions = lazy.Words("allergic allergy allergies intolerant intolerance anaphylaxis epipen allergisch allergie unvertraglichkeit alergico alergica alergia allergique")
	notEaten  = lazy.Words("penicillin amoxicillin sulfa antibiotics aspirin ibuprofen latex nickel pollen dust grass hay mold mould cat cats dog dogs bee bees wasp wasps perfume")
	illnesses = lazy.Words(`asthma asthmatic diabetes diabetic epilepsy epileptic migraine migraines cancer disease syndrome disorder diagnosed chronic insomnia
		hypertension depression anxiety adhd autism autistic ulcer reflux tinnitus transplant pacemaker pregnant prescribed medication insulin inhaler seizure
		seizures surgery operated asma diabetiker diabetikerin`)
	senses = lazy.Words(`wheelchair blind colourblind colorblind deaf dyslexia dyslexic deuteranopia protanopia deutan crutches rollator prosthesis hearing
		macular stutter stutters lefthanded rollstuhl rollstuhlfahrer rollstuhlfahrerin`)
	moves = lazy.Words("stairs ladders climb walk kneel hear see read drive fly type telephone treppen")
)

// together are words of messages that are about others too.
var together = lazy.Words("we us our ours family kids children guests everyone everybody friends wir uns unsere nosotros nuestra nuestro nous notre")

// touching are words of messages that touch a topic.
var touching = map[Topics]*lazy.Set{
	Food: lazy.Words(`cook cooking bake baking eat eating dinner dinners lunch lunches breakfast brunch supper snack snacks meal meals recipe recipes restaurant
		restaurants menu menus dish dishes food foods grocery groceries takeaway takeout dessert desserts cake cakes cocktail cocktails drinks catering buffet
		picnic barbecue bbq potluck appetizer appetizers starters soup salad pasta pizza curry stew sandwich kochen koche essen rezept rezepte abendessen
		mittagessen fruhstuck backen restaurante cocinar cocino cena cenar comer receta recetas almuerzo desayuno cuisiner diner recette manger dejeuner`),
	Body: lazy.Words(`pain hurts hurt hurting headache ache aches fever cough sick ill doctor hospital pharmacy medicine medicines medication pill pills tablets dose
		antibiotic antibiotics painkiller painkillers paracetamol ibuprofen aspirin vaccine vaccination symptom symptoms exercise exercises workout workouts gym
		training jog jogging stretch stretches supplement supplements vitamins sleepy tired schmerzen kopfschmerzen arzt tabletten medikament medikamente dolor
		medico pastilla pastillas`),
	Access: lazy.Words(`travel travelling traveling trip flight flights hotel hotels holiday vacation airbnb walk walking hike hiking stairs route tour museum concert
		venue flat apartment colour colours color colors chart charts graph graphs palette font fonts slides design poster presentation dashboard video film movie
		itinerary sightseeing reise urlaub viaje voyage`),
	Kin: lazy.Words(`family kids children relatives gift gifts present presents birthday christmas wedding anniversary party guests invitation invitations card
		speech toast familie kinder geschenk geburtstag familia regalo cumpleanos famille cadeau`),
}
