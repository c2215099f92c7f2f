package memory

import (
	"context"
	"slices"
	"time"
)

// Store stores all data. The tests in package storetest check the contract in these comments.
//
// For all methods: an invalid owner is [Invalid]; other owners' data is neither read nor written; a cancelled
// context returns its error and writes nothing; times are returned in the form of [Time]; texts of any length
// in valid UTF-8 are returned unchanged; an empty list may be returned as nil and a nil list as empty;
// metadata may be returned as equivalent JSON with different bytes. "Now" is the time of the store's own
// clock. A limit above the maximum counts as the maximum; a cursor that the store did not return is
// [Invalid].
//
// The caller owns arguments and results: afterwards the store neither modifies nor retains them.
type Store interface {
	Facts
	TurnLog
	Queue
	IndexSource
	Traces
	Ledger
	Tombstones
	Eraser
	Audit
	// Close waits for operations in progress and releases all resources. Acknowledged writes are present when
	// the store is opened again. A second Close is a no-op.
	Close() error
}

// Facts stores facts, links, profile entries, relations, summaries, contexts and the journal. Only Apply
// and Erase change these records.
type Facts interface {
	// Get returns the memories with these ids in the order of ids, with any status. Unknown ids are skipped;
	// a repeated id returns its memory repeatedly. A link has the id of its fact.
	Get(ctx context.Context, owner Owner, ids ...string) ([]Memory, error)

	// List returns the matching memories, newest first (CreatedAt, then ID, both descending). A cursor
	// continues after the last returned memory: writes between two pages cause neither repeated nor missing
	// memories. [Query.Matches] defines a match; expiry is not checked.
	List(ctx context.Context, owner Owner, q Query) (Page, error)

	// Profile returns the active profile entries in order of key.
	Profile(ctx context.Context, owner Owner, at At) ([]ProfileEntry, error)

	// Relations returns the active relations of a fact, in both directions, ordered by From, To
	// and Kind.
	Relations(ctx context.Context, owner Owner, factID string, at At) ([]Relation, error)

	// Contexts returns the active contexts ordered by id: those in ids, or all if there are no ids.
	// A repeated id is returned once.
	Contexts(ctx context.Context, owner Owner, at At, ids ...string) ([]Context, error)

	// Changes returns the journal, newest first.
	Changes(ctx context.Context, owner Owner, q ChangeQuery) (ChangePage, error)

	// Counts returns an owner's counts.
	Counts(ctx context.Context, owner Owner) (Counts, error)

	// Owners returns all owners with at least one write, in order. Only maintenance of the whole store calls
	// it, no request of a user.
	Owners(ctx context.Context) ([]Owner, error)

	// VectorModels returns the fingerprints of the embedders of an owner's vectors, in order.
	VectorModels(ctx context.Context, owner Owner) ([]string, error)

	// Totals returns the counts over all owners, for metrics. No request of a user calls it.
	Totals(ctx context.Context) (Counts, error)

	// Apply makes the changes of a run in order, all or none. The same transaction writes the journal
	// entries, vectors and follow-up jobs, sets LearnedAt of learned turns and completes the run's job. The
	// owner's version rises by one; all changes get this version and the time of the owner's clock. The time
	// is now or, if the owner's last write is not earlier than now, a microsecond after that write: two writes
	// of an owner never have the same time. Each change applies to the result of the run's earlier changes.
	// Stored objects retain the times set by the caller; their Version is the run's version.
	//
	//   - A run with the id of an applied run is a no-op that returns the first
	//     receipt with Again set, even if its changes differ.
	//   - [LeaseLost]: run.Lease is not the job's current lease, or has expired.
	//   - [Conflict]: run.Base is not the owner's version, or is [BaseUnwritten] although the owner
	//     has a version; an add has an existing target (in any status); a link has an active target;
	//     another action has no existing target; the Base of a change is not the target's version;
	//     a replace or reinforce has a fact that is neither active nor pending.
	//   - [Duplicate]: a fact would be active or pending while another active or pending fact of the same scope
	//     has the same hash. Scopes are the same if all their fields are equal. Each change is checked against
	//     the state after the previous change.
	//   - [Invalid]: a change without a target, or with a target of another owner. The Fact of a
	//     link belongs to another owner; the Owner of the link must be owner. [Run.Check] has the full rules.
	//     If a run has several errors, Apply returns Invalid before LeaseLost, and LeaseLost before
	//     the Conflict or Duplicate of the first refused change.
	//   - A run without changes and vectors still completes its job, sets LearnedAt and
	//     queues follow-up jobs; the version does not change.
	//   - Learned turns that have a LearnedAt retain it, and unknown ids are ignored.
	//     LearnedAt is the run's time; setting it does not change a turn's Version.
	//   - A vector replaces the vector of the same memory and model. The memory gets the run's
	//     Version, so that Since yields it again. A vector of an unknown memory is ignored. A
	//     change of a memory's text deletes the vectors of the old text.
	//   - Jobs are queued as [JobQueued] with no attempts. They are created at the run's time,
	//     and due at RunAt, or at the run's time if RunAt is zero. A job with an existing id,
	//     in any state, is not changed.
	Apply(ctx context.Context, owner Owner, run Run, changes ...Change) (Receipt, error)
}

