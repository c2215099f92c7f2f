package rest

import (
	"context"
	"net/http"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/lessons"
	"github.com/loci-memory/loci/memory"
)

func (d *door) learningOperations(a adder) {
	operation(a, http.MethodPost, "/api/memory/preview", "preview-memory", "What learning from talk would change", d.preview)
	operation(a, http.MethodPost, "/api/relearn", "relearn", "Learn again from what was said", d.relearn)
	operation(a, http.MethodPost, "/api/upkeep", "upkeep", "Take out what expired, faded or is too much", d.upkeep)
	operation(a, http.MethodGet, "/api/pause", "get-pause", "What is on hold", d.paused)
	operation(a, http.MethodPut, "/api/pause", "set-pause", "Put memory on hold, or take it off", d.pause)
	operation(a, http.MethodGet, "/api/usage", "get-usage", "What models were paid for", d.usage)
}

type previewInput struct{ Body client.PreviewRequest }

func (d *door) preview(ctx context.Context, in *previewInput) (*body[client.Preview], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	if (in.Body.Text == "") == (len(in.Body.Messages) == 0) {
		return nil, memory.Errorf(memory.Invalid, "give either messages or text")
	}
	p, err := d.engine.Exchange.Preview(ctx, owner, exchange.Talk{
		Conversation: in.Body.Conversation, Project: in.Body.Project, Messages: said(in.Body.Messages, in.Body.Text),
	})
	if err != nil {
		return nil, err
	}
	out := client.Preview{Changes: changeViews(p.Changes), Decisions: []client.Decision{}, Forgotten: views(p.Forgotten)}
	for _, o := range p.Decisions {
		out.Decisions = append(out.Decisions, client.Decision{Fact: o.Fact, Action: o.Action, Target: o.Target, Reason: o.Reason})
	}
	return answer(out), nil
}

// said returns messages, or a text as one, as the engine takes them.
func said(messages []client.Message, text string) []exchange.Said {
	var out []exchange.Said
	for _, m := range messages {
		out = append(out, exchange.Said{Role: m.Role, Content: m.Content, Name: m.Name, Ref: m.ID, At: timeOf(m.CreatedAt)})
	}
	if text != "" {
		out = append(out, exchange.Said{Role: memory.RoleUser, Content: text})
	}
	return out
}

type relearnInput struct {
	Idempotent
	Body client.RelearnRequest
}

func (d *door) relearn(ctx context.Context, in *relearnInput) (*body[client.Relearning], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	n, err := d.engine.Lessons.Relearn(ctx, owner, lessons.RelearnOptions{Conversation: in.Body.Conversation, Since: timeOf(in.Body.Since), Idempotency: in.Key})
	if err != nil {
		return nil, err
	}
	return answer(client.Relearning{Turns: n}), nil
}

type upkeepInput struct {
	Idempotent
	Body *client.UpkeepRequest
}

func (d *door) upkeep(ctx context.Context, in *upkeepInput) (*body[client.Upkeep], error) {
	owner, author, err := who(ctx)
	if err != nil {
		return nil, err
	}
	dry := in.Body != nil && in.Body.DryRun
	changes, run, err := d.engine.Upkeep.TidyNow(ctx, owner, dry, in.Key, author)
	if err != nil {
		return nil, err
	}
	return answer(client.Upkeep{Changes: changeViews(changes), Run: run, DryRun: dry}), nil
}

func (d *door) paused(ctx context.Context, _ *struct{}) (*body[client.Pause], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	p := d.engine.Paused(ctx, owner)
	if p == core.PauseUnknown {
		return nil, memory.Errorf(memory.Unavailable, "the store cannot say now whether memory is paused")
	}
	return answer(client.Pause{Pause: string(p)}), nil
}

type pauseInput struct {
	Idempotent
	Body client.Pause
}

func (d *door) pause(ctx context.Context, in *pauseInput) (*body[client.Pause], error) {
	owner, author, err := who(ctx)
	if err != nil {
		return nil, err
	}
	if err := d.engine.Pause(ctx, owner, core.Pause(in.Body.Pause), in.Key, author); err != nil {
		return nil, err
	}
	return answer(in.Body), nil
}

type usageInput struct {
	Since time.Time `query:"since" doc:"From this day on; ever unless given."`
}

func (d *door) usage(ctx context.Context, in *usageInput) (*body[client.UsageList], error) {
	owner, _, err := who(ctx)
	if err != nil {
		return nil, err
	}
	spent, err := d.engine.Lessons.Spent(ctx, owner, in.Since)
	if err != nil {
		return nil, err
	}
	return answer(client.UsageList{Usage: append([]memory.Usage{}, spent...)}), nil
}
