package lessons

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/memory"
)

// LearnPrefix is the id prefix of jobs that learn from a conversation's turns up to one turn.
const LearnPrefix = "learn-"

// LearnJob returns the job that learns from a conversation up to a turn. The job also makes facts follow
// the turns movedIDs, which left or rejoined the branch.
func LearnJob(owner memory.Owner, conversation, turn string, runAt time.Time, moved ...string) memory.Job {
	return memory.Job{
		ID: LearnPrefix + turn, Owner: owner, Kind: memory.JobLearn, Conversation: conversation,
		Turns: append([]string{turn}, moved...), State: memory.JobQueued, RunAt: runAt, CreatedAt: runAt,
	}
}

// idlePrefix is the id prefix of jobs that learn from the remaining messages of idle conversations.
const restPrefix = "rest-"

// IdleLearnJob returns the job that learns from a conversation once it is idle. Its id contains firstTurn,
// the first turn not learned from, so that only one such job exists at a time.
func (e *Learner) RestJob(owner memory.Owner, conversation, first string, now time.Time) memory.Job {
	j := LearnJob(owner, conversation, first, now.Add(e.Opts.Learn.Idle))
	j.ID = restPrefix + first
	return j
}

// putOffUntilIdle returns a [*jobs.PutOff] if the job must wait until its conversation is idle.
func (e *Learner) putOffUntilIdle(ctx context.Context, job memory.Job) error {
	if !strings.HasPrefix(job.ID, restPrefix) {
		return nil
	}
	last, err := e.Store.Turns(ctx, job.Owner, memory.TurnQuery{Conversation: job.Conversation, Last: 1})
	if err != nil {
		return fmt.Errorf("read the last turn: %w", err)
	}
	if len(last) == 0 {
		return nil
	}
	if until := last[0].RecordedAt.Add(e.Opts.Learn.Idle); e.Time().Before(until) {
		return &jobs.PutOff{Until: until, Why: "the conversation goes on"}
	}
	return nil
}

// redundantJobs returns the ids of jobs that were queued in case an exchange fails, although the exchange
// ended and was learned from.
func (e *Learner) needlessJobs(ctx context.Context, owner memory.Owner, all []memory.Job) (map[string]bool, error) {
	waits := map[string]string{} // turn to job
	for _, j := range all {
		if j.Kind == memory.JobLearn && j.State == memory.JobQueued && j.RunAt.After(e.Time()) && len(j.Turns) > 0 && j.ID == LearnJob(owner, "", j.Turns[0], j.RunAt).ID {
			waits[j.Turns[0]] = j.ID
		}
	}
	if len(waits) == 0 {
		return nil, nil
	}
	turns, err := e.Store.Turns(ctx, owner, memory.TurnQuery{
		IDs: slices.Collect(maps.Keys(waits)), Statuses: []memory.Status{memory.Active, memory.Replaced, memory.Retired},
	})
	if err != nil {
		return nil, fmt.Errorf("read the turns of jobs: %w", err)
	}
	needless := map[string]bool{}
	for _, t := range turns {
		if !t.LearnedAt.IsZero() {
			needless[waits[t.ID]] = true
		}
	}
	return needless, nil
}
