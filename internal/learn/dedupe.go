package learn

import (
	"slices"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// DedupeOptions are the settings of [Dedupe].
type DedupeOptions struct {
	// MinSimilarity is the minimum cosine of duplicates; 0 means 0.90. The best value depends on the embedder.
	MinSimilarity float64
	// ExactOnly treats only equal words as duplicates, as for facts that a person adds.
	ExactOnly bool
	// Scope is the scope of new facts. A fact that is visible in only a part of Scope is no duplicate.
	Scope memory.Scope
}

// Repetition is a candidate that repeats a fact.
type Repetition struct {
	Candidate extract.Candidate
	Fact      extract.Neighbor
}

// Dedupe separates new candidates from candidates that repeat a live (active or pending) fact, and drops candidates
// that a person rejected or forgot or that repeat injected memory. Of equal candidates it keeps the first, with the
// highest confidence of all.
func Dedupe(cands []extract.Candidate, o DedupeOptions) (newCands []extract.Candidate, repetitions []Repetition, dropped []DroppedCandidate) {
	if o.MinSimilarity == 0 {
		o.MinSimilarity = 0.90
	}
	for _, c := range cands {
		if reason := unwantedReason(c); reason != "" {
			dropped = append(dropped, DroppedCandidate{c, reason})
			continue
		}
		if n, ok := echoedFact(c); ok {
			dropped = append(dropped, DroppedCandidate{c, echoReason(n)})
			continue
		}
		if n, ok := findDuplicate(c, o); ok {
			repetitions = append(repetitions, Repetition{c, n})
			continue
		}
		if i := duplicateIndex(newCands, c, o); i >= 0 {
			newCands[i] = mergeDuplicates(newCands[i], c)
			dropped = append(dropped, DroppedCandidate{c, "said twice"})
			continue
		}
		newCands = append(newCands, c)
	}
	return newCands, repetitions, dropped
}

// unwantedReason returns the reason not to store a candidate again, or "": a person rejected it, or the fact
// from the same turn was forgotten or replaced.
func unwantedReason(c extract.Candidate) string {
	if c.RememberRequested {
		return ""
	}
	hash := text.Hash(c.Text)
	for _, n := range c.Neighbors {
		f := n.Fact
		sameText := text.Hash(f.Content) == hash
		sameTurn := c.TurnID != "" && slices.Contains(f.Provenance.Turns, c.TurnID)
		if f.Status.Live() || !sameText && !(sameTurn && sameMeaning(f.Content, c.Text)) {
			continue
		}
		switch {
		case f.Status == memory.Rejected:
			return "a person rejected it"
		case f.Status == memory.Retired && sameTurn:
			return "it was forgotten"
		case f.Status == memory.Superseded && sameTurn && hasLiveFact(c.Neighbors, f.SupersededBy):
			return "the fact that replaced it is newer"
		}
	}
	return ""
}

// hasLiveFact reports whether the neighbours contain an active or pending fact with this id.
func hasLiveFact(neighbours []extract.Neighbor, id string) bool {
	return slices.ContainsFunc(neighbours, func(n extract.Neighbor) bool { return n.Fact.ID == id && n.Fact.Status.Live() })
}

// echoedFact returns the fact that a candidate repeats, if a model or a pasted text states the candidate instead
// of the user. The repetition is then no evidence for the fact.
func echoedFact(c extract.Candidate) (extract.Neighbor, bool) {
	if c.RememberRequested || c.Op == Update || trustRank(c.Trust) >= trustRank(memory.TrustUser) && (c.ReviewReason == "" || c.DoubtReason == "") {
		return extract.Neighbor{}, false
	}
	terms := extract.TermSet(c.Text)
	for _, n := range c.Neighbors {
		if extract.CoveredShare(terms, extract.TermSet(n.Fact.Content)) >= 0.8 && addsNoNameOrNumber(c.Text, n.Fact.Content) && sameSense(c.Text, n.Fact.Content) {
			return n, true
		}
	}
	return extract.Neighbor{}, false
}

// namesTarget reports whether a model's operation names the neighbour as the fact to replace.
func namesTarget(c *extract.Candidate, n extract.Neighbor) bool {
	return c.Op == Update && slices.Contains(c.TargetIDs, n.Fact.ID)
}

// addsNoNameOrNumber reports whether a fact has all numbers and names of a statement. A statement with a new
// number or name would be a correction.
func addsNoNameOrNumber(statement, fact string) bool {
	have := sortedNumbers(fact)
	for _, n := range sortedNumbers(statement) {
		if !slices.Contains(have, n) {
			return false
		}
	}
	words := wordsOf(fact)
	for name := range foldedNames(statement) {
		for _, w := range text.Words(name) {
			if !words[w] {
				return false
			}
		}
	}
	return true
}

func echoReason(n extract.Neighbor) string { return "an echo of memory: " + n.Fact.ID }

func findDuplicate(c extract.Candidate, o DedupeOptions) (n extract.Neighbor, ok bool) {
	hash, scope := text.Hash(c.Text), c.Scope(o.Scope)
	for _, n := range c.Neighbors {
		if n.Fact.Status.Live() && isVisibleIn(n, scope) && text.Hash(n.Fact.Content) == hash && !namesTarget(&c, n) && !confirmsPending(&c, n) {
			return n, true
		}
	}
	if o.ExactOnly || c.Op == Update {
		return extract.Neighbor{}, false
	}
	for _, n := range c.Neighbors {
		if n.Fact.Status.Live() && isVisibleIn(n, scope) && n.Similarity >= o.MinSimilarity && sameMeaning(n.Fact.Content, c.Text) && !confirmsPending(&c, n) {
			return n, true
		}
	}
	return extract.Neighbor{}, false
}

// confirmsPending reports whether a candidate that needs no review repeats a pending fact, which then needs no review either.
func confirmsPending(c *extract.Candidate, n extract.Neighbor) bool {
	return n.Fact.Status == memory.Pending && n.Link == nil && c.ReviewReason == "" && trustRank(c.Trust) >= trustRank(memory.TrustUser) &&
		!slices.Contains(n.Fact.Provenance.Turns, c.TurnID) &&
		(text.Hash(n.Fact.Content) == text.Hash(c.Text) || sameMeaning(n.Fact.Content, c.Text))
}

// isVisibleIn reports whether the neighbour is visible everywhere in scope. Facts shared by another user do not
// count, because that user may stop sharing at any time.
func isVisibleIn(n extract.Neighbor, scope memory.Scope) bool {
	if n.SharedByUser() {
		return false
	}
	s := n.Fact.Scope
	return n.Link != nil ||
		(s.Project == "" || s.Project == scope.Project) &&
			(s.Agent == "" || s.Agent == scope.Agent) &&
			(s.Conversation == "" || s.Conversation == scope.Conversation)
}

// duplicateIndex returns the index of the candidate in newCands with the same meaning as c, or -1.
func duplicateIndex(newCands []extract.Candidate, c extract.Candidate, o DedupeOptions) int {
	hash := text.Hash(c.Text)
	for i, f := range newCands {
		if text.Hash(f.Text) == hash || !o.ExactOnly && len(extract.TermSet(c.Text)) > 1 && sameMeaning(f.Text, c.Text) {
			return i
		}
	}
	return -1
}

// mergeDuplicates returns the candidate that needs no review, or else a, with the higher confidence of both.
func mergeDuplicates(a, b extract.Candidate) extract.Candidate {
	if a.ReviewReason != "" && b.ReviewReason == "" {
		a, b = b, a
	}
	a.Confidence = max(a.Confidence, b.Confidence)
	a.RememberRequested = a.RememberRequested || b.RememberRequested
	return a
}
