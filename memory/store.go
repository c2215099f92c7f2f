package memory

import (
	"context"
	"slices"
	"time"
)

// Store keeps everything. Package storetest is its contract as tests; the
// comments here say what the tests hold it to.
//
// In every method: an owner that is not valid is [Invalid]; nothing of another
// owner is read or written; a cancelled context returns its error and writes
// nothing; times come back as [Time] makes them; texts of any length and any
// valid UTF-8 come back as they went in; an empty list may come back as nil and
// the other way round, and metadata as other bytes of the same JSON. "Now" is the
// store's own clock. A limit over its maximum counts as the maximum; a cursor that
// the store did not give is [Invalid].
//
// What goes in and what comes out is the caller's alone: neither side keeps a
// slice or pointer that the other may write to.
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
	// Close waits for operations in progress and releases everything. Acknowledged writes are
	// there when the store is opened again. Closing twice is a no-op.
	Close() error
}

// Facts holds the facts and other things, and the one method that changes them.
type Facts interface {
	// Get returns the memories with these ids in order, whatever their status. Unknown ids are
	// left out; a repeated id is returned repeatedly. A link is found by its fact's id.
	Get(ctx context.Context, owner Owner, ids ...string) ([]Memory, error)

	// List returns the memories that match, newest first (CreatedAt, then ID, both descending). A
	// cursor continues after the last one returned; concurrent additions neither repeat nor hide
	// anything. [Query.Matches] defines the match; expiry is not checked.
	List(ctx context.Context, owner Owner, q Query) (Page, error)

	// Profile returns the active profile entries in order of key.
	Profile(ctx context.Context, owner Owner, at At) ([]ProfileEntry, error)

	// Relations returns the active relations of a fact, in both directions, ordered by From, To
	// and Kind.
	Relations(ctx context.Context, owner Owner, fact string, at At) ([]Relation, error)

	// Contexts returns the active contexts ordered by id: those of ids, or all without ids. A
	// repeated id is returned once.
	Contexts(ctx context.Context, owner Owner, at At, ids ...string) ([]Context, error)

	// Changes returns the journal, newest first.
	Changes(ctx context.Context, owner Owner, q ChangeQuery) (ChangePage, error)

	// Counts returns an owner's counts.
	Counts(ctx context.Context, owner Owner) (Counts, error)

	// Owners returns every owner ever written, in order. It is for maintenance of all memory; no
	// user's request uses it.
	Owners(ctx context.Context) ([]Owner, error)

	// VectorModels returns the models of an owner's vectors, in order.
	VectorModels(ctx context.Context, owner Owner) ([]string, error)

	// Totals returns the counts over all owners. It is for metrics; no user's request waits for
	// it.
	Totals(ctx context.Context) (Counts, error)

	// Apply makes the changes of a run in order, all or none, in one transaction
	// together with their journal entries, vectors, follow-up jobs, the marks on
	// learned turns and the completion of the run's job. It raises the owner's
	// version by one and stamps changes with it and with the owner's clock. That is
	// now, or a microsecond after the owner's last write if now is not later than
	// it: no two writes of an owner share a time. Later changes of a run see earlier
	// ones. What is written keeps the writer's own times; its Version is the run's.
	//
	//   - A run whose id was applied before is a no-op that returns the first
	//     receipt with Again set, whatever its changes are now.
	//   - [LeaseLost]: run.Lease is not the job's current lease, or it ran out.
	//   - [Conflict]: run.Base is not the owner's version, or is [Unwritten] and the owner
	//     has one; an add whose target exists in any status, a link whose target is active, any other action whose target does not exist, a Base that is
	//     not the target's version, a replace or reinforce of a fact that is not
	//     live.
	//   - [Duplicate]: a fact that is or becomes live while another live fact of
	//     the same scope has the same hash.
	//     Scopes are the same if all their fields are. It is judged change by change.
	//   - [Invalid]: a change without a target, or a target of another owner. A
	//     link's Fact is the other owner's by nature; its Owner must be owner.
	//     [Run.Check] says it all. Where several errors apply, they come in the
	//     order Invalid, LeaseLost, then Conflict before Duplicate of the first
	//     change that has one.
	//   - A run without changes and vectors still completes its job, marks turns and
	//     queues follow-up jobs; it leaves the version as it is.
	//   - Learned turns that have a LearnedAt keep it, and ids of no turn are left
	//     out. LearnedAt is the run's time; it does not change a turn's Version.
	//   - A vector takes the place of the same memory's by the same model. The memory
	//     takes the run's Version, so that it comes again in Since. Vectors of what
	//     the owner does not have are left out. Vectors are of words: a change that
	//     alters a memory's words drops those that it had before.
	//   - Jobs are queued as [JobQueued] with no attempts, created at the run's time
	//     and due then, or at RunAt if that is set. An id that is there already, in
	//     any state, is left as it is.
	Apply(ctx context.Context, owner Owner, run Run, changes ...Change) (Receipt, error)
}

