package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

const ana = memory.Owner("default/user/ana")

// BenchmarkAdd makes single durable adds, a fact with its vector each, and
// compares them with a plain INSERT of one row in a transaction of its own.
func BenchmarkAdd(b *testing.B) {
	b.Run("plain-insert", benchmarkInsert)
	for _, clients := range []int{1, 8} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			s := openFile(b, filepath.Join(b.TempDir(), "loci.db"))
			ids, embed := memtest.IDs{}, unitVectors(384)
			facts := make([]memory.Fact, b.N)
			for i := range facts {
				facts[i] = sampleFact(&ids, i)
			}
			b.ReportAllocs()
			b.ResetTimer()
			var next atomic.Int64
			var wg sync.WaitGroup
			for range clients {
				wg.Go(func() {
					for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
						if err := addFact(s, facts[i], embed); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "adds/s")
		})
	}
}

func benchmarkInsert(b *testing.B) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "plain.db")+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE facts (id TEXT PRIMARY KEY, content TEXT)`); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if _, err := db.Exec(`INSERT INTO facts (id, content) VALUES (?, ?)`, fmt.Sprint(i), content(i)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "adds/s")
}

// BenchmarkAppend writes turns with their vectors in batches of 500.
func BenchmarkAppend(b *testing.B) {
	const size = 500
	s := openFile(b, filepath.Join(b.TempDir(), "loci.db"))
	ids, embed := memtest.IDs{}, unitVectors(384)
	b.ReportAllocs()
	b.ResetTimer()
	turns := 0
	for i := range b.N {
		b.StopTimer()
		batch := sampleBatch(&ids, fmt.Sprint("conversation ", i), size, embed)
		b.StartTimer()
		if _, err := s.Append(b.Context(), ana, batch); err != nil {
			b.Fatal(err)
		}
		turns += size
	}
	b.ReportMetric(float64(turns)/b.Elapsed().Seconds(), "turns/s")
}

func sampleBatch(ids *memtest.IDs, conversation string, size int, embed func() []float32) memory.Batch {
	batch := memory.Batch{Conversation: memtest.Conversation(ana, conversation)}
	for i := range size {
		t := memtest.Turn(ana, conversation, i, memory.RoleUser, content(i))
		t.ID = ids.New()
		batch.Turns = append(batch.Turns, t)
		batch.Vectors = append(batch.Vectors, memory.Vector{Memory: t.ID, Model: "lexical:384", Values: embed()})
	}
	return batch
}

// TestDiskPerMemory holds the mark of 2.5 KiB for a fact of about 60 characters
// with a vector of 384 dimensions, its indexes and its journal included.
func TestDiskPerMemory(t *testing.T) {
	const facts, mark = 2_000, 2560
	for _, perRun := range []int{1, 100} {
		each := diskPerMemory(t, facts, perRun)
		t.Logf("%d facts, %d a run: %d bytes a memory", facts, perRun, each)
		if each > mark {
			t.Errorf("%d facts, %d a run: got %d bytes a memory, want at most %d", facts, perRun, each, mark)
		}
	}
}

// BenchmarkDisk says the same of more facts.
func BenchmarkDisk(b *testing.B) {
	for _, perRun := range []int{1, 100} {
		b.Run(fmt.Sprintf("perRun=%d", perRun), func(b *testing.B) {
			for range b.N {
				b.ReportMetric(float64(diskPerMemory(b, 20_000, perRun)), "B/memory")
			}
		})
	}
}

// diskPerMemory is how large a closed database is for each of its facts.
func diskPerMemory(t testing.TB, facts, perRun int) int64 {
	t.Helper()
	path := filepath.Join(t.TempDir(), "loci.db")
	s := openFile(t, path)
	fill(t, s, facts, perRun)
	sqlstore.NoError(t)(s.Close())
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size() / int64(facts)
}

func fill(t testing.TB, s *sqlstore.Store, facts, perRun int) {
	ids, embed := memtest.IDs{}, unitVectors(384)
	for at := 0; at < facts; at += perRun {
		run := memory.Run{ID: ids.New(), Kind: "learn", Author: memory.Author{Kind: memory.ByModel, Name: "llama3.2:3b", Prompt: "0123456789abcdef"}}
		var changes []memory.Change
		for i := range perRun {
			f := sampleFact(&ids, at+i)
			changes = append(changes, memory.Change{Action: memory.ActionAdd, After: memory.State{Fact: &f}})
			run.Vectors = append(run.Vectors, memory.Vector{Memory: f.ID, Model: "lexical:384", Values: embed()})
		}
		sqlstore.NoError(t)(s.Apply(context.Background(), ana, run, changes...))
	}
}

func addFact(s *sqlstore.Store, f memory.Fact, embed func() []float32) error {
	run := memory.Run{ID: "run-" + f.ID, Kind: "manual", Author: memory.Author{Kind: memory.ByPerson, Name: "ana"},
		Vectors: []memory.Vector{{Memory: f.ID, Model: "lexical:384", Values: embed()}}}
	_, err := s.Apply(context.Background(), ana, run, memory.Change{Action: memory.ActionAdd, After: memory.State{Fact: &f}})
	return err
}

// sampleFact is a fact as learning makes them, with all that it usually has.
func sampleFact(ids *memtest.IDs, i int) memory.Fact {
	f := memtest.Fact(ana, content(i))
	f.Hash += f.Hash // as long as real ones
	f.ID, f.Source, f.Trust, f.Category, f.Subject = ids.New(), memory.Extracted, memory.TrustUser, "preference", "user"
	turn := ids.New()
	f.Provenance = memory.Provenance{Conversation: "conversation-12", Turns: []string{turn}, Quote: &memory.Span{Turn: turn, Start: 12, End: 70}}
	f.Model = "llama3.2:3b 0123456789abcdef"
	return f
}

func content(i int) string {
	return fmt.Sprintf("User met person number %06d at the harbour and liked the boat", i)
}

// unitVectors returns a source of the vectors in question: random, of unit length
// within float16.
func unitVectors(dims int) func() []float32 {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(1, 2))
	return func() []float32 {
		mu.Lock()
		defer mu.Unlock()
		v := make([]float32, dims)
		for i := range v {
			v[i] = float32(random.NormFloat64()) / 20
		}
		return v
	}
}

func openFile(t testing.TB, path string) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.OpenSQLite(context.Background(), path, sqlstore.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
