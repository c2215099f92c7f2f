package sqlstore

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func sampleTrace(hits, cut int) memory.Trace {
	t := memory.Trace{
		ID: "trace", Owner: memtest.Ana, Door: "search", Question: `Was it "Café <3" & tea?`, At: memtest.Epoch, Found: 200,
		Hits: []memory.TraceHit{}, Block: "a\nb", Degraded: []string{"embedder: gone"}, Took: 1500 * time.Microsecond,
	}
	for i := range hits + cut {
		h := memory.TraceHit{ID: "0190c7f4-3d7e-7c3a-9d5e-1f2a3b4c5d6e", Kind: memory.KindTurn, Content: "What was said \u2028 \x01 back then", Owner: memtest.Ben, Score: 1 / float64(3+i), Why: memory.Why{}}
		for _, name := range []string{"lexical", "vector", `a "quoted" one`, "e", "recency", "speaker", "time", "score"} {
			h.Why = append(h.Why, memory.ScorePart{Name: name, Value: math.Pow(-0.1, float64(i)) / 7})
		}
		if i < hits {
			t.Hits = append(t.Hits, h)
			continue
		}
		h.Content, h.Cut = "", "threshold"
		t.Cut = append(t.Cut, h)
	}
	return t
}

func TestTraceOfNoNumberIsRefused(t *testing.T) {
	trace := sampleTrace(1, 0)
	trace.Hits[0].Why[0].Value = math.NaN()
	if text, err := encodeTrace(trace); err == nil {
		t.Errorf("got %s", text)
	}
}

// BenchmarkEraseTracesOf is one fact erased that a few of so many traces have.
func BenchmarkEraseTracesOf(b *testing.B) {
	ctx := b.Context()
	s := try(OpenSQLite(ctx, filepath.Join(b.TempDir(), "loci.db"), Options{})).orFail(b)
	defer s.Close()
	const owners, each = 25, 1000
	for o := range owners {
		traces := make([]memory.Trace, each)
		for i := range traces {
			t := sampleTrace(10, 20)
			t.ID, t.Owner, t.At = fmt.Sprint("trace ", i), memory.User(memory.DefaultNamespace, fmt.Sprint("user ", o)), memtest.Epoch.Add(time.Duration(i))
			t.Hits[3].ID, t.Hits[3].Kind, t.Hits[3].Owner = fmt.Sprint("fact ", i), memory.KindFact, memory.Pool(memory.DefaultNamespace, "team")
			traces[i] = t
		}
		noError(b)(s.SaveTraces(ctx, each, traces...))
	}
	next := 0
	for b.Loop() {
		if n, err := s.EraseTracesOf(ctx, memory.DefaultNamespace, fmt.Sprint("fact ", next)); err != nil || n != owners {
			b.Fatal(n, err)
		}
		next++
	}
}
