package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// before brings a schema up to the step before the newest.
func before(t *testing.T, address string) {
	t.Helper()
	p, err := migrator(pgtest.Open(t, address), goose.DialectPostgres, "postgres")
	if err != nil {
		t.Fatal(err)
	}
	all := p.ListSources()
	if _, err := p.UpTo(t.Context(), all[len(all)-2].Version); err != nil {
		t.Fatal(err)
	}
}

// TestServersRollThroughAStep has a server at work on the schema before the newest step
// while another, which takes that step, joins it. Both read and write all the while, and
// what the first queued is done by the second. The first is of this release, as if it had
// not been told of the step: what it lacks there, it does without.
func TestServersRollThroughAStep(t *testing.T) {
	address := pgtest.Fresh(t)
	before(t, address)
	// The release before does not know the table; this one does.
	if _, err := connOf(t, address).ExecContext(t.Context(), `CREATE TABLE commits (owner TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (owner, id))`); err != nil {
		t.Fatal(err)
	}
	config, conns, err := parseAddress(pgtest.With(address, "pool_max_conns", "12"))
	if err != nil {
		t.Fatal(err)
	}
	if done, err := upToDate(t.Context(), connOf(t, address)); err != nil || done {
		t.Fatalf("before: up to date %v, %v", done, err)
	}
	old, err := connectPostgres(t.Context(), config, conns, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := old.Close(); err != nil {
			t.Error(err)
		}
	}()
	const each = 40
	work := func(s *Store, name string, step func(i int)) {
		for i := range each {
			words := fmt.Sprintf("%s said %d", name, i)
			b := memtest.Batch(memtest.Ana, name+fmt.Sprint(i), 0, words)
			b.Jobs = []memory.Job{memtest.Job(memtest.Ana, memory.JobLearn, words)}
			if _, err := s.Append(t.Context(), memtest.Ana, b); err != nil {
				t.Errorf("%s: %v", words, err)
				return
			}
			if got, err := s.Get(t.Context(), memtest.Ana, b.Turns[0].ID); err != nil || len(got) != 1 || got[0].Content() != words {
				t.Errorf("%s: read %+v, %v", words, got, err)
			}
			step(i)
		}
	}
	begun := make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() {
		defer begin() // should it end early
		work(old, "old", func(i int) {
			if i == each/4 {
				begin() // the step is taken while this goes on
			}
		})
	})
	<-begun
	next := openServer(t, address, Options{})
	work(next, "next", func(int) {})
	group.Wait()
	if t.Failed() {
		return
	}
	for name, s := range map[string]*Store{"old": old, "next": next} {
		turns := 0
		_, err := s.Since(t.Context(), memtest.Ana, "", 0, func(memory.Item) error { turns++; return nil })
		if err != nil || turns != 2*each {
			t.Errorf("%s: reads %d turns, %v; want %d", name, turns, err, 2*each)
		}
	}
	done := 0
	for {
		j, err := next.Claim(t.Context(), anyKind, time.Minute)
		if errors.Is(err, memory.NotFound) {
			break
		}
		if err == nil {
			err = next.Finish(t.Context(), j.Lease, memory.Outcome{Done: true})
		}
		if err != nil {
			t.Fatal(err)
		}
		done++
	}
	if done != 2*each {
		t.Errorf("%d jobs were done, want %d", done, 2*each)
	}
}

func connOf(t *testing.T, address string) *sql.Conn {
	t.Helper()
	conn, err := pgtest.Open(t, address).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
