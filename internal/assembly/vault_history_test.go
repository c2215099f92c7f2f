package assembly

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/files"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/internal/vaultsync"
	"github.com/loci-memory/loci/memory"
)

// lately is the last change of a fact.
func (l *Loci) lately(t *testing.T, id string) memory.Change {
	t.Helper()
	page, err := l.engine.Store.Changes(context.Background(), userOf("default"), memory.ChangeQuery{Target: "fact:" + id, Limit: 1})
	if err != nil || len(page.Changes) == 0 {
		t.Fatalf("no history of %s: %v", id, err)
	}
	return page.Changes[0]
}

// TestASaveIsOneRun changes words, tags, relations and status of a file at once: with the turn
// that says the same it is one run, which one undo takes back.
func TestASaveIsOneRun(t *testing.T) {
	ctx, owner := context.Background(), userOf("default")
	for name, c := range map[string]struct {
		pending bool
		to      memory.Status
		deleted bool // moved there instead
		action  memory.Action
		why     string
	}{
		"forgotten":         {to: memory.Retired, action: memory.ActionRetire, why: "its file says that it is retired"},
		"moved":             {to: memory.Active, deleted: true, action: memory.ActionRetire, why: "its file was moved to what is deleted"},
		"rejected":          {pending: true, to: memory.Rejected, action: memory.ActionReject, why: "reject by a person"},
		"rejected at last":  {to: memory.Rejected, action: memory.ActionReject, why: "reject by a person"},
		"approved":          {pending: true, to: memory.Active, action: memory.ActionApprove, why: "approve by a person"},
		"forgotten pending": {pending: true, to: memory.Retired, action: memory.ActionRetire, why: "its file says that it is retired"},
	} {
		t.Run(name, func(t *testing.T) {
			l, other, _, _ := among(t, "User lives in Oslo")
			l.say(t, "I have a dog named Rex.")
			f := l.waiting(t, "User has a dog named Rex")
			if !c.pending {
				if _, _, err := l.engine.Curate.Judge(ctx, owner, []curate.Judgement{{ID: f.ID, Action: memory.ActionApprove}}, "", byProgram); err != nil {
					t.Fatal(err)
				}
			}
			was := l.everything(t)
			path, text := l.settledFile(t, f.Content)
			text = strings.Replace(text, "kind: fact\n", "kind: fact\ntags: [pets]\nrefines: [\"[["+other.ID+"]]\"]\n", 1)
			text = strings.Replace(text, f.Content, "User has a cat named Tom", 1)
			stands := l.fact(t, f.ID).Status
			text = strings.Replace(text, "status: "+string(stands), "status: "+string(c.to), 1)
			before := l.lately(t, f.ID)
			to := path
			if c.deleted {
				to = strings.Replace(path, "/entries/", "/deleted/entries/", 1)
				if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
					t.Fatal(err)
				}
				removed(t, path)
			}
			put(t, to, text)
			l.look(t, vaultstore.ScanOptions{})
			got := l.fact(t, f.ID)
			last := l.lately(t, f.ID)
			if got.Content != "User has a cat named Tom" || len(got.Tags) != 1 || last.Action != c.action || last.Author != files.ByFile || last.Reason != c.why {
				t.Errorf("it is %s and says %q %q; %s by %s: %s", got.Status, got.Content, got.Tags, last.Action, last.Author.Name, last.Reason)
			}
			since, err := l.engine.Store.Changes(ctx, owner, memory.ChangeQuery{After: before.At})
			if err != nil {
				t.Fatal(err)
			}
			ties, turns := 0, 0
			for _, one := range since.Changes {
				if one.Run != last.Run && one.Run != before.Run {
					t.Errorf("%s of %s is a run of its own: %s", one.Action, one.After.Target(), one.Reason)
				}
				if one.After.Relation != nil {
					ties++
				}
				if one.After.Turn != nil {
					turns++
				}
			}
			if ties != 1 {
				t.Errorf("it has %d relations more, want 1", ties)
			}
			if forgets := c.action == memory.ActionRetire; forgets != (turns > 0) {
				t.Errorf("%d turns left recall with it", turns)
			}
			if _, err := l.engine.Curate.Undo(ctx, owner, curate.UndoRequest{Run: last.Run}, byProgram); err != nil {
				t.Fatal(err)
			}
			is := l.everything(t)
			for id, want := range was {
				if is[id] != want {
					t.Errorf("after the undo\n%s\nand was\n%s", is[id], want)
				}
			}
		})
	}
}

