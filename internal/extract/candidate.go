package extract

import (
	"cmp"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Utterance is a turn, and what of it may be learned from.
type Utterance struct {
	Turn memory.Turn
	// Text is the turn's content with what must not be learned blanked out, byte
	// for byte, so that a place in one is the same place in the other.
	Text string
	// Whole is the content with secrets and what memory gave blanked out, but with what else the
	// user's message carries, such as code and quotes. "" where nobody is shown it.
	Whole string
	// Before is what was said to the speaker just before, "" if nothing was: "Where
	// do you live?" tells what "In Lisbon." means. Nothing is learned from it.
	Before string
	// Earlier are the messages before, oldest first, eight at most, and Background is what is
	// known: what a fact may name that this turn does not.
	Earlier, Background []string
	// Known are the facts learned from the user's turn just before.
	Known []memory.Fact
	// Unsure says that the words may be those of a text ([utterance.Message]).
	Unsure bool
	// Playing says that what was said before left a role play going ([Playing]).
	Playing bool
}

// Shown returns what a model is shown of the turn.
func (s Utterance) Shown() string { return cmp.Or(s.Whole, s.Text) }

// Candidate is a statement that a model or a rule proposes to remember.
type Candidate struct {
	Text       string
	Subject    string
	Attribute  string
	Category   string
	Tags       []string
	Confidence float64
	Turn       string // the turn it is from: a model's name for it until Filter finds the id
	Quote      string // the words that support it, as named by a model
	Remember   bool   // the user asked for it to be remembered
	Waits      string // why a person should look first; "" if nobody needs to
	Everywhere bool   // it belongs to no project, whatever scope it was said in
	Unsure     bool   // its turn may hand on the words, so that it replaces nothing by itself
	Doubt      string // why its turn does not prove it; "" if it does
	Model      string // the model and its prompt's hash, or the rule, that made it

	// Op is what a model says that the candidate does to the facts in Targets; "" if it
	// says nothing of that. Targets are a prompt's names of facts until learn.Settle finds them.
	Op      Verdict
	Targets []string
	Passing bool // it matters for some days only

	// Filter fills these from the turn. Rules fill Span and ValidFrom themselves.
	Span         *memory.Span
	Conversation string
	Trust        memory.Trust
	ObservedAt   time.Time
	ObservedSeq  int64
	ValidFrom    time.Time

	// Near holds the known facts that are most alike or share subject and
	// attribute, best first. The caller fills it after a search.
	Near []Neighbour
}

// Scope returns where the candidate belongs that was said within said.
func (c *Candidate) Scope(said memory.Scope) memory.Scope {
	if c.Everywhere {
		said.Project = ""
	}
	return said
}

// Neighbour is a known fact near a candidate.
type Neighbour struct {
	Fact       memory.Fact
	Link       *memory.Link // set if the fact is another owner's
	Similarity float64      // 0 to 1
}

// SharedByUser reports whether the fact is another user's.
func (n Neighbour) SharedByUser() bool {
	return n.Link != nil && n.Fact.Scope.Owner.Kind() == memory.UserKind
}

// Newer reports whether the candidate was said strictly after the fact.
func (c *Candidate) Newer(f *memory.Fact) bool {
	said := memory.Fact{ObservedAt: c.ObservedAt, ObservedSeq: c.ObservedSeq}
	return said.Newer(f)
}

// Sequence orders what was said in one conversation: by turn, then by place.
func Sequence(index, offset int) int64 { return int64(index)<<32 | int64(offset) }

// Verdict is what a decision says.
type Verdict string

// MinLength is the fewest letters a fact has.
const MinLength = 10
