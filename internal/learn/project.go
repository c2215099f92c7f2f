package learn

import (
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
)

// groupWords match words for shared work and the current project.
var groupWords = lazy.Compile(`(?i)\b(?:we|we're|we've|we'll|(?-i:us)|our|ours|(?:this|the) (?:project|repo|repository|code ?base)|this (?:app|application|service|package|library|module)` +
	`|wir|uns|unser\w*|nous|notre|nosotr[oa]s|nuestr[oa]s?|noss[oa]s?|noi|nostr[oaie]|wij|onze)\b`)

// privateCategories stay personal even if the fact says "we": "our daughter", "we live in Lisbon".
var privateCategories = lazy.Words("personal family home health education possession event")

// IsProjectFact reports whether a fact belongs to the project ("Our API is called Halyard") instead of the
// speaker ("I always use tabs"). quote is the text that supports the fact. If in doubt, a fact is personal.
func IsProjectFact(c extract.Candidate, quote string) bool {
	if privateCategories.Has(c.Category) {
		return false
	}
	return c.Category == "project" && c.Subject != "user" || groupWords.MatchString(quote)
}
