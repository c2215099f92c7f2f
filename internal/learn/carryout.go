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

// planCandidate plans the changes for candidate i. A winner (see [resolution.winnerIndex]) must be planned before the
// candidates that it replaces, because their changes name the winner's new fact.
func (p *planner) planCandidate(candidateIndex int) {
	resolution, c := &p.resolutions[candidateIndex], p.candidates[candidateIndex]
	switch {
	case resolution.addsFact && resolution.winnerIndex >= 0:
		w := p.finalWinner(candidateIndex)
		p.addSuperseded(c, p.resolutions[w].addedID, p.candidates[w].ObservedAt, "another statement of the same run is newer")
	case resolution.addsFact:
		p.addFact(c, resolution)
	default:
		p.ignoreCandidate(c, resolution.repeatedID, reasonOr(resolution.reason, "redundant"))
	}
}

// addFact adds the candidate as a fact and replaces the targets that it is allowed to replace.
func (p *planner) addFact(c extract.Candidate, v *resolution) {
	newFact := p.newFact(c)
	if words := p.checkedRewording(c, v); words != "" {
		newFact.Content, newFact.Hash = words, text.Hash(words)
	}
	if reason := p.reviewReason(c); reason != "" {
		replacedID := ""
		if len(v.replacedIDs) > 0 {
			replacedID = v.replacedIDs[0]
		}
		p.addPending(newFact, replacedID, reason)
		return
	}
	oldFacts, newerID, moreTrustedID := p.replaceableFacts(c, v.replacedIDs)
	switch {
	case moreTrustedID != "":
		p.addPending(newFact, moreTrustedID, "it contradicts a more trusted statement")
		return
	case newerID == "" && len(oldFacts) > 0 && p.opts.ReviewConflicts && !c.RememberRequested:
		p.addPending(newFact, oldFacts[0].Fact.ID, ConflictReviewReason)
		return
	case newerID == "" && len(oldFacts) > 0 && c.MayBeQuoted && !c.RememberRequested:
		p.addPending(newFact, oldFacts[0].Fact.ID, "its message contains a text of somebody else, which may be its source")
		return
	case newerID != "":
		p.addSuperseded(c, newerID, p.factsByID[newerID].Fact.ObservedAt, "a stored fact is newer")
		return
	}
	if k := p.pendingMatch(c); k != nil {
		v.addedID = k.Fact.ID
		p.confirmPending(k, c, oldFacts)
		return
	}
	if p.hasLiveWording(newFact, oldFacts) {
		p.ignoreCandidate(c, "", "redundant")
		return
	}
	p.addReplacement(oldFacts, newFact, reasonOr(v.reason, reasonOr(p.replacementReason(oldFacts, newFact), reasonOr(c.DoubtReason, "new"))))
	v.addedID = newFact.ID
}

// replacementReason returns the old and the new wording as the reason of a replacement by a model. For other
// replacements it returns "", because erasing a fact removes its wording only from reasons of models.
func (p *planner) replacementReason(oldFacts []*plannedFact, newFact memory.Fact) string {
	if len(oldFacts) == 0 || oldFacts[0].Link != nil || p.opts.Author.Kind != memory.ByModel {
		return ""
	}
	return oldFacts[0].Fact.Content + " → " + newFact.Content
}

// pendingMatch returns the pending fact that a candidate repeats, or nil.
func (p *planner) pendingMatch(c extract.Candidate) *plannedFact {
	for _, n := range c.Neighbors {
		k := p.factsByID[n.Fact.ID]
		if k != nil && k.change == nil && n.Fact.Scope == p.opts.Scope && confirmsPending(&c, n) {
			return k
		}
	}
	return nil
}

