package retrieve

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/traces"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Bounds of what a trace keeps: bytes of the question, and how much of what was
// left out.
const (
	TracedQuestion = 2 << 10
	cutsTraced     = 20
)

// Trace stores what happened under an id. block is the text that a chat was given. Traces of
// questions that are off the record have no text.
func (r *Pipeline) Trace(id, block string, took time.Duration) {
	p := tracePackers.Get().(*traces.TracePacker)
	defer tracePackers.Put(p)
	p.B, p.Names = p.B[:0], p.Names[:0]
	cut := r.Cut[:min(len(r.Cut), cutsTraced)]
	question := traced(r.Q.Text, r.E.Opts.Learn.Personal)
	untold := r.Untold()
	if untold {
		question, block = "", ""
	}
	p.Count(coreSize(r.Opening) + len(r.Hits))
	p.TraceCore(r.Opening, r.Q.Scope.Owner, !untold, "")
	for _, h := range r.Hits {
		content := ""
		if !untold {
			content = h.Memory.Content()
		}
		owner := h.Memory.Scope().Owner
		if owner == r.Q.Scope.Owner {
			owner = ""
		}
		p.Memory(h.Memory.ID(), h.Memory.Kind(), content, owner, "", h.Score, h.Why)
	}
	p.Count(coreSize(r.overflow) + len(r.Dropped) + len(r.reserve) + len(cut))
	p.TraceCore(r.overflow, r.Q.Scope.Owner, false, "core")
	for _, d := range r.Dropped {
		p.Memory(d.Hit.Memory.ID(), d.Hit.Memory.Kind(), "", "", d.Stage, d.Hit.Score, d.Hit.Why)
	}
	for i := range r.reserve {
		c := &r.reserve[i]
		p.Memory(c.ID, c.Kind, "", "", "top_k", c.Score, c.Why)
	}
	for _, c := range cut {
		p.Memory(c.ID, c.Kind, "", "", c.Stage, c.Score, c.Why)
	}
	var misspelt []memory.Misspelt
	if !untold && r.Misspelt != nil {
		asked := text.Fold(question) // less what it does not tell
		misspelt = slices.DeleteFunc(recall.Spelt(r.Misspelt, r.Hits), func(m memory.Misspelt) bool { return !strings.Contains(asked, m.Word) })
	}
	r.E.Traces.Ring.Add(memory.Trace{
		ID: id, Owner: r.Q.Scope.Owner, Conversation: r.Q.In, Door: r.Q.Door, Question: question, At: r.Now,
		Found: r.Found, Block: block, Misspelt: misspelt, Degraded: r.Degraded, Took: took,
		Remembered: r.vector, Reranked: r.reranked[0], RerankOf: r.reranked[1],
	}, p.B)
}

// Untold reports whether the trace has no words.
func (r *Pipeline) Untold() bool { return r.Q.Untold || extract.OffTheRecord(r.Q.Text) }

// TraceSafely is trace for where no handler recovers from a panic.
func (r *Pipeline) TraceSafely(id, block string, took time.Duration) {
	defer func() {
		if v := recover(); v != nil {
			r.E.Log.Error("panic in a trace", "trace", id, "panic", v)
		}
	}()
	r.Trace(id, block, took)
}

// traced is a question as a trace keeps it: no secrets, not all of a long one.
func traced(question string, personal bool) string {
	return learn.Redact(core.Clip(question, TracedQuestion), personal)
}

var tracePackers = sync.Pool{New: func() any { return new(traces.TracePacker) }}

// besides returns the core without facts that are hits, and without the summary, which is
// of the chat itself.
func (r *Pipeline) besides(core recall.Core) recall.Core {
	core.Summary = nil
	isHit := func(f memory.Fact) bool {
		return slices.ContainsFunc(r.Hits, func(h memory.Hit) bool { return h.Memory.ID() == f.ID })
	}
	core.Pinned, core.Standing = slices.DeleteFunc(core.Pinned, isHit), slices.DeleteFunc(core.Standing, isHit)
	return core
}

// tellOnce removes facts of the core from what search left out, so that the trace names
// them once.
func (r *Pipeline) tellOnce() {
	core := map[string]bool{}
	for _, f := range slices.Concat(r.Opening.Facts(), r.overflow.Facts()) {
		core[f.ID] = true
	}
	if len(core) == 0 {
		return
	}
	r.Dropped = slices.DeleteFunc(r.Dropped, func(d recall.Dropped) bool { return core[d.Hit.Memory.ID()] })
	r.reserve = slices.DeleteFunc(r.reserve, func(c memory.Candidate) bool { return core[c.ID] })
	r.Cut = slices.DeleteFunc(r.Cut, func(c recall.Cut) bool { return core[c.ID] })
}

func coreSize(c recall.Core) int { return len(c.Facts()) + len(c.Profile) }
