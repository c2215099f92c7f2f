package vault

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// tree returns the vault's files but for Loci's own folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	noError(t)(fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == OwnFolder || name == "db" {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		files[name] = string(readFile(t, filepath.Join(dir, name)))
		return nil
	}))
	return files
}

// TestFilesSayEverything reads the files alone after random histories: each memory
// has one, where it belongs, and it says all that is known of it.
func TestFilesSayEverything(t *testing.T) {
	t.Parallel()
	histories(t, false, func(e *ending, was map[memory.Owner][]known) {
		files := tree(e.t, e.dir)
		for o, k := range was {
			checkFiles(e.t, e.Store, o, k[0], files)
		}
		for name := range files {
			e.t.Errorf("%s shows nothing that is known", name)
		}
	})
}

func showing(c memory.FileContent) fileContent { return fileContent{FileContent: c} }

// checkFiles takes from files those of an owner and compares what they say.
func checkFiles(t *testing.T, s *Store, owner memory.Owner, k known, files map[string]string) {
	t.Helper()
	current := map[string]string{}
	for _, m := range k.Memories {
		if u := m.Summary; u != nil && u.Status == memory.Active && current[u.Scope.Conversation] == "" {
			current[u.Scope.Conversation] = u.ID
		}
	}
	check := func(want fileContent) {
		t.Helper()
		folder, name := s.folderAndName(owner, want)
		file := path.Join(folder, name+".md")
		text, ok := files[file]
		if r := s.files.records.byTarget[key{owner, want.target()}]; !ok && r != nil && path.Dir(r.Path) == folder {
			file = r.Path // named after the time that the memory was of first
			text, ok = files[file]
		}
		if !ok {
			t.Fatalf("no file %s; there are %q", file, keysOf(files))
		}
		delete(files, file)
		p, ok := s.parsePath(file)
		if !ok || p.owner != owner {
			t.Fatalf("%s is read as of %q", file, p.owner)
		}
		got, err := p.parse(text, fileContent{})
		if err != nil {
			t.Fatalf("%s: %v\n%s", file, err, text)
		}
		if diff := differ(plainThing(got), plainThing(want)); diff != "" {
			t.Fatalf("%s says (-got +want):\n%s\n%s", file, diff, text)
		}
	}
	for _, m := range k.Memories {
		if m.Link == nil {
			check(fileContent{FileContent: memory.FileContent{Fact: m.Fact, Shared: sharedIn(owner, m.Fact, k.Profile), Turn: m.Turn, Summary: m.Summary}, isCurrent: m.Summary != nil && current[m.Summary.Scope.Conversation] == m.ID()})
		}
	}
	for _, c := range k.Conversations {
		check(showing(memory.FileContent{Conversation: &c}))
	}
	for _, entry := range latestProfile(k.Journal) {
		check(showing(memory.FileContent{Profile: &entry}))
	}
	seen := map[string]bool{}
	for _, change := range k.Journal { // newest first
		if c := change.After.Context; c != nil && !seen[c.ID] {
			seen[c.ID] = true
			check(showing(memory.FileContent{Context: c}))
		}
	}
}

// latestProfile is how profile entries stand, retired ones too.
func latestProfile(journal []memory.Change) []memory.ProfileEntry {
	var all []memory.ProfileEntry
	seen := map[string]bool{}
	for _, c := range journal {
		if p := c.After.Profile; p != nil && !seen[p.Key] && !strings.HasPrefix(p.Key, shareKeyPrefix) {
			seen[p.Key] = true
			all = append(all, *p)
		}
	}
	return all
}

