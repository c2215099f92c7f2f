package extract

import (
	"cmp"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Utterance is a turn with the part of its text from which facts may be learned.
type Utterance struct {
	Turn memory.Turn
	// Text is the turn's content, in which spaces replace text that must not be learned. Byte offsets in Text
	// and in the content are the same.
	Text string
	// FullText is the content in which only secrets and injected memories are blanked, but not code and quotes.
	// It is "" unless a model reads the utterance.
	FullText string
	// AnsweredMessage is the message that the speaker answers, or "". It is only context: "Where do you live?" explains
	// the answer "In Lisbon."
	AnsweredMessage string
	// EarlierMessages has up to eight preceding messages, oldest first. A fact may contain names from EarlierMessages
	// and StoredMemories.
	EarlierMessages, StoredMemories []string
	// PreviousFacts are the facts learned from the user's previous turn.
	PreviousFacts []memory.Fact
	// MayBeQuoted is set if the words may be another person's text ([utterance.ParsedMessage]).
	MayBeQuoted bool
	// InRolePlay is set if the turn continues a role play of earlier turns ([InRolePlay]).
	InRolePlay bool
}

// TextForModel returns the part of the turn's text that is shown to a model.
func (s Utterance) TextForModel() string { return cmp.Or(s.FullText, s.Text) }

// Candidate is a statement that a model or a rule proposes to store.
type Candidate struct {
	Text              string
	Subject           string
	Attribute         string
	Category          string
	Tags              []string
	Confidence        float64
	TurnID            string // id of the candidate's turn; before learn.Filter, the short id from the prompt
	Quote             string // the model's quote from the turn, or ""
	RememberRequested bool   // the user explicitly asked to remember the statement
	ReviewReason      string // why a person must review the candidate; "" without review
	InAllProjects     bool   // the fact applies in all projects, even if the turn's scope names a project
	MayBeQuoted       bool   // the turn's [Utterance.MayBeQuoted]; if set, the candidate replaces no fact without review
	DoubtReason       string // why the turn does not prove the candidate; "" if proven
	Model             string // source: the model and its prompt's hash, or "rule:" and the rule's name

	// Op is a model's operation on the facts in TargetIDs, or "". TargetIDs has short ids from the prompt until
	// learn.ValidateOperations replaces them by fact ids.
	Op          FactOperation
	TargetIDs   []string
	IsTransient bool // the fact matters only for some days

	// learn.Filter sets these fields from the turn, except that rules set Span and ValidFrom.
	Span           *memory.Span
	ConversationID string
	Trust          memory.Trust
	ObservedAt     time.Time
	ObservedSeq    int64
	ValidFrom      time.Time

	// Neighbors holds the most similar facts and the facts with the same subject and attribute, best first. The
	// caller fills it after a search.
	Neighbors []Neighbor
}

// Scope returns the scope of the candidate's fact, given the scope of its turn.
func (c *Candidate) Scope(turnScope memory.Scope) memory.Scope {
	if c.InAllProjects {
		turnScope.Project = ""
	}
	return turnScope
}

// Neighbor is a stored fact that is similar to a candidate.
type Neighbor struct {
	Fact       memory.Fact
	Link       *memory.Link // set if the fact belongs to another owner
	Similarity float64      // cosine with the candidate, 0 to 1
}

// SharedByUser reports whether another user, instead of a pool, shared the fact.
func (n Neighbor) SharedByUser() bool {
	return n.Link != nil && n.Fact.Scope.Owner.Kind() == memory.UserKind
}

// IsNewerThan reports whether the candidate was stated strictly later than the fact.
func (c *Candidate) IsNewerThan(f *memory.Fact) bool {
	observed := memory.Fact{ObservedAt: c.ObservedAt, ObservedSeq: c.ObservedSeq}
	return observed.Newer(f)
}

// ObservationOrder returns a number that orders statements of a conversation by turn, then by offset.
func ObservationOrder(index, offset int) int64 { return int64(index)<<32 | int64(offset) }

// FactOperation is how a candidate or decision affects a fact: "add", "update" and so on.
type FactOperation string

// MinFactLength is the minimum number of letters of a fact.
const MinFactLength = 10
