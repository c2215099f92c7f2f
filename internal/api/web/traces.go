package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/loci-memory/loci/memory"
)

// maxTraces is the number of newest traces that a page reads.
const maxTraces = 200

// clockSlack is how much older than its turn a trace may be, although the same request stores both.
const clockSlack = time.Second

// tracesByTurn returns the trace of each answered user turn, by the turn's id. A trace belongs to the user turn with
// the nearest time; if a turn has several traces, it gets the newest.
func tracesByTurn(traces []memory.Trace, turns []memory.Turn) map[string]memory.Trace {
	out := map[string]memory.Trace{}
	for _, trace := range traces { // traces come newest first
		nearest, smallest := "", time.Duration(0)
		for _, t := range turns { // turns are in order; of turns with the same time, the last turn is used
			distance := trace.At.Sub(t.CreatedAt)
			if t.Role != memory.RoleUser || t.Status != memory.Active || distance < -clockSlack {
				continue
			}
			if distance = distance.Abs(); nearest == "" || distance <= smallest {
				nearest, smallest = t.ID, distance
			}
		}
		if _, later := out[nearest]; nearest != "" && !later {
			out[nearest] = trace
		}
	}
	return out
}

// conversationTraces returns the traces of a conversation's answers by turn.
func (p *Page) conversationTraces(ctx context.Context, owner memory.Owner, conversation string, turns []memory.Turn) (map[string]memory.Trace, error) {
	traces, err := p.engine.Traces.Traces(ctx, owner, memory.TraceQuery{Conversation: conversation, Limit: maxTraces})
	return tracesByTurn(traces, turns), err
}

// tracesView lists the latest requests to memory, each with the number of memories returned.
type tracesView struct {
	Traces       []memory.Trace
	Conversation string // only show traces of this conversation; "" shows all traces
}

func (p *Page) tracesView(r *http.Request, v visit) (any, error) {
	view := tracesView{Conversation: r.FormValue("conversation")}
	var err error
	view.Traces, err = p.engine.Traces.Traces(r.Context(), v.owner, memory.TraceQuery{Conversation: view.Conversation, Limit: maxTraces})
	return view, err
}

// traceView is one request to memory and its result.
type traceView struct {
	memory.Trace
	Hits, Cut []row // memories found, and memories that a stage of the search omitted
}

func (p *Page) traceView(r *http.Request, v visit) (any, error) {
	t, err := p.engine.Traces.Trace(r.Context(), v.owner, v.id)
	if errors.Is(err, memory.NotFound) {
		return nil, memory.Errorf(memory.NotFound, "this trace no longer exists: only the newest traces are kept")
	}
	if err != nil {
		return nil, err
	}
	view := traceView{Trace: t}
	if view.Hits, err = p.hitRows(r, v, t.Hits, ""); err != nil {
		return nil, err
	}
	for i, h := range t.Hits {
		view.Hits[i].Content = h.Content // the text as it was at the time of the request
	}
	view.Cut, err = p.omittedRows(r, v, t, viewURL(r))
	return view, err
}
