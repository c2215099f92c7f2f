package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/memory"
)

// sweet stands in all that Ana is made to have, and nowhere else.
const sweet = "marzipan"

// keeping are the stores that keep files, each in a folder.
var keeping = map[string]func(t testing.TB, dir string, now func() time.Time) memory.Store{
	"sqlite": func(t testing.TB, dir string, now func() time.Time) memory.Store {
		return newSQLite(t, filepath.Join(dir, "loci.db"), now)
	},
	"vault": func(t testing.TB, dir string, now func() time.Time) memory.Store {
		s := try(vault.Open(context.Background(), filepath.Join(dir, "vault"), func(now func() time.Time) (memory.Store, error) {
			return newSQLite(t, filepath.Join(dir, "loci.db"), now), nil
		}, vault.Options{Now: now})).orFail(t)
		return s
	},
}

// inFolders runs a rule on every store that keeps files.
func inFolders(t *testing.T, rule func(t *testing.T, r *rig, dir string)) {
	for name, open := range keeping {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			rule(t, newRig(t, func(t testing.TB, now func() time.Time) memory.Store { return open(t, dir, now) }), dir)
		})
	}
}

// furnish gives Ana something of each kind with the secret in it, in every status, and
// Ben something of his own.
func (r *rig) furnish(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 4 {
		f := r.note(t, ana, fmt.Sprintf("Shelf %d holds marzipan", i))
		if i < 3 {
			r.share(t, f.ID, "user/ben", false)
		}
		switch i {
		case 1:
			r.share(t, f.ID, "user/ben", true)
		case 2:
			words := "Shelf 2 holds more marzipan"
			noError(t)(r.Curate.EditFact(ctx, ana, f.ID, curate.FactEdit{Content: &words, Category: &words}, her))
		case 3:
			noError(t)(r.Curate.Forget(ctx, ana, []string{f.ID}, "no more marzipan", her))
		}
	}
	noError(t)(r.Curate.Remember(ctx, ana, curate.FactInput{Content: "The oven is hot", Project: "marzipan bakery", Agent: "marzipan cook"}, her))
	_, err := r.Exchange.Ingest(ctx, ana, exchange.IngestRequest{Conversation: "c", Project: "marzipan bakery", Learn: true, Messages: []exchange.Message{
		{Role: memory.RoleUser, Content: "I am allergic to marzipan."}, {Role: memory.RoleAssistant, Content: "No marzipan then."},
	}})
	must(err)
	r.settle(t)
	noError(t)(r.SetProfileEntry(ctx, ana, "sweets", "marzipan", her))
	noError(t)(r.SetProfileEntry(ctx, ana, "baker", "marzipan and sons", her))
	noError(t)(r.RetireProfileEntry(ctx, ana, "baker", her))
	for range 2 {
		c := try(r.Curate.AddContext(ctx, ana, curate.ContextEdit{Title: ptr("About marzipan"), Content: ptr("Marzipan is made of almonds.")}, her)).orFail(t)
		noError(t)(r.Curate.RemoveContext(ctx, ana, c.ID, false, her))
	}
	noError(t)(r.Curate.AddContext(ctx, ana, curate.ContextEdit{Title: ptr("More marzipan"), Content: ptr("Marzipan again.")}, her))
	r.ask(t, ana, "Which shelf holds marzipan?", memory.At{})
	r.ask(t, ben, "Which shelf holds marzipan?", memory.At{})
	noError(t)(r.Curate.Remember(ctx, ben, curate.FactInput{Content: "Ben carves granite"}, him))
	for r.Traces.WriteTraces(ctx) {
	}
}

// wantNowhere looks for the secret in all files under a folder.
func wantNowhere(t *testing.T, dir string) {
	t.Helper()
	if got := lasting(func() []string { return filesWith(t, dir, sweet) }); len(got) > 0 {
		t.Errorf("the word is in %q", got)
	}
}

