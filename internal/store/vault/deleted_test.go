package vault

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// several returns a vault with some facts besides tea, so that a few files that are gone are
// not held back.
func several(t *testing.T) *vault {
	t.Helper()
	v := newVault(t)
	changes := []memory.Change{memtest.Add(tea())}
	for _, what := range []string{"bread", "maps", "rain", "snow", "wind", "salt", "sand", "silk", "wool", "wine"} {
		changes = append(changes, memtest.Add(memtest.Fact(memtest.Ana, "Ana likes "+what)))
	}
	v.apply(changes...)
	v.settled()
	return v
}

// fileOf is the file that says words.
func (v *vault) fileOf(words string) string {
	v.Helper()
	for name, text := range tree(v.T, v.dir) {
		if strings.HasSuffix(text, "\n"+words+"\n") {
			return name
		}
	}
	v.Fatalf("no file says %q", words)
	return ""
}

// TestFileThatIsAwayForAMomentIsNotDeleted takes a file away for one look, and then for good.
func TestFileThatIsAwayForAMomentIsNotDeleted(t *testing.T) {
	v := several(t)
	text := v.read(teaFile)
	long := ScanOptions{DeletionDelay: time.Hour}
	for range 2 {
		v.remove(teaFile)
		if r := v.scan(long); len(r.Edits)+len(r.UnconfirmedDeletions)+len(r.Problems) > 0 || r.untilDeleted == 0 {
			t.Errorf("away for one look: %+v", r)
		}
		v.write(teaFile, text)
		if r := v.scan(ScanOptions{DeletionDelay: time.Nanosecond}); len(r.Edits) > 0 || r.untilDeleted != 0 {
			t.Errorf("it is back: %+v", r)
		}
	}
	v.remove(teaFile)
	v.scan(long)
	if r := v.scan(ScanOptions{DeletionDelay: time.Nanosecond}); len(r.Edits) != 1 || r.Edits[0].Kind != Deleted {
		t.Errorf("gone in two looks: %+v", r)
	}
	v.files.missingSince = nil
	if r := v.scan(ScanOptions{DeletionDelay: time.Hour, ConfirmDeletions: true}); len(r.Edits) != 1 {
		t.Errorf("confirmed: %+v", r)
	}
	if r := v.scan(); len(r.Edits) != 1 {
		t.Errorf("at a start: %+v", r)
	}
}

// TestNothingIsWrittenWhereAFileMayComeBack changes a memory whose file is away.
func TestNothingIsWrittenWhereAFileMayComeBack(t *testing.T) {
	v := several(t)
	text := strings.Replace(v.read(teaFile), "kind: fact\n", "kind: fact\nmine: 1\n", 1)
	v.write(teaFile, text)
	v.quiet()
	v.remove(teaFile)
	v.scan(ScanOptions{DeletionDelay: time.Hour})
	f := v.fact("tea")
	f.Core = memory.CoreAlways
	v.apply(memtest.Change(memory.ActionUpdate, f))
	v.settled()
	if _, err := os.Stat(v.path(teaFile)); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the file that somebody took away is written again: %v", err)
	}
	v.write(teaFile, text)
	v.scan(ScanOptions{DeletionDelay: time.Hour})
	v.settled()
	if got := v.read(teaFile); !strings.Contains(got, "mine: 1\n") || !strings.Contains(got, "pinned: true\n") {
		t.Errorf("back, it says\n%s", got)
	}
}

// TestGoneLooksOnceMore puts files back between a look and its deletions.
func TestGoneLooksOnceMore(t *testing.T) {
	v := several(t)
	wine := v.fileOf("Ana likes wine")
	files := tree(t, v.dir)
	for _, name := range []string{teaFile, wine} {
		v.remove(name)
	}
	r := v.scan(ScanOptions{ConfirmDeletions: true})
	if len(r.Edits) != 2 {
		t.Fatalf("two files are gone: %+v", r)
	}
	v.write(teaFile, files[teaFile])
	if still := v.StillMissing(r.Edits); len(still) != 1 || still[0].Path != wine {
		t.Errorf("gone are %+v; want %s alone", still, wine)
	}
	if len(v.files.pendingEdits) != 1 {
		t.Errorf("edits that wait: %d", len(v.files.pendingEdits))
	}
}

// TestAFileThatIsBackBeforeItsDeletionIsAccepted is read as one that was put back.
func TestAFileThatIsBackBeforeItsDeletionIsAccepted(t *testing.T) {
	v := several(t)
	text := v.read(teaFile)
	v.remove(teaFile)
	e := v.edit()
	f := v.fact("tea")
	f.Status = memory.Retired
	v.apply(memtest.Change(memory.ActionRetire, f))
	v.write(teaFile, text)
	if err := v.Accept(t.Context(), e, ""); !errors.Is(err, memory.Conflict) {
		t.Errorf("accepted: %v", err)
	}
	v.settled()
	if e := v.edit(); e.Path != teaFile || e.Stored.Fact.Status != memory.Retired || e.Content.Fact.Status != memory.Active {
		t.Errorf("the edit is %+v", e)
	}
}

