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

type sendMessageInput struct {
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

func (d *handler) addMessageOperations(a registrar) {
	register(a, http.MethodPost, "/api/chats/{id}/messages", "say", "Send a message to a chat; the reply is streamed as server-sent events", func(ctx context.Context, in *sendMessageInput) (*huma.StreamResponse, error) {
		return d.streamReply(ctx, chats.SayRequest{Chat: in.ID, Content: in.Body.Content, Model: in.Body.Model, Rules: in.Body.Rules})
	}, withReplyEvents(a))
	register(a, http.MethodPost, "/api/chats/{id}/messages/regenerate", "regenerate", "Replace the last reply of a chat with a newly generated one", func(ctx context.Context, in *regenerateInput) (*huma.StreamResponse, error) {
		req := chats.SayRequest{Chat: in.ID, Regenerate: true}
		if in.Body != nil {
			req.Model, req.Rules = in.Body.Model, in.Body.Rules
		}
		return d.streamReply(ctx, req)
	}, withReplyEvents(a))
	registerForCaller(a, http.MethodGet, "/api/chats/{id}/events", "list-chat-events", "List the events of a chat, oldest first", func(ctx context.Context, by caller, in *eventsInput) (client.ChatEvents, error) {
		page, err := d.engine.Chats.Events(ctx, by.owner, in.ID, in.Limit, in.Cursor)
		return client.ChatEvents{Events: mapSlice(page.Events, eventView), Next: page.Next}, err
	})
}

// withReplyEvents documents the server-sent events of a reply in the OpenAPI document.
func withReplyEvents(a registrar) func(*huma.Operation) {
	data := map[string]reflect.Type{
		client.EventMemory: reflect.TypeFor[client.ChatMemory](), client.EventDelta: reflect.TypeFor[client.ChatDelta](),
		client.EventDone: reflect.TypeFor[client.ChatDone](), client.EventError: reflect.TypeFor[client.ChatError](),
	}
	return func(op *huma.Operation) {
		schemas := a.api.OpenAPI().Components.Schemas
		var eventSchemas []*huma.Schema
		for _, event := range []string{client.EventMemory, client.EventDelta, client.EventDone, client.EventError} {
			eventSchemas = append(eventSchemas, &huma.Schema{
				Type: "object", Description: "The event " + event, Required: []string{"event", "data"},
				Properties: map[string]*huma.Schema{"event": {Type: "string", Enum: []any{event}}, "data": schemas.Schema(data[event], true, "")},
			})
		}
		op.Responses = map[string]*huma.Response{"200": {
			Description: "One memory event, any number of delta events, then done or error. The data of each event is JSON.",
			Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{OneOf: eventSchemas}}},
		}}
	}
}

// streamReply streams the answer to a message.
func (d *handler) streamReply(ctx context.Context, req chats.SayRequest) (_ *huma.StreamResponse, err error) {
	by, err := callerOf(ctx)
	if err != nil {
		return nil, err
	}
	req.Owner = by.owner
	if req.Model, err = d.replyModel(ctx, req.Model); err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(c huma.Context) {
		r, w := humago.Unwrap(c)
		out := &replyStream{PieceWriter: httpx.PieceWriter{ResponseWriter: w}}
		result, err := d.engine.Chats.Say(r.Context(), req, NewChatModel(d.Upstream, r.Header, false), chats.ReplyListener{OnRecalled: out.sendMemory, OnText: out.sendDelta, OnEnd: func() { out.Abort(r.Context()) }})
		switch {
		case err != nil && !out.started:
			httpx.WriteError(w, r, err)
		case err != nil:
			out.SendLast(formatEvent(client.EventError, client.ChatError{
				Problem: problemView(httpx.LogProblem(r.Context(), err)), Question: messageView(result.Question), Answer: messageView(result.Answer),
			}))
		default:
			out.SendLast(formatEvent(client.EventDone, client.ChatDone{Question: messageView(result.Question), Answer: messageView(result.Answer), Model: result.Model}))
		}
	}}, nil
}

// replyModel returns the name of the model that answers a message.
func (d *handler) replyModel(ctx context.Context, requested string) (string, error) {
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
type replyStream struct {
	httpx.PieceWriter
	started bool
}

func (o *replyStream) sendMemory(p retrieve.PromptMemory) {
	o.started = true
	h := o.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // keeps proxies from buffering the stream
	if p.TraceID != "" {
		h.Set(headerTrace, p.TraceID)
	}
	m := client.ChatMemory{Trace: p.TraceID, Hits: mapSlice(p.Hits, func(h memory.Hit) client.Hit { return client.ViewHit(h, false) })}
	for _, fact := range p.Core.Facts {
		m.Hits = append(m.Hits, client.Hit{Memory: client.View(fact.Memory), InCore: true})
	}
	for _, e := range p.Core.Profile {
		m.Hits = append(m.Hits, client.Hit{Memory: client.Memory{ID: e.Key, Kind: recall.KindProfile, Content: recall.EntryText(e), CreatedAt: e.UpdatedAt}, InCore: true})
	}
	o.Send(formatEvent(client.EventMemory, m))
}

func (o *replyStream) sendDelta(text string) {
	o.Send(formatEvent(client.EventDelta, client.ChatDelta{Content: text}))
}

func formatEvent(name string, v any) string {
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

func problemView(p *httpx.Problem) client.Problem {
	return client.Problem{Type: p.Type, Title: p.Title, Status: p.Status, Detail: p.Detail, Code: p.Code}
}
