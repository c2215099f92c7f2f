package learn

import (
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// endSort is what kind of fact a statement ends.
type endSort int

const (
	habit endSort = iota // what the user does or is: "no longer plays tennis", "quit tennis"
	kept                 // what the user has: "no longer has a dog"
	gone                 // one of what the user has: "sold User's car", "User's dog died"
)

// endForms are the ways in which a statement says that something is over.
var endForms = []struct {
	form *lazy.Pattern
	sort endSort
}{
	{lazy.Compile(`^user (?:no longer|does not) (?:has|have|owns?|keeps?|drives?) (.+)$`), kept},
	{lazy.Compile(`^user (?:has )?(?:sold|gave(?: away)?|rehomed|got rid of|closed) (.+?)(?: away)?$`), gone},
	{lazy.Compile(`^user's (.+) (?:died|passed away)$`), gone},
	{lazy.Compile(`^user (?:is |are )?(?:no longer|not|does not|cannot|will not) (.+)$`), habit},
	{lazy.Compile(`^user (?:has )?(?:quit|stopped|gave up|left|dropped out of|graduated from) (?:going )?(.+)$`), habit},
}

// ending is what a statement says is over.
type ending struct {
	sort  endSort
	terms map[string]bool
	at    time.Time // when it ended, if a day is named
}

// articles may stand before what is over; other small words make it something else: who
// stopped by a shop ended nothing.
var articles = lazy.Words("a an the any his her their user's")

// endOf reads what a statement ends, false if it ends nothing.
func endOf(said string, at time.Time) (ending, bool) {
	dates := text.Resolve(said, at)
	folded := strings.TrimSpace(text.Fold(without(said, dates)))
	for _, f := range endForms {
		m := f.form.FindStringSubmatch(folded)
		if m == nil {
			continue
		}
		if first, _, _ := strings.Cut(m[1], " "); text.Term(first) == "" && !articles.Has(first) {
			return ending{}, false
		}
		e := ending{sort: f.sort, terms: extract.TermSet(m[1])}
		delete(e.terms, "user")
		if len(dates) == 1 {
			e.at = dates[0].To
		}
		return e, len(e.terms) > 0
	}
	return ending{}, false
}

// outlived is how long after its end a fact may have been said for the end still to be
// news: who was laid off years ago works where they say they do.
const outlived = 180 * 24 * time.Hour

var (
	havingForm = lazy.Compile(`^user (?:has|owns|drives|rides|keeps|adopted|bought|rents|runs) (.+)$`)
	phraseEnd  = lazy.Compile(` (?:named|called|with|in|at|of|for|from|that|who|which|on|to|since|every|each|\d+)\b|[,(]`)
)

// cutPhrase parts what has a thing or a deed from what is said of it.
func cutPhrase(s string) (head, rest string) {
	if at := phraseEnd.FindStringIndex(s); at != nil {
		return s[:at[0]], s[at[0]:]
	}
	return s, ""
}

// ends reports whether what is over is what a known fact says is so: all that the statement
// ends stands in the fact.
func (e *ending) ends(c *extract.Candidate, f *memory.Fact) bool {
	known := text.Fold(f.Content)
	if Denied(known) || !e.at.IsZero() && f.ObservedAt.Sub(e.at) > outlived || strings.Contains(known, "-free ") {
		return false
	}
	words := slices.DeleteFunc(text.Words(known), func(w string) bool { return text.Term(w) == "" })
	for t := range e.terms {
		if !slices.ContainsFunc(words, func(w string) bool { return isKind(t, text.Term(w)) }) {
			return false
		}
	}
	if e.sort != habit && f.Subject == "user" {
		m := havingForm.FindStringSubmatch(known)
		if m == nil || strings.Contains(m[1], " and ") || e.sort == gone && len(text.Numbers(m[1])) > 0 {
			return false // of several, who knows which
		}
		head, rest := cutPhrase(m[1])
		return e.names(lastWord(head)) || extract.Covered(e.terms, extract.TermSet(rest)) == 1
	}
	if f.Subject != c.Subject || e.sort != habit || len(e.terms) > 1 {
		return f.Subject == c.Subject
	}
	deed, _ := cutPhrase(known)
	others := slices.DeleteFunc(text.Terms(deed), func(t string) bool { return t == "user" || e.terms[t] || common.Has(t) })
	return len(others) == 0 || len(others) == 1 && !e.terms[text.Term(words[1])] // the verb of what was named by a noun
}

// names reports whether a word names what is over, or something of that kind.
func (e *ending) names(word string) bool {
	for t := range e.terms {
		if isKind(t, text.Term(word)) {
			return true
		}
	}
	return false
}

// isKind reports whether a term is another, or one of its kind: a dog is a pet.
func isKind(kind, term string) bool {
	return kind == term || text.ClassesAsked(kind)&text.ClassesOf(term) != 0
}

func lastWord(s string) string { return s[strings.LastIndexByte(s, ' ')+1:] }

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
