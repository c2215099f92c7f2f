package sqlstore

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestASweepGoesByPages has lines of more than one page, of which some have a hint.
func TestASweepGoesByPages(t *testing.T) {
	address := pgtest.Fresh(t)
	s := openServer(t, address, Options{})
	db := pgtest.Open(t, address)
	do := func(query string, args ...any) {
		t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	const lines = 2*sweepPage + 7
	do(`INSERT INTO jobs (owner, id, kind, conversation, turns, state, attempts, run_at, created_at, error, token, lease_until)
		SELECT 'default/user/u' || n % $1, 'j' || n, 'learn', '', '[]', CASE WHEN n % 5 = 0 THEN 'running' ELSE 'queued' END, 0, 1000 + n, 7, '', '', 5 + n
		FROM generate_series(1, 2 * $1::bigint) n`, lines)
	do(`INSERT INTO due (owner, kind, at, created, leased, n) VALUES ('default/user/u1', 'learn', 1001, 7, false, 1),
		('default/user/u2', 'learn', 999, 7, false, 1), ('default/user/u3', 'learn', 9999999, 7, false, 1)`)
	p := s.commits.(*server)

	holder, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Rollback() //nolint:errcheck // ended already
	if _, err := holder.Exec(`SELECT pg_advisory_xact_lock(` + sweepLock + `, 'due'::regclass::oid::int)`); err != nil {
		t.Fatal(err)
	}
	if err := p.sweep(t.Context()); err != nil || nearRows(t, address, `SELECT count(*) FROM due`) != 3 {
		t.Errorf("while another server sweeps: got %v, want nothing done", err)
	}
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := nearRows(t, address, `SELECT count(*) FROM due`); got != lines {
			t.Errorf("got %d hints, want %d", got, lines)
		}
		wrong := nearRows(t, address, `SELECT count(*) FROM due d JOIN (SELECT owner, coalesce(min(lease_until) FILTER (WHERE state = 'running'), min(run_at)) AS at,
			bool_or(state = 'running') AS leased FROM jobs GROUP BY owner) j USING (owner) WHERE (d.at, d.leased) <> (j.at, j.leased) AND owner <> 'default/user/u2'`)
		if wrong != 0 {
			t.Errorf("%d hints are wrong", wrong)
		}
		if got := nearRows(t, address, `SELECT n FROM due WHERE owner = 'default/user/u3'`); got != 2 {
			t.Errorf("the late hint was written %d times, want once more", got)
		}
		if got := nearRows(t, address, `SELECT sum(n) FROM due WHERE owner IN ('default/user/u1', 'default/user/u2')`); got != 2 {
			t.Errorf("hints that are right or early: written %d times, want 2", got)
		}
	}
}

// TestASweepThatFailsKeepsNobodyFromWork: what has a hint is claimed, and the next sweep
// finds the rest.
func TestASweepThatFailsKeepsNobodyFromWork(t *testing.T) {
	address := pgtest.Fresh(t)
	var log bytes.Buffer
	s := openServer(t, address, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	db := pgtest.Open(t, address)
	past := time.Now().Add(-time.Hour)
	enqueue(t, s, memtest.Ana, memory.JobLearn, past, 1)
	if _, err := db.Exec(`ALTER TABLE due ADD CONSTRAINT refused CHECK (owner <> '` + string(memtest.Ben) + `')`); err != nil {
		t.Fatal(err)
	}
	enqueue(t, s, memtest.Ben, memory.JobLearn, past, 1)
	if j, err := s.Claim(t.Context(), anyKind, time.Minute); err != nil || j.Owner != memtest.Ana {
		t.Errorf("got %+v, %v; want the job that has a hint", j, err)
	}
	if _, err := db.Exec(`ALTER TABLE due DROP CONSTRAINT refused`); err != nil {
		t.Fatal(err)
	}
	if j, err := s.Claim(t.Context(), anyKind, time.Minute); !errors.Is(err, memory.NotFound) {
		t.Errorf("got %+v, %v; want no sweep at once", j, err)
	}
	s.commits.(*server).sweepNext() // a minute later
	if j, err := s.Claim(t.Context(), anyKind, time.Minute); err != nil || j.Owner != memtest.Ben {
		t.Errorf("got %+v, %v; want the job that had none", j, err)
	}
	if got := strings.Count(log.String(), "hints were lost"); got != 1 {
		t.Errorf("logged %d times, want once:\n%s", got, &log)
	}
}

// TestACommitWaitsForNoHint holds the row of a hint while a job is queued that is due
// earlier than it says.
func TestACommitWaitsForNoHint(t *testing.T) {
	address := pgtest.Fresh(t)
	s := openServer(t, address, Options{})
	p := s.commits.(*server)
	enqueue(t, s, memtest.Ana, memory.JobLearn, time.Now().Add(time.Hour), 1)
	if j, err := s.Claim(t.Context(), anyKind, time.Minute); !errors.Is(err, memory.NotFound) { // so that it has swept
		t.Fatalf("got %+v, %v; want nothing", j, err)
	}
	swept := p.swept.Load()
	holder, err := pgtest.Open(t, address).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Rollback() //nolint:errcheck // ended already
	if _, err := holder.Exec(`UPDATE due SET n = n`); err != nil {
		t.Fatal(err)
	}
	enqueue(t, s, memtest.Ana, memory.JobLearn, time.Now().Add(-time.Hour), 1)
	if _, missed := p.missed.Load(memtest.Ana); !missed || !p.hinted.Load() {
		t.Errorf("missed: %v, hints go with commits: %v; want both", missed, p.hinted.Load())
	}
	if j, err := s.Claim(t.Context(), anyKind, time.Minute); !errors.Is(err, memory.NotFound) {
		t.Errorf("while its hint cannot be written: got %+v, %v", j, err)
	}
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}
	if j, err := s.Claim(t.Context(), anyKind, time.Minute); err != nil || j.Owner != memtest.Ana {
		t.Errorf("got %+v, %v; want the job", j, err)
	}
	if p.swept.Load() != swept {
		t.Error("it was swept for one hint")
	}
}

// TestALostAnswerLosesNoHint cuts the connection off once a job was committed: another
// server is told of it, and finds it.
func TestALostAnswerLosesNoHint(t *testing.T) {
	address := pgtest.Fresh(t)
	other := openServer(t, address, Options{}) // makes the tables
	way := startWire(t, address, true)
	s := openServer(t, way.address, Options{})
	for _, id := range []string{"one", "two"} { // the connection that is used again has the statement prepared
		if err := s.SaveTraces(t.Context(), 9, memory.Trace{ID: id, Owner: memtest.Ana}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := other.Claim(t.Context(), anyKind, time.Minute); !errors.Is(err, memory.NotFound) { // it has swept, too
		t.Fatal(err)
	}
	woken := make(chan struct{}, 8)
	go other.Listen(t.Context(), func() { woken <- struct{}{} })
	<-woken // it listens
	way.armed.Store(true)
	enqueue(t, s, memtest.Ana, memory.JobLearn, time.Now().Add(-time.Hour), 1)
	if way.armed.Load() {
		t.Fatal("no commit was cut off: there is nothing to see here")
	}
	select {
	case <-woken:
	case <-time.After(10 * time.Second):
		t.Error("the other server is not told")
	}
	if j, err := other.Claim(t.Context(), anyKind, time.Minute); err != nil || j.Owner != memtest.Ana {
		t.Errorf("got %+v, %v; want the job", j, err)
	}
}
