package english

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
)

// invariableVerbs do not change with the person: modal verbs and some past forms.
var invariableVerbs = lazy.Words("will would can could may might must shall should cannot used had did was were wo ca")

// adverbs add little meaning to a verb before or after them.
var adverbs = lazy.Words(`really also still currently now just recently actually always usually generally mostly mainly only finally
	definitely absolutely totally both originally basically already even truly certainly personally often
	sometimes rarely never normally typically occasionally frequently regularly kinda officially happily proudly
	soon primarily particularly especially genuinely strongly deeply simply probably gladly fully successfully
	then so super too kind lately all thoroughly eventually quickly slowly ever almost initially previously
	formerly once ultimately seriously pretty very temporarily permanently severely highly deathly mildly quite`)

// IsAdverb reports whether a lower-case word is an adverb that adds little meaning to a verb.
func IsAdverb(word string) bool { return adverbs.Has(word) }

// ToThirdPerson turns first-person English into statements about the user: "I love my job" becomes "User loves
// User's job". It leaves other words unchanged.
func ToThirdPerson(s string) string {
	words := strings.Split(plainQuotes.Replace(s), " ")
	for i := 0; i < len(words); i++ {
		core := strings.Trim(words[i], `.,;:!?"()`)
		replacement, ok := pronouns[strings.ToLower(core)]
		if !ok {
			continue
		}
		words[i] = strings.Replace(words[i], core, replacement, 1)
		if strings.EqualFold(core, "i") || strings.EqualFold(core, "we") {
			makeVerbThirdPerson(words[i+1:])
		}
	}
	return strings.Join(words, " ")
}

var plainQuotes = strings.NewReplacer("’", "'", "`", "'")

var pronouns = map[string]string{
	"i": "User", "i'm": "User is", "im": "User is", "i've": "User has", "ive": "User has", "i'll": "User will", "i'd": "User would",
	"me": "User", "my": "User's", "mine": "User's", "myself": "themself",
	"we": "User", "we're": "User is", "we've": "User has", "we'll": "User will", "we'd": "User would",
	"us": "User", "our": "User's", "ours": "User's", "ourselves": "themself",
}

func makeVerbThirdPerson(words []string) {
	for i, w := range words {
		if adverbs.Has(strings.ToLower(w)) {
			continue
		}
		words[i] = thirdPersonVerb(w)
		if i+2 < len(words) && (words[i+1] == "and" || words[i+1] == "or") && words[i] != w && plainVerb.MatchString(words[i+2]) {
			words[i+2] = thirdPersonVerb(words[i+2]) // "train" in "I practise and train every day"
		}
		return
	}
}

var plainVerb = lazy.Compile(`^[a-z]+$`)

// thirdPersonVerb returns the form of a verb after "User": "live" becomes "lives", "don't" becomes "doesn't".
// It does not change past forms and modal verbs.
func thirdPersonVerb(verb string) string {
	core := strings.TrimRight(verb, ".,;:!?")
	tail := verb[len(core):]
	low := strings.ToLower(strings.ReplaceAll(core, "’", "'"))
	if form := irregularThirdPerson[low]; form != "" {
		return form + tail
	}
	if low == "" || invariableVerbs.Has(low) || isOnlyPastForm(low) || strings.HasSuffix(low, "n't") || strings.HasSuffix(low, "s") && !strings.HasSuffix(low, "ss") {
		return verb // the verb already has the right form
	}
	return regularThirdPerson(core) + tail
}

// irregularThirdPerson are the irregular third-person forms.
var irregularThirdPerson = map[string]string{
	"am": "is", "are": "is", "were": "was", "have": "has", "do": "does", "go": "goes", "don't": "doesn't", "dont": "doesn't",
	"haven't": "hasn't", "havent": "hasn't", "aren't": "isn't",
}

// regularThirdPerson returns the third-person form of a regular verb: "lives".
func regularThirdPerson(baseForm string) string {
	n := len(baseForm)
	switch {
	case baseForm == "have":
		return "has"
	case strings.HasSuffix(baseForm, "y") && n > 1 && !strings.ContainsRune(vowels, rune(baseForm[n-2])):
		return baseForm[:n-1] + "ies"
	case strings.HasSuffix(baseForm, "s"), strings.HasSuffix(baseForm, "sh"), strings.HasSuffix(baseForm, "ch"), strings.HasSuffix(baseForm, "x"), strings.HasSuffix(baseForm, "z"), strings.HasSuffix(baseForm, "o"):
		return baseForm + "es"
	}
	return baseForm + "s"
}
