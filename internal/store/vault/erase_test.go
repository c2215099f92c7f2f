package vault

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// secret stands in all that these tests erase.
const secret = "marzipan"

// whoSays returns the files of a folder, Loci's own too, that hold the secret.
func whoSays(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	noError(t)(filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if strings.Contains(strings.ToLower(name+string(readFile(t, name))), secret) {
			out = append(out, name)
		}
		return nil
	}))
	return out
}

// sweet fills a vault with talk and facts that say the secret in every place that
// there is, and returns the ids of what to erase. One was forgotten before.
func sweet(v *vault) []string {
	v.Helper()
	batch := memtest.Batch(memtest.Ana, "c", 0, "I like "+secret, "So "+secret+" it is", "I play chess")
	batch.Conversation.Title = "I like " + secret
	noError(v)(v.Append(v.T.Context(), memtest.Ana, batch))
	again := memtest.Batch(memtest.Ana, "c", 3, "And go")
	again.Conversation.Title = batch.Conversation.Title
	noError(v)(v.Append(v.T.Context(), memtest.Ana, again))
	likes, loves, other := memtest.Fact(memtest.Ana, "Ana likes "+secret), memtest.Fact(memtest.Ana, "Ana loves "+secret), memtest.Fact(memtest.Ana, "Ana plays chess")
	likes.Tags, likes.Category = []string{secret}, secret
	v.apply(memtest.Add(likes), memtest.Add(loves), memtest.Add(other))
	likes.Content, likes.Hash = "Ana adores "+secret, memtest.Hash("Ana adores "+secret)
	edit := memtest.Change(memory.ActionUpdate, likes)
	edit.Reason = secret + " again"
	v.apply(edit)
	about := memtest.Change(memory.ActionUpdate, other)
	about.OldID, about.Reason = likes.ID, "no "+secret
	v.apply(about)
	v.apply(memtest.Retire(v.fact(loves.ID)))
	summary := memtest.Summary(memtest.Ana, "c", "They spoke of "+secret)
	v.apply(memtest.Change(memory.ActionAdd, summary))
	return []string{likes.ID, loves.ID, batch.Turns[0].ID, batch.Turns[1].ID, summary.ID}
}

// TestNoFileHasWhatWasErased erases what is in live and deleted files, in lines that a person
// added to them and beside them.
func TestNoFileHasWhatWasErased(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	ids := sweet(v)
	v.settled()
	for name, text := range tree(t, v.dir) {
		if strings.Contains(text, secret) && strings.Contains(name, "facts") {
			v.write(name, strings.Replace(text, "---\n", "---\nnote: "+secret+"\n", 1))
			v.write(strings.TrimSuffix(name, ".md")+conflictMark+"2026-01-01.md", secret)
			other := "deleted/" + name // where it lay when the words were kept
			if before, ok := strings.CutPrefix(name, "deleted/"); ok {
				other = before
			}
			v.write(strings.TrimSuffix(other, ".md")+conflictMark+"2026-01-02.md", secret)
			v.write(fmt.Sprintf("entries/trip/facts/Mine %d%s2026-01-01.md", len(text), conflictMark), text)
		}
	}
	if len(whoSays(t, v.dir)) < 8 {
		t.Fatalf("too few files have the word: %q", whoSays(t, v.dir))
	}
	receipt := try(v.Erase(t.Context(), memtest.Ana, memtest.Run("erase"), ids...)).orFail(t)
	if receipt.Changes != len(ids) {
		t.Errorf("it erased %d things, want %d", receipt.Changes, len(ids))
	}
	if left := whoSays(t, v.dir); len(left) > 0 {
		t.Errorf("these still have it: %q", left)
	}
	v.apply(memtest.Add(memtest.Fact(memtest.Ana, "Ana plays go")))
	want := exports(t, v.Store, memtest.Ana)
	v.reopen()
	if diff := differ(exports(t, v.Store, memtest.Ana), want); diff != "" {
		t.Errorf("after a start (-got +want):\n%s", diff)
	}
	v.settled()
	v.quiet()
	if left := whoSays(t, v.dir); len(left) > 0 {
		t.Errorf("after a start these have it: %q", left)
	}
	said := []memory.Turn{{Role: memory.RoleUser, Content: "I like " + secret}, {Role: memory.RoleUser, Content: "I play chess"}}
	if known, err := v.HasTombstones(t.Context(), memtest.Ana, said...); err != nil || !known[0] || known[1] {
		t.Errorf("known again after a start: %v, %v; want what was erased alone", known, err)
	}
	again, err := v.Erase(t.Context(), memtest.Ana, memtest.Run("erase"), ids...)
	if err != nil || !again.Again || again.Version != receipt.Version {
		t.Errorf("the same run again: %+v, %v", again, err)
	}
}

// TestEraseIsFinishedAfterACrash copies the vault and its database at every point of
// an erasure, and opens each copy: the words are gone everywhere, or nothing is.
func TestEraseIsFinishedAfterACrash(t *testing.T) {
	t.Parallel()
	v := newVaultOnDisk(t)
	ids := sweet(v)
	v.settled()
	copies := v.copies(func() {
		noError(t)(v.Erase(t.Context(), memtest.Ana, memtest.Run("erase"), ids...))
	})
	want := exports(t, v.Store, memtest.Ana)
	db := func(dir string) OpenStore { return inSQLite(filepath.Join(dir, "db", "loci.db")) }
	for _, dir := range copies {
		c, err := Open(t.Context(), dir, db(dir), Options{Now: v.now.Now, HomeOwner: memtest.Ana})
		if err != nil {
			t.Fatalf("%s: %v", filepath.Base(dir), err)
		}
		if err := c.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		got := exports(t, c, memtest.Ana)
		noError(t)(c.Close())
		if left := whoSays(t, dir); len(left) > 0 {
			t.Errorf("%s: these still have it: %q", filepath.Base(dir), left)
		}
		if diff := differ(got, want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", filepath.Base(dir), diff)
		}
	}
}

// TestWhatIsErasedBeforeARefusalIsInNoConflictFile erases memories while edits of their files are
// looked at that are refused afterwards: under other names, in what is deleted, and where they lay.
func TestWhatIsErasedBeforeARefusalIsInNoConflictFile(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]string{
		"where it lay": teaFile,
		"renamed":      "entries/global/facts/My tea.md",
		"deleted":      "deleted/" + teaFile,
		"of a chat":    "entries/trip/facts/My tea.md",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVault(t)
			v.apply(memtest.Add(tea()))
			v.apply(memtest.Add(memtest.Fact(memtest.Ana, "Ana plays chess")))
			v.settled()
			text := strings.Replace(v.read(teaFile), "Ana drinks tea", "Ana drinks tea with "+secret, 1)
			v.move(teaFile, to)
			v.write(to, text)
			e := v.edit()
			noError(t)(v.Erase(t.Context(), memtest.Ana, memtest.Run("erase"), "tea"))
			if left := whoSays(t, v.dir); len(left) > 0 {
				t.Errorf("after the erasure these have it: %q", left)
			}
			v.write(to, text) // saved once more, by who had it open
			noError(t)(v.Refuse(t.Context(), e))
			if left := whoSays(t, v.dir); len(left) > 0 { // a kill here, and nobody may look again
				t.Errorf("after the refusal these have it: %q", left)
			}
			v.settled()
			for _, e := range v.scan().Edits {
				noError(t)(v.Refuse(t.Context(), e))
			}
			v.settled()
			if left := whoSays(t, v.dir); len(left) > 0 {
				t.Errorf("these have it: %q", left)
			}
			v.quiet()
		})
	}
}