// TestHistorySaysWhatFilesEndedAndRestored goes to an older state of the files and back, as git
// checkout does.
func TestHistorySaysWhatFilesEndedAndRestored(t *testing.T) {
	l, oslo, oldPath, oldText := among(t, "User lives in Oslo")
	dog := l.remember(t, "User has a dog named Rex")
	dogPath, dogText := l.settledFile(t, dog.Content)
	rome := l.remember(t, "User lives in Rome")
	romePath, romeText := l.settledFile(t, rome.Content)
	tea := l.remember(t, "User drinks tea")
	teaPath, teaText := l.settledFile(t, tea.Content)
	if _, err := l.engine.Curate.Forget(t.Context(), userOf("default"), []string{dog.ID}, "asked", byProgram); err != nil {
		t.Fatal(err)
	}
	gonePath, goneText := l.settledFile(t, oslo.Content)
	goneDog, goneDogText := l.settledFile(t, dog.Content)
	said := func(what string, id string, action memory.Action, why, verb string) {
		t.Helper()
		c := l.lately(t, id)
		if c.Action != action || c.Reason != why || c.Author != files.ByFile {
			t.Errorf("%s: %s by %s: %q, want %s: %q", what, c.Action, c.Author.Name, c.Reason, action, why)
		}
		if line := vaultsync.ChangeLine(c, []memory.Change{c}); !strings.HasPrefix(line, verb+": ") {
			t.Errorf("%s: git says %q, want %s", what, line, verb)
		}
	}
	look := func() {
		t.Helper()
		l.look(t, vaultstore.ScanOptions{})
		if err := l.vault.Store.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	removed(t, gonePath)
	removed(t, goneDog)
	removed(t, romePath)
	removed(t, teaPath)
	put(t, oldPath, oldText)
	put(t, dogPath, dogText)
	look()
	said("what was replaced", oslo.ID, memory.ActionRestore, "its file was put back, and says that it is active", "restored")
	said("what was forgotten", dog.ID, memory.ActionRestore, "its file was put back, and says that it is active", "restored")
	said("what came later", rome.ID, memory.ActionRetire, "its file was deleted, with others", "forgotten")
	said("what came later", tea.ID, memory.ActionRetire, "its file was deleted, with others", "forgotten")
	removed(t, oldPath)
	removed(t, dogPath)
	put(t, gonePath, goneText)
	put(t, goneDog, goneDogText)
	put(t, romePath, romeText)
	put(t, teaPath, teaText)
	look()
	said("what was replaced", oslo.ID, memory.ActionReplace, "its file was put back, and says that it is superseded", "no longer")
	said("what was forgotten", dog.ID, memory.ActionRetire, "its file was put back, and says that it is retired", "forgotten")
	said("what came later, in its place", rome.ID, memory.ActionRestore, "its file was put back, and says that it is active", "restored")
	said("what came later", tea.ID, memory.ActionRestore, "its file is back", "restored")
	if c := l.lately(t, oslo.ID); c.OldID != oslo.ID || c.NewID != rome.ID {
		t.Errorf("%q was replaced by %q", c.OldID, c.NewID)
	}
	removed(t, goneDog)
	put(t, dogPath, strings.Replace(goneDogText, "kind: fact\n", "kind: fact\ntags: [pets]\n", 1))
	look()
	said("what a person moved back", dog.ID, memory.ActionRestore, "its file was moved back from what is deleted", "restored")
}
