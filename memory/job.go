package memory

import (
	"hash/crc32"
	"slices"
	"time"
)

// JobKind is a kind of job.
type JobKind string

// The kinds of job.
const (
	JobLearn     JobKind = "learn"     // learn facts from a conversation's turns
	JobRelearn   JobKind = "relearn"   // learn again from some turns
	JobSummarize JobKind = "summarize" // write a conversation's rolling summary
	JobEmbed     JobKind = "embed"     // retire expired, faded and excess memories
	JobUpkeep    JobKind = "upkeep"    // remove expired, faded and excess memories from recall
	JobShare     JobKind = "share"     // update other owners' links to some facts
	JobErase     JobKind = "erase"     // remove the remaining data of an erased owner
)

// JobState is the state of a job.
type JobState string

// The states of a job. A parked job failed [MaxAttempts] times, or was abandoned [MaxAbandoned]
// times in a row, and needs a person. It does not block the owner's next job.
const (
	JobQueued  JobState = "queued"
	JobRunning JobState = "running"
	JobDone    JobState = "done"
	JobParked  JobState = "parked"
)

// MaxAttempts is how often a job may fail before it is parked.
const MaxAttempts = 8

// MaxAbandoned is how many consecutive abandoned attempts park a job: the job itself may be killing
// the process.
const MaxAbandoned = 3

// Job is work for an owner that is run at least once. Two jobs of one owner and kind never run at
// the same time.
type Job struct {
	ID           string    `json:"id"` // set by the caller; queueing the same id again is a no-op
	Owner        Owner     `json:"owner"`
	Kind         JobKind   `json:"kind"`
	Conversation string    `json:"conversation,omitempty" bson:"session_id,omitempty"`
	Turns        []string  `json:"turns,omitempty" bson:"turns,omitempty"` // turns to work on; for a share job facts, for an erase job the mark of its erasure
	State        JobState  `json:"state"`
	Attempts     int       `json:"attempts"`             // failed attempts
	RunAt        time.Time `json:"run_at" bson:"run_at"` // earliest time to run
	CreatedAt    time.Time `json:"created_at" bson:"created"`
	Error        string    `json:"error,omitempty" bson:"error,omitempty"` // error of the last failed attempt
	Lease        Lease     `json:"-"`                                      // set while the job runs
}

// abandoned lists the errors of abandoned jobs, by the number of consecutive abandoned attempts.
var abandoned = [MaxAbandoned]string{
	"the process died or lost its lease during this job",
	"the process died or lost its lease during this job twice in a row",
	"the process died or lost its lease during this job three times in a row",
}

// AbandonedError is the error of a job whose last n attempts, from 1 to [MaxAbandoned], never
// ended.
func AbandonedError(n int) string { return abandoned[n-1] }

// Abandoned returns how many consecutive attempts never ended, because their process died. An
// attempt that ends resets the number to 0; one interrupted by a shutdown does not change it.
func (j Job) Abandoned() int { return slices.Index(abandoned[:], j.Error) + 1 }

// Lease gives a worker a job for some time. A worker whose lease was lost cannot commit.
type Lease struct {
	Owner Owner
	Job   string
	Token string // identifies this claim; each claim of a job has its own token
	Until time.Time
}

// Outcome is the result of an attempt that no run completes.
type Outcome struct {
	Done    bool      // there was nothing left to do
	RetryAt time.Time // otherwise: retry at this time; the store parks the job after MaxAttempts
	Later   bool      // deferred to RetryAt: this attempt does not count as failed
	Park    bool      // do not retry
	Cause   string    // the error shown to people
}

// DoneKept is how long the row of a finished job stays at least after the job was queued: a job
// queued twice meanwhile runs once, and its result can be read.
const DoneKept = time.Hour

// SweepsDone reports whether completing this job also deletes the owner's rows of jobs done for
// [DoneKept]. It is true for one job in 32, by its id, so that every store does the same.
func SweepsDone(job string) bool { return crc32.ChecksumIEEE([]byte(job))%32 == 0 }
