package learn

import (
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
)

// ofGroup are words by which a person speaks of what they work on with others, and of the
// project at hand.
var ofGroup = lazy.Compile(`(?i)\b(?:we|we're|we've|we'll|(?-i:us)|our|ours|(?:this|the) (?:project|repo|repository|code ?base)|this (?:app|application|service|package|library|module)` +
	`|wir|uns|unser\w*|nous|notre|nosotr[oa]s|nuestr[oa]s?|noss[oa]s?|noi|nostr[oaie]|wij|onze)\b`)

// private are the categories of facts that are a person's own whoever "we" are: "our daughter",
// "we live in Lisbon".
var private = lazy.Words("personal family home health education possession event")

// OfProject reports whether a fact tells of the project in which it was said, and not of the
// person who said it: "our API is called Halyard" does, "I always use tabs" does not. quote is
// the words that it was read from. In doubt a fact is the person's.
func OfProject(c extract.Candidate, quote string) bool {
	if private.Has(c.Category) {
		return false
	}
	return c.Category == "project" && c.Subject != "user" || ofGroup.MatchString(quote)
}
