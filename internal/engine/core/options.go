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
	Store         memory.Store
	Searcher      memory.Searcher
	Embedder      memory.Embedder
	LLM           memory.LLM      // nil: learning uses only rules
	Reranker      memory.Reranker // reranks the best candidates; nil: no reranking
	Prompts       *prompt.Set
	Metrics       *obs.Metrics
	Log           *slog.Logger
	Now           func() time.Time
	WakeJobRunner func() // notifies the job runner of new jobs
}

// Options are an engine's settings. Package loci sets all fields; zero values are not defaults.
type Options struct {
	TopK                 int           // number of recalled memories; negative: the default of [Options.DefaultTopK]
	BlockTokens          int           // maximum size of a block, in tokens
	ScoreThreshold       float64       // minimum score; negative: the calibrated value
	EmbedderSetByProfile bool          // the settings profile names the embedder; duplicates are then found by plain cosine
	RecencyWeight        float64       // weight of a memory's recency in its score, 0 to 1
	Deadline             time.Duration // time limit of recall in a chat; with slow local models it is extended up to SlowModelDeadline
	SlowModelDeadline    time.Duration // maximum time limit of recall in a chat with slow local models
	Recall               RecallRules
	LexicalScale         *RelevanceScale // replaces ScoreThreshold and Recall.Measure for a lexical embedder; nil: no replacement
	LearnAfter           LearnTrigger    // message after which learning starts
	LearnModel           string          // empty: the model of the user's last chat
	UseClientKeys        bool            // the learning model is called with the API key of the user's last chat
	LearnByRules         bool            // learn by rules if no model is configured or if it keeps failing
	LearnFromAssistant   bool            // also learn from the assistant's turns
	MaxTextBytes         int             // bytes of one memory or message
	History              HistoryPolicy
	IntentMethod         string // method that finds a query's intent; empty: keywords
	LogContent           bool   // log the texts of memories and models, not only ids
	Acceptance           Acceptance
	Channels             ChannelAccess // access of an Open WebUI channel; empty: ChannelsOff
	Learn                LearningOptions
}

// RelevanceScale is a measure of relevance and its threshold.
type RelevanceScale struct {
	Measure   recall.RelevanceMeasure
	Threshold float64 // negative: the calibrated value
}

// DefaultTopK returns the number of memories for a chat or for an explicit search.
func (o Options) DefaultTopK(forChat bool) int {
	switch {
	case o.TopK >= 0:
		return o.TopK
	case forChat:
		return recall.DefaultTopK
	}
	return recall.DefaultSearchTopK
}

// LearningOptions configure from which messages Loci learns, and how.
type LearningOptions struct {
	MessagesPerLesson int           // number of user messages per lesson; 0 counts as 1
	FirstExchange     int           // number of the first exchange in a conversation to learn from; 0 counts as 1
	Scope             FactScope     // scope of learned facts; empty: OfUser
	IdleTime          time.Duration // idle time after which a conversation's remaining messages are learned from
	ContextMessages   int           // number of earlier messages that the learning model also reads

	Trust          string // when a model's facts become active without review: tried, always or never
	RedactPersonal bool   // redact personal identifiers before learning and storing
	Spending       LearningBudget
	Review         ReviewRules
	Summary        SummaryOptions
	Upkeep         UpkeepOptions
}

// MaxMessages bounds the new messages that a chat request stores, and the stored turns with which a chat
// request is compared.
const MaxMessages = 2000

// HistoryPolicy determines how Loci uses history: earlier messages of a chat, which were sent without Loci.
type HistoryPolicy string

// The values of HistoryPolicy.
const (
	AlignHistory  HistoryPolicy = "align"  // history is stored, so that the chat is recognized later; "" means the same
	RecallHistory HistoryPolicy = "recall" // history is stored and recalled
	LearnHistory  HistoryPolicy = "learn"  // history is stored and recalled, and its user messages are learned from
)

// SetFlags sets the flags of a turn of history. afterObserved means that the turn follows turns that went
// through Loci: the turn is then part of the user's chat and may be recalled.
func (h HistoryPolicy) SetFlags(t *memory.Turn, afterObserved bool) {
	t.NoLearn = t.NoLearn || h != LearnHistory || t.Role != memory.RoleUser
	t.History = !afterObserved && h != RecallHistory && h != LearnHistory
}

