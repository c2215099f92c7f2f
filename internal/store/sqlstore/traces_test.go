package sqlstore

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
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
			h.Why = append(h.Why, memory.Part{Name: name, Value: math.Pow(-0.1, float64(i)) / 7})
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

// TestTraceIsEncodedAsJSONDoes compares with encoding/json, reflection and all.
func TestTraceIsEncodedAsJSONDoes(t *testing.T) {
	empty := memory.Trace{ID: "x", Owner: memtest.Ana}
	for _, want := range []memory.Trace{sampleTrace(10, 20), sampleTrace(0, 3), sampleTrace(3, 0), empty} {
		plain, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		text, err := encodeTrace(want)
		if err != nil {
			t.Fatal(err)
		}
		var got, read memory.Trace
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if err := json.Unmarshal(plain, &read); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, read) {
			t.Errorf("got %s, want %s", text, plain)
		}
	}
}

// TestSampleTraceShowsEveryField keeps a field that is added from being left out of
// what is written by hand.
func TestSampleTraceShowsEveryField(t *testing.T) {
	sample := sampleTrace(1, 1)
	for i, field := range reflect.VisibleFields(reflect.TypeFor[memory.TraceHit]()) {
		if reflect.ValueOf(sample.Hits[0]).Field(i).IsZero() && reflect.ValueOf(sample.Cut[0]).Field(i).IsZero() {
			t.Errorf("no hit of the sample has a %s", field.Name)
		}
	}
}

func TestTraceOfNoNumberIsRefused(t *testing.T) {
	trace := sampleTrace(1, 0)
	trace.Hits[0].Why[0].Value = math.NaN()
	if text, err := encodeTrace(trace); err == nil {
		t.Errorf("got %s", text)
	}
}

func BenchmarkEncodeTrace(b *testing.B) {
	trace := sampleTrace(10, 20)
	b.Run("by hand", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := encodeTrace(trace); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(trace); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkEraseTracesOf is one fact erased that a few of so many traces have.
func BenchmarkEraseTracesOf(b *testing.B) {
	ctx := b.Context()
	s, err := OpenSQLite(ctx, filepath.Join(b.TempDir(), "loci.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
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
		if err := s.SaveTraces(ctx, each, traces...); err != nil {
			b.Fatal(err)
		}
	}
	next := 0
	for b.Loop() {
		if n, err := s.EraseTracesOf(ctx, memory.DefaultNamespace, fmt.Sprint("fact ", next)); err != nil || n != owners {
			b.Fatal(n, err)
		}
		next++
	}
}
