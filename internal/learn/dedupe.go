package learn

import (
	"slices"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// DedupeOptions are the settings of [Dedupe].
type DedupeOptions struct {
	// Near is the minimum similarity of duplicates; 0 means 0.90. The best value depends on the embedder.
	Near float64
	// ExactOnly treats only equal words as duplicates, as for facts that a person adds.
	ExactOnly bool
	// Scope is the scope of new facts. A fact that is visible in only a part of Scope is no duplicate.
	Scope memory.Scope
}

// Repetition is a candidate that repeats a fact.
type Repetition struct {
	Candidate extract.Candidate
	Fact      extract.Neighbour
}

// Dedupe separates new candidates (fresh) from candidates that repeat a live fact, and drops candidates that
// a person rejected or forgot or that repeat injected memory. Of equal candidates it keeps the first, with
// their highest confidence.
func Dedupe(cands []extract.Candidate, o DedupeOptions) (fresh []extract.Candidate, repetitions []Repetition, dropped []Dropped) {
	if o.Near == 0 {
		o.Near = 0.90
	}
	for _, c := range cands {
		if reason := unwantedReason(c); reason != "" {
			dropped = append(dropped, Dropped{c, reason})
			continue
		}
		if n, ok := echoedFact(c); ok {
			dropped = append(dropped, Dropped{c, echoOf(n)})
			continue
		}
		if n, ok := duplicateOf(c, o); ok {
			repetitions = append(repetitions, Repetition{c, n})
			continue
		}
		if i := duplicateIndex(fresh, c, o); i >= 0 {
			fresh[i] = merged(fresh[i], c)
			dropped = append(dropped, Dropped{c, "said twice"})
			continue
		}
		fresh = append(fresh, c)
	}
	return fresh, repetitions, dropped
}

// unwantedReason returns the reason not to store a candidate again, or "": a person rejected it, or the fact
// from the same turn was forgotten or replaced.
func unwantedReason(c extract.Candidate) string {
	if c.RememberRequested {
		return ""
	}
	hash := text.Hash(c.Text)
	for _, n := range c.Near {
		f := n.Fact
		same := text.Hash(f.Content) == hash
		here := c.Turn != "" && slices.Contains(f.Provenance.Turns, c.Turn)
		if f.Status.Live() || !same && !(here && agree(f.Content, c.Text)) {
			continue
		}
		switch {
		case f.Status == memory.Rejected:
			return "a person rejected it"
		case f.Status == memory.Retired && here:
			return "it was forgotten"
		case f.Status == memory.Superseded && here && isLive(c.Near, f.SupersededBy):
			return "the fact that replaced it is newer"
		}
	}
	return ""
}

// isLive reports whether the neighbours contain a live fact with this id.
func isLive(near []extract.Neighbour, id string) bool {
	return slices.ContainsFunc(near, func(n extract.Neighbour) bool { return n.Fact.ID == id && n.Fact.Status.Live() })
}

// echoedFact returns the fact that a candidate repeats if not the user but a model or a pasted text states
// the candidate. Such a repetition is no evidence.
func echoedFact(c extract.Candidate) (extract.Neighbour, bool) {
	if c.RememberRequested || c.Op == Update || rank(c.Trust) >= rank(memory.TrustUser) && (c.ReviewReason == "" || c.Doubt == "") {
		return extract.Neighbour{}, false
	}
	terms := extract.TermSet(c.Text)
	for _, n := range c.Near {
		if extract.Covered(terms, extract.TermSet(n.Fact.Content)) >= 0.8 && namesNothingElse(c.Text, n.Fact.Content) && sameSense(c.Text, n.Fact.Content) {
			return n, true
		}
	}
	return extract.Neighbour{}, false
}

// namesTarget reports whether a model's operation names the neighbour as the fact to replace.
func namesTarget(c *extract.Candidate, n extract.Neighbour) bool {
	return c.Op == Update && slices.Contains(c.Targets, n.Fact.ID)
}

// namesNothingElse reports whether a fact has all numbers and names of a statement. A statement with a new
// number or name would be a correction.
func namesNothingElse(statement, fact string) bool {
	have := numbers(fact)
	for _, n := range numbers(statement) {
		if !slices.Contains(have, n) {
			return false
		}
	}
	words := wordSet(fact)
	for name := range nameSet(statement) {
		for _, w := range text.Words(name) {
			if !words[w] {
				return false
			}
		}
	}
	return true
}

func echoOf(n extract.Neighbour) string { return "an echo of memory: " + n.Fact.ID }

func duplicateOf(c extract.Candidate, o DedupeOptions) (n extract.Neighbour, ok bool) {
	hash, scope := text.Hash(c.Text), c.Scope(o.Scope)
	for _, n := range c.Near {
		if n.Fact.Status.Live() && covers(n, scope) && text.Hash(n.Fact.Content) == hash && !namesTarget(&c, n) && !confirms(&c, n) {
			return n, true
		}
	}
	if o.ExactOnly || c.Op == Update {
		return extract.Neighbour{}, false
	}
	for _, n := range c.Near {
		if n.Fact.Status.Live() && covers(n, scope) && n.Similarity >= o.Near && agree(n.Fact.Content, c.Text) && !confirms(&c, n) {
			return n, true
		}
	}
	return extract.Neighbour{}, false
}

// confirms reports whether a candidate that needs no review repeats a pending fact, which then needs no review either.
func confirms(c *extract.Candidate, n extract.Neighbour) bool {
	return n.Fact.Status == memory.Pending && n.Link == nil && c.ReviewReason == "" && rank(c.Trust) >= rank(memory.TrustUser) &&
		!slices.Contains(n.Fact.Provenance.Turns, c.Turn) &&
		(text.Hash(n.Fact.Content) == text.Hash(c.Text) || agree(n.Fact.Content, c.Text))
}

// covers reports whether the neighbour is visible everywhere in scope. Facts shared by another user do not
// count, because the share may end at any time.
func covers(n extract.Neighbour, scope memory.Scope) bool {
	if n.SharedByUser() {
		return false
	}
	s := n.Fact.Scope
	return n.Link != nil ||
		(s.Project == "" || s.Project == scope.Project) &&
			(s.Agent == "" || s.Agent == scope.Agent) &&
			(s.Conversation == "" || s.Conversation == scope.Conversation)
}

// duplicateIndex returns the index of the fresh candidate with the same meaning, or -1.
func duplicateIndex(fresh []extract.Candidate, c extract.Candidate, o DedupeOptions) int {
	hash := text.Hash(c.Text)
	for i, f := range fresh {
		if text.Hash(f.Text) == hash || !o.ExactOnly && len(extract.TermSet(c.Text)) > 1 && agree(f.Text, c.Text) {
			return i
		}
	}
	return -1
}

// merged returns a with the higher confidence of both, preferring the candidate without review.
func merged(a, b extract.Candidate) extract.Candidate {
	if a.ReviewReason != "" && b.ReviewReason == "" {
		a, b = b, a
	}
	a.Confidence = max(a.Confidence, b.Confidence)
	a.RememberRequested = a.RememberRequested || b.RememberRequested
	return a
}