// TurnLog stores the conversations and their turns.
type TurnLog interface {
	// Append writes a batch in one transaction: the conversation if it is new, the turns with their vectors,
	// the changes of statuses and conversation, and the jobs. Existing turns are not changed, so a repeated
	// append has no further effect. If all turns exist, the batch is a no-op including changes and jobs; its
	// receipt has Again set and the owner's current version. Otherwise the owner's version rises by one; the
	// time comes from the owner's clock, as in Apply, and is the turns' RecordedAt.
	//
	// b.Changes follow the rules of Apply. The store makes them after it has written the turns, and records
	// them under b.Run. If this run was applied before, b.Changes are not made again; a batch that contains
	// nothing else is a no-op. [Batch.Check] defines which batches are [Invalid].
	//
	// [Conflict]: the batch has a [Path], but its turns and changes would produce another current path, since
	// another writer changed the conversation after the batch was planned. A batch with a path also conflicts
	// if it changes the status of a retired turn, or if one of its turns would be active in a conversation that
	// an earlier write has deleted.
	//
	// A new conversation gets all fields of b.Conversation except Version and MessageCount. An existing
	// conversation changes only MessageCount, UpdatedAt, which never goes back, and Title, if it is empty and
	// was never changed. CreatedAt and UpdatedAt are the time of the append if the batch has none.
	Append(ctx context.Context, owner Owner, b Batch) (Receipt, error)

	// Conversations returns conversations in their current state, most recently updated first (UpdatedAt,
	// then ID, both descending). The journal has the earlier states.
	Conversations(ctx context.Context, owner Owner, q ConversationQuery) (ConversationPage, error)

	// Turns returns turns in order of conversation, index and id.
	Turns(ctx context.Context, owner Owner, q TurnQuery) ([]Turn, error)
}

// Queue is a queue of jobs.
type Queue interface {
	// Claim gives the caller a lease on the job of these kinds that has been due longest (RunAt, then CreatedAt,
	// owner, kind and ID), except jobs of owners with a running job of the same kind. First, Claim ends all
	// expired leases of all kinds: a job with an expired lease becomes due again with [AbandonedError], which
	// counts as a failed attempt, or is parked after [MaxAttempts] failed or [MaxAbandoned] consecutive
	// abandoned attempts. The claim is durable when Claim returns. [NotFound] means that no job is due,
	// [Invalid] that the duration is not positive.
	Claim(ctx context.Context, kinds []JobKind, duration time.Duration) (Job, error)

	// Extend changes the end of a lease to now + duration and returns the new lease. [LeaseLost] means that
	// the lease has expired or is not the job's current lease.
	Extend(ctx context.Context, lease Lease, duration time.Duration) (Lease, error)

	// Finish ends an attempt that no run completed. It returns [LeaseLost] like Extend. An attempt that is
	// neither Done nor Deferred counts as failed. The job is parked if the outcome has Park, or after
	// [MaxAttempts] failures. Cause becomes the job's Error. The job is due at RetryAt, or now if RetryAt is zero.
	Finish(ctx context.Context, lease Lease, o Outcome) error

	// Jobs returns an owner's jobs, newest first (CreatedAt, then ID, both descending), in any of these states
	// or, without states, all jobs that are not done. A done job may be removed [DoneRetention] after it was
	// queued.
	Jobs(ctx context.Context, owner Owner, states ...JobState) ([]Job, error)

	// Requeue makes a parked job due now and clears its attempts and error. [Conflict] means that the job is
	// not parked, [NotFound] that it does not exist.
	Requeue(ctx context.Context, owner Owner, jobID string) error
}

