package sqlstore

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// parts is how many partitions each table has.
const parts = 4

// TestRequestsOfAnOwnerReadOnePartition spreads every table over partitions by a hash of the owner, as
// over nodes, and reads the server's plan of each statement that a request makes: none looks into
// a second partition of a table.
func TestRequestsOfAnOwnerReadOnePartition(t *testing.T) {
	address := pgtest.NewSchema(t)
	noError(t)(openServer(t, address, Options{}).Close())
	db := pgtest.Open(t, address)
	for _, table := range ownerTables {
		for _, does := range []string{
			`ALTER TABLE %[1]s RENAME TO %[1]s_plain`,
			`CREATE TABLE %[1]s (LIKE %[1]s_plain INCLUDING ALL) PARTITION BY HASH (owner)`,
			`DROP TABLE %[1]s_plain CASCADE`,
		} {
			if _, err := db.Exec(fmt.Sprintf(does, table)); err != nil {
				t.Fatalf(does+": %v", table, err)
			}
		}
		for n := range parts {
			if _, err := db.Exec(fmt.Sprintf(`CREATE TABLE %[1]s_part%[2]d PARTITION OF %[1]s FOR VALUES WITH (MODULUS %[3]d, REMAINDER %[2]d)`, table, n, parts)); err != nil {
				t.Fatal(err)
			}
		}
	}
	config, conns, err := parseAddress(address)
	noError(t)(err)
	var mu sync.Mutex
	var plans []string
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if strings.Contains(n.Message, "Query Text:") {
			mu.Lock()
			defer mu.Unlock()
			plans = append(plans, n.Message)
		}
	}
	for name, value := range map[string]string{
		"session_preload_libraries": "auto_explain", "auto_explain.log_min_duration": "0", "auto_explain.log_analyze": "on", "auto_explain.log_level": "notice", "client_min_messages": "notice",
	} {
		config.RuntimeParams[name] = value
	}
	s, err := openPostgres(t.Context(), config, conns, Options{})
	noError(t)(err)
	defer s.Close() //nolint:errcheck // it was of use already
	for range 8 {   // after five a server may keep a plan for all owners
		useAll(t, s, memtest.Ana)
		useAll(t, s, memtest.Ben)
	}
	mu.Lock()
	defer mu.Unlock()
	in := regexp.MustCompile(`\b(\w+)_part(\d)\b`)
	told := map[string]bool{}
	for _, plan := range plans {
		if strings.Contains(plan, "jobs_due") || strings.Contains(plan, "FROM jobs") { // workers serve all owners
			continue
		}
		seen := map[string][]string{}
		for line := range strings.Lines(plan) {
			if strings.Contains(line, "(never executed)") { // the server found out in time that it need not
				continue
			}
			for _, m := range in.FindAllStringSubmatch(line, -1) {
				if !slices.Contains(seen[m[1]], m[2]) {
					seen[m[1]] = append(seen[m[1]], m[2])
				}
			}
		}
		text, _, _ := strings.Cut(plan, "\n")
		for table, of := range seen {
			if len(of) > 1 && !told[text] {
				told[text] = true
				t.Errorf("%d partitions of %s: %s", len(of), table, plan)
			}
		}
	}
	if len(plans) < 300 {
		t.Errorf("the server told %d plans; want those of all statements", len(plans))
	}
}

// useAll makes the requests of a chat, of learning and of the page for an owner.
func useAll(t *testing.T, s *Store, owner memory.Owner) {
	t.Helper()
	ctx, n := t.Context(), fmt.Sprint(time.Now().UnixNano())
	fact := memtest.Fact(owner, "The lamp is green "+n)
	b := memtest.Batch(owner, "talk "+n, 0, "This was said "+n, "Noted.")
	b.Vectors = []memory.Vector{memtest.Vector(b.Turns[0].ID, "said")}
	b.Jobs = []memory.Job{memtest.Job(owner, memory.JobLearn, n)}
	noError(t)(s.Append(ctx, owner, b))
	run := memtest.Run("run " + n)
	run.Vectors = []memory.Vector{memtest.Vector(fact.ID, "lamp")}
	receipt, err := s.Apply(ctx, owner, run, memtest.Add(fact), memtest.Change(memory.ActionAdd, memtest.Profile(owner, "timezone "+n, "UTC")), memtest.Change(memory.ActionAdd, memtest.Context(owner, "A page "+n, "Words")))
	noError(t)(receipt, err)
	for _, use := range []func() error{
		func() error { _, err := s.Get(ctx, owner, fact.ID, b.Turns[0].ID); return err },
		func() error { _, err := s.List(ctx, owner, memory.Query{Limit: 5}); return err },
		func() error { _, err := s.List(ctx, owner, memory.Query{Pinned: true}); return err },
		func() error {
			_, err := s.List(ctx, owner, memory.Query{At: memory.At{AsOf: receipt.At}, Limit: 5})
			return err
		},
		func() error { _, err := s.Profile(ctx, owner, memory.At{}); return err },
		func() error { _, err := s.Relations(ctx, owner, fact.ID, memory.At{}); return err },
		func() error { _, err := s.Contexts(ctx, owner, memory.At{}); return err },
		func() error { _, err := s.Changes(ctx, owner, memory.ChangeQuery{Limit: 5}); return err },
		func() error { _, err := s.Conversations(ctx, owner, memory.ConversationQuery{Limit: 5}); return err },
		func() error { _, err := s.Turns(ctx, owner, memory.TurnQuery{Conversation: "talk " + n}); return err },
		func() error { _, err := s.Counts(ctx, owner); return err },
		func() error { _, err := s.VectorModels(ctx, owner); return err },
		func() error { _, err := s.Jobs(ctx, owner); return err },
		func() error { return s.SaveTraces(ctx, 10, memory.Trace{ID: n, Owner: owner, At: receipt.At}) },
		func() error { _, err := s.Trace(ctx, owner, n); return err },
		func() error {
			return s.AddUsage(ctx, owner, memory.Usage{Day: receipt.At, Purpose: "learn", Model: "m", Calls: 1})
		},
		func() error { _, err := s.UsageSince(ctx, owner, receipt.At.Add(-time.Hour)); return err },
		func() error {
			return s.AddAuditEntries(ctx, memory.DefaultNamespace, memory.AuditEntry{ID: n, At: receipt.At, Act: "sign in"})
		},
		func() error { _, err := s.AuditEntries(ctx, memory.DefaultNamespace, memory.AuditQuery{}); return err },
		func() error { _, err := s.Keys(ctx, memory.DefaultNamespace); return err },
		func() error {
			_, err := s.Apply(ctx, owner, memtest.Run("retire "+n), memtest.Retire(fact))
			return err
		},
	} {
		noError(t)(use())
	}
	noError(t)(s.Since(ctx, owner, memtest.Vector("x", "x").Model, 0, func(memory.IndexItem) error { return nil }))
}
