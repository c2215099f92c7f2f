package memory

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Role is the speaker's role, in the terms of the OpenAI chat format.
type Role string

// The roles. A developer message is stored as System.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
	RoleTool      Role = "tool"
)

// Turn is one message of a conversation, verbatim. It is written once; only its Status and
// LearnedAt may change.
//
// A conversation is a tree of turns: Parent is the turn before, and the active turns are the
// current path from the first to the last. Chain is a hash over the path up to and including the
// turn, so that one look-up finds the stored turns of a resent chat. Tool results and assistant
// turns that only call tools are stored for that, with an empty Content or role tool; content of
// tools is stored only by a setting.
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
	Name         string    `json:"name,omitempty" bson:"name,omitempty"` // the speaker, if the message names one
	Content      string    `json:"content"`
	Ref          string    `json:"ref,omitempty" bson:"ref,omitempty"` // the caller's own id, or the upstream item's
	Status       Status    `json:"status"`
	CreatedAt    time.Time `json:"created_at" bson:"created"`                    // time of the message
	RecordedAt   time.Time `json:"recorded_at" bson:"recorded"`                  // time of the write; set by the store
	LearnedAt    time.Time `json:"learned_at,omitzero" bson:"learned"`           // when a run learned from it
	NoLearn      bool      `json:"no_learn,omitempty" bson:"no_learn,omitempty"` // never learn from it: older than Loci, or requested
	History      bool      `json:"history,omitempty" bson:"history,omitempty"`   // sent along by a client; Loci did not observe it, so it is not a memory
	Given        string    `json:"-" bson:"given,omitempty"`                     // the block of its request, without text; written and read by the engine
	Version      int64     `json:"-"`

	// Foreign are the parts of Content that another than the named author wrote, if only the
	// request showed that: another speaker, text that Loci passed on, a template.
	Foreign Ranges `json:"foreign,omitempty" bson:"foreign,omitempty"`
}

// Ranges are ordered byte ranges of a text: "0-45,80-120" has [0, 45) and [80, 120).
type Ranges string

// With returns the ranges with one appended.
func (r Ranges) With(start, end int) Ranges {
	if r != "" {
		r += ","
	}
	return r + Ranges(fmt.Sprintf("%d-%d", start, end))
}

// Within yields start and end of each range within a text of this length, clipped to it; invalid
// ranges are skipped.
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

// EmbedModel is the name of Loci's own embedder among the models of the API. It returns vectors and
// answers no chat.
const EmbedModel = "loci/embed"

// Tells reports whether the turn tells something about the user. Tool results and instructions do
// not, the built-in model only repeats memory, and the author of imported history is unknown. Such
// turns are stored but never recalled.
func (t *Turn) Tells() bool {
	return !t.History && t.Role != RoleTool && t.Role != RoleSystem && t.Name != RecallModel
}

// Conversation is a thread of turns. Its Title, Contexts, Rules and Status change by a
// [ConversationMark]; the store maintains the rest.
type Conversation struct {
	ID           string    `json:"id" bson:"session_id"`
	Owner        Owner     `json:"owner"`
	Project      string    `json:"project,omitempty" bson:"project,omitempty"`
	Agent        string    `json:"agent,omitempty" bson:"agent,omitempty"`
	Title        string    `json:"title,omitempty" bson:"title,omitempty"`
	Contexts     []string  `json:"contexts,omitempty" bson:"contexts,omitempty"` // ids of attached documents
	Rules        string    `json:"rules,omitempty" bson:"rules,omitempty"`
	Status       Status    `json:"status"`                 // active, or retired if deleted; "" counts as active in a batch
	MessageCount int       `json:"message_count" bson:"-"` // of active user and assistant turns; set by the store
	CreatedAt    time.Time `json:"created_at" bson:"created"`
	UpdatedAt    time.Time `json:"updated_at" bson:"updated"`
	Version      int64     `json:"-"` // of the last change of its mark; 0 without one
}

// Mark returns the part of the conversation that can change.
func (c Conversation) Mark() ConversationMark {
	return ConversationMark{ID: c.ID, Title: c.Title, Contexts: slices.Clone(c.Contexts), Rules: c.Rules, Status: c.Status}
}

// ConversationMark is the part of a conversation that can change. A retired conversation keeps its
// turns with their own statuses.
type ConversationMark struct {
	ID       string   `json:"id"`
	Title    string   `json:"title,omitempty"`
	Contexts []string `json:"contexts,omitempty"`
	Rules    string   `json:"rules,omitempty"`
	Status   Status   `json:"status"`
}
