package client

import (
	"encoding/json"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Memory is a fact, a turn or a summary in the API. Its JSON omits fields that a memory of its kind lacks.
type Memory struct {
	ID           string             `json:"id"`
	Kind         memory.Kind        `json:"kind" enum:"fact,turn,summary,profile" doc:"profile is only in the hits of a chat: a profile entry."`
	Content      string             `json:"content"`
	Status       memory.Status      `json:"status" enum:"active,pending,superseded,replaced,retired,rejected"`
	Category     string             `json:"category,omitempty"`
	Tags         []string           `json:"tags,omitempty"`
	Subject      string             `json:"subject,omitempty" doc:"The person or thing that a fact is about."`
	Attribute    string             `json:"attribute,omitempty" doc:"The attribute of the subject that a fact states."`
	Confidence   float64            `json:"confidence,omitempty" doc:"0 to 1."`
	Source       memory.FactSource  `json:"source,omitempty" enum:"extracted,manual,imported,file"`
	Trust        memory.Trust       `json:"trust,omitempty" enum:"person,user,assistant,untrusted"`
	Pinned       bool               `json:"pinned,omitempty" doc:"Whether core is always."`
	Core         memory.Core        `json:"core,omitempty" enum:"auto,always,never" doc:"Whether prompts contain the fact without a search for it; missing means auto."`
	Project      string             `json:"project,omitempty"`
	Agent        string             `json:"agent,omitempty"`
	Conversation string             `json:"conversation,omitempty" doc:"Id of the memory's conversation."`
	Provenance   *memory.Provenance `json:"provenance,omitempty" doc:"The turns and the text that support a fact."`
	Role         memory.Role        `json:"role,omitempty" doc:"For a turn: the speaker's role."`
	Name         string             `json:"name,omitempty"`
	Ref          string             `json:"ref,omitempty" doc:"Id of a message, as set by the caller."`
	Messages     int                `json:"message_count,omitempty" doc:"Number of messages that a summary covers."`
	Model        string             `json:"model,omitempty" doc:"The model and prompt, or the rule, that created the memory."`
	ObservedAt   time.Time          `json:"observed_at,omitzero"`
	ValidFrom    time.Time          `json:"valid_from,omitzero"`
	ValidTo      time.Time          `json:"valid_to,omitzero"`
	CreatedAt    time.Time          `json:"created_at"`
	UpdatedAt    time.Time          `json:"updated_at,omitzero"`
	LearnedAt    time.Time          `json:"learned_at,omitzero"`
	ExpiresAt    time.Time          `json:"expires_at,omitzero"`
	SupersededBy string             `json:"superseded_by,omitempty"`
	Home         string             `json:"home,omitempty" doc:"For a shared fact: its owner."`
	Metadata     json.RawMessage    `json:"metadata,omitempty"`
}

// Written is a fact after a write.
type Written struct {
	Memory
	Replaced []Memory `json:"replaced,omitempty" doc:"Facts that this fact replaced. An undo restores these."`
}

// Hit is a memory found by a search.
type Hit struct {
	Memory
	Score  float64     `json:"score" doc:"The score for ranking, 0 to 1."`
	Why    *memory.Why `json:"why,omitempty" doc:"Each part of the score, by stage."`
	Now    []string    `json:"now,omitempty" doc:"For a turn: texts of the facts that replaced facts learned from the turn."`
	Was    []string    `json:"was,omitempty" doc:"For a fact: texts of the facts that it replaced, newest first."`
	InCore bool        `json:"in_core,omitempty" doc:"Whether the memory is included without a search: a core fact or a profile entry."`
}

// AddMemory is a fact to store.
type AddMemory struct {
	Content    string          `json:"content" doc:"One or two short sentences."`
	Category   string          `json:"category,omitempty" maxLength:"256"`
	Tags       []string        `json:"tags,omitempty" maxItems:"64" maxLength:"256"`
	Project    string          `json:"project,omitempty" maxLength:"256"`
	Agent      string          `json:"agent,omitempty" maxLength:"256"`
	Confidence *float64        `json:"confidence,omitempty" minimum:"0" maximum:"1" doc:"Default: 1."`
	Pinned     bool            `json:"pinned,omitempty" doc:"Shorthand for core always."`
	Core       memory.Core     `json:"core,omitempty" enum:"auto,always,never" doc:"always: every prompt contains the fact. never: only a search finds it. auto: depends on its importance and the space in the prompt."`
	ObservedAt *time.Time      `json:"observed_at,omitempty" doc:"Time when the fact was stated. Default: now."`
	ExpiresAt  *time.Time      `json:"expires_at,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty" doc:"A JSON object for your own use."`
}

// EditMemory is an edit of a fact. A nil field is not changed.
type EditMemory struct {
	Content    *string          `json:"content,omitempty"`
	Category   *string          `json:"category,omitempty" maxLength:"256"`
	Tags       *[]string        `json:"tags,omitempty" maxItems:"64" maxLength:"256"`
	Confidence *float64         `json:"confidence,omitempty" minimum:"0" maximum:"1"`
	Pinned     *bool            `json:"pinned,omitempty" doc:"Shorthand for core always (true) or auto (false)."`
	Core       *memory.Core     `json:"core,omitempty" enum:"auto,always,never" doc:"Takes precedence over pinned."`
	ExpiresAt  *time.Time       `json:"expires_at,omitempty"`
	Metadata   *json.RawMessage `json:"metadata,omitempty"`
}

// PinRequest pins or unpins a fact. Every prompt contains a pinned fact.
type PinRequest struct {
	Pinned *bool `json:"pinned,omitempty" doc:"Default: true."`
}

// ListQuery filters a list of memories. An empty field selects all values.
type ListQuery struct {
	Kind         string    `query:"kind" doc:"fact, turn or summary; comma-separated, or all. Default: fact."`
	Status       string    `query:"status" doc:"active, pending, superseded, retired, rejected, replaced; comma-separated, or all. Default: active."`
	Tag          string    `query:"tag"`
	Category     string    `query:"category"`
	Project      string    `query:"project"`
	Conversation string    `query:"conversation"`
	Text         string    `query:"q" doc:"Text that the content contains."`
	IDPrefix     string    `query:"id" maxLength:"512" doc:"Prefix of the id."`
	AsOf         time.Time `query:"as_of" doc:"List memories as recorded at this time."`
	ValidAt      time.Time `query:"valid_at" doc:"List facts that were true at this time."`
	Limit        int       `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor       string    `query:"cursor" doc:"next_cursor of the previous page."`
}

// Memories is a page of a list, newest first.
type Memories struct {
	Memories []Memory `json:"memories"`
	Next     string   `json:"next_cursor,omitempty"`
}

// Message is a message of a conversation, to be stored.
type Message struct {
	Role      memory.Role `json:"role" enum:"user,assistant,system,tool"`
	Content   string      `json:"content"`
	Name      string      `json:"name,omitempty" maxLength:"256"`
	ID        string      `json:"id,omitempty" maxLength:"256" doc:"Your own id; hits return it as ref."`
	CreatedAt *time.Time  `json:"created_at,omitempty" doc:"Time of the message. Default: now."`
}

// AddMessages contains messages to store and learn from. Either Messages or Text is set.
type AddMessages struct {
	Messages     []Message `json:"messages,omitempty" maxItems:"10000"`
	Text         string    `json:"text,omitempty" doc:"Shorthand for one user message."`
	Infer        *bool     `json:"infer,omitempty" doc:"false: store the messages for search, but do not learn from them."`
	Wait         bool      `json:"wait,omitempty" doc:"Respond only after learning is complete."`
	Conversation string    `json:"conversation,omitempty" maxLength:"256" doc:"Conversation to continue. Default: a new one."`
	ParentID     *string   `json:"parent_id,omitempty" maxLength:"256" doc:"Your own id of the message before the first of these messages; empty means the beginning of the conversation. A message that is already stored at its position is not stored again. Any other message replaces the stored messages after its parent, like an edit or a regenerated answer. If the field is missing or no message has this id, the messages are appended to the conversation."`
	Project      string    `json:"project,omitempty" maxLength:"256"`
}

// Added is the result of AddMessages.
type Added struct {
	Conversation string   `json:"conversation"`
	Turns        []string `json:"turns" doc:"Ids of the turns, in order."`
	Job          string   `json:"job,omitempty" doc:"Id of the job that learns from the messages, if there is one."`
	Memories     []Memory `json:"memories,omitempty" doc:"Learned memories, if wait was set."`
}

// SearchRequest is a question for a search in memory.
type SearchRequest struct {
	Query               string        `json:"query" minLength:"1" maxLength:"100000"`
	TopK                *int          `json:"top_k,omitempty" minimum:"0" maximum:"500"`
	ScoreThreshold      *float64      `json:"score_threshold,omitempty" minimum:"0" maximum:"1" doc:"Minimum score of a hit."`
	RecencyWeight       *float64      `json:"recency_weight,omitempty" minimum:"0" maximum:"1"`
	Kinds               []memory.Kind `json:"kinds,omitempty" doc:"Default: all." enum:"fact,turn,summary"`
	Conversation        string        `json:"conversation,omitempty" doc:"Search only this conversation's turns and the facts learned from it; with learn.scope=conversation also the user's facts that belong to no conversation."`
	Project             string        `json:"project,omitempty"`
	Filters             Filters       `json:"filters,omitzero"`
	AsOf                *time.Time    `json:"as_of,omitempty" doc:"Search memory as recorded at this time."`
	ValidAt             *time.Time    `json:"valid_at,omitempty" doc:"Search facts that were true at this time."`
	Explain             bool          `json:"explain,omitempty" doc:"Return the field why of each hit."`
	Block               bool          `json:"block,omitempty" doc:"Also return the text for a prompt: of all hits or, with asked_in, the text for the next message of this chat. While memory is paused, there are no text and no hits."`
	CurrentConversation string        `json:"asked_in,omitempty" maxLength:"256" doc:"With block: id of the current conversation. Its turns, and facts learned only from these turns, are omitted, since the prompt contains the turns."`
	Core                bool          `json:"core,omitempty" doc:"With block: begin with the core facts about the user, like the first block of a conversation."`
}

// Filters narrow a search. An empty field selects all values.
type Filters struct {
	Category string `json:"category,omitempty"`
	Tag      string `json:"tag,omitempty"`
}

// SearchAnswer contains the hits of a search, best first.
type SearchAnswer struct {
	Hits     []Hit    `json:"hits"`
	Trace    string   `json:"trace"`
	Degraded []string `json:"degraded,omitempty" doc:"Parts of the search that were skipped, with reasons."`

	Misspelt []memory.Misspelt `json:"misspelt,omitempty" doc:"Words of the question that occur in no memory, each with the words of hits that matched instead."`

	Block string `json:"block,omitempty" doc:"The text for a prompt, if block was set."`
	Pause string `json:"pause,omitempty" doc:"With block: what is paused." enum:"none,learning,memory"`
}

// ForgetFilter selects memories to forget. Its fields filter as in [ListQuery].
type ForgetFilter struct {
	Kinds        []memory.Kind `json:"kinds,omitempty" enum:"fact,turn,summary" doc:"Default: fact. Another field of the filter must be set too."`
	Tag          string        `json:"tag,omitempty"`
	Category     string        `json:"category,omitempty"`
	Project      string        `json:"project,omitempty"`
	Conversation string        `json:"conversation,omitempty" doc:"Only turns of this conversation and facts learned from it."`
	Text         string        `json:"q,omitempty" doc:"Text that the content contains."`
}

// ForgetRequest selects memories to forget: the results of a query, ids, or the matches of a filter.
type ForgetRequest struct {
	Query  string        `json:"query,omitempty" maxLength:"100000"`
	IDs    []string      `json:"ids,omitempty" maxItems:"500" doc:"Ids of memories to forget, instead of a query."`
	Filter *ForgetFilter `json:"filter,omitempty" doc:"Filter, instead of a query or ids. All its fields must match, and at least one must be set."`
	Erase  bool          `json:"erase,omitempty" doc:"Remove the text permanently, also from all other memories with the same text, including forgotten memories. This cannot be undone."`
	DryRun bool          `json:"dry_run,omitempty" doc:"Only return the memories that would be forgotten."`
}

// Forgotten lists the memories that were forgotten or, in a dry run, would be forgotten.
type Forgotten struct {
	Memories      []Memory `json:"memories" doc:"The memories. An erased memory has no text."`
	Run           string   `json:"run,omitempty" doc:"Id of the run, to undo the change; missing after an erasure."`
	Erased        bool     `json:"erased,omitempty" doc:"Whether the memories were erased or, in a dry run, would be erased."`
	Traces        int      `json:"traces,omitempty" doc:"Number of removed traces of other users that showed the text from a pool or global memory."`
	TextRemainsIn []string `json:"held,omitempty" doc:"After an erasure: places that may still contain the text."`
	DryRun        bool     `json:"dry_run"`
}

// Change is one entry of the journal.
type Change struct {
	ID        string        `json:"id"`
	Run       string        `json:"run"`
	Action    memory.Action `json:"action"`
	Target    string        `json:"target"`
	OldID     string        `json:"old_id,omitempty"`
	NewID     string        `json:"new_id,omitempty"`
	Reason    string        `json:"reason,omitempty"`
	Author    memory.Author `json:"author"`
	CreatedAt time.Time     `json:"created_at,omitzero"`
	Before    *memory.State `json:"before,omitempty"`
	After     *memory.State `json:"after,omitempty"`
}

// Changes is a page of the journal, newest first.
type Changes struct {
	Changes []Change `json:"changes"`
	Next    string   `json:"next_cursor,omitempty"`
}

// ChangesQuery filters the journal. An empty field selects all values.
type ChangesQuery struct {
	Fact      string        `query:"fact" doc:"Changes of this fact, of the facts that it replaced and of the facts that replaced it."`
	Action    memory.Action `query:"action" enum:"add,update,reinforce,replace,retire,restore,approve,reject,link,unlink,undo,erase"`
	Run       string        `query:"run"`
	RunPrefix string        `query:"runs" maxLength:"512" doc:"Prefix of run ids; returns only the first change of each run."`
	Since     time.Time     `query:"since" doc:"Changes recorded after this time."`
	Limit     int           `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor    string        `query:"cursor" doc:"next_cursor of the previous page."`
}

// UndoRequest selects changes to undo. Exactly one of Change, Run and ToTime must be set.
type UndoRequest struct {
	Change  string     `json:"change,omitempty"`
	Run     string     `json:"run,omitempty"`
	ToTime  *time.Time `json:"to_time,omitempty" doc:"Undo all changes recorded after this time."`
	Cascade bool       `json:"cascade,omitempty" doc:"Also undo later changes of the same targets. Otherwise such changes prevent the undo."`
	DryRun  bool       `json:"dry_run,omitempty" doc:"Only return the changes that the undo would make."`
}

// Undone contains the changes that an undo made or, in a dry run, would make.
type Undone struct {
	Receipt
	DryRun bool     `json:"dry_run"`
	Steps  []Change `json:"steps" doc:"The changes made or, in a dry run, the changes to make."`
	Later  []Change `json:"later,omitempty" doc:"In a dry run: later changes of the same targets, newest first, which prevent an undo without cascade. The steps are then those of an undo with cascade."`
}

// Receipt is the result of a change of memory.
type Receipt struct {
	Run           string    `json:"run" doc:"Id of the run, to undo the change."`
	Changes       int       `json:"changes"`
	At            time.Time `json:"at,omitzero"`
	Traces        int       `json:"traces,omitempty" doc:"After an erasure: number of removed traces of other users that showed the text from a pool or global memory."`
	TextRemainsIn []string  `json:"held,omitempty" doc:"After an erasure: places that may still contain the text."`
}

// Quote is the text that supports a fact, with the rest of its turn. Before, Words and After together are the
// turn's content.
type Quote struct {
	Turn         string      `json:"turn"`
	Conversation string      `json:"conversation,omitempty"`
	Role         memory.Role `json:"role"`
	SaidAt       time.Time   `json:"said_at"`
	Before       string      `json:"before,omitempty"`
	Words        string      `json:"words,omitempty" doc:"The quoted text; missing if only the turn is recorded."`
	After        string      `json:"after,omitempty"`
}

// Waiting is a pending fact with the information that a person needs to approve or reject it.
type Waiting struct {
	Memory    Memory        `json:"memory"`
	Reason    string        `json:"reason" doc:"The reason why the fact needs approval."`
	Author    memory.Author `json:"author" doc:"The person or program that proposed the fact."`
	Quote     *Quote        `json:"quote,omitempty" doc:"The text that supports the fact."`
	Conflicts []Memory      `json:"conflicts,omitempty" doc:"The user's own facts that the pending fact contradicts. Approval replaces these facts. If the pending fact is shared by another user (home), approval does not replace them: searches exclude the shared fact while they are active."`
}

// ReviewQuery selects a page of pending facts.
type ReviewQuery struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor string `query:"cursor" doc:"next_cursor of the previous page."`
}

