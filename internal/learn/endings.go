package learn

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// endForms are the ways in which a statement says that something is over: what is no longer
// done or had, and one of what the user has that is gone.
var (
	endForm  = lazy.Compile(`^user (?:has |is |are )?(?:no longer|not|does not|cannot|will not|quit|stopped|gave up|left|dropped out of|graduated from) (?:going |has |have |owns? |keeps? |drives? )?(.+)$`)
	goneForm = lazy.Compile(`^user(?: (?:has )?(?:sold|gave(?: away)?|rehomed|got rid of|closed) (.+?)(?: away)?|'s (.+) (?:died|passed away))$`)
)

// articles may stand before what is over; other small words make it something else: who
// stopped by a shop ended nothing.
var articles = lazy.Words("a an the any his her their user's")

// phraseEnd parts what has a thing or a deed from what is said of it.
var phraseEnd = lazy.Compile(` (?:named|called|with|in|at|of|for|from|that|who|which|on|since|every|each|once|twice|\d+)\b|[,(]`)

// ended reports whether what a statement says is over is what a known fact says is so: all
// that it names stands in the fact, and the thing or deed that the fact is about is among it.
func ended(c extract.Candidate, f memory.Fact) bool {
	said, known := strings.TrimSpace(text.Fold(without(c.Text, text.Resolve(c.Text, c.ObservedAt)))), text.Fold(f.Content)
	gone := goneForm.FindStringSubmatch(said)
	what := endForm.FindStringSubmatch(said)
	switch {
	case gone != nil && (f.Subject == c.Subject || f.Subject == "user" && strings.HasPrefix(known, "user ")):
		what = []string{said, gone[1] + gone[2]}
	case what == nil || c.Subject != f.Subject:
		return false
	}
	if first, _, _ := strings.Cut(what[1], " "); text.Term(first) == "" && !articles.Has(first) || Denied(known) || strings.Contains(known, "-free ") {
		return false
	}
	over := extract.TermSet(what[1])
	delete(over, "user")
	if len(over) == 0 || extract.Covered(over, extract.TermSet(known)) < 1 {
		return false
	}
	head, rest := known, ""
	if at := phraseEnd.FindStringIndex(known); at != nil {
		head, rest = known[:at[0]], known[at[0]:]
	}
	named := slices.DeleteFunc(text.Terms(head), func(t string) bool { return t == "user" || common.Has(t) })
	return len(named) == 0 || over[named[len(named)-1]] && (gone == nil || len(text.Numbers(head)) == 0) || gone != nil && extract.Covered(over, extract.TermSet(rest)) == 1
}

// counting is a fact that says no more than how many of something the user has.
var counting = lazy.Compile(`^user (?:only )?has (?:only |now )?(\w+) (\w+)$`)

// recounts reports whether a fact says another number of what the known one counts. "A
// dog" may be one of two, "one dog" is not.
func recounts(said, known string) bool {
	a, b := counting.FindStringSubmatch(text.Fold(said)), counting.FindStringSubmatch(text.Fold(known))
	if a == nil || b == nil || text.Term(a[2]) != text.Term(b[2]) {
		return false
	}
	m, n := howMany(a[1]), howMany(b[1])
	return n > 0 && (m > n || 0 < m && m < n && a[1] != "a" && a[1] != "an")
}

func howMany(w string) int {
	switch ns := text.Numbers(w); {
	case len(ns) == 1:
		return atoi(ns[0])
	case w == "a", w == "an", w == "one":
		return 1
	}
	return 0
}
