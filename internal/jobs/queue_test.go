package jobs

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/loci-memory/loci/memory"
)

// queue is a tiny memory.Queue for tests: jobs in a slice, leases by count.
type queue struct {
	memory.Queue

	mu       sync.Mutex // guards all below
	jobs     []*memory.Job
	tokens   int
	claims   int
	extended int
	outcomes []memory.Outcome
	down     error  // what every call returns while set
	missed   func() // called when a claim found nothing, before it says so
}

func (q *queue) add(jobs ...memory.Job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range jobs {
		j.State = memory.JobQueued
		q.jobs = append(q.jobs, &j)
	}
}

func (q *queue) Claim(ctx context.Context, kinds []memory.JobKind, lease time.Duration) (memory.Job, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.claims++
	if q.down != nil {
		return memory.Job{}, q.down
	}
	if err := ctx.Err(); err != nil {
		return memory.Job{}, err
	}
	now := time.Now()
	busy := map[string]bool{}
	for _, j := range q.jobs {
		if j.State == memory.JobRunning && now.Before(j.Lease.Until) {
			busy[string(j.Owner)+string(j.Kind)] = true
		}
	}
	for _, j := range q.jobs {
		due := j.State == memory.JobQueued && !now.Before(j.RunAt) || j.State == memory.JobRunning && !now.Before(j.Lease.Until)
		if !due || busy[string(j.Owner)+string(j.Kind)] || !slices.Contains(kinds, j.Kind) {
			continue
		}
		q.tokens++
		j.State = memory.JobRunning
		j.Lease = memory.Lease{Owner: j.Owner, Job: j.ID, Token: strconv.Itoa(q.tokens), Until: now.Add(lease)}
		return *j, nil
	}
	if q.missed != nil {
		q.mu.Unlock()
		q.missed()
		q.mu.Lock()
	}
	return memory.Job{}, memory.Errorf(memory.NotFound, "nothing is due")
}

func (q *queue) Extend(_ context.Context, held memory.Lease, lease time.Duration) (memory.Lease, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.down != nil {
		return memory.Lease{}, q.down
	}
	j, err := q.held(held)
	if err != nil {
		return memory.Lease{}, err
	}
	q.extended++
	j.Lease.Until = time.Now().Add(lease)
	return j.Lease, nil
}

func (q *queue) Finish(ctx context.Context, held memory.Lease, o memory.Outcome) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if q.down != nil {
		return q.down
	}
	j, err := q.held(held)
	if err != nil {
		return err
	}
	q.outcomes = append(q.outcomes, o)
	switch {
	case o.Done:
		j.State = memory.JobDone
	case o.Deferred:
		j.State, j.RunAt, j.Error = memory.JobQueued, o.RetryAt, o.Cause
	default:
		j.Attempts++
		j.State, j.RunAt, j.Error = memory.JobQueued, o.RetryAt, o.Cause
		if o.Park || j.Attempts >= memory.MaxAttempts {
			j.State = memory.JobParked
		}
	}
	return nil
}

// complete does what Apply does to the job of a run.
func (q *queue) complete(held memory.Lease) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	j, err := q.held(held)
	if err == nil {
		j.State = memory.JobDone
	}
	return err
}

// steal gives a job's lease to somebody else.
func (q *queue) steal(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		if j.ID == id {
			j.Lease.Token = "stolen"
			j.Lease.Until = time.Now().Add(24 * time.Hour)
		}
	}
}

func (q *queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.down = err
}

func (q *queue) held(l memory.Lease) (*memory.Job, error) {
	for _, j := range q.jobs {
		if j.ID == l.Job && j.State == memory.JobRunning && j.Lease.Token == l.Token {
			return j, nil
		}
	}
	return nil, memory.Errorf(memory.LeaseLost, "the job %s is another's", l.Job)
}

// state returns a copy of the job.
func (q *queue) state(id string) memory.Job {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		if j.ID == id {
			return *j
		}
	}
	return memory.Job{}
}

func (q *queue) ended() []memory.Outcome {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.outcomes)
}

func (q *queue) counts() (claims, extended int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.claims, q.extended
}
