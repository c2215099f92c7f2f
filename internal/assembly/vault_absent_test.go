package assembly

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/curate"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/memory"
)

// taught returns a vault in which a chat said two things in one turn and one in another, with a
// fact for each, and the id of each turn.
func taught(t *testing.T) (l *Loci, facts map[string]memory.Fact, turns map[string]string) {
	t.Helper()
	l, _, _, _ = among(t, "User owns a kite")
	ctx, owner := context.Background(), userOf("default")
	said := map[string][]string{
		"I live in Lisbon. I play chess.": {"User lives in Lisbon", "User plays chess"},
		"I like marzipan.":                {"User likes marzipan"},
	}
	facts, turns = map[string]memory.Fact{}, map[string]string{}
	for words, teaches := range said {
		if _, err := l.Record(ctx, "default", "chat", Message{Role: memory.RoleUser, Content: words}); err != nil {
			t.Fatal(err)
		}
		page, err := l.engine.List(ctx, owner, memory.Query{Kinds: []memory.Kind{memory.KindTurn}, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Memories {
			if m.Turn.Content == words {
				turns[words] = m.Turn.ID
			}
		}
		for _, fact := range teaches {
			facts[fact] = l.remember(t, fact)
		}
	}
	return l, facts, turns
}

func (l *Loci) look(t *testing.T, o vaultstore.ScanOptions) vaultstore.Report {
	t.Helper()
	r, err := l.vault.Look(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (l *Loci) turnIs(t *testing.T, id string, want memory.Status) {
	t.Helper()
	m, err := l.engine.Get(context.Background(), userOf("default"), id)
	if err != nil || m.Status() != want {
		t.Errorf("%q is %s, %v; want it %s", m.Content(), m.Status(), err, want)
	}
}

func removed(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// TestAFileThatIsBackBeforeItIsForgotten comes back between the look and what follows of it, and
// between two looks.
func TestAFileThatIsBackBeforeItIsForgotten(t *testing.T) {
	ctx := context.Background()
	l, f, path, text := among(t, "User owns a red bicycle")
	removed(t, path)
	l.look(t, vaultstore.ScanOptions{Settle: time.Hour})
	if got := l.fact(t, f.ID); got.Status != memory.Active {
		t.Errorf("gone for one look it is %s", got.Status)
	}
	r, err := l.vault.Store.Scan(ctx, vaultstore.ScanOptions{})
	if err != nil || len(r.Edits) != 1 {
		t.Fatalf("the report is %+v, %v", r, err)
	}
	put(t, path, text)
	if err := l.vault.Take(ctx, r); err != nil {
		t.Fatal(err)
	}
	if told := l.findings(t); l.fact(t, f.ID).Status != memory.Active || len(told) > 0 || string(readFile(t, path)) != text {
		t.Errorf("it is %s; doctor: %q", l.fact(t, f.ID).Status, told)
	}
	removed(t, path)
	for range 2 {
		l.look(t, vaultstore.ScanOptions{Settle: time.Nanosecond})
	}
	if got := l.fact(t, f.ID); got.Status != memory.Retired {
		t.Errorf("gone in two looks it is %s", got.Status)
	}
}

// TestWhatADeletedFileTookComesBackWithIt deletes the files of facts that a chat taught, alone and
// together, and puts back one or all.
func TestWhatADeletedFileTookComesBackWithIt(t *testing.T) {
	const both, one = "I live in Lisbon. I play chess.", "I like marzipan."
	for what, c := range map[string]struct {
		deleted, back []string
		turns         map[string]memory.Status
	}{
		"alone":           {[]string{"User likes marzipan"}, []string{"User likes marzipan"}, map[string]memory.Status{one: memory.Active}},
		"together":        {[]string{"User likes marzipan", "User plays chess"}, []string{"User likes marzipan", "User plays chess"}, map[string]memory.Status{one: memory.Active, both: memory.Active}},
		"one of two":      {[]string{"User likes marzipan", "User plays chess"}, []string{"User plays chess"}, map[string]memory.Status{one: memory.Retired, both: memory.Active}},
		"said with other": {[]string{"User lives in Lisbon", "User plays chess"}, []string{"User plays chess"}, map[string]memory.Status{both: memory.Retired}},
	} {
		t.Run(what, func(t *testing.T) {
			l, facts, turns := taught(t)
			paths, texts := map[string]string{}, map[string]string{}
			for _, words := range c.deleted {
				paths[words], texts[words] = l.settledFile(t, words)
			}
			for _, words := range c.deleted {
				removed(t, paths[words])
			}
			l.look(t, vaultstore.ScanOptions{Confirm: true})
			for words := range c.turns {
				l.turnIs(t, turns[words], memory.Retired)
			}
			was := map[string]memory.Fact{}
			for _, words := range c.deleted {
				if was[words] = l.fact(t, facts[words].ID); was[words].Status != memory.Retired {
					t.Fatalf("%q is %s", words, was[words].Status)
				}
				l.settledFile(t, words)
			}
			for _, words := range c.back {
				put(t, paths[words], texts[words])
			}
			l.look(t, vaultstore.ScanOptions{})
			for words, want := range c.turns {
				l.turnIs(t, turns[words], want)
			}
			for _, words := range c.back {
				if got := l.fact(t, facts[words].ID); got.Status != memory.Active || got.Trust != facts[words].Trust {
					t.Errorf("%q is %s, of %s", words, got.Status, got.Trust)
				}
				if at, _ := l.settledFile(t, words); at != paths[words] {
					t.Errorf("%q is in %s", words, at)
				}
			}
			if told := l.findings(t); len(told) > 0 {
				t.Errorf("doctor: %q", told)
			}
		})
	}
}

// TestTheRestComesBackLater puts two files back one after the other.
func TestTheRestComesBackLater(t *testing.T) {
	l, facts, turns := taught(t)
	paths, texts := map[string]string{}, map[string]string{}
	said := []string{"User lives in Lisbon", "User plays chess"}
	for _, words := range said {
		paths[words], texts[words] = l.settledFile(t, words)
	}
	for _, words := range said {
		removed(t, paths[words])
	}
	l.look(t, vaultstore.ScanOptions{Confirm: true})
	for _, words := range said {
		l.settledFile(t, words)
		put(t, paths[words], texts[words])
		l.look(t, vaultstore.ScanOptions{})
		if got := l.fact(t, facts[words].ID); got.Status != memory.Active {
			t.Errorf("%q is %s", words, got.Status)
		}
	}
	l.turnIs(t, turns["I live in Lisbon. I play chess."], memory.Active)
}

// TestWhatWasLearnedSinceStandsAgainstAFileThatIsBack: the file wins, as any that a person puts
// back, and what was said stays forgotten.
func TestWhatWasLearnedSinceStandsAgainstAFileThatIsBack(t *testing.T) {
	l, facts, turns := taught(t)
	path, text := l.settledFile(t, "User lives in Lisbon")
	removed(t, path)
	l.look(t, vaultstore.ScanOptions{Confirm: true})
	l.settledFile(t, "User lives in Lisbon")
	porto := l.remember(t, "User lives in Porto")
	put(t, path, text)
	l.look(t, vaultstore.ScanOptions{})
	if was, is := l.fact(t, porto.ID), l.fact(t, facts["User lives in Lisbon"].ID); is.Status != memory.Active || was.Status != memory.Superseded {
		t.Errorf("it is %s, and what was learned since %s", is.Status, was.Status)
	}
	l.turnIs(t, turns["I live in Lisbon. I play chess."], memory.Retired)
}

// TestWhatSomebodyForgotStaysSaidByNobody: a fact that was not forgotten by its file comes back
// without what was said.
func TestWhatSomebodyForgotStaysSaidByNobody(t *testing.T) {
	l, facts, turns := taught(t)
	path, text := l.settledFile(t, "User likes marzipan")
	id := facts["User likes marzipan"].ID
	if _, err := l.engine.Curate.Forget(context.Background(), userOf("default"), []string{id}, "asked", byProgram); err != nil {
		t.Fatal(err)
	}
	l.settledFile(t, "User likes marzipan")
	l.edited(t, path, text)
	if got := l.fact(t, id); got.Status != memory.Active {
		t.Errorf("it is %s", got.Status)
	}
	l.turnIs(t, turns["I like marzipan."], memory.Retired)
}

// TestWhatWasForgottenSinceStaysSaidByNobody: of two facts that one turn told the file of one was
// deleted, which forgot the turn, and the other, or the whole chat, was forgotten by a command
// afterwards.
func TestWhatWasForgottenSinceStaysSaidByNobody(t *testing.T) {
	const said, lives, plays = "I live in Lisbon. I play chess.", "User lives in Lisbon", "User plays chess"
	ctx, owner := context.Background(), userOf("default")
	for what, forget := range map[string]func(l *Loci, plays string) error{
		"the other fact": func(l *Loci, plays string) error {
			_, err := l.engine.Curate.Forget(ctx, owner, []string{plays}, "asked", byProgram)
			return err
		},
		"the chat": func(l *Loci, _ string) error {
			_, err := l.engine.Chats.DeleteChat(ctx, owner, "chat", false, byProgram)
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			l, facts, turns := taught(t)
			path, text := l.settledFile(t, lives)
			removed(t, path)
			l.look(t, vaultstore.ScanOptions{Confirm: true})
			l.turnIs(t, turns[said], memory.Retired)
			if err := forget(l, facts[plays].ID); err != nil {
				t.Fatal(err)
			}
			l.settledFile(t, lives)
			l.edited(t, path, text)
			if got := l.fact(t, facts[lives].ID); got.Status != memory.Active {
				t.Errorf("it is %s", got.Status)
			}
			l.turnIs(t, turns[said], memory.Retired)
		})
	}
}

// TestFilesDeletedOneAfterTheOtherComeBackTogether with the turn that told of both.
func TestFilesDeletedOneAfterTheOtherComeBackTogether(t *testing.T) {
	l, facts, turns := taught(t)
	paths, texts := map[string]string{}, map[string]string{}
	said := []string{"User lives in Lisbon", "User plays chess"}
	for _, words := range said {
		paths[words], texts[words] = l.settledFile(t, words)
		removed(t, paths[words])
		l.look(t, vaultstore.ScanOptions{Confirm: true})
		l.settledFile(t, words)
	}
	for words, path := range paths {
		put(t, path, texts[words])
	}
	l.look(t, vaultstore.ScanOptions{})
	for _, words := range said {
		if got := l.fact(t, facts[words].ID); got.Status != memory.Active {
			t.Errorf("%q is %s", words, got.Status)
		}
	}
	l.turnIs(t, turns["I live in Lisbon. I play chess."], memory.Active)
}

// TestComingBackCanBeUndone as any other change.
func TestComingBackCanBeUndone(t *testing.T) {
	ctx, owner := context.Background(), userOf("default")
	l, facts, turns := taught(t)
	id := facts["User likes marzipan"].ID
	path, text := l.settledFile(t, "User likes marzipan")
	removed(t, path)
	l.look(t, vaultstore.ScanOptions{Confirm: true})
	l.settledFile(t, "User likes marzipan")
	l.edited(t, path, text)
	page, err := l.engine.Store.Changes(ctx, owner, memory.ChangeQuery{Target: "fact:" + id, Limit: 1})
	if err != nil || len(page.Changes) != 1 {
		t.Fatal(err)
	}
	if _, err := l.engine.Curate.Undo(ctx, owner, curate.UndoRequest{Run: page.Changes[0].Run}, byProgram); err != nil {
		t.Fatal(err)
	}
	if at, _ := l.settledFile(t, "User likes marzipan"); l.fact(t, id).Status != memory.Retired || !strings.Contains(at, "deleted") {
		t.Errorf("it is %s, in %s", l.fact(t, id).Status, at)
	}
	l.turnIs(t, turns["I like marzipan."], memory.Retired)
}

// TestDoctorSaysWhatToDoAboutAFileWithoutWords: it may be half written.
func TestDoctorSaysWhatToDoAboutAFileWithoutWords(t *testing.T) {
	l, f, path, text := among(t, "User owns a red bicycle")
	put(t, path, strings.TrimSuffix(text, f.Content+"\n"))
	c, err := l.Doctor(context.Background(), true)
	if err != nil || len(c.Findings) != 1 || !strings.Contains(c.Findings[0].What, "no words") || !strings.Contains(c.Findings[0].Do, "delete the file") {
		t.Errorf("doctor: %+v, %v", c.Findings, err)
	}
	if got := l.fact(t, f.ID); got.Status != memory.Active || got.Content != f.Content {
		t.Errorf("it is %q, %s", got.Content, got.Status)
	}
}

// TestAFileThatAPersonNamedComesBackToWhereItLay: it was forgotten with its file, or by a command,
// under a name that is not Loci's.
func TestAFileThatAPersonNamedComesBackToWhereItLay(t *testing.T) {
	for how, forget := range map[string]func(t *testing.T, l *Loci, id, path string){
		"its file deleted": func(t *testing.T, l *Loci, _, path string) {
			removed(t, path)
			l.look(t, vaultstore.ScanOptions{})
		},
		"forgotten": func(t *testing.T, l *Loci, id, _ string) {
			if _, err := l.engine.Curate.Forget(context.Background(), userOf("default"), []string{id}, "asked", byProgram); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(how, func(t *testing.T) {
			l, f, path, _ := among(t, "User owns a red bicycle")
			named := filepath.Join(filepath.Dir(path), "My bicycle.md")
			if err := os.Rename(path, named); err != nil {
				t.Fatal(err)
			}
			l.look(t, vaultstore.ScanOptions{})
			path, text := l.settledFile(t, f.Content)
			if path != named {
				t.Fatalf("it is in %s", path)
			}
			forget(t, l, f.ID, path)
			l.settledFile(t, f.Content)
			if got := l.fact(t, f.ID); got.Status != memory.Retired {
				t.Fatalf("it is %s", got.Status)
			}
			put(t, named, text)
			l.look(t, vaultstore.ScanOptions{})
			if at, _ := l.settledFile(t, f.Content); at != named || l.fact(t, f.ID).Status != memory.Active {
				t.Errorf("it is %s, in %s", l.fact(t, f.ID).Status, at)
			}
			if told := l.findings(t); len(told) > 0 {
				t.Errorf("doctor: %q", told)
			}
		})
	}
}
