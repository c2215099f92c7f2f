package vault

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func (v *vault) scan(o ...ScanOptions) Report {
	v.Helper()
	return try(v.Scan(v.T.Context(), append(o, ScanOptions{})[0])).orFail(v)
}

// edit is the one edit that there is.
func (v *vault) edit() Edit {
	v.Helper()
	r := v.scan()
	if len(r.Edits) != 1 || len(r.Problems) > 0 {
		v.Fatalf("report: %+v", r)
	}
	return r.Edits[0]
}

func (v *vault) quiet() {
	v.Helper()
	if r := v.scan(); len(r.Edits)+len(r.Problems)+len(r.UnconfirmedDeletions) > 0 {
		v.Errorf("nothing was edited, but: %+v", r)
	}
}

func (v *vault) path(name string) string { return filepath.Join(v.dir, name) }

func (v *vault) remove(name string) {
	v.Helper()
	noError(v)(os.Remove(v.path(name)))
}

func (v *vault) move(from, to string) {
	v.Helper()
	noError(v)(os.MkdirAll(filepath.Dir(v.path(to)), 0o700))
	noError(v)(os.Rename(v.path(from), v.path(to)))
}

// take makes the changes of an edit, as an upper layer would.
func (v *vault) take(e Edit) {
	v.Helper()
	action, f := memory.ActionUpdate, e.Stored.Fact
	if e.Content.Fact != nil {
		f = e.Content.Fact
	}
	switch e.Kind {
	case Added:
		action, f.ID, f.CreatedAt = memory.ActionAdd, "new", memtest.Epoch
	case Deleted:
		action, f.Status = memory.ActionRetire, memory.Retired
	}
	f.Source, f.UpdatedAt = memory.FromFile, v.now.Now()
	run := memtest.Run(e.RunID())
	noError(v)(v.Apply(v.T.Context(), e.Owner, run, memtest.Change(action, *f)))
	v.settled()
	noError(v)(v.Accept(v.T.Context(), e, "fact:"+f.ID))
	v.settled()
	v.quiet()
}

func TestOwnWritesAreNoEdits(t *testing.T) {
	v := newVault(t)
	v.quiet()
	v.apply(memtest.Add(tea()))
	v.quiet()
	v.reopen()
	v.quiet()
	noError(t)(os.Chtimes(v.path(teaFile), time.Time{}, time.Now().Add(time.Hour)))
	v.quiet() // touched, as git does when it checks out
	for _, lose := range []func(path string){
		func(path string) { v.remove(path) },
		func(path string) { v.write(path, "this is no database, nor was it ever one") },
	} {
		noError(t)(v.Store.Close())
		lose(filepath.Join(OwnFolder, recordsFile))
		v.Store = nil
		v.reopen()
		v.settled()
		v.quiet() // it is known again by what it says
	}
	if got := keysOf(tree(t, v.dir)); !slices.Equal(got, []string{teaFile}) {
		t.Errorf("files: %q", got)
	}
}

func TestEditedWords(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	text := strings.Replace(v.read(teaFile), "Ana drinks tea", "Ana drinks green tea", 1)
	text = strings.Replace(text, "tags: [drinks, \"at home\"]\n", "tags:\n  - drinks\nmine: 1\n", 1)
	v.write(teaFile, text)
	e := v.edit()
	if e.Kind != Edited || e.Target != "fact:tea" || e.Path != teaFile || e.Owner != memtest.Ana || e.Stored.Fact.Content != "Ana drinks tea" {
		t.Errorf("edit: %+v", e)
	}
	if f := e.Content.Fact; f.Content != "Ana drinks green tea" || !slices.Equal(f.Tags, []string{"drinks"}) || f.Hash == tea().Hash || f.Subject != "" {
		t.Errorf("it says %+v", f)
	}
	if again := v.edit(); again.RunID() != e.RunID() {
		t.Errorf("the same edit's runs: %s and %s", e.RunID(), again.RunID())
	}
	v.take(e)
	if got := v.read(teaFile); !strings.Contains(got, "mine: 1\n") || !strings.Contains(got, "source: file\n") || !strings.Contains(got, "  - drinks\n") {
		t.Errorf("written anew:\n%s", got)
	}
	if f := v.fact("tea"); f.Content != "Ana drinks green tea" {
		t.Errorf("the fact says %q", f.Content)
	}
	v.reopen()
	v.quiet()
}

