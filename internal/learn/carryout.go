package learn

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// carryOut makes the changes of one candidate's verdict. Those that another
// candidate wins over come after it, since they name the fact it became.
func (p *planner) carryOut(i int) {
	v, c := &p.verdicts[i], p.cands[i]
	switch {
	case v.add && v.loser >= 0:
		w := p.winner(i)
		p.addPast(c, p.verdicts[w].became, p.cands[w].ObservedAt, "another statement of the same run is newer")
	case v.add:
		p.add(c, v)
	default:
		p.ignore(c, v.repeats, reasonOr(v.reason, "redundant"))
	}
}

// add adds the candidate in place of its targets, as far as it may take it.
func (p *planner) add(c extract.Candidate, v *verdict) {
	next := p.fact(c)
	if words := p.words(c, v); words != "" {
		next.Content, next.Hash = words, text.Hash(words)
	}
	if reason := p.waits(c); reason != "" {
		instead := ""
		if len(v.targets) > 0 {
			instead = v.targets[0]
		}
		p.addPending(next, instead, reason)
		return
	}
	olds, newer, stronger := p.replaceable(c, v.targets)
	switch {
	case stronger != "":
		p.addPending(next, stronger, "it contradicts what was said with more weight")
		return
	case newer == "" && len(olds) > 0 && p.o.ReviewConflicts && !c.Remember:
		p.addPending(next, olds[0].Fact.ID, ReviewedConflict)
		return
	case newer == "" && len(olds) > 0 && c.Unsure && !c.Remember:
		p.addPending(next, olds[0].Fact.ID, "its message also hands on a text, whose words these may be")
		return
	case newer != "":
		p.addPast(c, newer, p.known[newer].Fact.ObservedAt, "what is known is newer")
		return
	}
	if k := p.confirmed(c); k != nil {
		v.became = k.Fact.ID
		p.confirm(k, c, olds)
		return
	}
	if p.taken(next, olds) {
		p.ignore(c, "", "redundant")
		return
	}
	p.replace(olds, next, reasonOr(v.reason, reasonOr(p.exchanged(olds, next), reasonOr(c.Doubt, "new"))))
	v.became = next.ID
}

// exchanged is the reason of a replacement for which a model gave none: both wordings, "" for
// what replaces nothing. An erasure removes the reasons of models, and no others, so the words
// of a rule's replacement and of another owner's fact are left out.
func (p *planner) exchanged(olds []*knownFact, next memory.Fact) string {
	if len(olds) == 0 || olds[0].Link != nil || p.o.Author.Kind != memory.ByModel {
		return ""
	}
	return olds[0].Fact.Content + " → " + next.Content
}

// confirmed returns the fact that waits and that a candidate says, nil without one.
func (p *planner) confirmed(c extract.Candidate) *knownFact {
	for _, n := range c.Near {
		k := p.known[n.Fact.ID]
		if k != nil && k.change == nil && n.Fact.Scope == p.o.Scope && confirms(&c, n) {
			return k
		}
	}
	return nil
}

// confirm makes a fact that waits active, in place of what its statement replaces.
func (p *planner) confirm(k *knownFact, c extract.Candidate, olds []*knownFact) {
	olds = slices.DeleteFunc(slices.Clone(olds), func(o *knownFact) bool { return o == k })
	next := k.Fact
	next.Status, next.Confidence, next.Trust, next.UpdatedAt = memory.Active, max(next.Confidence, c.Confidence), c.Trust, p.o.Now
	if c.Doubt != "" { // what it rests on is not proven either
		next.Confidence = min(next.Confidence, c.Confidence)
	}
	if c.Span != nil {
		next.Provenance.Quote = c.Span
	}
	if c.Newer(&next) {
		next.ObservedAt, next.ObservedSeq = c.ObservedAt, c.ObservedSeq
	}
	if len(next.Provenance.Turns) < maxTurns && c.Turn != "" {
		next.Provenance.Turns = append(slices.Clone(next.Provenance.Turns), c.Turn)
	}
	const reason = "said again in plain words"
	change := memory.Change{Action: memory.ActionApprove, After: memory.Image{Fact: &next}, Base: next.Version, Reason: reason, Author: p.o.Author}
	outcome := Outcome{ID: next.ID, Fact: next.Content, Action: "add", Reason: reason}
	for _, o := range olds {
		p.supersede(o, next, reason)
		outcome.Action, outcome.Target, change.OldID, change.NewID = "replace", o.Fact.ID, o.Fact.ID, next.ID
	}
	k.change, k.kept = &change, true
	p.outcomes = append(p.outcomes, outcome)
}

