package memory

import "time"

// JobKind names a kind of work.
type JobKind string

// The kinds of job.
const (
	JobLearn     JobKind = "learn"     // learn facts from a conversation's turns
	JobRelearn   JobKind = "relearn"   // learn again from some turns
	JobSummarize JobKind = "summarize" // write a conversation's rolling summary
	JobEmbed     JobKind = "embed"     // give vectors to memories that lack them
	JobUpkeep    JobKind = "upkeep"    // take out of recall what expired, faded or is too much
	JobShare     JobKind = "share"     // bring the links that others have to some facts up to date
	JobErase     JobKind = "erase"     // remove what is left of an owner who was erased
)

// JobState is where a job stands.
type JobState string

// The states of a job. A parked job failed [MaxAttempts] times and waits for a
// person; it never blocks the owner's next one.
const (
	JobQueued  JobState = "queued"
	JobRunning JobState = "running"
	JobDone    JobState = "done"
	JobParked  JobState = "parked"
)

// MaxAttempts is how often a job may fail before it is parked.
const MaxAttempts = 8

// Job is work to be done for an owner, at least once. No two jobs of one owner
// and kind run at a time.
type Job struct {
	ID           string    `json:"id"` // the writer's; queueing the same id again is a no-op
	Owner        Owner     `json:"owner"`
	Kind         JobKind   `json:"kind"`
	Conversation string    `json:"conversation,omitempty"`
	Turns        []string  `json:"turns,omitempty"` // what it is about; of a share job, facts; of an erase job, the mark of its erasure
	State        JobState  `json:"state"`
	Attempts     int       `json:"attempts"` // failed ones
	RunAt        time.Time `json:"run_at"`   // not before
	CreatedAt    time.Time `json:"created_at"`
	Error        string    `json:"error,omitempty"` // of the last failed attempt
	Lease        Lease     `json:"-"`               // while running
}

// Lease is a worker's hold on a job. Whoever lost it cannot commit.
type Lease struct {
	Owner Owner
	Job   string
	Token string // of this claim; a later claim of the same job has another
	Until time.Time
}

// Outcome is how an attempt ended without a run to complete it.
type Outcome struct {
	Done    bool      // nothing was left to do
	RetryAt time.Time // otherwise: try again then; the store parks it after MaxAttempts
	Later   bool      // not to be done before RetryAt: it did not fail, and is not counted
	Park    bool      // do not try again
	Cause   string    // what went wrong, for people
}
