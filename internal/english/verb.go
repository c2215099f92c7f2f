package english

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed verbs.txt
var verbTable string

// VerbClass is the kind of action that a verb expresses. It decides when a statement is worth remembering.
type VerbClass uint8

// The classes of verbs. A verb may have several.
const (
	Deed    VerbClass = 1 << iota // worth remembering once done
	Light                         // worth remembering if stated with a day, a name or a person close to the user
	Routine                       // worth remembering if done regularly
	Ongoing                       // worth remembering while it continues
	Aim                           // worth remembering if the user intends it
	Idle                          // talk and thought, not worth remembering
)

var classes = map[string]VerbClass{"deed": Deed, "light": Light, "routine": Routine, "ongoing": Ongoing, "aim": Aim, "idle": Idle}

// VerbForm is a set of grammatical forms of a verb.
type VerbForm uint8

// The forms of a verb. A word may have several.
const (
	Base VerbForm = 1 << iota
	Preterite
	Participle
	Gerund
	ThirdPersonForm // "works"
)

// Verb is the analysis of a word as a verb.
type Verb struct {
	BaseForm string
	Form     VerbForm
	Class    VerbClass
}

// verbs returns the verbs of verbs.txt by each of their forms.
var verbs = sync.OnceValue(func() map[string]Verb {
	of, irregular := map[string]VerbClass{}, map[string][]string{}
	for line := range strings.SplitSeq(verbTable, "\n") {
		head, rest, found := strings.Cut(line, ":")
		switch {
		case strings.HasPrefix(line, "#") || line == "":
		case strings.HasPrefix(line, "= "):
			three := strings.Fields(line[2:])
			irregular[three[0]] = three
			of[three[0]] |= 0
		case found:
			for lemma := range strings.FieldsSeq(rest) {
				of[lemma] |= classes[head]
			}
		}
	}
	forms := make(map[string]Verb, 5*len(of))
	add := func(word, lemma string, f VerbForm) {
		v, ok := forms[word]
		if ok && v.BaseForm != lemma && f == Base { // "found" is a form of "find", and not another verb
			return
		}
		forms[word] = Verb{lemma, v.Form | f, of[lemma]}
	}
	for lemma := range of {
		past, part := regularPast(lemma), regularPast(lemma)
		if three, ok := irregular[lemma]; ok {
			past, part = three[1], three[2]
		}
		add(past, lemma, Preterite)
		add(part, lemma, Participle)
		add(regularPast(lemma), lemma, Preterite|Participle) // "learned" in addition to "learnt"
		add(gerundOf(lemma), lemma, Gerund)
		add(regularThirdPerson(lemma), lemma, ThirdPersonForm)
	}
	for lemma := range of {
		add(lemma, lemma, Base)
	}
	return forms
})

const vowels = "aeiou"

// doublesConsonant reports whether a verb doubles its last consonant before an ending: "planned", but not "visitted".
func doublesConsonant(baseForm string) bool {
	n := len(baseForm)
	if n < 3 || strings.ContainsRune(vowels+"wxy", rune(baseForm[n-1])) || !strings.ContainsRune(vowels, rune(baseForm[n-2])) || strings.ContainsRune(vowels, rune(baseForm[n-3])) {
		return false
	}
	syllables := 0
	for i := 0; i < n; i++ {
		if strings.ContainsRune(vowels, rune(baseForm[i])) && (i == 0 || !strings.ContainsRune(vowels, rune(baseForm[i-1]))) {
			syllables++
		}
	}
	return syllables == 1 || baseForm == "enrol" || baseForm == "commit" || baseForm == "submit" || baseForm == "transfer" || baseForm == "begin" || baseForm == "quit" || baseForm == "forget"
}

func regularPast(baseForm string) string {
	n := len(baseForm)
	switch {
	case strings.HasSuffix(baseForm, "e"):
		return baseForm + "d"
	case strings.HasSuffix(baseForm, "y") && !strings.ContainsRune(vowels, rune(baseForm[n-2])):
		return baseForm[:n-1] + "ied"
	case doublesConsonant(baseForm):
		return baseForm + baseForm[n-1:] + "ed"
	}
	return baseForm + "ed"
}

func gerundOf(baseForm string) string {
	n := len(baseForm)
	switch {
	case baseForm == "be":
		return "being"
	case strings.HasSuffix(baseForm, "ie"):
		return baseForm[:n-2] + "ying"
	case strings.HasSuffix(baseForm, "e") && !strings.HasSuffix(baseForm, "ee"):
		return baseForm[:n-1] + "ing"
	case doublesConsonant(baseForm):
		return baseForm + baseForm[n-1:] + "ing"
	}
	return baseForm + "ing"
}

// ParseVerb analyses a lower-case word as a verb. A word that is not in verbs.txt counts as a verb if it ends in
// -ing or -ed, without a class.
func ParseVerb(word string) (Verb, bool) {
	if v, ok := verbs()[word]; ok {
		return v, true
	}
	switch n := len(word); {
	case n > 4 && strings.HasSuffix(word, "ing"):
		return Verb{word, Gerund, 0}, true
	case n > 3 && strings.HasSuffix(word, "ed") && !strings.HasSuffix(word, "eed"):
		return Verb{word, Preterite | Participle, 0}, true
	}
	return Verb{}, false
}

// KnownVerb is like [ParseVerb], but only for words of verbs.txt.
func KnownVerb(word string) (Verb, bool) {
	v, ok := verbs()[word]
	return v, ok
}

// isOnlyPastForm reports whether a word is a past form of a verb and no other form.
func isOnlyPastForm(word string) bool {
	v, ok := ParseVerb(word)
	return ok && v.Form&(Preterite|Participle) != 0 && v.Form&Base == 0
}
