package extract

import (
	"cmp"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Utterance is a turn with the part of its text that facts may be learned from.
type Utterance struct {
	Turn memory.Turn
	// Text is the turn's content with text that must not be learned blanked. Byte offsets in Text and in the
	// content are the same.
	Text string
	// Whole is the content with only secrets and injected memories blanked. It keeps code and quotes in the
	// user's message. It is "" unless a model sees it.
	Whole string
	// Before is the message that the speaker answers, or "": "Where do you live?" explains "In Lisbon." Nothing
	// is learned from it.
	Before string
	// Earlier holds up to eight preceding messages, oldest first, and Background holds stored memories. A fact
	// may take names from both.
	Earlier, Background []string
	// Facts are the facts learned from the user's previous turn.
	Facts []memory.Fact
	// Unsure is set if the words may come from a quoted text ([utterance.Message]).
	Unsure bool
	// Playing is set if a role play that began in earlier turns continues ([Playing]).
	Playing bool
}

// Shown returns the text of the turn that a model sees.
func (s Utterance) Shown() string { return cmp.Or(s.Whole, s.Text) }

// Candidate is a statement that a model or a rule proposes to store.
type Candidate struct {
	Text              string
	Subject           string
	Attribute         string
	Category          string
	Tags              []string
	Confidence        float64
	Turn              string // id of its turn; before Filter, the model's name for the turn
	Quote             string // the words that support it, according to a model
	RememberRequested bool   // the user explicitly asked to remember it
	ReviewReason      string // why a person must review it first; "" if no review is needed
	Everywhere        bool   // it does not belong to a project, even if the turn's scope names one
	Unsure            bool   // the turn may only quote the words, so the candidate replaces nothing on its own
	Doubt             string // why its turn does not prove it; "" if the turn does
	Model             string // the model and its prompt's hash, or the rule, that proposed it

	// Op is a model's operation on the facts in Targets; "" without one. Targets are the prompt's names for
	// facts until learn.Settle replaces them by ids.
	Op        Verdict
	Targets   []string
	Transient bool // it matters for a few days only

	// Filter sets these from the turn. Rules set Span and ValidFrom themselves.
	Span         *memory.Span
	Conversation string
	Trust        memory.Trust
	ObservedAt   time.Time
	ObservedSeq  int64
	ValidFrom    time.Time

	// Near holds the most similar facts and the facts with the same subject and attribute, best first. The
	// caller fills it after a search.
	Near []Neighbour
}

// Scope returns the candidate's scope, given the scope of its turn.
func (c *Candidate) Scope(scope memory.Scope) memory.Scope {
	if c.Everywhere {
		scope.Project = ""
	}
	return scope
}

// Neighbour is a stored fact that is similar to a candidate.
type Neighbour struct {
	Fact       memory.Fact
	Link       *memory.Link // set if the fact belongs to another owner
	Similarity float64      // 0 to 1
}

// SharedByUser reports whether the user shared the fact with others.
func (n Neighbour) SharedByUser() bool {
	return n.Link != nil && n.Fact.Scope.Owner.Kind() == memory.UserKind
}

// Newer reports whether the candidate was stated strictly later than the fact.
func (c *Candidate) Newer(f *memory.Fact) bool {
	observed := memory.Fact{ObservedAt: c.ObservedAt, ObservedSeq: c.ObservedSeq}
	return observed.Newer(f)
}

// Sequence returns a number that orders statements of a conversation by turn, then by offset.
func Sequence(index, offset int) int64 { return int64(index)<<32 | int64(offset) }

// Verdict says how a decision affects a fact.
type Verdict string

// MinLength is the minimum number of letters of a fact.
const MinLength = 10
