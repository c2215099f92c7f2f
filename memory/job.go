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
	JobEmbed     JobKind = "embed"     // embed memories without vectors
	JobUpkeep    JobKind = "upkeep"    // remove expired, faded and excess memories from recall
	JobShare     JobKind = "share"     // update other owners' links to some facts
	JobErase     JobKind = "erase"     // remove the rest of an erased owner
)

// JobState is the state of a job.
type JobState string

// The states of a job. A parked job failed [MaxAttempts] times, or was abandoned [MaxAbandoned]
// times in a row, and needs a person; it never blocks the owner's next one.
const (
	JobQueued  JobState = "queued"
	JobRunning JobState = "running"
	JobDone    JobState = "done"
	JobParked  JobState = "parked"
)

// MaxAttempts is how often a job may fail before it is parked.
const MaxAttempts = 8

// MaxAbandoned is how many consecutive abandoned attempts park a job: it may be what kills the
// process.
const MaxAbandoned = 3

// Job is work for an owner, run at least once. No two jobs of one owner and kind run at the same
// time.
type Job struct {
	ID           string    `json:"id"` // the writer's; queueing the same id again is a no-op
	Owner        Owner     `json:"owner"`
	Kind         JobKind   `json:"kind"`
	Conversation string    `json:"conversation,omitempty" bson:"session_id,omitempty"`
	Turns        []string  `json:"turns,omitempty" bson:"turns,omitempty"` // the turns concerned; of a share job, facts; of an erase job, the mark of its erasure
	State        JobState  `json:"state"`
	Attempts     int       `json:"attempts"`             // failed ones
	RunAt        time.Time `json:"run_at" bson:"run_at"` // not before
	CreatedAt    time.Time `json:"created_at" bson:"created"`
	Error        string    `json:"error,omitempty" bson:"error,omitempty"` // of the last failed attempt
	Lease        Lease     `json:"-"`                                      // while running
}

// abandoned are the errors of jobs whose last attempts never ended, by their number.
var abandoned = [MaxAbandoned]string{
	"the process died or lost its lease during this job",
	"the process died or lost its lease during this job twice in a row",
	"the process died or lost its lease during this job three times in a row",
}

// AbandonedError is the error of a job whose last n attempts, from 1 to [MaxAbandoned], never
// ended.
func AbandonedError(n int) string { return abandoned[n-1] }

// Abandoned returns how many consecutive attempts never ended, because their process died. An
// attempt that ends resets it to 0; one cut short by a shutdown does not change it.
func (j Job) Abandoned() int { return slices.Index(abandoned[:], j.Error) + 1 }

// Lease is a worker's hold on a job. A worker that lost it cannot commit.
type Lease struct {
	Owner Owner
	Job   string
	Token string // of this claim; a later claim of the same job has another
	Until time.Time
}

// Outcome is the end of an attempt without a run that completes it.
type Outcome struct {
	Done    bool      // nothing was left to do
	RetryAt time.Time // otherwise: try again then; the store parks it after MaxAttempts
	Later   bool      // deferred to RetryAt: it did not fail, and is not counted
	Park    bool      // do not try again
	Cause   string    // the error, for people
}

// DoneKept is the least time that the row of a finished job stays after being queued: a job queued
// twice meanwhile runs once, and its result can be read.
const DoneKept = time.Hour

// SweepsDone reports whether a store that completes the job removes the owner's rows that are done
// for [DoneKept]: for one job in 32, by its id, so that every store does the same.
func SweepsDone(job string) bool { return crc32.ChecksumIEEE([]byte(job))%32 == 0 }
