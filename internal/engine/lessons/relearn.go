package lessons

import (
	"context"
	"fmt"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/memory"
)

// RelearnOptions select the user's turns to learn from again, by conversation and time: for example, turns
// from which only the rules learned, while the model was unavailable.
type RelearnOptions struct {
	Conversation   string
	Since          time.Time
	IdempotencyKey string // a repeated key queues nothing
}

// turnsPerRelearnJob is the maximum number of turns of one job.
const turnsPerRelearnJob = 200

// Relearn queues jobs that learn again, and returns the number of turns. Stored facts are only confirmed;
// forgotten, undone and rejected facts do not return.
func (e *Learner) Relearn(ctx context.Context, owner memory.Owner, opts RelearnOptions) (int, error) {
	if !e.CanLearn() {
		return 0, memory.Errorf(memory.Invalid, "learning is off: learn.model is empty and learn.rules is off")
	}
	turns, err := e.Store.Turns(ctx, owner, memory.TurnQuery{Conversation: opts.Conversation})
	if err != nil {
		return 0, fmt.Errorf("read turns: %w", err)
	}
	run := memory.Run{ID: core.IDForKey(owner, opts.IdempotencyKey), Kind: "relearn"}
	count := 0
	for _, t := range turns {
		if t.Role != memory.RoleUser || t.NoLearn || t.CreatedAt.Before(opts.Since) {
			continue
		}
		count++
		last := len(run.Jobs) - 1
		if last < 0 || run.Jobs[last].Conversation != t.Conversation || len(run.Jobs[last].Turns) == turnsPerRelearnJob {
			run.Jobs = append(run.Jobs, memory.Job{
				ID: run.ID + "-" + t.ID, Owner: owner, Kind: memory.JobRelearn, Conversation: t.Conversation,
			})
			last++
		}
		run.Jobs[last].Turns = append(run.Jobs[last].Turns, t.ID)
	}
	if count == 0 {
		return 0, nil
	}
	if _, err := e.Store.Apply(ctx, owner, run); err != nil {
		return 0, fmt.Errorf("queue jobs: %w", err)
	}
	e.WakeJobRunner()
	return count, nil
}

// HandleRelearn handles relearn jobs.
func (e *Learner) HandleRelearn(ctx context.Context, job memory.Job) (jobs.Completion, error) {
	e.Idle.Wait(ctx)
	turns, err := e.Store.Turns(ctx, job.Owner, memory.TurnQuery{Conversation: job.Conversation, IDs: job.Turns})
	if err != nil {
		return "", fmt.Errorf("read turns: %w", err)
	}
	return e.learnFromTurns(ctx, job, turns)
}
