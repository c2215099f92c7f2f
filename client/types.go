package client

import (
	"encoding/json"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Memory is a fact, a turn or a summary in the API. Fields that a kind lacks are omitted.
type Memory struct {
	ID           string             `json:"id"`
	Kind         memory.Kind        `json:"kind" enum:"fact,turn,summary,profile" doc:"profile stands among the hits of a chat alone."`
	Content      string             `json:"content"`
	Status       memory.Status      `json:"status" enum:"active,pending,superseded,replaced,retired,rejected"`
	Category     string             `json:"category,omitempty"`
	Tags         []string           `json:"tags,omitempty"`
	Subject      string             `json:"subject,omitempty" doc:"Whom or what a fact is about."`
	Attribute    string             `json:"attribute,omitempty" doc:"What about it."`
	Confidence   float64            `json:"confidence,omitempty" doc:"0 to 1."`
	Source       memory.FactSource  `json:"source,omitempty" enum:"extracted,manual,imported,file"`
	Trust        memory.Trust       `json:"trust,omitempty" enum:"person,user,assistant,untrusted"`
	Pinned       bool               `json:"pinned,omitempty" doc:"Its core is always."`
	Core         memory.Core        `json:"core,omitempty" enum:"auto,always,never" doc:"Whether a fact is put into prompts without a search; auto where it is left out."`
	Project      string             `json:"project,omitempty"`
	Agent        string             `json:"agent,omitempty"`
	Conversation string             `json:"conversation,omitempty" doc:"Where it was said."`
	Provenance   *memory.Provenance `json:"provenance,omitempty" doc:"The turns and the words that support a fact."`
	Role         memory.Role        `json:"role,omitempty" doc:"Who spoke, of a turn."`
	Name         string             `json:"name,omitempty"`
	Ref          string             `json:"ref,omitempty" doc:"The id that the caller gave a message."`
	Messages     int                `json:"message_count,omitempty" doc:"How many messages a summary covers."`
	Model        string             `json:"model,omitempty" doc:"The model and prompt, or the rule, that made it."`
	ObservedAt   time.Time          `json:"observed_at,omitzero"`
	ValidFrom    time.Time          `json:"valid_from,omitzero"`
	ValidTo      time.Time          `json:"valid_to,omitzero"`
	CreatedAt    time.Time          `json:"created_at"`
	UpdatedAt    time.Time          `json:"updated_at,omitzero"`
	LearnedAt    time.Time          `json:"learned_at,omitzero"`
	ExpiresAt    time.Time          `json:"expires_at,omitzero"`
	SupersededBy string             `json:"superseded_by,omitempty"`
	Home         string             `json:"home,omitempty" doc:"The owner it belongs to, where it is seen by link."`
	Metadata     json.RawMessage    `json:"metadata,omitempty"`
}

// Written is a fact after a write.
type Written struct {
	Memory
	Replaced []Memory `json:"replaced,omitempty" doc:"What it took the place of. Undo brings it back."`
}

// Hit is a memory that search found.
type Hit struct {
	Memory
	Score  float64     `json:"score" doc:"What it was ranked by, 0 to 1."`
	Why    *memory.Why `json:"why,omitempty" doc:"Each part of the score, by stage."`
	Now    []string    `json:"now,omitempty" doc:"Of a turn: the facts that took the place of what it says."`
	Was    []string    `json:"was,omitempty" doc:"Of a fact: what it took the place of, the latest first."`
	InCore bool        `json:"in_core,omitempty" doc:"It was not searched for: a fact of the core, or a profile entry by its key."`
}

// AddMemory is a fact to store.
type AddMemory struct {
	Content    string          `json:"content" doc:"One or two short sentences."`
	Category   string          `json:"category,omitempty" maxLength:"256"`
	Tags       []string        `json:"tags,omitempty" maxItems:"64" maxLength:"256"`
	Project    string          `json:"project,omitempty" maxLength:"256"`
	Agent      string          `json:"agent,omitempty" maxLength:"256"`
	Confidence *float64        `json:"confidence,omitempty" minimum:"0" maximum:"1" doc:"1 unless said otherwise."`
	Pinned     bool            `json:"pinned,omitempty" doc:"Short for core always."`
	Core       memory.Core     `json:"core,omitempty" enum:"auto,always,never" doc:"always: in every prompt. never: found by search alone, never put into a prompt by itself. auto: as its worth and the room allow."`
	ObservedAt *time.Time      `json:"observed_at,omitempty" doc:"When it was learned; now unless said otherwise."`
	ExpiresAt  *time.Time      `json:"expires_at,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty" doc:"A JSON object of your own."`
}

// EditMemory is an edit of a fact; omitted fields stay unchanged.
type EditMemory struct {
	Content    *string          `json:"content,omitempty"`
	Category   *string          `json:"category,omitempty" maxLength:"256"`
	Tags       *[]string        `json:"tags,omitempty" maxItems:"64" maxLength:"256"`
	Confidence *float64         `json:"confidence,omitempty" minimum:"0" maximum:"1"`
	Pinned     *bool            `json:"pinned,omitempty" doc:"Short for core always, or auto."`
	Core       *memory.Core     `json:"core,omitempty" enum:"auto,always,never" doc:"It counts before pinned."`
	ExpiresAt  *time.Time       `json:"expires_at,omitempty"`
	Metadata   *json.RawMessage `json:"metadata,omitempty"`
}

// PinRequest pins a fact, so that it is in every prompt, or unpins it.
type PinRequest struct {
	Pinned *bool `json:"pinned,omitempty" doc:"true unless said otherwise."`
}

// ListQuery narrows a list of memories. Empty fields do not.
type ListQuery struct {
	Kind         string    `query:"kind" doc:"fact (unless said otherwise), turn, summary; several with commas, or all."`
	Status       string    `query:"status" doc:"active (unless said otherwise), pending, superseded, retired, rejected, replaced; several with commas, or all."`
	Tag          string    `query:"tag"`
	Category     string    `query:"category"`
	Project      string    `query:"project"`
	Conversation string    `query:"conversation"`
	Text         string    `query:"q" doc:"Words that the content holds."`
	ID           string    `query:"id" maxLength:"512" doc:"How the id begins."`
	AsOf         time.Time `query:"as_of" doc:"What was known then."`
	ValidAt      time.Time `query:"valid_at" doc:"What was true then."`
	Limit        int       `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor       string    `query:"cursor" doc:"next_cursor of the page before."`
}

// Memories is a page of a list, newest first.
type Memories struct {
	Memories []Memory `json:"memories"`
	Next     string   `json:"next_cursor,omitempty"`
}

// Message is one message of a conversation to store.
type Message struct {
	Role      memory.Role `json:"role" enum:"user,assistant,system,tool"`
	Content   string      `json:"content"`
	Name      string      `json:"name,omitempty" maxLength:"256"`
	ID        string      `json:"id,omitempty" maxLength:"256" doc:"Your own id; hits carry it as ref."`
	CreatedAt *time.Time  `json:"created_at,omitempty" doc:"When it was said; now unless said otherwise."`
}

// AddMessages is messages to store and learn from. Set either messages or text.
type AddMessages struct {
	Messages     []Message `json:"messages,omitempty" maxItems:"10000"`
	Text         string    `json:"text,omitempty" doc:"Short for one user message."`
	Infer        *bool     `json:"infer,omitempty" doc:"false: keep the words, searchable, and learn nothing."`
	Wait         bool      `json:"wait,omitempty" doc:"Answer when the learning is done."`
	Conversation string    `json:"conversation,omitempty" maxLength:"256" doc:"Which one it continues; a new one unless given."`
	ParentID     *string   `json:"parent_id,omitempty" maxLength:"256" doc:"Your own id of the message that the first of these follows; empty for the beginning of the conversation. Messages that are kept there already are not kept twice. Others take the place of what followed it, as an edit or another answer does. At the end of the conversation unless given, or where no message has that id."`
	Project      string    `json:"project,omitempty" maxLength:"256"`
}

// Added is the result of AddMessages.
type Added struct {
	Conversation string   `json:"conversation"`
	Turns        []string `json:"turns" doc:"Ids of the turns, in order."`
	Job          string   `json:"job,omitempty" doc:"The learning, if any."`
	Memories     []Memory `json:"memories,omitempty" doc:"What was learned, where wait was asked."`
}

// SearchRequest is a question to memory.
type SearchRequest struct {
	Query          string        `json:"query" minLength:"1" maxLength:"100000"`
	TopK           *int          `json:"top_k,omitempty" minimum:"0" maximum:"500"`
	ScoreThreshold *float64      `json:"score_threshold,omitempty" minimum:"0" maximum:"1" doc:"Least relevance."`
	RecencyWeight  *float64      `json:"recency_weight,omitempty" minimum:"0" maximum:"1"`
	Kinds          []memory.Kind `json:"kinds,omitempty" doc:"All unless given." enum:"fact,turn,summary"`
	Conversation   string        `json:"conversation,omitempty" doc:"Only what was said or learned there; with learn.scope=conversation also what is the user's own, as in a chat there."`
	Project        string        `json:"project,omitempty"`
	Filters        Filters       `json:"filters,omitzero"`
	AsOf           *time.Time    `json:"as_of,omitempty" doc:"Search what was known then."`
	ValidAt        *time.Time    `json:"valid_at,omitempty" doc:"Search what was true then."`
	Explain        bool          `json:"explain,omitempty" doc:"Give each hit its why."`
	Block          bool          `json:"block,omitempty" doc:"Give the finished text for a prompt, too: of all that search finds or, with asked_in, as that chat would get it. While memory is paused there is none, and no hits."`
	AskedIn        string        `json:"asked_in,omitempty" maxLength:"256" doc:"With block: the conversation that asks. What was said there, and what only that taught, is left out, since the prompt holds it."`
	Core           bool          `json:"core,omitempty" doc:"With block: begin with who the user is, as the first block of a conversation does."`
}

// Filters narrow a search.
type Filters struct {
	Category string `json:"category,omitempty"`
	Tag      string `json:"tag,omitempty"`
}

// SearchAnswer is the search results, best first.
type SearchAnswer struct {
	Hits     []Hit    `json:"hits"`
	Trace    string   `json:"trace"`
	Degraded []string `json:"degraded,omitempty" doc:"Parts of recall that were skipped, and why."`

	Misspelt []memory.Misspelt `json:"misspelt,omitempty" doc:"Words of the question that memory does not have, and those of the hits that they were taken for."`

	Block string `json:"block,omitempty" doc:"The text for a prompt, where it was asked for."`
	Pause string `json:"pause,omitempty" doc:"With block: what is on hold." enum:"none,learning,memory"`
}

// ForgetFilter selects memories to forget, with the fields of lists and searches.
type ForgetFilter struct {
	Kinds        []memory.Kind `json:"kinds,omitempty" enum:"fact,turn,summary" doc:"Facts unless given. They do not narrow by themselves."`
	Tag          string        `json:"tag,omitempty"`
	Category     string        `json:"category,omitempty"`
	Project      string        `json:"project,omitempty"`
	Conversation string        `json:"conversation,omitempty" doc:"Said or learned there."`
	Text         string        `json:"q,omitempty" doc:"Words that the content holds."`
}

// ForgetRequest selects what to forget: the results of a query, ids, or a filter.
type ForgetRequest struct {
	Query  string        `json:"query,omitempty" maxLength:"100000"`
	IDs    []string      `json:"ids,omitempty" maxItems:"500" doc:"Give these or a query."`
	Filter *ForgetFilter `json:"filter,omitempty" doc:"Give this, a query or ids. All of what is named has to match, and something must be named."`
	Erase  bool          `json:"erase,omitempty" doc:"Remove the words for good, with all that says the same, forgotten or not. It cannot be undone."`
	DryRun bool          `json:"dry_run,omitempty" doc:"Only say what would go."`
}

// Forgotten is what was forgotten, or would be.
type Forgotten struct {
	Memories []Memory `json:"memories" doc:"What was erased comes without its words."`
	Run      string   `json:"run,omitempty" doc:"To undo it by, if it was forgotten."`
	Erased   bool     `json:"erased,omitempty" doc:"Or would be erased, in a dry run."`
	Traces   int      `json:"traces,omitempty" doc:"Of others, who were shown it by a pool or with everybody, that went with it."`
	Held     []string `json:"held,omitempty" doc:"Of an erasure: what may still hold the words and is not reached."`
	DryRun   bool     `json:"dry_run"`
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
	Before    *memory.Image `json:"before,omitempty"`
	After     *memory.Image `json:"after,omitempty"`
}

// Changes is a page of the journal, newest first.
type Changes struct {
	Changes []Change `json:"changes"`
	Next    string   `json:"next_cursor,omitempty"`
}

// ChangesQuery narrows the journal. Empty fields do not.
type ChangesQuery struct {
	Fact   string        `query:"fact" doc:"Changes of this fact, or in which it replaced or was replaced."`
	Action memory.Action `query:"action" enum:"add,update,reinforce,replace,retire,restore,approve,reject,link,unlink,undo,erase"`
	Run    string        `query:"run"`
	Runs   string        `query:"runs" maxLength:"512" doc:"How the ids of runs begin; of each run the first change alone."`
	Since  time.Time     `query:"since" doc:"Recorded later than this."`
	Limit  int           `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor string        `query:"cursor" doc:"next_cursor of the page before."`
}

// UndoRequest selects what to undo by exactly one of its first three fields.
type UndoRequest struct {
	Change  string     `json:"change,omitempty"`
	Run     string     `json:"run,omitempty"`
	ToTime  *time.Time `json:"to_time,omitempty" doc:"Undo everything recorded after."`
	Cascade bool       `json:"cascade,omitempty" doc:"Undo later changes of the same things first, instead of refusing."`
	DryRun  bool       `json:"dry_run,omitempty" doc:"Only say what would change."`
}

// Undone is what an undo changed, or would change.
type Undone struct {
	Receipt
	DryRun bool     `json:"dry_run"`
	Steps  []Change `json:"steps" doc:"What was changed or, in a dry run, would be."`
	Later  []Change `json:"later,omitempty" doc:"In a dry run: later changes of the same things, newest first. Without cascade they refuse the undo; the steps are those with it."`
}

// Receipt is the result of a change of memory.
type Receipt struct {
	Run     string    `json:"run" doc:"To undo it by."`
	Changes int       `json:"changes"`
	At      time.Time `json:"at,omitzero"`
	Traces  int       `json:"traces,omitempty" doc:"Of an erasure: traces of others, who were shown it by a pool or with everybody, that went with it."`
	Held    []string  `json:"held,omitempty" doc:"Of an erasure: what may still hold the words and is not reached."`
}

// Quote is the text that a fact rests on, within its turn. The turn's whole content is Before,
// Words and After, concatenated.
type Quote struct {
	Turn         string      `json:"turn"`
	Conversation string      `json:"conversation,omitempty"`
	Role         memory.Role `json:"role"`
	SaidAt       time.Time   `json:"said_at"`
	Before       string      `json:"before,omitempty"`
	Words        string      `json:"words,omitempty" doc:"The words themselves; none where only the turn is known."`
	After        string      `json:"after,omitempty"`
}

// Waiting is a pending fact with what a person needs to decide on it.
type Waiting struct {
	Memory    Memory        `json:"memory"`
	Reason    string        `json:"reason" doc:"Why it waits."`
	Author    memory.Author `json:"author" doc:"Who or what proposed it."`
	Quote     *Quote        `json:"quote,omitempty" doc:"What was said."`
	Conflicts []Memory      `json:"conflicts,omitempty" doc:"The user's own facts that it contradicts. Approving it takes their place; one with home, which another user shares, is left out of recall instead while they hold."`
}

// ReviewQuery selects a page of pending facts.
type ReviewQuery struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before."`
}

