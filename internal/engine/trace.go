package engine

import (
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
	for _, h := range r.hits {
		t.Hits = append(t.Hits, memory.TraceHit{ID: h.Memory.ID(), Kind: h.Memory.Kind(), Content: h.Memory.Content(), Score: h.Score, Why: h.Why})
	}
	for _, d := range r.dropped {
		t.Cut = append(t.Cut, memory.TraceHit{ID: d.Hit.Memory.ID(), Kind: d.Hit.Memory.Kind(), Score: d.Hit.Score, Why: d.Hit.Why, Cut: d.Stage})
	}
	for _, c := range r.cut[:min(len(r.cut), cutsTraced)] {
		t.Cut = append(t.Cut, memory.TraceHit{ID: c.Candidate.ID, Kind: c.Candidate.Kind, Score: c.Candidate.Score, Why: c.Candidate.Why, Cut: c.Stage})
	}
	return t
}

// traced is a question as a trace keeps it: no secrets, not all of a long one.
func traced(question string) string { return learn.Redact(clip(question, tracedQuestion), false) }
