package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/model/responder"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/memory"
)

// Request is a query in a session: a request of POST /query.
type Request struct {
	Owner          memory.Owner // "": anonymous, without memory
	SessionID      string       // id of the conversation; "": a new conversation
	Text           string
	UseMemory      bool
	TopK           int      // number of similar messages; 0: the setting
	Images         []string // URLs
	Location       string   // place of the user, for the prompt; may be empty
	Model          string   // model of the [Writer], which also selects the prompts
	IdempotencyKey string   // the client's idempotency key, the same for a retry; "": none
}

// Answer is the answer to a query, with the steps that produced it.
type Answer struct {
	SessionID   string
	Response    string
	Model       string
	Related     RelatedMemory
	Cited       []memory.Hit // similar messages in the writer's prompt
	Intent      Intent
	Agents      []string // agents in order of their work
	NeedsMemory bool
	Reason      string // why memory was read or not
	TraceID     string // id of the trace; "" if memory was not read

	contexts, rules string // documents and rules of the session, for the writer
}

// Writer completes a prompt with a model that accepts images, passed as URLs. Without a Writer, package
// responder answers.
type Writer func(ctx context.Context, p memory.Prompt, images ...string) (memory.Reply, error)

// The names of the agents in answers.
const (
	agentMemory      = "MemoryAgent"      // reads memory
	agentCoordinator = "CoordinatorAgent" // chooses by the intent which agents answer
	AgentVision      = "VisionAgent"      // describes images
	agentWriter      = "WriterAgent"      // writes the answer
	agentRecall      = "RecallAgent"      // answers from memory without a model
)

// Query answers a query of a session: it reads memory, calls a model to describe images and to write the
// answer, and records question and answer like a chat. Only a failure of the writer is an error.
func (e *Querier) Query(ctx context.Context, req Request, write Writer) (Answer, error) {
	answer := Answer{SessionID: cmp.Or(req.SessionID, core.IDForKey(req.Owner, exchange.SubKey(req.IdempotencyKey, "session"))), Intent: e.Intent(ctx, req)}
	answer.NeedsMemory, answer.Reason = e.needsMemory(ctx, req, answer.Intent)
	if answer.NeedsMemory {
		answer.Related = e.ReadRelated(ctx, req, answer.SessionID)
		answer.Agents, answer.TraceID = append(answer.Agents, agentMemory), answer.Related.traceID
	}
	answer.Agents = append(answer.Agents, agentCoordinator)
	opened, err := e.openQuery(ctx, req, answer.SessionID)
	if err != nil {
		return answer, err
	}
	var effect responder.MemoryEffect
	if opened != nil {
		if answer.NeedsMemory {
			answer.contexts, answer.rules = opened.Attachments()
		}
		if write == nil {
			effect = opened.PredictEffect(ctx)
		}
		opened.RecordQuestion(ctx)
	}
	reply, err := e.answerQuery(ctx, req, &answer, write, effect)
	if opened != nil {
		recorded := chatapi.Answer{Role: memory.RoleAssistant, Text: reply.Text, Model: reply.Model}
		recorded.Digest = chatapi.Digest(recorded.Role, recorded.Text, "", "")
		opened.RecordAnswer(ctx, recorded) // Loci learns from the question even after an empty answer
	}
	answer.Response, answer.Model = reply.Text, reply.Model
	return answer, err
}

// needsMemory reports whether memory is read for a query, and why.
func (e *Querier) needsMemory(ctx context.Context, q Request, intent Intent) (isNeeded bool, reason string) {
	switch {
	case !q.UseMemory:
		return false, "use_memory is false"
	case q.Owner == "":
		return false, "no user is named, so there is no memory to read"
	}
	switch e.CurrentPause(ctx, q.Owner) {
	case core.PauseMemory:
		return false, "memory is paused"
	case core.PauseUnknown:
		return false, "the store did not report whether memory is paused"
	}
	switch {
	case intent == IntentMemory || intent == IntentSummary:
		return true, "the query asks about earlier messages"
	}
	return true, "use_memory is true"
}

