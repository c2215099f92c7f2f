package vault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
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
		page, err := s.List(ctx, owner, q)
		must(err)
		k.Memories = append(k.Memories, page.Memories...)
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	var err error
	k.Profile, err = s.Profile(ctx, owner, at)
	must(err)
	k.Contexts, err = s.Contexts(ctx, owner, at)
	must(err)
	for _, m := range k.Memories {
		relations, err := s.Relations(ctx, owner, m.ID(), at)
		must(err)
		k.Relations = append(k.Relations, relations...)
	}
	k.Turns, err = s.Turns(ctx, owner, memory.TurnQuery{Statuses: allStatuses, AsOf: at.AsOf})
	must(err)
	if !at.AsOf.IsZero() {
		forgetVersions(&k) // they say nothing of the past
		return k
	}
	for q := (memory.ChangeQuery{Limit: 500}); ; {
		page, err := s.Changes(ctx, owner, q)
		must(err)
		k.Journal = append(k.Journal, page.Changes...)
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	conversations, err := s.Conversations(ctx, owner, memory.ConversationQuery{Statuses: allStatuses, Limit: 500})
	must(err)
	k.Conversations = conversations.Conversations
	versions, err := s.Versions(ctx, []memory.Owner{owner})
	must(err)
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
	for _, o := range e.orders.owners() {
		was[o] = exports(e.t, e.Store, o)
	}
	if err := e.Store.Close(); err != nil {
		e.t.Error(err)
	}
	journal, err := os.ReadFile(filepath.Join(e.dir, ownFolder, journalFile))
	defer func() {
		if e.t.Failed() { // no history is played twice: this one can be made a test of its own
			e.t.Logf("what happened (%v):\n%s", err, journal)
		}
	}()
	e.check(e, was)
	return nil
}

// reopen opens the vault around a store, compares what it has, and closes it.
func (e *ending) reopen(what string, within Within, was map[memory.Owner][]known) {
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
	if err := s.Close(); err != nil {
		e.t.Error(err)
	}
}

// histories plays them, in which facts are shared, on vaults around a store in the
// vault's folder "db", or around one in memory.
func histories(t *testing.T, onDisk bool, check func(e *ending, was map[memory.Owner][]known)) {
	reference := func(_ *testing.T, now func() time.Time) memory.Store {
		return sharer{inmem.Open(inmem.Options{Now: now})}
	}
	storetest.RunHistory(t, reference, func(t *testing.T, now func() time.Time) memory.Store {
		dir := t.TempDir()
		within := Within(inMemory)
		if onDisk {
			within = inSQLite(filepath.Join(dir, "db", "loci.db"))
		}
		s, err := Open(t.Context(), dir, within, Options{Now: now})
		if err != nil {
			t.Fatal(err)
		}
		return &ending{Store: s, t: t, dir: dir, now: now, check: check}
	})
}

// TestRebuildFromJournal deletes the database after random histories.
func TestRebuildFromJournal(t *testing.T) {
	t.Parallel()
	histories(t, true, func(e *ending, was map[memory.Owner][]known) {
		if err := os.RemoveAll(filepath.Join(e.dir, "db")); err != nil {
			e.t.Fatal(err)
		}
		e.reopen("the database is deleted", inSQLite(filepath.Join(e.dir, "db", "loci.db")), was)
		e.reopen("another kind of store", inMemory, was)
	})
}

// TestOlderDatabaseCatchesUp replays only what a database lacks.
func TestOlderDatabaseCatchesUp(t *testing.T) {
	t.Parallel()
	histories(t, false, func(e *ending, was map[memory.Owner][]known) {
		older := &ending{t: e.t, dir: e.t.TempDir(), now: e.now}
		whole := readFile(e.t, filepath.Join(e.dir, ownFolder, journalFile))
		if err := os.Mkdir(filepath.Join(older.dir, ownFolder), 0o700); err != nil {
			e.t.Fatal(err)
		}
		writeFile(e.t, filepath.Join(older.dir, ownFolder, journalFile), cutLines(whole, rand.IntN(1+bytes.Count(whole, []byte("\n")))))
		within := inSQLite(filepath.Join(e.dir, "older", "loci.db"))
		older.reopen("the beginning of the journal", within, nil)
		for o := range was {
			for i := range was[o] {
				forgetJobs(&was[o][i])
			}
		}
		e.forget = forgetJobs // one that was done since may be done again
		e.reopen("an older database", within, was)
	})
}

