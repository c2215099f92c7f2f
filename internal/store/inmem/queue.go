package inmem

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/loci-memory/loci/memory"
)

// queue adds jobs, created at the shelf's time.
func (s *shelf) queue(jobs []memory.Job) {
	for _, j := range jobs {
		if _, ok := s.jobs[j.ID]; ok {
			continue
		}
		j = copyJob(j)
		j.State, j.Attempts, j.Error, j.Lease = memory.JobQueued, 0, "", memory.Lease{}
		j.CreatedAt, j.RunAt = s.at, memory.Time(j.RunAt)
		if j.RunAt.IsZero() {
			j.RunAt = s.at
		}
		s.jobs[j.ID] = j
	}
}

// Claim leases the job that has been due the longest.
func (s *Store) Claim(ctx context.Context, kinds []memory.JobKind, lease time.Duration) (memory.Job, error) {
	if err := checkLease(ctx, lease); err != nil {
		return memory.Job{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := memory.Time(s.now())
	var due []memory.Job
	for _, sh := range s.shelves {
		sh.takeBack(now)
		running := sh.running()
		for _, j := range sh.jobs {
			if j.State == memory.JobQueued && !j.RunAt.After(now) && slices.Contains(kinds, j.Kind) && !running[j.Kind] {
				due = append(due, j)
			}
		}
	}
	if len(due) == 0 {
		return memory.Job{}, memory.Errorf(memory.NotFound, "no job of %q is due", kinds)
	}
	j := slices.MinFunc(due, func(a, b memory.Job) int {
		return cmp.Or(a.RunAt.Compare(b.RunAt), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	s.claims++
	j.State = memory.JobRunning
	j.Lease = memory.Lease{Owner: j.Owner, Job: j.ID, Token: fmt.Sprintf("claim %d", s.claims), Until: memory.Time(now.Add(lease))}
	s.shelves[j.Owner].jobs[j.ID] = j
	return copyJob(j), nil
}

func checkLease(ctx context.Context, lease time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if lease <= 0 {
		return memory.Errorf(memory.Invalid, "a lease of %v is none", lease)
	}
	return nil
}

// takeBack ends the attempts whose lease ran out. They are due as they were.
func (s *shelf) takeBack(now time.Time) {
	for _, j := range s.jobs {
		if j.State == memory.JobRunning && !now.Before(j.Lease.Until) {
			n := j.Abandoned() + 1
			s.finish(j, memory.Outcome{RetryAt: j.RunAt, Cause: memory.AbandonedError(n), Park: n >= memory.MaxAbandoned}, now)
		}
	}
}

// running returns the kinds of which a job is running.
func (s *shelf) running() map[memory.JobKind]bool {
	kinds := map[memory.JobKind]bool{}
	for _, j := range s.jobs {
		if j.State == memory.JobRunning {
			kinds[j.Kind] = true
		}
	}
	return kinds
}

// Extend moves the end of a lease.
func (s *Store) Extend(ctx context.Context, held memory.Lease, lease time.Duration) (memory.Lease, error) {
	if err := checkLease(ctx, lease); err != nil {
		return memory.Lease{}, err
	}
	var extended memory.Lease
	err := s.write(ctx, held.Owner, func(draft *shelf) error {
		now := memory.Time(s.now())
		j, err := draft.held(held, now)
		if err != nil {
			return err
		}
		j.Lease.Until = memory.Time(now.Add(lease))
		draft.jobs[j.ID] = j
		extended = j.Lease
		return nil
	})
	return extended, err
}

// Finish ends an attempt.
func (s *Store) Finish(ctx context.Context, held memory.Lease, o memory.Outcome) error {
	return s.write(ctx, held.Owner, func(draft *shelf) error {
		now := memory.Time(s.now())
		j, err := draft.held(held, now)
		if err != nil {
			return err
		}
		draft.finish(j, o, now)
		return nil
	})
}

// held returns the job that a lease is the current one of.
func (s *shelf) held(l memory.Lease, now time.Time) (memory.Job, error) {
	j, ok := s.jobs[l.Job]
	if !ok || j.State != memory.JobRunning || j.Lease.Token != l.Token || !now.Before(j.Lease.Until) {
		return memory.Job{}, memory.Errorf(memory.LeaseLost, "job %s is not held by this worker any more", l.Job)
	}
	return j, nil
}

func (s *shelf) finish(j memory.Job, o memory.Outcome, now time.Time) {
	j.Lease = memory.Lease{}
	if o.Done {
		j.State = memory.JobDone
		s.jobs[j.ID] = j
		if memory.SweepsDone(j.ID) {
			maps.DeleteFunc(s.jobs, func(id string, old memory.Job) bool {
				return old.State == memory.JobDone && id != j.ID && old.CreatedAt.Before(now.Add(-memory.DoneKept))
			})
		}
		return
	}
	if !o.Later {
		j.Attempts++
	}
	j.Error = o.Cause
	j.RunAt = memory.Time(o.RetryAt)
	if j.RunAt.IsZero() {
		j.RunAt = memory.Time(now)
	}
	j.State = memory.JobQueued
	if !o.Later && (o.Park || j.Attempts >= memory.MaxAttempts) {
		j.State = memory.JobParked
	}
	s.jobs[j.ID] = j
}

// Jobs returns an owner's jobs.
func (s *Store) Jobs(ctx context.Context, owner memory.Owner, states ...memory.JobState) ([]memory.Job, error) {
	var jobs []memory.Job
	err := s.read(ctx, owner, func(sh *shelf) error {
		for _, j := range sh.jobs {
			if slices.Contains(states, j.State) || len(states) == 0 && j.State != memory.JobDone {
				jobs = append(jobs, copyJob(j))
			}
		}
		return nil
	})
	slices.SortFunc(jobs, func(a, b memory.Job) int {
		return place{a.CreatedAt, a.ID}.compare(place{b.CreatedAt, b.ID})
	})
	return jobs, err
}

// Requeue makes a parked job due now.
func (s *Store) Requeue(ctx context.Context, owner memory.Owner, job string) error {
	return s.write(ctx, owner, func(draft *shelf) error {
		j, ok := draft.jobs[job]
		if !ok {
			return memory.Errorf(memory.NotFound, "no job %s", job)
		}
		if j.State != memory.JobParked {
			return memory.Errorf(memory.Conflict, "job %s is %s, not parked", job, j.State)
		}
		j.State, j.Attempts, j.Error, j.RunAt = memory.JobQueued, 0, "", memory.Time(s.now())
		draft.jobs[job] = j
		return nil
	})
}