// openQuery opens an exchange for a query as a chat of one message. For an anonymous query it returns nil.
func (e *Querier) openQuery(ctx context.Context, req Request, sessionID string) (*exchange.Exchange, error) {
	if req.Owner == "" {
		return nil, nil
	}
	chat, err := chatapi.Decode(oneMessageRequest(req.Text))
	if err != nil {
		return nil, err
	}
	return e.Exchange.Open(ctx, exchange.Incoming{Owner: req.Owner, Chat: chat, Extras: chatapi.Extras{ID: sessionID}, IdempotencyKey: req.IdempotencyKey}), nil
}

// answerQuery describes the images, fills the prompt and calls the writer. Without a writer the built-in
// model answers; effect is what that model may promise to store, learn and forget.
func (e *Querier) answerQuery(ctx context.Context, q Request, answer *Answer, write Writer, effect responder.MemoryEffect) (memory.Reply, error) {
	if write == nil {
		answer.Agents = append(answer.Agents, agentRecall)
		answer.Cited = answer.Related.SimilarTurns
		return memory.Reply{Text: responder.Respond(q.Text, answer.Related.quotableHits(), effect), Model: responder.Name}, nil
	}
	images := ""
	if len(q.Images) > 0 {
		description, err := e.describeImages(ctx, q, write)
		switch {
		case err != nil && ctx.Err() != nil:
			return memory.Reply{}, err
		case err != nil: // answer without the images, with a note
			e.Log.Warn("images were not described", "err", err)
			images = "(There are images that could not be read.)"
		default:
			images, answer.Agents = description, append(answer.Agents, AgentVision)
		}
	}
	values := answer.Related.PromptValues()
	values.Query, values.Images, values.Location = q.Text, images, oneLine(q.Location)
	values.Contexts, values.Rules = answer.contexts, answer.rules
	answer.Cited = answer.Related.SimilarTurns[:min(maxPromptSimilar, len(answer.Related.SimilarTurns))]
	filled, err := e.Prompts.ForModel(q.Model).Fill(values)
	if err != nil {
		return memory.Reply{}, fmt.Errorf("fill the prompt: %w", err)
	}
	answer.Agents = append(answer.Agents, agentWriter)
	reply, err := write(ctx, filled)
	if err != nil {
		return memory.Reply{}, fmt.Errorf("write the answer: %w", err)
	}
	return reply, nil
}

func (e *Querier) describeImages(ctx context.Context, q Request, write Writer) (string, error) {
	filled, err := e.Prompts.ForModel(q.Model).Fill(prompt.Describe{Query: q.Text})
	if err != nil {
		return "", fmt.Errorf("fill the prompt: %w", err)
	}
	reply, err := write(ctx, filled, q.Images...)
	if err != nil {
		return "", fmt.Errorf("describe images: %w", err)
	}
	return strings.TrimSpace(reply.Text), nil
}

// RelatedMemory is the memory related to a query.
type RelatedMemory struct {
	SimilarTurns   []memory.Hit          // turns, most similar first
	RecentTurns    []memory.Turn         // turns of the session, oldest first
	Summaries      []memory.Summary      // the session's summaries first, then the newest others of the user
	ProfileEntries []memory.ProfileEntry // most recently written first
	EmbeddingDims  int                   // dimensions of the query's embedding; 0: no embedding

	traceID string
}

// Bounds of the memory related to a query.
const (
	maxRecentPairs = 6
	maxSummaries   = 3
	maxEntries     = 8
)

