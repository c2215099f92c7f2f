package lessons

import (
	"context"
	"fmt"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// ForgetPrefix begins the ids of jobs that grant what a turn wishes to be forgotten
// and learn nothing: while learning is paused, forgetting is not.
const ForgetPrefix = "forget-"

// forgetOnly carries out a job that grants wishes to forget. Doing it again finds
// nothing left of what was said before the wish.
func (e *Learner) forgetOnly(ctx context.Context, job memory.Job) (jobs.End, error) {
	turns, err := e.Store.Turns(ctx, job.Owner, memory.TurnQuery{Conversation: job.Conversation, IDs: job.Turns})
	if err != nil {
		return "", fmt.Errorf("read the turn that asks to forget: %w", err)
	}
	if len(turns) == 0 {
		return jobs.Nothing, nil
	}
	for i := range turns {
		turns[i].NoLearn = false // or the guard leaves it out; only what it wishes is read
	}
	l := lesson{
		scope:  memory.Scope{Owner: job.Owner, Project: turns[0].Project, Agent: turns[0].Agent},
		said:   learn.Guard(turns, learn.GuardOptions{Personal: e.Opts.Learn.Personal, Begin: recall.FenceOpen, End: recall.FenceClose}),
		author: memory.Author{Kind: memory.ByRule, Name: "rules"},
	}
	if _, l.forget = learn.Commands(l.said); len(l.forget) == 0 {
		return jobs.Nothing, nil
	}
	run := memory.Run{ID: core.RunOf(job.ID), Kind: "forget", Author: l.author, Lease: &job.Lease}
	if err := e.apply(ctx, job, l, run); err != nil {
		return "", err
	}
	e.Warm(job.Owner)
	return jobs.Applied, nil
}
