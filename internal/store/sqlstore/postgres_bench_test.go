package sqlstore

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// BenchmarkDialects does the same in SQLite and on a PostgreSQL server on this machine,
// both of which wait for the disk at each commit: an exchange with its vectors and its job
// appended, by one client and by eight of as many owners, a fact added, by one client and
// by eight for the same owner, the newest turns followed, sixteen memories read, versions
// asked, and jobs claimed and done.
func BenchmarkDialects(b *testing.B) {
	pgtest.Settings = "-c fsync=on -c full_page_writes=on"
	for _, d := range []struct {
		name string
		open func(b *testing.B) *Store
	}{
		{"sqlite", func(b *testing.B) *Store {
			s, err := OpenSQLite(b.Context(), filepath.Join(b.TempDir(), "loci.db"), Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = s.Close() })
			return s
		}},
		{"postgres", func(b *testing.B) *Store {
			s, err := OpenPostgres(b.Context(), pgtest.Schema(b), Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = s.Close() })
			return s
		}},
	} {
		b.Run(d.name, func(b *testing.B) {
			for _, clients := range []int{1, 8} {
				b.Run(fmt.Sprintf("append/clients=%d", clients), func(b *testing.B) { benchmarkAppends(b, d.open(b), clients) })
			}
			for _, clients := range []int{1, 8} {
				b.Run(fmt.Sprintf("add/clients=%d", clients), func(b *testing.B) { benchmarkAdds(b, d.open(b), clients) })
			}
			benchmarkReads(b, d.open(b))
			b.Run("claim", func(b *testing.B) { benchmarkClaims(b, d.open(b)) })
		})
	}
}

func talk(owner memory.Owner, i int) memory.Batch {
	batch := memtest.Batch(owner, "talk", 2*i, fmt.Sprintf("This was said in exchange %d, on the way to the harbour.", i), "Noted.")
	for _, t := range batch.Turns {
		batch.Vectors = append(batch.Vectors, memory.Vector{Memory: t.ID, Model: "m", Values: make([]float32, 384)})
	}
	batch.Jobs = []memory.Job{memtest.Job(owner, memory.JobLearn, fmt.Sprint("job ", i))}
	return batch
}

func benchmarkAppends(b *testing.B, s *Store, clients int) {
	var next atomic.Int64
	var group sync.WaitGroup
	for c := range clients {
		group.Go(func() {
			owner := memory.User(memory.DefaultNamespace, fmt.Sprint("user", c))
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if _, err := s.Append(b.Context(), owner, talk(owner, int(i))); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "exchanges/s")
}

// benchmarkAdds adds facts with their vectors for one owner.
func benchmarkAdds(b *testing.B, s *Store, clients int) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				run := memtest.Run(fmt.Sprint("run ", i))
				f := memtest.Fact(memtest.Ana, fmt.Sprint("fact ", i))
				run.Vectors = []memory.Vector{{Memory: f.ID, Model: "m", Values: make([]float32, 384)}}
				if _, err := s.Apply(b.Context(), memtest.Ana, run, memtest.Add(f)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "adds/s")
}

func benchmarkReads(b *testing.B, s *Store) {
	const exchanges = 500
	var ids []string
	for i := range exchanges {
		batch := talk(memtest.Ana, i)
		if _, err := s.Append(b.Context(), memtest.Ana, batch); err != nil {
			b.Fatal(err)
		}
		if i%(exchanges/16) == 0 {
			ids = append(ids, batch.Turns[0].ID)
		}
	}
	if p, ok := s.committer.(*server); ok { // as it does by itself within a minute
		if _, err := p.db.Exec("ANALYZE"); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("versions", func(b *testing.B) {
		for b.Loop() {
			if got, err := s.Versions(b.Context(), []memory.Owner{memtest.Ana, memtest.Team}); err != nil || got[0] != exchanges {
				b.Fatal(got, err)
			}
		}
	})
	b.Run("get", func(b *testing.B) {
		for b.Loop() {
			if got, err := s.Get(b.Context(), memtest.Ana, ids...); err != nil || len(got) != len(ids) {
				b.Fatal(len(got), err)
			}
		}
	})
	for _, last := range []int64{2, exchanges} {
		b.Run(fmt.Sprintf("since/turns=%d", 2*last), func(b *testing.B) {
			for b.Loop() {
				seen := int64(0)
				_, err := s.Since(b.Context(), memtest.Ana, "m", exchanges-last, func(memory.IndexItem) error { seen++; return nil })
				if err != nil || seen != 2*last {
					b.Fatal(seen, err)
				}
			}
		})
	}
}

func benchmarkClaims(b *testing.B, s *Store) {
	const owners = 100
	for o := range owners {
		owner := memory.User(memory.DefaultNamespace, fmt.Sprint("user", o))
		enqueue(b, s, owner, memory.JobLearn, time.Now().Add(-time.Hour), b.N/owners+1)
	}
	b.ResetTimer()
	for range b.N {
		j, err := s.Claim(b.Context(), []memory.JobKind{memory.JobLearn, memory.JobUpkeep}, time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Finish(b.Context(), j.Lease, memory.Outcome{Done: true}); err != nil {
			b.Fatal(err)
		}
	}
}
