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

// LearnJob returns the job that learns from a conversation up to a turn. The job also updates the facts of
// the turns with the ids movedIDs, which left or rejoined the branch.
func LearnJob(owner memory.Owner, conversation, turnID string, runAt time.Time, movedIDs ...string) memory.Job {
	return memory.Job{
		ID: LearnPrefix + turnID, Owner: owner, Kind: memory.JobLearn, Conversation: conversation,
		Turns: append([]string{turnID}, movedIDs...), State: memory.JobQueued, RunAt: runAt, CreatedAt: runAt,
	}
}

// idlePrefix is the id prefix of jobs that learn from the remaining messages of idle conversations.
const idlePrefix = "rest-"

// IdleLearnJob returns the job that learns from a conversation once it is idle. Its id contains firstTurnID,
// the id of the first turn not learned from, so that only one such job exists at a time.
func (e *Learner) IdleLearnJob(owner memory.Owner, conversation, firstTurnID string, now time.Time) memory.Job {
	j := LearnJob(owner, conversation, firstTurnID, now.Add(e.Opts.Learn.IdleTime))
	j.ID = idlePrefix + firstTurnID
	return j
}

// putOffUntilIdle returns a [*jobs.PutOff] if the job must wait until its conversation is idle.
func (e *Learner) putOffUntilIdle(ctx context.Context, job memory.Job) error {
	if !strings.HasPrefix(job.ID, idlePrefix) {
		return nil
	}
	last, err := e.Store.Turns(ctx, job.Owner, memory.TurnQuery{Conversation: job.Conversation, Last: 1})
	if err != nil {
		return fmt.Errorf("read the last turn: %w", err)
	}
	if len(last) == 0 {
		return nil
	}
	if until := last[0].RecordedAt.Add(e.Opts.Learn.IdleTime); e.Time().Before(until) {
		return &jobs.PutOff{Until: until, Reason: "the conversation goes on"}
	}
	return nil
}

// redundantJobs returns the ids of unneeded learn jobs: they were queued in case an exchange fails, but the
// exchange ended and was learned from.
func (e *Learner) redundantJobs(ctx context.Context, owner memory.Owner, unfinished []memory.Job) (map[string]bool, error) {
	jobByTurn := map[string]string{} // turn to job
	for _, j := range unfinished {
		if j.Kind == memory.JobLearn && j.State == memory.JobQueued && j.RunAt.After(e.Time()) && len(j.Turns) > 0 && j.ID == LearnJob(owner, "", j.Turns[0], j.RunAt).ID {
			jobByTurn[j.Turns[0]] = j.ID
		}
	}
	if len(jobByTurn) == 0 {
		return nil, nil
	}
	turns, err := e.Store.Turns(ctx, owner, memory.TurnQuery{
		IDs: slices.Collect(maps.Keys(jobByTurn)), Statuses: []memory.Status{memory.Active, memory.Replaced, memory.Retired},
	})
	if err != nil {
		return nil, fmt.Errorf("read the turns of jobs: %w", err)
	}
	redundant := map[string]bool{}
	for _, t := range turns {
		if !t.LearnedAt.IsZero() {
			redundant[jobByTurn[t.ID]] = true
		}
	}
	return redundant, nil
}