// confirmPending activates a pending fact that the user repeated, and ends the old facts that it replaces.
func (p *planner) confirmPending(k *plannedFact, c extract.Candidate, oldFacts []*plannedFact) {
	oldFacts = slices.DeleteFunc(slices.Clone(oldFacts), func(o *plannedFact) bool { return o == k })
	confirmed := k.Fact
	confirmed.Status, confirmed.Confidence, confirmed.Trust, confirmed.UpdatedAt = memory.Active, max(confirmed.Confidence, c.Confidence), c.Trust, p.opts.Now
	if c.DoubtReason != "" { // the repetition is no proof of the fact
		confirmed.Confidence = min(confirmed.Confidence, c.Confidence)
	}
	if c.Span != nil {
		confirmed.Provenance.Quote = c.Span
	}
	if c.IsNewerThan(&confirmed) {
		confirmed.ObservedAt, confirmed.ObservedSeq = c.ObservedAt, c.ObservedSeq
	}
	if len(confirmed.Provenance.Turns) < maxTurns && c.TurnID != "" {
		confirmed.Provenance.Turns = append(slices.Clone(confirmed.Provenance.Turns), c.TurnID)
	}
	const reason = "the user repeated it explicitly"
	change := memory.Change{Action: memory.ActionApprove, After: memory.State{Fact: &confirmed}, Base: confirmed.Version, Reason: reason, Author: p.opts.Author}
	outcome := CandidateOutcome{FactID: confirmed.ID, FactText: confirmed.Content, Action: "add", Reason: reason}
	for _, o := range oldFacts {
		p.supersede(o, confirmed, reason)
		outcome.Action, outcome.TargetID, change.OldID, change.NewID = "replace", o.Fact.ID, o.Fact.ID, confirmed.ID
	}
	k.change, k.isConfirmed = &change, true
	p.outcomes = append(p.outcomes, outcome)
}

func (p *planner) newFact(c extract.Candidate) memory.Fact {
	f := memory.Fact{
		ID:         p.opts.NewID(),
		Scope:      c.Scope(p.opts.Scope),
		Content:    c.Text,
		Category:   c.Category,
		Tags:       c.Tags,
		Subject:    c.Subject,
		Attribute:  c.Attribute,
		Confidence: c.Confidence,
		Status:     memory.Active,
		Source:     p.opts.Source,
		Trust:      c.Trust,
		Provenance: memory.Provenance{Conversation: c.ConversationID, Quote: c.Span},
		ObservedAt: c.ObservedAt, ObservedSeq: c.ObservedSeq,
		ValidFrom: memory.Time(c.ValidFrom),
		CreatedAt: p.opts.Now, UpdatedAt: p.opts.Now, ExpiresAt: expiryTime(c),
		Model: reasonOr(c.Model, p.modelLabel()),
		Hash:  text.Hash(c.Text),
	}
	if c.TurnID != "" {
		f.Provenance.Turns = []string{c.TurnID}
	}
	if c.RememberRequested {
		f.Confidence = 1
	}
	if f.ObservedAt.IsZero() {
		f.ObservedAt = p.opts.Now
	}
	return f
}

// modelLabel returns the model's name and its prompt's hash, if any, as stored in [memory.Fact.Model].
func (p *planner) modelLabel() string {
	if p.opts.Author.Prompt == "" {
		return p.opts.Author.Name
	}
	return p.opts.Author.Name + "+" + p.opts.Author.Prompt
}

// checkedRewording returns the model's wording for an update. It returns "" if a live fact already has the wording, if
// a person rejected the wording, or if the wording is no fact or adds a name or number.
func (p *planner) checkedRewording(c extract.Candidate, v *resolution) string {
	s := tidyFact(v.rewording)
	if s == "" || p.opts.IsWordingFree == nil || !p.opts.IsWordingFree(c.Scope(p.opts.Scope), s) || dropReason(extract.Candidate{Text: s}) != "" || extract.IsInstruction(s) {
		return ""
	}
	reworded := c
	if reworded.Text = s; unwantedReason(reworded) != "" {
		return ""
	}
	both := c.Text
	for _, id := range v.replacedIDs {
		both += ". " + p.factsByID[id].Fact.Content
	}
	knownWords := wordsOf(both)
	for _, name := range text.Names(s) {
		for _, w := range text.Words(name) {
			if !knownWords[w] {
				return ""
			}
		}
	}
	knownNumbers := sortedNumbers(both)
	for _, n := range sortedNumbers(s) {
		if !slices.Contains(knownNumbers, n) {
			return ""
		}
	}
	if extract.CoveredShare(extract.TermSet(s), extract.TermSet(both)) < 0.6 || text.HasNegation(s) != text.HasNegation(c.Text) {
		return ""
	}
	return s
}

