package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Parts are the components of an engine. All are required except LLM and Reranker.
type Parts struct {
	Store    memory.Store
	Searcher memory.Searcher
	Embedder memory.Embedder
	LLM      memory.LLM      // nil: only rules learn
	Reranker memory.Reranker // reranks the best candidates; nil: no reranking
	Prompts  *prompt.Set
	Metrics  *obs.Metrics
	Log      *slog.Logger
	Now      func() time.Time
	Wake     func() // notifies the job runner of new jobs
}

// Options are an engine's settings. Package loci sets all fields; zero is not a default.
type Options struct {
	TopK          int           // number of memories; below 0: the default of [Options.Most]
	Budget        int           // of a block, in tokens
	Threshold     float64       // below 0: the calibrated value
	OwnEmbedder   bool          // the embedder is the profile's own, so duplicates are found by plain cosine
	RecencyWeight float64       // 0 to 1
	Deadline      time.Duration // time limit of recall in a chat, by words or with remote models
	DeadlineMax   time.Duration // the extended time limit with slow local models
	Recall        Rules
	Words         *Scale // replaces Threshold and Recall.Measure while the embedder uses only words; nil: no replacement
	LearnAfter    Trigger
	LearnModel    string // "": the model of the user's last chat
	ClientKeys    bool   // the learning model gets the API key of the user's last chat
	Rules         bool   // learn by rules if there is no model or it keeps failing
	Assistant     bool   // learn from the assistant's turns too
	MaxText       int    // bytes of one memory or message
	History       History
	Intents       string // how a query's intent is found; "": by keywords
	LogContent    bool   // log texts of memories and models, not only ids
	Accept        Acceptance
	Channels      Channels // what an Open WebUI channel may do; "": ChannelsOff
	Learn         Learning
}

// Scale is a measure of relevance and its threshold.
type Scale struct {
	Measure   recall.Measure
	Threshold float64 // below 0: the calibrated value
}

// Most returns the default number of memories for a chat or for an explicit search.
func (o Options) Most(chat bool) int {
	switch {
	case o.TopK >= 0:
		return o.TopK
	case chat:
		return recall.DefaultTopK
	}
	return recall.DefaultAsked
}

// Learning determines what Loci learns from, and how.
type Learning struct {
	Every     int           // number of user messages that are learned from together; 0 counts as 1
	Exchanges int           // number of the first exchange in a conversation that is learned from; 0 counts as 1
	Scope     FactScope     // of learned facts; "": OfUser
	Idle      time.Duration // how long a conversation must be idle before the remaining messages are learned from
	Context   int           // number of earlier messages that the model also reads

	Trust    string // whether a model's facts become active without review: tried, always, never
	Personal bool   // blank personal identifiers before learning and storing
	Spending Spending
	Review   Review
	Summary  Summaries
	Upkeep   Upkeep
}

// MaxMessages bounds how many new messages of a chat request are stored, and how many turns of a
// stored conversation a request is compared with.
const MaxMessages = 2000

// History determines how messages are treated that a client sends along and Loci did not observe.
type History string

// The values of History.
const (
	AlignHistory  History = "align"  // stored, so that the chat is recognized later; "" means the same
	RecallHistory History = "recall" // also recalled
	LearnHistory  History = "learn"  // also learned from, if the user wrote them
)

// Mark marks a turn of history. heard reports whether it follows observed turns; it then belongs to
// the user's chat and may be recalled.
func (h History) Mark(t *memory.Turn, heard bool) {
	t.NoLearn = t.NoLearn || h != LearnHistory || t.Role != memory.RoleUser
	t.History = !heard && h != RecallHistory && h != LearnHistory
}

// Review determines which learned facts a person must review.
type Review struct {
	Confidence float64  // review facts below this confidence, 0 to 1
	Categories []string // review facts of these categories
	Conflicts  bool     // review facts that would replace another one
}

// Trigger determines when learning starts.
type Trigger string

