package sqlstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
	"github.com/loci-memory/loci/memory/storetest"
)

// TestPostgresCrash kills a process that writes to a server, at random and around its
// commits, while the server goes on.
func TestPostgresCrash(t *testing.T) {
	address := pgtest.Address(t)
	storetest.RunCrash(t, storetest.CrashConfig{
		Kills: 6,
		Open: func(path string, now func() time.Time, point func()) (memory.Store, error) {
			name := sha256.Sum256([]byte(path))
			schema := "crash_" + hex.EncodeToString(name[:8])
			if _, err := pgtest.Open(t, address).Exec("CREATE SCHEMA IF NOT EXISTS " + schema); err != nil {
				return nil, err
			}
			s, err := OpenPostgres(context.Background(), pgtest.WithParameter(address, "search_path", schema), Options{Now: now, failpoint: func(string) { point() }})
			if err != nil {
				return nil, err
			}
			return s, nil
		},
	})
}

// TestPostgresServerFails lets writers of three replicas go on while the server cuts off
// all connections again and again, and crashes: what was acknowledged is there, once.
func TestPostgresServerFails(t *testing.T) {
	const writers, writes, seldom, crashes = 6, 60, 12, 2
	address := pgtest.NewSchema(t)
	var stores []*Store
	for range 3 {
		stores = append(stores, openServer(t, address, Options{}))
	}
	chaos := pgtest.Open(t, address)
	var acked, cuts atomic.Int64
	trouble := func() { // every so many acknowledgements
		n := acked.Add(1)
		switch {
		case n%(writers*writes/(crashes+1)) == 0:
			pgtest.Crash(t)
		case n%seldom == 0:
			var cut int64
			err := chaos.QueryRow(`SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'loci'`).Scan(&cut)
			if err == nil { // else it is down already
				cuts.Add(cut)
			}
		}
	}
	var mu sync.Mutex
	versions := map[memory.Owner]map[int64]bool{memtest.Ana: {}, memtest.Ben: {}}
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			owner := []memory.Owner{memtest.Ana, memtest.Ben}[w%2]
			for i := range writes {
				s, name := stores[(w+i)%len(stores)], fmt.Sprint("write ", w, " ", i)
				receipt, err := writeOne(t.Context(), s, owner, name, i%2 == 0)
				if err != nil || receipt.Again {
					t.Errorf("%s: got %+v, %v; want a first receipt", name, receipt, err)
					return
				}
				mu.Lock()
				if versions[owner][receipt.Version] {
					t.Errorf("%s: got version %d, which another write has", name, receipt.Version)
				}
				versions[owner][receipt.Version] = true
				mu.Unlock()
				trouble()
			}
		})
	}
	group.Wait()
	if cuts.Load() == 0 {
		t.Error("no connection was cut off: there is nothing to see here")
	}
	const each = writers / 2 * writes
	for owner, acked := range versions {
		counts, err := stores[0].Counts(t.Context(), owner)
		if err != nil || counts.Facts != each/2 || counts.Turns != each/2 || counts.Changes != each/2 {
			t.Errorf("%s: got %+v, %v; want %d facts and as many turns", owner, counts, err, each/2)
		}
		if got, err := stores[1].Versions(t.Context(), []memory.Owner{owner}); err != nil || got[0] != each || len(acked) != each {
			t.Errorf("%s: got version %v, %v, and %d acknowledged; want %d", owner, got, err, len(acked), each)
		}
	}
	t.Logf("%d connections were cut off, and the server crashed %d times", cuts.Load(), crashes)
}

// writeOne adds a fact or a turn.
func writeOne(ctx context.Context, s *Store, owner memory.Owner, name string, fact bool) (memory.Receipt, error) {
	if fact {
		return s.Apply(ctx, owner, memtest.Run(name), memtest.Add(memtest.Fact(owner, name)))
	}
	return s.Append(ctx, owner, memtest.Batch(owner, name, 0, name))
}

// TestPostgresLosesTheAnswerToACommit cuts the connection off before the server hears of
// a commit, and after it did but before we hear from it.
func TestPostgresLosesTheAnswerToACommit(t *testing.T) {
	for _, heard := range []bool{false, true} {
		t.Run(fmt.Sprintf("heard=%v", heard), func(t *testing.T) {
			address := pgtest.NewSchema(t)
			openServer(t, address, Options{}) // makes the tables
			way := startWire(t, address, heard)
			s := openServer(t, way.address, Options{})
			for i, name := range []string{"fact", "turn", "spend"} {
				// The connection that is used again has the statement prepared.
				noError(t)(s.SaveTraces(t.Context(), 1, memory.Trace{ID: name, Owner: memtest.Ana}))
				way.armed.Store(true)
				var receipt memory.Receipt
				var err error
				if name == "spend" {
					err = s.AddUsage(t.Context(), memtest.Ana, memory.Usage{Day: memtest.Epoch, Purpose: "learn", Model: "m", Calls: 1})
				} else {
					receipt, err = writeOne(t.Context(), s, memtest.Ana, name, name == "fact")
				}
				if err != nil || receipt.Again || receipt.Version != int64(i+1)%3 {
					t.Errorf("%s: got %+v, %v; want the first receipt", name, receipt, err)
				}
				if way.armed.Load() {
					t.Errorf("%s: no commit was cut off: there is nothing to see here", name)
				}
			}
			counts, err := s.Counts(t.Context(), memtest.Ana)
			spent, err2 := s.UsageSince(t.Context(), memtest.Ana, time.Time{})
			if err != nil || err2 != nil || counts.Facts != 1 || counts.Turns != 1 || len(spent) != 1 || spent[0].Calls != 1 {
				t.Errorf("got %+v, %v and %+v, %v; want each once", counts, err, spent, err2)
			}
		})
	}
}

// wire is a way to the server that breaks at the next commit once it is armed.
type wire struct {
	address string // of its near end
	heard   bool   // the server hears of the commit
	armed   atomic.Bool
}

func startWire(t *testing.T, address string, heard bool) *wire {
	t.Helper()
	w := &wire{heard: heard}
	w.address, _ = pgtest.Proxy(t, address, w.carry)
	return w
}

// committing is the name of the prepared statement that commits.
var committing = func() []byte {
	hash := sha256.Sum256([]byte("COMMIT"))
	return []byte("stmtcache_" + hex.EncodeToString(hash[:24]))
}()

func (w *wire) carry(near net.Conn, server string) {
	defer near.Close()
	far, err := net.Dial("unix", server)
	if err != nil {
		return
	}
	defer far.Close()
	var cut atomic.Bool
	go func() {
		buf := make([]byte, 1<<16)
		for {
			n, err := far.Read(buf)
			if err != nil || cut.Load() { // the server has answered the commit
				_ = near.Close()
				return
			}
			if _, err := near.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 1<<16)
	for {
		n, err := near.Read(buf)
		if err != nil {
			return
		}
		if bytes.Contains(buf[:n], committing) && w.armed.CompareAndSwap(true, false) {
			if cut.Store(true); !w.heard {
				return
			}
		}
		if _, err := far.Write(buf[:n]); err != nil {
			return
		}
	}
}

// openServer opens a store at an address, for the length of the test.
func openServer(t testing.TB, address string, o Options) *Store {
	t.Helper()
	s := try(OpenPostgres(context.Background(), pgtest.WithParameter(address, "pool_max_conns", "12"), o)).orFail(t)
	t.Cleanup(func() { noError(t)(s.Close()) })
	return s
}
