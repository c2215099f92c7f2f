package sqlstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// get reads by id and reports what fails.
func (r *rig) get(ids ...string) []memory.Memory {
	r.t.Helper()
	found, err := r.Get(context.Background(), memtest.Ana, ids...)
	if err != nil {
		r.t.Error(err)
	}
	return found
}

// TestGetSeesEveryAcknowledgedWrite changes two facts together, again and again,
// while others read one or both: they are always alike, and never older than what
// was acknowledged before the question.
func TestGetSeesEveryAcknowledgedWrite(t *testing.T) {
	const writes = 150
	r := newRig(t)
	pair := [2]memory.Fact{memtest.Fact(memtest.Ana, "one"), memtest.Fact(memtest.Ana, "two")}
	noError(t)(r.Apply(t.Context(), memtest.Ana, memtest.Run("first"), memtest.Add(pair[0]), memtest.Add(pair[1])))
	var acknowledged atomic.Int64
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				before := acknowledged.Load()
				ids := []string{pair[0].ID, pair[1].ID}
				if n := rand.IntN(3); n < 2 {
					ids = ids[n : n+1]
				}
				found := r.get(ids...)
				for _, m := range found {
					if got := m.Fact.ObservedSeq; got < before || got != found[0].Fact.ObservedSeq {
						t.Errorf("got write %d beside %d, after %d was acknowledged", got, found[0].Fact.ObservedSeq, before)
					}
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := range int64(writes) {
		run := memtest.Run(fmt.Sprint("write ", i+1))
		pair[0].ObservedSeq, pair[1].ObservedSeq = i+1, i+1
		noError(t)(r.Apply(t.Context(), memtest.Ana, run,
			memtest.Change(memory.ActionUpdate, pair[0]), memtest.Change(memory.ActionUpdate, pair[1])))
		acknowledged.Store(i + 1)
	}
	close(done)
	readers.Wait()
	if t.Failed() {
		return
	}
	if found := r.get(pair[0].ID, pair[1].ID); len(found) != 2 || found[0].Fact.ObservedSeq != writes {
		t.Errorf("at the end: got %+v, want both at %d", found, writes)
	}
}

// BenchmarkGet reads what a recall shows, from the database and from what is kept.
func BenchmarkGet(b *testing.B) {
	s := try(OpenSQLite(b.Context(), b.TempDir()+"/loci.db", Options{})).orFail(b)
	defer s.Close()
	var ids []string
	batch := memory.Batch{Conversation: memtest.Conversation(memtest.Ana, "talk")}
	for i := range 1000 {
		turn := memtest.Turn(memtest.Ana, "talk", i, memory.RoleUser, fmt.Sprintf("This was said in turn %d, on the way to the harbour.", i))
		turn.ID = fmt.Sprintf("turn %d", i)
		batch.Turns = append(batch.Turns, turn)
		if i%60 == 0 {
			ids = append(ids, turn.ID)
		}
	}
	noError(b)(s.Append(b.Context(), memtest.Ana, batch))
	b.Run("database", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if found, err := s.readByID(b.Context(), memtest.Ana, ids); err != nil || len(found) != len(ids) {
				b.Fatal(found, err)
			}
		}
	})
	b.Run("kept", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if found, err := s.Get(b.Context(), memtest.Ana, ids...); err != nil || len(found) != len(ids) {
				b.Fatal(found, err)
			}
		}
	})
}