// TestJournalIsBroughtUp loses the last lines of a journal, as a crash would after
// the commit within.
func TestJournalIsBroughtUp(t *testing.T) {
	t.Parallel()
	histories(t, true, func(e *ending, was map[memory.Owner][]known) {
		journal := filepath.Join(e.dir, ownFolder, journalFile)
		whole := readFile(e.t, journal)
		lines := bytes.Count(whole, []byte("\n"))
		short := cutLines(whole, lines-1-rand.IntN(2))
		half := append(slices.Clone(short), whole[len(short):len(short)+(len(whole)-len(short))/2]...)
		writeFile(e.t, journal, bytes.TrimSuffix(half, []byte("\n")))
		for o := range was { // an owner is named before the first write
			if !bytes.Contains(short, []byte(`"`+string(o)+`"`)) {
				writeFile(e.t, journal, whole)
			}
		}
		writeFile(e.t, filepath.Join(e.dir, ownFolder, openFile), nil)
		e.reopen("a journal that lacks its end", inSQLite(filepath.Join(e.dir, "db", "loci.db")), was)
		for o := range was {
			for i := range was[o] {
				forgetUnseen(&was[o][i])
			}
		}
		e.forget = forgetUnseen
		e.reopen("after it was brought up", inMemory, was)
	})
}

