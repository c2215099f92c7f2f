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
	Scope  memory.Scope // the scope of new facts, except for candidates with [extract.Candidate.Everywhere]
	Author memory.Author
	Source memory.FactSource // "" means extracted
	// MinConfidence is the minimum confidence of facts without review by a person.
	MinConfidence float64
	// Review names categories whose facts always need review by a person.
	Review []string
	// ReviewConflicts makes replacements need review: the new fact is pending, and its change names the fact
	// that it contradicts.
	ReviewConflicts bool
	// Free reports whether no live, rejected or forgotten fact of a scope has these words. A model may reword
	// a fact only to free words. If the function is nil, models cannot reword facts.
	Free func(scope memory.Scope, words string) bool
}

// Outcome is the result for one candidate, with the fields of the memory_decision log line (design 3).
type Outcome struct {
	ID     string `json:"-"` // id of the stored fact; "" if no fact was stored
	Fact   string `json:"fact"`
	Action string `json:"action"` // add, replace, delete, reinforce, pending, ignore
	Target string `json:"target_id,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// reinforcement is the share of a fact's doubt that a repetition removes.
const reinforcement = 0.25

// maxTurns is the maximum number of turns recorded with a fact, which a user may repeat every day.
const maxTurns = 16

// Plan turns decisions into changes that a store accepts, in the order in which to apply them. Each memory
// changes at most once, only newer statements replace facts, live facts have distinct words, and the later of
// two contradicting candidates wins.
//
// Candidates for review become pending facts and replace no facts; so do a model's candidates that contradict
// a fact which a person wrote, approved or pinned. If the decisions add no fact, Plan adds the candidates
// that repeat no fact (design 4's safeguard).
func Plan(cands []extract.Candidate, decisions []Decision, repetitions []Repetition, o PlanOptions) ([]memory.Change, []Outcome) {
	p := newPlanner(cands, repetitions, o)
	for _, a := range repetitions {
		p.reinforce(a)
	}
	p.judge(decisions)
	p.settle()
	for i, v := range p.verdicts {
		if v.winner < 0 {
			p.carryOut(i)
		}
	}
	for i, v := range p.verdicts {
		if v.winner >= 0 {
			p.carryOut(i)
		}
	}
	return p.changes(), p.outcomes
}

// planner collects the planned changes of each fact.
type planner struct {
	o        PlanOptions
	cands    []extract.Candidate
	facts    map[string]*plannedFact // by id
	order    []string                // ids in the order of [planner.register]
	verdicts []verdict               // one verdict for each candidate
	adds     []memory.Change
	live     map[wording]bool // wordings of the facts that are live after the plan
	outcomes []Outcome
}

// wording identifies a live fact: no two live facts have the same wording.
type wording struct {
	scope memory.Scope
	hash  string
}

func wordingOf(f memory.Fact) wording { return wording{f.Scope, text.Hash(f.Content)} }

// plannedFact is a neighbour with its planned change.
type plannedFact struct {
	extract.Neighbour
	change      *memory.Change
	isEnding    bool // the change excludes the fact from search
	isConfirmed bool // a candidate confirmed the fact, so nothing replaces it
}

// verdict combines the valid decisions about one candidate.
type verdict struct {
	decided bool
	add     bool
	targets []string // ids of the facts that the candidate replaces
	repeats string   // id of the fact with the same meaning, or ""
	text    string   // the model's wording of the fact, or ""
	reason  string
	winner  int    // index of the candidate that replaces this candidate, or -1
	addedID string // id of the new fact; "" before it is added
}

func newPlanner(cands []extract.Candidate, repetitions []Repetition, o PlanOptions) *planner {
	if o.Source == "" {
		o.Source = memory.Extracted
	}
	o.Now = memory.Time(o.Now)
	p := &planner{o: o, cands: slices.Clone(cands), facts: map[string]*plannedFact{}, live: map[wording]bool{}, verdicts: make([]verdict, len(cands))}
	for _, c := range cands {
		for _, n := range c.Near {
			p.register(n)
		}
	}
	for _, a := range repetitions {
		p.register(a.Fact)
	}
	for i := range p.verdicts {
		p.verdicts[i].winner = -1
		if c := &p.cands[i]; c.ObservedAt.After(o.Now) { // a clock that runs ahead must not make a fact the newest forever
			c.ObservedAt = o.Now
		}
	}
	return p
}

func (p *planner) register(n extract.Neighbour) {
	if !n.Fact.Status.Live() || p.facts[n.Fact.ID] != nil {
		return
	}
	p.facts[n.Fact.ID] = &plannedFact{Neighbour: n}
	p.order = append(p.order, n.Fact.ID)
	p.live[wordingOf(n.Fact)] = true
}

// reinforce raises a fact's confidence and updates its observation time. Each turn counts once for a fact.
// Facts of other owners are not changed.
func (p *planner) reinforce(a Repetition) {
	k := p.facts[a.Fact.Fact.ID]
	c := a.Candidate
	outcome := Outcome{Fact: c.Text, Action: "ignore", Target: a.Fact.Fact.ID, Reason: "redundant"}
	if k != nil && k.Link == nil && !slices.Contains(k.Fact.Provenance.Turns, c.Turn) && c.ReviewReason == "" && rank(c.Trust) >= rank(memory.TrustUser) {
		p.reinforced(k, c)
		outcome.Action = "reinforce"
	}
	p.outcomes = append(p.outcomes, outcome)
}

func (p *planner) reinforced(k *plannedFact, c extract.Candidate) {
	f := k.Fact
	if c.Doubt == "" {
		f.Confidence += (1 - f.Confidence) * reinforcement
	}
	if f.Provenance.Quote == nil {
		f.Provenance.Quote = c.Span
	}
	f.UpdatedAt = p.o.Now
	if c.Newer(&f) {
		f.ObservedAt, f.ObservedSeq = c.ObservedAt, c.ObservedSeq
	}
	if len(f.Provenance.Turns) < maxTurns && c.Turn != "" {
		f.Provenance.Turns = append(slices.Clone(f.Provenance.Turns), c.Turn)
	}
	action := memory.ActionReinforce
	if c.RememberRequested {
		f.Confidence = 1
		if f.Status == memory.Pending {
			f.Status, action = memory.Active, memory.ActionApprove
		}
	}
	k.Fact = f
	k.change = &memory.Change{Action: action, After: memory.Image{Fact: &f}, Base: f.Version, Reason: "said again", Author: p.o.Author}
}

// judge combines the valid decisions about each candidate into one verdict.
func (p *planner) judge(decisions []Decision) {
	for _, d := range decisions {
		if d.Verdict == Delete && (d.Candidate < 0 || d.Candidate >= len(p.cands)) {
			d.Candidate = p.newestNear(d.Target)
		}
		if 0 <= d.Candidate && d.Candidate < len(p.cands) {
			p.verdicts[d.Candidate].apply(d, p.target(d))
		}
	}
	for i := range p.verdicts {
		if !p.verdicts[i].decided { // the model gave no decision, so the rules decide
			for _, d := range reconcile(i, p.cands[i]) {
				p.verdicts[i].apply(d, p.target(d))
			}
		}
		v := &p.verdicts[i]
		if k := p.facts[v.repeats]; k != nil && k.SharedByUser() && len(v.targets) == 0 {
			v.add, v.repeats = true, "" // the user's own statement stays when the other user stops sharing
		}
		if k := p.facts[v.repeats]; k != nil && p.pendingMatch(p.cands[i]) == k {
			v.add, v.repeats = true, ""
		}
	}
	adds := slices.ContainsFunc(p.verdicts, func(v verdict) bool { return v.add })
	for i := range p.verdicts {
		v := &p.verdicts[i]
		v.add = v.add || !adds && v.repeats == ""
	}
}

// newestNear returns the index of the newest candidate with the fact as a neighbour, or -1. It serves
// decisions that end a fact without a candidate.
func (p *planner) newestNear(target string) int {
	newest := -1
	for i := range p.cands {
		if p.liveNeighbour(i, target) != "" && (newest < 0 || observedBefore(&p.cands[newest], &p.cands[i])) {
			newest = i
		}
	}
	return newest
}

// target returns the decision's target if it is valid, otherwise "". A valid target shares its subject and attribute,
// or a word, with the candidate. If the candidate's operation names the target, the same subject is enough.
func (p *planner) target(d Decision) string {
	id := p.liveNeighbour(d.Candidate, d.Target)
	if id == "" {
		return ""
	}
	f, c := p.facts[id].Fact, p.cands[d.Candidate]
	same := d.Verdict != None && c.Attribute != "" && c.Attribute == f.Attribute && c.Subject == f.Subject
	if !same && extract.Covered(extract.TermSet(f.Content), extract.TermSet(c.Text)) == 0 && (c.Subject != f.Subject || !slices.Contains(c.Targets, id)) {
		return ""
	}
	return id
}

// liveNeighbour returns the target if it is live and a neighbour of the candidate, otherwise "".
func (p *planner) liveNeighbour(candidate int, target string) string {
	for _, n := range p.cands[candidate].Near {
		if n.Fact.ID == target && n.Fact.Status.Live() {
			return target
		}
	}
	return ""
}

func (v *verdict) apply(d Decision, target string) {
	switch d.Verdict {
	case Add:
		v.add = true
	case Update, Delete: // an ending replaces its target
		if d.Verdict == Delete && target == "" {
			return
		}
		v.add = true
		if target != "" && !slices.Contains(v.targets, target) {
			v.targets = append(v.targets, target)
		}
		if v.text == "" {
			v.text = d.Text
		}
	case None:
		if v.repeats == "" {
			v.repeats = target
		}
	default:
		return
	}
	v.decided = true
	if v.reason == "" {
		v.reason = d.Reason
	}
}

// settle selects the latest of the candidates with the same single-valued attribute.
func (p *planner) settle() {
	last := map[string]int{}
	for i, c := range p.cands {
		subject, attribute := extract.Classify(c.Text)
		if attribute == "" && dayOrValue(c) {
			subject, attribute = c.Subject, c.Attribute
		}
		if !p.verdicts[i].add || !extract.Single(attribute) || text.Negated(c.Text) || p.waits(c) != "" {
			continue
		}
		key := subject + "\x00" + attribute
		j, met := last[key]
		switch {
		case !met:
			last[key] = i
		case observedBefore(&p.cands[j], &c):
			p.verdicts[j].winner = i
			last[key] = i
		case observedBefore(&c, &p.cands[j]):
			p.verdicts[i].winner = j
		}
	}
	for i := range p.verdicts { // the winner replaces the targets of the other candidate
		if w := p.winner(i); w != i {
			for _, t := range p.verdicts[i].targets {
				if near := p.liveNeighbour(w, t); near != "" && !slices.Contains(p.verdicts[w].targets, t) {
					p.verdicts[w].targets = append(p.verdicts[w].targets, t)
				}
			}
		}
	}
}

// dayOrValue reports whether a candidate states the only day or value of a thing. "User has a meeting with
// Dana" is not such a candidate, because there may be several meetings.
func dayOrValue(c extract.Candidate) bool {
	return strings.HasPrefix(c.Attribute, "value:") || strings.HasPrefix(c.Attribute, "date:") && !strings.HasPrefix(c.Text, "User has ")
}

func (p *planner) winner(i int) int {
	for p.verdicts[i].winner >= 0 {
		i = p.verdicts[i].winner
	}
	return i
}

func observedBefore(a, b *extract.Candidate) bool {
	f := memory.Fact{ObservedAt: a.ObservedAt, ObservedSeq: a.ObservedSeq}
	return b.Newer(&f)
}

// waits returns the reason why a person must review a candidate, or "".
func (p *planner) waits(c extract.Candidate) string {
	switch {
	case c.RememberRequested && c.ReviewReason == "":
		return ""
	case c.ReviewReason != "":
		return c.ReviewReason
	case c.Doubt != "" && c.Confidence < p.o.MinConfidence:
		return c.Doubt
	}
	return Reviewed(c.Text, c.Confidence, p.o.MinConfidence, c.Category, p.o.Review)
}

// Reviewed returns the reason why review.confidence or review.categories requires a review of a fact, or "".
// It checks the given category and the category that the fact's words imply.
func Reviewed(fact string, confidence, minConfidence float64, category string, categories []string) string {
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

// ReviewedConflict is the reason of facts that are pending because of the setting review.conflicts.
const ReviewedConflict = "it contradicts a stored fact (review.conflicts)"

// ByReview reports whether the reason of a change is a review setting, instead of a doubt about evidence.
func ByReview(reason string) bool { return strings.Contains(reason, "(review.") }

func (p *planner) ignore(c extract.Candidate, target, reason string) {
	p.outcomes = append(p.outcomes, Outcome{Fact: c.Text, Action: "ignore", Target: target, Reason: reason})
}
