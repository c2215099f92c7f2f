package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestSnapshotIsOfOneMoment takes copies while several write: each has what was told as
// committed before, nothing that began after, and of no owner something without what came
// before it.
func TestSnapshotIsOfOneMoment(t *testing.T) {
	s := try(OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "loci.db"), Options{})).orFail(t)
	defer s.Close()
	const writers = 4
	owner := func(i int) memory.Owner { return memory.User(memory.DefaultNamespace, fmt.Sprint("writer ", i)) }
	ctx, stop := context.WithCancel(t.Context())
	var told [writers]int // versions
	var mu sync.Mutex
	var writing sync.WaitGroup
	for i := range writers {
		writing.Go(func() {
			for n := 1; ctx.Err() == nil; n++ {
				fact := memtest.Fact(owner(i), fmt.Sprint("Number ", n))
				if _, err := s.Apply(context.Background(), owner(i), memtest.Run(fmt.Sprint(i, " ", n)), memtest.Add(fact)); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				told[i] = n
				mu.Unlock()
			}
		})
	}
	for round := range 5 {
		mu.Lock()
		before := told
		mu.Unlock()
		p := try(s.Snapshot(t.Context())).orFail(t) // as long as it is there, nothing is erased
		path := filepath.Join(t.TempDir(), "copy.db")
		counts, countErr := p.Counts(t.Context())
		noError(t)(errors.Join(countErr, p.CopyTo(t.Context(), path), p.Close()))
		if err := CheckFile(t.Context(), path); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		copied := try(OpenSQLite(t.Context(), path, Options{})).orFail(t)
		facts, wrote := 0, int64(0)
		for i := range writers {
			versions := try(copied.Versions(t.Context(), []memory.Owner{owner(i)})).orFail(t)
			page := try(copied.List(t.Context(), owner(i), memory.Query{Kinds: []memory.Kind{memory.KindFact}, Limit: 1_000_000})).orFail(t)
			facts += len(page.Memories)
			if versions[0] > 0 {
				wrote++
			}
			if int(versions[0]) < before[i] || page.Next == "" && len(page.Memories) != int(versions[0]) {
				t.Errorf("round %d, writer %d: version %d with %d facts, want at least %d and as many facts", round, i, versions[0], len(page.Memories), before[i])
			}
		}
		if counts["users"] != wrote {
			t.Errorf("round %d: counted %d users, want %d", round, counts["users"], wrote)
		}
		noError(t)(copied.Close())
	}
	stop()
	writing.Wait()
}

// TestCopyHoldsNoWordsThatAnErasureLeft copies a database in whose free pages erased words
// still stand.
func TestCopyHoldsNoWordsThatAnErasureLeft(t *testing.T) {
	dir := t.TempDir()
	s := try(OpenSQLite(t.Context(), filepath.Join(dir, "loci.db"), Options{})).orFail(t)
	defer s.Close()
	ids := marzipan(t, s)
	p := try(s.Snapshot(t.Context())).orFail(t)
	erased := make(chan error, 1)
	go func() {
		_, err := s.Erase(context.Background(), memtest.Ana, memtest.Run("erase"), ids...)
		erased <- err
	}()
	select {
	case err := <-erased:
		t.Fatalf("it was erased while it was copied: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	before := t.TempDir()
	noError(t)(errors.Join(p.CopyTo(t.Context(), filepath.Join(before, "copy.db")), p.Close()))
	if len(holders(t, before, "marzipan")) == 0 {
		t.Error("what was there at the moment of the snapshot is not in the copy")
	}
	noError(t)(<-erased)
	mark, err := sql.Open("sqlite", dsn(filepath.Join(before, "copy.db"), ""))
	if err != nil {
		t.Fatal(err)
	}
	// As after a crash: rows are gone, the file was not written again.
	_, err = mark.Exec(`PRAGMA user_version = 1; DELETE FROM facts; DELETE FROM turns; DELETE FROM journal; DELETE FROM vectors; DELETE FROM conversations; DELETE FROM traces;
		DELETE FROM fact_tags; DELETE FROM fact_turns; DELETE FROM profile; DELETE FROM summaries`)
	noError(t)(errors.Join(err, mark.Close()))
	again := &Store{path: filepath.Join(before, "copy.db"), committer: &writer{copyToken: make(chan struct{}, 1)}}
	if p, err = again.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := t.TempDir()
	noError(t)(errors.Join(p.CopyTo(t.Context(), filepath.Join(after, "copy.db")), p.Close()))
	if got := holders(t, after, "marzipan"); len(got) > 0 || len(holders(t, before, "marzipan")) == 0 {
		t.Errorf("the copy still has the words: %q", got)
	}
}

func TestCheckFileRefusesWhatItCannotOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loci.db")
	s := try(OpenSQLite(t.Context(), path, Options{})).orFail(t)
	noError(t)(s.Close())
	if err := CheckFile(t.Context(), path); err != nil {
		t.Errorf("of our own: %v", err)
	}
	db := try(sql.Open("sqlite", dsn(path, ""))).orFail(t)
	defer db.Close()
	noError(t)(db.Exec(`PRAGMA journal_mode = delete; INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`))
	if err := CheckFile(t.Context(), path); !errors.Is(err, memory.Unavailable) || !strings.Contains(err.Error(), "newer") {
		t.Errorf("of a newer schema: %v, want to be told of a newer loci", err)
	}
	noError(t)(db.Exec(`PRAGMA application_id = 7`))
	if err := CheckFile(t.Context(), path); !errors.Is(err, memory.Invalid) {
		t.Errorf("of another program: %v, want it refused", err)
	}
}