// Log holds the conversations and their turns.
type Log interface {
	// Append writes a batch in one transaction: the conversation if it is new,
	// its turns, their vectors, the marks of a branch, and the jobs. Turns and
	// jobs are both there afterwards, or neither. Turns whose id is there already
	// are left as they are, so that appending twice equals once; if all of them
	// are, the batch is a no-op, marks and jobs included, and its receipt has Again
	// set and the owner's version as it is. It raises the owner's version by one
	// and takes its time from the owner's clock, as Apply does; that is the turns'
	// RecordedAt.
	//
	// Marks are changes as in Apply, made after the turns are there and recorded
	// under their run; those of a run that was applied before are not made again,
	// and a batch of nothing else is a no-op too. [Batch.Check] says what is
	// [Invalid].
	//
	// [Conflict]: the batch has a [Path], and after its turns and marks the current path
	// would be another: somebody wrote to the conversation since that was planned. So it is
	// of such a batch if a mark, of any turn wherever it stands, gives another status to one
	// that was taken out of memory, and if a turn that the batch adds or marks would be
	// active in a conversation that is deleted, unless the batch says itself that it is.
	//
	// A new conversation takes the batch's fields but for Version and MessageCount; an
	// old one keeps its own, but for MessageCount, a Title where it had none and was
	// never changed, and UpdatedAt, which never goes back. Its CreatedAt and UpdatedAt
	// are the append's time where the batch has none.
	Append(ctx context.Context, owner Owner, b Batch) (Receipt, error)

	// Conversations returns conversations, most recently updated first (UpdatedAt, then ID, both
	// descending), in their current state: the journal has earlier ones.
	Conversations(ctx context.Context, owner Owner, q ConversationQuery) (ConversationPage, error)

	// Turns returns turns in order of conversation, index and id.
	Turns(ctx context.Context, owner Owner, q TurnQuery) ([]Turn, error)
}

// Queue is the queue of jobs.
type Queue interface {
	// Claim leases the job that has been due the longest among these kinds (RunAt,
	// then CreatedAt, owner, kind and ID) to the caller, skipping owners that already have
	// a running job of that kind. First it takes back every lease that ran out, of
	// any kind: such a job is due again with [AbandonedError], which counts as a failed
	// attempt. At [MaxAttempts] of them, or at [MaxAbandoned] abandoned in a row, it is parked
	// instead. The claim is durable when Claim returns. With nothing due it returns [NotFound]. A lease that is not longer than nothing is [Invalid].
	Claim(ctx context.Context, kinds []JobKind, lease time.Duration) (Job, error)

	// Extend moves the end of a lease to lease from now and returns the new one.
	// [LeaseLost] if it is no longer the job's or ran out, claimed again or not.
	Extend(ctx context.Context, held Lease, lease time.Duration) (Lease, error)

	// Finish ends an attempt that no run completed. [LeaseLost] as above. Unless it is done or
	// deferred, the attempt failed: it is counted, and the job is parked if the outcome requires
	// it or this was the last of [MaxAttempts]. Its Cause becomes the job's Error, and it is due
	// at RetryAt, or now without one.
	Finish(ctx context.Context, held Lease, o Outcome) error

	// Jobs returns an owner's jobs, newest first (CreatedAt, then ID, both descending), in any of
	// these states; without states all but done ones. A done job may be removed an hour after it
	// was queued.
	Jobs(ctx context.Context, owner Owner, states ...JobState) ([]Job, error)

	// Requeue makes a parked job due now with attempts and error cleared. [Conflict] if it is not
	// parked, [NotFound] if there is none.
	Requeue(ctx context.Context, owner Owner, job string) error
}

// Source is the interface that a resident index follows.
type Source interface {
	// Versions returns each owner's version, 0 for one never written, in the
	// order asked, in one query.
	Versions(ctx context.Context, owners []Owner) ([]int64, error)

	// Since calls yield for everything recall may see that was written after the
	// given version, once in its newest state, in order of version and id, and for
	// what recall may not see (Removed; only id and version are set), and returns
	// the version that the whole is a snapshot of. What recall may see is active
	// facts, links (to active facts), summaries, and turns that have content; expiry
	// is not judged. A removal may be of something that the caller never saw. From 0
	// it yields what is visible, without removals. Vectors are those of the named
	// model, nil where there is none. yield may call the store; its error ends it
	// and is returned. [Gone]: the version is of a history that was erased, or not
	// reached yet; start from 0.
	Since(ctx context.Context, owner Owner, model string, after int64, yield func(Item) error) (int64, error)
}

// Traces is a bounded record of requests. It may be lost in a crash.
type Traces interface {
	// SaveTraces writes traces and keeps the newest keep (At, then ID) of each of their owners, or
	// fewer if the store bounds their bytes. A trace with an existing id replaces it.
	SaveTraces(ctx context.Context, keep int, traces ...Trace) error

	// Trace returns a trace, or [NotFound].
	Trace(ctx context.Context, owner Owner, id string) (Trace, error)

	// Traces returns the traces that match, newest first (At, then ID, both descending).
	Traces(ctx context.Context, owner Owner, q TraceQuery) ([]Trace, error)
}

