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
	// maxOps and opsPerTurn bound what one reply may do: a model that writes a fact for
	// every sentence has not chosen.
	maxOps     = 12
	opsPerTurn = 5

	// maxEnded is how many known facts a reply may always end or replace; beyond it, no more
	// than it has different quotes.
	maxEnded = 3
)

// Settle reads the operations that a model replied, against what it was shown: the
// new turns and the known facts, in the order in which [AskFacts] named them. Names of
// no fact are left out, and what rests on a quote that nobody said ends nothing.
// [memory.Invalid]: the operations together cannot be meant; those that hold alone come with it.
func Settle(cands []extract.Candidate, said []extract.Utterance, known []memory.Fact) ([]extract.Candidate, error) {
	if len(cands) > max(maxOps, opsPerTurn*len(said)) {
		return nil, memory.Errorf(memory.Invalid, "%d operations on %d messages: only what matters in a later chat is to be remembered", len(cands), len(said))
	}
	var out []extract.Candidate
	ended, quotes := map[string]bool{}, map[string]int{}
	for _, c := range cands {
		if c.Op == "" {
			c.Targets = nil
			out = append(out, c)
			continue
		}
		c.Targets = targets(c.Targets, known)
		if c.Op == Update && len(c.Targets) == 0 { // it puts right what the same reply says, which has no id
			if at := slices.IndexFunc(out, func(o extract.Candidate) bool { return overtakes(c, o) }); at >= 0 {
				out = slices.Delete(out, at, at+1)
			}
		}
		if c, ok := settled(c, said, known); ok {
			out = append(out, c)
			if c.Op != None && len(c.Targets) > 0 {
				quotes[text.Normalize(c.Quote)] += len(c.Targets)
				for _, id := range c.Targets {
					ended[id] = true
				}
			}
		}
	}
	if len(ended) > max(maxEnded, len(quotes)) {
		alone := slices.DeleteFunc(out, func(c extract.Candidate) bool {
			return c.Op != None && len(c.Targets) > 0 && quotes[text.Normalize(c.Quote)] > 1
		})
		return alone, memory.Errorf(memory.Invalid, "the operations end %d known facts by %d different quotes: quote for each the words that say so", len(ended), len(quotes))
	}
	return out, nil
}

// overtakes reports whether a replacement is of what was said before it in the same reply.
func overtakes(c, said extract.Candidate) bool {
	return c.Subject == said.Subject && extract.Covered(extract.TermSet(said.Text), extract.TermSet(c.Text)) >= 0.6
}

// targets returns the ids of the facts that a prompt named so, each once.
func targets(names []string, known []memory.Fact) []string {
	var ids []string
	for i, f := range known {
		if slices.ContainsFunc(names, func(n string) bool { return n == factName(i) || n == strings.ToLower(f.ID) }) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// settled returns one operation as far as it holds.
func settled(c extract.Candidate, said []extract.Utterance, known []memory.Fact) (extract.Candidate, bool) {
	quoted := slices.ContainsFunc(said, func(s extract.Utterance) bool {
		_, ok := locate(s.Text, c.Quote)
		return ok
	})
	if c.Op == ToForget {
		return c, quoted && len(c.Targets) > 0
	}
	if c.Op == Add || len(c.Targets) == 0 || !quoted && c.Op != None {
		c.Op, c.Targets = Add, nil
		return c, c.Text != ""
	}
	if c.Op == None {
		c.Text = known[slices.IndexFunc(known, func(f memory.Fact) bool { return f.ID == c.Targets[0] })].Content
		return c, true
	}
	if at := slices.IndexFunc(known, func(f memory.Fact) bool { return text.Hash(f.Content) == text.Hash(c.Text) }); at >= 0 {
		if same := known[at].ID; len(c.Targets) == 1 && c.Targets[0] == same {
			c.Op = None
		} else if !slices.Contains(c.Targets, same) { // it takes the place of both
			c.Targets = append(c.Targets, same)
		}
	}
	return c, c.Text != ""
}

// decidedBy returns what a model's operation says that its candidate does.
func decidedBy(i int, c extract.Candidate) []Decision {
	var out []Decision
	for _, id := range c.Targets {
		d := Decision{Candidate: i, Verdict: Update, Target: id, Reason: "the user corrected or changed it"} // so does what says that it is over
		if c.Op == None {
			d.Verdict, d.Reason = None, "said again"
		}
		out = append(out, d)
	}
	if len(out) == 0 {
		out = append(out, Decision{Candidate: i, Verdict: Add})
	}
	return out
}

// passingTime is how long what matters for some days only is kept after the day that
// it is about.
const passingTime = 30 * 24 * time.Hour

// expiry returns when a candidate leaves recall, zero for one that lasts.
func expiry(c extract.Candidate) time.Time {
	if !c.Passing || c.ObservedAt.IsZero() {
		return time.Time{}
	}
	last := c.ObservedAt
	for _, d := range text.Resolve(c.Text, c.ObservedAt) {
		if d.To.After(last) {
			last = d.To
		}
	}
	return memory.Time(last.Add(passingTime))
}
