package extract

import (
	"cmp"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Utterance is a turn with the text that may be learned from.
type Utterance struct {
	Turn memory.Turn
	// Text is the turn's content, in which text that must not be learned is blank. Byte offsets in
	// both are the same.
	Text string
	// Whole is the content with secrets and injected memories blanked, but with the code and quotes
	// that the user's message carries. It is "" unless a model is shown it.
	Whole string
	// Before is the message that the speaker answers, "" for none: "Where do you live?" explains
	// "In Lisbon." Nothing is learned from it.
	Before string
	// Earlier are the last eight messages at most, oldest first, and Background is stored memory: a
	// fact may take names from both.
	Earlier, Background []string
	// Facts are the facts learned from the user's turn just before.
	Facts []memory.Fact
	// Unsure says that the words may come from a quoted text ([utterance.Message]).
	Unsure bool
	// Playing says that the earlier turns left a role play going ([Playing]).
	Playing bool
}

// Shown returns the text of the turn that a model sees.
func (s Utterance) Shown() string { return cmp.Or(s.Whole, s.Text) }

// Candidate is a statement that a model or a rule proposes to remember.
type Candidate struct {
	Text              string
	Subject           string
	Attribute         string
	Category          string
	Tags              []string
	Confidence        float64
	Turn              string // its turn: a model's name for it until Filter finds the id
	Quote             string // the words that support it, according to a model
	RememberRequested bool   // the user asked to remember it
	ReviewReason      string // why a person must review it first; "" if nobody must
	Everywhere        bool   // it belongs to no project, whatever the turn's scope
	Unsure            bool   // its turn may only pass the words on, so that it replaces nothing by itself
	Doubt             string // why its turn does not prove it; "" if it does
	Model             string // the model and its prompt's hash, or the rule, that made it

	// Op is a model's operation on the facts in Targets; "" without one. Targets are a prompt's
	// names of facts until learn.Settle resolves them.
	Op        Verdict
	Targets   []string
	Transient bool // it matters for some days only

	// Filter fills these from the turn. Rules fill Span and ValidFrom themselves.
	Span         *memory.Span
	Conversation string
	Trust        memory.Trust
	ObservedAt   time.Time
	ObservedSeq  int64
	ValidFrom    time.Time

	// Near holds the most similar facts and those with the same subject and attribute, best first.
	// The caller fills it after a search.
	Near []Neighbour
}

// Scope returns the candidate's scope if its turn is in scope.
func (c *Candidate) Scope(scope memory.Scope) memory.Scope {
	if c.Everywhere {
		scope.Project = ""
	}
	return scope
}

// Neighbour is a stored fact near a candidate.
type Neighbour struct {
	Fact       memory.Fact
	Link       *memory.Link // set if the fact is another owner's
	Similarity float64      // 0 to 1
}

func (n Neighbour) SharedByUser() bool {
	return n.Link != nil && n.Fact.Scope.Owner.Kind() == memory.UserKind
}

// Newer reports whether the candidate was observed strictly after the fact.
func (c *Candidate) Newer(f *memory.Fact) bool {
	observed := memory.Fact{ObservedAt: c.ObservedAt, ObservedSeq: c.ObservedSeq}
	return observed.Newer(f)
}

// Sequence orders statements of one conversation: by turn, then by offset.
func Sequence(index, offset int) int64 { return int64(index)<<32 | int64(offset) }

// Verdict is the effect of a decision.
type Verdict string

// MinLength is the least number of letters of a fact.
const MinLength = 10
