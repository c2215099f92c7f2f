package extract

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
)

// A denial may be of less than it seems: "I don't speak Spanish at home" says nothing
// against speaking it, "not allergic to nuts in general, just peanuts" nothing against
// an allergy.

// narrowing are words that narrow what stands before them.
var narrowing = lazy.Words("at after before with without in on during when while unless except for from well much often fluently enough every daily always generally until till around near by as because than very that if anything like yet fully completely entirely only just alone together per and raw cooked")

// fully are the words after a denial that narrow nothing.
var fully = lazy.Words("anymore any more longer all now either really though anyway personally whatsoever , ; : ( - ) but so because since and or")

// qualified reports whether a clause that denies something denies only a part of it, and
// reads what it says is so instead. What the family took is in r.g.
func (r *reader) qualified(c *clause, p *predicate, f *family) bool {
	if r.g.n == 0 || !narrowable.Has(f.rule) {
		return false
	}
	value := r.g.said[r.g.n-1]
	full := ThirdPerson(c.text(r.g.end, len(c.words)))
	rest, found := strings.CutPrefix(full, value)
	if !found {
		if rest = ThirdPerson(c.text(r.g.end, len(c.words))); rest != "" && !strings.HasPrefix(full, value) {
			_, rest, found = strings.Cut(full, value)
		}
	}
	for _, w := range strings.Fields(afterAll.ReplaceAllString(strings.ToLower(value), ""))[1:] {
		if narrowing.Has(w) && w != "and" && w != "from" {
			return true
		}
	}
	words := strings.Fields(strings.ToLower(rest))
	if len(words) == 0 || !found && r.g.end < len(c.words) {
		return false
	}
	if len(words) > 1 && words[0] == "after" && strings.HasPrefix(words[1], "all") {
		return false
	}
	first := strings.Trim(words[0], ".,;:!?()")
	switch {
	case first == "" || fully.Has(words[0]):
		return false
	case first == "at" && len(words) > 1 && strings.HasPrefix(words[1], "all"):
		return false
	case narrowing.Has(first) || Timing.Has(first) || adverb.Has(first):
		return true
	}
	return false
}

// afterAll is what only stresses a denial.
var afterAll = lazy.Compile(` (?:at|after) all\b.*$`)

// narrowable are families of what may hold in part.
var narrowable = lazy.Words("language diet allergy condition like dislike does uses plays")
