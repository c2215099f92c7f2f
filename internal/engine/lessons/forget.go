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

// planForgetting adds to p the changes that the lesson's forget requests cause. The turns with the requests
// are forgotten too, since they repeat the text.
func (e *Learner) planForgetting(ctx context.Context, l Lesson, run string, p *planned) error {
	var found []memory.Memory
	for _, wish := range l.forget {
		meant, err := e.memoriesToForget(ctx, l, wish)
		if err != nil {
			return err
		}
		found = append(found, meant...)
	}
	for _, n := range l.named {
		meant, err := e.Store.Get(ctx, l.scope.Owner, append(slices.Clone(n.Facts), n.Turn)...)
		if err != nil {
			return fmt.Errorf("read the memories to forget: %w", err)
		}
		found = append(found, meant...)
	}
	if len(found) == 0 {
		return nil
	}
	const reason = "the user asked to forget it"
	var err error
	if p.Changes, p.jobs, err = e.Curate.Forgetting(ctx, l.scope.Owner, run, found, reason, byRule); err != nil {
		return err
	}
	p.Forgotten = found
	for _, m := range found {
		p.gone[m.ID()] = true
	}
	return nil
}

// memoriesToForget returns the earlier memories to which a forget request refers.
func (e *Learner) memoriesToForget(ctx context.Context, l Lesson, wish extract.Command) ([]memory.Memory, error) {
	found, err := e.Curate.Meant(ctx, l.scope, wish)
	if err != nil {
		return nil, err
	}
	asked := l.turn(wish.Span.Turn)
	meant := slices.DeleteFunc(found, func(m memory.Memory) bool { return curate.IsNewerThan(m, asked) })
	if len(meant) == 0 && !wish.OffTheRecord {
		return nil, nil
	}
	stored, err := e.Store.Get(ctx, l.scope.Owner, asked.ID)
	if err != nil {
		return nil, fmt.Errorf("read the turn that asked to forget: %w", err)
	}
	return append(meant, stored...), nil
}

// ForgetPrefix is the id prefix of jobs that only forget. They also run while learning is paused.
const ForgetPrefix = "forget-"

// forgetOnly handles jobs that only forget. It is idempotent.
func (e *Learner) forgetOnly(ctx context.Context, job memory.Job) (jobs.End, error) {
	turns, err := e.Store.Turns(ctx, job.Owner, memory.TurnQuery{Conversation: job.Conversation, IDs: job.Turns})
	if err != nil {
		return "", fmt.Errorf("read the turn that asks to forget: %w", err)
	}
	if len(turns) == 0 {
		return jobs.Nothing, nil
	}
	for i := range turns {
		turns[i].NoLearn = false // otherwise guardTurns drops the turn
	}
	l := Lesson{
		scope:      memory.Scope{Owner: job.Owner, Project: turns[0].Project, Agent: turns[0].Agent},
		utterances: guard(e.Core, turns, learn.GuardOptions{}),
		author:     byRule,
	}
	if _, l.forget = extract.Commands(l.utterances); len(l.forget) == 0 {
		return jobs.Nothing, nil
	}
	run := memory.Run{ID: core.RunOf(job.ID), Kind: "forget", Author: l.author, Lease: &job.Lease}
	if err := e.apply(ctx, job, l, run); err != nil {
		return "", err
	}
	e.Warm(job.Owner)
	return jobs.Applied, nil
}