// Review is a page of pending facts, newest first.
type Review struct {
	Waiting []Waiting `json:"waiting"`
	Next    string    `json:"next_cursor,omitempty"`
}

// Judgement is a person's decision on a pending fact.
type Judgement struct {
	ID      string        `json:"id"`
	Action  memory.Action `json:"action" enum:"approve,reject"`
	Content string        `json:"content,omitempty" doc:"Better words, to approve instead. Not for what another user shares."`
	Seen    string        `json:"seen,omitempty" doc:"The words that were decided on. If the fact says something else by now, the request is refused with conflict."`
}

// ReviewRequest decides on pending facts, all or none.
type ReviewRequest struct {
	Judgements []Judgement `json:"judgements" minItems:"1" maxItems:"500"`
}

// Reviewed is the decided facts.
type Reviewed struct {
	Receipt
	Memories []Memory `json:"memories" doc:"The facts as they are now, in the order of the judgements."`
}

// Job is a running or waiting job.
type Job struct {
	ID           string          `json:"id"`
	Kind         memory.JobKind  `json:"kind"`
	State        memory.JobState `json:"state" enum:"queued,running,done,parked"`
	Conversation string          `json:"conversation,omitempty"`
	Attempts     int             `json:"attempts" doc:"Failed ones."`
	RunAt        time.Time       `json:"run_at"`
	CreatedAt    time.Time       `json:"created_at"`
	Error        string          `json:"error,omitempty"`
}