// TraceQuery selects traces. Empty fields do not narrow.
type TraceQuery struct {
	Conversation string
	Door         string
	Limit        int // 0: 50; at most 500
}

// Matches reports whether the query selects a trace.
func (q TraceQuery) Matches(t Trace) bool {
	return (q.Conversation == "" || q.Conversation == t.Conversation) && (q.Door == "" || q.Door == t.Door)
}

// At is a point on both axes of time. The zero At is the present. Reads as of a time are complete,
// except that Version is undefined.
type At struct {
	AsOf    time.Time // what was recorded then; zero: everything
	ValidAt time.Time // what was true then; zero: the present
}

// Query selects memories, as [Query.Matches] defines. Empty fields do not narrow. Project, Agent,
// Conversation and Turn never match a linked fact: its values are those of its home.
type Query struct {
	Kinds        []Kind   // none: facts
	Statuses     []Status // none: active; with ValidAt also superseded, which may have been true then
	Project      string
	Agent        string
	Conversation string // in the memory's scope or provenance
	Category     string
	Tag          string
	Text         string // contained in the content, ignoring case
	Begins       string // prefix of the id
	Subject      string // of facts, as are the next four
	Attribute    string
	Hash         string
	Turn         string // in the provenance
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

// ChangeQuery selects journal entries. Empty fields do not narrow. They are ordered by version,
// then by place in the run, newest first.
type ChangeQuery struct {
	Target string // as [Image.Target] writes it
	Fact   string // an id: changes with it as target, fact or link, or as OldID or NewID
	Run    string
	Runs   string // prefix of the run's id: returns only the first change of each such run
	ID     string
	Action Action
	After  time.Time // recorded later than this
	Limit  int       // 0: 50; at most 500
	Cursor string
}

// ChangePage is a page of the journal. Next is "" on the last page.
type ChangePage struct {
	Changes []Change
	Next    string
}

// Counts are numbers of things. A linked fact counts by [Memory.Status].
type Counts struct {
	Facts         int `json:"facts"` // active, own and linked
	Pending       int `json:"pending"`
	Turns         int `json:"turns"`         // active
	Summaries     int `json:"summaries"`     // active
	Conversations int `json:"conversations"` // active
	Contexts      int `json:"contexts"`      // active
	Changes       int `json:"changes"`
	JobsQueued    int `json:"jobs_queued"` // without running ones
	JobsParked    int `json:"jobs_parked"`

	JobsDue time.Time `json:"-"` // due time of the oldest queued job; zero without one
}

// Batch is an exchange's addition to a conversation.
type Batch struct {
	Conversation Conversation
	Turns        []Turn
	Vectors      []Vector
	Jobs         []Job
	Marks        []Change // of turns that leave or rejoin the current path, and of the conversation
	Run          string   // the run of the marks in the journal
	Path         *Path    // the resulting current path; nil: any
}

// Path is a conversation's current path from an index on. It makes the store refuse one of two
// concurrent batches that were planned on the same path.
type Path struct {
	After string   // id of the active turn at the index before; "" for none
	From  int      // index of the first of Turns
	Turns []string // ids of those that may be active from there on
}

// Check returns a function that reports whether a turn of the conversation, in its current state,
// agrees with the path.
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
// forgotten turn stays forgotten.
func (p *Path) Marks(was, next Status) bool { return was != Retired || next == Retired }

// Speaks reports whether turns that a batch adds or marks are active, by their resulting status, in
// a conversation that the batch does not mark as deleted.
func (b *Batch) Speaks(status func(turn string) Status) bool {
	if b.Conversation.Status == Retired {
		return false
	}
	return slices.ContainsFunc(b.Turns, func(t Turn) bool { return status(t.ID) == Active }) ||
		slices.ContainsFunc(b.Marks, func(c Change) bool { return c.After.Turn != nil && status(c.After.Turn.ID) == Active })
}

// ConversationQuery selects conversations. Empty fields do not narrow.
type ConversationQuery struct {
	IDs      []string
	Project  string
	Statuses []Status // none: active, with IDs all
	Limit    int      // 0: 50; at most 500
	Cursor   string
}

// ConversationPage is a page of conversations. Next is "" on the last page.
type ConversationPage struct {
	Conversations []Conversation
	Next          string
}

// TurnQuery selects turns. Empty fields do not narrow. As of a time it sees the turns recorded by
// then, with their status and LearnedAt of that time.
type TurnQuery struct {
	Conversation string
	IDs          []string
	Chains       []string // turns that end a path with one of these hashes
	Refs         []string // [Turn.Ref] values, each of which many turns may share
	Unlearned    bool     // user turns with neither LearnedAt nor NoLearn
	Statuses     []Status // none: active, with Chains all; with all three, every branch
	AsOf         time.Time
	Last         int // the last matching turns of each conversation; 0: all
}

// Item is one change that a resident index follows. ID and Version are always set; Version is that
// of the memory, for a link the link's.
type Item struct {
	Memory  Memory
	Vector  []float32
	Removed bool
	ID      string
	Version int64
}
