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

func (d *handler) searchOperations(a adder) {
	owned(a, http.MethodPost, "/api/memory/search", "search-memory", "Ask memory a question", d.search)
	owned(a, http.MethodPost, "/api/memory/add", "add-messages", "Store messages, and learn from them", d.ingest)
	owned(a, http.MethodPost, "/api/memory/forget", "forget-memories", "Forget or erase the memories that match a query or a filter; only forgetting can be undone", d.forget)
	owned(a, http.MethodPost, "/api/memory/tool", "memory-tool", "Execute a command of Anthropic's memory tool", d.memoryTool)
	owned(a, http.MethodGet, "/api/traces/{id}", "get-trace", "Get the trace of a request: its question and the memories it received", func(ctx context.Context, by caller, in *ByID) (memory.Trace, error) {
		return d.engine.Traces.Trace(ctx, by.owner, in.ID)
	})
}

func (d *handler) search(ctx context.Context, by caller, in *body[client.SearchRequest]) (out client.SearchAnswer, err error) {
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
		At:             memory.At{AsOf: timeOf(q.AsOf), ValidAt: timeOf(q.ValidAt)},
		Door:           "search",
	}
	ask := d.engine.Retrieve.Recall
	if q.Block {
		question.In, question.Chat, question.Core = q.AskedIn, q.AskedIn != "", q.Core
		ask = d.engine.Exchange.RecallBlock
	}
	found, err := ask(ctx, question)
	if err != nil {
		return out, err
	}
	return client.SearchAnswer{
		Hits:  each(found.Hits, func(h memory.Hit) client.Hit { return client.ViewHit(h, q.Explain) }),
		Trace: found.Trace, Degraded: found.Degraded, Misspelt: found.Misspelt,
		Block: found.Block, Pause: string(found.Pause),
	}, nil
}

func (d *handler) ingest(ctx context.Context, by caller, in *write[client.AddMessages]) (out client.Added, err error) {
	messages, err := messagesOf(in.Body.Messages, in.Body.Text)
	if err != nil {
		return out, err
	}
	kept, err := d.engine.Exchange.Ingest(ctx, by.owner, exchange.Talk{
		Conversation: in.Body.Conversation,
		Project:      in.Body.Project,
		Parent:       in.Body.ParentID,
		Infer:        in.Body.Infer == nil || *in.Body.Infer,
		Wait:         in.Body.Wait,
		Idempotency:  in.Key,
		Messages:     messages,
	})
	return client.Added{Conversation: kept.Conversation, Turns: kept.Turns, Job: kept.Job, Memories: views(kept.Learned)}, err
}

func (d *handler) forget(ctx context.Context, by caller, in *write[client.ForgetRequest]) (out client.Forgotten, err error) {
	b := in.Body
	what := curate.Matching{Query: b.Query, IDs: b.IDs, Erase: b.Erase, DryRun: b.DryRun, Idempotency: in.Key}
	var gone []memory.Memory
	var r memory.Receipt
	if f := b.Filter; f != nil {
		q := memory.Query{Kinds: f.Kinds, Tag: f.Tag, Category: f.Category, Project: f.Project, Conversation: f.Conversation, Text: f.Text}
		gone, r, err = d.engine.Curate.ForgetFiltered(ctx, by.owner, q, what, by.author)
	} else {
		gone, r, err = d.engine.Curate.ForgetMatching(ctx, by.owner, what, by.author)
	}
	if err != nil {
		return out, err
	}
	out = client.Forgotten{Memories: views(gone), Run: r.Run, Erased: b.Erase, DryRun: b.DryRun, Traces: r.Traces}
	if b.Erase && !b.DryRun {
		out.Held = d.held(gone, r)
	}
	if b.Erase || r.Changes == 0 { // there is nothing to undo
		out.Run = ""
	}
	return out, nil
}
