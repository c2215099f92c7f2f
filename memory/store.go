package memory

import (
	"context"
	"slices"
	"time"
)

// Store stores all data. The tests in package storetest check the contract that the comments here
// define.
//
// For all methods: an invalid owner is [Invalid]; no other owner's data is read or written; a
// cancelled context returns its error and writes nothing; times are returned in the form of [Time];
// texts of any length in valid UTF-8 are returned unchanged; an empty list may be returned as nil
// and a nil list as empty; metadata may be returned as equivalent JSON with different bytes. "Now"
// is the time of the store's own clock. A limit above the maximum means the maximum; a cursor that
// the store did not return is [Invalid].
//
// Arguments and results belong to the caller: neither side keeps a slice or pointer that the other
// side may write to.
type Store interface {
	Facts
	Log
	Queue
	Source
	Traces
	Ledger
	Tombstones
	Eraser
	Audit
	// Close waits for operations in progress and releases all resources. Acknowledged writes exist
	// when the store is opened again. Closing twice is a no-op.
	Close() error
}

// Facts stores the facts and all other things except turns. Apply is the only method that changes
// them.
type Facts interface {
	// Get returns the memories with these ids in order, with any status. Unknown ids are skipped; a
	// repeated id is returned repeatedly. A link is found by its fact's id.
	Get(ctx context.Context, owner Owner, ids ...string) ([]Memory, error)

	// List returns the memories that match, newest first (CreatedAt, then ID, both descending). A
	// cursor continues after the last memory returned; concurrent additions cause neither repeated
	// nor missing memories. [Query.Matches] defines a match; expiry is not checked.
	List(ctx context.Context, owner Owner, q Query) (Page, error)

	// Profile returns the active profile entries in order of key.
	Profile(ctx context.Context, owner Owner, at At) ([]ProfileEntry, error)

	// Relations returns the active relations of a fact, in both directions, ordered by From, To
	// and Kind.
	Relations(ctx context.Context, owner Owner, fact string, at At) ([]Relation, error)

	// Contexts returns the active contexts ordered by id: those in ids, or all if there are no ids.
	// A repeated id is returned once.
	Contexts(ctx context.Context, owner Owner, at At, ids ...string) ([]Context, error)

	// Changes returns the journal, newest first.
	Changes(ctx context.Context, owner Owner, q ChangeQuery) (ChangePage, error)

	// Counts returns an owner's counts.
	Counts(ctx context.Context, owner Owner) (Counts, error)

	// Owners returns every owner that was ever written to, in order. Only maintenance of all memory
	// uses it, no request of a user.
	Owners(ctx context.Context) ([]Owner, error)

	// VectorModels returns the models of an owner's vectors, in order.
	VectorModels(ctx context.Context, owner Owner) ([]string, error)

	// Totals returns the counts over all owners. It is for metrics; no user's request waits for it.
	Totals(ctx context.Context) (Counts, error)

	// Apply makes the changes of a run in order, all or none. The same transaction writes their
	// journal entries, vectors and follow-up jobs, marks learned turns and completes the run's job.
	// The owner's version rises by one; the changes get it and the time of the owner's clock. That
	// is now, or a microsecond after the owner's last write if that is later: no two writes of an
	// owner have the same time. Later changes of a run see earlier ones. Stored things keep the
	// times that the caller set; their Version is the run's.
	//
	//   - A run whose id was applied before is a no-op that returns the first
	//     receipt with Again set, even if its changes differ.
	//   - [LeaseLost]: run.Lease is not the job's current lease, or it has expired.
	//   - [Conflict]: run.Base is not the owner's version, or is [Unwritten] although the owner
	//     has a version; an add has an existing target (in any status); a link has an active target;
	//     another action has no existing target; a Base is not the target's version; a replace or
	//     reinforce concerns a fact that is not live.
	//   - [Duplicate]: a fact is or becomes live while another live fact of the same scope has
	//     the same hash. Scopes are the same if all their fields are. Each change is checked
	//     against the state after the previous one.
	//   - [Invalid]: a change without a target, or with a target of another owner. For a link,
	//     Fact belongs to another owner and Owner must be owner. [Run.Check] has the full rules.
	//     If several errors apply, Invalid comes first, then LeaseLost, then Conflict before
	//     Duplicate of the first change that has an error.
	//   - A run without changes and vectors still completes its job, marks turns and
	//     queues follow-up jobs; the version does not change.
	//   - Learned turns with a LearnedAt keep it, and unknown ids are ignored.
	//     LearnedAt is the run's time; it does not change a turn's Version.
	//   - A vector replaces the vector of the same memory and model. The memory gets the run's
	//     Version, so that Since yields it again. Vectors of unknown memories are ignored. A
	//     change of a memory's text deletes the vectors of the old text.
	//   - Jobs are queued as [JobQueued] with no attempts. They are created at the run's time,
	//     and due then or at RunAt if that is set. A job whose id exists, in any state,
	//     is not changed.
	Apply(ctx context.Context, owner Owner, run Run, changes ...Change) (Receipt, error)
}

