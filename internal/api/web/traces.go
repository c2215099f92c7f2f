package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/loci-memory/loci/memory"
)

// tracesAtOnce is how many of the newest traces a page looks at.
const tracesAtOnce = 200

// slack is how far the clocks of a turn and of its trace may be apart: both are read
// while the same request is taken in.
const slack = time.Second

// answered returns the trace of what a conversation's user turns were answered with,
// by the turn's id: that of the turn which was said nearest before, the newest of
// several.
func answered(traces []memory.Trace, turns []memory.Turn) map[string]memory.Trace {
	out := map[string]memory.Trace{}
	for _, one := range traces { // newest first
		nearest, by := "", time.Duration(0)
		for _, t := range turns { // in order: of those said at once, the last was asked
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

// answeredIn is answered of a conversation.
func (p *Page) answeredIn(ctx context.Context, owner memory.Owner, conversation string, turns []memory.Turn) (map[string]memory.Trace, error) {
	traces, err := p.engine.Traces.Traces(ctx, owner, memory.TraceQuery{Conversation: conversation, Limit: tracesAtOnce})
	return answered(traces, turns), err
}

// tracesView is what was asked of memory last, and how much each was given.
type tracesView struct {
	Traces       []memory.Trace
	Conversation string // whose alone they are
}

func (p *Page) traces(r *http.Request, v visit) (any, error) {
	view := tracesView{Conversation: r.FormValue("conversation")}
	var err error
	view.Traces, err = p.engine.Traces.Traces(r.Context(), v.owner, memory.TraceQuery{Conversation: view.Conversation, Limit: tracesAtOnce})
	return view, err
}

// traceView is what one request asked and was given.
type traceView struct {
	memory.Trace
	Hits, Cut []row
}

func (p *Page) trace(r *http.Request, v visit) (any, error) {
	t, err := p.engine.Traces.Trace(r.Context(), v.owner, v.id)
	if errors.Is(err, memory.NotFound) {
		return nil, memory.Errorf(memory.NotFound, "this trace is gone: only the newest are kept")
	}
	if err != nil {
		return nil, err
	}
	view := traceView{Trace: t}
	if view.Hits, err = p.hitRows(r, v, t.Hits, ""); err != nil {
		return nil, err
	}
	for i, h := range t.Hits {
		view.Hits[i].Content = h.Content // as it was told
	}
	view.Cut, err = p.cut(r, v, t, here(r))
	return view, err
}
