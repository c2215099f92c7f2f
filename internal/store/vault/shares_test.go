package vault

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// sharer lets every other profile entry of a random history say whom a fact is shared with.
type sharer struct{ memory.Store }

func (s sharer) Apply(ctx context.Context, owner memory.Owner, run memory.Run, changes ...memory.Change) (memory.Receipt, error) {
	return s.Store.Apply(ctx, owner, run, asShares(changes)...)
}

func asShares(changes []memory.Change) []memory.Change {
	changes = slices.Clone(changes)
	for i, c := range changes {
		var n int
		if c.After.Profile == nil {
			continue
		}
		if _, err := fmt.Sscanf(c.After.Profile.Key, "key %d", &n); err != nil || n%2 != 0 {
			continue
		}
		with := [][]memory.Owner{
			{memtest.Ana, memtest.Team}, {memory.Global("acme"), memory.User("default", "x/y")}, {}, {memtest.Ben, memory.Global("default")},
		}[len(c.After.Profile.Value)%4]
		value, _ := json.Marshal(with)
		p := *c.After.Profile
		p.Key, p.Value = shareKeyPrefix+memtest.ID(fmt.Sprint("fact ", n)), string(value)
		changes[i].After = memory.State{Profile: &p}
	}
	return changes
}

// presentShares is what files say of profile entries that say whom facts are shared with:
// whom those share that there are, and not when that was said.
func presentShares(owner memory.Owner, k known) (entries []memory.ProfileEntry) {
	for _, p := range k.Profile {
		id, ok := strings.CutPrefix(p.Key, shareKeyPrefix)
		if !ok {
			entries = append(entries, p)
			continue
		}
		own := slices.ContainsFunc(k.Memories, func(m memory.Memory) bool {
			return m.ID() == id && m.Link == nil && m.Fact != nil && !showing(memory.FileContent{Fact: m.Fact}).isErased()
		})
		if with := sortedOwners(parseShareEntry(owner, p.Value)); own && with != nil {
			entries = append(entries, memory.ProfileEntry{Owner: owner, Key: p.Key, Value: fmt.Sprint(*with), Status: p.Status})
		}
	}
	return entries
}

func share(with ...memory.Owner) memory.ProfileEntry {
	value, _ := json.Marshal(with)
	return memtest.Profile(memtest.Ana, shareKeyPrefix+"tea", string(value))
}

// shares is whom the fact is shared with, as its file says and as is known.
func (v *vault) shares() (file string, known []memory.Owner) {
	v.Helper()
	for l := range strings.Lines(v.read(teaFile)) {
		if strings.HasPrefix(l, recipientsKey+":") {
			file = l
		}
	}
	entries := try(v.Profile(v.T.Context(), memtest.Ana, memory.At{})).orFail(v)
	for _, p := range entries {
		known = append(known, parseShareEntry(memtest.Ana, p.Value)...)
	}
	return file, known
}

func TestWhomAFactIsSharedWithStandsInItsFile(t *testing.T) {
	v := newVault(t)
	n := memtest.Ana.Namespace()
	all := []memory.Owner{memory.User(n, "ben"), memory.Pool(n, "team"), memory.Global(n)}
	slices.Sort(all)
	v.apply(memtest.Add(tea()))
	v.apply(memtest.Change(memory.ActionAdd, share(all...)))
	if file, known := v.shares(); strings.Count(file, "/") != 2 || !strings.Contains(file, "global") || !slices.Equal(known, all) {
		t.Errorf("the file says %q, known is %q", file, known)
	}
	if got := keysOf(tree(t, v.dir)); !slices.Equal(got, []string{teaFile}) {
		t.Errorf("files: %q, want the fact's alone", got)
	}
	v.quiet()

	// The folder alone brings it back, with a job that gives the others their copies.
	noError(t)(v.Store.Close())
	noError(t)(os.RemoveAll(v.path(OwnFolder)))
	v.reopen()
	v.settled()
	if _, known := v.shares(); !slices.Equal(known, all) {
		t.Errorf("from the folder alone it is shared with %q", known)
	}
	jobs, err := v.Jobs(t.Context(), memtest.Ana)
	if err != nil || len(jobs) != 1 || jobs[0].Kind != memory.JobShare || !slices.Equal(jobs[0].Turns, []string{"tea"}) {
		t.Errorf("jobs: %+v, %v", jobs, err)
	}
	v.quiet()

	v.apply(memtest.Change(memory.ActionUpdate, share()))
	if file, _ := v.shares(); file != "" {
		t.Errorf("it is shared with nobody, but its file says %q", file)
	}
}

