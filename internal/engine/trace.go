package engine

import (
	"math"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// Bounds of what a trace keeps: bytes of the question, and how much of what was
// left out.
const (
	tracedQuestion = 2 << 10
	cutsTraced     = 20
)

// trace writes down what happened.
func (r *recalling) trace(id, block string, took time.Duration) memory.Trace {
	t := memory.Trace{
		ID: id, Owner: r.q.Scope.Owner, Conversation: r.q.In, Door: r.q.Door, Question: traced(r.q.Text), At: r.now,
		Found: r.found, Hits: []memory.TraceHit{}, Block: block, Degraded: r.degraded, Took: took,
	}
	cut := r.cut[:min(len(r.cut), cutsTraced)]
	t.Hits = slices.Grow(t.Hits, len(r.hits))
	t.Cut = slices.Grow(t.Cut, len(r.dropped)+len(cut))
	var parts rounder
	for _, h := range r.hits {
		t.Hits = append(t.Hits, memory.TraceHit{ID: h.Memory.ID(), Kind: h.Memory.Kind(), Content: h.Memory.Content(), Score: rounded(h.Score), Why: parts.why(h.Why)})
	}
	for _, d := range r.dropped {
		t.Cut = append(t.Cut, memory.TraceHit{ID: d.Hit.Memory.ID(), Kind: d.Hit.Memory.Kind(), Score: rounded(d.Hit.Score), Why: parts.why(d.Hit.Why), Cut: d.Stage})
	}
	for _, c := range cut {
		t.Cut = append(t.Cut, memory.TraceHit{ID: c.ID, Kind: c.Kind, Score: rounded(c.Score), Why: parts.why(c.Why), Cut: c.Stage})
	}
	return t
}

// rounded is x as a trace keeps it: to four decimals, which say all there is to see
// and take a third of the room.
func rounded(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// rounder makes rounded copies, many in one piece of memory.
type rounder struct{ room memory.Why }

// partsAtOnce is room for the parts of a usual trace.
const partsAtOnce = 512

func (r *rounder) why(w memory.Why) memory.Why {
	if w == nil {
		return nil
	}
	if cap(r.room)-len(r.room) < len(w) {
		r.room = make(memory.Why, 0, max(partsAtOnce, len(w)))
	}
	start := len(r.room)
	for _, p := range w {
		r.room = append(r.room, memory.Part{Name: p.Name, Value: rounded(p.Value)})
	}
	return r.room[start:len(r.room):len(r.room)]
}

// traced is a question as a trace keeps it: no secrets, not all of a long one.
func traced(question string) string { return learn.Redact(clip(question, tracedQuestion), false) }
