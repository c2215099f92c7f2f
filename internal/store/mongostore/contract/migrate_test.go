package contract

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/backup"
	"github.com/loci-memory/loci/internal/store/mongostore"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// furnish gives a store something of every kind, in every state that a copy could miss.
func furnish(t *testing.T, s memory.Store) {
	t.Helper()
	ctx, ana, ben := t.Context(), memtest.Ana, memtest.Ben
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	apply := func(owner memory.Owner, id string, changes ...memory.Change) {
		t.Helper()
		run := memtest.Run(id)
		for _, c := range changes {
			if f := c.After.Fact; f != nil && f.Status == memory.Active {
				run.Vectors = append(run.Vectors, memtest.Vector(f.ID, f.Content))
			}
		}
		_, err := s.Apply(ctx, owner, run, changes...)
		must(err)
	}
	fact := func(owner memory.Owner, id string) memory.Fact {
		t.Helper()
		got, err := s.Get(ctx, owner, id)
		must(err)
		return *got[0].Fact
	}
	for _, o := range []memory.Owner{ana, ben} {
		b := memtest.Batch(o, "c", 0, "I drink tea", "Noted.", "and I live in Lisbon", "Good.")
		b.Conversation.Title = "tea"
		for _, kind := range []string{"done", "parked", "runs", "waits"} {
			b.Jobs = append(b.Jobs, memtest.Job(o, memory.JobKind(kind), kind+string(o)))
		}
		_, err := s.Append(ctx, o, b)
		must(err)
		f := memtest.Fact(o, "drinks tea \x00\x01 ü")
		f.Tags, f.Metadata, f.Provenance.Turns = []string{"a", "b"}, []byte(`{"x": 1.50}`), []string{b.Turns[0].ID}
		f.Provenance.Quote = &memory.Span{Turn: b.Turns[0].ID, Start: 2, End: 5}
		gone, old := memtest.Fact(o, "is erased"), memtest.Fact(o, "lives in Porto")
		apply(o, "add", memtest.Add(f), memtest.Add(gone), memtest.Add(old), memtest.Change(memory.ActionAdd, memtest.Summary(o, "c", "- tea")),
			memtest.Change(memory.ActionAdd, memtest.Profile(o, "ci:ty", "Lisbon")), memtest.Change(memory.ActionAdd, memtest.Profile(o, "left", "x")), memtest.Change(memory.ActionAdd, memtest.Context(o, "doc", "words")))
		apply(o, "replace", memory.Replace(fact(o, old.ID), memtest.Fact(o, "lives in Lisbon"), time.Now(), "newer", memory.Author{Kind: memory.ByRule, Name: "r"})...)
		apply(o, "marks", memtest.TurnChange(memory.ActionRetire, b.Turns[2].ID, memory.Retired), memtest.TurnChange(memory.ActionRetire, b.Turns[1].ID, memory.Retired))
		apply(o, "back", memtest.TurnChange(memory.ActionRestore, b.Turns[1].ID, memory.Active))
		_, err = s.Erase(ctx, o, memtest.Run("erase"), gone.ID, b.Turns[3].ID, "left")
		must(err)
		must(s.SaveTraces(ctx, 10, memory.Trace{ID: "t", Owner: o, At: time.Now(), Question: "tea?", Took: time.Second}))
		must(s.AddUsage(ctx, o, memory.Usage{Day: time.Now(), Purpose: "learn", Model: "m", Calls: 2, Cost: 0.25}))
		must(s.AddTombstones(ctx, o, memory.Turn{ID: "elsewhere", Role: memory.RoleUser, Content: "unseen"}))
		for range 3 {
			j, err := s.Claim(ctx, []memory.JobKind{"done", "parked", "runs"}, time.Hour)
			must(err)
			switch j.Kind {
			case "done":
				must(s.Finish(ctx, j.Lease, memory.Outcome{Done: true}))
			case "parked":
				must(s.Finish(ctx, j.Lease, memory.Outcome{Park: true, Cause: "it is"}))
			}
		}
	}
	now := memory.Time(time.Now())
	must(s.(memory.Keys).AddKey(ctx, "default", memory.Key{Hash: "00ff", Name: "k", Role: memory.KeyAdmin, CreatedAt: now}))
	must(s.(memory.Sessions).AddSession(ctx, "default", memory.Session{Hash: "0aa0", User: "ana", CreatedAt: now, ExpiresAt: now.Add(time.Hour)}))
}

