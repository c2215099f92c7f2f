package lessons

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// planForgetting adds to plan the changes that the lesson's forget requests cause. The turns with the
// requests are forgotten too, since they repeat the text.
func (e *Learner) planForgetting(ctx context.Context, l Lesson, runID string, plan *lessonPlan) error {
	var memories []memory.Memory
	for _, command := range l.ruleForgetCommands {
		targets, err := e.memoriesToForget(ctx, l, command)
		if err != nil {
			return err
		}
		memories = append(memories, targets...)
	}
	for _, n := range l.modelForgetRequests {
		targets, err := e.Store.Get(ctx, l.scope.Owner, append(slices.Clone(n.FactIDs), n.TurnID)...)
		if err != nil {
			return fmt.Errorf("read the memories to forget: %w", err)
		}
		memories = append(memories, targets...)
	}
	if len(memories) == 0 {
		return nil
	}
	const reason = "the user asked to forget it"
	var err error
	if plan.Changes, plan.jobs, err = e.Curate.ForgetChanges(ctx, l.scope.Owner, runID, memories, reason, byRule); err != nil {
		return err
	}
	plan.Forgotten = memories
	for _, m := range memories {
		plan.forgottenIDs[m.ID()] = true
	}
	return nil
}

// memoriesToForget returns the earlier memories to which a forget request refers.
func (e *Learner) memoriesToForget(ctx context.Context, l Lesson, command extract.ForgetCommand) ([]memory.Memory, error) {
	memories, err := e.Curate.FindToForget(ctx, l.scope, command)
	if err != nil {
		return nil, err
	}
	requestTurn := l.turnByID(command.Span.Turn)
	targets := slices.DeleteFunc(memories, func(m memory.Memory) bool { return curate.IsNewerThan(m, requestTurn) })
	if len(targets) == 0 && !command.OffTheRecord {
		return nil, nil
	}
	stored, err := e.Store.Get(ctx, l.scope.Owner, requestTurn.ID)
	if err != nil {
		return nil, fmt.Errorf("read the turn that asked to forget: %w", err)
	}
	return append(targets, stored...), nil
}

// ForgetPrefix is the id prefix of jobs that only forget. They also run while learning is paused.
const ForgetPrefix = "forget-"

// handleForgetJob handles jobs that only forget. It is idempotent.
func (e *Learner) handleForgetJob(ctx context.Context, job memory.Job) (jobs.Completion, error) {
	turns, err := e.Store.Turns(ctx, job.Owner, memory.TurnQuery{Conversation: job.Conversation, IDs: job.Turns})
	if err != nil {
		return "", fmt.Errorf("read the turn that asks to forget: %w", err)
	}
	if len(turns) == 0 {
		return jobs.Nothing, nil
	}
	for i := range turns {
		turns[i].NoLearn = false // otherwise guardedUtterances drops the turn
	}
	l := Lesson{
		scope:      memory.Scope{Owner: job.Owner, Project: turns[0].Project, Agent: turns[0].Agent},
		utterances: guardedUtterances(e.Core, turns, learn.GuardOptions{}),
		author:     byRule,
	}
	if _, l.ruleForgetCommands = extract.MemoryCommands(l.utterances); len(l.ruleForgetCommands) == 0 {
		return jobs.Nothing, nil
	}
	run := memory.Run{ID: core.JobRunID(job.ID), Kind: "forget", Author: l.author, Lease: &job.Lease}
	if err := e.applyLesson(ctx, job, l, run); err != nil {
		return "", err
	}
	e.Warm(job.Owner)
	return jobs.Applied, nil
}
