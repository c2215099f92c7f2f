package sqlstore

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// onBothDialects runs a rule on a file and on a server.
func onBothDialects(t *testing.T, o Options, rule func(t *testing.T, s *Store)) {
	t.Run("sqlite", func(t *testing.T) {
		s := try(OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "loci.db"), o)).orFail(t)
		defer s.Close()
		rule(t, s)
	})
	t.Run("postgres", func(t *testing.T) {
		s := try(OpenPostgres(t.Context(), pgtest.Schema(t), o)).orFail(t)
		defer s.Close()
		rule(t, s)
	})
}

func TestTracesOfAnOwnerAreBoundedInBytes(t *testing.T) {
	const most = 10_000
	onBothDialects(t, Options{TraceBytes: most}, func(t *testing.T, s *Store) {
		trace := func(owner memory.Owner, n int) memory.Trace {
			return memory.Trace{ID: fmt.Sprintf("trace%03d", n), Owner: owner, Question: strings.Repeat("ä", 450), At: memtest.Epoch.Add(time.Duration(n) * time.Second)}
		}
		noError(t)(s.SaveTraces(t.Context(), 1000, trace(memtest.Ben, 0)))
		for n := range 30 {
			noError(t)(s.SaveTraces(t.Context(), 1000, trace(memtest.Ana, n)))
		}
		kept := try(s.Traces(t.Context(), memtest.Ana, memory.TraceQuery{Limit: 500})).orFail(t)
		size := 0
		for i, k := range kept {
			text := try(encodeTrace(k)).orFail(t)
			size += len(text)
			if want := fmt.Sprintf("trace%03d", 29-i); k.ID != want {
				t.Errorf("trace %d is %s, want %s: the newest stay", i, k.ID, want)
			}
		}
		if each := size / max(len(kept), 1); size > most || size+each <= most {
			t.Errorf("%d traces of %d bytes are kept, want as many as %d bytes hold", len(kept), size, most)
		}
		if his, err := s.Traces(t.Context(), memtest.Ben, memory.TraceQuery{}); err != nil || len(his) != 1 {
			t.Errorf("another owner has %d traces, %v; want one", len(his), err)
		}
	})
}

// TestRowsOfFinishedJobsGo finishes many jobs over days. A run whose job is long gone is
// still known.
func TestRowsOfFinishedJobsGo(t *testing.T) {
	clock := &memtest.Clock{}
	onBothDialects(t, Options{Now: clock.Now}, func(t *testing.T, s *Store) {
		ctx := t.Context()
		const jobs = 20 * 32
		var first memory.Run
		for n := range jobs {
			job := memtest.Job(memtest.Ana, memory.JobLearn, fmt.Sprint("job ", n))
			fact := memtest.Fact(memtest.Ana, fmt.Sprint("fact ", n))
			queue := memtest.Run(fmt.Sprint("queue ", n))
			queue.Jobs = []memory.Job{job}
			noError(t)(s.Apply(ctx, memtest.Ana, queue))
			clock.Advance(time.Second)
			held := try(s.Claim(ctx, []memory.JobKind{memory.JobLearn}, time.Minute)).orFail(t)
			run := memtest.Run("run-" + held.ID)
			run.Lease = &held.Lease
			if n == 0 {
				first = run
			}
			noError(t)(s.Apply(ctx, memtest.Ana, run, memtest.Add(fact)))
			clock.Advance(memory.DoneRetention / 4)
		}
		done, err := s.Jobs(ctx, memtest.Ana, memory.JobDone)
		if err != nil || len(done) < 4 || len(done) > jobs/2 {
			t.Errorf("%d of %d finished jobs are kept (%v), want those of the last hour and few others", len(done), jobs, err)
		}
		again, err := s.Apply(ctx, memtest.Ana, first, memtest.Add(memtest.Fact(memtest.Ana, "another fact")))
		if err != nil || !again.Again {
			t.Errorf("the first run again: %+v, %v; want its first receipt", again, err)
		}
	})
}
