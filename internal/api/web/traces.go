package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/loci-memory/loci/memory"
)

// tracesAtOnce is how many of the newest traces a page reads.
const tracesAtOnce = 200

// slack is the maximum difference between the times of a turn and of its trace, which the same request sets.
const slack = time.Second

// answered maps user turns to the traces of their answers. A trace belongs to the nearest turn before it; if a
// turn has several traces, the newest counts.
func answered(traces []memory.Trace, turns []memory.Turn) map[string]memory.Trace {
	out := map[string]memory.Trace{}
	for _, one := range traces { // traces come newest first
		nearest, by := "", time.Duration(0)
		for _, t := range turns { // turns come in order; of turns with the same time, the last one was asked
			away := one.At.Sub(t.CreatedAt)
			if t.Role != memory.RoleUser || t.Status != memory.Active || away < -slack {
				continue
			}
			if away = away.Abs(); nearest == "" || away <= by {
				nearest, by = t.ID, away
			}
		}
		if _, later := out[nearest]; nearest != "" && !later {
			out[nearest] = one
		}
	}
	return out
}

// answeredIn is answered for a conversation.
func (p *Page) answeredIn(ctx context.Context, owner memory.Owner, conversation string, turns []memory.Turn) (map[string]memory.Trace, error) {
	traces, err := p.engine.Traces.Traces(ctx, owner, memory.TraceQuery{Conversation: conversation, Limit: tracesAtOnce})
	return answered(traces, turns), err
}

// tracesView lists the latest requests to memory, each with the number of memories it received.
type tracesView struct {
	Traces       []memory.Trace
	Conversation string // only traces of this conversation; "" for all
}

func (p *Page) traces(r *http.Request, v visit) (any, error) {
	view := tracesView{Conversation: r.FormValue("conversation")}
	var err error
	view.Traces, err = p.engine.Traces.Traces(r.Context(), v.owner, memory.TraceQuery{Conversation: view.Conversation, Limit: tracesAtOnce})
	return view, err
}

// traceView is one request to memory and its result.
type traceView struct {
	memory.Trace
	Hits, Cut []row
}

func (p *Page) trace(r *http.Request, v visit) (any, error) {
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
	view.Cut, err = p.cut(r, v, t, here(r))
	return view, err
}
