package learn

import (
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/late"
	"github.com/loci-memory/loci/internal/text"
)

// What a claim says must be there: its words, its days and its numbers.

// worded reports whether the claim's words are there: each itself, or one that
// says the same.
func (c *claim) worded(g *gathered) bool {
	for _, n := range c.names {
		if !g.words[n] && !g.person[n] && !g.terms[text.Term(n)] && !(opines.MatchString(c.folded) && g.addresses(n)) {
			return false
		}
	}
	missing := 0
	for i, t := range c.terms {
		if g.has(t) {
			continue
		}
		missing++
		if missing > c.spare() || c.exchanged(i, g) {
			return false
		}
	}
	folded := g.folded
	if c.subject.who == speaker {
		folded = anothers.ReplaceAllString(folded, "another's")
	}
	for _, e := range evidence {
		if e.claim.MatchString(c.folded) && !e.said.MatchString(folded) {
			return false
		}
	}
	return true
}

// anothers is what belongs to a person of the user's.
var anothers = late.Compile(`\b(?:my|our) (?:\w+[- ])?(?:brother|sister|mother|mom|mum|father|dad|parent|son|daughter|kid|child|wife|husband|partner|girlfriend|boyfriend|friend|uncle|aunt|cousin|grand\w+|boss|manager|colleague|coworker|neighbou?r|roommate|flatmate|landlord|teacher|doctor|ex)s?'s?\b`)

// spare returns how many of a claim's words may be the model's own. The longer the
// claim, the less one word decides; of what somebody thinks of a thing, less than
// of what is so.
func (c *claim) spare() int {
	switch n := len(c.terms); {
	case n >= longClaim:
		return n / 2
	case n >= 3 && opines.MatchString(c.folded):
		return 1
	default:
		return n / 4
	}
}

// has reports whether the words say what a term of a claim does.
func (g *gathered) has(t string) bool {
	return g.terms[t] || g.terms[kin(t)] || g.person[kin(t)] || bridged(t, g.folded)
}

// exchanged reports whether another word stands where the claim's i-th should:
// "coffee every morning" for "tea every morning". In a short claim one neighbour
// tells, in a long one both must.
func (c *claim) exchanged(i int, g *gathered) bool {
	left, right := i == 0, i+1 == len(c.terms)
	lone := len(c.terms) < longClaim
	if i > 0 {
		at := slices.Index(g.order, c.terms[i-1])
		left = at >= 0 && at+1 < len(g.order) && !slices.Contains(c.terms, g.order[at+1])
		if left && lone {
			return true
		}
	}
	if i+1 < len(c.terms) {
		at := slices.Index(g.order, c.terms[i+1])
		right = at > 0 && !slices.Contains(c.terms, g.order[at-1])
		if right && lone {
			return true
		}
	}
	return left && right && !lone
}

// longClaim is from how many words on a claim may be worded freely.
const longClaim = 6

// dated reports whether the claim's dates are those that were said.
func (c *claim) dated(g *gathered, said Said) bool {
	if len(c.dates) == 0 {
		return true
	}
	known := text.Resolve(g.raw, c.at)
	if g.raw != g.text {
		known = append(known, text.Resolve(g.text, c.at)...)
	}
	for _, d := range c.dates {
		if !slices.ContainsFunc(known, func(k text.Date) bool { return within2(d, k) || within2(k, d) || yearApart(d, k) }) && !sinceYears(d, g, c.at) {
			return false
		}
	}
	return true
}

// within2 reports whether a lies in b.
func within2(a, b text.Date) bool { return !a.From.Before(b.From) && !a.To.After(b.To) }

// yearApart reports whether two dates are the same day or month of years that nobody
// named: "in March" is of one year or another by the words around it.
func yearApart(a, b text.Date) bool {
	return a.Relative && b.Relative && a.Grain == b.Grain && a.From.Month() == b.From.Month() && a.From.Day() == b.From.Day()
}

var forYears = late.Compile(`\b(\w+) years?\b`)

// sinceYears reports whether a year follows from "for three years".
func sinceYears(d text.Date, g *gathered, at time.Time) bool {
	if d.Grain != text.Year || at.IsZero() {
		return false
	}
	for _, m := range forYears.FindAllStringSubmatch(g.folded, -1) {
		for _, n := range text.Numbers(m[1]) {
			if years := atoi(n); years > 0 && d.From.Year() == at.Year()-years {
				return true
			}
		}
	}
	return false
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

// counted reports whether the claim's numbers are there and count the same things.
func (c *claim) counted(g *gathered) bool {
	for _, w := range text.Words(c.text) { // the first is not the second
		if ordinals.Has(w) && !g.words[w] && anyOf(g.words, ordinals.All()) {
			return false
		}
	}
	if len(c.numbers) == 0 {
		return true
	}
	said := counts(g.text)
	for _, n := range counts(c.text) {
		found, fits := false, false
		for _, s := range said {
			if s.number == n.number {
				found = true
				fits = fits || n.of == "" || s.of == n.of || !countedElsewhere(said, n)
			}
		}
		if !found || !fits {
			return false
		}
	}
	for _, word := range currencies { // 500 dollars are not 500 euros
		if strings.Contains(c.folded, word) && !strings.Contains(g.folded, word) {
			return false
		}
	}
	return true
}

var ordinals = late.Words("first second third fourth fifth sixth seventh eighth ninth tenth last")

func anyOf(words, of map[string]bool) bool {
	for w := range of {
		if words[w] {
			return true
		}
	}
	return false
}

var currencies = []string{" dollars", " euros", " pounds", " yen"}

// count is a number and the term after it: "3 cats".
type count struct{ number, of string }

func counts(s string) []count {
	var out []count
	words := text.Words(s)
	for i, w := range words {
		for _, n := range text.Numbers(w) {
			c := count{number: n}
			for j := i + 1; j < len(words) && j <= i+4 && c.of == "" && len(text.Numbers(words[j])) == 0; j++ {
				c.of = text.Term(words[j])
			}
			out = append(out, c)
		}
	}
	return out
}

// countedElsewhere reports whether the thing of n is counted by another number.
func countedElsewhere(said []count, n count) bool {
	return slices.ContainsFunc(said, func(s count) bool { return s.of == n.of && s.number != n.number })
}