// Review is a page of pending facts, newest first.
type Review struct {
	Waiting []Waiting `json:"waiting"`
	Next    string    `json:"next_cursor,omitempty"`
}

// Judgement is a person's decision on a pending fact.
type Judgement struct {
	ID       string        `json:"id"`
	Action   memory.Action `json:"action" enum:"approve,reject"`
	Content  string        `json:"content,omitempty" doc:"Corrected text, to be approved instead of the fact's text. Not allowed for another user's fact."`
	SeenText string        `json:"seen,omitempty" doc:"The fact's text as shown to the person. If the text has changed since then, the request fails with conflict."`
}

// ReviewRequest contains decisions on pending facts. Either all of them are applied or none.
type ReviewRequest struct {
	Judgements []Judgement `json:"judgements" minItems:"1" maxItems:"500"`
}

// Reviewed lists the facts on which the judgements decided.
type Reviewed struct {
	Receipt
	Memories []Memory `json:"memories" doc:"The current facts, in the order of the judgements."`
}

// Job is an unfinished background job.
type Job struct {
	ID           string          `json:"id"`
	Kind         memory.JobKind  `json:"kind"`
	State        memory.JobState `json:"state" enum:"queued,running,done,parked"`
	Conversation string          `json:"conversation,omitempty"`
	Attempts     int             `json:"attempts" doc:"Number of failed attempts."`
	RunAt        time.Time       `json:"run_at"`
	CreatedAt    time.Time       `json:"created_at"`
	Error        string          `json:"error,omitempty"`
}

