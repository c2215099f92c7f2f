package eval

import (
	"fmt"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/loci-memory/loci/bench/eval/talk"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestLearningTakesFewRoundTrips learns two facts of a chat message by rule on a PostgreSQL server: it searches similar
// facts, reads them all at once, and verifies before the write that they are unchanged.
func TestLearningTakesFewRoundTrips(t *testing.T) {
	var w ways
	address, _ := pgtest.Proxy(t, pgtest.Schema(t), w.carry)
	s, err := sqlstore.OpenPostgres(t.Context(), pgtest.WithParameter(address, "sslmode", "disable"), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	model := embed.Lexical{}
	x := index.New(s, index.Options{Model: model.Fingerprint()})
	searcher := struct{ memory.Searcher }{x} // which reads nothing ahead, at a time of its own
	e := engine.New(core.Parts{Store: s, Searcher: searcher, Embedder: model, Metrics: obs.NewMetrics(), Log: slog.New(slog.DiscardHandler), Now: time.Now}, core.Options{TopK: 10, LearnByRules: true})
	defer func() { e.Close(); _, _ = x.Close(), s.Close() }()
	talk, owner := talk.New(6), memory.User("default", "ana")
	claim, learn := int64(math.MaxInt64), int64(math.MaxInt64)
	for i := range 12 { // the first have statements prepared
		b := memtest.Batch(owner, "talk", 2*i, fmt.Sprintf("I like %s %s. I have a dog called %s.", talk.Word(), talk.Word(), talk.Word()), "I see.")
		b.Jobs = []memory.Job{{ID: fmt.Sprint("job ", i), Owner: owner, Kind: memory.JobLearn, Conversation: "talk"}}
		if _, err := s.Append(t.Context(), owner, b); err != nil {
			t.Fatal(err)
		}
		before := w.n.Load()
		job, err := s.Claim(t.Context(), []memory.JobKind{memory.JobLearn}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		claimed := w.n.Load()
		if _, err := e.Lessons.Learn(memory.ForWrite(t.Context()), job); err != nil {
			t.Fatal(err)
		}
		claim, learn = min(claim, claimed-before), min(learn, w.n.Load()-claimed)
	}
	learned, err := s.List(t.Context(), owner, memory.Query{})
	if err != nil || len(learned.Memories) < 12 {
		t.Fatalf("%d facts were learned, %v", len(learned.Memories), err)
	}
	if claim > 1 || learn > 13 {
		t.Errorf("got %d ways to claim and %d to learn from a message, want 1 and 13 at most", claim, learn)
	}
}
