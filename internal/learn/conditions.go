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

// sameConditions reports whether two facts of an attribute hold at the same times and on the
// same occasions: of tea in the morning and tea in the evening neither replaces the other.
func sameConditions(a, b, attribute string) bool {
	if attribute == "birthday" || strings.HasPrefix(attribute, "date:") { // a time is what it says
		return true
	}
	return maps.Equal(conditions(a, attribute), conditions(b, attribute))
}

// conditions returns the terms of a fact that say when or on what occasion it holds: its times,
// less dates with a year and what it tells to be past; the case that it names; and where, when or with
// what a thing is liked.
func conditions(fact, attribute string) map[string]bool {
	fact = sinceForm.ReplaceAllString(text.Fold(without(fact, slices.DeleteFunc(text.Resolve(fact, time.Time{}), func(d text.Date) bool { return d.Relative }))), "")
	times := slices.DeleteFunc(text.Words(narrowForm.FindString(fact)), func(w string) bool { return !isTime(w) || common.Has(text.Term(w)) })
	found := extract.TermSet(strings.Join(append(times, caseForm.FindString(fact)), " "))
	if strings.HasPrefix(attribute, "taste:") || strings.HasPrefix(attribute, "favourite:") {
		thing, _, _ := strings.Cut(fact, " is ")
		maps.Copy(found, extract.TermSet(narrowForm.FindString(thing)))
	}
	return found
}

var (
	sinceForm  = lazy.Compile(`\bsince\b.*`)
	caseForm   = lazy.Compile(`\b(?:when|while|if|unless|during|until|except)\b.*`)
	narrowForm = lazy.Compile(`\b(?:at|in|on|with|without|for|before|after|during)\b.*`)
)