// ReadRelated reads the memory related to a query, within the deadline of a chat's recall. It reads the
// parts concurrently; the trace names failed parts.
func (e *Querier) ReadRelated(ctx context.Context, q Request, sessionID string) RelatedMemory {
	started := e.Now()
	defer e.Idle.BeginQuestion()()
	ctx, cancel := context.WithTimeout(ctx, e.Retrieve.Deadline())
	defer cancel()
	related := RelatedMemory{traceID: core.NewID()}
	pipeline := &retrieve.Pipeline{Source: retrieve.Source{Retriever: e.Retrieve, Now: memory.Time(started), Question: retrieve.Question{
		Scope: memory.Scope{Owner: q.Owner}, Text: q.Text, AskingConversation: sessionID, API: "query",
	}}}
	parts := []struct {
		name string
		read func() error
	}{
		{"search", func() (err error) {
			related.EmbeddingDims, err = pipeline.FindSimilarTurns(ctx, cmp.Or(q.TopK, e.Opts.DefaultTopK(true)))
			return err
		}},
		{"recent", func() (err error) {
			related.RecentTurns, err = e.recentTurns(ctx, q.Owner, sessionID, 2*maxRecentPairs)
			return err
		}},
		{"summaries", func() (err error) { related.Summaries, err = e.relatedSummaries(ctx, q.Owner, sessionID); return err }},
		{"profile", func() (err error) { related.ProfileEntries, err = e.latestEntries(ctx, q.Owner); return err }},
	}
	errs := make([]error, len(parts))
	var reading sync.WaitGroup
	for i, part := range parts {
		reading.Go(func() { errs[i] = core.CatchPanic(e.Core, part.read) })
	}
	reading.Wait()
	for i, err := range errs {
		if err != nil {
			pipeline.RecordSkip(parts[i].name, err)
		}
	}
	related.SimilarTurns = pipeline.Hits
	elapsed := e.Now().Sub(started)
	e.Metrics.ObserveRecall(elapsed, pipeline.Degraded...)
	pipeline.StoreTrace(related.traceID, "", elapsed)
	return related
}

// recentTurns returns a session's last turns that have content, oldest first.
func (e *Querier) recentTurns(ctx context.Context, owner memory.Owner, sessionID string, limit int) ([]memory.Turn, error) {
	turns, err := e.Store.Turns(ctx, owner, memory.TurnQuery{Conversation: sessionID, Last: limit})
	if err != nil {
		return nil, fmt.Errorf("read the session: %w", err)
	}
	return slices.DeleteFunc(turns, func(t memory.Turn) bool {
		return t.Content == "" || t.Role != memory.RoleUser && t.Role != memory.RoleAssistant
	}), nil
}

// relatedSummaries returns the session's summaries, then the newest of the user's other summaries.
func (e *Querier) relatedSummaries(ctx context.Context, owner memory.Owner, sessionID string) ([]memory.Summary, error) {
	summaries, err := e.Summaries(ctx, owner, sessionID)
	if err != nil {
		return nil, fmt.Errorf("read the session's summary: %w", err)
	}
	page, err := e.Store.List(ctx, owner, memory.Query{Kinds: []memory.Kind{memory.KindSummary}, Limit: maxSummaries + len(summaries)})
	if err != nil {
		return nil, fmt.Errorf("read summaries: %w", err)
	}
	for _, m := range page.Memories {
		if m.Summary != nil && m.Summary.Scope.Conversation != sessionID {
			summaries = append(summaries, *m.Summary)
		}
	}
	return summaries[:min(maxSummaries, len(summaries))], nil
}

// latestEntries returns the most recently written profile entries.
func (e *Querier) latestEntries(ctx context.Context, owner memory.Owner) ([]memory.ProfileEntry, error) {
	entries, err := e.ProfileEntries(ctx, owner, memory.At{})
	if err != nil {
		return nil, fmt.Errorf("read the profile: %w", err)
	}
	slices.SortStableFunc(entries, func(a, b memory.ProfileEntry) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return entries[:min(maxEntries, len(entries))], nil
}

// quotableHits returns the hits that an answer without a model may quote: turns and profile entries.
func (a RelatedMemory) quotableHits() []memory.Hit {
	hits := slices.Clone(a.SimilarTurns)
	for _, p := range a.ProfileEntries {
		f := memory.Fact{Content: p.Key + ": " + p.Value, ObservedAt: p.UpdatedAt, CreatedAt: p.UpdatedAt, Status: memory.Active}
		hits = append(hits, memory.Hit{Memory: memory.Memory{Fact: &f}})
	}
	return hits
}
