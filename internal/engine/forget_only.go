package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// forgetPrefix begins the ids of jobs that grant what a turn wishes to be forgotten
// and learn nothing: while learning is paused, forgetting is not.
const forgetPrefix = "forget-"

// asksToForget reports whether the new user turn is not learned from and wishes
// something to be forgotten.
func (x *Exchange) asksToForget() bool {
	if x.learns || x.hides() || x.asked == "" {
		return false
	}
	t := memory.Turn{ID: x.asked, Role: memory.RoleUser, Content: x.in.Chat.Messages[x.in.Chat.LastUser()].Text}
	_, forget := learn.Commands([]learn.Said{{Turn: t, Text: t.Content}})
	return len(forget) > 0
}

// forgetOnly carries out a job that grants wishes to forget. Doing it again finds
// nothing left of what was said before the wish.
func (e *Engine) forgetOnly(ctx context.Context, job memory.Job) (jobs.End, error) {
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
		said:   learn.Guard(turns, learn.GuardOptions{Personal: e.opts.Learn.Personal, Begin: recall.FenceOpen, End: recall.FenceClose}),
		author: memory.Author{Kind: memory.ByRule, Name: "rules"},
	}
	if _, l.forget = learn.Commands(l.said); len(l.forget) == 0 {
		return jobs.Nothing, nil
	}
	run := memory.Run{ID: runOf(job.ID), Kind: "forget", Author: l.author, Lease: &job.Lease}
	if err := e.apply(ctx, job, l, run); err != nil {
		return "", err
	}
	e.warm(job.Owner)
	return jobs.Applied, nil
}

// mostFiltered is how many memories a filter forgets at once: all of it is one run.
const mostFiltered = 10_000

// ForgetFiltered forgets or erases what a filter lets through, facts unless it names other
// kinds, or only says what that would be: [Engine.ForgetMatching] with their ids, in one
// run. What has left recall already is erased, too. [memory.Invalid] for a filter that
// does not narrow, so that an empty one never means everything; [memory.TooLarge] if it
// lets more than ten thousand through.
func (e *Engine) ForgetFiltered(ctx context.Context, owner memory.Owner, q memory.Query, m Matching, author memory.Author) ([]memory.Memory, memory.Receipt, error) {
	ctx = memory.ForWrite(ctx)
	q.Text = strings.TrimSpace(q.Text)
	if q.Tag == "" && q.Category == "" && q.Project == "" && q.Conversation == "" && q.Text == "" {
		return nil, memory.Receipt{}, memory.Errorf(memory.Invalid, "filter: it names nothing to forget by; give tag, category, project, conversation or q")
	}
	if m.Query != "" || len(m.IDs) > 0 {
		return nil, memory.Receipt{}, memory.Errorf(memory.Invalid, "give either a filter, a query or ids")
	}
	done, err := e.done(ctx, owner, m.Idempotency)
	switch {
	case err != nil:
		return nil, memory.Receipt{}, err
	case len(done) > 0: // the filter finds nothing any more
		return e.sameForgotten(ctx, owner, done, m.Erase)
	}
	q.Statuses = []memory.Status{memory.Active, memory.Pending}
	if m.Erase {
		q.Statuses = everyStatus
	}
	if err := e.everything(ctx, owner, q, func(found memory.Memory) {
		if found.Content() != "" { // was erased
			m.IDs = append(m.IDs, found.ID())
		}
	}); err != nil {
		return nil, memory.Receipt{}, err
	}
	switch {
	case len(m.IDs) == 0:
		return nil, memory.Receipt{}, nil
	case len(m.IDs) > mostFiltered:
		return nil, memory.Receipt{}, memory.Errorf(memory.TooLarge, "filter: it finds %d memories, more than %d at once; narrow it", len(m.IDs), mostFiltered)
	}
	return e.ForgetMatching(ctx, owner, m, author)
}
