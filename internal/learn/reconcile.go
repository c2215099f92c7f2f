package learn

import (
	"regexp"

	"github.com/loci-memory/loci/internal/text"
)

// Reconcile decides by rule what each candidate does to the facts near it: it
// takes the place of what has the same subject and a single-valued attribute, or
// says the opposite in the same words; it is left out where a fact says the same
// and more; otherwise it is added. Whether it may replace is for Plan to judge.
func Reconcile(cands []Candidate) []Decision {
	var out []Decision
	for i, c := range cands {
		out = append(out, reconcile(i, c)...)
	}
	return out
}

func reconcile(i int, c Candidate) []Decision {
	var out []Decision
	for _, n := range c.Near {
		if !n.Fact.Status.Live() {
			continue
		}
		known := n.Fact.Content
		switch {
		case sameAttribute(c, n) && refined(c.Text, known):
			return []Decision{{Candidate: i, Verdict: None, Target: n.Fact.ID, Reason: "known in more detail"}}
		case sameAttribute(c, n) && (!text.Negated(c.Text) || sameThing(c.Text, known)):
			out = append(out, Decision{Candidate: i, Verdict: Update, Target: n.Fact.ID, Reason: "a newer " + label(c.Attribute)})
		case opposite(c.Text, known):
			out = append(out, Decision{Candidate: i, Verdict: Update, Target: n.Fact.ID, Reason: "says the opposite"})
		}
	}
	if len(out) == 0 {
		out = append(out, Decision{Candidate: i, Verdict: Add})
	}
	return out
}

func sameAttribute(c Candidate, n Neighbour) bool {
	return c.Attribute != "" && c.Subject == n.Fact.Subject && c.Attribute == n.Fact.Attribute && single(c.Attribute)
}

// refined reports whether known says what is said and more.
func refined(said, known string) bool {
	a, b := termSet(said), termSet(known)
	return len(a) < len(b) && !differs(a, b) && sameSense(text.Fold(said), text.Fold(known))
}

// sameThing reports whether what a negation ends is what is known: having left
// Berlin says nothing against living in Lisbon.
func sameThing(said, known string) bool {
	return covered(termSet(known), termSet(said)) >= 0.75
}

// over is what says that something was and is no more.
var over = regexp.MustCompile(`(?i)\b(?:used to|formerly|previously|quit|stopped|gave up)\b`)

// opposite reports whether one denies or ends what the other asserts, in the same
// words.
func opposite(said, known string) bool {
	a, b := termSet(over.ReplaceAllString(said, "")), termSet(over.ReplaceAllString(known, ""))
	return denied(said) != denied(known) && covered(a, b) >= 0.75 && covered(b, a) >= 0.75
}

func denied(s string) bool { return text.Negated(s) || over.MatchString(s) }

// label names an attribute in a reason: the thing of "taste:coffee" is not needed
// there.
func label(attribute string) string {
	for i := range attribute {
		if attribute[i] == ':' {
			return attribute[:i]
		}
	}
	return attribute
}
