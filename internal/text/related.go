package text

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed tables/synonyms.txt
var synonymTable string

//go:embed tables/classes.txt
var classTable string

// synonyms maps each term to the other terms of its synonym groups.
var synonyms = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(synonymTable) {
		var group []string
		for word := range strings.FieldsSeq(line) {
			if t := Term(word); t != "" && !slices.Contains(group, t) {
				group = append(group, t)
			}
		}
		for _, t := range group {
			for _, other := range group {
				if other != t && !slices.Contains(m[t], other) {
					m[t] = append(m[t], other)
				}
			}
		}
	}
	return m
})

// Synonyms returns the synonyms of a term from [Terms] ("job": "work", "occupation"), without the term itself.
// Callers must not modify the slice.
func Synonyms(term string) []string { return synonyms()[term] }

// TableWord returns the first word in the tables of synonyms and classes that has the given term, or "".
func TableWord(term string) string {
	for word := range strings.FieldsSeq(synonymTable) {
		if Term(word) == term {
			return word
		}
	}
	for line := range strings.Lines(classTable) {
		names, _, _ := strings.Cut(line, ":")
		for word := range strings.FieldsSeq(names) {
			if Term(word) == term {
				return word
			}
		}
	}
	return ""
}

// Classes is a set of classes of everyday things (instruments, pets, countries …), one bit for each class.
type Classes uint32

type classTables struct {
	byMember map[string]Classes // by term
	byName   map[string]Classes
}

var loadClassTables = sync.OnceValue(func() classTables {
	c := classTables{map[string]Classes{}, map[string]Classes{}}
	bit := Classes(1)
	for line := range strings.Lines(classTable) {
		names, members, _ := strings.Cut(line, ":")
		for w := range strings.FieldsSeq(members) {
			c.byMember[Term(w)] |= bit
		}
		for w := range strings.FieldsSeq(names) {
			c.byName[Term(w)] |= bit
		}
		bit <<= 1
	}
	return c
})

// ClassesOf returns the classes of a term from [Terms] ("violin": instruments).
func ClassesOf(term string) Classes { return loadClassTables().byMember[term] }

// IsPersonTerm reports whether a term from [Terms] names a person close to somebody: a relative, a partner, a
// colleague or flatmate, or a pet.
func IsPersonTerm(term string) bool {
	return ClassesOf(term)&ClosePersonClasses() != 0 || otherPersonTerms()[term]
}

// IsPersonWord is like [IsPersonTerm] for a word from [Words].
func IsPersonWord(word string) bool { return IsPersonTerm(Term(word)) }

// ClosePersonClasses returns the classes relative, partner and pet.
func ClosePersonClasses() Classes { return closePersonClasses() }

var closePersonClasses = sync.OnceValue(func() Classes {
	return ClassesNamed(Term("relative")) | ClassesNamed(Term("partner")) | ClassesNamed(Term("pet"))
})

var otherPersonTerms = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for word := range strings.FieldsSeq("friend buddy boss manager supervisor colleague coworker teammate roommate flatmate housemate neighbor neighbour landlord teacher coach tutor doctor dentist therapist") {
		m[Term(word)] = true
	}
	return m
})

// IsAboutAnother reports whether a text is about a person close to the speaker ("My sister lives in Bruges")
// instead of the speaker.
func IsAboutAnother(content string) bool {
	const opening = 40                                                                                                    // in bytes
	if start := content[:min(len(content), opening)]; !strings.Contains(start, "y ") && !strings.Contains(start, "ur ") { // most texts contain neither "my" nor "our"
		return false
	}
	words := Words(content)
	possessiveIndex := slices.IndexFunc(words, func(w string) bool { return w == "my" || w == "our" })
	if possessiveIndex < 0 || possessiveIndex > 3 || slices.ContainsFunc(words, func(w string) bool { return w == "i" || w == "me" || w == "we" || w == "us" || w == "myself" }) {
		return false
	}
	return slices.ContainsFunc(words[possessiveIndex+1:min(possessiveIndex+3, len(words))], func(w string) bool { return IsPersonTerm(Term(w)) })
}

// ClassesNamed returns the classes that a term from [Terms] asks for ("instrument": instruments).
func ClassesNamed(term string) Classes { return loadClassTables().byName[term] }
