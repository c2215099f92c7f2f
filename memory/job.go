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
	JobLearn     JobKind = "learn"     // learn facts from the turns of a conversation
	JobRelearn   JobKind = "relearn"   // learn again from chosen turns
	JobSummarize JobKind = "summarize" // write a conversation's summary
	JobEmbed     JobKind = "embed"     // embed memories that have no vector by the current model
	JobUpkeep    JobKind = "upkeep"    // remove expired, faded and excess memories from recall
	JobShare     JobKind = "share"     // update the links of other owners to some facts
	JobErase     JobKind = "erase"     // remove the remaining data of an erased owner
)

// JobState is the state of a job.
type JobState string

// The states of a job. A parked job failed [MaxAttempts] times, or was abandoned [MaxAbandoned] times in
// a row. The job waits for a person and does not block the owner's next job.
const (
	JobQueued  JobState = "queued"
	JobRunning JobState = "running"
	JobDone    JobState = "done"
	JobParked  JobState = "parked"
)

// MaxAttempts is the number of failed attempts after which a job is parked.
const MaxAttempts = 8

// MaxAbandoned is the number of consecutive abandoned attempts (their process died or lost the lease) after
// which a job is parked, since the job itself may crash the process.
const MaxAbandoned = 3

// Job is background work for an owner. It runs at least once; two jobs of the same owner and kind never run
// at the same time.
type Job struct {
	ID           string    `json:"id"` // set by the caller; queueing a job with an existing id is a no-op
	Owner        Owner     `json:"owner"`
	Kind         JobKind   `json:"kind"`
	Conversation string    `json:"conversation,omitempty" bson:"session_id,omitempty"`
	Turns        []string  `json:"turns,omitempty" bson:"turns,omitempty"` // ids of the turns to process; for a JobShare ids of facts, for a JobErase the id of the erasure
	State        JobState  `json:"state"`
	Attempts     int       `json:"attempts"`             // failed attempts
	RunAt        time.Time `json:"run_at" bson:"run_at"` // earliest time of the next attempt
	CreatedAt    time.Time `json:"created_at" bson:"created"`
	Error        string    `json:"error,omitempty" bson:"error,omitempty"` // error of the last failed attempt
	Lease        Lease     `json:"-"`                                      // lease of the running attempt; zero if the job is not running
}

// abandonedErrors are the errors of a job after one, two and three consecutive abandoned attempts.
var abandonedErrors = [MaxAbandoned]string{
	"the process died or lost its lease during this job",
	"the process died or lost its lease during this job twice in a row",
	"the process died or lost its lease during this job three times in a row",
}

// AbandonedError returns the error of a job whose last n attempts were abandoned. n is 1 to [MaxAbandoned].
func AbandonedError(n int) string { return abandonedErrors[n-1] }

// AbandonedAttempts returns the number of consecutive attempts whose process died or lost the lease. An
// attempt that ends resets the number to 0; an attempt interrupted by a shutdown does not change the number.
func (j Job) AbandonedAttempts() int { return slices.Index(abandonedErrors[:], j.Error) + 1 }

// Lease assigns a job to a worker for some time. A worker whose lease ended cannot commit.
type Lease struct {
	Owner Owner
	Job   string
	Token string // identifies the claim; each claim of a job has another token
	Until time.Time
}

// Outcome is the result of an attempt at a job that no [Run] completed.
type Outcome struct {
	Done     bool      // the work is complete
	RetryAt  time.Time // time of the next attempt if not Done; the store parks the job after MaxAttempts failures
	Deferred bool      // the job is put off until RetryAt; the attempt does not count as failed
	Park     bool      // park the job instead of retrying it
	Cause    string    // error shown to people
}

// DoneRetention is the minimum time from queueing a job to deleting its row. Until then, queueing the same id
// again is a no-op, and the job can be read.
const DoneRetention = time.Hour

// DeletesDoneJobs reports whether completing this job also cleans up: the store then deletes the owner's
// jobs that were done more than [DoneRetention] ago. A checksum of the id selects 1 job in 32, the same
// in every store.
func DeletesDoneJobs(jobID string) bool { return crc32.ChecksumIEEE([]byte(jobID))%32 == 0 }
