package mongostore

import (
	"cmp"
	"context"
	"crypto/rand"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

// Claim leases the job that became due first: see [memory.Queue].
func (s *Store) Claim(ctx context.Context, kinds []memory.JobKind, lease time.Duration) (memory.Job, error) {
	if err := cmp.Or(ctx.Err(), shelf.CheckLease(lease)); err != nil {
		return memory.Job{}, err
	}
	for {
		job, missed, err := s.claimDue(ctx, kinds, lease)
		if err != nil || job.ID != "" {
			return job, err
		}
		left, err := s.settleLeft(ctx)
		if err != nil {
			return memory.Job{}, s.translate(err)
		}
		if !missed && !left {
			return memory.Job{}, memory.Errorf(memory.NotFound, "no job of %q is due", kinds)
		}
	}
}

// completeAbandoned completes pending commits, since their jobs cannot be found otherwise, and
// reports whether it found any.
func (s *Store) settleLeft(ctx context.Context) (any bool, err error) {
	var of []memory.Owner
	err = stream(ctx, s, commits, bson.M{"pending": true}, options.Find(), func(h *head) bool { of = append(of, h.Owner); return true })
	for _, owner := range of {
		if err == nil {
			_, err = s.settled(ctx, owner)
		}
	}
	return len(of) > 0, err
}

// claimDue leases a due job. It returns the zero Job if no job is due, and reports whether another
// server claimed a job first.
func (s *Store) claimDue(ctx context.Context, kinds []memory.JobKind, lease time.Duration) (claimed memory.Job, missed bool, err error) {
	now := memory.Time(s.now())
	if err := s.takeBack(ctx, now); err != nil {
		return memory.Job{}, false, s.translate(err)
	}
	type work struct {
		owner memory.Owner
		kind  memory.JobKind
	}
	busy := map[work]bool{}
	one := options.Find().SetProjection(bson.M{"owner": 1, "kind": 1})
	err = stream(ctx, s, jobs, bson.M{"state": memory.JobRunning}, one, func(d *jobDoc) bool {
		busy[work{d.Job.Owner, d.Job.Kind}] = true
		return true
	})
	if err != nil {
		return memory.Job{}, false, s.translate(err)
	}
	var failed error
	due := bson.M{"state": memory.JobQueued, "run_at": bson.M{"$lte": now}, "kind": anyOf(kinds)}
	byDue := options.Find().SetSort(keys("run_at created owner kind id"))
	err = stream(ctx, s, jobs, due, byDue, func(d *jobDoc) bool {
		if of := (work{d.Job.Owner, d.Job.Kind}); !busy[of] {
			busy[of] = true // the owner's other jobs of that kind must wait
			claimed, failed = s.claim(ctx, d.Job, now, lease)
			missed = missed || claimed.ID == ""
		}
		return failed == nil && claimed.ID == ""
	})
	return claimed, missed, cmp.Or(failed, s.translate(err))
}

// claim leases an owner's job, or an earlier job of that kind. It returns the zero Job if another
// server claimed the job.
func (s *Store) claim(ctx context.Context, job memory.Job, now time.Time, lease time.Duration) (claimed memory.Job, err error) {
	from := func(ctx context.Context, on *shelf.Shelf) error {
		if err := s.want(ctx, job.Owner, on, wanted{jobs: []string{job.ID}}); err != nil {
			return err
		}
		return s.running(ctx, job.Owner, on)
	}
	err = s.write(ctx, job.Owner, from, func(draft *shelf.Shelf) error {
		claimed = memory.Job{}
		if j, is := draft.Due([]memory.JobKind{job.Kind}, now); is {
			claimed = draft.Lease(j, rand.Text(), now.Add(lease))
		}
		return nil
	})
	return claimed, err
}

func (s *Store) running(ctx context.Context, owner memory.Owner, on *shelf.Shelf) error {
	return s.fetch(ctx, on, bson.M{"owner": owner, "state": memory.JobRunning}, whole, jobs)
}

// requeueExpired requeues jobs with an expired lease.
func (s *Store) takeBack(ctx context.Context, now time.Time) error {
	over := map[memory.Owner]bool{}
	filter := bson.M{"state": memory.JobRunning, "lease.until": bson.M{"$lte": now}}
	err := stream(ctx, s, jobs, filter, whole, func(d *jobDoc) bool { over[d.Job.Owner] = true; return true })
	if err != nil {
		return err
	}
	for owner := range over {
		from := func(ctx context.Context, on *shelf.Shelf) error { return s.running(ctx, owner, on) }
		err := s.write(ctx, owner, from, func(draft *shelf.Shelf) error { draft.ExpireLeases(now); return nil })
		if err != nil {
			return err
		}
	}
	return nil
}

// changeJob loads one job and commits the change that do makes.
func (s *Store) onJob(ctx context.Context, owner memory.Owner, job string, do func(*shelf.Shelf) error) error {
	from := func(ctx context.Context, on *shelf.Shelf) error {
		return s.want(ctx, owner, on, wanted{jobs: []string{job}})
	}
	return s.write(ctx, owner, from, do)
}

// Extend moves the end of a lease: see [memory.Queue].
func (s *Store) Extend(ctx context.Context, held memory.Lease, lease time.Duration) (extended memory.Lease, err error) {
	if err := cmp.Or(ctx.Err(), shelf.CheckLease(lease)); err != nil {
		return memory.Lease{}, err
	}
	err = s.onJob(ctx, held.Owner, held.Job, func(draft *shelf.Shelf) (err error) {
		extended, err = draft.Extend(held, lease, memory.Time(s.now()))
		return err
	})
	return extended, err
}

// Finish ends an attempt that no run completed: see [memory.Queue].
func (s *Store) Finish(ctx context.Context, held memory.Lease, o memory.Outcome) error {
	err := s.onJob(ctx, held.Owner, held.Job, func(draft *shelf.Shelf) error {
		now := memory.Time(s.now())
		j, err := draft.LeasedJob(held, now)
		if err != nil {
			return err
		}
		draft.Finish(j, o, now)
		return nil
	})
	if err == nil && o.Done {
		s.sweepDone(ctx, held.Owner, held.Job)
	}
	return err
}

// removeOldJobs removes jobs that finished long ago. To save queries, only some calls do.
func (s *Store) sweepDone(ctx context.Context, owner memory.Owner, job string) {
	if !memory.SweepsDone(job) {
		return
	}
	old := bson.M{"owner": owner, "state": memory.JobDone, "id": bson.M{"$ne": job},
		"created": bson.M{"$lt": memory.Time(s.now()).Add(-memory.DoneKept)}}
	_, _ = s.in(jobs).DeleteMany(ctx, old) // after an error a later call removes the jobs
}

// Jobs returns an owner's jobs: see [memory.Queue].
func (s *Store) Jobs(ctx context.Context, owner memory.Owner, states ...memory.JobState) (out []memory.Job, err error) {
	from := func(ctx context.Context, on *shelf.Shelf) error {
		filter := bson.M{"owner": owner, "state": bson.M{"$ne": memory.JobDone}}
		if len(states) > 0 {
			filter = bson.M{"owner": owner, "state": anyOf(states)}
		}
		return s.fetch(ctx, on, filter, whole, jobs)
	}
	err = s.read(ctx, owner, from, func(at *shelf.Shelf) error { out = at.ListJobs(states...); return nil })
	return out, err
}

// Requeue makes a parked job due now: see [memory.Queue].
func (s *Store) Requeue(ctx context.Context, owner memory.Owner, job string) error {
	return s.onJob(ctx, owner, job, func(draft *shelf.Shelf) error { return draft.Requeue(job, s.now()) })
}
