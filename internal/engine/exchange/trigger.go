package exchange

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/lessons"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// questionJobs returns the job that is stored with a question. The job learns if no answer follows or, if
// learning waits for several messages, once the conversation is idle.
func (x *Exchange) asksToLearn(ctx context.Context, q question, now time.Time) ([]memory.Job, error) {
	if !q.mode.writes || q.asked == "" {
		return nil, nil
	}
	job := func(at time.Time, moved ...string) []memory.Job {
		return []memory.Job{lessons.LearnJob(x.In.Owner, q.conversation.ID, q.asked, at, moved...)}
	}
	switch after := x.e.Opts.LearnAfter; {
	case !q.mode.learns && len(x.wishes.Forget) > 0:
		jobs := job(now)
		jobs[0].ID = lessons.ForgetPrefix + q.asked
		return jobs, nil
	case q.mode.learns && after == core.AfterUser:
		return job(now, q.moved...), nil
	case !q.mode.learns || after != core.AfterExchange:
		return nil, nil
	case !x.e.Opts.Learn.Counts():
		return job(now.Add(LearnGrace), q.moved...), nil
	}
	waiting, err := x.unlearned(ctx, q)
	if err != nil {
		return nil, err
	}
	first := q.asked
	if len(waiting) > 0 {
		first = waiting[0].ID
	}
	return []memory.Job{x.e.Lessons.RestJob(x.In.Owner, q.conversation.ID, first, now)}, nil
}

// answerJobs returns the job that is stored with an answer. The job learns from the exchange if there are
// enough messages, if the user addressed memory, or if facts were learned from turns that moved.
func (x *Exchange) endToLearn(ctx context.Context, q question, moved []string, exchanges int, now time.Time) ([]memory.Job, error) {
	asked, l := q.asked, x.e.Opts.Learn
	if asked == "" && len(moved) > 0 && !x.resultsAlone() {
		asked = q.id // a repeated question, or a return to an earlier branch
	}
	if !q.mode.learns || asked == "" || x.e.Opts.LearnAfter == core.Never {
		return nil, nil
	}
	if x.e.Opts.LearnAfter == core.AfterUser && (q.asked != "" || len(moved) == 0) {
		return nil, nil // the question's job learns
	}
	job := lessons.LearnJob(x.In.Owner, q.conversation.ID, asked, now, moved...)
	job.ID += "-end"
	if len(moved) > 0 { // each move of turns needs a new job id
		job.ID += "-" + core.NewID()
	}
	if !l.Counts() {
		return []memory.Job{job}, nil
	}
	waiting, err := x.unlearned(ctx, q)
	if err != nil {
		return nil, err
	}
	asks := func(t memory.Turn) bool {
		wishes := learn.MemoryRequestsIn(t)
		return wishes.Remember || len(wishes.Forget) > 0
	}
	enough := len(waiting) >= l.Every && exchanges >= l.Exchanges || slices.ContainsFunc(waiting, asks)
	if !enough && len(moved) > 0 { // facts must follow moved turns at once
		turns, err := x.e.Store.Turns(ctx, x.In.Owner, memory.TurnQuery{
			Conversation: q.conversation.ID, IDs: moved, Statuses: []memory.Status{memory.Active, memory.Replaced},
		})
		if err != nil {
			return nil, fmt.Errorf("read the moved turns: %w", err)
		}
		enough = slices.ContainsFunc(turns, func(t memory.Turn) bool { return !t.LearnedAt.IsZero() })
	}
	if !enough {
		return nil, nil
	}
	return []memory.Job{job}, nil
}

// unlearnedTurns returns the conversation's turns from which nothing was learned yet.
func (x *Exchange) unlearned(ctx context.Context, q question) ([]memory.Turn, error) {
	turns, err := x.e.Store.Turns(ctx, x.In.Owner, memory.TurnQuery{Conversation: q.conversation.ID, Unlearned: true})
	if err != nil {
		return nil, fmt.Errorf("read turns not learned from: %w", err)
	}
	return turns, nil
}
