package exchange

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/lessons"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// asksToLearn returns the job that a question is stored with: it learns should the
// exchange never come to its end or, where learning counts, once the conversation
// rests.
func (x recorder) asksToLearn(ctx context.Context, now time.Time) ([]memory.Job, error) {
	if x.asksToForget() {
		job := lessons.LearnJob(x.In.Owner, x.conversation.ID, x.Asked, now)
		job.ID = lessons.ForgetPrefix + x.Asked
		return []memory.Job{job}, nil
	}
	if !x.learns || x.Asked == "" || x.Hides() {
		return nil, nil
	}
	switch x.e.Opts.LearnAfter {
	case core.AfterUser:
		return []memory.Job{lessons.LearnJob(x.In.Owner, x.conversation.ID, x.Asked, now, x.moved...)}, nil
	case core.AfterExchange:
	default:
		return nil, nil
	}
	if !x.e.Opts.Learn.Counts() {
		return []memory.Job{lessons.LearnJob(x.In.Owner, x.conversation.ID, x.Asked, now.Add(LearnGrace), x.moved...)}, nil
	}
	waiting, err := x.unlearned(ctx)
	if err != nil {
		return nil, err
	}
	first := x.Asked
	if len(waiting) > 0 {
		first = waiting[0].ID
	}
	return []memory.Job{x.e.Lessons.RestJob(x.In.Owner, x.conversation.ID, first, now)}, nil
}

// endToLearn returns the job that an answer is stored with: it learns from the exchange, if
// enough has been said, the user asked memory for something, or turns moved that had taught something.
func (x recorder) endToLearn(ctx context.Context, exchanges int, now time.Time) ([]memory.Job, error) {
	asked := cmp.Or(x.Asked, x.again)
	if last := x.In.Chat.LastUser(); asked == "" && len(x.moved) > 0 && last >= 0 {
		asked = x.At.Turns[last] // the chat went back to where it was, with the answer that it had
	}
	if !x.learns || asked == "" || x.Hides() || x.e.Opts.LearnAfter == core.Never {
		return nil, nil
	}
	if x.e.Opts.LearnAfter == core.AfterUser && (x.Asked != "" || len(x.moved) == 0) {
		return nil, nil // the question's job does it
	}
	job := lessons.LearnJob(x.In.Owner, x.conversation.ID, asked, now, x.moved...)
	job.ID += "-end"
	if len(x.moved) > 0 { // each time that turns move
		job.ID += "-" + core.NewID()
	}
	l := x.e.Opts.Learn
	if !l.Counts() {
		return []memory.Job{job}, nil
	}
	waiting, err := x.unlearned(ctx)
	if err != nil {
		return nil, err
	}
	asks := func(t memory.Turn) bool {
		wishes := learn.WishesIn(t)
		return wishes.Remember || len(wishes.Forget) > 0
	}
	enough := len(waiting) >= l.Every && exchanges >= l.Exchanges || slices.ContainsFunc(waiting, asks)
	if !enough {
		taught, err := x.taught(ctx)
		if err != nil || !taught {
			return nil, err
		}
	}
	return []memory.Job{job}, nil
}

// unlearned returns the conversation's turns that were not learned from.
func (x recorder) unlearned(ctx context.Context) ([]memory.Turn, error) {
	turns, err := x.e.Store.Turns(ctx, x.In.Owner, memory.TurnQuery{Conversation: x.conversation.ID, Unlearned: true})
	if err != nil {
		return nil, fmt.Errorf("count what is not learned from: %w", err)
	}
	return turns, nil
}

// taught reports whether a turn was learned from that left the path or came back to
// it: its facts follow at once, whatever learning waits for.
func (x recorder) taught(ctx context.Context) (bool, error) {
	turns, err := x.e.Store.Turns(ctx, x.In.Owner, memory.TurnQuery{
		Conversation: x.conversation.ID, IDs: x.moved, Statuses: []memory.Status{memory.Active, memory.Replaced},
	})
	if err != nil {
		return false, fmt.Errorf("read turns that left or came back: %w", err)
	}
	return len(x.moved) > 0 && slices.ContainsFunc(turns, func(t memory.Turn) bool { return !t.LearnedAt.IsZero() }), nil
}
