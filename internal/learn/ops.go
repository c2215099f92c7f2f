package learn

import (
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

const (
	// maxOps and maxOpsPerTurn limit the operations of one reply, because a model that turns every sentence into
	// a fact has not selected the facts that matter.
	maxOps        = 12
	maxOpsPerTurn = 5

	// maxEndedFacts is how many facts a reply may end or replace without a different quote for each fact.
	maxEndedFacts = 3
)

// ValidateOperations checks a model's operations against the new turns and the facts that the prompt showed, in the
// order of [AskFacts]. It drops operations with unknown fact ids, and operations that end a fact without a quote
// from the turns. If the same quotes end too many facts, it returns [memory.Invalid] and the other operations.
func ValidateOperations(cands []extract.Candidate, utterances []extract.Utterance, facts []memory.Fact) ([]extract.Candidate, error) {
	if len(cands) > max(maxOps, maxOpsPerTurn*len(utterances)) {
		return nil, memory.Errorf(memory.Invalid, "%d operations on %d messages: only what matters in a later chat is to be remembered", len(cands), len(utterances))
	}
	var out []extract.Candidate
	ended, quotes := map[string]bool{}, map[string]int{}
	for _, c := range cands {
		if c.Op == "" {
			c.TargetIDs = nil
			out = append(out, c)
			continue
		}
		c.TargetIDs = targetIDs(c.TargetIDs, facts)
		if c.Op == Update && len(c.TargetIDs) == 0 { // the operation corrects a fact of the same reply, which has no id yet
			if at := slices.IndexFunc(out, func(o extract.Candidate) bool { return correctsStatement(c, o) }); at >= 0 {
				out = slices.Delete(out, at, at+1)
			}
		}
		if c, ok := validOperation(c, utterances, facts); ok {
			out = append(out, c)
			if c.Op != None && len(c.TargetIDs) > 0 {
				quotes[text.Normalize(c.Quote)] += len(c.TargetIDs)
				for _, id := range c.TargetIDs {
					ended[id] = true
				}
			}
		}
	}
	if len(ended) > max(maxEndedFacts, len(quotes)) {
		alone := slices.DeleteFunc(out, func(c extract.Candidate) bool {
			return c.Op != None && len(c.TargetIDs) > 0 && quotes[text.Normalize(c.Quote)] > 1
		})
		return alone, memory.Errorf(memory.Invalid, "the operations end %d known facts by %d different quotes: quote for each the words that say so", len(ended), len(quotes))
	}
	return out, nil
}

// correctsStatement reports whether an operation corrects a statement of the same reply.
func correctsStatement(c, statement extract.Candidate) bool {
	return c.Subject == statement.Subject && extract.CoveredShare(extract.TermSet(statement.Text), extract.TermSet(c.Text)) >= 0.6
}

// targetIDs returns the ids of the facts with these short or full ids, without duplicates.
func targetIDs(names []string, facts []memory.Fact) []string {
	var ids []string
	for i, f := range facts {
		if slices.ContainsFunc(names, func(n string) bool { return n == shortFactID(i) || n == strings.ToLower(f.ID) }) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// validOperation returns an operation reduced to its valid part, and false if nothing remains.
func validOperation(c extract.Candidate, utterances []extract.Utterance, facts []memory.Fact) (extract.Candidate, bool) {
	quoted := slices.ContainsFunc(utterances, func(s extract.Utterance) bool {
		_, ok := locateQuote(s.Text, c.Quote)
		return ok
	})
	if c.Op == ForgetTargets {
		return c, quoted && len(c.TargetIDs) > 0
	}
	if c.Op == Add || len(c.TargetIDs) == 0 || !quoted && c.Op != None {
		c.Op, c.TargetIDs = Add, nil
		return c, c.Text != ""
	}
	if c.Op == None {
		c.Text = facts[slices.IndexFunc(facts, func(f memory.Fact) bool { return f.ID == c.TargetIDs[0] })].Content
		return c, true
	}
	if at := slices.IndexFunc(facts, func(f memory.Fact) bool { return text.Hash(f.Content) == text.Hash(c.Text) }); at >= 0 {
		if same := facts[at].ID; len(c.TargetIDs) == 1 && c.TargetIDs[0] == same {
			c.Op = None
		} else if !slices.Contains(c.TargetIDs, same) { // the operation replaces both facts
			c.TargetIDs = append(c.TargetIDs, same)
		}
	}
	return c, c.Text != ""
}

// modelDecisions returns the decisions of a candidate's operation, one for each target.
func modelDecisions(candidateIndex int, c extract.Candidate) []Decision {
	var out []Decision
	for _, id := range c.TargetIDs {
		d := Decision{CandidateIndex: candidateIndex, Verdict: Update, TargetID: id, Reason: "the user corrected or changed it"} // Update is also the verdict for an operation that ends a fact
		if c.Op == None {
			d.Verdict, d.Reason = None, "said again"
		}
		out = append(out, d)
	}
	if len(out) == 0 {
		out = append(out, Decision{CandidateIndex: candidateIndex, Verdict: Add})
	}
	return out
}

// transientLifetime is how long searches return a short-lived fact after its last date.
const transientLifetime = 30 * 24 * time.Hour

// expiryTime returns the time from which searches no longer return a candidate; zero means never.
func expiryTime(c extract.Candidate) time.Time {
	if !c.IsTransient || c.ObservedAt.IsZero() {
		return time.Time{}
	}
	last := c.ObservedAt
	for _, d := range text.ResolveDates(c.Text, c.ObservedAt) {
		if d.To.After(last) {
			last = d.To
		}
	}
	return memory.Time(last.Add(transientLifetime))
}
