package eval

import (
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/bench/eval/talk"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// ways counts the round trips to a PostgreSQL server: each answer ends with ReadyForQuery (PostgreSQL's
// documentation, chapter "Message Flow").
type ways struct{ n atomic.Int64 }

func (w *ways) carry(near net.Conn, server string) {
	defer near.Close()
	far, err := net.Dial("unix", server)
	if err != nil {
		return
	}
	defer far.Close()
	go func() { _, _ = io.Copy(far, near); _ = far.Close() }()
	head := make([]byte, 5) // what it is, and how long it is but for that
	for {
		if _, err := io.ReadFull(far, head); err != nil {
			return
		}
		if head[0] == 'Z' {
			w.n.Add(1)
		}
		if _, err := near.Write(head); err != nil {
			return
		}
		if _, err := io.CopyN(near, far, int64(binary.BigEndian.Uint32(head[1:]))-4); err != nil {
			return
		}
	}
}

// TestFirstQuestionTakesFewRoundTrips searches for users on a PostgreSQL server. Each question reads in one or two
// round trips whether there is a global pool, the owner's version and the hits; the first one loads the owner.
func TestFirstQuestionTakesFewRoundTrips(t *testing.T) {
	for name, with := range map[string]bool{"index": false, "index, with pgvector for others": true} {
		t.Run(name, func(t *testing.T) { firstQuestionTakesFewRoundTrips(t, with) })
	}
}

func firstQuestionTakesFewRoundTrips(t *testing.T, pgvector bool) {
	var w ways
	schema := pgtest.Schema
	if pgvector {
		schema = func(t testing.TB) string { return pgtest.VectorDatabase(t, true) }
	}
	address, _ := pgtest.Proxy(t, schema(t), w.carry)
	s, err := sqlstore.OpenPostgres(t.Context(), pgtest.WithParameter(address, "sslmode", "disable"), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	model := embed.Lexical{}
	x := index.New(s, index.Options{Model: model.Fingerprint()})
	searcher := memory.Searcher(x)
	if pgvector {
		offload := retrieve.NewOffload(s, index.Options{Model: model.Fingerprint()}, s, retrieve.OffloadOptions{AboveBytes: 1 << 20, Log: slog.New(slog.DiscardHandler)})
		defer func() { _ = offload.Close() }()
		searcher = offload
	}
	e := engine.New(core.Parts{Store: s, Searcher: searcher, Embedder: model, Metrics: obs.NewMetrics(), Log: slog.New(slog.DiscardHandler), Now: time.Now}, core.Options{TopK: 10, Recall: core.RecallRules{BootstrapBelowFacts: 5}})
	defer func() { e.Close(); _, _ = x.Close(), s.Close() }()
	said := talk.New(1).Sentences(100)
	v, err := model.Embed(t.Context(), memory.AsDocument, said...)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(o memory.Owner) int64 {
		before := w.n.Load()
		found, err := e.Retrieve.Recall(t.Context(), retrieve.Question{Scope: memory.Scope{Owner: o}, Text: "What did I say about " + said[0], TextlessTrace: true})
		if err != nil || len(found.Hits) == 0 {
			t.Fatalf("%d hits, %v", len(found.Hits), err)
		}
		return w.n.Load() - before
	}
	first, again := int64(math.MaxInt64), int64(math.MaxInt64)
	for i := range 8 { // the first have statements prepared, and a connection that rested long is looked at
		o := memory.User("default", fmt.Sprint("user ", i))
		b := memtest.Batch(o, "talk", 0, said...)
		for i := range b.Turns {
			b.Vectors = append(b.Vectors, memory.Vector{Memory: b.Turns[i].ID, Model: model.Fingerprint(), Values: v[i]})
		}
		if _, err := s.Append(t.Context(), o, b); err != nil {
			t.Fatal(err)
		}
		first, again = min(first, ask(o)), min(again, ask(o))
	}
	if first > 4 || again > 4 {
		t.Errorf("got %d ways for the first question and %d for the second, want 4 at most", first, again)
	}
}
