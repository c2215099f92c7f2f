package memory

import (
	"context"
	"time"
)

// Store keeps everything. Package storetest is its contract as tests; the
// comments here say what the tests hold it to.
//
// In every method: an owner that is not valid is [Invalid]; nothing of another
// owner is read or written; a cancelled context returns its error and writes
// nothing; times come back as [Time] makes them; texts of any length and any
// valid UTF-8 come back as they went in. "Now" is the store's own clock.
type Store interface {
	Facts
	Log
	Queue
	Source
	Traces
	// Close waits for what is under way and releases everything. What was
	// acknowledged is there when the store is opened again.
	Close() error
}

// Facts is what is known, and the one door by which it changes.
type Facts interface {
	// Get returns the memories with these ids in the order asked, whatever their
	// status. Ids that the owner does not have are left out.
	Get(ctx context.Context, owner Owner, ids ...string) ([]Memory, error)

	// List returns the memories that match, newest first (CreatedAt, then ID,
	// both descending). A cursor continues after the last one returned; what is
	// added meanwhile neither repeats nor hides anything.
	List(ctx context.Context, owner Owner, q Query) (Page, error)

	// Profile returns the active profile entries in order of key.
	Profile(ctx context.Context, owner Owner, at At) ([]ProfileEntry, error)

	// Relations returns the active relations of a fact, either way round.
	Relations(ctx context.Context, owner Owner, fact string, at At) ([]Relation, error)

	// Changes returns the journal, newest first.
	Changes(ctx context.Context, owner Owner, q ChangeQuery) (ChangePage, error)

	// Counts says how much there is.
	Counts(ctx context.Context, owner Owner) (Counts, error)

	// Totals says how much there is over all owners. It is for metrics; no
	// request of a user waits for it.
	Totals(ctx context.Context) (Counts, error)

	// Apply makes the changes of a run in order, all or none, in one transaction
	// together with their journal entries, vectors, follow-up jobs, the marks on
	// learned turns and the completion of the run's job. It raises the owner's
	// version by one and stamps changes with it and with the owner's clock, which
	// never goes back. Later changes of a run see earlier ones.
	//
	//   - A run whose id was applied before is a no-op that returns the first
	//     receipt with Again set, whatever its changes are now.
	//   - [LeaseLost]: run.Lease is not the job's current lease.
	//   - [Conflict]: an add whose target exists, any other action whose target
	//     does not, a Base that is not the target's version, a replace or
	//     reinforce of a fact that is not live.
	//   - [Duplicate]: a fact that is or becomes live while another live fact of
	//     the same scope has the same hash.
	//   - [Invalid]: a change without a target, or a target of another owner. A
	//     link's Fact is the other owner's by nature; its Owner must be owner.
	//   - A run without changes still completes its job, marks turns and queues
	//     follow-up jobs; it leaves the version as it is.
	Apply(ctx context.Context, owner Owner, run Run, changes ...Change) (Receipt, error)
}

// Log is what was said.
type Log interface {
	// Append writes a batch in one transaction: the conversation if it is new,
	// its turns, their vectors, the marks of a branch, and the jobs. Turns and
	// jobs are both there afterwards, or neither. Turns whose id is there already
	// are left as they are, so that appending twice equals once; if all of them
	// are, the batch is a no-op. It raises the owner's version by one.
	// A new conversation takes the batch's fields; an old one keeps its own, but
	// for UpdatedAt, MessageCount, and a Title where it had none.
	Append(ctx context.Context, owner Owner, b Batch) (Receipt, error)

	// Conversations returns conversations, most recently updated first.
	Conversations(ctx context.Context, owner Owner, q ConversationQuery) (ConversationPage, error)

	// Turns returns turns in order of conversation, index and id.
	Turns(ctx context.Context, owner Owner, q TurnQuery) ([]Turn, error)
}

// Queue is the work to be done.
type Queue interface {
	// Claim leases the job that has been due the longest among these kinds to
	// the caller, skipping owners that already have a running job of that kind.
	// A job whose lease ran out is due again; that counts as a failed attempt, and
	// past [MaxAttempts] it is parked instead. With nothing due it returns
	// [NotFound].
	Claim(ctx context.Context, kinds []JobKind, lease time.Duration) (Job, error)

	// Extend moves the end of a lease to lease from now and returns the new one.
	// [LeaseLost] if it is no longer the job's.
	Extend(ctx context.Context, held Lease, lease time.Duration) (Lease, error)

	// Finish ends an attempt that no run completed. [LeaseLost] as above.
	Finish(ctx context.Context, held Lease, o Outcome) error

	// Jobs returns an owner's jobs, newest first, in any of the given states; none
	// given means all but done ones.
	Jobs(ctx context.Context, owner Owner, states ...JobState) ([]Job, error)

	// Requeue makes a parked job due now with its failures forgotten. [Conflict]
	// if it is not parked.
	Requeue(ctx context.Context, owner Owner, job string) error
}

