package core

import (
	"time"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// Rules configure recall apart from search. The zero Rules search all memory of the user and do
// nothing else. No rule applies to questions about the past or to forget requests.
type Rules struct {
	SmallSet   int           // with at most this many facts, all are used without a search
	Reach      Reach         // where a chat's question is searched; "": ReachUser
	Bootstrap  int           // the global pool is also searched for a user with fewer facts than this
	Fallback   Fallback      // "": FallbackNone
	Expand     bool          // embed short first-person questions with words about people
	Messages   int           // number of last user messages that form a chat's question; 0: one
	Heading    string        // heading of a chat's block
	Hint       string        // note in the block that explains it
	Roles      bool          // lines name the role of the speaker
	Statements bool          // among turns, use only users' statements, not questions, answers or orders
	NoTurns    bool          // questions without kinds find only facts and summaries
	Core       int           // tokens of facts at the beginning of a conversation's first block; 0: only pinned facts
	Questions  bool          // also recall users' questions, and answers without new information
	Contexts   int           // most tokens of attached documents in a prompt; 0: recall.DefaultContextBudget
	Summary    bool          // a chat always gets the summary of its conversation
	SinceSaid  bool          // age is counted from the statement, not from the last change
	Decay      time.Duration // relevance falls to 1/e in this time; 0: relevance is blended with recency
	Lambda     float64       // weight of the score against redundancy; 0: 0.7

	Measure recall.Measure // the measure of scores and thresholds
	EmbedAs memory.EmbedAs // how questions are embedded; "": as questions

	CoreWithout []string // categories of facts that the core omits
	Pools       []string // shared pools that are searched for every user too
	Each        int      // candidates per search and memory shown; 0: 160 in total

	Read bool // a model reads the chat, so memory need not repeat the chat's text
}

// Reach determines where a chat's question is searched.
type Reach string

// Fallback determines when recent facts replace search results.
type Fallback string

// Ranking copies the rules that affect ranking.
func (r *Rules) Ranking(o *recall.Options) {
	o.AgeFromStatement, o.Decay = r.SinceSaid, r.Decay
	if r.Lambda > 0 {
		o.Lambda = &r.Lambda
	}
}

// Limit returns how many candidates a search returns. usual is the number without the rule.
func (r *Rules) Limit(usual, topK int) int {
	if r.Each == 0 {
		return usual
	}
	return min(usual, r.Each*max(1, topK))
}