// fact returns the candidate as an active fact.
func (p *planner) fact(c extract.Candidate) memory.Fact {
	f := memory.Fact{
		ID:         p.o.NewID(),
		Scope:      c.Scope(p.o.Scope),
		Content:    c.Text,
		Category:   c.Category,
		Tags:       c.Tags,
		Subject:    c.Subject,
		Attribute:  c.Attribute,
		Confidence: c.Confidence,
		Status:     memory.Active,
		Source:     p.o.Source,
		Trust:      c.Trust,
		Provenance: memory.Provenance{Conversation: c.Conversation, Quote: c.Span},
		ObservedAt: c.ObservedAt, ObservedSeq: c.ObservedSeq,
		ValidFrom: memory.Time(c.ValidFrom),
		CreatedAt: p.o.Now, UpdatedAt: p.o.Now, ExpiresAt: expiry(c),
		Model: reasonOr(c.Model, p.author()),
		Hash:  text.Hash(c.Text),
	}
	if c.Turn != "" {
		f.Provenance.Turns = []string{c.Turn}
	}
	if c.Remember {
		f.Confidence = 1
	}
	if f.ObservedAt.IsZero() {
		f.ObservedAt = p.o.Now
	}
	return f
}

// author names the model and its prompt as a fact carries them.
func (p *planner) author() string {
	if p.o.Author.Prompt == "" {
		return p.o.Author.Name
	}
	return p.o.Author.Name + "+" + p.o.Author.Prompt
}

// words returns the model's wording of an update if it holds: it must be free,
// read like a fact, not be what was refused, and bring in no name or number that neither side has.
func (p *planner) words(c extract.Candidate, v *verdict) string {
	s := tidy(v.text)
	if s == "" || p.o.Free == nil || !p.o.Free(c.Scope(p.o.Scope), s) || worthless(extract.Candidate{Text: s}) != "" || extract.Instructs(s) {
		return ""
	}
	reworded := c
	if reworded.Text = s; unwanted(reworded) != "" {
		return ""
	}
	both := c.Text
	for _, id := range v.targets {
		both += ". " + p.known[id].Fact.Content
	}
	have := wordSet(both)
	for _, name := range text.Names(s) {
		for _, w := range text.Words(name) {
			if !have[w] {
				return ""
			}
		}
	}
	stand := numbers(both)
	for _, n := range numbers(s) {
		if !slices.Contains(stand, n) {
			return ""
		}
	}
	if extract.Covered(extract.TermSet(s), extract.TermSet(both)) < 0.6 || text.Negated(s) != text.Negated(c.Text) {
		return ""
	}
	return s
}

// replaceable returns those targets that the candidate may replace. newer is one
// that was not said before it, stronger one that weighs more.
func (p *planner) replaceable(c extract.Candidate, targets []string) (olds []*knownFact, newer, stronger string) {
	for _, id := range targets {
		k := p.known[id]
		switch {
		case k.ends || k.kept: // another candidate took its place, or confirmed it
		case k.Link == nil && !inside(k.Fact.Scope, c.Scope(p.o.Scope)): // it holds elsewhere too
		case !c.Newer(&k.Fact) && !p.reads(c, k):
			newer = id
		case rank(c.Trust) < rank(k.Fact.Trust) && rank(c.Trust) < rank(memory.TrustUser), p.guarded(c, k):
			stronger = id
		default:
			olds = append(olds, k)
		}
	}
	return olds, newer, stronger
}

// reads reports whether a model rereads a turn of which a rule wrote the fact: it may put
// that right, though it was said no later.
func (p *planner) reads(c extract.Candidate, k *knownFact) bool {
	return p.o.Author.Kind == memory.ByModel && k.Link == nil && strings.HasPrefix(k.Fact.Model, "rule") && slices.Contains(k.Fact.Provenance.Turns, c.Turn)
}

// guarded reports whether a person made the fact theirs, who is the one it is compared
// for, and the candidate is a model's reading of what was said. What the user asks to
// be remembered is theirs too, and a rule reads only plain words.
func (p *planner) guarded(c extract.Candidate, k *knownFact) bool {
	if k.Link != nil || c.Remember || p.o.Author.Kind != memory.ByModel || strings.HasPrefix(c.Model, "rule:") {
		return false
	}
	return k.Fact.Pinned() || k.Fact.Source == memory.Manual || k.Fact.Trust == memory.TrustPerson
}

// inside reports whether all who see a also see b: b is as wide or wider.
func inside(a, b memory.Scope) bool {
	return (b.Project == "" || a.Project == b.Project) && (b.Agent == "" || a.Agent == b.Agent) && (b.Conversation == "" || a.Conversation == b.Conversation)
}

// rank orders trust: more is higher.
func rank(t memory.Trust) int {
	switch t {
	case memory.TrustPerson:
		return 3
	case memory.TrustUser:
		return 2
	case memory.TrustAssistant:
		return 1
	}
	return 0
}

// taken reports whether a live fact of the same scope has the words of next, other than
// those that end now.
func (p *planner) taken(next memory.Fact, olds []*knownFact) bool {
	words := wordingOf(next)
	return p.live[words] && !slices.ContainsFunc(olds, func(k *knownFact) bool { return wordingOf(k.Fact) == words })
}

