package engine

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
)

// layered is a local model as far as its time goes: between layers it sees whether
// anybody waits, and a layer takes long where the machine has other work.
type layered struct {
	alike
	layer  time.Duration
	passed atomic.Int64 // layers
}

const layersOfOne = 6

func (l *layered) think(ctx context.Context) error {
	for range layersOfOne {
		if err := ctx.Err(); err != nil {
			return err
		}
		time.Sleep(l.layer)
		l.passed.Add(1)
	}
	return nil
}

func (l *layered) Embed(ctx context.Context, as memory.EmbedAs, texts ...string) ([][]float32, error) {
	if err := l.think(ctx); err != nil {
		return nil, err
	}
	return l.alike.Embed(ctx, as, texts...)
}

func (l *layered) Rerank(ctx context.Context, _ string, texts ...string) ([]float32, error) {
	return make([]float32, len(texts)), l.think(ctx)
}

// A local model that is too slow costs a chat what it adds, and nothing else: the
// answer by words comes in time and says so, no layer is computed for nobody, and the
// next question has the model again.
func TestModelsThatAreTooSlowLeaveTheWordsInTime(t *testing.T) {
	const deadline, layer = 240 * time.Millisecond, 50 * time.Millisecond
	for part, slow := range map[string]func(r *restarted, embedder, reranker *layered){
		"embedder": func(_ *restarted, embedder, _ *layered) { embedder.layer = layer },
		"reranker": func(r *restarted, _, reranker *layered) { r.Reranker, reranker.layer = reranker, layer },
	} {
		t.Run(part, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				plain := newRig(t, stores["inmem"])
				embedder, reranker := &layered{}, &layered{}
				r := again(t, plain.Store, plain.clock, embedder)
				r.Opts.Deadline = deadline
				r.teas(t, 12)
				slow(r, embedder, reranker)
				model := map[string]*layered{"embedder": embedder, "reranker": reranker}[part]
				model.passed.Store(0)

				began := time.Now()
				p := r.prepare(ctx, retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "Which tea is oolong?", Budget: 1000})
				if took := time.Since(began); took >= deadline || len(p.Hits) == 0 {
					t.Errorf("%d hits after %v, want some before %v", len(p.Hits), took, deadline)
				}
				trace, err := r.Traces.Trace(ctx, ana, p.TraceID)
				if err != nil || len(trace.Degraded) != 1 || !strings.HasPrefix(trace.Degraded[0], part+": ") {
					t.Errorf("the trace says %q, %v; want that the %s was skipped", trace.Degraded, err, part)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if n := model.passed.Load(); n == 0 || n >= layersOfOne {
					t.Errorf("it computed %d layers of %d, want to stop midway", n, layersOfOne)
				}

				model.layer = 0
				p = r.prepare(ctx, retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "Which tea is oolong?", Budget: 1000})
				if trace, err := r.Traces.Trace(ctx, ana, p.TraceID); err != nil || len(p.Hits) == 0 || len(trace.Degraded) != 0 || p.Hits[0].Why.Get("vector") == 0 || part == "reranker" && trace.Reranked == 0 {
					t.Errorf("the next question: %d hits, %+v, %v; want nothing skipped", len(p.Hits), trace, err)
				}
			})
		})
	}
}