// lasting returns what is still found after the time that a store has to write its file again.
func lasting(find func() []string) []string {
	for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(50 * time.Millisecond) {
		if len(find()) == 0 {
			return nil
		}
	}
	return find()
}

func TestAnErasedUserIsNowhere(t *testing.T) {
	inFolders(t, func(t *testing.T, r *rig, dir string) {
		ctx := context.Background()
		r.furnish(t)
		if len(filesWith(t, dir, sweet)) == 0 {
			t.Fatal("no file has the word before")
		}
		got := try(r.Erase.EraseOwner(ctx, ana, her)).orFail(t)
		if got.ErasedLinks != 3 || got.CountByKind["fact"] < 4 || got.CountByKind["turn"] != 2 || got.CountByKind["profile"] != 2 || got.CountByKind["context"] != 3 || got.ClosedAt.IsZero() {
			t.Errorf("the receipt is %+v", got)
		}
		wantNowhere(t, dir)
		r.wantSeen(t, ana)
		r.wantSeen(t, ben, "Ben carves granite")
		r.ask(t, ana, "Where is the marzipan?", memory.At{})
		for r.Traces.WriteTraces(ctx) {
		}
		wantNowhere(t, dir)
		r.clock.Advance(time.Hour)
		r.settle(t) // jobs of before, and those that look again
		for r.Traces.WriteTraces(ctx) {
		}
		wantNowhere(t, dir)
		changes, err := r.AllChanges(ctx, ana, memory.ChangeQuery{})
		if err != nil || len(changes) < 20 || changes[0].At.IsZero() {
			t.Errorf("%d changes are left, %v; want all of them, with their times", len(changes), err)
		}
		again, err := r.Erase.EraseOwner(ctx, ana, her)
		if err != nil || len(again.Runs) > 0 || again.ErasedLinks > 0 || !again.ClosedAt.Equal(got.ClosedAt) {
			t.Errorf("again: %+v, %v; want nothing left to do since %v", again, err, got.ClosedAt)
		}
	})
}

func TestAClosedUserIsNotWrittenTo(t *testing.T) {
	inFolders(t, func(t *testing.T, r *rig, dir string) {
		ctx := context.Background()
		r.furnish(t)
		// A stream that is under way, a job that a worker holds, and one that waits.
		x := r.Exchange.Open(ctx, exchange.Incoming{Owner: ana, Chat: decode(t, `[{"role":"user","content":"I ate marzipan."}]`), ChatID: "d"})
		x.Prepare(ctx)
		x.RecordQuestion(ctx)
		noError(t)(r.Exchange.Ingest(ctx, ana, exchange.IngestRequest{Conversation: "e", Learn: true, Messages: []exchange.Message{{Role: memory.RoleUser, Content: "I baked marzipan."}}}))
		job := try(r.Store.Claim(ctx, []memory.JobKind{memory.JobLearn}, time.Minute)).orFail(t)
		noError(t)(r.Erase.EraseOwner(ctx, ana, her))
		x.RecordAnswer(ctx, answered("Marzipan is good."))
		_, _ = r.Lessons.Learn(ctx, job) // whatever it says, it writes nothing
		late := r.Exchange.Open(ctx, exchange.Incoming{Owner: ana, Chat: decode(t, `[{"role":"user","content":"More marzipan!"}]`), ChatID: "f"})
		if block := late.Prepare(ctx); strings.Contains(block.Block, sweet) {
			t.Errorf("a later chat is told %q", block.Block)
		}
		late.RecordQuestion(ctx)
		late.RecordAnswer(ctx, answered("Marzipan it is."))
		r.Background.Wait()
		for what, write := range map[string]func() error{
			"a note": func() error { return errOf(r.Curate.Remember(ctx, ana, curate.FactInput{Content: "Marzipan"}, her)) },
			"talk": func() error {
				return errOf(r.Exchange.Ingest(ctx, ana, exchange.IngestRequest{Messages: []exchange.Message{{Role: memory.RoleUser, Content: "Marzipan"}}}))
			},
			"the profile": func() error { _, err := r.SetProfileEntry(ctx, ana, "a", "marzipan", her); return err },
		} {
			if err := write(); err == nil || what != "talk" && !errors.Is(err, memory.Gone) { // talk is on hold besides
				t.Errorf("%s: %v, want it refused", what, err)
			}
		}
		shared, _, err := r.Curate.Remember(ctx, ben, curate.FactInput{Content: "Granite is hard"}, him)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Share.Share(ctx, ben, shared.ID, share.Request{Receiver: "user/ana"}, him); err != nil {
			t.Errorf("sharing with who is closed: %v; want nobody told of it", err)
		}
		r.wantSeen(t, ana)
		wantNowhere(t, dir)

		noError(t)(r.Erase.OpenOwner(ctx, ana, her))
		if err := r.Erase.OpenOwner(ctx, ana, her); !errors.Is(err, memory.Conflict) {
			t.Errorf("open again: %v, want a conflict", err)
		}
		r.note(t, ana, "Ana begins anew")
		r.clock.Advance(time.Hour)
		r.settle(t)
		if got := r.sees(t, ana); !slices.Contains(got, "Ana begins anew") {
			t.Errorf("Ana sees %q after she was opened", got)
		}
		wantNowhere(t, dir)
	})
}

