package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// headerTrace is the response header with the id of the answer's trace, in every API.
const headerTrace = "X-Loci-Trace"

type sayInput struct {
	ByID
	Body client.SayRequest
}

type regenerateInput struct {
	ByID
	Body *client.RegenerateRequest
}

type eventsInput struct {
	ByID
	client.EventsQuery
}

func (d *handler) talkOperations(a adder) {
	operation(a, http.MethodPost, "/api/chats/{id}/messages", "say", "Send a message to a chat; the reply is streamed as server-sent events", func(ctx context.Context, in *sayInput) (*huma.StreamResponse, error) {
		return d.reply(ctx, chats.SayRequest{Chat: in.ID, Content: in.Body.Content, Model: in.Body.Model, Rules: in.Body.Rules})
	}, replies(a))
	operation(a, http.MethodPost, "/api/chats/{id}/messages/regenerate", "regenerate", "Replace the last reply of a chat with a newly generated one", func(ctx context.Context, in *regenerateInput) (*huma.StreamResponse, error) {
		t := chats.SayRequest{Chat: in.ID, Again: true}
		if in.Body != nil {
			t.Model, t.Rules = in.Body.Model, in.Body.Rules
		}
		return d.reply(ctx, t)
	}, replies(a))
	owned(a, http.MethodGet, "/api/chats/{id}/events", "list-chat-events", "List the events of a chat, oldest first", func(ctx context.Context, by caller, in *eventsInput) (client.ChatEvents, error) {
		page, err := d.engine.Chats.Events(ctx, by.owner, in.ID, in.Limit, in.Cursor)
		return client.ChatEvents{Events: each(page.Events, eventView), Next: page.Next}, err
	})
}

// withReplyEvents documents the server-sent events of a reply in the OpenAPI document.
func replies(a adder) func(*huma.Operation) {
	data := map[string]reflect.Type{
		client.EventMemory: reflect.TypeFor[client.ChatMemory](), client.EventDelta: reflect.TypeFor[client.ChatDelta](),
		client.EventDone: reflect.TypeFor[client.ChatDone](), client.EventError: reflect.TypeFor[client.ChatError](),
	}
	return func(op *huma.Operation) {
		schemas := a.api.OpenAPI().Components.Schemas
		var one []*huma.Schema
		for _, event := range []string{client.EventMemory, client.EventDelta, client.EventDone, client.EventError} {
			one = append(one, &huma.Schema{
				Type: "object", Description: "The event " + event, Required: []string{"event", "data"},
				Properties: map[string]*huma.Schema{"event": {Type: "string", Enum: []any{event}}, "data": schemas.Schema(data[event], true, "")},
			})
		}
		op.Responses = map[string]*huma.Response{"200": {
			Description: "One memory event, any number of delta events, then done or error. The data of each event is JSON.",
			Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{OneOf: one}}},
		}}
	}
}

// streamReply streams the answer to a message.
func (d *handler) reply(ctx context.Context, t chats.SayRequest) (_ *huma.StreamResponse, err error) {
	by, err := who(ctx)
	if err != nil {
		return nil, err
	}
	t.Owner = by.owner
	if t.Model, err = d.answerer(ctx, t.Model); err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(c huma.Context) {
		r, w := humago.Unwrap(c)
		out := &reply{Patient: httpx.Patient{ResponseWriter: w}}
		talked, err := d.engine.Chats.Say(r.Context(), t, Talker(d.Upstream, r.Header, false), chats.Listener{Recalled: out.recalled, Heard: out.heard, Ended: func() { out.End(r.Context()) }})
		switch {
		case err != nil && !out.begun:
			httpx.WriteError(w, r, err)
		case err != nil:
			out.Last(event(client.EventError, client.ChatError{
				Problem: viewProblem(httpx.Tell(r.Context(), err)), Question: messageView(talked.Question), Answer: messageView(talked.Answer),
			}))
		default:
			out.Last(event(client.EventDone, client.ChatDone{Question: messageView(talked.Question), Answer: messageView(talked.Answer), Model: talked.Model}))
		}
	}}, nil
}

// replyModel returns the name of the model that answers a message.
func (d *handler) answerer(ctx context.Context, requested string) (string, error) {
	if d.Upstream == nil {
		return memory.RecallModel, nil
	}
	if requested == "" && d.Model != nil {
		requested = d.Model(ctx)
	}
	if requested == "" {
		return "", memory.Errorf(memory.Invalid, "missing model: name a model from GET /v1/models, or set chats.model")
	}
	return requested, nil
}

// replyStream writes the events of a reply.
type reply struct {
	httpx.Patient
	begun bool
}

func (o *reply) recalled(p retrieve.Prepared) {
	o.begun = true
	h := o.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // keeps proxies from buffering the stream
	if p.Trace != "" {
		h.Set(headerTrace, p.Trace)
	}
	m := client.ChatMemory{Trace: p.Trace, Hits: each(p.Hits, func(h memory.Hit) client.Hit { return client.ViewHit(h, false) })}
	for _, fact := range p.Core.Facts {
		m.Hits = append(m.Hits, client.Hit{Memory: client.View(fact.Memory), InCore: true})
	}
	for _, e := range p.Core.Profile {
		m.Hits = append(m.Hits, client.Hit{Memory: client.Memory{ID: e.Key, Kind: recall.KindProfile, Content: recall.EntryText(e), CreatedAt: e.UpdatedAt}, InCore: true})
	}
	o.Send(event(client.EventMemory, m))
}

func (o *reply) heard(piece string) {
	o.Send(event(client.EventDelta, client.ChatDelta{Content: piece}))
}

func event(name string, v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("rest: encode the event %s: %v", name, err)) // strings and numbers can always be encoded
	}
	return fmt.Sprintf("event: %s\ndata: %s\n\n", name, data)
}

func messageView(t *memory.Turn) *client.ChatMessage {
	if t == nil {
		return nil
	}
	return &client.ChatMessage{ID: t.ID, Role: string(t.Role), Content: t.Content, CreatedAt: t.CreatedAt}
}

func eventView(e chats.Event) client.ChatEvent {
	v := client.ChatEvent{ID: e.ID, Type: string(e.Type), At: e.At}
	switch {
	case e.Turn != nil:
		v.Message = &client.EventMessage{ChatMessage: *messageView(e.Turn), Status: e.Turn.Status}
	case e.Trace != nil:
		v.Recall = &client.EventRecall{Trace: e.Trace.ID, Memories: []string{}}
		for _, h := range e.Trace.Hits {
			v.Recall.Memories = append(v.Recall.Memories, h.ID)
		}
	case e.Change != nil:
		c := client.ViewChange(*e.Change)
		v.Change = &c
	}
	return v
}

func viewProblem(p *httpx.Problem) client.Problem {
	return client.Problem{Type: p.Type, Title: p.Title, Status: p.Status, Detail: p.Detail, Code: p.Code}
}