// TestAFileThatIsBackBeforeItIsWrittenElsewhere puts a file back once its deletion is accepted, and
// before Loci writes it among what is deleted.
func TestAFileThatIsBackBeforeItIsWrittenElsewhere(t *testing.T) {
	v := several(t)
	text := v.read(teaFile)
	v.remove(teaFile)
	e := v.edit()
	f := v.fact("tea")
	f.Status = memory.Retired
	v.apply(memtest.Change(memory.ActionRetire, f))
	v.files.disk.Lock() // until it is released, nothing is written
	err := v.files.acceptDeleted(e, key{e.Owner, e.Target})
	v.write(teaFile, text)
	v.files.disk.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	v.settled()
	if got := v.read(teaFile); got != text {
		t.Errorf("the file that is back says %q, want %q", got, text)
	}
	if e := v.edit(); e.Path != teaFile || e.Content.Fact.Status != memory.Active {
		t.Errorf("the edit is %+v", e)
	}
}

// TestWatchLetsDeletionsSettle takes a file away, by the clock of the test.
func TestWatchLetsDeletionsSettle(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		events := make(chan fsnotify.Event)
		notify := func() (*notices, error) {
			return &notices{events: events, watch: func(string) error { return nil }, close: func() error { return nil }}, nil
		}
		s := try(Open(t.Context(), dir, inMemory, Options{HomeOwner: memtest.Ana, notify: notify})).orFail(t)
		defer s.Close() //nolint:errcheck // it is not what is tested
		noError(t)(s.Apply(t.Context(), memtest.Ana, memtest.Run("1"), memtest.Add(tea())))
		noError(t)(s.Flush(t.Context()))
		found, ended := errors.New("found"), make(chan error, 1)
		go func() {
			ended <- s.Watch(context.Background(), func(r Report) error {
				if len(r.Edits) == 1 && r.Edits[0].Kind == Deleted {
					return found
				}
				return nil
			})
		}()
		synctest.Wait()
		begun := time.Now()
		noError(t)(os.Remove(filepath.Join(dir, teaFile)))
		events <- fsnotify.Event{Name: filepath.Join(dir, teaFile), Op: fsnotify.Remove}
		if err := <-ended; !errors.Is(err, found) {
			t.Errorf("the watch ended: %v", err)
		}
		if took := time.Since(begun); took < DeletionDelay || took > DeletionDelay+maxDebounce {
			t.Errorf("a deletion counted after %v; want about %v", took, DeletionDelay)
		}
	})
}

// TestFrontMatterWithoutWordsIsLeftAlone writes files piece by piece.
func TestFrontMatterWithoutWordsIsLeftAlone(t *testing.T) {
	v := several(t)
	text := v.read(teaFile)
	front := text[:strings.LastIndex(text, "---\n")+4]
	for what, name := range map[string]string{"in place": teaFile, "moved": "entries/trip/facts/tea.md"} {
		v.remove(teaFile)
		v.write(name, front)
		for range 2 {
			if r := v.scan(); len(r.Edits) > 0 || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Advice, "delete the file") {
				t.Errorf("%s: %+v", what, r)
			}
		}
		v.remove(name)
		v.write(teaFile, text)
		v.quiet()
	}
	v.write(teaFile, front+"Ana drinks green tea\n")
	if e := v.edit(); e.Content.Fact.Content != "Ana drinks green tea" {
		t.Errorf("with words: %+v", e)
	}
	v.write(teaFile, text)
	v.write("entries/global/facts/new.md", "---\ntags: [x]\n---\n")
	if r := v.scan(); len(r.Edits) > 0 || len(r.Problems) != 1 {
		t.Errorf("a new file: %+v", r)
	}
}

// TestWhatHasNoWordsIsEdited: an answer that only called tools says nothing.
func TestWhatHasNoWordsIsEdited(t *testing.T) {
	v := newVault(t)
	b := memtest.Batch(memtest.Ana, "c", 0, "which trains?", "")
	noError(t)(v.Append(t.Context(), memtest.Ana, b))
	v.settled()
	names := keysOf(tree(t, v.dir))
	at := names[slices.IndexFunc(names, func(n string) bool { return strings.Contains(n, "/turns/assistant/") })]
	v.move(at, "deleted/"+at)
	if e := v.edit(); e.Kind != Moved || e.Content.Turn.Status != memory.Retired {
		t.Errorf("the edit is %+v", e)
	}
}

// TestAFileThatComesBackDuringALookIsNotGone: the walk had passed its folder.
func TestAFileThatComesBackDuringALookIsNotGone(t *testing.T) {
	v := several(t)
	text := v.read(teaFile)
	v.remove(teaFile)
	sc := &scan{f: v.files, existingPaths: map[string]bool{}}
	noError(t)(sc.walkFolder(t.Context()))
	if gone := sc.missingRecords(); gone[teaFile] == nil {
		t.Errorf("gone are %v", gone)
	}
	v.write(teaFile, text)
	if gone := sc.missingRecords(); len(gone) > 0 {
		t.Errorf("it is back, but gone are %v", gone)
	}
}
