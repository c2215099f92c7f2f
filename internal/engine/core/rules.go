package core

import (
	"time"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// Rules configure recall apart from search. The zero Rules search everything of the user, and do
// nothing else. None of them applies to a question about the past or to a wish to forget.
type Rules struct {
	SmallSet   int           // up to so many facts, all are used and no search is made
	Reach      Reach         // of a chat; "": ReachUser
	Bootstrap  int           // with fewer facts of a user the global pool is searched too
	Fallback   Fallback      // "": FallbackNone
	Expand     bool          // embed short first-person questions with words about people
	Messages   int           // how many of the last user messages form a chat's question; 0: one
	Heading    string        // of a chat's block
	Hint       string        // the block's note about itself
	Roles      bool          // lines name the speaker's role
	Statements bool          // of turns, only statements of users: neither answers nor orders
	NoTurns    bool          // questions without kinds find facts and summaries alone
	Core       int           // tokens of facts at the beginning of a conversation's first block; 0: pinned facts alone
	Questions  bool          // recall users' questions, and answers that add nothing, like other turns
	Contexts   int           // most tokens of attached documents in a prompt; 0: recall.DefaultContextBudget
	Summary    bool          // a chat always gets its conversation's summary
	SinceSaid  bool          // age counts from the statement, not from the last change
	Decay      time.Duration // relevance falls to 1/e in this time; 0: it is blended with recency
	Lambda     float64       // weight of the score against redundancy; 0: 0.7

	Measure recall.Measure // the scale of scores and thresholds
	EmbedAs memory.EmbedAs // how questions are embedded; "": as questions

	CoreWithout []string // fact categories that the core omits
	Pools       []string // shared pools that every user's questions search too
	Each        int      // candidates of each search per memory shown; 0: 160 in all

	Read bool // a model reads the chat, so memory need not repeat it
}

// Reach is where a chat's question is searched.
type Reach string

// Fallback is when recent facts replace search results.
type Fallback string

// Ranking copies the rules of ranking.
func (r *Rules) Ranking(o *recall.Options) {
	o.AgeFromStatement, o.Decay = r.SinceSaid, r.Decay
	if r.Lambda > 0 {
		o.Lambda = &r.Lambda
	}
}

// Limit returns how many candidates a search proposes; usual is the number without the rule.
func (r *Rules) Limit(usual, topK int) int {
	if r.Each == 0 {
		return usual
	}
	return min(usual, r.Each*max(1, topK))
}
