package sqlstore

import (
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// ways counts how often who writes waits for the server.
type ways struct {
	address string
	n       atomic.Int64
}

func countWays(t *testing.T, address string) *ways {
	t.Helper()
	w := &ways{}
	w.address, _ = pgtest.Proxy(t, address, func(near net.Conn, server string) {
		defer near.Close()
		far, err := net.Dial("unix", server)
		if err != nil {
			return
		}
		defer far.Close()
		var asked atomic.Bool // and not answered
		go func() {
			defer near.Close()
			_, _ = io.Copy(near, tap{far, func() { asked.Store(false) }})
		}()
		_, _ = io.Copy(far, tap{near, func() {
			if asked.CompareAndSwap(false, true) {
				w.n.Add(1)
			}
		}})
	})
	return w
}

// tap calls heard with all that is read.
type tap struct {
	io.Reader
	heard func()
}

func (t tap) Read(b []byte) (int, error) {
	n, err := t.Reader.Read(b)
	if n > 0 {
		t.heard()
	}
	return n, err
}

// TestPostgresWritesTakeFewWays: one there and back takes the owner's row and asks, the last
// writes and commits.
func TestPostgresWritesTakeFewWays(t *testing.T) {
	w := countWays(t, pgtest.Schema(t))
	s := openServer(t, w.address, Options{})
	s.committer.(*server).db.SetMaxOpenConns(1) // so that it has all statements prepared
	s.committer.(*server).notifier.close()      // for which no writer waits
	// One write in 64 has this statement, too, and prepares it when it is the first.
	_, err := s.committer.(*server).db.ExecContext(t.Context(), s.reader.translator.translateCached(deleteOldCommits), "", "")
	noError(t)(err)
	for name, c := range map[string]struct {
		do   func(owner memory.Owner, i int) error
		ways int64
	}{
		"an exchange kept": {func(o memory.Owner, i int) error { _, err := s.Append(t.Context(), o, talk(o, i)); return err }, 2},
		"one that names its path": {func(o memory.Owner, i int) error {
			b := talk(o, 10+i)
			b.Path = &memory.Path{From: b.Turns[0].Index, Turns: []string{b.Turns[0].ID, b.Turns[1].ID}}
			_, err := s.Append(t.Context(), o, b)
			return err
		}, 2},
		"a fact added": {func(o memory.Owner, i int) error {
			_, err := s.Apply(t.Context(), o, memtest.Run(fmt.Sprint("run ", i)), memtest.Add(memtest.Fact(o, fmt.Sprint("fact ", i))))
			return err
		}, 3},
	} {
		for i := range 4 { // what comes first has statements prepared, and takes more
			before := w.n.Load()
			noError(t)(c.do(memtest.Ana, i))
			if got := w.n.Load() - before; i > 1 && got != c.ways {
				t.Errorf("%s takes %d ways, want %d", name, got, c.ways)
			}
		}
	}
}

// TestPostgresVectorsOfManyTakeFewWays: those of an embedder that was changed are written
// for many memories together, each of which is looked for where turns and facts are.
func TestPostgresVectorsOfManyTakeFewWays(t *testing.T) {
	w := countWays(t, pgtest.Schema(t))
	s := openServer(t, w.address, Options{})
	s.committer.(*server).db.SetMaxOpenConns(1) // so that it has all statements prepared
	s.committer.(*server).notifier.close()
	var changes []memory.Change
	var of []string
	for i := range 64 {
		f := memtest.Fact(memtest.Ana, fmt.Sprint("fact ", i))
		changes, of = append(changes, memtest.Add(f)), append(of, f.ID)
		b := talk(memtest.Ana, i)
		noError(t)(s.Append(t.Context(), memtest.Ana, b))
		of = append(of, b.Turns[0].ID)
	}
	noError(t)(s.Apply(t.Context(), memtest.Ana, memtest.Run("facts"), changes...))
	for try := range 3 { // what comes first has statements prepared
		run := memtest.Run(fmt.Sprint("run ", try))
		for _, id := range of {
			run.Vectors = append(run.Vectors, memory.Vector{Memory: id, Model: "other", Values: make([]float32, 8)})
		}
		run.Vectors = append(run.Vectors, memory.Vector{Memory: "nobody's", Model: "other", Values: make([]float32, 8)})
		before := w.n.Load()
		noError(t)(s.Apply(t.Context(), memtest.Ana, run))
		if got := w.n.Load() - before; try > 1 && got != 6 {
			t.Errorf("%d vectors take %d ways, want 6: one begins, four look in a table each, one ends", len(run.Vectors), got)
		}
		seen := 0
		_, err := s.Since(t.Context(), memtest.Ana, "other", 0, func(i memory.IndexItem) error {
			if len(i.Vector) > 0 {
				seen++
			}
			return nil
		})
		if err != nil || seen != len(of) {
			t.Errorf("%d memories have a vector, %v; want %d", seen, err, len(of))
		}
	}
}