// IndexSource is the interface through which an in-memory index follows a store.
type IndexSource interface {
	// Versions returns the owners' versions in the order of owners, read by one query. The version of an
	// owner without writes is 0.
	Versions(ctx context.Context, owners []Owner) ([]int64, error)

	// Since calls yield for each memory written after sinceVersion, once in its newest state, in order of
	// version and id. It returns the version of the database snapshot that contains all items. Active facts,
	// links to active facts, summaries, and turns with content have Memory set; expiry is not checked. All other
	// items have only Removed, ID and Version set, even if no earlier call yielded the memory. If sinceVersion
	// is 0, no item is Removed. Vectors are those of the named model, or nil. yield may call the store; if yield
	// returns an error, Since stops and returns the error. [Gone] means that the history after sinceVersion was
	// erased or that sinceVersion does not exist yet: call Since with version 0.
	Since(ctx context.Context, owner Owner, model string, sinceVersion int64, yield func(IndexItem) error) (int64, error)
}

// Traces stores a limited number of traces of requests. A crash may lose the newest traces.
type Traces interface {
	// SaveTraces writes traces and retains the newest maxPerOwner traces (by At, then ID) of each owner, or
	// fewer if the store limits their size. A trace replaces a stored trace with the same id.
	SaveTraces(ctx context.Context, maxPerOwner int, traces ...Trace) error

	// Trace returns a trace, or [NotFound] for an unknown id.
	Trace(ctx context.Context, owner Owner, id string) (Trace, error)

	// Traces returns the matching traces, newest first (At, then ID, both descending).
	Traces(ctx context.Context, owner Owner, q TraceQuery) ([]Trace, error)
}

// TraceQuery selects traces. An empty field selects all values.
type TraceQuery struct {
	Conversation string
	Door         string
	Limit        int // 0 means 50; at most 500
}

// Matches reports whether the query selects t.
func (q TraceQuery) Matches(t Trace) bool {
	return (q.Conversation == "" || q.Conversation == t.Conversation) && (q.Door == "" || q.Door == t.Door)
}

// At is a time on each of the two time axes. The zero At is the present. Results as of a past time are
// complete, except that Version is undefined.
type At struct {
	AsOf    time.Time // reads return memory as recorded at this time; zero means now
	ValidAt time.Time // reads return only facts that were true at this time; zero means now
}

// Query selects memories as defined by [Query.Matches]. An empty field selects all values. Project, Agent,
// Conversation and Turn never select a linked fact: its values belong to the sharing owner.
type Query struct {
	Kinds        []Kind   // nil selects facts
	Statuses     []Status // nil selects active memories; with ValidAt also superseded facts, which may have been true then
	Project      string
	Agent        string
	Conversation string // id of the conversation in the scope or the provenance
	Category     string
	Tag          string
	Text         string // text contained in the content, ignoring case
	IDPrefix     string // prefix of the id
	Subject      string // Subject, Attribute, Hash, Turn and Pinned select only facts
	Attribute    string
	Hash         string
	Turn         string // id of a turn in the provenance
	Pinned       bool
	At           At
	Limit        int // 0 means 50; at most 500
	Cursor       string
}

// Page is a page of memories. Next is the cursor of the next page, "" on the last page.
type Page struct {
	Memories []Memory
	Next     string
}

// ChangeQuery selects journal entries. An empty field selects all values. Entries are returned newest first:
// by version, then by position in the run.
type ChangeQuery struct {
	Target    string // as returned by [State.Target]
	Fact      string // id of a fact: selects changes with this fact or its link as target, or as OldID or NewID
	Run       string // id of a run
	RunPrefix string // prefix of run ids: returns only the first change of each such run
	ID        string // id of a change
	Action    Action
	After     time.Time // selects changes recorded after this time
	Limit     int       // 0 means 50; at most 500
	Cursor    string
}