func (p *planner) replace(olds []*knownFact, next memory.Fact, reason string) {
	add := memory.Change{Action: memory.ActionAdd, NewID: next.ID, Reason: reason, Author: p.o.Author}
	outcome := Outcome{ID: next.ID, Fact: next.Content, Action: "add", Reason: reason}
	for _, k := range olds {
		next.Core = cmp.Or(next.Core, k.Fact.Core)
		outcome.Action = "replace"
		if outcome.Target == "" {
			outcome.Target, add.OldID = k.Fact.ID, k.Fact.ID
		}
	}
	for _, k := range olds {
		p.supersede(k, next, reason)
	}
	add.After.Fact = &next
	p.adds = append(p.adds, add)
	p.live[wordingOf(next)] = true
	p.outcomes = append(p.outcomes, outcome)
}

// supersede ends a known fact for next: one of another owner's is hidden.
func (p *planner) supersede(k *knownFact, next memory.Fact, reason string) {
	change := p.unlink(k, reason)
	change.OldID, change.NewID = k.Fact.ID, next.ID
	if k.Link == nil {
		change = replaced(k.Fact, next, p.o.Now, reason, p.o.Author)
		p.free(k)
	}
	k.change, k.ends = &change, true
}

// replaced is the old side of a replacement. What began after it is said to have
// ended never held.
func replaced(old, next memory.Fact, at time.Time, reason string, author memory.Author) memory.Change {
	change := memory.Replace(old, next, at, reason, author)[0]
	if gone := change.After.Fact; gone.ValidTo.Before(gone.ValidFrom) {
		gone.ValidTo = gone.ValidFrom
	}
	return change
}

// free gives the words of a fact that ends back to others.
func (p *planner) free(k *knownFact) {
	delete(p.live, wordingOf(k.Fact))
}

// unlink hides another owner's fact from this one.
func (p *planner) unlink(k *knownFact, reason string) memory.Change {
	if k.Link == nil {
		return memory.Change{}
	}
	link := *k.Link
	link.Status = memory.Retired
	return memory.Change{Action: memory.ActionUnlink, After: memory.Image{Link: &link}, Base: k.Link.Version, Reason: reason, Author: p.o.Author}
}

// addPending adds a fact that waits. instead is the fact that it would take the
// place of, "" without one.
func (p *planner) addPending(next memory.Fact, instead, reason string) {
	if p.live[wordingOf(next)] || slices.ContainsFunc(p.order, func(id string) bool {
		k := p.known[id]
		return k.Fact.Status == memory.Pending && k.Fact.Scope == next.Scope && agree(k.Fact.Content, next.Content)
	}) {
		p.outcomes = append(p.outcomes, Outcome{Fact: next.Content, Action: "ignore", Reason: "redundant"})
		return
	}
	next.Status = memory.Pending
	p.adds = append(p.adds, memory.Change{Action: memory.ActionAdd, After: memory.Image{Fact: &next}, OldID: instead, NewID: next.ID, Reason: reason, Author: p.o.Author})
	p.live[wordingOf(next)] = true
	p.outcomes = append(p.outcomes, Outcome{ID: next.ID, Fact: next.Content, Action: "pending", Target: instead, Reason: reason})
}

// addPast records a statement that something known or said with it is newer than:
// it was true, and is not recalled.
func (p *planner) addPast(c extract.Candidate, by string, until time.Time, reason string) {
	if by == "" || p.waits(c) != "" || !c.ObservedAt.Before(until) || recorded(c) {
		p.ignore(c, by, reason)
		return
	}
	past := p.fact(c)
	past.Status, past.SupersededBy, past.ValidTo = memory.Superseded, by, until
	if past.ValidFrom.After(until) {
		past.ValidFrom = time.Time{}
	}
	p.adds = append(p.adds, memory.Change{Action: memory.ActionAdd, After: memory.Image{Fact: &past}, OldID: past.ID, NewID: by, Reason: reason, Author: p.o.Author})
	p.outcomes = append(p.outcomes, Outcome{Fact: c.Text, Action: "ignore", Target: by, Reason: reason})
}

// recorded reports whether a fact with these words of this turn is there already,
// whatever became of it.
func recorded(c extract.Candidate) bool {
	return slices.ContainsFunc(c.Near, func(n extract.Neighbour) bool {
		return slices.Contains(n.Fact.Provenance.Turns, c.Turn) && text.Hash(n.Fact.Content) == text.Hash(c.Text)
	})
}

// changes returns everything in an order that can be applied: what frees words
// and attributes first.
func (p *planner) changes() []memory.Change {
	var ends, keeps []memory.Change
	for _, id := range p.order {
		switch k := p.known[id]; {
		case k.change == nil:
		case k.ends:
			ends = append(ends, *k.change)
		default:
			keeps = append(keeps, *k.change)
		}
	}
	return slices.Concat(ends, keeps, p.adds)
}

func reasonOr(reason, otherwise string) string {
	if reason == "" {
		return otherwise
	}
	return reason
}