// Jobs is a list of jobs, newest first.
type Jobs struct {
	Jobs []Job `json:"jobs"`
}

// Health is the answer of GET /health. It never holds a key. Without the server's key a request
// gets Status and Version alone.
type Health struct {
	Status    string   `json:"status"`
	Version   string   `json:"version"`
	Profile   string   `json:"profile,omitempty"`
	Store     string   `json:"store,omitempty"`
	Search    string   `json:"search,omitempty"` // the resident index, and perhaps the database for the vectors of large users
	Vault     string   `json:"vault,omitempty" doc:"The folder that memory is in, for admins."`
	Embedder  string   `json:"embedder,omitempty"`
	Reranker  string   `json:"reranker,omitempty"`
	Upstream  string   `json:"upstream,omitempty" doc:"The upstream's URL for admins, for others whether one is set."`
	Models    []string `json:"models,omitempty"`
	Learns    string   `json:"learns,omitempty" doc:"Who learns: a model's name, the chat's own model, the built-in rules, or nobody."`
	TopK      int      `json:"top_k,omitempty"`
	Threshold float64  `json:"threshold,omitempty"`
	Better    string   `json:"better,omitempty" doc:"What would make recall better, with the command."`
	Warnings  []string `json:"warnings,omitempty" doc:"Mistakes in the setup that requests have shown since the start, such as a chat without a user, and models that are skipped for now, or that many questions of the last hour were answered without."`

	StrictModels []StrictModel `json:"strict_models,omitempty"` // models that get memory in the user's message, since they refused a separate one
}

// Values of [Ready].
const (
	StatusReady    = "ready"
	StatusDraining = "draining"
)

// Ready is whether a server takes requests, and other problems.
type Ready struct {
	Status   string   `json:"status" enum:"ready,draining" doc:"draining: it is about to stop, and answers 503."`
	Problems []string `json:"problems" doc:"What is wrong and takes no server out of the service, since another one would be no better: store (it does not answer, chats go on without memory), upstream (its last answers failed), disk (no room for what is written), jobs (some failed too often and are parked). Disk and jobs are looked at every few seconds."`
}

// StrictModel is a model of the upstream whose chat template refused a message of memory's own.
type StrictModel struct {
	Path  string    `json:"path"` // of the API that called it
	Model string    `json:"model"`
	Until time.Time `json:"until"` // when it is tried again
}

// Problem is the API's error (RFC 9457).
type Problem struct {
	Type   string      `json:"type,omitempty"`
	Title  string      `json:"title"`
	Status int         `json:"status"`
	Detail string      `json:"detail,omitempty"`
	Code   memory.Code `json:"code,omitempty"`
}
