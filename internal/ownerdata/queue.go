package ownerdata

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/loci-memory/loci/memory"
)

// enqueueJobs adds jobs, except jobs with an existing id. The time of the write is their creation time.
func (s *Data) enqueueJobs(jobs []memory.Job) {
	for _, j := range jobs {
		if _, ok := s.Jobs[j.ID]; ok {
			continue
		}
		j = copyJob(j)
		j.State, j.Attempts, j.Error, j.Lease = memory.JobQueued, 0, "", memory.Lease{}
		j.CreatedAt, j.RunAt = s.LastWrite, memory.Time(j.RunAt)
		if j.RunAt.IsZero() {
			j.RunAt = s.LastWrite
		}
		s.Jobs[j.ID] = j
	}
}

// CheckLeaseDuration returns an error unless a lease's duration is positive.
func CheckLeaseDuration(duration time.Duration) error {
	if duration <= 0 {
		return memory.Errorf(memory.Invalid, "invalid lease duration %v", duration)
	}
	return nil
}

// ExpireLeases ends attempts whose lease expired. Their jobs are due at once, or parked.
func (s *Data) ExpireLeases(now time.Time) {
	for _, j := range s.Jobs {
		if j.State == memory.JobRunning && !now.Before(j.Lease.Until) {
			n := j.AbandonedAttempts() + 1
			s.FinishAttempt(j, memory.Outcome{RetryAt: j.RunAt, Cause: memory.AbandonedError(n), Park: n >= memory.MaxAbandoned}, now)
		}
	}
}

// RunningJobKinds returns the kinds of the running jobs.
func (s *Data) RunningJobKinds() map[memory.JobKind]bool {
	kinds := map[memory.JobKind]bool{}
	for _, j := range s.Jobs {
		if j.State == memory.JobRunning {
			kinds[j.Kind] = true
		}
	}
	return kinds
}

// LeasedJob returns the job of a lease, or [memory.LeaseLost] if the lease is not valid.
func (s *Data) LeasedJob(lease memory.Lease, now time.Time) (memory.Job, error) {
	j, ok := s.Jobs[lease.Job]
	if !ok || j.State != memory.JobRunning || j.Lease.Token != lease.Token || !now.Before(j.Lease.Until) {
		return memory.Job{}, memory.Errorf(memory.LeaseLost, "the lease of job %s has expired", lease.Job)
	}
	return j, nil
}

// FinishAttempt records the outcome of a job's attempt: see [memory.Queue].
func (s *Data) FinishAttempt(j memory.Job, o memory.Outcome, now time.Time) {
	j.Lease = memory.Lease{}
	if o.Done {
		j.State = memory.JobDone
		s.Jobs[j.ID] = j
		if memory.DeletesDoneJobs(j.ID) {
			maps.DeleteFunc(s.Jobs, func(id string, old memory.Job) bool {
				return old.State == memory.JobDone && id != j.ID && old.CreatedAt.Before(now.Add(-memory.DoneRetention))
			})
		}
		return
	}
	if !o.Deferred {
		j.Attempts++
	}
	j.Error = o.Cause
	j.RunAt = memory.Time(o.RetryAt)
	if j.RunAt.IsZero() {
		j.RunAt = memory.Time(now)
	}
	j.State = memory.JobQueued
	if !o.Deferred && (o.Park || j.Attempts >= memory.MaxAttempts) {
		j.State = memory.JobParked
	}
	s.Jobs[j.ID] = j
}

// DueJob returns the job that [memory.Queue.Claim] leases next, and whether a job is due.
func (s *Data) DueJob(kinds []memory.JobKind, now time.Time) (due memory.Job, found bool) {
	running := s.RunningJobKinds()
	for _, j := range s.Jobs {
		if j.State != memory.JobQueued || j.RunAt.After(now) || !slices.Contains(kinds, j.Kind) || running[j.Kind] {
			continue
		}
		if !found || CompareDue(j, due) < 0 {
			due, found = j, true
		}
	}
	return due, found
}

// CompareDue compares two jobs by their order in the queue.
func CompareDue(a, b memory.Job) int {
	return cmp.Or(a.RunAt.Compare(b.RunAt), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
}

// LeaseJob leases a due job until a time. token identifies the lease.
func (s *Data) LeaseJob(j memory.Job, token string, until time.Time) memory.Job {
	j.State = memory.JobRunning
	j.Lease = memory.Lease{Owner: j.Owner, Job: j.ID, Token: token, Until: memory.Time(until)}
	s.Jobs[j.ID] = j
	return copyJob(j)
}

// ExtendLease moves the end of a lease: see [memory.Queue].
func (s *Data) ExtendLease(lease memory.Lease, duration time.Duration, now time.Time) (memory.Lease, error) {
	j, err := s.LeasedJob(lease, now)
	if err != nil {
		return memory.Lease{}, err
	}
	j.Lease.Until = memory.Time(now.Add(duration))
	s.Jobs[j.ID] = j
	return j.Lease, nil
}

// Requeue makes a parked job due now: see [memory.Queue].
func (s *Data) Requeue(jobID string, now time.Time) error {
	j, ok := s.Jobs[jobID]
	if !ok {
		return memory.Errorf(memory.NotFound, "there is no job %s", jobID)
	}
	if j.State != memory.JobParked {
		return memory.Errorf(memory.Conflict, "job %s is %s, not parked", jobID, j.State)
	}
	j.State, j.Attempts, j.Error, j.RunAt = memory.JobQueued, 0, "", memory.Time(now)
	s.Jobs[jobID] = j
	return nil
}

// ListJobs returns the jobs in the given states, by default all that are not done: see [memory.Queue].
func (s *Data) ListJobs(states ...memory.JobState) []memory.Job {
	var jobs []memory.Job
	for _, j := range s.Jobs {
		if slices.Contains(states, j.State) || len(states) == 0 && j.State != memory.JobDone {
			jobs = append(jobs, copyJob(j))
		}
	}
	slices.SortFunc(jobs, func(a, b memory.Job) int {
		return ListPosition{a.CreatedAt, a.ID}.compare(ListPosition{b.CreatedAt, b.ID})
	})
	return jobs
}
