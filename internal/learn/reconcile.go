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
	end, isEnd := endOf(c.Text, c.ObservedAt)
	for _, n := range c.Near {
		if !n.Fact.Status.Live() {
			continue
		}
		known := n.Fact.Content
		switch {
		case isEnd && end.ends(&c, &n.Fact):
			out = append(out, Decision{Candidate: i, Verdict: Update, Target: n.Fact.ID, Reason: "it is over"})
		case denies(c, n.Fact) && sameConditions(c.Text, known, c.Attribute):
			out = append(out, Decision{Candidate: i, Verdict: Update, Target: n.Fact.ID, Reason: "says the opposite"})
		case unpairs(c, n.Fact), putOff(c, n.Fact):
			out = append(out, Decision{Candidate: i, Verdict: Update, Target: n.Fact.ID, Reason: "it is over"})
		case c.Subject == n.Fact.Subject && recounts(c.Text, c.Quote, known):
			out = append(out, Decision{Candidate: i, Verdict: Update, Target: n.Fact.ID, Reason: "another number"})
		case retimed(c, n.Fact):
			out = append(out, Decision{Candidate: i, Verdict: Update, Target: n.Fact.ID, Reason: "at other times"})
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
	if c.Subject == n.Fact.Subject && strings.Contains(c.Text, " is now ") && vaguer(c.Attribute, n.Fact.Attribute) {
		return true
	}
	if c.Attribute == "household" && n.Fact.Attribute == "household" && c.Subject == n.Fact.Subject && strings.HasSuffix(c.Text, " alone") != strings.HasSuffix(n.Fact.Content, " alone") {
		return true
	}
	if someOf(c.Subject) && !changed.MatchString(c.Quote) {
		return false // "my sister lives in Oslo" may be of another sister
	}
	return c.Attribute != "" && c.Subject == n.Fact.Subject && c.Attribute == n.Fact.Attribute && extract.Single(c.Attribute)
}

// denies reports whether a candidate says that the user does or has what the known
// fact says they do not.
func denies(c extract.Candidate, f memory.Fact) bool {
	if c.Subject != f.Subject || !text.Negated(f.Content) || Denied(c.Text) {
		return false
	}
	end, isEnd := endOf(f.Content, f.ObservedAt)
	return isEnd && end.sort == undone && end.ends(&extract.Candidate{Subject: f.Subject}, &memory.Fact{Content: c.Text, Subject: c.Subject, Attribute: c.Attribute, Category: c.Category})
}

// vaguer reports whether an attribute names what another does with fewer words, two
// at least: "the new sprint deadline" is that of the first sprint.
func vaguer(a, b string) bool {
	words, ok := strings.CutPrefix(a, "date:")
	of, also := strings.CutPrefix(b, "date:")
	few, more := strings.Fields(words), strings.Fields(of)
	return ok && also && len(few) > 1 && len(few) < len(more) && !slices.ContainsFunc(few, func(w string) bool { return !slices.Contains(more, w) })
}

// refined reports whether known says what is said and more.
func refined(said, known string) bool {
	a, b := extract.TermSet(said), extract.TermSet(known)
	return len(a) < len(b) && !differs(a, b) && sameSense(text.Fold(said), text.Fold(known))
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
	return extract.Covered(a, b) >= 0.75 && extract.Covered(b, a) >= 0.75 || ofKind(said, known) || ofKind(known, said)
}

// kindDenied is what says that nothing of a kind was ever done.
var kindDenied = lazy.Compile(`\bhas never `)

// ofKind reports whether one says that something was never done which the other
// says was: the same deed, and at least three of four of the words that tell to
// what ("never attended any workshops or trainings on CVs", "attended a workshop on
// CVs on 3 May").
func ofKind(never, did string) bool {
	at := kindDenied.FindStringIndex(never)
	if at == nil || Denied(did) {
		return false
	}
	deed, rest, _ := strings.Cut(never[at[1]:], " ")
	folded := text.Fold(did)
	if intent.MatchString(folded) || unlikely.MatchString(folded) {
		return false // meaning to go to Rome agrees with never having been there
	}
	lemma, same := lemmaOf(strings.ToLower(deed)), false
	done, all := extract.TermSet(without(did, text.Resolve(did, time.Time{}))), extract.TermSet(rest)
	for _, w := range text.Words(did) {
		if l := lemmaOf(w); l == lemma || deeds[l] != 0 && deeds[l] == deeds[lemma] {
			same = true
			delete(done, text.Term(w))
		}
	}
	return same && len(done) > 0 && extract.Covered(done, all) >= 0.6
}

func lemmaOf(w string) string {
	if v, ok := extract.Verbs()[w]; ok {
		return v.Lemma
	}
	return w
}

// deeds are verbs for much the same: those of one number.
var deeds = map[string]int{
	"be": 1, "go": 1, "visit": 1, "travel": 1, "work": 2, "collaborate": 2, "attend": 3, "join": 3, "take": 3, "enroll": 3, "enrol": 3,
	"meet": 4, "see": 4, "use": 5, "try": 5, "write": 6, "publish": 6, "buy": 7, "purchase": 7, "get": 7, "obtain": 7,
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
