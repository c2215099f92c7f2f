package retrieve

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Bounds of a trace: bytes of the question, and number of candidates that ranking cut.
const (
	MaxTracedQuestion = 2 << 10
	maxTracedCuts     = 20
)

// StoreTrace stores the trace under an id. block is the chat's block. Traces of questions that are off
// the record have no text.
func (r *Pipeline) StoreTrace(id, block string, elapsed time.Duration) {
	question := questionForTrace(r.Question.Text, r.Retriever.Opts.Learn.RedactPersonal)
	isTextless := r.HasTextlessTrace()
	if isTextless {
		question, block = "", ""
	}
	hits := append(make([]memory.TraceHit, 0, len(r.Hits)), r.coreTraceHits(r.OpeningCore, !isTextless, "")...)
	for _, h := range r.Hits {
		m := h.Memory
		hit := memory.TraceHit{ID: m.ID(), Kind: m.Kind(), Owner: m.Scope().Owner, Score: h.Score, Why: h.Why}
		if !isTextless {
			hit.Content = m.Content()
		}
		if hit.Owner == r.Question.Scope.Owner {
			hit.Owner = ""
		}
		hits = append(hits, hit)
	}
	cutHits := r.coreTraceHits(r.coreOverflow, false, "core")
	for _, d := range r.DroppedHits {
		m := d.Hit.Memory
		cutHits = append(cutHits, memory.TraceHit{ID: m.ID(), Kind: m.Kind(), Cut: d.Stage, Score: d.Hit.Score, Why: d.Hit.Why})
	}
	for _, c := range r.CutCandidates[:min(len(r.CutCandidates), maxTracedCuts)] {
		cutHits = append(cutHits, memory.TraceHit{ID: c.ID, Kind: c.Kind, Cut: c.Stage, Score: c.Score, Why: c.Why})
	}
	roundScores(hits)
	roundScores(cutHits)
	var misspelt []memory.Misspelt
	if !isTextless && r.Misspelt != nil {
		askedText := text.Fold(question) // the question as stored, without cut or redacted words, so that misspelt words among them are not stored either
		misspelt = slices.DeleteFunc(recall.WholeWordCorrections(r.Misspelt, r.Hits), func(m memory.Misspelt) bool { return !strings.Contains(askedText, m.Word) })
	}
	r.Retriever.Traces.Add(memory.Trace{
		ID: id, Owner: r.Question.Scope.Owner, Conversation: r.Question.AskingConversation, Door: r.Question.API, Question: question, At: r.Now,
		Found: r.FoundCount, Block: block, Misspelt: misspelt, Degraded: r.Degraded, Took: elapsed, Hits: hits, Cut: cutHits,
		Remembered: r.vectorCached, Reranked: r.rerankCounts[0], RerankOf: r.rerankCounts[1],
	})
}

// HasTextlessTrace reports whether the trace contains no text.
func (r *Pipeline) HasTextlessTrace() bool {
	return r.Question.TextlessTrace || extract.IsOffTheRecord(r.Question.Text)
}

// questionForTrace returns a question as it is stored in a trace: shortened and without secrets.
func questionForTrace(question string, redactPersonal bool) string {
	return learn.Redact(core.Clip(question, MaxTracedQuestion), redactPersonal)
}

// whyCore is the Why of a memory that is in a prompt without a search.
var whyCore = memory.Why{{Name: "core", Value: 1}}

// coreTraceHits returns the facts and entries of a core, without text if withText is false. cutStage is the
// stage that dropped them, or "".
func (r *Pipeline) coreTraceHits(openingCore recall.Core, withText bool, cutStage string) (hits []memory.TraceHit) {
	for _, m := range openingCore.Facts {
		f := m.Fact
		hits = append(hits, memory.TraceHit{ID: f.ID, Kind: memory.KindFact, Content: f.Content, Owner: f.Scope.Owner})
	}
	for _, e := range openingCore.Profile {
		hits = append(hits, memory.TraceHit{ID: e.Key, Kind: recall.KindProfile, Content: recall.EntryText(e)})
	}
	for i := range hits {
		h := &hits[i]
		h.Cut, h.Why = cutStage, whyCore
		if !withText {
			h.Content = ""
		}
		if h.Owner == r.Question.Scope.Owner {
			h.Owner = ""
		}
	}
	return hits
}

// roundScores replaces the scores of hits by rounded copies.
func roundScores(hits []memory.TraceHit) {
	for i := range hits {
		h := &hits[i]
		h.Score, h.Why = rounded(h.Score), slices.Clone(h.Why)
		for j := range h.Why {
			h.Why[j].Value = rounded(h.Why[j].Value)
		}
	}
}

// rounded returns x rounded to ten thousandths, or 0 for NaN.
func rounded(x float64) float64 {
	const perUnit, limit = 1e4, 1 << 53
	if x = math.RoundToEven(x * perUnit); math.IsNaN(x) {
		return 0
	}
	return float64(int64(max(-limit, min(limit, x)))) / perUnit // the conversion to int64 removes -0
}

// coreWithoutHits returns the core without facts that are hits, and without the summary, which is part of
// the chat.
func (r *Pipeline) coreWithoutHits(openingCore recall.Core) recall.Core {
	openingCore.Summary = nil
	openingCore.Facts = slices.DeleteFunc(openingCore.Facts, func(m recall.CoreFact) bool {
		return slices.ContainsFunc(r.Hits, func(h memory.Hit) bool { return h.Memory.ID() == m.ID() })
	})
	return openingCore
}

// dedupeDropped removes core facts from the dropped hits, so that the trace lists each memory once.
func (r *Pipeline) dedupeDropped() {
	coreIDs := map[string]bool{}
	for _, id := range slices.Concat(r.OpeningCore.IDs(), r.coreOverflow.IDs()) {
		coreIDs[id] = true
	}
	if len(coreIDs) == 0 {
		return
	}
	r.DroppedHits = slices.DeleteFunc(r.DroppedHits, func(d recall.DroppedHit) bool { return coreIDs[d.Hit.Memory.ID()] })
	r.CutCandidates = slices.DeleteFunc(r.CutCandidates, func(c recall.CutCandidate) bool { return coreIDs[c.ID] })
}
