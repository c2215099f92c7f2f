package lessons

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// Summarize handles summarize jobs. The model or the rules write a new summary of the conversation, which
// replaces the previous summary unless earlier summaries are retained.
func (e *Learner) Summarize(ctx context.Context, job memory.Job) (jobs.Completion, error) {
	e.Idle.Wait(ctx)
	oldSummaries, err := e.Summaries(ctx, job.Owner, job.Conversation)
	if err != nil {
		return "", err
	}
	maxTurns, latest, previous := core.FirstSummaryTurns, "", ""
	if len(oldSummaries) > 0 {
		maxTurns, latest = core.SummaryTurns, oldSummaries[0].Text
		previous = latest
	}
	if e.Opts.Learn.Summary.RetainEarlier {
		maxTurns, previous, oldSummaries = core.SummaryTurns, "", nil
	}
	turns, err := e.Store.Turns(ctx, job.Owner, memory.TurnQuery{Conversation: job.Conversation, Last: maxTurns})
	if err != nil {
		return "", fmt.Errorf("read turns: %w", err)
	}
	utterances := guardedUtterances(e.Core, turns, learn.GuardOptions{IncludeAssistant: true, InjectedUpTo: extractor{e}.loadBlocks(job.Owner, turns).detectorUpTo})
	utterances = slices.DeleteFunc(utterances, func(s extract.Utterance) bool { return s.Turn.Name == memory.RecallModel }) // the model's answers repeat memories
	if len(utterances) < e.Opts.Learn.Summary.MinTurns() {
		return jobs.Nothing, nil
	}
	if err := e.blankUnapprovedFacts(ctx, job, utterances); err != nil {
		return "", err
	}
	content, author, err := e.summaryText(ctx, job.Owner, utterances, previous)
	if err != nil {
		return "", err
	}
	if content == "" || content == latest {
		return jobs.Nothing, nil
	}
	if err := e.writeSummary(ctx, job, turns, content, author, oldSummaries); err != nil {
		return "", err
	}
	e.Warm(job.Owner)
	return jobs.Applied, nil
}

// blankUnapprovedFacts blanks sentences of pending or rejected facts, so that no summary states these facts.
func (e *Learner) blankUnapprovedFacts(ctx context.Context, job memory.Job, utterances []extract.Utterance) error {
	quotes := map[string][]memory.Span{} // spans by turn
	q := memory.Query{Conversation: job.Conversation, Statuses: []memory.Status{memory.Pending, memory.Rejected}}
	err := e.EachMemory(ctx, job.Owner, q, func(m memory.Memory) {
		if quote := m.Fact.Provenance.Quote; m.Link == nil && quote != nil {
			quotes[quote.Turn] = append(quotes[quote.Turn], *quote)
		}
	})
	if err != nil {
		return fmt.Errorf("read pending and rejected facts: %w", err)
	}
	for i, s := range utterances {
		utterances[i] = learn.BlankSentences(s, quotes[s.Turn.ID])
	}
	return nil
}

// summaryText summarizes with the model. If the model is missing, untrusted or fails, it summarizes by
// rules, unless the error is a PutOff.
func (e *Learner) summaryText(ctx context.Context, owner memory.Owner, utterances []extract.Utterance, previous string) (string, memory.Author, error) {
	if e.LLM != nil {
		var putOff *jobs.PutOff
		content, author, err := e.summaryByModel(ctx, owner, utterances, previous)
		if err == nil || errors.As(err, &putOff) {
			return content, author, err
		}
		e.Log.Warn("the model could not summarize; the rules summarize instead", "err", err)
	}
	return learn.Summarize(utterances, previous), memory.Author{Kind: memory.ByRule, Name: core.RuleBased}, nil
}

func (e *Learner) summaryByModel(ctx context.Context, owner memory.Owner, utterances []extract.Utterance, previous string) (string, memory.Author, error) {
	reviewReason, err := e.reviewReason(ctx, owner)
	if reviewReason != "" {
		err = errors.New(reviewReason)
	}
	if err != nil {
		return "", memory.Author{}, err
	}
	request, err := learn.AskSummary(utterances, previous, e.learningPrompts(owner))
	if err != nil {
		return "", memory.Author{}, err
	}
	content, reply, err := askAndParse(ctx, &e.Asker, owner, request, learn.ParseSummary)
	return content, memory.Author{Kind: memory.ByModel, Name: reply.Model, Prompt: request.Hash}, err
}

// writeSummary replaces previous by a new summary of turns. It returns a [*jobs.PutOff] if turns
// were forgotten after they were read.
func (e *Learner) writeSummary(ctx context.Context, job memory.Job, turns []memory.Turn, content string, author memory.Author, previous []memory.Summary) error {
	lastTurn, ids := turns[len(turns)-1], make([]string, len(turns))
	for i, t := range turns {
		ids[i] = t.ID
	}
	s := memory.Summary{
		ID: core.NewID(), Scope: memory.Scope{Owner: job.Owner, Project: lastTurn.Project, Agent: lastTurn.Agent, Conversation: job.Conversation},
		Text: content, MessageCount: lastTurn.Index + 1, Model: author.Name, Status: memory.Active, CreatedAt: e.Time(),
	}
	vectors, err := e.TextVectors(ctx, s.ID, s.Text)
	if err != nil {
		return err
	}
	var changes []memory.Change
	for _, old := range previous {
		old.Status = memory.Retired
		changes = append(changes, memory.Change{Action: memory.ActionRetire, After: memory.State{Summary: &old}, Base: old.Version, NewID: s.ID, Reason: "summarized again", Author: author})
	}
	changes = append(changes, memory.Change{Action: memory.ActionAdd, After: memory.State{Summary: &s}, NewID: s.ID, Reason: "summed up", Author: author})
	run := memory.Run{ID: core.JobRunID(job.ID), Kind: "summarize", Author: author, Lease: &job.Lease, Vectors: vectors}
	return core.RetryOnConflict(ctx, func() error {
		version, err := e.Version(ctx, job.Owner)
		if err != nil {
			return err
		}
		remaining, err := e.Store.Turns(ctx, job.Owner, memory.TurnQuery{Conversation: job.Conversation, IDs: ids})
		if err != nil {
			return fmt.Errorf("read the turns again: %w", err)
		}
		if len(remaining) < len(turns) {
			return &jobs.PutOff{Until: e.Time(), Reason: "some of the summarized turns were forgotten"}
		}
		run.Base = memory.RunBase(version)
		if _, err = e.Store.Apply(ctx, job.Owner, run, changes...); err != nil {
			return fmt.Errorf("write the summary: %w", err)
		}
		return nil
	})
}
