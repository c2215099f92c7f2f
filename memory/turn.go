package memory

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Role is who speaks in a turn, in the OpenAI chat format's words.
type Role string

// The roles. A developer message is kept as System.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
	RoleTool      Role = "tool"
)

// Turn is one message of a conversation, word for word. It is written once; what
// may change afterwards is its Status and LearnedAt.
//
// A conversation is a tree of turns: Parent is the turn before, and the active
// turns are the current path from the first to the last. Chain is a hash over
// the whole path up to and including the turn, so that the stored turns a
// client sends again are found by one look-up. Tool results and
// assistant turns that only call tools are kept for that, and have an empty
// Content or role tool; what tools return is kept only where that is set.
type Turn struct {
	ID           string    `json:"id"`
	Owner        Owner     `json:"owner"`
	Conversation string    `json:"conversation" bson:"session_id"`
	Project      string    `json:"project,omitempty" bson:"project,omitempty"`
	Agent        string    `json:"agent,omitempty" bson:"agent,omitempty"`
	Index        int       `json:"index" bson:"message_index"` // 0-based place on its path
	Parent       string    `json:"parent,omitempty" bson:"parent,omitempty"`
	Chain        string    `json:"-"`
	Role         Role      `json:"role"`
	Name         string    `json:"name,omitempty" bson:"name,omitempty"` // the speaker, where the message names one
	Content      string    `json:"content"`
	Ref          string    `json:"ref,omitempty" bson:"ref,omitempty"` // the caller's own id, or that of the upstream's item
	Status       Status    `json:"status"`
	CreatedAt    time.Time `json:"created_at" bson:"created"`                    // when it was said
	RecordedAt   time.Time `json:"recorded_at" bson:"recorded"`                  // when Loci wrote it; set by the store
	LearnedAt    time.Time `json:"learned_at,omitzero" bson:"learned"`           // when a run learned from it
	NoLearn      bool      `json:"no_learn,omitempty" bson:"no_learn,omitempty"` // never learn from it: older than Loci, or asked so
	History      bool      `json:"history,omitempty" bson:"history,omitempty"`   // a client brought it along; Loci did not see it said, so it is not a memory
	Given        string    `json:"-" bson:"given,omitempty"`                     // which memories a request got with this turn, without their words; the engine writes and reads it
	Version      int64     `json:"-"`

	// Foreign are the parts of Content that somebody else wrote than the one in whose name it came,
	// as far as only the request showed that: another speaker, words that Loci passed on, a template.
	Foreign Ranges `json:"foreign,omitempty" bson:"foreign,omitempty"`
}

// Ranges are parts of a text in their order, by bytes: "0-45,80-120" has [0, 45) and [80, 120).
type Ranges string

// With returns the ranges with one more, behind them.
func (r Ranges) With(start, end int) Ranges {
	if r != "" {
		r += ","
	}
	return r + Ranges(fmt.Sprintf("%d-%d", start, end))
}

// Within yields start and end of each range of a text that is so long, at whose end they end; what
// is no range of it is left out.
func (r Ranges) Within(length int) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for part := range strings.SplitSeq(string(r), ",") {
			from, to, _ := strings.Cut(part, "-")
			start, err := strconv.Atoi(from)
			end, wrong := strconv.Atoi(to)
			if err == nil && wrong == nil && 0 <= start && start <= min(end, length) && !yield(start, min(end, length)) {
				return
			}
		}
	}
}

// RecallModel is the name of the built-in model that answers from memory, and of
// its turns.
const RecallModel = "loci/recall"

// EmbedModel is the name of Loci's own embedder among the models that clients may ask.
// It gives vectors and answers no chat.
const EmbedModel = "loci/embed"

// Tells reports whether the turn tells something of the user: what tools returned
// and what the application instructed does not, the built-in model only repeats
// memory, and nobody knows who said what a client brought along. Such turns are kept but
// never recalled.
func (t *Turn) Tells() bool {
	return !t.History && t.Role != RoleTool && t.Role != RoleSystem && t.Name != RecallModel
}

// Conversation is a thread of turns. Its Title, Contexts, Rules and Status change
// by a [ConversationMark]; the store keeps the rest.
type Conversation struct {
	ID           string    `json:"id" bson:"session_id"`
	Owner        Owner     `json:"owner"`
	Project      string    `json:"project,omitempty" bson:"project,omitempty"`
	Agent        string    `json:"agent,omitempty" bson:"agent,omitempty"`
	Title        string    `json:"title,omitempty" bson:"title,omitempty"`
	Contexts     []string  `json:"contexts,omitempty" bson:"contexts,omitempty"` // ids of attached documents
	Rules        string    `json:"rules,omitempty" bson:"rules,omitempty"`
	Status       Status    `json:"status"`                 // active, or retired where it was deleted; "" counts as active in a batch
	MessageCount int       `json:"message_count" bson:"-"` // of active user and assistant turns; kept by the store
	CreatedAt    time.Time `json:"created_at" bson:"created"`
	UpdatedAt    time.Time `json:"updated_at" bson:"updated"`
	Version      int64     `json:"-"` // of the last change to what its mark shows; 0 without one
}

// Mark returns the part of the conversation that can change.
func (c Conversation) Mark() ConversationMark {
	return ConversationMark{ID: c.ID, Title: c.Title, Contexts: slices.Clone(c.Contexts), Rules: c.Rules, Status: c.Status}
}

// ConversationMark is the part of a conversation that can change. A conversation
// that is retired keeps its turns, each of which has a status of its own.
type ConversationMark struct {
	ID       string   `json:"id"`
	Title    string   `json:"title,omitempty"`
	Contexts []string `json:"contexts,omitempty"`
	Rules    string   `json:"rules,omitempty"`
	Status   Status   `json:"status"`
}