// replaceableFacts returns the target facts that the candidate may replace. newerID is the id of a target that is
// newer than the candidate, and moreTrustedID of a target with higher trust; "" for none.
func (p *planner) replaceableFacts(c extract.Candidate, targetIDs []string) (replaceable []*plannedFact, newerID, moreTrustedID string) {
	for _, id := range targetIDs {
		k := p.factsByID[id]
		switch {
		case k.isEnding || k.isConfirmed: // another candidate replaced or confirmed the target
		case k.Link == nil && !isScopeWithin(k.Fact.Scope, c.Scope(p.opts.Scope)): // the target is also valid outside the candidate's scope
		case !c.IsNewerThan(&k.Fact) && !p.isRuleFactOfTurn(c, k):
			newerID = id
		case trustRank(c.Trust) < trustRank(k.Fact.Trust) && trustRank(c.Trust) < trustRank(memory.TrustUser), p.isProtected(c, k):
			moreTrustedID = id
		default:
			replaceable = append(replaceable, k)
		}
	}
	return replaceable, newerID, moreTrustedID
}

// isRuleFactOfTurn reports whether a rule learned the fact from the turn that a model reads now. The model may
// correct such a fact, although its candidate is not newer.
func (p *planner) isRuleFactOfTurn(c extract.Candidate, k *plannedFact) bool {
	return p.opts.Author.Kind == memory.ByModel && k.Link == nil && strings.HasPrefix(k.Fact.Model, "rule") && slices.Contains(k.Fact.Provenance.Turns, c.TurnID)
}

// isProtected reports whether a person wrote or approved the fact and a model interpreted the candidate.
// Explicit requests to remember and results of rules are no interpretations.
func (p *planner) isProtected(c extract.Candidate, k *plannedFact) bool {
	if k.Link != nil || c.RememberRequested || p.opts.Author.Kind != memory.ByModel || strings.HasPrefix(c.Model, "rule:") {
		return false
	}
	return k.Fact.Pinned() || k.Fact.Source == memory.Manual || k.Fact.Trust == memory.TrustPerson
}

// isScopeWithin reports whether outer contains inner: memory of outer is visible wherever memory of inner is.
func isScopeWithin(inner, outer memory.Scope) bool {
	return (outer.Project == "" || inner.Project == outer.Project) && (outer.Agent == "" || inner.Agent == outer.Agent) && (outer.Conversation == "" || inner.Conversation == outer.Conversation)
}

