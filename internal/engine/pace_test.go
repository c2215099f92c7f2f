package engine

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/memory"
)

const (
	byWords = 150 * time.Millisecond
	bound   = time.Second
)

// paced is a rig with a local model of layers that is asked by chats within the default deadlines.
func paced(t *testing.T, reranks bool) (r *restarted, model *layered) {
	t.Helper()
	plain := newRig(t, stores["inmem"])
	embedder, reranker := &layered{}, &layered{}
	r = again(t, plain.Store, plain.clock, embedder)
	r.Opts.Deadline, r.Opts.SlowModelDeadline, r.Metrics = byWords, bound, obs.NewMetrics()
	r.teas(t, 12)
	if reranks {
		r.Reranker = reranker
		return r, reranker
	}
	return r, embedder
}

// asks asks a chat's question while the model takes so long, and returns how long that took and
// whether the model answered.
func (r *restarted) asks(t *testing.T, model *layered, takes time.Duration) (waited time.Duration, answered bool) {
	t.Helper()
	model.layer = takes / layersOfOne
	began := time.Now()
	p := r.prepare(t.Context(), retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "Which tea is oolong?", Budget: 1000})
	waited = time.Since(began)
	trace, err := r.Traces.Trace(context.Background(), ana, p.TraceID)
	if err != nil || len(p.Hits) == 0 {
		t.Errorf("%d hits after %v, %v; want some", len(p.Hits), waited, err)
	}
	time.Sleep(2 * time.Minute) // the model stops meanwhile
	synctest.Wait()
	return waited, len(trace.Degraded) == 0
}

// A chat waits for a local model that takes as long as it usually does here, and never beyond the
// bound; then the words answer.
func TestAChatWaitsForALocalModelAsLongAsItTakes(t *testing.T) {
	for _, reranks := range []bool{false, true} {
		for _, c := range []struct {
			takes time.Duration
			waits bool
		}{{24 * time.Millisecond, true}, {300 * time.Millisecond, true}, {780 * time.Millisecond, true}, {3 * time.Second, false}} {
			t.Run(fmt.Sprintf("reranks %v, %v", reranks, c.takes), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r, model := paced(t, reranks)
					for i := range 20 {
						if waited, answered := r.asks(t, model, c.takes); answered != c.waits || waited > bound || c.waits && waited < c.takes {
							t.Fatalf("question %d waited %v, with the model %v; want %v within %v", i, waited, answered, c.waits, bound)
						}
					}
				})
			})
		}
	}
}

// A single stall of a quick model does not change how long chats wait for the next, and a machine that
// becomes slow is followed after a few questions, as is one that becomes quick again.
func TestAStallDoesNotRaiseTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, model := paced(t, false)
		ask := func(n int, takes time.Duration) (answered int) {
			for range n {
				if _, is := r.asks(t, model, takes); is {
					answered++
				}
			}
			return answered
		}
		if n := ask(20, 6*time.Millisecond); n != 20 {
			t.Fatalf("%d of 20 were answered with a quick model", n)
		}
		for range 3 {
			ask(1, time.Minute)
			if waited, _ := r.asks(t, model, time.Minute); waited > byWords {
				t.Errorf("after a stall a chat waited %v for the next, want %v at most", waited, byWords)
			}
			ask(20, 6*time.Millisecond)
		}
		if n := ask(20, 300*time.Millisecond); n < 12 {
			t.Errorf("%d of 20 were answered once the machine was slow, want most", n)
		}
		ask(20, 6*time.Millisecond)
		if waited, _ := r.asks(t, model, time.Minute); waited > byWords {
			t.Errorf("a chat waited %v for a model that is quick again", waited)
		}
	})
}
