package extract

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed tables/verbs.txt
var verbTable string

// class says what a statement with a verb is worth, see tables/verbs.txt.
type class uint8

const (
	deed class = 1 << iota
	light
	routine
	ongoing
	aim
	idle
	plain
)

var classNames = map[string]class{"deed": deed, "light": light, "routine": routine, "ongoing": ongoing, "aim": aim, "idle": idle, "plain": plain}

// form is which form of a verb a word is.
type form uint8

// The forms of a verb.
const (
	base form = 1 << iota
	preterite
	participle
	Gerund
	thirdForm // "works"
)

// verb is what a word is as a verb.
type verb struct {
	Lemma string
	Form  form
	class class
}

// Verbs are all forms of the verbs we know.
var Verbs = sync.OnceValue(func() map[string]verb {
	classes, irregular := map[string]class{}, map[string][]string{}
	for line := range strings.SplitSeq(verbTable, "\n") {
		head, rest, found := strings.Cut(line, ":")
		switch {
		case strings.HasPrefix(line, "#") || line == "":
		case strings.HasPrefix(line, "= "):
			three := strings.Fields(line[2:])
			irregular[three[0]] = three
			classes[three[0]] |= 0
		case found:
			for lemma := range strings.FieldsSeq(rest) {
				classes[lemma] |= classNames[head]
			}
		}
	}
	forms := make(map[string]verb, 5*len(classes))
	add := func(word, lemma string, f form) {
		v, known := forms[word]
		if known && v.Lemma != lemma {
			if f == base { // "found" is a form of "find" before it is a verb of its own
				return
			}
		}
		forms[word] = verb{lemma, v.Form | f, classes[lemma]}
	}
	for lemma := range classes {
		past, part := regularPast(lemma), regularPast(lemma)
		if three, ok := irregular[lemma]; ok {
			past, part = three[1], three[2]
		}
		add(past, lemma, preterite)
		add(part, lemma, participle)
		add(regularPast(lemma), lemma, preterite|participle) // "learned" beside "learnt"
		add(gerundOf(lemma), lemma, Gerund)
		add(thirdOf(lemma), lemma, thirdForm)
	}
	for lemma := range classes {
		add(lemma, lemma, base)
	}
	return forms
})

const vowels = "aeiou"

// doubles reports whether a verb's last consonant is written twice before an
// ending: "plan" and "planned", not "visit" and "visited".
func doubles(v string) bool {
	n := len(v)
	if n < 3 || strings.ContainsRune(vowels+"wxy", rune(v[n-1])) || !strings.ContainsRune(vowels, rune(v[n-2])) || strings.ContainsRune(vowels, rune(v[n-3])) {
		return false
	}
	syllables := 0
	for i := 0; i < n; i++ {
		if strings.ContainsRune(vowels, rune(v[i])) && (i == 0 || !strings.ContainsRune(vowels, rune(v[i-1]))) {
			syllables++
		}
	}
	return syllables == 1 || v == "enrol" || v == "commit" || v == "submit" || v == "transfer" || v == "begin" || v == "quit" || v == "forget"
}

func regularPast(v string) string {
	n := len(v)
	switch {
	case strings.HasSuffix(v, "e"):
		return v + "d"
	case strings.HasSuffix(v, "y") && !strings.ContainsRune(vowels, rune(v[n-2])):
		return v[:n-1] + "ied"
	case doubles(v):
		return v + v[n-1:] + "ed"
	}
	return v + "ed"
}

func gerundOf(v string) string {
	n := len(v)
	switch {
	case v == "be":
		return "being"
	case strings.HasSuffix(v, "ie"):
		return v[:n-2] + "ying"
	case strings.HasSuffix(v, "e") && !strings.HasSuffix(v, "ee"):
		return v[:n-1] + "ing"
	case doubles(v):
		return v + v[n-1:] + "ing"
	}
	return v + "ing"
}

// VerbOf returns what a word is as a verb. Words that we do not know are verbs by
// their endings, of no class.
func VerbOf(w string) (verb, bool) {
	if v, ok := Verbs()[w]; ok {
		return v, true
	}
	switch n := len(w); {
	case n > 4 && strings.HasSuffix(w, "ing"):
		return verb{w, Gerund, 0}, true
	case n > 3 && strings.HasSuffix(w, "ed") && !strings.HasSuffix(w, "eed"):
		return verb{w, preterite | participle, 0}, true
	}
	return verb{}, false
}

// past reports whether a word is a verb in the past and in no other form.
func past(w string) bool {
	v, ok := VerbOf(w)
	return ok && v.Form&(preterite|participle) != 0 && v.Form&base == 0
}
