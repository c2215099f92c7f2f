package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/engine/transfer"
	"github.com/loci-memory/loci/internal/engine/vectors"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/portable"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// alike is an embedder by whose vectors all texts are alike, so that whatever is
// compared by vector shows a cosine of 1.
type alike struct {
	name      string
	far       bool                           // Remote
	fails     func(documents []string) error // nil: never
	documents atomic.Int64
}

func (a *alike) Fingerprint() string { return "alike:" + a.name }
func (a *alike) Dims() int           { return 8 }
func (a *alike) Remote() bool        { return a.far }

func (a *alike) Embed(ctx context.Context, as memory.EmbedAs, texts ...string) ([][]float32, error) {
	if a.fails != nil {
		if err := a.fails(texts); err != nil {
			return nil, err
		}
	}
	if as == memory.AsDocument {
		a.documents.Add(int64(len(texts)))
	}
	out := make([][]float32, len(texts))
	for i := range out {
		out[i] = []float32{1, 0, 0, 0, 0, 0, 0, 0}
	}
	return out, ctx.Err()
}

// restarted is a rig that says when work was queued.
type restarted struct {
	*rig
	woken chan struct{}
}

// again is an engine with another embedder on a store that others were on before, as
// after a start.
func again(t *testing.T, store memory.Store, clock *memtest.Clock, by memory.Embedder) *restarted {
	t.Helper()
	woken := make(chan struct{}, 1000)
	var e *Engine
	ix := index.New(store, index.Options{Model: by.Fingerprint(), OnMissingVectors: func(owner memory.Owner, n int) { e.Vectors.QueueMissing(owner, n) }})
	e = New(core.Parts{
		Store: store, Searcher: ix, Embedder: by, Prompts: prompt.Default(),
		Log: slog.New(slog.DiscardHandler), Now: clock.Now, WakeJobRunner: func() { woken <- struct{}{} },
	}, core.Options{TopK: 8, BlockTokens: 1500, ScoreThreshold: 0, RecencyWeight: 0.2, Deadline: 10 * time.Second, LearnAfter: core.AfterExchange, LearnByRules: true, MaxTextBytes: 1 << 20})
	t.Cleanup(func() {
		e.Close()
		noError(t)(ix.Close())
	})
	return &restarted{&rig{Engine: e, clock: clock}, woken}
}

// give does the embed jobs that are due and returns the first error.
func (r *rig) give(ctx context.Context) error {
	for {
		job, err := r.Store.Claim(ctx, []memory.JobKind{memory.JobEmbed}, time.Minute)
		if errors.Is(err, memory.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		outcome := memory.Outcome{Done: true}
		_, err = r.Vectors.EmbedMissing(ctx, job)
		if off := (*jobs.PutOff)(nil); errors.As(err, &off) {
			outcome, err = memory.Outcome{Deferred: true, RetryAt: off.Until, Cause: off.Reason}, nil
		} else if err != nil {
			outcome = memory.Outcome{RetryAt: r.Time(), Cause: err.Error()}
		}
		if err := errors.Join(err, r.Store.Finish(context.WithoutCancel(ctx), job.Lease, outcome)); err != nil {
			return err
		}
	}
}

// compared returns how many hits a question has, and how many of them were compared by
// vector.
func (r *rig) compared(t *testing.T, question string) (hits, byVector int) {
	t.Helper()
	found := try(r.Retrieve.Recall(context.Background(), retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: question})).orFail(t)
	for _, h := range found.Hits {
		if h.Why.Get("vector") > 0 {
			byVector++
		}
	}
	return len(found.Hits), byVector
}

// teas notes so many facts.
func (r *rig) teas(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		r.note(t, ana, fmt.Sprintf("Ana's tea number %d is oolong", i))
	}
}

func TestAnotherEmbedderGivesVectorsAnewAndTheOldOnesStay(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		old, next := &alike{name: "old"}, &alike{name: "next"}
		before := again(t, r.Store, r.clock, old)
		before.teas(t, 5)
		if hits, by := before.compared(t, "oolong tea"); hits != 5 || by != 5 {
			t.Fatalf("by the old embedder: %d of %d hits compared by vector, want 5 of 5", by, hits)
		}

		after := again(t, r.Store, r.clock, next)
		if hits, by := after.compared(t, "oolong tea"); hits != 5 || by != 0 {
			t.Errorf("by the next, before it gave vectors: %d of %d hits compared by vector, want 0 of 5", by, hits)
		}
		if v, err := after.Vectors.Reembed(ctx, ana, true, ""); err != nil || v.Lacking != 5 || v.Memories != 5 || v.Model != "alike:next" || next.documents.Load() != 0 {
			t.Errorf("dry run: %+v, %v, and %d texts embedded; want 5 of 5 lacking, none embedded", v, err, next.documents.Load())
		}
		after.waits(t)
		noError(t)(after.give(ctx))
		if hits, by := after.compared(t, "oolong tea"); hits != 5 || by != 5 || next.documents.Load() != 5 {
			t.Errorf("by the next: %d of %d hits compared by vector, %d texts embedded; want 5 of 5, and 5", by, hits, next.documents.Load())
		}

		back := again(t, r.Store, r.clock, old)
		embedded := old.documents.Load()
		if hits, by := back.compared(t, "oolong tea"); hits != 5 || by != 5 || old.documents.Load() != embedded {
			t.Errorf("back to the old: %d of %d hits compared by vector, %d texts embedded again; want 5 of 5, and none", by, hits, old.documents.Load()-embedded)
		}
	})
}

