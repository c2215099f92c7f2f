package sqlstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestLostHintsCostASweep drops all hints while jobs wait and one runs.
func TestLostHintsCostASweep(t *testing.T) {
	address := pgtest.Schema(t)
	clock := new(memtest.Clock)
	s := openServer(t, address, Options{Now: clock.Now})
	owners := []memory.Owner{memtest.Ana, memtest.Ben, memtest.Team}
	for _, o := range owners {
		enqueue(t, s, o, memory.JobLearn, clock.Now(), 2)
	}
	if _, err := s.Claim(t.Context(), anyKind, time.Minute); err != nil { // whose worker dies
		t.Fatal(err)
	}
	if _, err := pgtest.Open(t, address).Exec(`DELETE FROM due`); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Hour)
	if j, err := s.Claim(t.Context(), anyKind, time.Minute); !errors.Is(err, memory.NotFound) {
		t.Fatalf("without a hint: got %+v, %v; want nothing", j, err)
	}
	s.commits.(*server).sweepNext()
	done := 0
	for {
		j, err := s.Claim(t.Context(), anyKind, time.Minute)
		if errors.Is(err, memory.NotFound) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Finish(t.Context(), j.Lease, memory.Outcome{Done: true}); err != nil {
			t.Fatal(err)
		}
		done++
	}
	if done != 2*len(owners) {
		t.Errorf("after a sweep %d jobs were done, want %d", done, 2*len(owners))
	}
	clock.Advance(time.Hour) // what says when a lease would have run out is corrected then
	if _, err := s.Claim(t.Context(), anyKind, time.Minute); !errors.Is(err, memory.NotFound) {
		t.Errorf("in the end: got %v, want nothing to do", err)
	}
	if left := nearRows(t, address, `SELECT count(*) FROM due`); left != 0 {
		t.Errorf("%d hints are left of nothing", left)
	}
}