func TestMigrateThereAndBack(t *testing.T) {
	dir := t.TempDir()
	first, second, server := filepath.Join(dir, "first.db"), filepath.Join(dir, "second.db"), database(dir)
	withFile := func(path string, do func(*sqlstore.Store)) {
		t.Helper()
		s, err := sqlstore.OpenSQLite(t.Context(), path, sqlstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close() //nolint:errcheck // it is read
		do(s)
	}
	withFile(first, func(s *sqlstore.Store) { furnish(t, s) })
	nobody := func(backup.MigrateProgress) {}

	// It breaks off after two owners, the first of whom has keys alone, and goes on.
	ctx, stop := context.WithCancel(t.Context())
	if _, err := backup.Migrate(ctx, "sqlite:"+first, server, func(m backup.MigrateProgress) {
		if m.CopiedUsers == 2 {
			stop()
		}
	}); err == nil {
		t.Error("broken off: no error")
	}
	half := openWith(t, server, mongostore.Options{})
	if err := backup.CheckComplete(t.Context(), half); !errors.Is(err, memory.Unavailable) {
		t.Errorf("half of a copy: got %v, want unavailable", err)
	}
	if _, err := backup.Migrate(t.Context(), "sqlite:"+second, server, nobody); !errors.Is(err, memory.NotFound) {
		t.Errorf("a source that is not there: got %v", err)
	}
	there, err := backup.Migrate(t.Context(), "sqlite:"+first, server, nobody)
	if err != nil || there.Owners != 3 || there.RowsBefore == 0 || there.RowsBefore == there.Rows {
		t.Fatalf("there: got %+v, %v; want three owners, of whom one was there", there, err)
	}
	if err := backup.CheckComplete(t.Context(), half); err != nil {
		t.Errorf("a whole copy: %v", err)
	}
	if _, err := backup.Migrate(t.Context(), "sqlite:"+first, server, nobody); !errors.Is(err, memory.Conflict) {
		t.Errorf("into a database that has memory: got %v, want conflict", err)
	}
	back, err := backup.Migrate(t.Context(), server, "sqlite:"+second, nobody)
	if err != nil || back.Rows != there.Rows {
		t.Fatalf("back: got %+v, %v; want %d rows", back, err, there.Rows)
	}
	was := map[memory.Owner][32]byte{}
	withFile(first, func(s *sqlstore.Store) {
		for _, o := range []memory.Owner{memtest.Ana, memtest.Ben} {
			sh, err := s.ReadOwner(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			was[o] = sh.Digest()
		}
	})
	withFile(second, func(s *sqlstore.Store) {
		for o, want := range was {
			sh, err := s.ReadOwner(t.Context(), o)
			if err != nil || sh.Digest() != want {
				t.Errorf("%s came back another, or %v", o, err)
			}
		}
		if keys, err := s.Keys(t.Context(), "default"); err != nil || len(keys) != 1 || keys[0].Name != "k" {
			t.Errorf("keys: got %+v, %v", keys, err)
		}
		if one, err := s.Session(t.Context(), "default", "0aa0"); err != nil || one.User != "ana" || !one.ExpiresAt.Equal(one.CreatedAt.Add(time.Hour)) {
			t.Errorf("a sign-in: got %+v, %v", one, err)
		}
		if err := backup.CheckComplete(t.Context(), s); err != nil {
			t.Errorf("back: %v", err)
		}
	})
	buried, err := half.HasTombstones(t.Context(), memtest.Ana, memory.Turn{Role: memory.RoleUser, Content: "Unseen."}, memory.Turn{Role: memory.RoleUser, Content: "and I live in Lisbon"})
	if err != nil || !buried[0] || !buried[1] {
		t.Errorf("what was buried there: got %v, %v", buried, err)
	}
}

func TestMigrateFromPostgresAndBack(t *testing.T) {
	first, second, server := pgtest.NewSchema(t), pgtest.NewSchema(t), database(t.TempDir())
	open := func(address string) *sqlstore.Store {
		t.Helper()
		s, err := sqlstore.OpenPostgres(t.Context(), address, sqlstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	furnish(t, open(first))
	for _, way := range [][2]string{{first, server}, {server, second}} {
		if _, err := backup.Migrate(t.Context(), way[0], way[1], func(backup.MigrateProgress) {}); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []memory.Owner{memtest.Ana, memtest.Ben} {
		was, err := open(first).ReadOwner(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		is, err := open(second).ReadOwner(t.Context(), o)
		if err != nil || is.Digest() != was.Digest() {
			t.Errorf("%s came back another, or %v", o, err)
		}
	}
}