func TestEditedSharesAreToldOf(t *testing.T) {
	v := newVault(t)
	n := memtest.Ana.Namespace()
	ben, cy, team := memory.User(n, "ben"), memory.User(n, "cy"), memory.Pool(n, "team")
	v.apply(memtest.Add(tea()), memtest.Change(memory.ActionAdd, share(ben, team)))
	was := v.read(teaFile)
	line, _ := v.shares()
	for name, c := range map[string]struct {
		line     string
		says     []memory.Owner
		problems int
	}{
		"taken out":            {"", nil, 0},
		"one taken out":        {"shared_with: pool/team\n", []memory.Owner{team}, 0},
		"a user more":          {"shared_with: [user/cy, pool/team, user/ben]\n", []memory.Owner{team, ben, cy}, 0},
		"everybody":            {"shared_with: [user/ben, pool/team, global]\n", []memory.Owner{team, ben, memory.Global(n)}, 0},
		"another pool":         {"shared_with: [user/ben, pool/team, pool/other]\n", []memory.Owner{team, ben, memory.Pool(n, "other")}, 0},
		"nobody's name":        {"shared_with: [user/ben, pool/team, ben]\n", []memory.Owner{team, ben}, 1},
		"whose it is":          {"shared_with: [user/ben, pool/team, user/ana]\n", []memory.Owner{team, ben}, 1},
		"in the order it was":  {line, []memory.Owner{team, ben}, 0},
		"in another order, so": {"shared_with:\n  - user/ben\n  - pool/team\n", []memory.Owner{team, ben}, 0},
	} {
		v.write(teaFile, strings.Replace(was, line, c.line, 1))
		r := v.scan()
		slices.Sort(c.says)
		same := slices.Equal(c.says, []memory.Owner{team, ben})
		if len(r.Problems) != c.problems || same != (len(r.Edits) == 0) {
			t.Errorf("%s: report %+v", name, r)
		}
		if len(r.Edits) == 1 && !slices.Equal(showing(r.Edits[0].Content).recipients(), c.says) {
			t.Errorf("%s: the file says %v, want %v", name, r.Edits[0].Content.Shared, c.says)
		}
		v.write(teaFile, was)
		v.quiet()
	}
}

// TestValueThatIsNotUnderstoodTakesNothingAway writes what is neither a text nor a list of
// texts where Loci knows something: the file is a problem, and no edit that takes it away.
func TestValueThatIsNotUnderstoodTakesNothingAway(t *testing.T) {
	v := newVault(t)
	f := tea()
	f.Tags, f.Category, f.Metadata, f.ValidTo = []string{"drinks"}, "food", json.RawMessage(`{"a":1}`), memtest.Epoch.AddDate(9, 0, 0)
	f.Core = memory.CoreAlways
	ben := memory.User(memtest.Ana.Namespace(), "ben")
	v.apply(memtest.Add(f), memtest.Add(memtest.Fact(memtest.Ana, "cake")), memtest.Change(memory.ActionAdd, share(ben)))
	v.apply(memtest.Change(memory.ActionAdd, memory.Relation{Owner: memtest.Ana, From: "tea", To: "cake", Kind: memory.Refines, Status: memory.Active, CreatedAt: memtest.Epoch}))
	was := v.read(teaFile)
	all := []string{"[[x]]", "{user: x}", "[{user: x}]", "\n  user: x", "&a [x]", "!!str x", "[x, [y]]", "\n  - - x", "*a"}
	for key, wrong := range map[string][]string{
		"shared_with": all, "tags": all, "refines": all,
		"category": {"[food]", "{a: b}"}, "metadata": {"{a: 2}", "[a]"}, "status": {"[active]", "{is: active}"}, "valid_to": {"[2030-01-01]", "{a: b}"},
		"pinned": {"[true]", "{a: b}"}, "confidence": {"[1]", "{a: b}"}, "observed_at": {"[2030-01-01]"}, "id": {"[tea]", "{a: b}"},
	} {
		var line string
		for l := range strings.Lines(was) {
			if strings.HasPrefix(l, key+":") {
				line = l
			}
		}
		if line == "" {
			t.Fatalf("the file has no %s:\n%s", key, was)
		}
		for _, odd := range wrong {
			now := strings.Replace(was, line, key+": "+odd+"\n", 1)
			v.write(teaFile, now)
			r := v.scan()
			if len(r.Edits) > 0 || len(r.Problems) != 1 || odd != "*a" && !strings.HasPrefix(r.Problems[0].Reason, key+" must be ") {
				t.Errorf("%s: %s: report %+v", key, odd, r)
			}
			if v.read(teaFile) != now {
				t.Errorf("%s: %s: the file did not stay as written", key, odd)
			}
		}
		v.write(teaFile, was)
		v.quiet()
	}
	for _, none := range []string{"", "[]", "null", "~", `""`} {
		v.write(teaFile, strings.Replace(was, "shared_with: [user/ben]\n", "shared_with: "+none+"\n", 1))
		if e := v.edit(); e.Content.Shared != nil {
			t.Errorf("shared_with: %s: it is shared with nobody, but %+v", none, e.Content.Shared)
		}
	}

	// Where Loci writes the file meanwhile, what it knows stays, and the person's is kept beside.
	v.write(teaFile, strings.Replace(was, "shared_with: [user/ben]\n", "shared_with: {user: ben}\n", 1))
	v.scan()
	f.Core, f.UpdatedAt = memory.CoreAuto, v.now.Now()
	v.apply(memtest.Change(memory.ActionUpdate, f))
	if file, known := v.shares(); file != "shared_with: [user/ben]\n" || !slices.Equal(known, []memory.Owner{ben}) {
		t.Errorf("the file says %q, known is %q", file, known)
	}
	if r := v.scan(); len(r.Edits) > 0 || len(r.ConflictFiles) != 1 {
		t.Errorf("report: %+v", r)
	}
}

