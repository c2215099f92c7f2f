package core

import (
	"time"

	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// RecallRules configure which memory recall searches and what it adds. The zero value searches all memory of
// the user and adds nothing. No rule applies to questions about the past or to forget requests.
type RecallRules struct {
	SmallSetSize        int           // maximum number of facts that are all used without a search
	Reach               Reach         // memory that a chat's question searches; empty: ReachUser
	BootstrapBelowFacts int           // the global pool is also searched for a user with fewer facts than this
	Fallback            Fallback      // "": FallbackNone
	ExpandQuestions     bool          // embed short first-person questions with additional words about people
	QuestionMessages    int           // number of last user messages that form a chat's question; 0: one
	BlockHeading        string        // heading of a chat's block
	BlockHint           string        // explanation at the beginning of a block
	ShowRoles           bool          // lines name the role of the speaker
	OnlyStatements      bool          // recall only users' statements among turns, not questions, answers or orders
	NoTurns             bool          // questions that name no kind of memory find only facts and summaries, not turns
	CoreTokens          int           // tokens of the core in a conversation's first block; 0: only pinned facts
	RecallQuestions     bool          // also recall users' questions, and answers without new information
	ContextTokens       int           // maximum tokens of attached documents in a prompt; 0: recall.DefaultContextBudget
	AddSummary          bool          // a chat always gets the summary of its conversation
	AgeFromStatement    bool          // age is counted from the statement, not from the last change
	DecayTime           time.Duration // time in which relevance falls to 1/e; 0: relevance is blended with recency
	Lambda              float64       // weight of the score against redundancy; 0: 0.7

	Measure recall.RelevanceMeasure // measure of relevance, in which scores and thresholds are given
	EmbedAs memory.EmbedAs          // role as which the embedder embeds questions; empty: memory.AsQuestion

	CoreExcludes     []string // categories of facts that are not in the core
	Pools            []string // shared pools that are also searched for every user
	CandidatesPerHit int      // candidates of a search per memory to recall; 0: 160 candidates in all

	ModelReadsChat bool // a model reads the chat, so recall need not return what the chat already contains
}

// Reach is the memory that a chat's question searches.
type Reach string

// Fallback determines when recent facts replace search results.
type Fallback string

// ApplyTo copies the rules that affect ranking to o.
func (r *RecallRules) ApplyTo(o *recall.RankOptions) {
	o.AgeFromStatement, o.DecayTime = r.AgeFromStatement, r.DecayTime
	if r.Lambda > 0 {
		o.Lambda = &r.Lambda
	}
}

// CandidateLimit returns the number of candidates of a search. defaultLimit is the number without rules.
func (r *RecallRules) CandidateLimit(defaultLimit, topK int) int {
	if r.CandidatesPerHit == 0 {
		return defaultLimit
	}
	return min(defaultLimit, r.CandidatesPerHit*max(1, topK))
}
