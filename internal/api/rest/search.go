package rest

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
)

func (d *handler) addSearchOperations(a registrar) {
	registerForCaller(a, http.MethodPost, "/api/memory/search", "search-memory", "Ask memory a question", d.searchMemories)
	registerForCaller(a, http.MethodPost, "/api/memory/add", "add-messages", "Store messages, and learn from them", d.addMessages)
	registerForCaller(a, http.MethodPost, "/api/memory/forget", "forget-memories", "Forget or erase the memories that match a query or a filter; only forgetting can be undone", d.forgetMemories)
	registerForCaller(a, http.MethodPost, "/api/memory/tool", "memory-tool", "Execute a command of Anthropic's memory tool", d.runMemoryTool)
	registerForCaller(a, http.MethodGet, "/api/traces/{id}", "get-trace", "Get the trace of a request: its question and the memories it received", func(ctx context.Context, by caller, in *ByID) (memory.Trace, error) {
		return d.engine.Traces.Trace(ctx, by.owner, in.ID)
	})
}

func (d *handler) searchMemories(ctx context.Context, by caller, in *body[client.SearchRequest]) (out client.SearchAnswer, err error) {
	q := in.Body
	question := retrieve.Question{
		Scope:          memory.Scope{Owner: by.owner, Project: q.Project},
		Text:           q.Query,
		TopK:           q.TopK,
		ScoreThreshold: q.ScoreThreshold,
		RecencyWeight:  q.RecencyWeight,
		Kinds:          q.Kinds,
		Category:       q.Filters.Category,
		Tag:            q.Filters.Tag,
		Conversation:   q.Conversation,
		At:             memory.At{AsOf: timeOrZero(q.AsOf), ValidAt: timeOrZero(q.ValidAt)},
		API:            "search",
	}
	ask := d.engine.Retrieve.Recall
	if q.Block {
		question.AskingConversation, question.IsChat, question.WithCore = q.CurrentConversation, q.CurrentConversation != "", q.Core
		ask = d.engine.Exchange.RecallBlock
	}
	found, err := ask(ctx, question)
	if err != nil {
		return out, err
	}
	return client.SearchAnswer{
		Hits:  mapSlice(found.Hits, func(h memory.Hit) client.Hit { return client.ViewHit(h, q.Explain) }),
		Trace: found.TraceID, Degraded: found.Degraded, Misspelt: found.Misspelt,
		Block: found.Block, Pause: string(found.Pause),
	}, nil
}

func (d *handler) addMessages(ctx context.Context, by caller, in *writeRequest[client.AddMessages]) (out client.Added, err error) {
	messages, err := messagesOf(in.Body.Messages, in.Body.Text)
	if err != nil {
		return out, err
	}
	stored, err := d.engine.Exchange.Ingest(ctx, by.owner, exchange.IngestRequest{
		Conversation:    in.Body.Conversation,
		Project:         in.Body.Project,
		ParentRef:       in.Body.ParentID,
		Learn:           in.Body.Infer == nil || *in.Body.Infer,
		WaitForLearning: in.Body.Wait,
		IdempotencyKey:  in.Key,
		Messages:        messages,
	})
	return client.Added{Conversation: stored.Conversation, Turns: stored.TurnIDs, Job: stored.JobID, Memories: memoryViews(stored.Learned)}, err
}

func (d *handler) forgetMemories(ctx context.Context, by caller, in *writeRequest[client.ForgetRequest]) (out client.Forgotten, err error) {
	b := in.Body
	matching := curate.ForgetRequest{Query: b.Query, IDs: b.IDs, Erase: b.Erase, DryRun: b.DryRun, IdempotencyKey: in.Key}
	var forgotten []memory.Memory
	var r memory.Receipt
	if f := b.Filter; f != nil {
		q := memory.Query{Kinds: f.Kinds, Tag: f.Tag, Category: f.Category, Project: f.Project, Conversation: f.Conversation, Text: f.Text}
		forgotten, r, err = d.engine.Curate.ForgetFiltered(ctx, by.owner, q, matching, by.author)
	} else {
		forgotten, r, err = d.engine.Curate.ForgetMatching(ctx, by.owner, matching, by.author)
	}
	if err != nil {
		return out, err
	}
	out = client.Forgotten{Memories: memoryViews(forgotten), Run: r.Run, Erased: b.Erase, DryRun: b.DryRun, Traces: r.Traces}
	if b.Erase && !b.DryRun {
		out.TextRemainsIn = d.remainingCopies(forgotten, r)
	}
	if b.Erase || r.Changes == 0 { // there is nothing to undo
		out.Run = ""
	}
	return out, nil
}
