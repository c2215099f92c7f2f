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

type usageQuery struct {
	Since time.Time `query:"since" doc:"Usage from this day on. Default: all."`
}

func (d *handler) addLearningOperations(a registrar) {
	registerForCaller(a, http.MethodPost, "/api/memory/preview", "preview-memory", "Show what learning from messages would change", func(ctx context.Context, by caller, in *body[client.PreviewRequest]) (out client.Preview, err error) {
		messages, err := messagesOf(in.Body.Messages, in.Body.Text)
		if err != nil {
			return out, err
		}
		p, err := d.engine.Exchange.Preview(ctx, by.owner, exchange.IngestRequest{Conversation: in.Body.Conversation, Project: in.Body.Project, Messages: messages})
		if err != nil {
			return out, err
		}
		out = client.Preview{Changes: changeViews(p.Changes), Decisions: []client.Decision{}, Forgotten: memoryViews(p.Forgotten)}
		for _, o := range p.Decisions {
			out.Decisions = append(out.Decisions, client.Decision{Statement: o.FactText, Action: o.Action, TargetID: o.TargetID, Reason: o.Reason})
		}
		return out, nil
	})
	registerForCaller(a, http.MethodPost, "/api/relearn", "relearn", "Learn again from stored messages", func(ctx context.Context, by caller, in *writeRequest[client.RelearnRequest]) (client.Relearning, error) {
		n, err := d.engine.Lessons.Relearn(ctx, by.owner, lessons.RelearnOptions{Conversation: in.Body.Conversation, Since: timeOrZero(in.Body.Since), IdempotencyKey: in.Key})
		return client.Relearning{Turns: n}, err
	})
	registerForCaller(a, http.MethodPost, "/api/upkeep", "upkeep", "Remove memories that expired, faded or exceed the limits", func(ctx context.Context, by caller, in *writeRequest[*client.UpkeepRequest]) (client.Upkeep, error) {
		dry := in.Body != nil && in.Body.DryRun
		changes, run, err := d.engine.Upkeep.RunNow(ctx, by.owner, dry, in.Key, by.author)
		return client.Upkeep{Changes: changeViews(changes), Run: run, DryRun: dry}, err
	})
	registerForCaller(a, http.MethodGet, "/api/pause", "get-pause", "Show whether learning or memory is paused", func(ctx context.Context, by caller, _ *struct{}) (out client.Pause, err error) {
		p := d.engine.CurrentPause(ctx, by.owner)
		if p == core.PauseUnknown {
			return out, memory.Errorf(memory.Unavailable, "the store is unavailable: cannot read whether memory is paused")
		}
		return client.Pause{Pause: string(p)}, nil
	})
	registerForCaller(a, http.MethodPut, "/api/pause", "set-pause", "Pause memory, or resume it", func(ctx context.Context, by caller, in *writeRequest[client.Pause]) (client.Pause, error) {
		return in.Body, d.engine.SetPause(ctx, by.owner, core.Pause(in.Body.Pause), in.Key, by.author)
	})
	registerForCaller(a, http.MethodGet, "/api/usage", "get-usage", "Show tokens and cost per model", func(ctx context.Context, by caller, in *usageQuery) (client.UsageList, error) {
		usage, err := d.engine.Lessons.UsageSince(ctx, by.owner, in.Since)
		return client.UsageList{Usage: append([]memory.Usage{}, usage...)}, err
	})
}

// messagesOf converts the messages of a request, or its text as one user message.
func messagesOf(messages []client.Message, text string) ([]exchange.Message, error) {
	if (text == "") == (len(messages) == 0) {
		return nil, memory.Errorf(memory.Invalid, "give either messages or text")
	}
	if text != "" {
		return []exchange.Message{{Role: memory.RoleUser, Content: text}}, nil
	}
	return mapSlice(messages, func(m client.Message) exchange.Message {
		return exchange.Message{Role: m.Role, Content: m.Content, Name: m.Name, Ref: m.ID, At: timeOrZero(m.CreatedAt)}
	}), nil
}
