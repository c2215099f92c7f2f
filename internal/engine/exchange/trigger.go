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
func (x *Exchange) questionJobs(ctx context.Context, q storedQuestion, now time.Time) ([]memory.Job, error) {
	if !q.mode.storesText || q.newTurnID == "" {
		return nil, nil
	}
	job := func(runAt time.Time, moved ...string) []memory.Job {
		return []memory.Job{lessons.LearnJob(x.Incoming.Owner, q.conversation.ID, q.newTurnID, runAt, moved...)}
	}
	switch trigger := x.exchanges.Opts.LearnAfter; {
	case !q.mode.learnsFacts && len(x.memoryRequests.ForgetCommands) > 0:
		jobs := job(now)
		jobs[0].ID = lessons.ForgetPrefix + q.newTurnID
		return jobs, nil
	case q.mode.learnsFacts && trigger == core.AfterUser:
		return job(now, q.movedIDs...), nil
	case !q.mode.learnsFacts || trigger != core.AfterExchange:
		return nil, nil
	case !x.exchanges.Opts.Learn.WaitsForSeveral():
		return job(now.Add(LearnGrace), q.movedIDs...), nil
	}
	unlearned, err := x.unlearnedTurns(ctx, q)
	if err != nil {
		return nil, err
	}
	first := q.newTurnID
	if len(unlearned) > 0 {
		first = unlearned[0].ID
	}
	return []memory.Job{x.exchanges.Lessons.IdleLearnJob(x.Incoming.Owner, q.conversation.ID, first, now)}, nil
}

// answerJobs returns the job that is stored with an answer. The job learns from the exchange if one is due:
// after enough messages, after a request to remember or forget, or if moved turns were learned from.
func (x *Exchange) answerJobs(ctx context.Context, q storedQuestion, movedIDs []string, exchangeCount int, now time.Time) ([]memory.Job, error) {
	turnID, settings := q.newTurnID, x.exchanges.Opts.Learn
	if turnID == "" && len(movedIDs) > 0 && !x.hasOnlyToolResults() {
		turnID = q.turnID // a repeated question, or a return to an earlier branch
	}
	if !q.mode.learnsFacts || turnID == "" || x.exchanges.Opts.LearnAfter == core.NeverLearn {
		return nil, nil
	}
	if x.exchanges.Opts.LearnAfter == core.AfterUser && (q.newTurnID != "" || len(movedIDs) == 0) {
		return nil, nil // the question's job learns
	}
	job := lessons.LearnJob(x.Incoming.Owner, q.conversation.ID, turnID, now, movedIDs...)
	job.ID += "-end"
	if len(movedIDs) > 0 { // each move of turns needs a new job id
		job.ID += "-" + core.NewID()
	}
	if !settings.WaitsForSeveral() {
		return []memory.Job{job}, nil
	}
	unlearned, err := x.unlearnedTurns(ctx, q)
	if err != nil {
		return nil, err
	}
	addressesMemory := func(t memory.Turn) bool {
		requests := learn.MemoryRequestsIn(t)
		return requests.HasRememberRequest || len(requests.ForgetCommands) > 0
	}
	isDue := len(unlearned) >= settings.MessagesPerLesson && exchangeCount >= settings.FirstExchange || slices.ContainsFunc(unlearned, addressesMemory)
	if !isDue && len(movedIDs) > 0 { // facts learned from moved turns must be updated at once
		turns, err := x.exchanges.Store.Turns(ctx, x.Incoming.Owner, memory.TurnQuery{
			Conversation: q.conversation.ID, IDs: movedIDs, Statuses: []memory.Status{memory.Active, memory.Replaced},
		})
		if err != nil {
			return nil, fmt.Errorf("read the turns that left or rejoined the branch: %w", err)
		}
		isDue = slices.ContainsFunc(turns, func(t memory.Turn) bool { return !t.LearnedAt.IsZero() })
	}
	if !isDue {
		return nil, nil
	}
	return []memory.Job{job}, nil
}

// unlearnedTurns returns the conversation's turns from which nothing was learned yet.
func (x *Exchange) unlearnedTurns(ctx context.Context, q storedQuestion) ([]memory.Turn, error) {
	turns, err := x.exchanges.Store.Turns(ctx, x.Incoming.Owner, memory.TurnQuery{Conversation: q.conversation.ID, Unlearned: true})
	if err != nil {
		return nil, fmt.Errorf("read turns not learned from: %w", err)
	}
	return turns, nil
}
