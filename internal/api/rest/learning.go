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

func (d learningAPI) learningOperations(a adder) {
	owned(a, http.MethodPost, "/api/memory/preview", "preview-memory", "What learning from talk would change", d.preview)
	owned(a, http.MethodPost, "/api/relearn", "relearn", "Learn again from what was said", d.relearn)
	owned(a, http.MethodPost, "/api/upkeep", "upkeep", "Take out what expired, faded or is too much", d.upkeep)
	owned(a, http.MethodGet, "/api/pause", "get-pause", "What is on hold", d.paused)
	owned(a, http.MethodPut, "/api/pause", "set-pause", "Put memory on hold, or take it off", d.pause)
	owned(a, http.MethodGet, "/api/usage", "get-usage", "What models were paid for", d.usage)
}

type previewInput struct{ Body client.PreviewRequest }

func (d learningAPI) preview(ctx context.Context, by caller, in *previewInput) (out client.Preview, err error) {
	if (in.Body.Text == "") == (len(in.Body.Messages) == 0) {
		return out, memory.Errorf(memory.Invalid, "give either messages or text")
	}
	p, err := d.engine.Exchange.Preview(ctx, by.owner, exchange.Talk{
		Conversation: in.Body.Conversation, Project: in.Body.Project, Messages: said(in.Body.Messages, in.Body.Text),
	})
	if err != nil {
		return out, err
	}
	out = client.Preview{Changes: changeViews(p.Changes), Decisions: []client.Decision{}, Forgotten: views(p.Forgotten)}
	for _, o := range p.Decisions {
		out.Decisions = append(out.Decisions, client.Decision{Fact: o.Fact, Action: o.Action, Target: o.Target, Reason: o.Reason})
	}
	return out, nil
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

func (d learningAPI) relearn(ctx context.Context, by caller, in *relearnInput) (out client.Relearning, err error) {
	n, err := d.engine.Lessons.Relearn(ctx, by.owner, lessons.RelearnOptions{Conversation: in.Body.Conversation, Since: timeOf(in.Body.Since), Idempotency: in.Key})
	if err != nil {
		return out, err
	}
	return client.Relearning{Turns: n}, nil
}

type upkeepInput struct {
	Idempotent
	Body *client.UpkeepRequest
}

func (d learningAPI) upkeep(ctx context.Context, by caller, in *upkeepInput) (out client.Upkeep, err error) {
	dry := in.Body != nil && in.Body.DryRun
	changes, run, err := d.engine.Upkeep.TidyNow(ctx, by.owner, dry, in.Key, by.author)
	if err != nil {
		return out, err
	}
	return client.Upkeep{Changes: changeViews(changes), Run: run, DryRun: dry}, nil
}

func (d learningAPI) paused(ctx context.Context, by caller, _ *struct{}) (out client.Pause, err error) {
	p := d.engine.Paused(ctx, by.owner)
	if p == core.PauseUnknown {
		return out, memory.Errorf(memory.Unavailable, "the store cannot say now whether memory is paused")
	}
	return client.Pause{Pause: string(p)}, nil
}

type pauseInput struct {
	Idempotent
	Body client.Pause
}

func (d learningAPI) pause(ctx context.Context, by caller, in *pauseInput) (out client.Pause, err error) {
	if err := d.engine.Pause(ctx, by.owner, core.Pause(in.Body.Pause), in.Key, by.author); err != nil {
		return out, err
	}
	return in.Body, nil
}

type usageInput struct {
	Since time.Time `query:"since" doc:"From this day on; ever unless given."`
}

func (d learningAPI) usage(ctx context.Context, by caller, in *usageInput) (out client.UsageList, err error) {
	spent, err := d.engine.Lessons.Spent(ctx, by.owner, in.Since)
	if err != nil {
		return out, err
	}
	return client.UsageList{Usage: append([]memory.Usage{}, spent...)}, nil
}
