package vault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
	"github.com/loci-memory/loci/memory/storetest"
)

// known is everything that can be read of an owner, but for vectors and jobs that
// are done.
type known struct {
	Memories      []memory.Memory
	Profile       []memory.ProfileEntry
	Relations     []memory.Relation
	Turns         []memory.Turn
	Journal       []memory.Change
	Conversations []memory.Conversation
	Version       int64
	Jobs          []memory.Job
	Contexts      []memory.Context
}

func export(t *testing.T, s memory.Store, owner memory.Owner, at memory.At) known {
	t.Helper()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var k known
	for q := (memory.Query{Kinds: allKinds, Statuses: allStatuses, At: at, Limit: 500}); ; {
		page := try(s.List(ctx, owner, q)).orFail(t)
		k.Memories = append(k.Memories, page.Memories...)
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	var err error
	k.Profile = try(s.Profile(ctx, owner, at)).orFail(t)
	k.Contexts = try(s.Contexts(ctx, owner, at)).orFail(t)
	for _, m := range k.Memories {
		relations := try(s.Relations(ctx, owner, m.ID(), at)).orFail(t)
		k.Relations = append(k.Relations, relations...)
	}
	k.Turns = try(s.Turns(ctx, owner, memory.TurnQuery{Statuses: allStatuses, AsOf: at.AsOf})).orFail(t)
	if !at.AsOf.IsZero() {
		forgetVersions(&k) // they say nothing of the past
		return k
	}
	for q := (memory.ChangeQuery{Limit: 500}); ; {
		page := try(s.Changes(ctx, owner, q)).orFail(t)
		k.Journal = append(k.Journal, page.Changes...)
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	conversations := try(s.Conversations(ctx, owner, memory.ConversationQuery{Statuses: allStatuses, Limit: 500})).orFail(t)
	k.Conversations = conversations.Conversations
	versions := try(s.Versions(ctx, []memory.Owner{owner})).orFail(t)
	k.Version = versions[0]
	k.Jobs, err = s.Jobs(ctx, owner)
	must(err)
	for i := range k.Jobs { // a replayed job begins anew, when it was first due
		j := &k.Jobs[i]
		j.State, j.Attempts, j.Error, j.Lease, j.RunAt = "", 0, "", memory.Lease{}, time.Time{}
	}
	return k
}

// exports are an owner's export and those as of some times.
func exports(t *testing.T, s memory.Store, owner memory.Owner) []known {
	t.Helper()
	all := []known{export(t, s, owner, memory.At{})}
	journal := all[0].Journal
	for i := 0; i < len(journal); i += 1 + len(journal)/5 {
		all = append(all, export(t, s, owner, memory.At{AsOf: journal[i].At}))
	}
	return all
}

func differ(got, want any) string {
	return cmp.Diff(got, want, cmpopts.EquateEmpty(),
		cmp.FilterValues(func(a, b json.RawMessage) bool { return len(a)+len(b) > 0 }, cmp.Comparer(func(a, b json.RawMessage) bool {
			return compact(a) == compact(b)
		})))
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	_ = json.Compact(&b, raw)
	return b.String()
}

// ending is a vault in a random history; when the history ends, it is put to the
// test.
type ending struct {
	*Store
	t     *testing.T
	dir   string
	now   func() time.Time
	check func(e *ending, was map[memory.Owner][]known)

	forget func(*known) // what is not compared
}

func (e *ending) Apply(ctx context.Context, owner memory.Owner, run memory.Run, changes ...memory.Change) (memory.Receipt, error) {
	return sharer{e.Store}.Apply(ctx, owner, run, changes...)
}

func (e *ending) Close() error {
	was := map[memory.Owner][]known{}
	for _, o := range e.OwnersWithFiles() {
		was[o] = exports(e.t, e.Store, o)
	}
	noError(e.t)(e.Store.Close())
	e.check(e, was)
	return nil
}

// reopen opens the vault around a store, compares what it has, and closes it.
func (e *ending) reopen(what string, within OpenStore, was map[memory.Owner][]known) {
	e.t.Helper()
	s, err := Open(context.Background(), e.dir, within, Options{Now: e.now})
	if err != nil {
		e.t.Fatalf("%s: %v", what, err)
	}
	for o, want := range was {
		got := exports(e.t, s, o)
		for i := range got {
			if e.forget != nil {
				e.forget(&got[i])
			}
		}
		if diff := differ(got, want); diff != "" {
			e.t.Fatalf("%s: what %s has (-got +want):\n%s", what, o, diff)
		}
	}
	noError(e.t)(s.Close())
}

// histories plays them, in which facts are shared, on vaults around a store in the
// vault's folder "db", or around one in memory.
func histories(t *testing.T, onDisk bool, check func(e *ending, was map[memory.Owner][]known)) {
	reference := func(_ *testing.T, now func() time.Time) memory.Store {
		return sharer{inmem.Open(inmem.Options{Now: now})}
	}
	storetest.RunHistory(t, reference, func(t *testing.T, now func() time.Time) memory.Store {
		dir := t.TempDir()
		within := OpenStore(inMemory)
		if onDisk {
			within = inSQLite(filepath.Join(dir, "db", "loci.db"))
		}
		s := try(Open(t.Context(), dir, within, Options{Now: now})).orFail(t)
		return &ending{Store: s, t: t, dir: dir, now: now, check: check}
	})
}

// TestOlderDatabaseTakesTheFilesOver puts a copy of the database back that is older than the
// files. What it lacks comes from them, and what they say otherwise is edits.
func TestOlderDatabaseTakesTheFilesOver(t *testing.T) {
	t.Parallel()
	v := newVaultOnDisk(t)
	chess := memtest.Fact(memtest.Ana, "Ana plays chess")
	v.apply(memtest.Add(tea()), memtest.Add(chess))
	db := filepath.Join(v.dir, "db")
	noError(t)(v.Store.Close())
	noError(t)(os.CopyFS(db+" of then", os.DirFS(db)))
	v.Store = nil
	v.reopen()
	batch := memtest.Batch(memtest.Ana, "c", 0, "I play go", "Noted.")
	noError(t)(v.Append(t.Context(), memtest.Ana, batch))
	green := v.fact("tea")
	green.Content, green.Hash, green.UpdatedAt = "Ana drinks green tea", memtest.Hash("Ana drinks green tea"), v.now.Now()
	v.apply(memtest.Change(memory.ActionUpdate, green))
	v.apply(memtest.Retire(v.fact(chess.ID)))
	v.apply(memtest.Add(memtest.Fact(memtest.Ana, "Ana plays go")))
	noError(t)(v.Store.Close())
	noError(t)(errors.Join(os.RemoveAll(db), os.Rename(db+" of then", db)))
	before := keysOf(tree(t, v.dir))
	v.Store = nil
	v.reopen()
	v.settled()
	if got := export(t, v.Store, memtest.Ana, memory.At{}); len(got.Memories) != 5 || len(got.Turns) != 2 || len(got.Conversations) != 1 {
		t.Errorf("%d memories, %d turns, %d conversations; want all that the files have", len(got.Memories), len(got.Turns), len(got.Conversations))
	}
	if got := keysOf(tree(t, v.dir)); !slices.Equal(got, before) {
		t.Errorf("files %q, want %q", got, before)
	}
	says := map[string]memory.Fact{}
	for _, e := range v.scan().Edits {
		says[e.Stored.Fact.ID] = *e.Content.Fact
	}
	if len(says) != 2 || says["tea"].Content != green.Content || says[chess.ID].Status != memory.Retired {
		t.Errorf("edits: %+v", says)
	}
}

// TestRebuildGoesOnAfterACrash rebuilds a folder around a database that a crash left with a part
// of it.
func TestRebuildGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	v := newVaultOnDisk(t)
	batch := memtest.Batch(memtest.Ana, "c", 0, "I play go", "Noted.")
	noError(t)(v.Append(t.Context(), memtest.Ana, batch))
	v.apply(memtest.Add(tea()))
	noError(t)(v.Store.Close())
	for _, folder := range []string{OwnFolder, "db"} {
		noError(t)(os.RemoveAll(filepath.Join(v.dir, folder)))
	}
	var copies []string
	v.openWith(func(point string) {
		if dir := t.TempDir(); len(copies) < 2 && point == afterCommit {
			if err := os.CopyFS(dir, os.DirFS(v.dir)); err != nil {
				t.Error(err)
			}
			copies = append(copies, dir)
		}
	})
	for _, dir := range copies {
		c := &vault{T: t, dir: dir, now: v.now, onDisk: true}
		c.reopen()
		c.settled()
		c.quiet()
		if k := export(t, c.Store, memtest.Ana, memory.At{}); len(k.Memories) != 3 || len(k.Turns) != 2 || c.RebuiltAt().IsZero() {
			t.Errorf("%d memories, %d turns, rebuilt at %v", len(k.Memories), len(k.Turns), c.RebuiltAt())
		}
		noError(t)(c.Store.Close())
	}
	if len(copies) != 2 {
		t.Errorf("%d commits, want those of turns and of facts", len(copies))
	}
}

// TestFileDeletedDuringARebuildIsGone deletes a file at each commit of a rebuild: it is not written
// again, neither at once nor after a crash, and the first scan tells of it.
func TestFileDeletedDuringARebuildIsGone(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2} {
		v := newVaultOnDisk(t)
		noError(t)(v.Append(t.Context(), memtest.Ana, memtest.Batch(memtest.Ana, "c", 0, "I play go", "Noted.")))
		v.apply(memtest.Add(tea()), memtest.Add(memtest.Fact(memtest.Ana, "Ana plays chess")))
		path := v.path(v.fileOf(tea().Content))
		noError(t)(v.Store.Close())
		for _, folder := range []string{OwnFolder, "db"} {
			noError(t)(os.RemoveAll(filepath.Join(v.dir, folder)))
		}
		commits := 0
		v.openWith(func(point string) {
			if point != afterCommit {
				return
			}
			if commits++; commits == n {
				if err := os.Remove(path); err != nil {
					t.Error(err)
				}
			}
		})
		v.settled()
		if edits := v.scan().Edits; len(edits) != 1 || edits[0].Kind != Deleted || edits[0].Target != factTarget+"tea" {
			t.Errorf("deleted at commit %d: edits %+v", n, edits)
		}
	}
}