// TestAHintThatFailsCostsASweep has the server refuse hints, once when it is not known yet
// whether it takes any and once when they go with the commit.
func TestAHintThatFailsCostsASweep(t *testing.T) {
	address := pgtest.Fresh(t)
	s := openServer(t, address, Options{})
	db := pgtest.Open(t, address)
	do := func(query string) {
		t.Helper()
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	if j, err := s.Claim(t.Context(), anyKind, time.Minute); !errors.Is(err, memory.NotFound) { // so that it has swept
		t.Fatalf("of nothing: got %+v, %v", j, err)
	}
	past := time.Now().Add(-time.Hour)
	for _, c := range []struct {
		owner memory.Owner
		fails bool
		with  bool // it goes with the commit
	}{{memtest.Ana, true, false}, {memtest.Ben, false, true}, {memtest.Team, true, true}} { // the claim between gave one that was taken
		if got := s.commits.(*server).hinted.Load(); got != c.with {
			t.Errorf("%s: the hint goes with the commit: got %v, want %v", c.owner, got, c.with)
		}
		if c.fails {
			do(`ALTER TABLE due ADD CONSTRAINT refused CHECK (n = 0) NOT VALID`)
		}
		enqueue(t, s, c.owner, memory.JobLearn, past, 1)
		if c.fails {
			do(`ALTER TABLE due DROP CONSTRAINT refused`)
		}
		if j, err := s.Claim(t.Context(), anyKind, time.Minute); err != nil || j.Owner != c.owner {
			t.Errorf("%s: got %+v, %v; want the job", c.owner, j, err)
		}
	}
}

// TestHintsSayWhenALineIsDue queues jobs of two kinds in one transaction, with none and then
// with one of their lines at work.
func TestHintsSayWhenALineIsDue(t *testing.T) {
	address := pgtest.Schema(t)
	clock := new(memtest.Clock)
	s := openServer(t, address, Options{Now: clock.Now})
	db := pgtest.Open(t, address)
	queue := func(name string, at map[memory.JobKind][]time.Time) {
		t.Helper()
		run := memtest.Run(name)
		for kind, times := range at {
			for i, each := range times {
				j := memtest.Job(memtest.Ana, kind, fmt.Sprint(name, i))
				j.RunAt = each
				run.Jobs = append(run.Jobs, j)
			}
		}
		if _, err := s.Apply(t.Context(), memtest.Ana, run); err != nil {
			t.Fatal(err)
		}
	}
	says := func(when string, kind memory.JobKind, want time.Time, wantLeased bool) {
		t.Helper()
		var at int64
		var leased bool
		err := db.QueryRow(`SELECT at, leased FROM due WHERE owner = $1 AND kind = $2`, string(memtest.Ana), string(kind)).Scan(&at, &leased)
		if err != nil || at != micros(memory.Time(want)) || leased != wantLeased {
			t.Errorf("%s: the hint of %s says %v, leased %v, %v; want %v, %v", when, kind, fromMicros(at), leased, err, want, wantLeased)
		}
	}
	now := clock.Now()
	later := now.Add(time.Hour)
	for _, name := range []string{"first", "again"} { // in a way of its own, and with the commit
		queue(name, map[memory.JobKind][]time.Time{memory.JobLearn: {later, now}, memory.JobUpkeep: {later}})
		says(name, memory.JobLearn, now, false)
		says(name, memory.JobUpkeep, later, false)
	}
	j, err := s.Claim(t.Context(), []memory.JobKind{memory.JobLearn}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	queue("meanwhile", map[memory.JobKind][]time.Time{memory.JobLearn: {now}, memory.JobUpkeep: {now}})
	says("while one runs", memory.JobLearn, j.Lease.Until, true)
	says("while one runs", memory.JobUpkeep, now, false)
	if err := s.Finish(t.Context(), j.Lease, memory.Outcome{Done: true}); err != nil {
		t.Fatal(err)
	}
	says("after it", memory.JobLearn, now, false)
}

// TestAHintThatWasEarlyKeepsItsTurn has a hint say that something is due before it is, and another
// owner's job that is due later still.
func TestAHintThatWasEarlyKeepsItsTurn(t *testing.T) {
	address := pgtest.Schema(t)
	clock := new(memtest.Clock)
	s := openServer(t, address, Options{Now: clock.Now})
	for i, owner := range []memory.Owner{memtest.Ana, memtest.Ben} {
		run := memtest.Run(string(owner))
		j := memtest.Job(owner, memory.JobLearn, "job")
		j.RunAt = clock.Now().Add(time.Duration(i+1) * time.Minute)
		run.Jobs = []memory.Job{j}
		if _, err := s.Apply(t.Context(), owner, run); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pgtest.Open(t, address).Exec(`UPDATE due SET at = $1 WHERE owner = $2`, micros(memory.Time(clock.Now())), string(memtest.Ana)); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Hour)
	if j, err := s.Claim(t.Context(), []memory.JobKind{memory.JobLearn}, time.Minute); err != nil || j.Owner != memtest.Ana {
		t.Errorf("claimed %q of %s, %v; want ana's, which is due longer", j.ID, j.Owner, err)
	}
}

// TestTurnsAreLookedForByTheirKey: on tables that the server knows nothing of yet, and by a
// plan for any list of turns.
func TestTurnsAreLookedForByTheirKey(t *testing.T) {
	address := pgtest.Fresh(t)
	openServer(t, address, Options{})
	conn := connOf(t, address)
	into := &translator{}
	for _, text := range []string{
		`SET plan_cache_mode = force_generic_plan`,
		`PREPARE there AS ` + into.text(thereOf(memtest.Ana, nil).text),
		`PREPARE path AS ` + into.text(onPathOf(memtest.Ana, memory.Batch{Path: &memory.Path{}}).text),
	} {
		if _, err := conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	for what, keys := range map[string][]string{
		`there ('ana', '{a,b}')`:        {"turns_pkey"},
		`path ('ana', '{a,b}', 'c', 7)`: {"turns_pkey", "turns_place"},
	} {
		found, err := conn.QueryContext(t.Context(), `EXPLAIN EXECUTE `+what)
		plan, err := collect(rows{Rows: found}, err, func(row scanner) (line string, err error) { return line, row.Scan(&line) })
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			if text := strings.Join(plan, "\n"); !strings.Contains(text, key) {
				t.Errorf("%s: got the plan\n%s\nwant %s", what, text, key)
			}
		}
	}
}

// TestWhoOpensAStoreSweeps: a server of the release before gives no hints.
func TestWhoOpensAStoreSweeps(t *testing.T) {
	address := pgtest.Schema(t)
	old := openServer(t, address, Options{})
	enqueue(t, old, memtest.Ana, memory.JobLearn, time.Now().Add(-time.Hour), 1)
	if _, err := pgtest.Open(t, address).Exec(`DELETE FROM due`); err != nil {
		t.Fatal(err)
	}
	if j, err := openServer(t, address, Options{}).Claim(t.Context(), anyKind, time.Minute); err != nil || j.Owner != memtest.Ana {
		t.Errorf("got %+v, %v; want the job", j, err)
	}
}

// TestServerClaimsOverlookNothing is TestClaimsOverlookNothing with two servers, who lose
// hints now and then and sweep.
func TestServerClaimsOverlookNothing(t *testing.T) {
	for seed := range uint64(3) {
		t.Logf("seed %d", seed)
		clock := new(memtest.Clock)
		clock.Step(-1)
		address := pgtest.Schema(t)
		db := pgtest.Open(t, address)
		of := []*Store{openServer(t, address, Options{Now: clock.Now}), openServer(t, address, Options{Now: clock.Now})}
		chance := rand.New(rand.NewPCG(seed, 2))
		playClaims(t, chance, clock, 200, func() *Store { return of[chance.IntN(len(of))] }, func(what int) *Store {
			if what == 9 {
				if _, err := db.Exec(`DELETE FROM due WHERE random() < 0.5`); err != nil {
					t.Fatal(err)
				}
				for _, each := range of {
					each.commits.(*server).sweepNext()
				}
			}
			return nil
		})
	}
}
