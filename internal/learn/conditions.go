package learn

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// sameConditions reports whether two facts of an attribute are true at the same times and occasions: "Tea in
// the morning" does not replace "tea in the evening".
func sameConditions(a, b, attribute string) bool {
	if attribute == "birthday" || strings.HasPrefix(attribute, "date:") { // the time is the value, not a condition
		return true
	}
	return maps.Equal(conditionTerms(a, attribute), conditionTerms(b, attribute))
}

// conditionTerms returns the terms of a fact's times and occasions, such as "morning" or "winter", without full dates.
func conditionTerms(fact, attribute string) map[string]bool {
	fact = sinceClause.ReplaceAllString(text.Fold(withoutDates(fact, slices.DeleteFunc(text.ResolveDates(fact, time.Time{}), func(d text.Date) bool { return d.IsRelative }))), "")
	times := slices.DeleteFunc(text.Words(prepositionPhrase.FindString(fact)), func(w string) bool { return !isTimeWord(w) || commonTerms.Has(text.Term(w)) })
	terms := extract.TermSet(strings.Join(append(times, conditionClause.FindString(fact)), " "))
	if strings.HasPrefix(attribute, "taste:") || strings.HasPrefix(attribute, "favourite:") {
		thing, _, _ := strings.Cut(fact, " is ")
		maps.Copy(terms, extract.TermSet(prepositionPhrase.FindString(thing)))
	}
	return terms
}

var (
	sinceClause       = lazy.Compile(`\bsince\b.*`)
	conditionClause   = lazy.Compile(`\b(?:when|while|if|unless|during|until|except)\b.*`)
	prepositionPhrase = lazy.Compile(`\b(?:at|in|on|with|without|for|before|after|during)\b.*`)
)