func TestAddedFile(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	v.write("entries/global/facts/milk.md", "---\ntags: drinks, cold\nstars: 3\n---\nAna likes milk\n")
	e := v.edit()
	if f := e.Content.Fact; e.Kind != Added || e.Target != "" || f.Content != "Ana likes milk" || !slices.Equal(f.Tags, []string{"drinks", "cold"}) || f.Source != memory.FromFile {
		t.Errorf("edit: %+v, %+v", e, e.Content.Fact)
	}
	v.take(e)
	names := keysOf(tree(t, v.dir))
	if len(names) != 2 || !slices.Contains(names, "entries/global/facts/milk.md") {
		t.Fatalf("files: %q", names)
	}
	if got := v.read("entries/global/facts/milk.md"); !strings.HasPrefix(got, "---\ntags: [drinks, cold]\nstars: 3\nid: new\n") {
		t.Errorf("written anew:\n%s", got)
	}
}

func TestCrashBeforeAcceptOfAnAddedFile(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	const mine = "entries/global/facts/milk.md"
	v.write(mine, "Ana likes milk")
	e := v.edit()
	f := *e.Content.Fact
	f.ID, f.CreatedAt = "new", memtest.Epoch
	v.apply(memtest.Add(f))
	v.reopen() // the edit was not answered
	v.settled()
	e2 := v.edit()
	if e2.RunID() != e.RunID() {
		t.Errorf("the same edit's runs: %s and %s", e.RunID(), e2.RunID())
	}
	noError(t)(v.Accept(t.Context(), e2, "fact:new"))
	v.settled()
	v.quiet()
	if got := keysOf(tree(t, v.dir)); !slices.Equal(got, []string{teaFile, mine}) {
		t.Errorf("files: %q", got)
	}
}

func TestMovedFile(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	v.move(teaFile, "entries/trip/facts/tea.md")
	e := v.edit()
	if e.Kind != Moved || e.FormerPath != teaFile || e.Content.Fact.Scope.Conversation != "trip" {
		t.Errorf("edit: %+v", e)
	}
	v.take(e)
	if got := keysOf(tree(t, v.dir)); !slices.Equal(got, []string{"entries/trip/facts/tea.md"}) {
		t.Errorf("files: %q", got)
	}
	v.move("entries/trip/facts/tea.md", "deleted/entries/trip/facts/tea.md")
	if e = v.edit(); e.Content.Fact.Status != memory.Retired {
		t.Errorf("edit: %+v", e)
	}
	v.take(e)
	if got := keysOf(tree(t, v.dir)); !slices.Equal(got, []string{"deleted/entries/trip/facts/tea.md"}) {
		t.Errorf("files: %q", got)
	}
}

func TestRenamedFileKeepsItsName(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	v.move(teaFile, "entries/global/facts/my tea.md")
	v.quiet() // it says nothing else
	f := v.fact("tea")
	f.Core = memory.CoreAlways
	v.apply(memtest.Change(memory.ActionUpdate, f))
	if got := keysOf(tree(t, v.dir)); !slices.Equal(got, []string{"entries/global/facts/my tea.md"}) {
		t.Errorf("files: %q", got)
	}
}

func TestRefusedEditIsKeptBeside(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	theirs := v.read(teaFile)
	mine := strings.Replace(theirs, "Ana drinks tea", "Ana drinks green tea", 1)
	v.write(teaFile, mine)
	noError(t)(v.Refuse(t.Context(), v.edit()))
	v.settled()
	files := tree(t, v.dir)
	r := v.scan()
	if len(r.ConflictFiles) != 1 || files[r.ConflictFiles[0]] != mine || files[teaFile] != theirs || len(r.Edits) > 0 {
		t.Errorf("report %+v, files %q", r, files)
	}
}

