package english

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed verbs.txt
var verbTable string

// Class is the kind of action that a verb expresses. It decides when a statement is worth remembering (verbs.txt).
type Class uint8

// The classes of verbs. A verb may have several.
const (
	Deed    Class = 1 << iota // worth remembering once done
	Light                     // worth remembering with a day, a name or a person close to the user
	Routine                   // worth remembering if done regularly
	Ongoing                   // worth remembering while it continues
	Aim                       // worth remembering if the user intends it
	Idle                      // talk and thought, not worth remembering
)

var classes = map[string]Class{"deed": Deed, "light": Light, "routine": Routine, "ongoing": Ongoing, "aim": Aim, "idle": Idle}

// Form is the form of a verb.
type Form uint8

// The forms of a verb. A word may have several.
const (
	Base Form = 1 << iota
	Preterite
	Participle
	Gerund
	ThirdPersonForm // "works"
)

// Verb is the analysis of a word as a verb.
type Verb struct {
	BaseForm string
	Form     Form
	Class    Class
}

// verbs returns the verbs of verbs.txt by each of their forms.
var verbs = sync.OnceValue(func() map[string]Verb {
	of, irregular := map[string]Class{}, map[string][]string{}
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
	add := func(word, lemma string, f Form) {
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
func doublesConsonant(lemma string) bool {
	n := len(lemma)
	if n < 3 || strings.ContainsRune(vowels+"wxy", rune(lemma[n-1])) || !strings.ContainsRune(vowels, rune(lemma[n-2])) || strings.ContainsRune(vowels, rune(lemma[n-3])) {
		return false
	}
	syllables := 0
	for i := 0; i < n; i++ {
		if strings.ContainsRune(vowels, rune(lemma[i])) && (i == 0 || !strings.ContainsRune(vowels, rune(lemma[i-1]))) {
			syllables++
		}
	}
	return syllables == 1 || lemma == "enrol" || lemma == "commit" || lemma == "submit" || lemma == "transfer" || lemma == "begin" || lemma == "quit" || lemma == "forget"
}

func regularPast(lemma string) string {
	n := len(lemma)
	switch {
	case strings.HasSuffix(lemma, "e"):
		return lemma + "d"
	case strings.HasSuffix(lemma, "y") && !strings.ContainsRune(vowels, rune(lemma[n-2])):
		return lemma[:n-1] + "ied"
	case doublesConsonant(lemma):
		return lemma + lemma[n-1:] + "ed"
	}
	return lemma + "ed"
}

func gerundOf(lemma string) string {
	n := len(lemma)
	switch {
	case lemma == "be":
		return "being"
	case strings.HasSuffix(lemma, "ie"):
		return lemma[:n-2] + "ying"
	case strings.HasSuffix(lemma, "e") && !strings.HasSuffix(lemma, "ee"):
		return lemma[:n-1] + "ing"
	case doublesConsonant(lemma):
		return lemma + lemma[n-1:] + "ing"
	}
	return lemma + "ing"
}

// ParseVerb analyses a lower-case word as a verb. A word that is not in verbs.txt counts as a verb if it ends in
// -ing or -ed, without a class.
func ParseVerb(w string) (Verb, bool) {
	if v, ok := verbs()[w]; ok {
		return v, true
	}
	switch n := len(w); {
	case n > 4 && strings.HasSuffix(w, "ing"):
		return Verb{w, Gerund, 0}, true
	case n > 3 && strings.HasSuffix(w, "ed") && !strings.HasSuffix(w, "eed"):
		return Verb{w, Preterite | Participle, 0}, true
	}
	return Verb{}, false
}

// KnownVerb is like [ParseVerb], but only for words of verbs.txt.
func KnownVerb(w string) (Verb, bool) {
	v, ok := verbs()[w]
	return v, ok
}

// isOnlyPastForm reports whether a word is a past form of a verb and no other form.
func isOnlyPastForm(w string) bool {
	v, ok := ParseVerb(w)
	return ok && v.Form&(Preterite|Participle) != 0 && v.Form&Base == 0
}