// TestDatabaseOfBeforeGetsFiles begins with a database that has a history.
func TestDatabaseOfBeforeGetsFiles(t *testing.T) {
	t.Parallel()
	histories(t, true, func(e *ending, was map[memory.Owner][]known) {
		for _, dir := range []string{OwnFolder, "entries", "deleted", "users"} {
			noError(e.t)(os.RemoveAll(filepath.Join(e.dir, dir)))
		}
		e.reopen("around the database alone", inSQLite(filepath.Join(e.dir, "db", "loci.db")), was)
		files := tree(e.t, e.dir)
		for o, k := range was {
			checkFiles(e.t, e.Store, o, k[0], files)
		}
	})
}

func forgetVersions(k *known) {
	for _, m := range k.Memories {
		switch {
		case m.Link != nil:
			m.Link.Version = 0
		case m.Fact != nil:
			m.Fact.Version = 0
		case m.Turn != nil:
			m.Turn.Version = 0
		case m.Summary != nil:
			m.Summary.Version = 0
		}
	}
	for i := range k.Profile {
		k.Profile[i].Version = 0
	}
	for i := range k.Relations {
		k.Relations[i].Version = 0
	}
	for i := range k.Turns {
		k.Turns[i].Version = 0
	}
	for i := range k.Contexts {
		k.Contexts[i].Version = 0
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	return try(os.ReadFile(path)).orFail(t)
}

func writeFile(t *testing.T, path string, text []byte) {
	t.Helper()
	noError(t)(os.WriteFile(path, text, 0o600))
}

// TestFilesWithoutRecordsAreCompared takes the records away while a file is edited, one is moved
// and one has a name of the person's own.
func TestFilesWithoutRecordsAreCompared(t *testing.T) {
	v := several(t)
	mine := "entries/global/facts/maps.md"
	v.move(v.fileOf("Ana likes maps"), mine)
	v.quiet()
	noError(t)(v.Store.Close())
	rain := v.fileOf("Ana likes rain")
	v.move(rain, "deleted/"+rain)
	v.write(teaFile, strings.Replace(v.read(teaFile), "Ana drinks tea", "Ana drinks green tea", 1))
	for _, name := range []string{recordsFile, recordsFile + "-wal", recordsFile + "-shm"} {
		if err := os.Remove(v.path(OwnFolder + "/" + name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	v.Store = nil
	before := len(tree(t, v.dir))
	v.reopen()
	r := v.scan()
	if len(r.Edits) != 2 || len(r.Problems) > 0 {
		t.Fatalf("report: %+v", r)
	}
	for _, e := range r.Edits {
		if f := e.Content.Fact; e.Kind != Edited || f.Content != "Ana drinks green tea" && f.Status != memory.Retired {
			t.Errorf("edit: %+v, %+v", e, f)
		}
		noError(t)(v.Refuse(t.Context(), e))
	}
	v.settled()
	if files := tree(t, v.dir); len(files) != before+2 || files[mine] == "" {
		t.Errorf("files: %q, want those that were, and two of conflicts", keysOf(files))
	}
}