// The values of Trigger.
const (
	AfterExchange Trigger = "exchange"
	AfterUser     Trigger = "user"
	Never         Trigger = "never"
)

// Time returns the current time in the precision that Loci stores.
func (e *Core) Time() time.Time { return memory.Time(e.Now()) }

// NewID returns a UUIDv7, so that ids are sorted by their creation.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// IDFor returns the id derived from an owner and a key, so that a repeated request writes only
// once. Without a key it returns a new id.
func IDFor(owner memory.Owner, key string) string {
	if key == "" {
		return NewID()
	}
	sum := sha256.Sum256([]byte(string(owner) + "\x00" + key))
	return "key-" + hex.EncodeToString(sum[:16])
}

// DerivedID returns the id derived from an owner and parts. Equal arguments give equal ids.
func DerivedID(owner memory.Owner, parts ...string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(string(owner)+"\x00"+strings.Join(parts, "\x00"))).String()
}

// Clip is [text.Clip].
func Clip(s string, n int) string { return text.Clip(s, n) }

// FactScope is the scope of a learned fact and thus determines who sees it.
type FactScope string

// The values of FactScope.
const (
	OfUser         FactScope = "user"         // the user; for facts about the chat's project, that project
	OfProject      FactScope = "project"      // the chat's project; the user if there is none
	OfConversation FactScope = "conversation" // the conversation from which the fact was learned (design 4)
)

// Channels determines how a channel may use the memory of the user who writes in it.
type Channels string

// The values of Channels. Neither stores other people's messages.
const (
	ChannelsOff  Channels = "off"  // no memory
	ChannelsRead Channels = "read" // read memory, for answers that the whole channel reads
)

// Spending is the price of the learning model, and how many tokens a user may spend per day (UTC).
// Reaching the limit stops learning, but never a chat.
type Spending struct {
	InputPrice, OutputPrice float64 // per million tokens, in any currency
	DayTokens               int64   // 0: unlimited
}

// Cost returns the cost of a reply, in the currency of the prices.
func (s Spending) Cost(input, output int64) float64 {
	return (float64(input)*s.InputPrice + float64(output)*s.OutputPrice) / 1e6
}

// Counts reports whether learning waits for several messages or exchanges.
func (l Learning) Counts() bool { return l.Every > 1 || l.Exchanges > 1 }

// Summaries determines how often conversations are summarized.
type Summaries struct {
	Every int  // number of exchanges; 0: never
	Keep  bool // keep earlier summaries; a new one then covers only the last turns (design 2)
}

// A summary covers the last turns after an earlier summary. Without one it covers more turns, so
// that a summary that was forgotten can be rewritten from the rest.
const (
	SummaryTurns = 12
	SummaryFirst = 60
	summaryLeast = 4 // minimum number of turns of a summary, unless summaries are due sooner
)

// Least returns the minimum number of turns of a summary.
func (s Summaries) Least() int { return min(summaryLeast, 2*s.Every-1) }

// RuleBased is the model name of summaries that the rules wrote.
const RuleBased = "rule_based"

// Due reports whether a summary is due when the exchanges grow from before to after.
func (s Summaries) Due(before, after int) bool {
	return s.Every == 1 || s.Every > 0 && after/s.Every > before/s.Every
}

// SummaryJob returns the job that summarizes a conversation. after identifies its cause.
func SummaryJob(owner memory.Owner, conversation, after string) memory.Job {
	return memory.Job{ID: "summarize-" + conversation + "-" + after, Owner: owner, Kind: memory.JobSummarize, Conversation: conversation}
}

// Summaries returns a conversation's active summaries, newest first.
func (e *Core) Summaries(ctx context.Context, owner memory.Owner, conversation string) ([]memory.Summary, error) {
	var out []memory.Summary
	err := e.Everything(ctx, owner, memory.Query{Kinds: []memory.Kind{memory.KindSummary}, Conversation: conversation}, func(m memory.Memory) {
		out = append(out, *m.Summary)
	})
	return out, err
}
