package mongostore

import (
	"cmp"
	"context"
	"crypto/rand"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// Claim leases the job that became due first: see [memory.Queue].
func (s *Store) Claim(ctx context.Context, kinds []memory.JobKind, lease time.Duration) (memory.Job, error) {
	if err := cmp.Or(ctx.Err(), ownerdata.CheckLeaseDuration(lease)); err != nil {
		return memory.Job{}, err
	}
	for {
		job, lostRace, err := s.claimDue(ctx, kinds, lease)
		if err != nil || job.ID != "" {
			return job, err
		}
		hadAbandoned, err := s.completeAbandoned(ctx)
		if err != nil {
			return memory.Job{}, s.translate(err)
		}
		if !lostRace && !hadAbandoned {
			return memory.Job{}, memory.Errorf(memory.NotFound, "no job of %q is due", kinds)
		}
	}
}

// completeAbandoned completes pending commits, so that their jobs can be claimed. hadPending reports
// whether a commit was pending.
func (s *Store) completeAbandoned(ctx context.Context) (hadPending bool, err error) {
	var owners []memory.Owner
	err = forEach(ctx, s, commits, bson.M{"pending": true}, options.Find(), func(h *commitDoc) bool { owners = append(owners, h.Owner); return true })
	for _, owner := range owners {
		if err == nil {
			_, err = s.lastCompletedCommit(ctx, owner)
		}
	}
	return len(owners) > 0, err
}

// claimDue leases a due job, or returns the zero Job. lostRace reports whether another server claimed a
// due job first.
func (s *Store) claimDue(ctx context.Context, kinds []memory.JobKind, lease time.Duration) (claimed memory.Job, lostRace bool, err error) {
	now := memory.Time(s.now())
	if err := s.requeueExpired(ctx, now); err != nil {
		return memory.Job{}, false, s.translate(err)
	}
	type work struct {
		owner memory.Owner
		kind  memory.JobKind
	}
	busy := map[work]bool{}
	fields := options.Find().SetProjection(bson.M{"owner": 1, "kind": 1})
	err = forEach(ctx, s, jobs, bson.M{"state": memory.JobRunning}, fields, func(d *jobDoc) bool {
		busy[work{d.Job.Owner, d.Job.Kind}] = true
		return true
	})
	if err != nil {
		return memory.Job{}, false, s.translate(err)
	}
	var failed error
	due := bson.M{"state": memory.JobQueued, "run_at": bson.M{"$lte": now}, "kind": anyOf(kinds)}
	byDue := options.Find().SetSort(sortKeys("run_at created owner kind id"))
	err = forEach(ctx, s, jobs, due, byDue, func(d *jobDoc) bool {
		if key := (work{d.Job.Owner, d.Job.Kind}); !busy[key] {
			busy[key] = true // the owner's other jobs of this kind must wait
			claimed, failed = s.claimJob(ctx, d.Job, now, lease)
			lostRace = lostRace || claimed.ID == ""
		}
		return failed == nil && claimed.ID == ""
	})
	return claimed, lostRace, cmp.Or(failed, s.translate(err))
}

// claimJob leases a job, or a job of the same owner and kind that became due earlier. It returns the zero
// Job if another server claimed the job first.
func (s *Store) claimJob(ctx context.Context, job memory.Job, now time.Time, lease time.Duration) (claimed memory.Job, err error) {
	loadData := func(ctx context.Context, data *ownerdata.Data) error {
		if err := s.fetchNeeded(ctx, job.Owner, data, neededIDs{jobIDs: []string{job.ID}}); err != nil {
			return err
		}
		return s.fetchRunningJobs(ctx, job.Owner, data)
	}
	err = s.write(ctx, job.Owner, loadData, func(changed *ownerdata.Data) error {
		claimed = memory.Job{}
		if j, is := changed.DueJob([]memory.JobKind{job.Kind}, now); is {
			claimed = changed.LeaseJob(j, rand.Text(), now.Add(lease))
		}
		return nil
	})
	return claimed, err
}

func (s *Store) fetchRunningJobs(ctx context.Context, owner memory.Owner, data *ownerdata.Data) error {
	return s.fetch(ctx, data, bson.M{"owner": owner, "state": memory.JobRunning}, withVectors, jobs)
}

// requeueExpired requeues jobs with an expired lease.
func (s *Store) requeueExpired(ctx context.Context, now time.Time) error {
	owners := map[memory.Owner]bool{}
	filter := bson.M{"state": memory.JobRunning, "lease.until": bson.M{"$lte": now}}
	err := forEach(ctx, s, jobs, filter, withVectors, func(d *jobDoc) bool { owners[d.Job.Owner] = true; return true })
	if err != nil {
		return err
	}
	for owner := range owners {
		loadData := func(ctx context.Context, data *ownerdata.Data) error { return s.fetchRunningJobs(ctx, owner, data) }
		err := s.write(ctx, owner, loadData, func(changed *ownerdata.Data) error { changed.ExpireLeases(now); return nil })
		if err != nil {
			return err
		}
	}
	return nil
}

// changeJob loads one job, calls do with it, and commits the changes.
func (s *Store) changeJob(ctx context.Context, owner memory.Owner, jobID string, do func(*ownerdata.Data) error) error {
	loadData := func(ctx context.Context, data *ownerdata.Data) error {
		return s.fetchNeeded(ctx, owner, data, neededIDs{jobIDs: []string{jobID}})
	}
	return s.write(ctx, owner, loadData, do)
}

// Extend moves the end of a lease: see [memory.Queue].
func (s *Store) Extend(ctx context.Context, current memory.Lease, duration time.Duration) (extended memory.Lease, err error) {
	if err := cmp.Or(ctx.Err(), ownerdata.CheckLeaseDuration(duration)); err != nil {
		return memory.Lease{}, err
	}
	err = s.changeJob(ctx, current.Owner, current.Job, func(changed *ownerdata.Data) (err error) {
		extended, err = changed.ExtendLease(current, duration, memory.Time(s.now()))
		return err
	})
	return extended, err
}

// Finish ends an attempt that no run completed: see [memory.Queue].
func (s *Store) Finish(ctx context.Context, lease memory.Lease, outcome memory.Outcome) error {
	err := s.changeJob(ctx, lease.Owner, lease.Job, func(changed *ownerdata.Data) error {
		now := memory.Time(s.now())
		j, err := changed.LeasedJob(lease, now)
		if err != nil {
			return err
		}
		changed.FinishAttempt(j, outcome, now)
		return nil
	})
	if err == nil && outcome.Done {
		s.removeOldJobs(ctx, lease.Owner, lease.Job)
	}
	return err
}

// removeOldJobs removes jobs that finished long ago. To save queries, it does nothing for most job ids.
func (s *Store) removeOldJobs(ctx context.Context, owner memory.Owner, jobID string) {
	if !memory.DeletesDoneJobs(jobID) {
		return
	}
	old := bson.M{"owner": owner, "state": memory.JobDone, "id": bson.M{"$ne": jobID},
		"created": bson.M{"$lt": memory.Time(s.now()).Add(-memory.DoneRetention)}}
	_, _ = s.collection(jobs).DeleteMany(ctx, old) // ignore an error: a later call removes the jobs
}

// Jobs returns an owner's jobs: see [memory.Queue].
func (s *Store) Jobs(ctx context.Context, owner memory.Owner, states ...memory.JobState) (out []memory.Job, err error) {
	loadData := func(ctx context.Context, data *ownerdata.Data) error {
		filter := bson.M{"owner": owner, "state": bson.M{"$ne": memory.JobDone}}
		if len(states) > 0 {
			filter = bson.M{"owner": owner, "state": anyOf(states)}
		}
		return s.fetch(ctx, data, filter, withVectors, jobs)
	}
	err = s.read(ctx, owner, loadData, func(snapshot *ownerdata.Data) error { out = snapshot.ListJobs(states...); return nil })
	return out, err
}

// Requeue makes a parked job due now: see [memory.Queue].
func (s *Store) Requeue(ctx context.Context, owner memory.Owner, jobID string) error {
	return s.changeJob(ctx, owner, jobID, func(changed *ownerdata.Data) error { return changed.Requeue(jobID, s.now()) })
}