// TestAnErasureThatStoppedGoesOn lets it end at each call of the store's Erase in turn,
// as a kill would, and another program begin on what is left.
func TestAnErasureThatStoppedGoesOn(t *testing.T) {
	inFolders(t, func(t *testing.T, r *rig, dir string) {
		ctx := context.Background()
		r.furnish(t)
		whole := r.Store
		for stop := range 3 {
			r.Store = &stopping{Store: whole, left: stop}
			if _, err := r.Erase.EraseOwner(ctx, ana, her); !errors.Is(err, errStopped) {
				t.Fatalf("stopped at call %d: %v", stop, err)
			}
			if stop == 0 && len(filesWith(t, dir, sweet)) == 0 {
				t.Fatal("it was done before it began")
			}
		}
		r.Store = whole
		r.ClosedOwners = core.ClosedOwners{} // another program has not looked yet
		if _, _, err := r.Curate.Remember(ctx, ana, curate.FactInput{Content: "Marzipan"}, her); !errors.Is(err, memory.Gone) {
			t.Errorf("a note after it stopped: %v, want it gone", err)
		}
		r.clock.Advance(time.Hour)
		r.settle(t)
		wantNowhere(t, dir)
		r.wantSeen(t, ben, "Ben carves granite")
	})
}

var errStopped = errors.New("stopped")

// stopping is a store that ends at an Erase after so many.
type stopping struct {
	memory.Store
	left int
}

func (s *stopping) Erase(ctx context.Context, owner memory.Owner, run memory.Run, ids ...string) (memory.Receipt, error) {
	if s.left--; s.left < 0 {
		return memory.Receipt{}, errStopped
	}
	return s.Store.Erase(ctx, owner, run, ids...)
}

func (s *stopping) EraseTraces(ctx context.Context, owner memory.Owner) (int, error) {
	return s.Store.EraseTraces(ctx, owner)
}

func (s *stopping) EraseTracesOf(ctx context.Context, namespace string, facts ...string) (int, error) {
	return s.Store.EraseTracesOf(ctx, namespace, facts...)
}

// filesWith returns the files under a folder that have a word in them.
func filesWith(t *testing.T, dir, word string) []string {
	t.Helper()
	var out []string
	noError(t)(filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // renamed meanwhile
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if bytes.Contains(bytes.ToLower(data), []byte(word)) || strings.Contains(strings.ToLower(name), word) {
			out = append(out, name)
		}
		return err
	}))
	return out
}