// Log stores the conversations and their turns.
type Log interface {
	// Append writes a batch in one transaction: the conversation if it is new, its turns with their
	// vectors, the marks of a branch, and the jobs. Existing turns are not changed, so appending
	// twice has the effect of appending once; if all turns exist, the batch is a no-op including
	// marks and jobs, and its receipt has Again set and the owner's current version. Otherwise the
	// owner's version rises by one; the time comes from the owner's clock, as in Apply, and is the
	// turns' RecordedAt.
	//
	// Marks are changes as in Apply. They are made after the turns are written, and recorded under
	// their run. Marks of a run that was applied before are not made again; a batch with nothing
	// else is then a no-op too. [Batch.Check] defines what is [Invalid].
	//
	// [Conflict]: the batch has a [Path], but its turns and marks would lead to another current
	// path, since somebody wrote to the conversation after the batch was planned. A batch with a
	// path also conflicts if a mark would change the status of a retired turn, or if a turn that it
	// adds or marks would be active in a deleted conversation, unless the batch itself marks the
	// conversation as deleted.
	//
	// A new conversation takes all fields of the batch except Version and MessageCount. An existing
	// one keeps its fields, except MessageCount, an empty Title that was never changed, and
	// UpdatedAt, which never goes back. CreatedAt and UpdatedAt are the time of the append if the
	// batch has none.
	Append(ctx context.Context, owner Owner, b Batch) (Receipt, error)

	// Conversations returns conversations, most recently updated first (UpdatedAt, then ID, both
	// descending), in their current state: the journal has earlier ones.
	Conversations(ctx context.Context, owner Owner, q ConversationQuery) (ConversationPage, error)

	// Turns returns turns in order of conversation, index and id.
	Turns(ctx context.Context, owner Owner, q TurnQuery) ([]Turn, error)
}

// Queue is the queue of jobs.
type Queue interface {
	// Claim leases to the caller the job of these kinds that has been due longest (RunAt, then
	// CreatedAt, owner, kind and ID), skipping owners with a running job of that kind. Before that
	// it ends every expired lease, of any kind: such a job is due again with [AbandonedError],
	// which counts as a failed attempt, or is parked after [MaxAttempts] failed or [MaxAbandoned]
	// consecutive abandoned attempts. The claim is durable when Claim returns. [NotFound]: no job
	// is due. [Invalid]: the lease is not positive.
	Claim(ctx context.Context, kinds []JobKind, lease time.Duration) (Job, error)

	// Extend makes a lease end after the time lease from now, and returns the new lease.
	// [LeaseLost]: the lease has expired or is not the job's current one.
	Extend(ctx context.Context, held Lease, lease time.Duration) (Lease, error)

	// Finish ends an attempt that no run completed. [LeaseLost] as above. Unless the outcome is
	// done or deferred, the attempt counts as failed; the job is parked if the outcome requires it
	// or this was the last of [MaxAttempts]. Cause becomes the job's Error. The job is due at
	// RetryAt, or now if RetryAt is zero.
	Finish(ctx context.Context, held Lease, o Outcome) error

	// Jobs returns an owner's jobs, newest first (CreatedAt, then ID, both descending), in any of
	// these states; without states all except done ones. A done job may be removed an hour after it
	// was queued.
	Jobs(ctx context.Context, owner Owner, states ...JobState) ([]Job, error)

	// Requeue makes a parked job due now and clears its attempts and error. [Conflict]: the job is
	// not parked. [NotFound]: it does not exist.
	Requeue(ctx context.Context, owner Owner, job string) error
}