func TestEditThatChangedAgainIsNotAccepted(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	v.write(teaFile, strings.Replace(v.read(teaFile), "drinks tea\n", "drinks green tea\n", 1))
	e := v.edit()
	v.write(teaFile, strings.Replace(v.read(teaFile), "green tea\n", "black tea\n", 1))
	if err := v.Accept(t.Context(), e, ""); err == nil {
		t.Error("accepted")
	}
	if e := v.edit(); !strings.Contains(e.Content.Fact.Content, "black") {
		t.Errorf("edit: %+v", e.Content.Fact)
	}
}

func TestManyDeletionsAreHeld(t *testing.T) {
	v := newVault(t)
	var changes []memory.Change
	for i := range 10 {
		changes = append(changes, memtest.Add(memtest.Fact(memtest.Ana, fmt.Sprint("fact ", i))))
	}
	v.apply(changes...)
	for i, name := range keysOf(tree(t, v.dir)) {
		if i == 2 {
			if r := v.scan(); len(r.Edits) != 2 || len(r.UnconfirmedDeletions) > 0 {
				t.Errorf("two of ten: %+v", r)
			}
		}
		v.remove(name)
	}
	r := v.scan()
	if len(r.Edits) > 0 || len(r.UnconfirmedDeletions) != 10 {
		t.Errorf("all of ten: %d edits, %d held", len(r.Edits), len(r.UnconfirmedDeletions))
	}
	if r := v.scan(ScanOptions{ConfirmDeletions: true}); len(r.Edits) != 10 {
		t.Errorf("confirmed: %+v", r)
	}
	noError(t)(os.RemoveAll(v.path("entries")))
	if r := v.scan(); len(r.UnconfirmedDeletions) != 10 {
		t.Errorf("without the folder: %+v", r)
	}
}

func TestRestsOfACrashGo(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	v.write("entries/global/facts/.7.tmp", "half")
	v.write("entries/global/facts/.mine.tmp", "whole")
	v.quiet()
	if got := keysOf(tree(t, v.dir)); !slices.Equal(got, []string{"entries/global/facts/.mine.tmp", teaFile}) {
		t.Errorf("files: %q", got)
	}
}

func TestWhatCannotBeReadIsLeftAlone(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	secret := filepath.Join(t.TempDir(), "secret.md")
	writeFile(t, secret, []byte("---\nid: secret\n---\nout of the vault"))
	const folder = "entries/global/facts/"
	for name, text := range map[string]string{
		"binary": "\xff\xfe\x00", "huge": strings.Repeat("x", maxFileBytes+1), "half": "---\nid: half\n", "empty": "", "yaml": "---\nid: [\n---\nx\n",
		"alias": "---\na: &a [x]\ntags: *a\nconfidence: 7\n---\nx\n", "twin": v.read(teaFile),
	} {
		v.write(folder+name+".md", text)
	}
	for name, to := range map[string]string{"link.md": secret, "loop.md": "loop.md"} {
		noError(t)(os.Symlink(to, v.path(folder+name)))
	}
	noError(t)(os.Symlink(filepath.Dir(secret), v.path("entries/out")))
	noError(t)(os.Mkdir(v.path(folder+"folder.md"), 0o700))
	before := tree(t, v.dir+"/entries/global/facts")
	r := v.scan()
	var names []string
	for _, p := range r.Problems {
		names = append(names, strings.TrimPrefix(p.Path, folder))
	}
	slices.Sort(names)
	if want := []string{"alias.md", "binary.md", "empty.md", "half.md", "huge.md", "link.md", "loop.md", "twin.md", "yaml.md"}; !slices.Equal(names, want) || len(r.Edits) > 0 {
		t.Errorf("problems %q and %d edits, want %q", names, len(r.Edits), want)
	}
	writeFile(t, v.path(teaFile), []byte("\xff"))
	if r := v.scan(); len(r.Edits) > 0 || len(r.Problems) != 10 {
		t.Errorf("a file of Loci's that became binary: %+v", r)
	}
	writeFile(t, v.path(teaFile), []byte(before["2026-01-05T10-00-00Z__tea.md"]))
	if diff := differ(tree(t, v.dir+"/entries/global/facts"), before); diff != "" {
		t.Errorf("files (-got +want):\n%s", diff)
	}
}

