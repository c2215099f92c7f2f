package inmem

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// Apply stores the changes of a run.
func (s *Store) Apply(ctx context.Context, owner memory.Owner, run memory.Run, changes ...memory.Change) (memory.Receipt, error) {
	return s.writeReceipt(ctx, owner, func(data *ownerdata.Data) (memory.Receipt, error) { return data.Apply(owner, run, changes, s.now()) })
}

// Append writes a batch of turns: see [memory.TurnLog].
func (s *Store) Append(ctx context.Context, owner memory.Owner, b memory.Batch) (memory.Receipt, error) {
	return s.writeReceipt(ctx, owner, func(data *ownerdata.Data) (memory.Receipt, error) { return data.Append(owner, b, s.now()) })
}

func (s *Store) writeReceipt(ctx context.Context, owner memory.Owner, do func(data *ownerdata.Data) (memory.Receipt, error)) (receipt memory.Receipt, err error) {
	err = s.write(ctx, owner, func(data *ownerdata.Data) error {
		receipt, err = do(data)
		return err
	})
	if err != nil {
		return memory.Receipt{}, err
	}
	return receipt, nil
}

// Get returns memories by id.
func (s *Store) Get(ctx context.Context, owner memory.Owner, ids ...string) (memories []memory.Memory, err error) {
	err = s.read(ctx, owner, func(data *ownerdata.Data) error { memories = data.Get(ids...); return nil })
	return memories, err
}

// List returns the memories that match q.
func (s *Store) List(ctx context.Context, owner memory.Owner, q memory.Query) (page memory.Page, err error) {
	err = s.read(ctx, owner, func(data *ownerdata.Data) (err error) { page, err = data.List(q); return err })
	return page, err
}

// Profile returns the active profile entries.
func (s *Store) Profile(ctx context.Context, owner memory.Owner, at memory.At) (entries []memory.ProfileEntry, err error) {
	err = s.read(ctx, owner, func(data *ownerdata.Data) error { entries = data.Profile(at); return nil })
	return entries, err
}

// Contexts returns active contexts.
func (s *Store) Contexts(ctx context.Context, owner memory.Owner, at memory.At, ids ...string) (contexts []memory.Context, err error) {
	err = s.read(ctx, owner, func(data *ownerdata.Data) error { contexts = data.Contexts(at, ids...); return nil })
	return contexts, err
}

// Relations returns the active relations of a fact.
func (s *Store) Relations(ctx context.Context, owner memory.Owner, factID string, at memory.At) (relations []memory.Relation, err error) {
	err = s.read(ctx, owner, func(data *ownerdata.Data) error { relations = data.Relations(factID, at); return nil })
	return relations, err
}

// Changes returns the journal.
func (s *Store) Changes(ctx context.Context, owner memory.Owner, q memory.ChangeQuery) (page memory.ChangePage, err error) {
	err = s.read(ctx, owner, func(data *ownerdata.Data) (err error) { page, err = data.Changes(q); return err })
	return page, err
}

// Conversations returns the conversations that match q.
func (s *Store) Conversations(ctx context.Context, owner memory.Owner, q memory.ConversationQuery) (page memory.ConversationPage, err error) {
	err = s.read(ctx, owner, func(data *ownerdata.Data) (err error) { page, err = data.ListConversations(q); return err })
	return page, err
}

// Turns returns the turns that match q.
func (s *Store) Turns(ctx context.Context, owner memory.Owner, q memory.TurnQuery) (turns []memory.Turn, err error) {
	err = s.read(ctx, owner, func(data *ownerdata.Data) error { turns = data.ListTurns(q); return nil })
	return turns, err
}

// Counts returns an owner's counts.
func (s *Store) Counts(ctx context.Context, owner memory.Owner) (n memory.Counts, err error) {
	err = s.read(ctx, owner, func(data *ownerdata.Data) error { n = data.Counts(); return nil })
	return n, err
}

