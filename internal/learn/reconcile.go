package learn

import (
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// Reconcile decides how each candidate changes similar facts: by the model's operation, or else by rules. A
// candidate replaces a fact with the same subject and single-valued attribute, or with the opposite meaning.
// Reconcile drops a candidate if a fact states the same in more detail, and adds all other candidates. A
// candidate that ends a fact yields to a candidate with the replacement ("no longer works at Acme", "works at
// Bosch"). Plan decides whether a replacement is allowed.
func Reconcile(cands []extract.Candidate) []Decision {
	var out []Decision
	for i, c := range cands {
		switch {
		case c.Op != "":
			out = append(out, modelDecisions(i, c)...)
		case hasReplacement(cands, c):
			out = append(out, Decision{CandidateIndex: i, Verdict: Add})
		default:
			out = append(out, reconcileByRules(i, c)...)
		}
	}
	return out
}

// hasReplacement reports whether another candidate replaces the value that candidate c ends.
func hasReplacement(cands []extract.Candidate, c extract.Candidate) bool {
	return extract.IsSingleValued(c.Attribute) && text.HasNegation(c.Text) && slices.ContainsFunc(cands, func(o extract.Candidate) bool {
		return o.Subject == c.Subject && o.Attribute == c.Attribute && !text.HasNegation(o.Text) && o.ReviewReason == "" && !extract.IsSameThing(c.Text, o.Text)
	})
}

func reconcileByRules(candidateIndex int, c extract.Candidate) []Decision {
	var out []Decision
	for _, n := range c.Neighbors {
		if !n.Fact.Status.Live() {
			continue
		}
		fact := n.Fact.Content
		switch {
		case endsFact(c, n.Fact):
			out = append(out, Decision{CandidateIndex: candidateIndex, Verdict: Update, TargetID: n.Fact.ID, Reason: "it has ended"})
		case c.Subject == n.Fact.Subject && hasOtherCount(c.Text, fact):
			out = append(out, Decision{CandidateIndex: candidateIndex, Verdict: Update, TargetID: n.Fact.ID, Reason: "another number"})
		case sameAttribute(c, n) && c.Attribute != "household" && hasMoreDetail(c.Text, fact) && maritalWords.FindString(text.Fold(c.Text)) == maritalWords.FindString(text.Fold(fact)):
			return []Decision{{CandidateIndex: candidateIndex, Verdict: None, TargetID: n.Fact.ID, Reason: "a stored fact has more detail"}}
		case sameAttribute(c, n) && sameConditions(c.Text, fact, c.Attribute) && (!text.HasNegation(c.Text) || !IsDenial(fact) && (strings.Contains(c.Attribute, ":") || extract.IsSameThing(c.Text, fact))):
			out = append(out, Decision{CandidateIndex: candidateIndex, Verdict: Update, TargetID: n.Fact.ID, Reason: "a newer " + attributeFamily(c.Attribute)})
		case isOpposite(c.Text, fact) && sameConditions(c.Text, fact, c.Attribute):
			out = append(out, Decision{CandidateIndex: candidateIndex, Verdict: Update, TargetID: n.Fact.ID, Reason: "says the opposite"})
		}
	}
	if len(out) == 0 {
		out = append(out, Decision{CandidateIndex: candidateIndex, Verdict: Add})
	}
	return out
}

// maritalWords are mutually exclusive words that have nearly the same [extract.TermSet].
var maritalWords = lazy.Compile(`\b(?:single|married|divorced|engaged|widowed|separated)\b`)

func sameAttribute(c extract.Candidate, n extract.Neighbor) bool {
	if strings.HasPrefix(c.Attribute, "date:") && strings.HasPrefix(c.Text, "User has ") {
		return false // "a meeting with Dana" may be a second meeting
	}
	if c.Attribute == "household" && n.Fact.Attribute == "household" && c.Subject == n.Fact.Subject && strings.HasSuffix(c.Text, " alone") != strings.HasSuffix(n.Fact.Content, " alone") {
		return true
	}
	return c.Attribute != "" && c.Subject == n.Fact.Subject && c.Attribute == n.Fact.Attribute && extract.IsSingleValued(c.Attribute)
}

// hasMoreDetail reports whether a fact has all information of a statement, and more.
func hasMoreDetail(statement, fact string) bool {
	a, b := extract.TermSet(statement), extract.TermSet(fact)
	return len(a) < len(b) && !hasTermNotIn(a, b) && sameSense(statement, fact)
}

// Refines reports whether a fact has all information of an older fact, and more.
func Refines(newer, older string) bool { return hasMoreDetail(older, newer) }

// pastMarker matches words for a state that has ended.
var pastMarker = lazy.Compile(`(?i)\b(?:used to|formerly|previously|quit|stopped|gave up)\b`)

// isOpposite reports whether one text denies or ends the other text's assertion in the same words.
func isOpposite(statement, fact string) bool {
	if IsDenial(statement) == IsDenial(fact) {
		return false
	}
	a, b := extract.TermSet(pastMarker.ReplaceAllString(statement, "")), extract.TermSet(pastMarker.ReplaceAllString(fact, ""))
	return extract.CoveredShare(a, b) >= 0.75 && extract.CoveredShare(b, a) >= 0.75 || deniesInstance(statement, fact) || deniesInstance(fact, statement)
}

// deniesInstance reports whether denial denies a kind of deed ("has never been to Rome") that deed states.
func deniesInstance(denial, deed string) bool {
	_, what, ok := strings.Cut(denial, " has never ")
	if !ok || IsDenial(deed) || unrealWords.MatchString(text.Fold(deed)) {
		return false // a planned trip to Rome does not contradict "has never been to Rome"
	}
	done := extract.TermSet(withoutDates(deed, text.ResolveDates(deed, time.Time{})))
	delete(done, "user")
	return extract.CoveredShare(done, extract.TermSet(what)) >= 0.6
}

// IsDenial reports whether a statement denies or ends something.
func IsDenial(s string) bool { return text.HasNegation(s) || pastMarker.MatchString(s) }

// attributeFamily returns an attribute without its object: "taste" for "taste:coffee".
func attributeFamily(attribute string) string {
	for i := range attribute {
		if attribute[i] == ':' {
			return attribute[:i]
		}
	}
	return attribute
}