// waits returns when the index has said that ana's memories lack vectors and a job was
// queued for that: it says so beside the search that saw it.
func (r *restarted) waits(t *testing.T) {
	t.Helper()
	for range r.woken {
		queued := try(r.Store.Jobs(context.Background(), ana)).orFail(t)
		if slices.ContainsFunc(queued, func(j memory.Job) bool { return j.Kind == memory.JobEmbed }) {
			return
		}
	}
}

func TestNoWriteWaitsForARemoteEmbedder(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		away := memory.Errorf(memory.Unavailable, "nobody is there")
		server := &alike{name: "server", far: true, fails: func([]string) error { return away }}
		far := again(t, r.Store, r.clock, server)
		far.note(t, ana, "Ana's tea is oolong")
		noError(t)(far.Exchange.Ingest(ctx, ana, exchange.IngestRequest{Messages: []exchange.Message{{Role: memory.RoleUser, Content: "I bought a pot for my tea"}}}))
		if out := far.bring(t, ana, transfer.ImportOptions{Format: portable.List}, "- Ana's cup for tea is blue\n"); out.Added.Facts != 1 {
			t.Fatalf("imported: %+v, want the fact", out)
		}
		if queued, err := far.Store.Jobs(ctx, ana); err != nil || len(queued) != 3 || queued[0].Kind != memory.JobEmbed {
			t.Fatalf("jobs: %+v, %v; want one to embed for each write", queued, err)
		}
		found, err := far.Retrieve.Recall(ctx, retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "tea"})
		if err != nil || len(found.Hits) != 3 || !slices.ContainsFunc(found.Degraded, func(s string) bool { return s == "embedder: nobody is there" }) {
			t.Errorf("while it is away: %d hits, degraded %q, %v; want 3 by words, and that said", len(found.Hits), found.Degraded, err)
		}
		noError(t)(far.give(ctx))
		queued, err := far.Store.Jobs(ctx, ana)
		if err != nil || len(queued) < 2 || queued[0].Attempts != 0 || !queued[0].RunAt.After(far.Time()) {
			t.Fatalf("jobs put off: %+v, %v; want them later, without a failure", queued, err)
		}
		server.fails = nil
		r.clock.Advance(2 * vectors.EmbedderRetryDelay)
		noError(t)(far.give(ctx))
		if hits, by := far.compared(t, "tea"); hits != 3 || by != 3 || server.documents.Load() != 3 {
			t.Errorf("when it is back: %d of %d hits compared by vector, %d texts embedded; want 3 of 3, each once", by, hits, server.documents.Load())
		}
	})
}

func TestWhatTheEmbedderDoesNotTakeIsFoundByItsWords(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		server := &alike{name: "server", far: true, fails: func(texts []string) error {
			if slices.Contains(texts, "Ana's tea is unspeakable") {
				return memory.Errorf(memory.Invalid, "this text is too much")
			}
			return nil
		}}
		far := again(t, r.Store, r.clock, server)
		far.note(t, ana, "Ana's tea is unspeakable")
		far.note(t, ana, "Ana's other tea is oolong")
		noError(t)(far.give(ctx))
		if v, err := far.Vectors.Progress(ctx, ana); err != nil || v.Lacking != 1 || v.Memories != 2 {
			t.Errorf("%+v, %v; want one of two lacking", v, err)
		}
		if hits, _ := far.compared(t, "tea"); hits != 2 {
			t.Errorf("%d hits, want 2", hits)
		}
	})
}

func TestWhatWasRewordedMeanwhileKeepsNoVectorOfItsOldWords(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		f := again(t, r.Store, r.clock, embed.Lexical{}).note(t, ana, "Ana's tea is oolong")
		next := &alike{name: "next", far: true}
		after := again(t, r.Store, r.clock, next)
		next.fails = func([]string) error {
			next.fails = nil
			words := "Ana's tea is sencha"
			_, err := after.Curate.EditFact(ctx, ana, f.ID, curate.FactEdit{Content: &words}, her)
			return err
		}
		noError(t)(after.Vectors.Reembed(ctx, ana, false, ""))
		job := try(after.Store.Claim(ctx, []memory.JobKind{memory.JobEmbed}, time.Minute)).orFail(t)
		noError(t)(after.Vectors.EmbedMissing(ctx, job))
		if v, err := after.Vectors.Progress(ctx, ana); err != nil || v.Lacking != 1 {
			t.Errorf("%+v, %v; want the vector of the old words left out", v, err)
		}
	})
}
