package text

import (
	"slices"
	"strings"
	"testing"
	"unicode"
)

func TestSynonymsAreGroupsOfDifferentTerms(t *testing.T) {
	groups := 0
	for line := range strings.Lines(synonymTable) {
		groups++
		seen := map[string]bool{}
		for w := range strings.FieldsSeq(line) {
			if Term(w) == "" {
				t.Errorf("%q is a stop word and never asked for, in %q", w, line)
			}
			seen[Term(w)] = true
		}
		if len(seen) < 2 || len(seen) > 8 {
			t.Errorf("a group of %d terms: %q", len(seen), line)
		}
	}
	if groups < 150 {
		t.Errorf("%d groups, want at least 150", groups)
	}
	for _, pair := range [][2]string{{"job", "occupation"}, {"resides", "living"}, {"husband", "spouse"}, {"doctor", "physicians"}, {"colour", "color"},
		{"postgres", "PostgreSQL"}, {"wifi", "Wi-Fi"}} {
		if a, b := Terms(pair[0])[0], Terms(pair[1])[0]; !slices.Contains(Synonyms(a), b) || !slices.Contains(Synonyms(b), a) {
			t.Errorf("%s and %s are not related: %v, %v", pair[0], pair[1], Synonyms(a), Synonyms(b))
		}
	}
	for term, others := range synonyms() {
		if slices.Contains(others, term) {
			t.Errorf("%s is related to itself", term)
		}
	}
}

func TestClassesAreListsOfSingleWords(t *testing.T) {
	lines := 0
	for line := range strings.Lines(classTable) {
		lines++
		names, members, ok := strings.Cut(line, ":")
		if !ok || len(strings.Fields(names)) == 0 {
			t.Errorf("no names: %q", line)
		}
		words := strings.Fields(members)
		if len(words) < 5 || len(words) > 200 {
			t.Errorf("%s has %d members", names, len(words))
		}
		for i, w := range words {
			if slices.Contains(words[:i], w) || strings.ContainsFunc(w, func(r rune) bool { return !unicode.IsLower(r) }) {
				t.Errorf("%s: %q is there twice or no plain word", names, w)
			}
		}
	}
	if lines > 32 {
		t.Errorf("%d classes, and bits for 32", lines)
	}
	for asked, member := range map[string]string{"instruments": "violins", "pets": "hamster", "country": "Portugal", "colour": "blue", "languages": "japanese", "allergies": "peanuts", "hobbies": "cello"} {
		if ClassesNamed(Term(asked))&ClassesOf(Term(Fold(member))) == 0 {
			t.Errorf("%s is not among the %s", member, asked)
		}
	}
	if ClassesNamed(Term("sport"))&ClassesOf(Term("trombone")) != 0 {
		t.Error("a trombone is a sport")
	}
}

func TestAboutAnother(t *testing.T) {
	for content, want := range map[string]bool{
		"My sister lives in Bruges.": true, "So my little brother plays the piano": true, "Our cat is ill": true, "My boss is leaving": true,
		"I live in Bruges.": false, "My sister and I live in Bruges.": false, "My job is fine": false, "My sister told me to rest": false, "Rome": false, "": false,
	} {
		if got := IsAboutAnother(content); got != want {
			t.Errorf("%q: got %v, want %v", content, got, want)
		}
	}
}