// trustRank orders levels of trust; a higher number is more trust.
func trustRank(t memory.Trust) int {
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

// hasLiveWording reports whether a live (active or pending) fact of the same scope has the words of newFact.
// Facts in endingFacts do not count, because the plan ends them.
func (p *planner) hasLiveWording(newFact memory.Fact, endingFacts []*plannedFact) bool {
	words := wordingOf(newFact)
	return p.liveWordings[words] && !slices.ContainsFunc(endingFacts, func(k *plannedFact) bool { return wordingOf(k.Fact) == words })
}

func (p *planner) addReplacement(oldFacts []*plannedFact, newFact memory.Fact, reason string) {
	add := memory.Change{Action: memory.ActionAdd, NewID: newFact.ID, Reason: reason, Author: p.opts.Author}
	outcome := CandidateOutcome{FactID: newFact.ID, FactText: newFact.Content, Action: "add", Reason: reason}
	for _, k := range oldFacts {
		newFact.Core = cmp.Or(newFact.Core, k.Fact.Core)
		outcome.Action = "replace"
		if outcome.TargetID == "" {
			outcome.TargetID, add.OldID = k.Fact.ID, k.Fact.ID
		}
	}
	for _, k := range oldFacts {
		p.supersede(k, newFact, reason)
	}
	add.After.Fact = &newFact
	p.additions = append(p.additions, add)
	p.liveWordings[wordingOf(newFact)] = true
	p.outcomes = append(p.outcomes, outcome)
}

// supersede ends a fact that newFact replaces. If another owner shared the old fact, supersede only hides it.
func (p *planner) supersede(k *plannedFact, newFact memory.Fact, reason string) {
	change := p.unlinkChange(k, reason)
	change.OldID, change.NewID = k.Fact.ID, newFact.ID
	if k.Link == nil {
		change = endingChange(k.Fact, newFact, p.opts.Now, reason, p.opts.Author)
		p.releaseWording(k)
	}
	k.change, k.isEnding = &change, true
}

// endingChange returns the change that ends the old fact of a replacement. ValidTo is never before ValidFrom.
func endingChange(oldFact, newFact memory.Fact, endedAt time.Time, reason string, author memory.Author) memory.Change {
	change := memory.Replace(oldFact, newFact, endedAt, reason, author)[0]
	if ended := change.After.Fact; ended.ValidTo.Before(ended.ValidFrom) {
		ended.ValidTo = ended.ValidFrom
	}
	return change
}

// releaseWording removes an ended fact's wording from the live wordings, so that new facts may use the wording.
func (p *planner) releaseWording(k *plannedFact) {
	delete(p.liveWordings, wordingOf(k.Fact))
}

// unlinkChange returns the change that hides a fact which another owner shared.
func (p *planner) unlinkChange(k *plannedFact, reason string) memory.Change {
	if k.Link == nil {
		return memory.Change{}
	}
	link := *k.Link
	link.Status = memory.Retired
	return memory.Change{Action: memory.ActionUnlink, After: memory.State{Link: &link}, Base: k.Link.Version, Reason: reason, Author: p.opts.Author}
}

// addPending adds a pending fact. replacedID is the id of the fact that the pending fact would replace, or "".
func (p *planner) addPending(newFact memory.Fact, replacedID, reason string) {
	if p.liveWordings[wordingOf(newFact)] || slices.ContainsFunc(p.factIDs, func(id string) bool {
		k := p.factsByID[id]
		return k.Fact.Status == memory.Pending && k.Fact.Scope == newFact.Scope && sameMeaning(k.Fact.Content, newFact.Content)
	}) {
		p.outcomes = append(p.outcomes, CandidateOutcome{FactText: newFact.Content, Action: "ignore", Reason: "redundant"})
		return
	}
	newFact.Status = memory.Pending
	p.additions = append(p.additions, memory.Change{Action: memory.ActionAdd, After: memory.State{Fact: &newFact}, OldID: replacedID, NewID: newFact.ID, Reason: reason, Author: p.opts.Author})
	p.liveWordings[wordingOf(newFact)] = true
	p.outcomes = append(p.outcomes, CandidateOutcome{FactID: newFact.ID, FactText: newFact.Content, Action: "pending", TargetID: replacedID, Reason: reason})
}

// addSuperseded stores a candidate as a past fact that the fact newerID replaced at endedAt; searches omit past facts.
func (p *planner) addSuperseded(c extract.Candidate, newerID string, endedAt time.Time, reason string) {
	if newerID == "" || p.reviewReason(c) != "" || !c.ObservedAt.Before(endedAt) || wasLearned(c) {
		p.ignoreCandidate(c, newerID, reason)
		return
	}
	pastFact := p.newFact(c)
	pastFact.Status, pastFact.SupersededBy, pastFact.ValidTo = memory.Superseded, newerID, endedAt
	if pastFact.ValidFrom.After(endedAt) {
		pastFact.ValidFrom = time.Time{}
	}
	p.additions = append(p.additions, memory.Change{Action: memory.ActionAdd, After: memory.State{Fact: &pastFact}, OldID: pastFact.ID, NewID: newerID, Reason: reason, Author: p.opts.Author})
	p.outcomes = append(p.outcomes, CandidateOutcome{FactText: c.Text, Action: "ignore", TargetID: newerID, Reason: reason})
}

// wasLearned reports whether a fact with these words and any status was already learned from this turn.
func wasLearned(c extract.Candidate) bool {
	return slices.ContainsFunc(c.Neighbors, func(n extract.Neighbor) bool {
		return slices.Contains(n.Fact.Provenance.Turns, c.TurnID) && text.Hash(n.Fact.Content) == text.Hash(c.Text)
	})
}

// changes returns all changes. Changes that end facts come first, because new facts may reuse their wordings.
func (p *planner) changes() []memory.Change {
	var ends, others []memory.Change
	for _, id := range p.factIDs {
		switch k := p.factsByID[id]; {
		case k.change == nil:
		case k.isEnding:
			ends = append(ends, *k.change)
		default:
			others = append(others, *k.change)
		}
	}
	return slices.Concat(ends, others, p.additions)
}

func reasonOr(reason, fallback string) string {
	if reason == "" {
		return fallback
	}
	return reason
}
