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

// PlanOptions say under what the changes are made.
type PlanOptions struct {
	Now    time.Time
	NewID  func() string
	Scope  memory.Scope // where new facts belong, but for those of [extract.Candidate.Everywhere]
	Author memory.Author
	Source memory.FactSource // "": extracted
	// MinConfidence is what a candidate needs not to wait for a person.
	MinConfidence float64
	// Review names categories that always wait for a person.
	Review []string
	// ReviewConflicts lets a replacement wait for a person: the new fact is added as
	// pending, and its change names the fact that it contradicts.
	ReviewConflicts bool
	// Free reports whether no live fact of a scope has these words and none with
	// them was rejected or forgotten. A model may only reword a fact to words that are
	// free; with nil it may not reword.
	Free func(scope memory.Scope, words string) bool
}

// Outcome is what became of one candidate, in the words of the memory_decision
// line (design 3).
type Outcome struct {
	ID     string `json:"-"` // of the fact that was stored; "" where none was
	Fact   string `json:"fact"`
	Action string `json:"action"` // add, replace, delete, reinforce, pending, ignore
	Target string `json:"target_id,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// reinforcement is how much of its doubt a fact loses when it is said again.
const reinforcement = 0.25

// maxTurns bounds the turns that a fact names: those of a fact that is said daily
// would outgrow it.
const maxTurns = 16

// Plan turns decisions into changes that a store accepts, whatever the decisions
// say: no thing is changed twice, only what was said strictly later replaces, no
// live fact gets the words of another, and of two candidates that cannot both
// hold the later one does. What a person should look at first is added as
// pending and replaces nothing; so is what a model read and contradicts a fact that
// a person wrote, approved or pinned. If the decisions add nothing, the candidates that
// no known fact was said to repeat are added (design 4's safeguard).
//
// The order of changes is the order in which they can be applied.
func Plan(cands []extract.Candidate, decisions []Decision, again []Again, o PlanOptions) ([]memory.Change, []Outcome) {
	p := newPlanner(cands, again, o)
	for _, a := range again {
		p.reinforce(a)
	}
	p.judge(decisions)
	p.settle()
	for i, v := range p.verdicts {
		if v.loser < 0 {
			p.carryOut(i)
		}
	}
	for i, v := range p.verdicts {
		if v.loser >= 0 {
			p.carryOut(i)
		}
	}
	return p.changes(), p.outcomes
}

// planner gathers what a plan does to each known fact.
type planner struct {
	o        PlanOptions
	cands    []extract.Candidate
	known    map[string]*knownFact // by id
	order    []string              // ids in the order met
	verdicts []verdict             // one a candidate
	adds     []memory.Change
	live     map[wording]bool // of the facts that will be live
	outcomes []Outcome
}

// wording is what no two live facts share.
type wording struct {
	scope memory.Scope
	hash  string
}

func wordingOf(f memory.Fact) wording { return wording{f.Scope, text.Hash(f.Content)} }

// knownFact is a neighbour and what is done to it.
type knownFact struct {
	extract.Neighbour
	change *memory.Change
	ends   bool // the change takes it out of recall
	kept   bool // a candidate confirmed it: no other takes its place
}

// verdict is what the valid decisions about one candidate come to.
type verdict struct {
	decided bool
	add     bool
	targets []string // facts it replaces
	repeats string   // the fact that says the same
	text    string   // better words
	reason  string
	loser   int    // the candidate that holds instead of it, -1 without one
	became  string // id of the fact that was added for it
}

func newPlanner(cands []extract.Candidate, again []Again, o PlanOptions) *planner {
	if o.Source == "" {
		o.Source = memory.Extracted
	}
	o.Now = memory.Time(o.Now)
	p := &planner{o: o, cands: slices.Clone(cands), known: map[string]*knownFact{}, live: map[wording]bool{}, verdicts: make([]verdict, len(cands))}
	for _, c := range cands {
		for _, n := range c.Near {
			p.meet(n)
		}
	}
	for _, a := range again {
		p.meet(a.Known)
	}
	for i := range p.verdicts {
		p.verdicts[i].loser = -1
		if c := &p.cands[i]; c.ObservedAt.After(o.Now) { // a clock that runs ahead must not make a fact the newest for ever
			c.ObservedAt = o.Now
		}
	}
	return p
}

func (p *planner) meet(n extract.Neighbour) {
	if !n.Fact.Status.Live() || p.known[n.Fact.ID] != nil {
		return
	}
	p.known[n.Fact.ID] = &knownFact{Neighbour: n}
	p.order = append(p.order, n.Fact.ID)
	p.live[wordingOf(n.Fact)] = true
}

// reinforce makes a known fact surer and refreshes when it was observed. A turn
// counts once for a fact, and another owner's fact is not ours to change.
func (p *planner) reinforce(a Again) {
	k := p.known[a.Known.Fact.ID]
	c := a.Candidate
	outcome := Outcome{Fact: c.Text, Action: "ignore", Target: a.Known.Fact.ID, Reason: "redundant"}
	if k != nil && k.Link == nil && !slices.Contains(k.Fact.Provenance.Turns, c.Turn) && c.Waits == "" && rank(c.Trust) >= rank(memory.TrustUser) {
		p.reinforced(k, c)
		outcome.Action = "reinforce"
	}
	p.outcomes = append(p.outcomes, outcome)
}

func (p *planner) reinforced(k *knownFact, c extract.Candidate) {
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
	if c.Remember {
		f.Confidence = 1
		if f.Status == memory.Pending {
			f.Status, action = memory.Active, memory.ActionApprove
		}
	}
	k.Fact = f
	k.change = &memory.Change{Action: action, After: memory.Image{Fact: &f}, Base: f.Version, Reason: "said again", Author: p.o.Author}
}

// judge reads the decisions into verdicts and leaves out what is not valid.
func (p *planner) judge(decisions []Decision) {
	for _, d := range decisions {
		if d.Verdict == Delete && (d.Candidate < 0 || d.Candidate >= len(p.cands)) {
			d.Candidate = p.newestNear(d.Target)
		}
		if 0 <= d.Candidate && d.Candidate < len(p.cands) {
			p.verdicts[d.Candidate].take(d, p.target(d))
		}
	}
	for i := range p.verdicts {
		if !p.verdicts[i].decided { // the model passed over it: the rules decide
			for _, d := range reconcile(i, p.cands[i]) {
				p.verdicts[i].take(d, p.target(d))
			}
		}
		v := &p.verdicts[i]
		if k := p.known[v.repeats]; k != nil && k.SharedByUser() && len(v.targets) == 0 {
			v.add, v.repeats = true, "" // the user's own statement stays when the share ends
		}
		if k := p.known[v.repeats]; k != nil && p.confirmed(p.cands[i]) == k {
			v.add, v.repeats = true, ""
		}
	}
	adds := slices.ContainsFunc(p.verdicts, func(v verdict) bool { return v.add })
	for i := range p.verdicts {
		v := &p.verdicts[i]
		v.add = v.add || !adds && v.repeats == ""
	}
}

// newestNear returns the newest candidate that was found near a fact, -1 without one: what a
// decision ends without a candidate, that one says is over.
func (p *planner) newestNear(target string) int {
	newest := -1
	for i := range p.cands {
		if p.near(i, target) != "" && (newest < 0 || saidBefore(&p.cands[newest], &p.cands[i])) {
			newest = i
		}
	}
	return newest
}

// target returns the decision's target if it is valid, "" otherwise. What is
// repeated, replaced or ended must have to do with what is said: an attribute of the
// same subject, or a word; where an operation with a quote names it, the subject is enough.
func (p *planner) target(d Decision) string {
	id := p.near(d.Candidate, d.Target)
	if id == "" {
		return ""
	}
	f, c := p.known[id].Fact, p.cands[d.Candidate]
	same := d.Verdict != None && c.Attribute != "" && c.Attribute == f.Attribute && c.Subject == f.Subject
	if !same && extract.Covered(extract.TermSet(f.Content), extract.TermSet(c.Text)) == 0 && (c.Subject != f.Subject || !slices.Contains(c.Targets, id)) {
		return ""
	}
	return id
}

// near returns the target if the candidate's search found it and it is live, "".
func (p *planner) near(candidate int, target string) string {
	for _, n := range p.cands[candidate].Near {
		if n.Fact.ID == target && n.Fact.Status.Live() {
			return target
		}
	}
	return ""
}

func (v *verdict) take(d Decision, target string) {
	switch d.Verdict {
	case Add:
		v.add = true
	case Update, Delete: // what says that something is over takes its place
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

// settle finds candidates that cannot both hold: of those with the same
// single-valued attribute, as their words show it, the one said last does.
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
		case saidBefore(&p.cands[j], &c):
			p.verdicts[j].loser = i
			last[key] = i
		case saidBefore(&c, &p.cands[j]):
			p.verdicts[i].loser = j
		}
	}
	for i := range p.verdicts { // what a loser would replace, the winner does
		if w := p.winner(i); w != i {
			for _, t := range p.verdicts[i].targets {
				if near := p.near(w, t); near != "" && !slices.Contains(p.verdicts[w].targets, t) {
					p.verdicts[w].targets = append(p.verdicts[w].targets, t)
				}
			}
		}
	}
}

// dayOrValue reports whether a candidate says the one day or value that something has,
// which no words of its own tell. "User has a meeting with Dana" may be one more.
func dayOrValue(c extract.Candidate) bool {
	return strings.HasPrefix(c.Attribute, "value:") || strings.HasPrefix(c.Attribute, "date:") && !strings.HasPrefix(c.Text, "User has ")
}

func (p *planner) winner(i int) int {
	for p.verdicts[i].loser >= 0 {
		i = p.verdicts[i].loser
	}
	return i
}

func saidBefore(a, b *extract.Candidate) bool {
	f := memory.Fact{ObservedAt: a.ObservedAt, ObservedSeq: a.ObservedSeq}
	return b.Newer(&f)
}

// waits says why a candidate waits for a person, "" if it does not.
func (p *planner) waits(c extract.Candidate) string {
	switch {
	case c.Remember && c.Waits == "":
		return ""
	case c.Waits != "":
		return c.Waits
	case c.Doubt != "" && c.Confidence < p.o.MinConfidence:
		return c.Doubt
	}
	return Reviewed(c.Text, c.Confidence, p.o.MinConfidence, c.Category, p.o.Review)
}

// Reviewed returns why a fact waits by the settings review.confidence and review.categories, "" if
// it does not. Both its category and the one that its words tell count.
func Reviewed(fact string, confidence, least float64, category string, categories []string) string {
	if confidence < least {
		return fmt.Sprintf("confidence %.2f is under %.2f (review.confidence)", confidence, least)
	}
	for _, c := range []string{category, extract.CategoryOf(fact)} {
		if c != "" && slices.Contains(categories, c) {
			return "the category " + c + " is reviewed (review.categories)"
		}
	}
	return ""
}

// ReviewedConflict is why a fact waits by the setting review.conflicts.
const ReviewedConflict = "it contradicts what is known (review.conflicts)"

// ByReview reports whether a fact waits, by the reason that its change has, because a setting asks
// for a person: not because it is doubted.
func ByReview(reason string) bool { return strings.Contains(reason, "(review.") }

func (p *planner) ignore(c extract.Candidate, target, reason string) {
	p.outcomes = append(p.outcomes, Outcome{Fact: c.Text, Action: "ignore", Target: target, Reason: reason})
}