// Source is the interface through which an index in memory follows a store.
type Source interface {
	// Versions returns the owners' versions in the given order, 0 for an owner never written to, in
	// one query.
	Versions(ctx context.Context, owners []Owner) ([]int64, error)

	// Since calls yield for everything written after the given version, once in its newest state,
	// in order of version and id. It returns the version of the snapshot that all items belong to.
	// Searches may return active facts, links to active facts, summaries, and turns with content;
	// expiry is not checked. For other items Removed is set, and only id and version. A removed
	// item may be unknown to the caller. From version 0 there are no removed items. Vectors are
	// those of the named model, or nil. yield may call the store; if it returns an error, Since
	// stops and returns the error. [Gone]: the version's history was erased, or the version does
	// not exist yet; start from 0.
	Since(ctx context.Context, owner Owner, model string, after int64, yield func(Item) error) (int64, error)
}

// Traces stores a limited number of traces of requests. A crash may lose some.
type Traces interface {
	// SaveTraces writes traces and keeps the newest keep (At, then ID) of each of their owners, or
	// fewer if the store bounds their bytes. A trace with an existing id replaces it.
	SaveTraces(ctx context.Context, keep int, traces ...Trace) error

	// Trace returns a trace, or [NotFound].
	Trace(ctx context.Context, owner Owner, id string) (Trace, error)

	// Traces returns the traces that match, newest first (At, then ID, both descending).
	Traces(ctx context.Context, owner Owner, q TraceQuery) ([]Trace, error)
}

// TraceQuery selects traces. An empty field selects all.
type TraceQuery struct {
	Conversation string
	Door         string
	Limit        int // 0: 50; at most 500
}

// Matches reports whether the query selects a trace.
func (q TraceQuery) Matches(t Trace) bool {
	return (q.Conversation == "" || q.Conversation == t.Conversation) && (q.Door == "" || q.Door == t.Door)
}

// At is a point on both time axes. The zero At is the present. Results as of a past time are
// complete, except that Version is undefined.
type At struct {
	AsOf    time.Time // what was recorded at this time; zero: everything
	ValidAt time.Time // what was true at this time; zero: the present
}

// Query selects memories as [Query.Matches] defines. An empty field selects all. Project, Agent,
// Conversation and Turn never match a linked fact, whose values belong to the sharing owner.
type Query struct {
	Kinds        []Kind   // nil: facts
	Statuses     []Status // nil: active; with ValidAt also superseded ones, which may have been true at that time
	Project      string
	Agent        string
	Conversation string // in the scope or the provenance
	Category     string
	Tag          string
	Text         string // text contained in the content, ignoring case
	Begins       string // prefix of the id
	Subject      string // selects facts, like the next four fields
	Attribute    string
	Hash         string
	Turn         string // a turn in the provenance
	Pinned       bool
	At           At
	Limit        int // 0: 50; at most 500
	Cursor       string
}

// Page is a page of memories. Next is "" on the last page.
type Page struct {
	Memories []Memory
	Next     string
}

// ChangeQuery selects journal entries. An empty field selects all. Entries are ordered by version,
// then by position in the run, newest first.
type ChangeQuery struct {
	Target string // in the form of [Image.Target]
	Fact   string // id: changes whose target is this fact or link, or with this OldID or NewID
	Run    string
	Runs   string // prefix of run ids: returns only the first change of each such run
	ID     string
	Action Action
	After  time.Time // recorded after this time
	Limit  int       // 0: 50; at most 500
	Cursor string
}

