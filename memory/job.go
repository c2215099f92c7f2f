package memory

import (
	"hash/crc32"
	"slices"
	"time"
)

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

// The states of a job. A parked job failed [MaxAttempts] times, or was abandoned
// [MaxAbandoned] times in a row, and waits for a person; it never blocks the owner's next one.
const (
	JobQueued  JobState = "queued"
	JobRunning JobState = "running"
	JobDone    JobState = "done"
	JobParked  JobState = "parked"
)

// MaxAttempts is how often a job may fail before it is parked.
const MaxAttempts = 8

// MaxAbandoned is how many attempts in a row may be abandoned before the job is parked:
// it may be what kills the process.
const MaxAbandoned = 3

// Job is work to be done for an owner, at least once. No two jobs of one owner
// and kind run at a time.
type Job struct {
	ID           string    `json:"id"` // the writer's; queueing the same id again is a no-op
	Owner        Owner     `json:"owner"`
	Kind         JobKind   `json:"kind"`
	Conversation string    `json:"conversation,omitempty" bson:"session_id,omitempty"`
	Turns        []string  `json:"turns,omitempty" bson:"turns,omitempty"` // what it is about; of a share job, facts; of an erase job, the mark of its erasure
	State        JobState  `json:"state"`
	Attempts     int       `json:"attempts"`             // failed ones
	RunAt        time.Time `json:"run_at" bson:"run_at"` // not before
	CreatedAt    time.Time `json:"created_at" bson:"created"`
	Error        string    `json:"error,omitempty" bson:"error,omitempty"` // of the last failed attempt
	Lease        Lease     `json:"-"`                                      // while running
}

// abandoned are the errors of jobs whose last attempts were claimed and never ended.
var abandoned = [MaxAbandoned]string{
	"the process died or lost its lease during this job",
	"the process died or lost its lease during this job twice in a row",
	"the process died or lost its lease during this job three times in a row",
}

// AbandonedError is the error of a job of which the last n attempts, from 1 to
// [MaxAbandoned], were claimed and never ended.
func AbandonedError(n int) string { return abandoned[n-1] }

// Abandoned returns how many of the last attempts in a row were claimed and never ended:
// their process died. An attempt that ends sets this to 0, but for one that a shutdown cut
// short: that leaves it.
func (j Job) Abandoned() int { return slices.Index(abandoned[:], j.Error) + 1 }

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

// DoneKept is how long the row of a finished job stays at least, from when it was queued: what
// is queued twice meanwhile runs once, and whoever asks sees what became of it.
const DoneKept = time.Hour

// SweepsDone reports whether a store that completes the job removes the owner's rows that
// have been done for [DoneKept]: one job in 32, by its id, so that every store does the same.
func SweepsDone(job string) bool { return crc32.ChecksumIEEE([]byte(job))%32 == 0 }