// Jobs is a list of jobs, newest first.
type Jobs struct {
	Jobs []Job `json:"jobs"`
}

// Health is the response of GET /health. It never contains a key. A request without the server's own key gets
// only Status and Version.
type Health struct {
	Status    string   `json:"status"`
	Version   string   `json:"version"`
	Profile   string   `json:"profile,omitempty"`
	Store     string   `json:"store,omitempty"`
	Search    string   `json:"search,omitempty"` // where searches run: in the in-memory index and, for users with many memories, also in the database
	Vault     string   `json:"vault,omitempty" doc:"The vault's folder, for admins."`
	Embedder  string   `json:"embedder,omitempty"`
	Reranker  string   `json:"reranker,omitempty"`
	Upstream  string   `json:"upstream,omitempty" doc:"For admins the upstream's URL; for others whether it is set."`
	Models    []string `json:"models,omitempty"`
	Learner   string   `json:"learns,omitempty" doc:"The learner of facts: a model's name, the chat's own model, the built-in rules, or nobody."`
	TopK      int      `json:"top_k,omitempty"`
	Threshold float64  `json:"threshold,omitempty"`
	Advice    string   `json:"better,omitempty" doc:"A command that would improve search results, with its effect."`
	Warnings  []string `json:"warnings,omitempty" doc:"Configuration mistakes that requests have shown since the server's start, such as a chat without a user, and models that are skipped now or were skipped for many questions of the last hour."`

	StrictModels []StrictModel `json:"strict_models,omitempty"` // models that get memories in the user's message, because they refused memories in a separate message
}

// Values of [Ready].
const (
	StatusReady    = "ready"
	StatusDraining = "draining"
)

// Ready says whether a server accepts requests, and lists problems that do not prevent this.
type Ready struct {
	Status   string   `json:"status" enum:"ready,draining" doc:"draining: the server is stopping; the response has status 503."`
	Problems []string `json:"problems" doc:"Problems with which the server still accepts requests, since other servers would have them too: store (it does not respond; chats continue without memory), upstream (its last responses were errors), disk (it is full), jobs (some are parked after too many failures). Disk and jobs are checked every few seconds."`
}

// StrictModel is an upstream model whose chat template refused a separate message with memories.
type StrictModel struct {
	Path  string    `json:"path"` // path of the chat API whose request the model refused
	Model string    `json:"model"`
	Until time.Time `json:"until"` // time after which Loci again sends memories in a separate message
}

// Problem is an error of the API, in the format of RFC 9457.
type Problem struct {
	Type   string      `json:"type,omitempty"`
	Title  string      `json:"title"`
	Status int         `json:"status"`
	Detail string      `json:"detail,omitempty"`
	Code   memory.Code `json:"code,omitempty"`
}
