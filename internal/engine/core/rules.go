package core

import (
	"time"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// RecallRules configure recall apart from search. The zero value searches all memory of the user and
// does nothing else. No rule applies to questions about the past or to forget requests.
type Rules struct {
	SmallSet   int           // maximum number of facts for which all are used without a search
	Reach      Reach         // memory that a chat's question searches; empty: ReachUser
	Bootstrap  int           // the global pool is also searched for a user with fewer facts than this
	Fallback   Fallback      // "": FallbackNone
	Expand     bool          // embed short first-person questions with additional words about people
	Messages   int           // number of last user messages that form a chat's question; 0: one
	Heading    string        // heading of a chat's block
	Hint       string        // explanation at the beginning of a block
	Roles      bool          // lines name the role of the speaker
	Statements bool          // recall only users' statements among turns, not questions, answers or orders
	NoTurns    bool          // questions that name no kinds find only facts and summaries
	Core       int           // tokens of the core in a conversation's first block; 0: only pinned facts
	Questions  bool          // also recall users' questions, and answers without new information
	Contexts   int           // maximum tokens of attached documents in a prompt; 0: recall.DefaultContextBudget
	Summary    bool          // a chat always gets the summary of its conversation
	SinceSaid  bool          // age is counted from the statement, not from the last change
	Decay      time.Duration // time in which relevance falls to 1/e; 0: relevance is blended with recency
	Lambda     float64       // weight of the score against redundancy; 0: 0.7

	Measure recall.Measure // measure of scores and thresholds
	EmbedAs memory.EmbedAs // role in which questions are embedded; empty: questions

	CoreWithout []string // categories of facts that are not in the core
	Pools       []string // shared pools that are also searched for every user
	Each        int      // candidates per search and recalled memory; 0: 160 in total

	Read bool // a model reads the chat, so memory need not repeat the chat's text
}

// Reach is the memory that a chat's question searches.
type Reach string

// Fallback determines when recent facts replace search results.
type Fallback string

// ApplyTo copies the rules that affect ranking to o.
func (r *Rules) Ranking(o *recall.Options) {
	o.AgeFromStatement, o.Decay = r.SinceSaid, r.Decay
	if r.Lambda > 0 {
		o.Lambda = &r.Lambda
	}
}

// CandidateLimit returns the number of candidates of a search. standard is the number without rules.
func (r *Rules) Limit(usual, topK int) int {
	if r.Each == 0 {
		return usual
	}
	return min(usual, r.Each*max(1, topK))
}