// ReviewRules determine which learned facts a person must review.
type ReviewRules struct {
	MinConfidence float64  // review facts below this confidence, 0 to 1
	Categories    []string // review facts of these categories
	Conflicts     bool     // review facts that would replace another fact
}

// LearnTrigger determines after which message learning starts.
type LearnTrigger string

// The values of LearnTrigger.
const (
	AfterExchange LearnTrigger = "exchange"
	AfterUser     LearnTrigger = "user"
	NeverLearn    LearnTrigger = "never"
)

// Time returns the current time in the precision that Loci stores.
func (e *Core) Time() time.Time { return memory.Time(e.Now()) }

// NewID returns a UUIDv7, so that ids are sorted by their creation.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// IDForKey returns an id derived from an owner and an idempotency key, so that a repeated request writes
// only once. Without a key it returns a new id.
func IDForKey(owner memory.Owner, key string) string {
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

// Clip calls [text.Clip].
func Clip(s string, n int) string { return text.Clip(s, n) }

// FactScope is the scope of learned facts.
type FactScope string

// The values of FactScope.
const (
	OfUser         FactScope = "user"         // the user; for facts about the chat's project, that project
	OfProject      FactScope = "project"      // the chat's project; the user if the chat has no project
	OfConversation FactScope = "conversation" // the conversation from which the fact was learned
)

// ChannelAccess determines whether a chat in a channel may use the memory of its user.
type ChannelAccess string

// The values of ChannelAccess. Other people's messages are never stored.
const (
	ChannelsOff  ChannelAccess = "off"  // no memory
	ChannelsRead ChannelAccess = "read" // read memory; the whole channel reads the answers
)

// LearningBudget is the price of the learning model and a user's daily limit of tokens (UTC days). At the
// limit, learning stops; chats continue.
type LearningBudget struct {
	InputPrice, OutputPrice float64 // per million tokens, in any currency
	DailyTokenLimit         int64   // 0: unlimited
}

// Cost returns the cost of a reply, in the currency of the prices.
func (s LearningBudget) Cost(inputTokens, outputTokens int64) float64 {
	return (float64(inputTokens)*s.InputPrice + float64(outputTokens)*s.OutputPrice) / 1e6
}

// WaitsForSeveral reports whether learning waits for several messages or exchanges.
func (l LearningOptions) WaitsForSeveral() bool {
	return l.MessagesPerLesson > 1 || l.FirstExchange > 1
}

// SummaryOptions determine how often conversations are summarized.
type SummaryOptions struct {
	EveryExchanges int  // number of exchanges between summaries; 0: no summaries
	RetainEarlier  bool // retain earlier summaries; a new summary then covers only the last turns
}

// Numbers of turns that a summary covers: if there is an earlier summary, and if there is none. The second
// number is larger, so that a forgotten summary can be rewritten.
const (
	SummaryTurns      = 12
	FirstSummaryTurns = 60
	minSummaryTurns   = 4 // minimum number of turns of a summary, unless summaries are due sooner
)

// MinTurns returns the minimum number of turns of a summary.
func (s SummaryOptions) MinTurns() int { return min(minSummaryTurns, 2*s.EveryExchanges-1) }

// RuleBased is the model name of summaries that rules wrote.
const RuleBased = "rule_based"

// IsDue reports whether a summary is due after the number of exchanges grew.
func (s SummaryOptions) IsDue(oldExchanges, newExchanges int) bool {
	return s.EveryExchanges == 1 || s.EveryExchanges > 0 && newExchanges/s.EveryExchanges > oldExchanges/s.EveryExchanges
}

// SummaryJob returns the job that summarizes a conversation. causeID makes the job's id unique.
func SummaryJob(owner memory.Owner, conversation, causeID string) memory.Job {
	return memory.Job{ID: "summarize-" + conversation + "-" + causeID, Owner: owner, Kind: memory.JobSummarize, Conversation: conversation}
}

// Summaries returns a conversation's active summaries, newest first.
func (e *Core) Summaries(ctx context.Context, owner memory.Owner, conversation string) ([]memory.Summary, error) {
	var out []memory.Summary
	err := e.EachMemory(ctx, owner, memory.Query{Kinds: []memory.Kind{memory.KindSummary}, Conversation: conversation}, func(m memory.Memory) {
		out = append(out, *m.Summary)
	})
	return out, err
}
