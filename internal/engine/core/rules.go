package core

import (
	"time"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// Rules are what recall does beside searching. The zero Rules
// search everything that the user has, and do nothing else. None of them holds for
// a question to the past or for what is to be forgotten.
type Rules struct {
	SmallSet  int           // no more facts than this: all of them, and no search
	Reach     Reach         // of a chat; "": ReachUser
	Bootstrap int           // fewer facts of a user than this: the global pool joins in
	Fallback  Fallback      // "": FallbackNone
	Expand    bool          // short first-person questions are embedded with words about people
	Messages  int           // how many of the last user messages are a chat's question; 0: one
	Heading   string        // over the block of a chat
	Hint      string        // what the block says of itself besides
	Roles     bool          // its lines name the role of who said it
	Told      bool          // of turns, only what users tell: neither answers nor orders
	NoTurns   bool          // questions that name no kinds find facts and summaries alone
	Core      int           // tokens of facts that hold, with which the first block of a conversation begins; 0: of pinned facts alone
	Questions bool          // what users asked, and answers that say nothing new, are recalled like other turns
	Contexts  int           // most tokens of attached documents in a prompt; 0: recall.DefaultContextBudget
	Summary   bool          // a chat is always told its conversation's summary, found or not
	SinceSaid bool          // age counts from when something was said, not from its last change
	Decay     time.Duration // in which relevance falls to 1/e with age; 0: it is blended with recency
	Lambda    float64       // weight of the score against redundancy; 0: 0.7

	Measure recall.Measure // what scores and thresholds are on
	EmbedAs memory.EmbedAs // what questions are embedded as; "": questions

	CoreWithout []string // categories of facts that the core leaves out
	Pools       []string // shared pools that every user's questions reach too, by name
	Each        int      // candidates of each search for each memory that may be shown; 0: 160 in all

	Read bool // a model reads the chat: what it was told there, memory need not tell it
}

// Reach is what a question in a chat is searched in.
type Reach string

// Fallback is when recent facts stand in for what search finds.
type Fallback string

// Ranking sets what the rules say of ranking.
func (r *Rules) Ranking(o *recall.Options) {
	o.SinceSaid, o.Decay = r.SinceSaid, r.Decay
	if r.Lambda > 0 {
		o.Lambda = &r.Lambda
	}
}

// Limit is how many candidates one search proposes; usual is how many without the rule.
func (r *Rules) Limit(usual, topK int) int {
	if r.Each == 0 {
		return usual
	}
	return min(usual, r.Each*max(1, topK))
}
