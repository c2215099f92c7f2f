package engine

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Bounds of what a trace keeps: bytes of the question, and how much of what was
// left out.
const (
	tracedQuestion = 2 << 10
	cutsTraced     = 20
)

// trace writes down what happened, to be found by id from now on. block is what a
// chat was given. Of what is asked in confidence there are no words.
func (r *recalling) trace(id, block string, took time.Duration) {
	p := tracePackers.Get().(*tracePacker)
	defer tracePackers.Put(p)
	p.b, p.names = p.b[:0], p.names[:0]
	cut := r.cut[:min(len(r.cut), cutsTraced)]
	question := traced(r.q.Text, r.e.opts.Learn.Personal)
	untold := r.untold()
	if untold {
		question, block = "", ""
	}
	p.count(coreSize(r.opening) + len(r.hits))
	p.traceCore(r.opening, r.q.Scope.Owner, !untold, "")
	for _, h := range r.hits {
		content := ""
		if !untold {
			content = h.Memory.Content()
		}
		owner := h.Memory.Scope().Owner
		if owner == r.q.Scope.Owner {
			owner = ""
		}
		p.memory(h.Memory.ID(), h.Memory.Kind(), content, owner, "", h.Score, h.Why)
	}
	p.count(coreSize(r.crowded) + len(r.dropped) + len(r.spare) + len(cut))
	p.traceCore(r.crowded, r.q.Scope.Owner, false, "core")
	for _, d := range r.dropped {
		p.memory(d.Hit.Memory.ID(), d.Hit.Memory.Kind(), "", "", d.Stage, d.Hit.Score, d.Hit.Why)
	}
	for i := range r.spare {
		c := &r.spare[i]
		p.memory(c.ID, c.Kind, "", "", "top_k", c.Score, c.Why)
	}
	for _, c := range cut {
		p.memory(c.ID, c.Kind, "", "", c.Stage, c.Score, c.Why)
	}
	var misspelt []memory.Misspelt
	if !untold && r.misspelt != nil {
		asked := text.Fold(question) // less what it does not tell
		misspelt = slices.DeleteFunc(recall.Spelt(r.misspelt, r.hits), func(m memory.Misspelt) bool { return !strings.Contains(asked, m.Word) })
	}
	r.e.traces.add(memory.Trace{
		ID: id, Owner: r.q.Scope.Owner, Conversation: r.q.In, Door: r.q.Door, Question: question, At: r.now,
		Found: r.found, Block: block, Misspelt: misspelt, Degraded: r.degraded, Took: took,
		Remembered: r.vector, Reranked: r.reranked[0], RerankOf: r.reranked[1],
	}, p.b)
}

// untold reports whether the trace has no words.
func (r *recalling) untold() bool { return r.q.Untold || learn.Unsaid(r.q.Text) }

// traceSafely is trace where no door stands behind it that takes a panic.
func (r *recalling) traceSafely(id, block string, took time.Duration) {
	defer func() {
		if v := recover(); v != nil {
			r.e.Log.Error("panic in a trace", "trace", id, "panic", v)
		}
	}()
	r.trace(id, block, took)
}

// traced is a question as a trace keeps it: no secrets, not all of a long one.
func traced(question string, personal bool) string {
	return learn.Redact(clip(question, tracedQuestion), personal)
}

var tracePackers = sync.Pool{New: func() any { return new(tracePacker) }}
