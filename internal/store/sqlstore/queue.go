package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// enqueueJobs queues jobs. The time of the write is their creation time and default due time.
func (w *ownerWrite) enqueueJobs(jobs []memory.Job) error {
	for _, j := range jobs {
		j.State, j.Attempts, j.Error, j.Lease = memory.JobQueued, 0, "", memory.Lease{}
		if j.CreatedAt, j.RunAt = w.at, memory.Time(j.RunAt); j.RunAt.IsZero() {
			j.RunAt = w.at
		}
		if err := w.insert(insertJob+` ON CONFLICT (owner, id) DO NOTHING`, w.owner, jobFields(&j)...); err != nil {
			return fmt.Errorf("queue job %s: %w", j.ID, err)
		}
		w.hasQueuedJob = true
	}
	return nil
}

// completeJob marks a job as done; the caller has checked the job's lease. For some jobs it also deletes
// the rows of jobs that were done long ago; nothing needs them, since runs record applied changes.
func (t *tx) completeJob(owner memory.Owner, jobID string) error {
	if memory.DeletesDoneJobs(jobID) {
		now, err := t.currentTime()
		if err != nil {
			return err
		}
		err = t.exec(`DELETE FROM jobs WHERE owner = ? AND state = 'done' AND created_at < ? AND id <> ?`, owner, toMicros(now.Add(-memory.DoneRetention)), jobID)
		if err != nil {
			return fmt.Errorf("remove finished jobs: %w", err)
		}
	}
	err := t.exec(`UPDATE jobs SET state = 'done', token = '', lease_until = 0 WHERE owner = ? AND id = ?`, owner, jobID)
	return wrap("complete the job", err)
}

// checkLease returns how often a leased job has failed, or an error if the lease is not valid.
func (t *tx) checkLease(owner memory.Owner, lease memory.Lease) (int, error) {
	var attempts int
	var leaseUntil int64
	query := `SELECT attempts, lease_until FROM jobs WHERE owner = ? AND id = ? AND state = 'running' AND token = ?`
	if t.session.translator != nil { // the row lock keeps other stores from requeueing the job
		query += ` FOR UPDATE`
	}
	err := t.queryRow(query, []any{owner, lease.Job, lease.Token}, &attempts, &leaseUntil)
	now, clockErr := t.currentTime()
	if clockErr != nil {
		return 0, clockErr
	}
	if isNoRows(err) || err == nil && (leaseUntil <= toMicros(now) || lease.Owner != owner) {
		return 0, memory.Errorf(memory.LeaseLost, "the lease of job %s has expired", lease.Job)
	}
	return attempts, wrap("check the lease", err)
}

// Claim leases the next job: see [memory.Queue].
func (s *Store) Claim(ctx context.Context, kinds []memory.JobKind, duration time.Duration) (memory.Job, error) {
	if err := cmp.Or(ownerdata.CheckLeaseDuration(duration), ctx.Err()); err != nil {
		return memory.Job{}, err
	}
	job, err := s.committer.claim(ctx, toTextList(kinds), duration)
	if err != nil {
		return memory.Job{}, err
	}
	if job.ID == "" {
		return memory.Job{}, memory.Errorf(memory.NotFound, "no job of kinds %q is due", kinds)
	}
	return job, nil
}

// Extend moves the end of a lease: see [memory.Queue].
func (s *Store) Extend(ctx context.Context, heldLease memory.Lease, duration time.Duration) (memory.Lease, error) {
	if err := ownerdata.CheckLeaseDuration(duration); err != nil {
		return memory.Lease{}, err
	}
	err := s.writeForOwner(ctx, heldLease.Owner, func(t *tx) error {
		if _, err := t.checkLease(heldLease.Owner, heldLease); err != nil {
			return err
		}
		now, err := t.currentTime()
		if err != nil {
			return err
		}
		heldLease.Until = memory.Time(now.Add(duration))
		err = t.exec(`UPDATE jobs SET lease_until = ? WHERE owner = ? AND id = ?`, toMicros(heldLease.Until), heldLease.Owner, heldLease.Job)
		return wrap("extend the lease", err)
	})
	if err != nil {
		return memory.Lease{}, err
	}
	return heldLease, nil
}

// EndLeases ends every lease, so that the jobs are due at once, with one more failed attempt. Call it
// after opening a file: only one process opens a file at a time, so all lease holders have ended.
func (s *Store) EndLeases(ctx context.Context) error {
	return s.write(ctx, "", func(t *tx) error {
		err := t.exec(`UPDATE jobs SET lease_until = 1 WHERE state = 'running'`)
		return wrap("end the leases", err)
	})
}

// Finish ends an attempt: see [memory.Queue].
func (s *Store) Finish(ctx context.Context, lease memory.Lease, o memory.Outcome) error {
	return s.writeForOwner(ctx, lease.Owner, func(t *tx) error {
		failed, err := t.checkLease(lease.Owner, lease)
		if err != nil {
			return err
		}
		if o.Done {
			return t.completeJob(lease.Owner, lease.Job)
		}
		if !o.Deferred {
			failed++
		}
		return t.requeueOrPark(lease, failed, o)
	})
}

func (t *tx) requeueOrPark(lease memory.Lease, attempts int, o memory.Outcome) error {
	state := memory.JobQueued
	if !o.Deferred && (o.Park || attempts >= memory.MaxAttempts) {
		state = memory.JobParked
	}
	at := memory.Time(o.RetryAt)
	var err error
	if at.IsZero() {
		if at, err = t.currentTime(); err != nil {
			return err
		}
	}
	err = t.exec(`UPDATE jobs SET state = ?, attempts = ?, run_at = ?, error = ?, token = '', lease_until = 0
		WHERE owner = ? AND id = ?`, state, attempts, toMicros(at), o.Cause, lease.Owner, lease.Job)
	return wrap("finish the attempt", err)
}

// Jobs returns an owner's jobs: see [memory.Queue].
func (s *Store) Jobs(ctx context.Context, owner memory.Owner, states ...memory.JobState) ([]memory.Job, error) {
	if len(states) == 0 {
		states = []memory.JobState{memory.JobQueued, memory.JobRunning, memory.JobParked}
	}
	jobs, err := queryOwner(ctx, s.reader, owner, `SELECT owner, `+jobColumns+` FROM jobs WHERE owner = ? AND state IN (SELECT value FROM json_each(?))
		ORDER BY created_at DESC, id DESC`, []any{toTextList(states)}, scanJob)
	return jobs, wrap("list jobs", err)
}

// Requeue makes a parked job due: see [memory.Queue].
func (s *Store) Requeue(ctx context.Context, owner memory.Owner, jobID string) error {
	return s.writeForOwner(ctx, owner, func(t *tx) error {
		var state memory.JobState
		err := t.queryRow(`SELECT state FROM jobs WHERE owner = ? AND id = ?`, []any{owner, jobID}, &state)
		switch {
		case isNoRows(err):
			return memory.Errorf(memory.NotFound, "there is no job %s", jobID)
		case err != nil:
			return fmt.Errorf("read the job: %w", err)
		case state != memory.JobParked:
			return memory.Errorf(memory.Conflict, "job %s is %s, not parked", jobID, state)
		}
		now, err := t.currentTime()
		if err != nil {
			return err
		}
		err = t.exec(`UPDATE jobs SET state = 'queued', attempts = 0, error = '', run_at = ? WHERE owner = ? AND id = ?`,
			toMicros(now), owner, jobID)
		return wrap("requeue the job", err)
	})
}
