package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// counts reports whether learning waits for a number of messages or exchanges.
func (l Learning) counts() bool { return l.Every > 1 || l.Exchanges > 1 }

// learnPrefix begins the ids of jobs that learn from a turn and those before it.
const learnPrefix = "learn-"

// learnJob is the job that learns from a conversation up to a turn, and lets facts
// follow the turns that left the path or came back to it.
func learnJob(owner memory.Owner, conversation, turn string, runAt time.Time, moved ...string) memory.Job {
	return memory.Job{
		ID: learnPrefix + turn, Owner: owner, Kind: memory.JobLearn, Conversation: conversation,
		Turns: append([]string{turn}, moved...), State: memory.JobQueued, RunAt: runAt, CreatedAt: runAt,
	}
}

// rulesPrefix begins the ids of jobs that learn by rule at once what the model reads later
// together with more. They leave the turns to be learned from.
const rulesPrefix = "rules-"

// isRulesJob reports whether the rules alone are to learn.
func isRulesJob(job memory.Job) bool { return strings.HasPrefix(job.ID, rulesPrefix) }

// rulesFirst reports whether rules learn before the model does.
func (e *Engine) rulesFirst() bool { return e.LLM != nil && e.opts.Rules && e.opts.Learn.counts() }

// restPrefix begins the ids of jobs that learn what a count left over: they wait
// for the conversation to rest.
const restPrefix = "rest-"

// restJob is the job that learns from a conversation once it rests; first is the
// first turn that is not learned from, so that there is one such job at a time.
func (e *Engine) restJob(owner memory.Owner, conversation, first string, now time.Time) memory.Job {
	j := learnJob(owner, conversation, first, now.Add(e.opts.Learn.Idle))
	j.ID = restPrefix + first
	return j
}

// rests returns a [*jobs.PutOff] if the job waits for a conversation to rest that
// does not.
func (e *Engine) rests(ctx context.Context, job memory.Job) error {
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
	if until := last[0].RecordedAt.Add(e.opts.Learn.Idle); e.now().Before(until) {
		return &jobs.PutOff{Until: until, Why: "the conversation goes on"}
	}
	return nil
}

// needless returns the ids of those jobs that wait in case an exchange never comes to
// its end, and are about one that did and was learned from: they will find nothing.
func (e *Engine) needless(ctx context.Context, owner memory.Owner, all []memory.Job) (map[string]bool, error) {
	waits := map[string]string{} // turn to job
	for _, j := range all {
		if j.Kind == memory.JobLearn && j.State == memory.JobQueued && j.RunAt.After(e.now()) && len(j.Turns) > 0 && j.ID == learnJob(owner, "", j.Turns[0], j.RunAt).ID {
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
		return nil, fmt.Errorf("read what jobs are about: %w", err)
	}
	needless := map[string]bool{}
	for _, t := range turns {
		if !t.LearnedAt.IsZero() {
			needless[waits[t.ID]] = true
		}
	}
	return needless, nil
}

// asksToLearn returns the job that a question is stored with: it learns should the
// exchange never come to its end or, where learning counts, once the conversation
// rests.
func (x *Exchange) asksToLearn(ctx context.Context, now time.Time) ([]memory.Job, error) {
	if x.asksToForget() {
		job := learnJob(x.in.Owner, x.conversation.ID, x.asked, now)
		job.ID = forgetPrefix + x.asked
		return []memory.Job{job}, nil
	}
	if !x.learns || x.asked == "" || x.hides() {
		return nil, nil
	}
	switch x.e.opts.LearnAfter {
	case AfterUser:
		return []memory.Job{learnJob(x.in.Owner, x.conversation.ID, x.asked, now, x.moved...)}, nil
	case AfterExchange:
	default:
		return nil, nil
	}
	if !x.e.opts.Learn.counts() {
		return []memory.Job{learnJob(x.in.Owner, x.conversation.ID, x.asked, now.Add(learnGrace), x.moved...)}, nil
	}
	waiting, err := x.unlearned(ctx)
	if err != nil {
		return nil, err
	}
	first := x.asked
	if len(waiting) > 0 {
		first = waiting[0].ID
	}
	return []memory.Job{x.e.restJob(x.in.Owner, x.conversation.ID, first, now)}, nil
}

// endToLearn returns the jobs that an answer is stored with. One learns from the
// exchange, if enough has been said or turns moved that had taught something; where a
// model waits for more, the rules learn at once.
func (x *Exchange) endToLearn(ctx context.Context, exchanges int, now time.Time) ([]memory.Job, error) {
	asked := cmp.Or(x.asked, x.again)
	if last := x.in.Chat.LastUser(); asked == "" && len(x.moved) > 0 && last >= 0 {
		asked = x.at.Turns[last] // the chat went back to where it was, with the answer that it had
	}
	if !x.learns || asked == "" || x.hides() || x.e.opts.LearnAfter == Never {
		return nil, nil
	}
	if x.e.opts.LearnAfter == AfterUser && (x.asked != "" || len(x.moved) == 0) {
		return nil, nil // the question's job does it
	}
	job := learnJob(x.in.Owner, x.conversation.ID, asked, now, x.moved...)
	job.ID += "-end"
	if len(x.moved) > 0 { // each time that turns move
		job.ID += "-" + newID()
	}
	l := x.e.opts.Learn
	if !l.counts() {
		return []memory.Job{job}, nil
	}
	waiting, err := x.unlearned(ctx)
	if err != nil {
		return nil, err
	}
	enough := len(waiting) >= l.Every && exchanges >= l.Exchanges || slices.ContainsFunc(waiting, wishesToForget)
	if x.e.rulesFirst() {
		first := job
		first.ID = rulesPrefix + strings.TrimPrefix(first.ID, learnPrefix)
		if !enough {
			return []memory.Job{first}, nil
		}
		job.RunAt = now.Add(time.Microsecond) // behind the rules
		return []memory.Job{first, job}, nil
	}
	if !enough {
		taught, err := x.taught(ctx)
		if err != nil || !taught {
			return nil, err
		}
	}
	return []memory.Job{job}, nil
}

// wishesToForget reports whether a turn asks to forget something: what is said after that
// is to be learned after it.
func wishesToForget(t memory.Turn) bool {
	_, forget := learn.Commands([]learn.Said{{Turn: t, Text: t.Content}})
	return len(forget) > 0
}

// unlearned returns the conversation's turns that were not learned from.
func (x *Exchange) unlearned(ctx context.Context) ([]memory.Turn, error) {
	turns, err := x.e.Store.Turns(ctx, x.in.Owner, memory.TurnQuery{Conversation: x.conversation.ID, Unlearned: true})
	if err != nil {
		return nil, fmt.Errorf("count what is not learned from: %w", err)
	}
	return turns, nil
}

// taught reports whether a turn was learned from that left the path or came back to
// it: its facts follow at once, whatever learning waits for.
func (x *Exchange) taught(ctx context.Context) (bool, error) {
	turns, err := x.e.Store.Turns(ctx, x.in.Owner, memory.TurnQuery{
		Conversation: x.conversation.ID, IDs: x.moved, Statuses: []memory.Status{memory.Active, memory.Replaced},
	})
	if err != nil {
		return false, fmt.Errorf("read turns that left or came back: %w", err)
	}
	return len(x.moved) > 0 && slices.ContainsFunc(turns, func(t memory.Turn) bool { return !t.LearnedAt.IsZero() }), nil
}
