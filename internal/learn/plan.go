package learn

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// PlanOptions are the settings of [Plan].
type PlanOptions struct {
	Now    time.Time
	NewID  func() string
	Scope  memory.Scope // the scope of new facts, except for candidates with [extract.Candidate.InAllProjects]
	Author memory.Author
	Source memory.FactSource // "" means extracted
	// MinConfidence is the minimum confidence of facts without review by a person.
	MinConfidence float64
	// ReviewCategories names categories whose facts always need review by a person.
	ReviewCategories []string
	// ReviewConflicts makes replacements need review: the new fact is pending, and its change names the fact
	// that it contradicts.
	ReviewConflicts bool
	// IsWordingFree reports whether no live, rejected or forgotten fact of a scope has these words. A model may give a
	// fact only such words. If the function is nil, models cannot reword facts.
	IsWordingFree func(scope memory.Scope, words string) bool
}

// CandidateOutcome is the result for one candidate, with the fields of the log line memory_decision.
type CandidateOutcome struct {
	FactID   string `json:"-"` // id of the stored fact; "" if no fact was stored
	FactText string `json:"fact"`
	Action   string `json:"action"` // add, replace, delete, reinforce, pending, ignore
	TargetID string `json:"target_id,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// doubtReduction is the share of a fact's doubt that a repetition removes.
const doubtReduction = 0.25

// maxTurns limits the turn ids stored with a fact, because a user may repeat the fact every day.
const maxTurns = 16

// Plan turns decisions into changes that a store accepts, in the order in which to apply them. Each memory
// changes at most once, only newer statements replace facts, live facts have distinct words, and the later of
// two contradicting candidates wins.
//
// Candidates for review become pending facts and replace no facts; so do a model's candidates that contradict
// a fact which a person wrote, approved or pinned. If the decisions add no fact, Plan adds the candidates
// that repeat no fact, in case a model wrongly ignored all candidates.
func Plan(cands []extract.Candidate, decisions []Decision, repetitions []Repetition, opts PlanOptions) ([]memory.Change, []CandidateOutcome) {
	p := newPlanner(cands, repetitions, opts)
	for _, a := range repetitions {
		p.reinforce(a)
	}
	p.combineDecisions(decisions)
	p.chooseWinners()
	for i, v := range p.resolutions {
		if v.winnerIndex < 0 {
			p.planCandidate(i)
		}
	}
	for i, v := range p.resolutions {
		if v.winnerIndex >= 0 {
			p.planCandidate(i)
		}
	}
	return p.changes(), p.outcomes
}

// planner collects the planned changes of each fact.
type planner struct {
	opts         PlanOptions
	candidates   []extract.Candidate
	factsByID    map[string]*plannedFact
	factIDs      []string     // ids in the order of [planner.registerFact]
	resolutions  []resolution // one for each candidate, by its index
	additions    []memory.Change
	liveWordings map[wording]bool // wordings of the facts that are active or pending after the plan
	outcomes     []CandidateOutcome
}

// wording identifies a live (active or pending) fact: no two live facts have the same wording.
type wording struct {
	scope       memory.Scope
	contentHash string
}

func wordingOf(f memory.Fact) wording { return wording{f.Scope, text.Hash(f.Content)} }

// plannedFact is a neighbour with its planned change.
type plannedFact struct {
	extract.Neighbor
	change      *memory.Change
	isEnding    bool // the change excludes the fact from search
	isConfirmed bool // a candidate confirmed the fact, so nothing replaces it
}

// resolution combines the valid decisions about one candidate.
type resolution struct {
	isDecided   bool
	addsFact    bool
	replacedIDs []string // ids of the facts that the candidate replaces
	repeatedID  string   // id of the fact with the same meaning, or ""
	rewording   string   // the model's wording of the fact, or ""
	reason      string
	winnerIndex int    // index of the candidate that replaces this candidate, or -1
	addedID     string // id of the new fact; "" before it is added
}

func newPlanner(cands []extract.Candidate, repetitions []Repetition, opts PlanOptions) *planner {
	if opts.Source == "" {
		opts.Source = memory.Extracted
	}
	opts.Now = memory.Time(opts.Now)
	p := &planner{opts: opts, candidates: slices.Clone(cands), factsByID: map[string]*plannedFact{}, liveWordings: map[wording]bool{}, resolutions: make([]resolution, len(cands))}
	for _, c := range cands {
		for _, n := range c.Neighbors {
			p.registerFact(n)
		}
	}
	for _, a := range repetitions {
		p.registerFact(a.Fact)
	}
	for i := range p.resolutions {
		p.resolutions[i].winnerIndex = -1
		if c := &p.candidates[i]; c.ObservedAt.After(opts.Now) { // the sender's clock may be ahead, but its facts must not be newer than all later facts
			c.ObservedAt = opts.Now
		}
	}
	return p
}

func (p *planner) registerFact(n extract.Neighbor) {
	if !n.Fact.Status.Live() || p.factsByID[n.Fact.ID] != nil {
		return
	}
	p.factsByID[n.Fact.ID] = &plannedFact{Neighbor: n}
	p.factIDs = append(p.factIDs, n.Fact.ID)
	p.liveWordings[wordingOf(n.Fact)] = true
}

// reinforce raises a fact's confidence and updates its observation time. Each turn counts once for a fact.
// Facts of other owners are not changed.
func (p *planner) reinforce(a Repetition) {
	k := p.factsByID[a.Fact.Fact.ID]
	c := a.Candidate
	outcome := CandidateOutcome{FactText: c.Text, Action: "ignore", TargetID: a.Fact.Fact.ID, Reason: "redundant"}
	if k != nil && k.Link == nil && !slices.Contains(k.Fact.Provenance.Turns, c.TurnID) && c.ReviewReason == "" && trustRank(c.Trust) >= trustRank(memory.TrustUser) {
		p.raiseConfidence(k, c)
		outcome.Action = "reinforce"
	}
	p.outcomes = append(p.outcomes, outcome)
}

func (p *planner) raiseConfidence(k *plannedFact, c extract.Candidate) {
	f := k.Fact
	if c.DoubtReason == "" {
		f.Confidence += (1 - f.Confidence) * doubtReduction
	}
	if f.Provenance.Quote == nil {
		f.Provenance.Quote = c.Span
	}
	f.UpdatedAt = p.opts.Now
	if c.IsNewerThan(&f) {
		f.ObservedAt, f.ObservedSeq = c.ObservedAt, c.ObservedSeq
	}
	if len(f.Provenance.Turns) < maxTurns && c.TurnID != "" {
		f.Provenance.Turns = append(slices.Clone(f.Provenance.Turns), c.TurnID)
	}
	action := memory.ActionReinforce
	if c.RememberRequested {
		f.Confidence = 1
		if f.Status == memory.Pending {
			f.Status, action = memory.Active, memory.ActionApprove
		}
	}
	k.Fact = f
	k.change = &memory.Change{Action: action, After: memory.State{Fact: &f}, Base: f.Version, Reason: "said again", Author: p.opts.Author}
}

// combineDecisions combines the valid decisions about each candidate into one resolution.
func (p *planner) combineDecisions(decisions []Decision) {
	for _, d := range decisions {
		if d.Verdict == Delete && (d.CandidateIndex < 0 || d.CandidateIndex >= len(p.candidates)) {
			d.CandidateIndex = p.newestWithNeighbour(d.TargetID)
		}
		if 0 <= d.CandidateIndex && d.CandidateIndex < len(p.candidates) {
			p.resolutions[d.CandidateIndex].addDecision(d, p.validTarget(d))
		}
	}
	for i := range p.resolutions {
		if !p.resolutions[i].isDecided { // the model gave no decision, so the rules decide
			for _, d := range reconcileByRules(i, p.candidates[i]) {
				p.resolutions[i].addDecision(d, p.validTarget(d))
			}
		}
		v := &p.resolutions[i]
		if k := p.factsByID[v.repeatedID]; k != nil && k.SharedByUser() && len(v.replacedIDs) == 0 {
			v.addsFact, v.repeatedID = true, "" // also store the user's own statement, because the other user may stop sharing
		}
		if k := p.factsByID[v.repeatedID]; k != nil && p.pendingMatch(p.candidates[i]) == k {
			v.addsFact, v.repeatedID = true, ""
		}
	}
	adds := slices.ContainsFunc(p.resolutions, func(v resolution) bool { return v.addsFact })
	for i := range p.resolutions {
		v := &p.resolutions[i]
		v.addsFact = v.addsFact || !adds && v.repeatedID == ""
	}
}

// newestWithNeighbour returns the index of the newest candidate with the fact as a neighbour, or -1. It is
// used for decisions that end a fact without naming a candidate.
func (p *planner) newestWithNeighbour(factID string) int {
	newest := -1
	for i := range p.candidates {
		if p.liveNeighbour(i, factID) != "" && (newest < 0 || observedBefore(&p.candidates[newest], &p.candidates[i])) {
			newest = i
		}
	}
	return newest
}

// validTarget returns the decision's target if it is valid, otherwise "". A valid target shares its subject and attribute,
// or a word, with the candidate. If the candidate's operation names the target, the same subject is enough.
func (p *planner) validTarget(d Decision) string {
	id := p.liveNeighbour(d.CandidateIndex, d.TargetID)
	if id == "" {
		return ""
	}
	f, c := p.factsByID[id].Fact, p.candidates[d.CandidateIndex]
	same := d.Verdict != None && c.Attribute != "" && c.Attribute == f.Attribute && c.Subject == f.Subject
	if !same && extract.CoveredShare(extract.TermSet(f.Content), extract.TermSet(c.Text)) == 0 && (c.Subject != f.Subject || !slices.Contains(c.TargetIDs, id)) {
		return ""
	}
	return id
}

// liveNeighbour returns factID if the fact is active or pending and a neighbour of the candidate, otherwise "".
func (p *planner) liveNeighbour(candidateIndex int, factID string) string {
	for _, n := range p.candidates[candidateIndex].Neighbors {
		if n.Fact.ID == factID && n.Fact.Status.Live() {
			return factID
		}
	}
	return ""
}

func (v *resolution) addDecision(d Decision, target string) {
	switch d.Verdict {
	case Add:
		v.addsFact = true
	case Update, Delete: // Delete stores the candidate, too, as the fact that replaces the target
		if d.Verdict == Delete && target == "" {
			return
		}
		v.addsFact = true
		if target != "" && !slices.Contains(v.replacedIDs, target) {
			v.replacedIDs = append(v.replacedIDs, target)
		}
		if v.rewording == "" {
			v.rewording = d.Text
		}
	case None:
		if v.repeatedID == "" {
			v.repeatedID = target
		}
	default:
		return
	}
	v.isDecided = true
	if v.reason == "" {
		v.reason = d.Reason
	}
}

// chooseWinners selects the latest of the candidates with the same single-valued attribute.
func (p *planner) chooseWinners() {
	last := map[string]int{}
	for i, c := range p.candidates {
		subject, attribute := extract.SubjectAndAttribute(c.Text)
		if attribute == "" && statesOnlyValue(c) {
			subject, attribute = c.Subject, c.Attribute
		}
		if !p.resolutions[i].addsFact || !extract.IsSingleValued(attribute) || text.HasNegation(c.Text) || p.reviewReason(c) != "" {
			continue
		}
		key := subject + "\x00" + attribute
		j, met := last[key]
		switch {
		case !met:
			last[key] = i
		case observedBefore(&p.candidates[j], &c):
			p.resolutions[j].winnerIndex = i
			last[key] = i
		case observedBefore(&c, &p.candidates[j]):
			p.resolutions[i].winnerIndex = j
		}
	}
	for i := range p.resolutions { // the winner replaces the targets of the other candidate
		if w := p.finalWinner(i); w != i {
			for _, t := range p.resolutions[i].replacedIDs {
				if near := p.liveNeighbour(w, t); near != "" && !slices.Contains(p.resolutions[w].replacedIDs, t) {
					p.resolutions[w].replacedIDs = append(p.resolutions[w].replacedIDs, t)
				}
			}
		}
	}
}

// statesOnlyValue reports whether a candidate states the only day or value of a thing. "User has a meeting with
// Dana" is not such a candidate, because there may be several meetings.
func statesOnlyValue(c extract.Candidate) bool {
	return strings.HasPrefix(c.Attribute, "value:") || strings.HasPrefix(c.Attribute, "date:") && !strings.HasPrefix(c.Text, "User has ")
}

func (p *planner) finalWinner(i int) int {
	for p.resolutions[i].winnerIndex >= 0 {
		i = p.resolutions[i].winnerIndex
	}
	return i
}

func observedBefore(a, b *extract.Candidate) bool {
	f := memory.Fact{ObservedAt: a.ObservedAt, ObservedSeq: a.ObservedSeq}
	return b.IsNewerThan(&f)
}

// reviewReason returns the reason why a person must review a candidate, or "".
func (p *planner) reviewReason(c extract.Candidate) string {
	switch {
	case c.RememberRequested && c.ReviewReason == "":
		return ""
	case c.ReviewReason != "":
		return c.ReviewReason
	case c.DoubtReason != "" && c.Confidence < p.opts.MinConfidence:
		return c.DoubtReason
	}
	return ReviewReason(c.Text, c.Confidence, p.opts.MinConfidence, c.Category, p.opts.ReviewCategories)
}

// ReviewReason returns the reason why review.confidence or review.categories requires a review of a fact, or "".
// It checks the given category and the category that the fact's words imply.
func ReviewReason(fact string, confidence, minConfidence float64, category string, categories []string) string {
	if confidence < minConfidence {
		return fmt.Sprintf("confidence %.2f is under %.2f (review.confidence)", confidence, minConfidence)
	}
	for _, c := range []string{category, extract.CategoryOf(fact)} {
		if c != "" && slices.Contains(categories, c) {
			return "the category " + c + " requires review (review.categories)"
		}
	}
	return ""
}

// ConflictReviewReason is the reason of facts that are pending because of the setting review.conflicts.
const ConflictReviewReason = "it contradicts a stored fact (review.conflicts)"

// IsReviewSetting reports whether the reason of a change is a review setting, instead of a doubt about evidence.
func IsReviewSetting(reason string) bool { return strings.Contains(reason, "(review.") }

func (p *planner) ignoreCandidate(c extract.Candidate, target, reason string) {
	p.outcomes = append(p.outcomes, CandidateOutcome{FactText: c.Text, Action: "ignore", TargetID: target, Reason: reason})
}
