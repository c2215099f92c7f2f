package memory

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Role is the speaker's role, with the names of the OpenAI chat completions API.
type Role string

// The roles of speakers. A developer message is stored with RoleSystem.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
	RoleTool      Role = "tool"
)

// Turn is one message of a conversation, verbatim. After it is stored, only Status and LearnedAt
// change.
//
// A conversation is a tree of turns. Parent is the id of the previous turn; the active turns are the current
// path from the root. Chain is a hash of the path up to and including the turn; one lookup by Chain finds the
// stored turns of a resent chat. For this lookup, tool results and assistant turns that only call tools are
// stored too, with RoleTool or an empty Content. A setting decides whether the content of tool results is
// stored.
type Turn struct {
	ID           string    `json:"id"`
	Owner        Owner     `json:"owner"`
	Conversation string    `json:"conversation" bson:"session_id"`
	Project      string    `json:"project,omitempty" bson:"project,omitempty"`
	Agent        string    `json:"agent,omitempty" bson:"agent,omitempty"`
	Index        int       `json:"index" bson:"message_index"` // position on its path, from 0
	Parent       string    `json:"parent,omitempty" bson:"parent,omitempty"`
	Chain        string    `json:"-"`
	Role         Role      `json:"role"`
	Name         string    `json:"name,omitempty" bson:"name,omitempty"` // name of the speaker; "" if the message has none
	Content      string    `json:"content"`
	Ref          string    `json:"ref,omitempty" bson:"ref,omitempty"` // id set by the caller or the upstream server
	Status       Status    `json:"status"`
	CreatedAt    time.Time `json:"created_at" bson:"created"`                    // time of the message
	RecordedAt   time.Time `json:"recorded_at" bson:"recorded"`                  // time of writing; set by the store
	LearnedAt    time.Time `json:"learned_at,omitzero" bson:"learned"`           // time of the run that learned from the turn; zero before that
	NoLearn      bool      `json:"no_learn,omitempty" bson:"no_learn,omitempty"` // Loci never learns from the turn: it was sent before Loci was used, or its request forbids learning
	History      bool      `json:"history,omitempty" bson:"history,omitempty"`   // a client sent the turn as an earlier message, which did not go through Loci; searches exclude such turns
	Injected     string    `json:"-" bson:"given,omitempty"`                     // memories that Loci added to the turn's request: ids, dates and checksums, no text; read by the engine
	Version      int64     `json:"-"`

	// Foreign lists the parts of Content that the turn's author did not write: another speaker's text, text
	// injected by Loci, a template. It omits parts that are recognizable without the request.
	Foreign Ranges `json:"foreign,omitempty" bson:"foreign,omitempty"`
}

// Ranges is an ordered list of byte ranges of a text: "0-45,80-120" means [0, 45) and [80, 120).
type Ranges string

// With returns r with the range [start, end) appended.
func (r Ranges) With(start, end int) Ranges {
	if r != "" {
		r += ","
	}
	return r + Ranges(fmt.Sprintf("%d-%d", start, end))
}

// Within yields start and end of each range, clipped to the length of the text. Invalid ranges are skipped.
func (r Ranges) Within(length int) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for part := range strings.SplitSeq(string(r), ",") {
			from, to, _ := strings.Cut(part, "-")
			start, err := strconv.Atoi(from)
			end, endErr := strconv.Atoi(to)
			if err == nil && endErr == nil && 0 <= start && start <= min(end, length) && !yield(start, min(end, length)) {
				return
			}
		}
	}
}

// RecallModel is the name of the built-in model that answers chats from memory, and the Name of its turns.
const RecallModel = "loci/recall"

// EmbedModel is the name of Loci's own embedder in the API. It embeds texts and cannot answer chats.
const EmbedModel = "loci/embed"

// Informative reports whether the turn may contain information about the user. It is false for tool results
// and instructions, for the built-in model, which only repeats memory, and for history, which may have
// another author. Such turns are stored, but searches exclude them.
func (t *Turn) Informative() bool {
	return !t.History && t.Role != RoleTool && t.Role != RoleSystem && t.Name != RecallModel
}

// Conversation is a conversation's stored fields, without its turns. A [ConversationState] changes Title,
// Contexts, Rules and Status; the store sets the other fields.
type Conversation struct {
	ID           string    `json:"id" bson:"session_id"`
	Owner        Owner     `json:"owner"`
	Project      string    `json:"project,omitempty" bson:"project,omitempty"`
	Agent        string    `json:"agent,omitempty" bson:"agent,omitempty"`
	Title        string    `json:"title,omitempty" bson:"title,omitempty"`
	Contexts     []string  `json:"contexts,omitempty" bson:"contexts,omitempty"` // ids of the attached documents
	Rules        string    `json:"rules,omitempty" bson:"rules,omitempty"`       // instructions for this conversation
	Status       Status    `json:"status"`                                       // active, or retired if the conversation is deleted; "" in a batch means active
	MessageCount int       `json:"message_count" bson:"-"`                       // number of active user and assistant turns; set by the store
	CreatedAt    time.Time `json:"created_at" bson:"created"`
	UpdatedAt    time.Time `json:"updated_at" bson:"updated"`
	Version      int64     `json:"-"` // version of the last change of title, contexts, rules or status; 0 if there was none
}

// State returns the part of the conversation that can change.
func (c Conversation) State() ConversationState {
	return ConversationState{ID: c.ID, Title: c.Title, Contexts: slices.Clone(c.Contexts), Rules: c.Rules, Status: c.Status}
}

// ConversationState is the part of a conversation that can change. Turns of a retired conversation retain
// their own statuses.
type ConversationState struct {
	ID       string   `json:"id"`
	Title    string   `json:"title,omitempty"`
	Contexts []string `json:"contexts,omitempty"`
	Rules    string   `json:"rules,omitempty"`
	Status   Status   `json:"status"`
}
