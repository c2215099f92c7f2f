package learn

import (
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// commonTerms are terms that comparisons of two facts ignore, so that "User lives in Rome" and "User is based in
// Rome" have the same meaning.
var commonTerms = lazy.SetOf(`live reside based located work employed job has own owns use uses like love enjoy prefer called named name really very much
	currently now also always still lot fact person someone goes go keep keeps married wife thing things`, extract.AllTermSet)

// sameMeaning reports whether two similar facts mean the same. They must have the same person, time, numbers,
// names, [directions] and polarity, and the same words except for [commonTerms].
func sameMeaning(a, b string) bool {
	return slices.Equal(sortedNumbers(a), sortedNumbers(b)) &&
		maps.Equal(foldedNames(a), foldedNames(b)) &&
		!hasTermNotIn(extract.TermSet(a), extract.TermSet(b)) && !hasTermNotIn(extract.TermSet(b), extract.TermSet(a)) &&
		sameSense(a, b) && maps.Equal(directionsOf(a), directionsOf(b))
}

// sameSense reports whether two facts have the same polarity and person, are both past or both present,
// and are both real or both unreal (a wish or a plan).
func sameSense(a, b string) bool {
	a, b = text.Fold(a), text.Fold(b)
	return IsDenial(a) == IsDenial(b) && text.HasNegation(a) == text.HasNegation(b) &&
		pastWords.MatchString(a) == pastWords.MatchString(b) &&
		unrealWords.MatchString(a) == unrealWords.MatchString(b) &&
		subjectPerson(a) == subjectPerson(b)
}

var (
	// pastWords matches words about the past, because stems do not distinguish "lived" from "lives".
	pastWords = lazy.Compile(`\b(?:was|were|had|did|used to|previously|formerly|former|once|no longer|any ?more|lived|worked|owned|studied|played|taught|drove|smoked|ran|drank)\b`)
	// unrealWords matches words for a wish, a plan or a thought.
	unrealWords = lazy.Compile(`\b(?:wants?|wanted|plan(?:s|ning|ned)?|going to|will|hop(?:e|es|ing)|needs?|considering|thinking (?:of|about)|dreams?|should|must|tr(?:y|ies|ying) to|wish(?:es)?|if|unless|would|could|might|may be|maybe|perhaps|possibly|probably|whether|almost|nearly)\b`)
)

// subjectPerson returns the subject of a folded fact: "user", or the first person among the first five words.
func subjectPerson(s string) string {
	for _, w := range text.Words(firstWords(s, 5)) {
		if !strings.HasPrefix(s, "user ") && text.IsPersonWord(w) {
			return text.Term(w)
		}
	}
	return strings.TrimSuffix(firstWords(s, 1), "'s")
}

func firstWords(s string, n int) string {
	words := strings.Fields(s)
	return strings.Join(words[:min(n, len(words))], " ")
}

// directions are stop words that change the meaning of a fact: "out of the water", "in the water".
var directions = lazy.Words("out off into onto away up down under over behind front inside outside without before after until since against than from to")

// directionsOf returns each direction in a text, joined with the term that follows it.
func directionsOf(s string) map[string]bool {
	set, last := map[string]bool{}, ""
	for _, w := range text.Words(s) {
		if directions.Has(w) {
			set[w], last = true, w
		} else if t := text.Term(w); t != "" && last != "" {
			set[last+" "+t], last = true, ""
		}
	}
	return set
}

func hasTermNotIn(a, b map[string]bool) bool {
	for t := range a {
		if !b[t] && !commonTerms.Has(t) {
			return true
		}
	}
	return false
}

func sortedNumbers(s string) []string {
	ns := text.Numbers(s)
	slices.Sort(ns)
	return slices.Compact(ns)
}

func foldedNames(s string) map[string]bool {
	set := map[string]bool{}
	for _, name := range text.Names(s) {
		set[text.Fold(name)] = true
	}
	return set
}

// withoutDates returns s without the given dates.
func withoutDates(s string, dates []text.Date) string {
	var b strings.Builder
	last := 0
	for _, d := range dates {
		b.WriteString(s[last:d.Start])
		last = d.End
	}
	b.WriteString(s[last:])
	return b.String()
}

func atoi(s string) int {
	n := 0
	for _, r := range s {
		if r < '0' || r > '9' || n > 1<<20 {
			return 0
		}
		n = n*10 + int(r-'0')
	}
	return n
}

func wordsOf(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range text.Words(s) {
		set[w] = true
	}
	return set
}
