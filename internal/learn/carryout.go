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

// carryOut plans the changes for candidate i. Winners come before the candidates that they replace, because
// those candidates' changes name the winner's new fact.
func (p *planner) carryOut(i int) {
	v, c := &p.verdicts[i], p.cands[i]
	switch {
	case v.add && v.winner >= 0:
		w := p.winner(i)
		p.addPast(c, p.verdicts[w].addedID, p.cands[w].ObservedAt, "another statement of the same run is newer")
	case v.add:
		p.add(c, v)
	default:
		p.ignore(c, v.repeats, reasonOr(v.reason, "redundant"))
	}
}

// add adds the candidate as a fact and replaces the targets that it is allowed to replace.
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
		p.addPending(next, stronger, "it contradicts a more trusted statement")
		return
	case newer == "" && len(olds) > 0 && p.o.ReviewConflicts && !c.RememberRequested:
		p.addPending(next, olds[0].Fact.ID, ReviewedConflict)
		return
	case newer == "" && len(olds) > 0 && c.Unsure && !c.RememberRequested:
		p.addPending(next, olds[0].Fact.ID, "its message contains a text of somebody else, which may be its source")
		return
	case newer != "":
		p.addPast(c, newer, p.facts[newer].Fact.ObservedAt, "a stored fact is newer")
		return
	}
	if k := p.pendingMatch(c); k != nil {
		v.addedID = k.Fact.ID
		p.confirm(k, c, olds)
		return
	}
	if p.wordsTaken(next, olds) {
		p.ignore(c, "", "redundant")
		return
	}
	p.replace(olds, next, reasonOr(v.reason, reasonOr(p.replacementReason(olds, next), reasonOr(c.Doubt, "new"))))
	v.addedID = next.ID
}

// replacementReason returns the old and the new wording as the reason of a model's replacement, or "". It
// quotes no other replacements, because erasing a fact removes its wording only from reasons of models.
func (p *planner) replacementReason(olds []*plannedFact, next memory.Fact) string {
	if len(olds) == 0 || olds[0].Link != nil || p.o.Author.Kind != memory.ByModel {
		return ""
	}
	return olds[0].Fact.Content + " → " + next.Content
}

// pendingMatch returns the pending fact that a candidate repeats, or nil.
func (p *planner) pendingMatch(c extract.Candidate) *plannedFact {
	for _, n := range c.Near {
		k := p.facts[n.Fact.ID]
		if k != nil && k.change == nil && n.Fact.Scope == p.o.Scope && confirms(&c, n) {
			return k
		}
	}
	return nil
}

// confirm activates a pending fact that the user repeated, and ends the old facts that it replaces.
func (p *planner) confirm(k *plannedFact, c extract.Candidate, olds []*plannedFact) {
	olds = slices.DeleteFunc(slices.Clone(olds), func(o *plannedFact) bool { return o == k })
	next := k.Fact
	next.Status, next.Confidence, next.Trust, next.UpdatedAt = memory.Active, max(next.Confidence, c.Confidence), c.Trust, p.o.Now
	if c.Doubt != "" { // the new evidence does not prove the fact either
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
	const reason = "the user repeated it explicitly"
	change := memory.Change{Action: memory.ActionApprove, After: memory.Image{Fact: &next}, Base: next.Version, Reason: reason, Author: p.o.Author}
	outcome := Outcome{ID: next.ID, Fact: next.Content, Action: "add", Reason: reason}
	for _, o := range olds {
		p.supersede(o, next, reason)
		outcome.Action, outcome.Target, change.OldID, change.NewID = "replace", o.Fact.ID, o.Fact.ID, next.ID
	}
	k.change, k.isConfirmed = &change, true
	p.outcomes = append(p.outcomes, outcome)
}

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
	if c.RememberRequested {
		f.Confidence = 1
	}
	if f.ObservedAt.IsZero() {
		f.ObservedAt = p.o.Now
	}
	return f
}

// author returns the model's name and its prompt's hash, if any, as stored in [memory.Fact.Model].
func (p *planner) author() string {
	if p.o.Author.Prompt == "" {
		return p.o.Author.Name
	}
	return p.o.Author.Name + "+" + p.o.Author.Prompt
}