// ChangePage is a page of the journal. Next is the cursor of the next page, "" on the last page.
type ChangePage struct {
	Changes []Change
	Next    string
}

// Counts are an owner's numbers of memories and other objects. A linked fact counts with the status of
// [Memory.Status].
type Counts struct {
	Facts         int `json:"facts"` // only active facts, including linked facts
	Pending       int `json:"pending"`
	Turns         int `json:"turns"`         // only active turns
	Summaries     int `json:"summaries"`     // only active summaries
	Conversations int `json:"conversations"` // only active conversations
	Contexts      int `json:"contexts"`      // only active contexts
	Changes       int `json:"changes"`
	JobsQueued    int `json:"jobs_queued"` // waiting jobs; running jobs are not included
	JobsParked    int `json:"jobs_parked"`

	JobsDue time.Time `json:"-"` // due time of the oldest queued job; zero if there is none
}

// Batch is the set of turns and changes that an exchange adds to a conversation.
type Batch struct {
	Conversation Conversation
	Turns        []Turn
	Vectors      []Vector
	Jobs         []Job
	Changes      []Change // changes of turns that enter or leave the current path, and of the conversation
	Run          string   // id of the run under which the journal records Changes
	Path         *Path    // current path required after the batch; nil allows any path
}

// Path is a conversation's current path from the index From on. Of two concurrent batches planned on the same
// path, the store refuses one.
type Path struct {
	After string   // id of the active turn at index From-1; "" if there is none
	From  int      // index of the first turn in Turns
	Turns []string // ids of the turns that may be active at index From or later
}

// Checker returns a function that reports whether a turn's current state agrees with the path.
func (p *Path) Checker() func(id string, index int, status Status) bool {
	onPath := make(map[string]bool, len(p.Turns))
	for _, id := range p.Turns {
		onPath[id] = true
	}
	return func(id string, index int, status Status) bool {
		if index < p.From {
			return status == Active || index < p.From-1 || id != p.After
		}
		return status != Active || onPath[id]
	}
}

// AllowsStatus reports whether a batch with a path may change a turn's status from previous to next: a
// retired turn must remain retired.
func (p *Path) AllowsStatus(previous, next Status) bool {
	return previous != Retired || next == Retired
}

// HasActiveTurn reports whether any turn that the batch adds or changes is active. It returns false if the
// batch deletes the conversation. statusOf returns a turn's status after the batch.
func (b *Batch) HasActiveTurn(statusOf func(turnID string) Status) bool {
	if b.Conversation.Status == Retired {
		return false
	}
	return slices.ContainsFunc(b.Turns, func(t Turn) bool { return statusOf(t.ID) == Active }) ||
		slices.ContainsFunc(b.Changes, func(c Change) bool { return c.After.Turn != nil && statusOf(c.After.Turn.ID) == Active })
}

// ConversationQuery selects conversations. An empty field selects all values.
type ConversationQuery struct {
	IDs      []string
	Project  string
	Statuses []Status // nil selects active conversations, or all if IDs is set
	Limit    int      // 0 means 50; at most 500
	Cursor   string
}

// ConversationPage is a page of conversations. Next is the cursor of the next page, "" on the last page.
type ConversationPage struct {
	Conversations []Conversation
	Next          string
}

// TurnQuery selects turns. An empty field selects all values. With AsOf it selects the turns recorded until
// AsOf, with the Status and LearnedAt that they had at AsOf.
type TurnQuery struct {
	Conversation string
	IDs          []string
	Chains       []string // selects turns with one of these values of [Turn.Chain]
	Refs         []string // selects turns with one of these values of [Turn.Ref]; several turns may have the same Ref
	Unlearned    bool     // selects user turns that may be learned from and have no LearnedAt
	Statuses     []Status // nil selects active turns, or all if Chains is set; active, replaced and retired together select every branch
	AsOf         time.Time
	Last         int // maximum number of turns of each conversation: only the newest are returned; 0 means all
}

// IndexItem is one written or removed memory for an in-memory index. ID and Version are always set. A linked
// fact has the Version of its link.
type IndexItem struct {
	Memory  Memory
	Vector  []float32
	Removed bool
	ID      string
	Version int64
}
