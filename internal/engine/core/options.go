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

// Parts are what an engine is made of. All but LLM and Reranker are required.
type Parts struct {
	Store    memory.Store
	Searcher memory.Searcher
	Embedder memory.Embedder
	LLM      memory.LLM      // learns; nil: the rules do
	Reranker memory.Reranker // reads the best candidates again; nil: none does
	Prompts  *prompt.Set
	Metrics  *obs.Metrics
	Log      *slog.Logger
	Now      func() time.Time
	Wake     func() // tells the job runner that work was queued
}

// Options are an engine's settings. The zero value of each field is not a
// default: package loci fills them from its Config.
type Options struct {
	TopK          int           // below 0: the default of [Options.Most]
	Budget        int           // tokens
	Threshold     float64       // below 0: the fitted one
	OwnEmbedder   bool          // it is the one that the profile names: what is the same is so by its plain cosine
	RecencyWeight float64       // 0 to 1
	Deadline      time.Duration // of recall in a chat, by words or with remote models
	DeadlineMax   time.Duration // of recall in a chat with local models, as far as these need it
	Recall        Rules
	Words         *Scale // instead of Threshold and Recall.Measure while words alone embed; nil: the same
	LearnAfter    Trigger
	LearnModel    string // "": the one that the user's last chat asked
	ClientKeys    bool   // the learning model is asked with the key of the user's last chat
	Rules         bool   // learn by rule when there is no model or it keeps failing
	Assistant     bool   // learn from the assistant's turns too
	MaxText       int    // bytes of one memory or message
	History       History
	Intents       string // how the intent of a query is found; "": by keywords
	LogContent    bool   // log texts of memories and of models, not only ids
	Accept        Acceptance
	Channels      Channels // what a channel of Open WebUI may do; "": ChannelsOff
	Learn         Learning
}

// Scale is what the relevance of a memory is, and from where on it counts.
type Scale struct {
	Measure   recall.Measure
	Threshold float64 // below 0: the fitted one
}

// Most returns how many memories a question gets that names no number: of a chat, or of somebody
// who asks on purpose and can read more.
func (o Options) Most(chat bool) int {
	switch {
	case o.TopK >= 0:
		return o.TopK
	case chat:
		return recall.DefaultTopK
	}
	return recall.DefaultAsked
}

// Learning is what is learned from, and what becomes of it.
type Learning struct {
	Every     int           // user messages that are learned from together; 0 counts as 1
	Exchanges int           // the exchange of a conversation after which learning begins; 0 counts as 1
	Scope     FactScope     // of what is learned; "": OfUser
	Idle      time.Duration // how long a conversation rests before what a count left over is learned from
	Context   int           // messages that the model reads before those that are learned from; 0: none

	Trust    string // whether what a model learns is remembered without review: tried, always, never
	Personal bool   // blank personal identifiers before anything is learned or stored
	Spending Spending
	Review   Review
	Summary  Summaries
	Upkeep   Upkeep
}

// MaxMessages is how many new messages of a chat request are kept, the last ones, and how many
// turns of a stored conversation a request is compared with.
const MaxMessages = 2000

// History is what becomes of messages that a client brings along and Loci did not see said.
type History string

// What becomes of history.
const (
	AlignHistory  History = "align"  // it is kept, so that the chat is known again; also ""
	RecallHistory History = "recall" // and recalled
	LearnHistory  History = "learn"  // and the user's words are learned from
)

// Mark marks a turn of history. heard reports whether it follows what Loci saw said: it is
// the user's chat then, and may be recalled.
func (h History) Mark(t *memory.Turn, heard bool) {
	t.NoLearn = t.NoLearn || h != LearnHistory || t.Role != memory.RoleUser
	t.History = !heard && h != RecallHistory && h != LearnHistory
}

// Review is what waits for a person.
type Review struct {
	Confidence float64  // facts below it, 0 to 1
	Categories []string // facts of these
	Conflicts  bool     // facts that would take another's place
}

// Trigger is when learning starts.
type Trigger string

// The triggers.
const (
	AfterExchange Trigger = "exchange"
	AfterUser     Trigger = "user"
	Never         Trigger = "never"
)

// Time returns the time as Loci keeps it.
func (e *Core) Time() time.Time { return memory.Time(e.Now()) }

// NewID returns a UUIDv7, so that ids sort by when they were made.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// IDFor returns the id that belongs to key for this owner: the same for the same
// key, so that a request sent twice writes once. Without a key it is a new one.
func IDFor(owner memory.Owner, key string) string {
	if key == "" {
		return NewID()
	}
	sum := sha256.Sum256([]byte(string(owner) + "\x00" + key))
	return "key-" + hex.EncodeToString(sum[:16])
}

// DerivedID returns the id that belongs to parts: the same for the same ones.
func DerivedID(owner memory.Owner, parts ...string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(string(owner)+"\x00"+strings.Join(parts, "\x00"))).String()
}

// Clip is [text.Clip].
func Clip(s string, n int) string { return text.Clip(s, n) }

// FactScope is what a learned fact belongs to, and so who is shown it.
type FactScope string

// What facts belong to.
const (
	OfUser         FactScope = "user"         // to the user, or to the chat's project where they are about that
	OfProject      FactScope = "project"      // to the chat's project, to the user where it has none
	OfConversation FactScope = "conversation" // to the conversation that taught it (design 4)
)

// Channels is what a channel may do with the memory of the user who asks in it.
type Channels string

// The choices. Neither writes: in a channel the words of others surround the user's own.
const (
	ChannelsOff  Channels = "off"  // nothing
	ChannelsRead Channels = "read" // read it, into answers that everybody in the channel reads
)

// Spending is what the learning model costs and how much of it a user may have
// in a day (UTC). It stops learning, never a chat.
type Spending struct {
	InputPrice, OutputPrice float64 // of a million tokens, in any currency
	DayTokens               int64   // 0: any number
}

// Cost of a reply, in the currency of the prices.
func (s Spending) Cost(input, output int64) float64 {
	return (float64(input)*s.InputPrice + float64(output)*s.OutputPrice) / 1e6
}

// Counts reports whether learning waits for a number of messages or exchanges.
func (l Learning) Counts() bool { return l.Every > 1 || l.Exchanges > 1 }

// Summaries is how often conversations are summed up.
type Summaries struct {
	Every int  // exchanges; 0: never
	Keep  bool // earlier summaries stay, and a new one is of the last turns alone (design 2)
}

// What a summary is made from: with one to go on from the last turns, without one
// more of them, so that a summary which was forgotten with what it held is written
// anew from what is left.
const (
	SummaryTurns = 12
	SummaryFirst = 60
	summaryLeast = 4 // turns below which there is nothing to sum up, unless summaries are due sooner
)

// Least is how many turns a summary needs: no more than are there when the first is due.
func (s Summaries) Least() int { return min(summaryLeast, 2*s.Every-1) }

// RuleBased is the model that a summary names which no model wrote.
const RuleBased = "rule_based"

// Due reports whether a conversation that had so many exchanges before and has so
// many after is to be summed up.
func (s Summaries) Due(before, after int) bool {
	return s.Every == 1 || s.Every > 0 && after/s.Every > before/s.Every
}

// SummaryJob is the job that sums a conversation up; after names what it follows.
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
