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

// Parts are the parts of an engine. All but LLM and Reranker are required.
type Parts struct {
	Store    memory.Store
	Searcher memory.Searcher
	Embedder memory.Embedder
	LLM      memory.LLM      // nil: rules learn
	Reranker memory.Reranker // reranks the best candidates; nil: none
	Prompts  *prompt.Set
	Metrics  *obs.Metrics
	Log      *slog.Logger
	Now      func() time.Time
	Wake     func() // tells the job runner about new jobs
}

// Options are an engine's settings. The zero value of each field is not a
// default: package loci fills them from its Config.
type Options struct {
	TopK          int           // below 0: [Options.Most] decides
	Budget        int           // tokens
	Threshold     float64       // below 0: the fitted value
	OwnEmbedder   bool          // the embedder is the profile's own: plain cosine finds duplicates
	RecencyWeight float64       // 0 to 1
	Deadline      time.Duration // of recall in a chat, by words or with remote models
	DeadlineMax   time.Duration // of recall in a chat with local models, if these need it
	Recall        Rules
	Words         *Scale // replaces Threshold and Recall.Measure while only words embed; nil: no replacement
	LearnAfter    Trigger
	LearnModel    string // "": the model of the user's last chat
	ClientKeys    bool   // the learning model gets the key of the user's last chat
	Rules         bool   // learn by rule when there is no model or it keeps failing
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
	Threshold float64 // below 0: the fitted value
}

// Most returns the default number of memories: for a chat, or for an explicit search, whose caller
// can read more.
func (o Options) Most(chat bool) int {
	switch {
	case o.TopK >= 0:
		return o.TopK
	case chat:
		return recall.DefaultTopK
	}
	return recall.DefaultAsked
}

// Learning is what Loci learns from and how.
type Learning struct {
	Every     int           // user messages learned from together; 0 counts as 1
	Exchanges int           // the first exchange of a conversation that is learned from; 0 counts as 1
	Scope     FactScope     // of learned facts; "": OfUser
	Idle      time.Duration // how long a conversation rests before the remaining messages are learned from
	Context   int           // earlier messages that the model reads too

	Trust    string // whether facts of a model become active without review: tried, always, never
	Personal bool   // blank personal identifiers before learning and storing
	Spending Spending
	Review   Review
	Summary  Summaries
	Upkeep   Upkeep
}

// MaxMessages bounds the new messages kept of a chat request, and the turns of a stored
// conversation that a request is compared with.
const MaxMessages = 2000

// History is the treatment of messages that a client sends along and that Loci did not observe.
type History string

// The treatments of history.
const (
	AlignHistory  History = "align"  // stored, so that the chat is recognized again; also ""
	RecallHistory History = "recall" // and recalled
	LearnHistory  History = "learn"  // and the user's messages are learned from
)

// Mark marks a turn of history. heard reports whether it follows observed turns: it is then the
// user's chat, and may be recalled.
func (h History) Mark(t *memory.Turn, heard bool) {
	t.NoLearn = t.NoLearn || h != LearnHistory || t.Role != memory.RoleUser
	t.History = !heard && h != RecallHistory && h != LearnHistory
}

// Review selects the learned facts that a person must review.
type Review struct {
	Confidence float64  // facts below this confidence, 0 to 1
	Categories []string // facts of these categories
	Conflicts  bool     // facts that would replace another
}

// Trigger is when learning starts.
type Trigger string

// The triggers.
const (
	AfterExchange Trigger = "exchange"
	AfterUser     Trigger = "user"
	Never         Trigger = "never"
)

// Time returns the current time in Loci's precision.
func (e *Core) Time() time.Time { return memory.Time(e.Now()) }

// NewID returns a UUIDv7, so that ids sort by when they were made.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// IDFor returns the owner's id for a key, always the same, so that a repeated request writes once.
// Without a key it returns a new one.
func IDFor(owner memory.Owner, key string) string {
	if key == "" {
		return NewID()
	}
	sum := sha256.Sum256([]byte(string(owner) + "\x00" + key))
	return "key-" + hex.EncodeToString(sum[:16])
}

// DerivedID returns the id derived from parts, always the same.
func DerivedID(owner memory.Owner, parts ...string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(string(owner)+"\x00"+strings.Join(parts, "\x00"))).String()
}

// Clip is [text.Clip].
func Clip(s string, n int) string { return text.Clip(s, n) }

// FactScope is the scope of a learned fact, and so who sees it.
type FactScope string

// The scopes of learned facts.
const (
	OfUser         FactScope = "user"         // the user, or the chat's project for facts about it
	OfProject      FactScope = "project"      // the chat's project, or the user without one
	OfConversation FactScope = "conversation" // the conversation that the fact was learned from (design 4)
)

// Channels is what a channel may do with the memory of the user who writes in it.
type Channels string

// The choices. Neither writes: in a channel other people's messages surround the user's own.
const (
	ChannelsOff  Channels = "off"  // nothing
	ChannelsRead Channels = "read" // read it, into answers that the whole channel reads
)

// Spending is the price of the learning model, and how much of it a user may use in a day (UTC). It
// stops learning, never a chat.
type Spending struct {
	InputPrice, OutputPrice float64 // of a million tokens, in any currency
	DayTokens               int64   // 0: unlimited
}

// Cost returns the cost of a reply, in the currency of the prices.
func (s Spending) Cost(input, output int64) float64 {
	return (float64(input)*s.InputPrice + float64(output)*s.OutputPrice) / 1e6
}

// Counts reports whether learning waits for a number of messages or exchanges.
func (l Learning) Counts() bool { return l.Every > 1 || l.Exchanges > 1 }

// Summaries is how often conversations are summarized.
type Summaries struct {
	Every int  // exchanges; 0: never
	Keep  bool // earlier summaries stay, and a new one covers only the last turns (design 2)
}

// The turns that a summary covers: the last ones after an earlier summary, more without one, so
// that a summary forgotten with its content is rewritten from the rest.
const (
	SummaryTurns = 12
	SummaryFirst = 60
	summaryLeast = 4 // turns below which there is nothing to summarize, unless summaries are due sooner
)

// Least returns the fewest turns of a summary, at most those of the first one due.
func (s Summaries) Least() int { return min(summaryLeast, 2*s.Every-1) }

// RuleBased is the model name of summaries written by rule.
const RuleBased = "rule_based"

// Due reports whether a conversation is to be summarized when its exchanges grow from before to
// after.
func (s Summaries) Due(before, after int) bool {
	return s.Every == 1 || s.Every > 0 && after/s.Every > before/s.Every
}

// SummaryJob returns the job that summarizes a conversation; after identifies its cause.
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