func TestWatchSeesEdits(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	reports := make(chan Report)
	ended := make(chan error, 1)
	go func() {
		ended <- v.Watch(ctx, func(r Report) error {
			select {
			case reports <- r:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	// A look may come while a file is half written, and then tells of that first.
	await := func(edits int) (last Report) {
		for {
			select {
			case last = <-reports:
				if len(last.Edits) == edits {
					return last
				}
			case <-ctx.Done():
				t.Fatalf("no report has %d edits, the last one is %+v", edits, last)
			}
		}
	}
	v.write("entries/new/facts/milk.md", "Ana likes milk\n")
	if r := await(1); r.Edits[0].Content.Fact.Content != "Ana likes milk" {
		t.Errorf("added: %+v", r)
	}
	v.write(teaFile, strings.Replace(v.read(teaFile), "drinks tea\n", "drinks green tea\n", 1))
	await(2)
	stop()
	if err := <-ended; err != context.Canceled {
		t.Errorf("watch ended with %v", err)
	}
}

// TestForgottenFileThatIsPutBackIsRestored takes a file out of a bin: Loci's own is
// among what is deleted meanwhile.
func TestForgottenFileThatIsPutBackIsRestored(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	text := v.read(teaFile)
	v.apply(memtest.Add(memtest.Fact(memtest.Ana, "another")))
	v.remove(teaFile)
	v.take(v.edit())
	if _, ok := tree(t, v.dir)["deleted/"+teaFile]; !ok {
		t.Fatalf("files: %q", keysOf(tree(t, v.dir)))
	}
	v.write(teaFile, text)
	e := v.edit()
	if e.Kind != Moved || e.FormerPath != "deleted/"+teaFile || e.Content.Fact.Status != memory.Active {
		t.Errorf("the edit is %+v", e)
	}
	v.take(e)
	if files := tree(t, v.dir); v.fact("tea").Status != memory.Active || files[teaFile] == "" || files["deleted/"+teaFile] != "" {
		t.Errorf("it is %s; files: %q", v.fact("tea").Status, keysOf(files))
	}
	v.quiet()
}

// TestRefusedFileIsNotDeleted looks at a vault before Loci's own file is there again.
func TestRefusedFileIsNotDeleted(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	v.write(teaFile, "---\nid: tea\n---\nwords of mine\n")
	r := v.scan()
	if len(r.Edits) != 1 {
		t.Fatalf("one file was edited: %+v", r)
	}
	v.files.disk.Lock() // until it is released, nothing is written
	err := v.files.makeConflictFile(teaFile)
	v.files.disk.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if r := v.scan(); len(r.Edits) > 0 || len(r.ConflictFiles) != 1 {
		t.Errorf("its file is put aside, not deleted: %+v", r)
	}
	v.reopen()
	v.settled()
	if r := v.scan(); len(r.Edits) > 0 || !strings.Contains(v.read(teaFile), tea().Content) {
		t.Errorf("after a start the memory's own file is there: %+v", r)
	}
}

// TestRefusedDeletionIsTakenBack looks at a vault before the file is there again, and then.
func TestRefusedDeletionIsTakenBack(t *testing.T) {
	v := newVault(t)
	v.apply(memtest.Add(tea()))
	was := v.read(teaFile)
	v.remove(teaFile)
	e := v.edit()
	noError(t)(v.Refuse(t.Context(), e))
	v.quiet()
	v.reopen()
	v.settled()
	if v.read(teaFile) != was {
		t.Error("its file is not there again")
	}
	v.quiet()
	v.remove(teaFile)
	if e := v.edit(); e.Kind != Deleted {
		t.Errorf("deleted once more: %+v", e)
	}
}
