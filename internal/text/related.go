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

// related maps each term to the other terms of its synonym groups.
var related = sync.OnceValue(func() map[string][]string {
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

// Related returns the synonyms of a term from [Terms] ("job": "work", "occupation"), without the term itself.
// Callers must not modify the slice.
func Related(term string) []string { return related()[term] }

// WordOf returns the first word in the tables of synonyms and classes that has the given term, or "".
func WordOf(term string) string {
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

type classes struct {
	members map[string]Classes // by term
	asked   map[string]Classes
}

var classesOnce = sync.OnceValue(func() classes {
	c := classes{map[string]Classes{}, map[string]Classes{}}
	bit := Classes(1)
	for line := range strings.Lines(classTable) {
		names, members, _ := strings.Cut(line, ":")
		for w := range strings.FieldsSeq(members) {
			c.members[Term(w)] |= bit
		}
		for w := range strings.FieldsSeq(names) {
			c.asked[Term(w)] |= bit
		}
		bit <<= 1
	}
	return c
})

// ClassesOf returns the classes of a term from [Terms] ("violin": instruments).
func ClassesOf(term string) Classes { return classesOnce().members[term] }

// IsPerson reports whether a term from [Terms] names a person close to somebody: a relative, a partner, a
// colleague or flatmate, or a pet.
func IsPerson(term string) bool {
	return ClassesOf(term)&OwnPeople() != 0 || others()[term]
}

// IsPersonWord is like [IsPerson] for a word from [Words].
func IsPersonWord(word string) bool { return IsPerson(Term(word)) }

// OwnPeople returns the classes relative, partner and pet.
func OwnPeople() Classes { return ownPeople() }

var ownPeople = sync.OnceValue(func() Classes {
	return ClassesAsked(Term("relative")) | ClassesAsked(Term("partner")) | ClassesAsked(Term("pet"))
})

var others = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for word := range strings.FieldsSeq("friend buddy boss manager supervisor colleague coworker teammate roommate flatmate housemate neighbor neighbour landlord teacher coach tutor doctor dentist therapist") {
		m[Term(word)] = true
	}
	return m
})

// AboutAnother reports whether a text is about a person close to the speaker ("My sister lives in Bruges")
// instead of the speaker.
func AboutAnother(content string) bool {
	const opening = 40                                                                                                    // in bytes
	if start := content[:min(len(content), opening)]; !strings.Contains(start, "y ") && !strings.Contains(start, "ur ") { // most texts contain neither "my" nor "our"
		return false
	}
	words := Words(content)
	own := slices.IndexFunc(words, func(w string) bool { return w == "my" || w == "our" })
	if own < 0 || own > 3 || slices.ContainsFunc(words, func(w string) bool { return w == "i" || w == "me" || w == "we" || w == "us" || w == "myself" }) {
		return false
	}
	return slices.ContainsFunc(words[own+1:min(own+3, len(words))], func(w string) bool { return IsPerson(Term(w)) })
}

// ClassesAsked returns the classes that a term from [Terms] asks for ("instrument": instruments).
func ClassesAsked(term string) Classes { return classesOnce().asked[term] }