// Source is what a resident index follows.
type Source interface {
	// Versions returns each owner's version, 0 for one never written, in the
	// order asked, in one query.
	Versions(ctx context.Context, owners []Owner) ([]int64, error)

	// Since calls yield for everything recall may see that was written after the
	// given version, in version order, and for what recall may see no more
	// (Removed; only the ids are set), and returns the version that the whole is
	// a snapshot of. From 0 it yields what is visible, without removals. Vectors
	// are those of the named model, nil where there is none. yield's error ends
	// it and is returned. [Gone]: the version is of a history that was erased;
	// start from 0.
	Since(ctx context.Context, owner Owner, model string, after int64, yield func(Item) error) (int64, error)
}

// Traces is a bounded record of requests. It may be lost in a crash.
type Traces interface {
	// SaveTraces writes traces and keeps the newest keep of each owner among them.
	SaveTraces(ctx context.Context, keep int, traces ...Trace) error

	// Trace returns one, or [NotFound].
	Trace(ctx context.Context, owner Owner, id string) (Trace, error)
}

// At is a point on both axes of time. The zero At is the present.
type At struct {
	AsOf    time.Time // what had been recorded then; zero: all
	ValidAt time.Time // what was true then; zero: whatever is current
}

// Query selects memories. Empty fields do not narrow.
type Query struct {
	Kinds        []Kind   // none: facts
	Statuses     []Status // none: active; with ValidAt also superseded, whose time may be meant
	Project      string
	Agent        string
	Conversation string // that the memory's scope or provenance names
	Category     string
	Tag          string
	Text         string // contained in the content, whatever the case
	Subject      string // of facts, as are the next four
	Attribute    string
	Hash         string
	Turn         string // that the provenance names
	Pinned       bool
	At           At
	Limit        int // 0: 50; at most 500
	Cursor       string
}

// Page is a piece of a list. Next is "" at its end.
type Page struct {
	Memories []Memory
	Next     string
}

// ChangeQuery selects journal entries. Empty fields do not narrow.
type ChangeQuery struct {
	Target string // as [Image.Target] writes it
	Fact   string // an id: changes whose target, OldID or NewID it is
	Run    string
	ID     string
	Action Action
	After  time.Time // recorded later than this
	Limit  int       // 0: 50; at most 500
	Cursor string
}

// ChangePage is a piece of the journal. Next is "" at its end.
type ChangePage struct {
	Changes []Change
	Next    string
}

// Counts is how much there is.
type Counts struct {
	Facts         int `json:"facts"` // active, own and linked
	Pending       int `json:"pending"`
	Turns         int `json:"turns"` // active
	Summaries     int `json:"summaries"`
	Conversations int `json:"conversations"`
	Changes       int `json:"changes"`
	JobsQueued    int `json:"jobs_queued"`
	JobsParked    int `json:"jobs_parked"`
}

// Batch is what one exchange adds to a conversation.
type Batch struct {
	Conversation Conversation
	Turns        []Turn
	Vectors      []Vector
	Jobs         []Job
	Marks        []Change // of turns only: what leaves or rejoins the current path
	Run          string   // the run that the marks are journalled under
}

// ConversationQuery selects conversations. Empty fields do not narrow.
type ConversationQuery struct {
	IDs     []string
	Project string
	Limit   int // 0: 50; at most 500
	Cursor  string
}

// ConversationPage is a piece of the list. Next is "" at its end.
type ConversationPage struct {
	Conversations []Conversation
	Next          string
}

// TurnQuery selects turns. Empty fields do not narrow.
type TurnQuery struct {
	Conversation string
	IDs          []string
	Chains       []string // turns that end one of these paths
	Unlearned    bool     // user turns with neither LearnedAt nor NoLearn
	Statuses     []Status // none: active; use all three to see every branch
	AsOf         time.Time
	Last         int // the last so many of each conversation; 0: all
}

// Item is one step of what a resident index follows.
type Item struct {
	Memory  Memory
	Vector  []float32
	Removed bool
	ID      string
	Version int64
}