// ChangePage is a page of the journal. Next is "" on the last page.
type ChangePage struct {
	Changes []Change
	Next    string
}

// Counts holds numbers of things. The status of a linked fact is that of [Memory.Status].
type Counts struct {
	Facts         int `json:"facts"` // active, including linked facts
	Pending       int `json:"pending"`
	Turns         int `json:"turns"`         // active
	Summaries     int `json:"summaries"`     // active
	Conversations int `json:"conversations"` // active
	Contexts      int `json:"contexts"`      // active
	Changes       int `json:"changes"`
	JobsQueued    int `json:"jobs_queued"` // not including running jobs
	JobsParked    int `json:"jobs_parked"`

	JobsDue time.Time `json:"-"` // due time of the oldest queued job; zero if none is queued
}

// Batch is what one exchange adds to a conversation.
type Batch struct {
	Conversation Conversation
	Turns        []Turn
	Vectors      []Vector
	Jobs         []Job
	Marks        []Change // changes of turns that leave or rejoin the current path, and of the conversation
	Run          string   // id of the journal's run for the marks
	Path         *Path    // the current path that must result; nil: any
}

// Path is a conversation's current path from an index on. If two concurrent batches were planned on
// the same path, the store refuses one of them.
type Path struct {
	After string   // id of the active turn before From; "": none
	From  int      // index of the first of Turns
	Turns []string // ids of the turns that may be active from From on
}

// Check returns a function that reports whether the current state of one of the conversation's
// turns agrees with the path.
func (p *Path) Check() func(id string, index int, status Status) bool {
	on := make(map[string]bool, len(p.Turns))
	for _, id := range p.Turns {
		on[id] = true
	}
	return func(id string, index int, status Status) bool {
		if index < p.From {
			return status == Active || index < p.From-1 || id != p.After
		}
		return status != Active || on[id]
	}
}

// Marks reports whether a batch with a path may change a turn's status from was to next: a
// forgotten turn must stay forgotten.
func (p *Path) Marks(was, next Status) bool { return was != Retired || next == Retired }

// Speaks reports whether any turn that the batch adds or marks is active in a conversation that the
// batch does not mark as deleted. status returns a turn's resulting status.
func (b *Batch) Speaks(status func(turn string) Status) bool {
	if b.Conversation.Status == Retired {
		return false
	}
	return slices.ContainsFunc(b.Turns, func(t Turn) bool { return status(t.ID) == Active }) ||
		slices.ContainsFunc(b.Marks, func(c Change) bool { return c.After.Turn != nil && status(c.After.Turn.ID) == Active })
}

// ConversationQuery selects conversations. An empty field selects all.
type ConversationQuery struct {
	IDs      []string
	Project  string
	Statuses []Status // nil: active or, with IDs, all
	Limit    int      // 0: 50; at most 500
	Cursor   string
}

// ConversationPage is a page of conversations. Next is "" on the last page.
type ConversationPage struct {
	Conversations []Conversation
	Next          string
}

// TurnQuery selects turns. An empty field selects all. With a past time it selects the turns
// recorded by then, with their Status and LearnedAt of that time.
type TurnQuery struct {
	Conversation string
	IDs          []string
	Chains       []string // turns whose Chain is one of these
	Refs         []string // values of [Turn.Ref]; many turns may have the same one
	Unlearned    bool     // user turns with no LearnedAt that may be learned from
	Statuses     []Status // nil: active or, with Chains, all; with all three statuses, every branch
	AsOf         time.Time
	Last         int // return only the last n matching turns of each conversation; 0: all
}

// Item is one change that an index in memory follows. ID and Version are always set. Version is the
// memory's version, or for a link the link's.
type Item struct {
	Memory  Memory
	Vector  []float32
	Removed bool
	ID      string
	Version int64
}
