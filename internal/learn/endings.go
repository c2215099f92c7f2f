package learn

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Statements that end a fact: endForm for a deed, state or thing that ended, lossForm for a thing that the user lost.
var (
	endForm  = lazy.Compile(`^user (?:has |is |are )?(?:no longer|not|does not|cannot|will not|quit|stopped|gave up|left|dropped out of|graduated from) (?:going |has |have |owns? |keeps? |drives? )?(.+)$`)
	lossForm = lazy.Compile(`^user(?: (?:has )?(?:sold|gave(?: away)?|rehomed|got rid of|closed) (.+?)(?: away)?|'s (.+) (?:died|passed away))$`)
)

// articles may precede the thing that ended. Other small words change the meaning: "stopped by a shop".
var articles = lazy.Words("a an the any his her their user's")

// phraseEnd matches the word that separates a thing or a deed from its description.
var phraseEnd = lazy.Compile(` (?:named|called|with|in|at|of|for|from|that|who|which|on|since|every|each|once|twice|\d+)\b|[,(]`)

// endsFact reports whether a statement ends a fact: the fact has all terms of the statement, and the
// statement names the fact's thing or deed.
func endsFact(c extract.Candidate, f memory.Fact) bool {
	statement, fact := strings.TrimSpace(text.Fold(withoutDates(c.Text, text.ResolveDates(c.Text, c.ObservedAt)))), text.Fold(f.Content)
	loss := lossForm.FindStringSubmatch(statement)
	ending := endForm.FindStringSubmatch(statement)
	switch {
	case loss != nil && (f.Subject == c.Subject || f.Subject == "user" && strings.HasPrefix(fact, "user ")):
		ending = []string{statement, loss[1] + loss[2]}
	case ending == nil || c.Subject != f.Subject:
		return false
	}
	if first, _, _ := strings.Cut(ending[1], " "); text.Term(first) == "" && !articles.Has(first) || IsDenial(fact) || strings.Contains(fact, "-free ") {
		return false
	}
	endedTerms := extract.TermSet(ending[1])
	delete(endedTerms, "user")
	if len(endedTerms) == 0 || extract.CoveredShare(endedTerms, extract.TermSet(fact)) < 1 {
		return false
	}
	head, rest := fact, ""
	if at := phraseEnd.FindStringIndex(fact); at != nil {
		head, rest = fact[:at[0]], fact[at[0]:]
	}
	headTerms := slices.DeleteFunc(text.Terms(head), func(t string) bool { return t == "user" || commonTerms.Has(t) })
	return len(headTerms) == 0 || endedTerms[headTerms[len(headTerms)-1]] && (loss == nil || len(text.Numbers(head)) == 0) || loss != nil && extract.CoveredShare(endedTerms, extract.TermSet(rest)) == 1
}

// countForm matches a fact that only counts things of the user: "User has two dogs".
var countForm = lazy.Compile(`^user (?:only )?has (?:only |now )?(\w+) (\w+)$`)

// hasOtherCount reports whether a statement has another number for the things that a fact counts. "Has one dog"
// recounts "has two dogs"; "has a dog" does not, because it may be one of the two.
func hasOtherCount(statement, fact string) bool {
	a, b := countForm.FindStringSubmatch(text.Fold(statement)), countForm.FindStringSubmatch(text.Fold(fact))
	if a == nil || b == nil || text.Term(a[2]) != text.Term(b[2]) {
		return false
	}
	m, n := parseCountWord(a[1]), parseCountWord(b[1])
	return n > 0 && (m > n || 0 < m && m < n && a[1] != "a" && a[1] != "an")
}

func parseCountWord(w string) int {
	switch ns := text.Numbers(w); {
	case len(ns) == 1:
		return atoi(ns[0])
	case w == "a", w == "an", w == "one":
		return 1
	}
	return 0
}
