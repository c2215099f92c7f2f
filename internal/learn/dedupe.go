package learn

import (
	"slices"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// DedupeOptions say what a duplicate is.
type DedupeOptions struct {
	// Near is the similarity from which facts that agree are the same; 0 means
	// 0.90. With another embedder another number stands for the same place.
	Near float64
	// ExactOnly folds only equal words, as for what a person adds by hand.
	ExactOnly bool
	// Scope is as in [PlanOptions]. A fact that is not seen
	// everywhere in it is not a duplicate.
	Scope memory.Scope
}

// Again is a candidate that is known already.
type Again struct {
	Candidate extract.Candidate
	Known     extract.Neighbour
}

// Dedupe parts new candidates from those that a live fact of their Near says
// already, from those that a person rejected or forgot, and from those that only
// hand back what memory gave. Of candidates that say the same, the first stays with
// the highest confidence of them.
func Dedupe(cands []extract.Candidate, o DedupeOptions) (fresh []extract.Candidate, again []Again, dropped []Dropped) {
	if o.Near == 0 {
		o.Near = 0.90
	}
	for _, c := range cands {
		if reason := unwanted(c); reason != "" {
			dropped = append(dropped, Dropped{c, reason})
			continue
		}
		if n, ok := echo(c); ok {
			dropped = append(dropped, Dropped{c, echoOf(n)})
			continue
		}
		if n, ok := known(c, o); ok {
			again = append(again, Again{c, n})
			continue
		}
		if i := twin(fresh, c, o); i >= 0 {
			fresh[i] = folded(fresh[i], c)
			dropped = append(dropped, Dropped{c, "said twice"})
			continue
		}
		fresh = append(fresh, c)
	}
	return fresh, again, dropped
}

// unwanted says why a candidate must not come back: a person rejected it, or it
// was forgotten, undone or overtaken and this is the turn it came from.
func unwanted(c extract.Candidate) string {
	if c.Remember {
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
		case f.Status == memory.Superseded && here && lives(c.Near, f.SupersededBy):
			return "what took its place is newer"
		}
	}
	return ""
}

// lives reports whether a fact is among those near and live.
func lives(near []extract.Neighbour, id string) bool {
	return slices.ContainsFunc(near, func(n extract.Neighbour) bool { return n.Fact.ID == id && n.Fact.Status.Live() })
}

// echo returns the fact that a candidate repeats, if nobody but a model or a pasted
// text says it: that tells nothing about the fact, be it current or not.
func echo(c extract.Candidate) (extract.Neighbour, bool) {
	if c.Remember || c.Op == Update || rank(c.Trust) >= rank(memory.TrustUser) && (c.Waits == "" || c.Doubt == "") {
		return extract.Neighbour{}, false
	}
	said := extract.TermSet(c.Text)
	for _, n := range c.Near {
		if extract.Covered(said, extract.TermSet(n.Fact.Content)) >= 0.8 && namesNothingElse(c.Text, n.Fact.Content) && sameSense(c.Text, n.Fact.Content) {
			return n, true
		}
	}
	return extract.Neighbour{}, false
}

// namesTarget reports whether a model's operation names the fact as one that it replaces.
func namesTarget(c *extract.Candidate, n extract.Neighbour) bool {
	return c.Op == Update && slices.Contains(c.Targets, n.Fact.ID)
}

// namesNothingElse reports whether all numbers and names of one text are in another: with a
// new one it corrects what it repeats.
func namesNothingElse(said, known string) bool {
	have := numbers(known)
	for _, n := range numbers(said) {
		if !slices.Contains(have, n) {
			return false
		}
	}
	words := wordSet(known)
	for name := range nameSet(said) {
		for _, w := range text.Words(name) {
			if !words[w] {
				return false
			}
		}
	}
	return true
}

func echoOf(n extract.Neighbour) string { return "an echo of memory: " + n.Fact.ID }

func known(c extract.Candidate, o DedupeOptions) (n extract.Neighbour, ok bool) {
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

// confirms reports whether a candidate that does not wait itself says what waits: then that
// need not wait any longer.
func confirms(c *extract.Candidate, n extract.Neighbour) bool {
	return n.Fact.Status == memory.Pending && n.Link == nil && c.Waits == "" && rank(c.Trust) >= rank(memory.TrustUser) &&
		!slices.Contains(n.Fact.Provenance.Turns, c.Turn) &&
		(text.Hash(n.Fact.Content) == text.Hash(c.Text) || agree(n.Fact.Content, c.Text))
}

// covers reports whether the neighbour is seen everywhere in scope, whatever others do:
// what another user shares may end at any time, and stands for no statement of this one.
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

// twin returns the place of a fresh candidate that says the same, -1 without one.
func twin(fresh []extract.Candidate, c extract.Candidate, o DedupeOptions) int {
	hash := text.Hash(c.Text)
	for i, f := range fresh {
		if text.Hash(f.Text) == hash || !o.ExactOnly && len(extract.TermSet(c.Text)) > 1 && agree(f.Text, c.Text) {
			return i
		}
	}
	return -1
}

// folded returns a with what b knows better.
func folded(a, b extract.Candidate) extract.Candidate {
	if a.Waits != "" && b.Waits == "" {
		a, b = b, a
	}
	a.Confidence = max(a.Confidence, b.Confidence)
	a.Remember = a.Remember || b.Remember
	return a
}