// words returns the model's wording for an update. It returns "" if a live fact has that wording, a person
// rejected that wording, or the wording does not read like a fact or adds a name or number.
func (p *planner) words(c extract.Candidate, v *verdict) string {
	s := tidy(v.text)
	if s == "" || p.o.Free == nil || !p.o.Free(c.Scope(p.o.Scope), s) || worthlessReason(extract.Candidate{Text: s}) != "" || extract.Instructs(s) {
		return ""
	}
	reworded := c
	if reworded.Text = s; unwantedReason(reworded) != "" {
		return ""
	}
	both := c.Text
	for _, id := range v.targets {
		both += ". " + p.facts[id].Fact.Content
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

// replaceable returns the targets that the candidate may replace. newer and stronger are the ids of a target
// that is newer, and of a target with higher trust; "" for none.
func (p *planner) replaceable(c extract.Candidate, targets []string) (olds []*plannedFact, newer, stronger string) {
	for _, id := range targets {
		k := p.facts[id]
		switch {
		case k.isEnding || k.isConfirmed: // another candidate replaced or confirmed the target
		case k.Link == nil && !inside(k.Fact.Scope, c.Scope(p.o.Scope)): // the target is also valid outside the candidate's scope
		case !c.Newer(&k.Fact) && !p.rereadsRule(c, k):
			newer = id
		case rank(c.Trust) < rank(k.Fact.Trust) && rank(c.Trust) < rank(memory.TrustUser), p.isProtected(c, k):
			stronger = id
		default:
			olds = append(olds, k)
		}
	}
	return olds, newer, stronger
}

// rereadsRule reports whether a rule learned the fact from the turn that a model reads now. The model may
// correct such a fact although both have the same age.
func (p *planner) rereadsRule(c extract.Candidate, k *plannedFact) bool {
	return p.o.Author.Kind == memory.ByModel && k.Link == nil && strings.HasPrefix(k.Fact.Model, "rule") && slices.Contains(k.Fact.Provenance.Turns, c.Turn)
}

// isProtected reports whether a person wrote or approved the fact and a model interpreted the candidate.
// Explicit requests to remember and results of rules are no interpretations.
func (p *planner) isProtected(c extract.Candidate, k *plannedFact) bool {
	if k.Link != nil || c.RememberRequested || p.o.Author.Kind != memory.ByModel || strings.HasPrefix(c.Model, "rule:") {
		return false
	}
	return k.Fact.Pinned() || k.Fact.Source == memory.Manual || k.Fact.Trust == memory.TrustPerson
}

// inside reports whether scope b contains scope a: memory of b is visible wherever memory of a is visible.
func inside(a, b memory.Scope) bool {
	return (b.Project == "" || a.Project == b.Project) && (b.Agent == "" || a.Agent == b.Agent) && (b.Conversation == "" || a.Conversation == b.Conversation)
}

// rank orders levels of trust; a higher number is more trust.
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

// wordsTaken reports whether a live fact of the same scope has the same words as next. Facts that end with
// this change do not count.
func (p *planner) wordsTaken(next memory.Fact, olds []*plannedFact) bool {
	words := wordingOf(next)
	return p.live[words] && !slices.ContainsFunc(olds, func(k *plannedFact) bool { return wordingOf(k.Fact) == words })
}

func (p *planner) replace(olds []*plannedFact, next memory.Fact, reason string) {
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

// supersede ends a fact that next replaces. If another owner shared the fact, supersede only hides it.
func (p *planner) supersede(k *plannedFact, next memory.Fact, reason string) {
	change := p.unlink(k, reason)
	change.OldID, change.NewID = k.Fact.ID, next.ID
	if k.Link == nil {
		change = replaced(k.Fact, next, p.o.Now, reason, p.o.Author)
		p.freeWords(k)
	}
	k.change, k.isEnding = &change, true
}

// replaced returns the change that ends the old fact of a replacement. ValidTo is never before ValidFrom.
func replaced(old, next memory.Fact, at time.Time, reason string, author memory.Author) memory.Change {
	change := memory.Replace(old, next, at, reason, author)[0]
	if gone := change.After.Fact; gone.ValidTo.Before(gone.ValidFrom) {
		gone.ValidTo = gone.ValidFrom
	}
	return change
}

// freeWords removes an ended fact's wording from the live wordings, so that new facts may use the wording.
func (p *planner) freeWords(k *plannedFact) {
	delete(p.live, wordingOf(k.Fact))
}

// unlink returns the change that hides a fact which another owner shared.
func (p *planner) unlink(k *plannedFact, reason string) memory.Change {
	if k.Link == nil {
		return memory.Change{}
	}
	link := *k.Link
	link.Status = memory.Retired
	return memory.Change{Action: memory.ActionUnlink, After: memory.Image{Link: &link}, Base: k.Link.Version, Reason: reason, Author: p.o.Author}
}

// addPending adds a pending fact. instead is the id of the fact that the pending fact would replace, or "".
func (p *planner) addPending(next memory.Fact, instead, reason string) {
	if p.live[wordingOf(next)] || slices.ContainsFunc(p.order, func(id string) bool {
		k := p.facts[id]
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

// addPast stores a statement that the newer fact by has already replaced. Searches do not return past facts.
func (p *planner) addPast(c extract.Candidate, by string, until time.Time, reason string) {
	if by == "" || p.waits(c) != "" || !c.ObservedAt.Before(until) || isRecorded(c) {
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

// isRecorded reports whether a fact with these words and any status was already learned from this turn.
func isRecorded(c extract.Candidate) bool {
	return slices.ContainsFunc(c.Near, func(n extract.Neighbour) bool {
		return slices.Contains(n.Fact.Provenance.Turns, c.Turn) && text.Hash(n.Fact.Content) == text.Hash(c.Text)
	})
}

// changes returns all changes in the order of application: changes that free wordings and attributes come first.
func (p *planner) changes() []memory.Change {
	var ends, keeps []memory.Change
	for _, id := range p.order {
		switch k := p.facts[id]; {
		case k.change == nil:
		case k.isEnding:
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