// sharedIn is whom profile entries say that a fact is shared with.
func sharedIn(owner memory.Owner, f *memory.Fact, entries []memory.ProfileEntry) *[]memory.Owner {
	for _, p := range entries {
		if f != nil && p.Key == shareKeyPrefix+f.ID && !showing(memory.FileContent{Fact: f}).isErased() {
			return sortedOwners(parseShareEntry(owner, p.Value))
		}
	}
	return nil
}

// TestCrashWhileAFactIsShared copies the vault at every point while a fact is shared, and
// opens each copy with its database, then the files alone.
func TestCrashWhileAFactIsShared(t *testing.T) {
	t.Parallel()
	v := newVaultOnDisk(t)
	v.apply(memtest.Add(tea()))
	for _, dir := range v.copies(func() {
		v.apply(memtest.Change(memory.ActionAdd, share(memory.User(memtest.Ana.Namespace(), "ben"))))
	}) {
		c := &vault{T: t, dir: dir, now: v.now, onDisk: true}
		c.reopen()
		c.settled()
		c.quiet()
		if file, known := c.shares(); file != "shared_with: [user/ben]\n" || len(known) != 1 {
			t.Errorf("%s: the file says %q, known is %q", filepath.Base(dir), file, known)
		}
		noError(t)(c.Store.Close())
		for _, folder := range []string{OwnFolder, "db"} {
			noError(t)(os.RemoveAll(filepath.Join(dir, folder)))
		}
		c.Store = nil
		c.reopen()
		if _, again := c.shares(); len(again) != 1 {
			t.Errorf("%s: from the folder alone it is shared with %q", filepath.Base(dir), again)
		}
		noError(t)(c.Store.Close())
	}
}

// TestCopyOfWhatAnotherSharesHasNoFile puts a copy of a file into the folder of a user who is
// shown its fact: one id would be of two memories.
func TestCopyOfWhatAnotherSharesHasNoFile(t *testing.T) {
	v := newVault(t)
	ben := memory.User(memtest.Ana.Namespace(), "ben")
	v.apply(memtest.Add(tea()))
	noError(t)(v.Apply(t.Context(), ben, memtest.Run("shared"), memtest.Change(memory.ActionLink, memtest.Link(ben, v.fact("tea")))))
	v.settled()
	if got := keysOf(tree(t, v.dir)); !slices.Equal(got, []string{teaFile}) {
		t.Errorf("files: %q, want the fact's at home alone", got)
	}
	noError(t)(os.MkdirAll(v.path("users/ben/entries/global/facts"), 0o700))
	v.write("users/ben/"+teaFile, v.read(teaFile))
	if r := v.scan(); len(r.Edits) > 0 || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Reason, "user/") {
		t.Errorf("report: %+v", r)
	}
}

// TestFileFromElsewhereSharesWithNobody puts a copy of a file into the folder of a user who
// is shown nothing of it: who shared it was another.
func TestFileFromElsewhereSharesWithNobody(t *testing.T) {
	v := newVault(t)
	ben, cy := memory.User(memtest.Ana.Namespace(), "ben"), memory.User(memtest.Ana.Namespace(), "cy")
	v.apply(memtest.Add(tea()), memtest.Change(memory.ActionAdd, share(ben)))
	noError(t)(os.MkdirAll(v.path("users/cy/entries/global/facts"), 0o700))
	v.write("users/cy/"+teaFile, v.read(teaFile))
	if e := v.edit(); e.Kind != Added || e.Owner != cy || e.Content.Shared != nil {
		t.Errorf("a copy with an id: %+v", e)
	}
	_, words, _ := strings.Cut(v.read(teaFile), "\n---\n")
	v.write("users/cy/"+teaFile, "---\nshared_with: user/ben\n---\n"+words)
	if e := v.edit(); e.Content.Shared == nil || !slices.Equal(*e.Content.Shared, []memory.Owner{ben}) {
		t.Errorf("a file of a person's own: %+v", e)
	}
}