// plainThing leaves out what files do not say.
func plainThing(t fileContent) []any {
	var out []any
	switch {
	case t.Fact != nil:
		f := *t.Fact
		f.Version, f.Hash = 0, "" // sample data hash in their own way
		out = append(out, f, t.recipients())
	case t.Turn != nil:
		u := *t.Turn
		u.Version, u.RecordedAt = 0, time.Time{}
		out = append(out, u)
	case t.Summary != nil:
		m := *t.Summary
		m.Version = 0
		out = append(out, m)
	case t.Profile != nil:
		p := *t.Profile
		p.Version = 0
		out = append(out, p)
	case t.Context != nil:
		c := *t.Context
		c.Version = 0
		out = append(out, c)
	case t.Conversation != nil:
		c := *t.Conversation
		c.MessageCount, c.Version = 0, 0
		out = append(out, c)
	}
	return out
}

func keysOf(files map[string]string) []string {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// vault is a store to play with, settled after each write.
type vault struct {
	*testing.T
	*Store
	dir    string
	now    *memtest.Clock
	runs   int
	inner  *inmem.Store
	onDisk bool // the store within is in the vault's folder "db"
}

// lasting is a store that outlives the vaults around it.
type lasting struct{ *inmem.Store }

func (lasting) Close() error { return nil }

// within opens the store within, which lasts as long as Loci's own folder.
func (v *vault) within(now func() time.Time) (memory.Store, error) {
	if v.onDisk {
		return inSQLite(filepath.Join(v.dir, "db", "loci.db"))(now)
	}
	if v.inner == nil {
		v.inner = inmem.Open(inmem.Options{Now: now})
	}
	return lasting{v.inner}, nil
}

func newVault(t *testing.T) *vault {
	t.Helper()
	return begun(&vault{T: t, dir: t.TempDir(), now: new(memtest.Clock)})
}

// newVaultOnDisk is a vault whose folder holds its database, so that it can be copied.
func newVaultOnDisk(t *testing.T) *vault {
	t.Helper()
	return begun(&vault{T: t, dir: t.TempDir(), now: new(memtest.Clock), onDisk: true})
}

func begun(v *vault) *vault {
	v.Helper()
	v.reopen()
	v.quiet()
	v.T.Cleanup(func() { _ = v.Store.Close() })
	return v
}

func (v *vault) reopen() {
	v.Helper()
	if v.Store != nil {
		noError(v)(v.Store.Close())
	}
	v.openWith(nil)
}

// openWith opens the vault with a failpoint.
func (v *vault) openWith(failpoint func(string)) {
	v.Helper()
	if _, err := os.Stat(filepath.Join(v.dir, OwnFolder)); err != nil {
		v.inner = nil
	}
	s := try(Open(context.Background(), v.dir, v.within, Options{Now: v.now.Now, HomeOwner: memtest.Ana, failpoint: failpoint})).orFail(v)
	v.Store = s
}

// copies closes the vault, opens it again and returns copies of its folder that are made at
// every point of what is done.
func (v *vault) copies(do func()) []string {
	v.Helper()
	noError(v)(v.Store.Close())
	var copies []string
	v.openWith(func(point string) {
		dir := filepath.Join(v.T.TempDir(), strings.ReplaceAll(point, " ", "-"))
		if err := os.CopyFS(dir, os.DirFS(v.dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			v.Error(err)
		}
		copies = append(copies, dir)
	})
	do()
	if len(copies) < 4 {
		v.Fatalf("it passed %d points", len(copies))
	}
	return copies
}

func (v *vault) apply(changes ...memory.Change) {
	v.Helper()
	v.runs++
	run := memtest.Run(strings.Repeat("r", v.runs))
	noError(v)(v.Apply(v.T.Context(), memtest.Ana, run, changes...))
	v.settled()
}

func (v *vault) settled() {
	v.Helper()
	noError(v)(v.Flush(v.T.Context()))
}

func (v *vault) read(name string) string {
	v.Helper()
	return string(readFile(v.T, filepath.Join(v.dir, name)))
}

func (v *vault) write(name, text string) {
	v.Helper()
	full := filepath.Join(v.dir, name)
	noError(v)(os.MkdirAll(filepath.Dir(full), 0o700))
	writeFile(v.T, full, []byte(text))
}

func (v *vault) fact(id string) memory.Fact {
	v.Helper()
	got, err := v.Get(v.T.Context(), memtest.Ana, id)
	if err != nil || len(got) != 1 {
		v.Fatalf("get %s: %v, %v", id, got, err)
	}
	return *got[0].Fact
}

const teaFile = "entries/global/facts/2026-01-05T10-00-00Z__tea.md"

func tea() memory.Fact {
	f := memtest.Fact(memtest.Ana, "Ana drinks tea")
	f.ID = "tea"
	f.Tags = []string{"drinks", "at home"}
	return f
}

func TestFileOfAFact(t *testing.T) {
	v := newVault(t)
	f := tea()
	f.Provenance = memory.Provenance{Conversation: "c", Turns: []string{"t-1"}, Quote: &memory.Span{Turn: "t-1", Start: 2, End: 9}}
	b := memtest.Batch(memtest.Ana, "c", 0, "I drink tea")
	b.Turns[0].ID = "t-1"
	noError(t)(v.Append(t.Context(), memtest.Ana, b))
	v.apply(memtest.Add(f))
	want := `---
id: tea
conversation_id: global
role: memory
kind: fact
created_at: 2026-01-05T10:00:00Z
updated_at: 2026-01-05T10:00:00Z
status: active
tags: [drinks, "at home"]
confidence: 1
observed_at: 2026-01-05T10:00:00Z
source: manual
trust: person
from_conversation: c
from_turns: ["[[2026-01-05T10-00-00Z__t-1]]"]
quote: "2-9 [[2026-01-05T10-00-00Z__t-1]]"
---
Ana drinks tea
`
	if got := v.read(teaFile); got != want {
		t.Errorf("the file says:\n%s\nwant:\n%s", got, want)
	}
	if got := v.read("entries/c/turns/user/2026-01-05T10-00-00Z__t-1.md"); !strings.HasSuffix(got, "---\nI drink tea\n") {
		t.Errorf("the turn's file says:\n%s", got)
	}
}

func TestCurrentSummaryHasItsName(t *testing.T) {
	v := newVault(t)
	first, second := memtest.Summary(memtest.Ana, "c", "first"), memtest.Summary(memtest.Ana, "c", "second")
	first.ID, second.ID = "s1", "s2"
	second.CreatedAt = second.CreatedAt.Add(time.Hour)
	const current, old, newer = "entries/c/summaries/summary.md", "entries/c/summaries/2026-01-05T10-00-00Z__s1.md", "deleted/entries/c/summaries/2026-01-05T11-00-00Z__s2.md"
	v.apply(memtest.Change(memory.ActionAdd, first))
	v.apply(memtest.Change(memory.ActionAdd, second))
	if got := keysOf(tree(t, v.dir)); !slices.Equal(got, []string{old, current}) || !strings.HasSuffix(v.read(current), "second\n") {
		t.Errorf("two summaries: %q", got)
	}
	second.Status = memory.Retired
	v.apply(memtest.Change(memory.ActionRetire, second))
	if got := keysOf(tree(t, v.dir)); !slices.Equal(got, []string{newer, current}) || !strings.HasSuffix(v.read(current), "first\n") {
		t.Errorf("after the newer one is retired: %q", got)
	}
}

func TestWhatIsNotLocisSurvives(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	text := strings.Replace(v.read(teaFile), "---\n", "---\n# my own notes\naliases:\n  - \"Tea: the drink\" # by hand\n\nrating: 5\n", 1)
	text = strings.Replace(text, "confidence: 1\n", "confidence: 1 # quite\n", 1)
	v.write(teaFile, text)
	f := v.fact("tea")
	f.Confidence, f.Tags, f.Core = 0.5, nil, memory.CoreAlways
	v.apply(memtest.Change(memory.ActionUpdate, f))
	want := strings.Replace(text, "confidence: 1 #", "confidence: 0.5 #", 1)
	want = strings.Replace(want, "tags: [drinks, \"at home\"]\n", "", 1)
	want = strings.Replace(want, "---\nAna", "pinned: true\n---\nAna", 1)
	if got := v.read(teaFile); got != want {
		t.Errorf("the file says:\n%s\nwant:\n%s", got, want)
	}
}

func TestEditWhileLociChangedItKeepsBoth(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	mine := strings.Replace(v.read(teaFile), "Ana drinks tea", "Ana drinks green tea", 1)
	v.write(teaFile, mine)
	f := v.fact("tea")
	f.Confidence = 0.5
	v.apply(memtest.Change(memory.ActionUpdate, f))
	files := tree(t, v.dir)
	names := keysOf(files)
	if len(names) != 2 || !strings.Contains(names[0], "__tea.conflict-2026-01-05T") || files[names[0]] != mine {
		t.Fatalf("files: %q", names)
	}
	if got := files[teaFile]; !strings.Contains(got, "confidence: 0.5\n") || !strings.HasSuffix(got, "---\nAna drinks tea\n") {
		t.Errorf("Loci's file says:\n%s", got)
	}
}

func TestEditInTheLastMomentIsKept(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	for _, change := range []func() memory.Change{
		func() memory.Change {
			f := v.fact("tea")
			f.Confidence = 0.5
			return memtest.Change(memory.ActionUpdate, f)
		},
		func() memory.Change { return memtest.Retire(v.fact("tea")) },
	} {
		mine := ""
		v.files.disk.Lock()
		v.opts.failpoint = func(point string) {
			if point == beforeFiles {
				mine = strings.Replace(v.read(teaFile), "Ana drinks tea", "Ana drinks green tea", 1)
				v.write(teaFile, mine)
			}
		}
		v.files.disk.Unlock()
		v.apply(change())
		v.files.disk.Lock()
		v.opts.failpoint = func(string) {}
		v.files.disk.Unlock()
		r := v.scan()
		if len(r.ConflictFiles) != 1 || len(r.Edits) > 0 || v.read(r.ConflictFiles[0]) != mine || mine == "" {
			t.Fatalf("report %+v", r)
		}
		v.remove(r.ConflictFiles[0])
	}
}

// TestFileThatCannotBeWrittenStopsNoOther lays a file where the folder of a conversation is to be.
func TestFileThatCannotBeWrittenStopsNoOther(t *testing.T) {
	v := newVault(t)
	v.write("entries/trip", "in the way")
	trip := memtest.Fact(memtest.Ana, "Ana plays chess")
	trip.Scope.Conversation = "trip"
	noError(t)(v.Apply(t.Context(), memtest.Ana, memtest.Run("adds"), memtest.Add(trip), memtest.Add(tea())))
	if err := v.Flush(t.Context()); err == nil {
		t.Error("the file was written")
	}
	if files := keysOf(tree(t, v.dir)); !slices.Equal(files, []string{teaFile, "entries/trip"}) {
		t.Errorf("files %q, want the other fact's", files)
	}
	v.remove("entries/trip")
	v.settled()
	v.quiet()
}

func TestFileOfAnotherUserLiesApart(t *testing.T) {
	v := newVault(t)
	f := memtest.Fact(memory.User(memory.DefaultNamespace, "../Ben"), "Ben drinks milk")
	f.ID = "milk"
	noError(t)(v.Apply(t.Context(), f.Scope.Owner, memtest.Run("milk"), memtest.Add(f)))
	v.settled()
	if got := keysOf(tree(t, v.dir)); !slices.Equal(got, []string{"users/%2e.%2f%42en/entries/global/facts/2026-01-05T10-00-00Z__milk.md"}) {
		t.Errorf("files: %q", got)
	}
}

func TestOneProcessHasTheVault(t *testing.T) {
	v := newVault(t)
	_, err := Open(t.Context(), v.dir, inMemory, Options{})
	if err == nil || !strings.Contains(err.Error(), "has the vault open") {
		t.Errorf("a second time: got %v, want that it is open", err)
	}
}
