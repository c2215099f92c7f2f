package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
)

// BenchmarkRememberAtOnce is a fact written by hand for one owner, by one client and by
// eight: one that is compared with what it may contradict, and one that is compared with
// nothing. Both stores wait for the disk.
func BenchmarkRememberAtOnce(b *testing.B) {
	pgtest.Settings = "-c fsync=on -c full_page_writes=on"
	on := map[string]func(testing.TB, func() time.Time) memory.Store{
		"sqlite": stores["sqlite"],
		"postgres": func(t testing.TB, now func() time.Time) memory.Store {
			s, err := sqlstore.OpenPostgres(context.Background(), pgtest.Schema(t), sqlstore.Options{Now: now})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	}
	for _, store := range []string{"sqlite", "postgres"} {
		for kind, words := range map[string]string{"compared": "User owns", "alone": "The harbour has"} {
			for _, clients := range []int{1, 8} {
				b.Run(fmt.Sprintf("%s/%s/clients=%d", store, kind, clients), func(b *testing.B) {
					r := newRig(b, on[store])
					said := make([]string, b.N)
					say := speaker(5)
					for i := range said {
						said[i] = words + " " + say(8)
					}
					var next atomic.Int64
					var group sync.WaitGroup
					b.ResetTimer()
					for range clients {
						group.Go(func() {
							for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
								if _, _, err := r.Curate.Remember(context.Background(), ana, curate.Note{Content: said[i]}, memory.Author{Kind: memory.ByPerson, Name: "ana"}); err != nil {
									b.Error(err)
									return
								}
							}
						})
					}
					group.Wait()
				})
			}
		}
	}
}