// TestVaultAroundOldDatabase begins with a database that has a history.
func TestVaultAroundOldDatabase(t *testing.T) {
	t.Parallel()
	histories(t, true, func(e *ending, was map[memory.Owner][]known) {
		if err := os.RemoveAll(filepath.Join(e.dir, ownFolder)); err != nil {
			e.t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(e.dir, "entries")); err != nil {
			e.t.Fatal(err)
		}
		s, err := Open(context.Background(), e.dir, inSQLite(filepath.Join(e.dir, "db", "loci.db")), Options{Now: e.now, Owners: []memory.Owner{memtest.Ana, memtest.Ben}})
		if err != nil {
			e.t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			e.t.Fatal(err)
		}
		for o := range was {
			for i := range was[o] {
				forgetUnseen(&was[o][i])
			}
		}
		s, err = Open(context.Background(), e.dir, inMemory, Options{Now: e.now})
		if err != nil {
			e.t.Fatal(err)
		}
		defer s.Close()
		for o, want := range was {
			got := exports(e.t, s, o)
			for i := range got {
				forgetUnseen(&got[i])
			}
			if diff := differ(got, want); diff != "" {
				e.t.Fatalf("what %s has (-got +want):\n%s", o, diff)
			}
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

// forgetUnseen leaves out what cannot be found of a write that only gave a
// turn or a fact of old a vector.
func forgetUnseen(k *known) {
	for _, m := range k.Memories {
		if m.Turn != nil {
			m.Turn.Version = 0
		}
	}
	for i := range k.Turns {
		k.Turns[i].Version = 0
	}
	for i := range k.Journal {
		c := &k.Journal[i]
		c.Base = 0
		if f := c.Before.Fact; f != nil {
			f.Version = 0
		}
	}
	// A batch without turns leaves nothing by which to tell its conversation.
	k.Conversations = slices.DeleteFunc(k.Conversations, func(c memory.Conversation) bool { return c.MessageCount == 0 })
	slices.SortFunc(k.Conversations, func(a, b memory.Conversation) int { return strings.Compare(a.ID, b.ID) })
	for i := range k.Conversations {
		k.Conversations[i].Title, k.Conversations[i].UpdatedAt = "", time.Time{}
	}
	forgetJobs(k) // that one is done may have been in the lines that were lost
}

func forgetJobs(k *known) { k.Jobs = nil }

func cutLines(text []byte, n int) []byte {
	end := 0
	for range n {
		end += bytes.IndexByte(text[end:], '\n') + 1
	}
	return slices.Clone(text[:end])
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func writeFile(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestJobsOfAnUnwrittenOwnerAreRebuilt deletes the database of an owner of whom there is
// nothing but a job: a run that changes nothing leaves the version at 0.
func TestJobsOfAnUnwrittenOwnerAreRebuilt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	within := inSQLite(filepath.Join(dir, "db", "loci.db"))
	s, err := Open(t.Context(), dir, within, Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := memtest.Run("queues")
	run.Jobs = []memory.Job{{ID: "job", Owner: memtest.Ben, Kind: memory.JobLearn}}
	if _, err := s.Apply(t.Context(), memtest.Ben, run); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "db")); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(t.Context(), dir, within, Options{}); err != nil {
		t.Fatal(err)
	}
	jobs, err := s.Jobs(t.Context(), memtest.Ben)
	if err != nil || len(jobs) != 1 || jobs[0].ID != "job" {
		t.Errorf("the job is gone: %v, %v", jobs, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestLearnedMarksAreBroughtUp makes a vault around a database in which runs that marked
// turns as learned from look, by what they left, as batches do.
func TestLearnedMarksAreBroughtUp(t *testing.T) {
	t.Parallel()
	said := memtest.Batch(memtest.Ana, "c", 0, "I drink tea")
	turn := said.Turns[0].ID
	learns := memtest.Run("learns")
	learns.Learned = []string{turn}
	bare := memory.Batch{Conversation: memory.Conversation{ID: "d", Owner: memtest.Ana}, Jobs: []memory.Job{memtest.Job(memtest.Ana, memory.JobLearn, turn)}}
	for name, write := range map[string]func(s memory.Store) error{
		"a run that marks the turn otherwise, too": func(s memory.Store) error {
			mark := memory.Change{Action: memory.ActionUpdate, After: memory.Image{Turn: &memory.TurnMark{ID: turn, Status: memory.Replaced}}}
			_, err := s.Apply(t.Context(), memtest.Ana, learns, mark)
			return err
		},
		"a run that gave a vector, before a batch without turns": func(s memory.Store) error {
			run := learns
			run.Vectors = []memory.Vector{memtest.Vector("nobody's", "tea")}
			_, err := s.Apply(t.Context(), memtest.Ana, run)
			if err == nil {
				_, err = s.Append(t.Context(), memtest.Ana, bare)
			}
			if err == nil {
				_, err = s.Apply(t.Context(), memtest.Ana, memtest.Run("adds"), memtest.Add(memtest.Fact(memtest.Ana, "Ana drinks tea")))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := new(memtest.Clock)
			clock.Step(-1)
			within := inSQLite(filepath.Join(t.TempDir(), "loci.db"))
			s, err := within(clock.Now)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Append(t.Context(), memtest.Ana, said); err != nil {
				t.Fatal(err)
			}
			if err := write(s); err != nil {
				t.Fatal(err)
			}
			learned := func(s memory.Store) time.Time {
				t.Helper()
				turns, err := s.Turns(t.Context(), memtest.Ana, memory.TurnQuery{Statuses: allStatuses})
				if err != nil || len(turns) != 1 {
					t.Fatalf("turns: %v, %v", turns, err)
				}
				return turns[0].LearnedAt
			}
			want := learned(s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			for _, w := range []Within{within, inMemory} {
				v, err := Open(t.Context(), dir, w, Options{Now: clock.Now, Owners: []memory.Owner{memtest.Ana}})
				if err != nil {
					t.Fatal(err)
				}
				if got := learned(v); !got.Equal(want) || got.IsZero() {
					t.Errorf("learned from at %v, was %v", got, want)
				}
				if err := v.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestConversationThatBeganWithAMarkIsBroughtUp makes a vault around a database in which a
// conversation began with a batch that marked a turn of another, and nothing more.
func TestConversationThatBeganWithAMarkIsBroughtUp(t *testing.T) {
	t.Parallel()
	clock := new(memtest.Clock)
	clock.Step(-1)
	within := inSQLite(filepath.Join(t.TempDir(), "loci.db"))
	s, err := within(clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	said := memtest.Batch(memtest.Ana, "c", 0, "I drink tea")
	began := memory.Batch{
		Conversation: memory.Conversation{ID: "d", Owner: memtest.Ana}, Run: "marks",
		Marks: []memory.Change{memtest.TurnMark(memory.ActionUpdate, said.Turns[0].ID, memory.Replaced)},
	}
	for _, b := range []memory.Batch{said, began} {
		if _, err := s.Append(t.Context(), memtest.Ana, b); err != nil {
			t.Fatal(err)
		}
	}
	title := memory.ConversationMark{ID: "d", Title: "tea", Status: memory.Active}
	if _, err := s.Apply(t.Context(), memtest.Ana, memtest.Run("titles"), memtest.Change(memory.ActionUpdate, title)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, w := range []Within{within, inMemory} {
		v, err := Open(t.Context(), dir, w, Options{Now: clock.Now, Owners: []memory.Owner{memtest.Ana}})
		if err != nil {
			t.Fatal(err)
		}
		page, err := v.Conversations(t.Context(), memtest.Ana, memory.ConversationQuery{IDs: []string{"d"}})
		if err != nil || len(page.Conversations) != 1 || page.Conversations[0].Title != "tea" {
			t.Errorf("the conversation: %+v, %v", page.Conversations, err)
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWhoIsKnownStaysWhereTheyWere ends a job, and nothing else, between two starts.
func TestWhoIsKnownStaysWhereTheyWere(t *testing.T) {
	dir := t.TempDir()
	open := func() *Store {
		t.Helper()
		s, err := Open(t.Context(), dir, inSQLite(filepath.Join(dir, "db", "loci.db")), Options{Home: memtest.Ana})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	b := memtest.Batch(memtest.Ana, "c", 0, "I drink tea")
	b.Jobs = []memory.Job{memtest.Job(memtest.Ana, memory.JobLearn, b.Turns[0].ID)}
	if _, err := s.Append(t.Context(), memtest.Ana, b); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open()
		if j, err := s.Claim(t.Context(), []memory.JobKind{memory.JobLearn}, time.Minute); err == nil {
			if err := s.Finish(t.Context(), j.Lease, memory.Outcome{Done: true}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if journal := readFile(t, filepath.Join(dir, ownFolder, journalFile)); bytes.Count(journal, []byte(b.Turns[0].Content)) != 1 {
		t.Errorf("the journal has to say it once:\n%s", journal)
	}
}

// TestDatabaseThatLacksLearnedMarksAloneCatchesUp puts back a copy of the database, since
// which turns were learned from and no version rose.
func TestDatabaseThatLacksLearnedMarksAloneCatchesUp(t *testing.T) {
	t.Parallel()
	for name, erase := range map[string]bool{"as it was": false, "after somebody else's words were erased": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			db := filepath.Join(dir, "db")
			session := func(do func(s *Store)) {
				t.Helper()
				s, err := Open(t.Context(), dir, inSQLite(filepath.Join(db, "loci.db")), Options{Home: memtest.Ana})
				if err != nil {
					t.Fatal(err)
				}
				do(s)
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			said := memtest.Batch(memtest.Ana, "c", 0, "I drink tea")
			bens := memtest.Batch(memtest.Ben, "c", 0, "I drink coffee")
			learned := func(s *Store) time.Time {
				t.Helper()
				found, err := s.Get(t.Context(), memtest.Ana, said.Turns[0].ID)
				if err != nil || len(found) != 1 {
					t.Fatalf("the turn: %v, %v", found, err)
				}
				return found[0].Turn.LearnedAt
			}
			session(func(s *Store) {
				if _, err := s.Append(t.Context(), memtest.Ben, bens); err != nil {
					t.Fatal(err)
				}
				if _, err := s.Append(t.Context(), memtest.Ana, said); err != nil {
					t.Fatal(err)
				}
			})
			if err := os.CopyFS(db+" of then", os.DirFS(db)); err != nil {
				t.Fatal(err)
			}
			var want time.Time
			session(func(s *Store) {
				run := memtest.Run("learns")
				run.Learned = []string{said.Turns[0].ID}
				if _, err := s.Apply(t.Context(), memtest.Ana, run); err != nil {
					t.Fatal(err)
				}
				want = learned(s)
				if erase {
					if _, err := s.Erase(t.Context(), memtest.Ben, memtest.Run("erases"), bens.Turns[0].ID); err != nil {
						t.Fatal(err)
					}
				}
			})
			if err := errors.Join(os.RemoveAll(db), os.Rename(db+" of then", db)); err != nil {
				t.Fatal(err)
			}
			session(func(s *Store) {
				if got := learned(s); !got.Equal(want) || got.IsZero() {
					t.Errorf("learned from at %v, was %v", got, want)
				}
			})
		})
	}
}
