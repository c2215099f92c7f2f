package learn

import (
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// Reconcile decides what each candidate does to the facts near it: what the model's
// operation says or, without one, by rule. By rule it takes the place of what has the same subject and a single-valued attribute, or
// says the opposite in the same words; it is left out where a fact says the same
// and more; otherwise it is added. Of two candidates of which one ends what is known
// and the other says what is so instead ("no longer works at Acme", "works at
// Bosch"), the other takes its place. Whether it may replace is for Plan to judge.
func Reconcile(cands []extract.Candidate) []Decision {
	var out []Decision
	for i, c := range cands {
		switch {
		case c.Op != "":
			out = append(out, decidedBy(i, c)...)
		case succeeded(cands, c):
			out = append(out, Decision{Candidate: i, Verdict: Add})
		default:
			out = append(out, reconcile(i, c)...)
		}
	}
	return out
}

// succeeded reports whether a candidate denies what another one says otherwise.
func succeeded(cands []extract.Candidate, c extract.Candidate) bool {
	return extract.Single(c.Attribute) && text.Negated(c.Text) && slices.ContainsFunc(cands, func(o extract.Candidate) bool {
		return o.Subject == c.Subject && o.Attribute == c.Attribute && !text.Negated(o.Text) && o.Waits == "" && !extract.SameThing(c.Text, o.Text)
	})
}

func reconcile(i int, c extract.Candidate) []Decision {
	var out []Decision
	for _, n := range c.Near {
		if !n.Fact.Status.Live() {
			continue
		}
		known := n.Fact.Content
		switch {
		case ended(c, n.Fact):
			out = append(out, Decision{Candidate: i, Verdict: Update, Target: n.Fact.ID, Reason: "it is over"})
		case c.Subject == n.Fact.Subject && recounts(c.Text, known):
			out = append(out, Decision{Candidate: i, Verdict: Update, Target: n.Fact.ID, Reason: "another number"})
		case sameAttribute(c, n) && c.Attribute != "household" && refined(c.Text, known) && marital.FindString(text.Fold(c.Text)) == marital.FindString(text.Fold(known)):
			return []Decision{{Candidate: i, Verdict: None, Target: n.Fact.ID, Reason: "known in more detail"}}
		case sameAttribute(c, n) && sameConditions(c.Text, known, c.Attribute) && (!text.Negated(c.Text) || !Denied(known) && (strings.Contains(c.Attribute, ":") || extract.SameThing(c.Text, known))):
			out = append(out, Decision{Candidate: i, Verdict: Update, Target: n.Fact.ID, Reason: "a newer " + label(c.Attribute)})
		case opposite(c.Text, known) && sameConditions(c.Text, known, c.Attribute):
			out = append(out, Decision{Candidate: i, Verdict: Update, Target: n.Fact.ID, Reason: "says the opposite"})
		}
	}
	if len(out) == 0 {
		out = append(out, Decision{Candidate: i, Verdict: Add})
	}
	return out
}

// marital are words of which one holds at a time, and which say little to [extract.TermSet].
var marital = lazy.Compile(`\b(?:single|married|divorced|engaged|widowed|separated)\b`)

func sameAttribute(c extract.Candidate, n extract.Neighbour) bool {
	if strings.HasPrefix(c.Attribute, "date:") && strings.HasPrefix(c.Text, "User has ") {
		return false // "a meeting with Dana" may be one more
	}
	if c.Attribute == "household" && n.Fact.Attribute == "household" && c.Subject == n.Fact.Subject && strings.HasSuffix(c.Text, " alone") != strings.HasSuffix(n.Fact.Content, " alone") {
		return true
	}
	return c.Attribute != "" && c.Subject == n.Fact.Subject && c.Attribute == n.Fact.Attribute && extract.Single(c.Attribute)
}

// refined reports whether known says what is said and more.
func refined(said, known string) bool {
	a, b := extract.TermSet(said), extract.TermSet(known)
	return len(a) < len(b) && !differs(a, b) && sameSense(said, known)
}

// Refines reports whether a fact says what an older one says and more.
func Refines(next, old string) bool { return refined(old, next) }

// over is what says that something was and is no more.
var over = lazy.Compile(`(?i)\b(?:used to|formerly|previously|quit|stopped|gave up)\b`)

// opposite reports whether one denies or ends what the other asserts, in the same
// words.
func opposite(said, known string) bool {
	if Denied(said) == Denied(known) {
		return false
	}
	a, b := extract.TermSet(over.ReplaceAllString(said, "")), extract.TermSet(over.ReplaceAllString(known, ""))
	return extract.Covered(a, b) >= 0.75 && extract.Covered(b, a) >= 0.75 || neverDone(said, known) || neverDone(known, said)
}

// neverDone reports whether one says that nothing of a kind was ever done, and the other
// that something of it was.
func neverDone(never, did string) bool {
	_, what, ok := strings.Cut(never, " has never ")
	if !ok || Denied(did) || unreal.MatchString(text.Fold(did)) {
		return false // meaning to go to Rome agrees with never having been there
	}
	done := extract.TermSet(without(did, text.Resolve(did, time.Time{})))
	delete(done, "user")
	return extract.Covered(done, extract.TermSet(what)) >= 0.6
}

// Denied reports whether a statement denies something, or says that it is over.
func Denied(s string) bool { return text.Negated(s) || over.MatchString(s) }

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
