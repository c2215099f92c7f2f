package lessons

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Complete calls the learning model for an owner. If the owner's daily budget is spent, the error is a
// [*jobs.PutOff].
func (e *Asker) Complete(ctx context.Context, owner memory.Owner, p memory.Prompt) (memory.Reply, error) {
	if err := e.checkBudget(ctx, owner); err != nil {
		return memory.Reply{}, err
	}
	if p.Model = cmp.Or(p.Model, e.learningModel(owner)); p.Model == "" {
		return memory.Reply{}, memory.Errorf(memory.Unavailable, "%w: no chat has named a model since the server started", llm.ErrNoModel)
	}
	if e.Opts.UseClientKeys {
		client := e.LastClients.Last(owner)
		if client.APIKey == "" {
			return memory.Reply{}, memory.Errorf(memory.Unavailable, "%w: no chat has sent an API key since the server started", llm.ErrNoModel)
		}
		ctx = llm.WithKey(ctx, client.APIKey)
	}
	reply, err := e.LLM.Complete(ctx, p)
	if err != nil {
		return memory.Reply{}, e.convertRateLimit(err)
	}
	e.rateLimitCount.Store(0)
	reply.Model = cmp.Or(reply.Model, p.Model)
	u := memory.Usage{
		Day: e.Time(), Purpose: p.Name, Model: reply.Model, Calls: 1,
		InputTokens: int64(reply.InputTokens), OutputTokens: int64(reply.OutputTokens),
	}
	if u.InputTokens+u.OutputTokens == 0 { // some servers do not report tokens
		u.InputTokens, u.OutputTokens = int64(text.EstimateTokens(p.System+p.User)), int64(text.EstimateTokens(reply.Text))
	}
	u.Cost = e.Opts.Learn.Spending.Cost(u.InputTokens, u.OutputTokens)
	e.Metrics.CountUsage(u)
	if err := e.Store.AddUsage(context.WithoutCancel(ctx), owner, u); err != nil {
		e.Log.Warn("the usage of a model was not recorded", "err", err)
	}
	return reply, nil
}

// learningModel returns the model that learns for an owner: the chosen or configured model, or the model of
// the owner's last chat; "" before the first chat.
func (e *Asker) learningModel(owner memory.Owner) string {
	chosen := ""
	if learner, ok := e.LLM.(TrialModel); ok {
		chosen = learner.ChosenModel()
	}
	return cmp.Or(chosen, e.Opts.LearnModel, e.LastClients.Last(owner).Model)
}

// learningPrompts returns the prompts for the owner's learning model.
func (e *Asker) learningPrompts(owner memory.Owner) *prompt.Set {
	return e.Prompts.ForModel(e.learningModel(owner))
}

// convertRateLimit converts a rate-limit error to a [*jobs.PutOff] for the time that the server requests, but
// at least a minute, doubled after each further rate limit. It returns other errors unchanged.
func (e *Asker) convertRateLimit(err error) error {
	var rateLimit interface {
		RateLimited() (retryAfter time.Duration, ok bool)
	}
	if !errors.As(err, &rateLimit) {
		return err
	}
	retryAfter, isLimited := rateLimit.RateLimited()
	if !isLimited {
		return err
	}
	wait := time.Minute << min(e.rateLimitCount.Add(1)-1, 6)
	return &jobs.PutOff{Until: e.Time().Add(max(retryAfter, min(wait, time.Hour))), Reason: err.Error()}
}

// errUnreadable reports that two replies of the model could not be parsed.
var errUnreadable = errors.New("the model's second reply could not be read")

// askAndParse calls the learning model and parses its reply. It retries an unreadable reply once.
func askAndParse[T any](ctx context.Context, e *Asker, owner memory.Owner, request memory.Prompt, parse func(string) (T, error)) (T, memory.Reply, error) {
	var zero T
	reply, err := e.Complete(ctx, owner, request)
	if err != nil {
		return zero, reply, err
	}
	out, parseErr := parse(reply.Text)
	if parseErr == nil {
		return out, reply, nil
	}
	e.logReply(reply)
	secondReply, err := e.Complete(ctx, owner, learn.AskRepair(request, reply.Text, parseErr))
	if err != nil {
		return zero, reply, fmt.Errorf("ask again after a reply that could not be read (%v): %w", parseErr, err)
	}
	if out, err = parse(secondReply.Text); err != nil {
		e.logReply(secondReply)
		// Unavailable is a temporary error: the job is retried and not parked at once.
		return zero, secondReply, memory.Errorf(memory.Unavailable, "%w: %v", errUnreadable, err)
	}
	return out, secondReply, nil
}

// logReply logs an unreadable reply if the log may contain texts.
func (e *Asker) logReply(reply memory.Reply) {
	if e.Opts.LogContent {
		e.Log.Warn("the model's reply could not be read", "model", reply.Model, "reply", reply.Text)
	}
}

// checkBudget returns a PutOff until tomorrow if an owner has spent the day's budget.
func (e *Asker) checkBudget(ctx context.Context, owner memory.Owner) error {
	limits := e.Opts.Learn.Spending
	if limits.DailyTokenLimit == 0 {
		return nil
	}
	today := memory.StartOfDay(e.Time())
	usages, err := e.Store.UsageSince(ctx, owner, today)
	if err != nil {
		return fmt.Errorf("read the model usage: %w", err)
	}
	var sum memory.Usage
	for _, u := range usages {
		sum.Add(u)
	}
	if tokens := sum.InputTokens + sum.OutputTokens; tokens >= limits.DailyTokenLimit {
		return &jobs.PutOff{Until: today.Add(24 * time.Hour), Reason: fmt.Sprintf("%d of the %d tokens a day are spent", tokens, limits.DailyTokenLimit)}
	}
	return nil
}

// UsageSince returns an owner's model usage since a day.
func (e *Asker) UsageSince(ctx context.Context, owner memory.Owner, since time.Time) ([]memory.Usage, error) {
	return e.Store.UsageSince(ctx, owner, since)
}