// Totals returns the counts over all owners.
func (s *Store) Totals(ctx context.Context) (memory.Counts, error) {
	if err := ctx.Err(); err != nil {
		return memory.Counts{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var total memory.Counts
	for _, data := range s.data {
		n := data.Counts()
		total.Facts += n.Facts
		total.Pending += n.Pending
		total.Turns += n.Turns
		total.Summaries += n.Summaries
		total.Conversations += n.Conversations
		total.Contexts += n.Contexts
		total.Changes += n.Changes
		if n.JobsQueued > 0 && (total.JobsQueued == 0 || n.JobsDue.Before(total.JobsDue)) {
			total.JobsDue = n.JobsDue
		}
		total.JobsQueued += n.JobsQueued
		total.JobsParked += n.JobsParked
	}
	return total, nil
}

// Owners returns every owner to whose memory something was written.
func (s *Store) Owners(ctx context.Context) ([]memory.Owner, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var owners []memory.Owner
	for owner, data := range s.data {
		if data.Version > 0 {
			owners = append(owners, owner)
		}
	}
	slices.Sort(owners)
	return owners, nil
}

// Versions returns each owner's version.
func (s *Store) Versions(ctx context.Context, owners []memory.Owner) ([]int64, error) {
	for _, o := range owners {
		if err := checkCall(ctx, o); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	versions := make([]int64, len(owners))
	for i, o := range owners {
		versions[i] = s.ownerData(o).Version
	}
	return versions, nil
}

// Since yields the items written after a version.
func (s *Store) Since(ctx context.Context, owner memory.Owner, model string, afterVersion int64, yield func(memory.IndexItem) error) (int64, error) {
	var items []memory.IndexItem
	var version int64
	err := s.read(ctx, owner, func(data *ownerdata.Data) (err error) {
		version = data.Version
		items, err = data.Since(owner, model, afterVersion)
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, item := range items {
		if err := yield(item); err != nil {
			return 0, err
		}
	}
	return version, nil
}

// VectorModels returns the models of an owner's vectors.
func (s *Store) VectorModels(ctx context.Context, owner memory.Owner) (models []string, err error) {
	err = s.read(ctx, owner, func(data *ownerdata.Data) error { models = data.VectorModels(); return nil })
	return models, err
}

// Claim leases the job that has been due the longest.
func (s *Store) Claim(ctx context.Context, kinds []memory.JobKind, duration time.Duration) (memory.Job, error) {
	if err := cmp.Or(ctx.Err(), ownerdata.CheckLeaseDuration(duration)); err != nil {
		return memory.Job{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := memory.Time(s.now())
	var due []memory.Job
	for _, data := range s.data {
		data.ExpireLeases(now)
		if j, isDue := data.DueJob(kinds, now); isDue {
			due = append(due, j)
		}
	}
	if len(due) == 0 {
		return memory.Job{}, memory.Errorf(memory.NotFound, "no job of kinds %q is due", kinds)
	}
	j := slices.MinFunc(due, ownerdata.CompareDue)
	s.claimCount++
	return s.data[j.Owner].LeaseJob(j, fmt.Sprintf("claim %d", s.claimCount), now.Add(duration)), nil
}

// Extend moves the end of a lease.
func (s *Store) Extend(ctx context.Context, heldLease memory.Lease, duration time.Duration) (extended memory.Lease, err error) {
	if err := cmp.Or(ctx.Err(), ownerdata.CheckLeaseDuration(duration)); err != nil {
		return memory.Lease{}, err
	}
	err = s.write(ctx, heldLease.Owner, func(data *ownerdata.Data) (err error) {
		extended, err = data.ExtendLease(heldLease, duration, memory.Time(s.now()))
		return err
	})
	return extended, err
}

// Finish records the outcome of a job's attempt.
func (s *Store) Finish(ctx context.Context, lease memory.Lease, o memory.Outcome) error {
	return s.write(ctx, lease.Owner, func(data *ownerdata.Data) error {
		now := memory.Time(s.now())
		j, err := data.LeasedJob(lease, now)
		if err != nil {
			return err
		}
		data.FinishAttempt(j, o, now)
		return nil
	})
}

// Jobs returns an owner's jobs.
func (s *Store) Jobs(ctx context.Context, owner memory.Owner, states ...memory.JobState) (jobs []memory.Job, err error) {
	err = s.read(ctx, owner, func(data *ownerdata.Data) error { jobs = data.ListJobs(states...); return nil })
	return jobs, err
}

// Requeue makes a parked job due now.
func (s *Store) Requeue(ctx context.Context, owner memory.Owner, jobID string) error {
	return s.write(ctx, owner, func(data *ownerdata.Data) error { return data.Requeue(jobID, s.now()) })
}

// AddTombstones stores tombstones of turns: see [memory.Tombstones].
func (s *Store) AddTombstones(ctx context.Context, owner memory.Owner, turns ...memory.Turn) error {
	return s.write(ctx, owner, func(data *ownerdata.Data) error { data.AddTombstones(turns...); return nil })
}

// HasTombstones reports, for each turn, whether its role and text have a tombstone: see [memory.Tombstones].
func (s *Store) HasTombstones(ctx context.Context, owner memory.Owner, turns ...memory.Turn) (haveTombstones []bool, err error) {
	err = s.read(ctx, owner, func(data *ownerdata.Data) error { haveTombstones = data.HasTombstones(turns...); return nil })
	return haveTombstones, err
}
