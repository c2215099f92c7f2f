package assembly

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/files"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/memory"
)

// restarted closes a memory in a vault and opens it again, without the paths that go meanwhile.
func (l *Loci) restarted(t *testing.T, dir string, gone ...string) *Loci {
	t.Helper()
	closed(t, l)
	for _, name := range gone {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return vaultAt(t, dir)
}

// waiting is a fact that waits for review.
func (l *Loci) waiting(t *testing.T, content string) memory.Fact {
	t.Helper()
	f := l.remember(t, content)
	path, text := l.settledFile(t, content)
	l.edited(t, path, strings.Replace(text, "status: active", "status: pending", 1))
	if f = l.fact(t, f.ID); f.Status != memory.Pending {
		t.Fatalf("put back to review by its file a fact is %s", f.Status)
	}
	return f
}

func (l *Loci) fact(t *testing.T, id string) memory.Fact {
	t.Helper()
	m, err := l.engine.Get(context.Background(), userOf("default"), id)
	if err != nil || m.Fact == nil {
		t.Fatalf("no fact %s: %v", id, err)
	}
	return *m.Fact
}

func (l *Loci) findings(t *testing.T, confirm ...bool) []string {
	t.Helper()
	c, err := l.Doctor(context.Background(), len(confirm) > 0)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, f := range c.Findings {
		out = append(out, f.Path+": "+f.What)
	}
	return out
}

// standing lets a person write a status into the file of a fact and tells what became of it.
type standing struct {
	was, writes memory.Status
	is          memory.Status // then
	told        string        // by doctor, "" for nothing
}

var standings = []standing{
	{memory.Pending, memory.Rejected, memory.Rejected, ""},
	{memory.Pending, memory.Retired, memory.Retired, ""},
	{memory.Pending, memory.Active, memory.Active, ""},
	{memory.Active, memory.Retired, memory.Retired, ""},
	{memory.Active, memory.Rejected, memory.Rejected, ""},
	{memory.Active, memory.Pending, memory.Pending, ""},
	{memory.Retired, memory.Active, memory.Active, ""},
	{memory.Rejected, memory.Active, memory.Active, ""},
	{memory.Retired, memory.Pending, memory.Pending, ""},
	{memory.Retired, memory.Rejected, memory.Rejected, ""},
	{memory.Active, memory.Superseded, memory.Active, "which only Loci makes it"},
	{memory.Retired, memory.Superseded, memory.Retired, "which only Loci makes it"},
	{memory.Active, "deleted", memory.Active, `not "deleted"`},
	{memory.Active, "forgotten", memory.Active, `not "forgotten"`},
}

// TestStatusThatAPersonWritesIsDone writes each status into files while Loci runs, and while it
// does not. File and memory agree afterwards, or doctor says why not.
func TestStatusThatAPersonWritesIsDone(t *testing.T) {
	for _, down := range []bool{false, true} {
		t.Run(fmt.Sprint("down=", down), func(t *testing.T) {
			dir := t.TempDir()
			l := vaultAt(t, dir)
			defer func() { closed(t, l) }()
			facts := make([]memory.Fact, len(standings))
			files := make([]string, len(standings))
			texts := make([]string, len(standings))
			for i, s := range standings {
				words := fmt.Sprintf("User knows number %c", 'A'+i)
				facts[i] = l.waiting(t, words)
				if s.was != memory.Pending {
					path, text := l.settledFile(t, words)
					l.edited(t, path, strings.Replace(text, "status: pending", "status: "+string(s.was), 1))
				}
				files[i], texts[i] = l.settledFile(t, words)
				if got := l.fact(t, facts[i].ID).Status; got != s.was {
					t.Fatalf("%q is %s, want %s", words, got, s.was)
				}
			}
			write := func() {
				for i, s := range standings {
					text := strings.Replace(texts[i], "status: "+string(s.was), "status: "+string(s.writes), 1)
					if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			if down {
				closed(t, l)
				write()
				l = vaultAt(t, dir)
			} else {
				write()
			}
			for _, again := range []bool{false, true} {
				if again {
					l = l.restarted(t, dir)
				}
				told := strings.Join(l.findings(t), "\n")
				for i, s := range standings {
					path, text := l.settledFile(t, facts[i].Content)
					got := l.fact(t, facts[i].ID).Status
					if got != s.is {
						t.Errorf("%s, to which a person writes %s, is %s, want %s", s.was, s.writes, got, s.is)
					}
					name := filepath.Base(path)
					switch says := strings.Contains(text, "status: "+string(got)+"\n"); {
					case s.told == "" && (!says || strings.Contains(told, name)):
						t.Errorf("%s, to which a person writes %s: memory says %s and the file\n%s\ndoctor: %s", s.was, s.writes, got, text, told)
					case s.told != "" && (says || !strings.Contains(told, name) || !strings.Contains(told, s.told)):
						t.Errorf("%s, to which a person writes %s: doctor says %q, and the file\n%s", s.was, s.writes, told, text)
					}
					if dead := strings.Contains(path, "deleted"); dead == got.Live() {
						t.Errorf("what is %s lies in %s", got, path)
					}
				}
			}
		})
	}
}

// TestRejectedByItsFile is as rejected by the review: the same change, by a person.
func TestRejectedByItsFile(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	l := vaultAt(t, dir)
	defer closed(t, l)
	owner := userOf("default")
	byPage, byHand := l.waiting(t, "User has a cat"), l.waiting(t, "User has a dog")
	if _, _, err := l.engine.Curate.Judge(ctx, owner, []curate.Judgement{{ID: byPage.ID, Action: memory.ActionReject}}, "", files.ByFile); err != nil {
		t.Fatal(err)
	}
	path, text := l.settledFile(t, byHand.Content)
	l.edited(t, path, strings.NewReplacer("status: pending", "status: rejected", "kind: fact\n", "kind: fact\ntags: [pets]\n").Replace(text))
	last := func(id string) memory.Change {
		page, err := l.engine.History(ctx, owner, id, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Changes {
			if c.Action == memory.ActionReject {
				return c
			}
		}
		t.Fatalf("%s was not rejected: %+v", id, page.Changes)
		return memory.Change{}
	}
	want, got := last(byPage.ID), last(byHand.ID)
	if got.Action != want.Action || got.Author != want.Author || got.Reason != want.Reason || got.After.Status() != want.After.Status() {
		t.Errorf("by its file it is %+v, by the page %+v", got, want)
	}
	if f := l.fact(t, byHand.ID); len(f.Tags) != 1 || f.Status != memory.Rejected {
		t.Errorf("what else the file says is lost: %+v", f)
	}
}

// TestForgottenByItsStatusComesBack undoes it, with what else the file said.
func TestForgottenByItsStatusComesBack(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	l := vaultAt(t, dir)
	defer closed(t, l)
	home, other := l.remember(t, "User plays chess"), l.remember(t, "User lives in Porto")
	path, text := l.settledFile(t, home.Content)
	l.edited(t, path, strings.NewReplacer("status: active", "status: retired", "User plays chess", "User lives in Faro").Replace(text))
	if f := l.fact(t, home.ID); f.Status != memory.Retired || f.Content != "User lives in Faro" {
		t.Errorf("it is %s and says %q", f.Status, f.Content)
	}
	if f := l.fact(t, other.ID); f.Status != memory.Active {
		t.Errorf("words that nobody is to recall ended a fact: it is %s", f.Status)
	}
	page, err := l.engine.Store.Changes(ctx, userOf("default"), memory.ChangeQuery{Target: "fact:" + home.ID})
	if err != nil || len(page.Changes) != 2 || page.Changes[0].Action != memory.ActionRetire || page.Changes[0].Author != files.ByFile {
		t.Fatalf("forgotten and reworded in one: %+v, %v", page.Changes, err)
	}
	if _, err := l.engine.Curate.Undo(ctx, userOf("default"), curate.UndoRequest{Run: page.Changes[0].Run}, byProgram); err != nil {
		t.Fatal(err)
	}
	if got := l.fact(t, home.ID); got.Content != home.Content {
		t.Errorf("undone it says %q, want %q", got.Content, home.Content)
	}
	if again, _ := l.settledFile(t, home.Content); again != path || l.fact(t, home.ID).Status != memory.Active {
		t.Errorf("undone it lies in %s, want %s", again, path)
	}
}

// TestStatusCountsWithoutDatabase writes a status while there are only files.
func TestStatusCountsWithoutDatabase(t *testing.T) {
	for _, gone := range [][]string{{"data"}, {"data", "vault/.loci"}} {
		t.Run(strings.Join(gone, " "), func(t *testing.T) {
			dir := t.TempDir()
			l := vaultAt(t, dir)
			ids, files := map[string]string{}, map[string]string{}
			for _, to := range []string{"retired", "rejected", "pending", "superseded"} {
				words := "User knows " + to
				ids[to] = l.remember(t, words).ID
				files[to], _ = l.settledFile(t, words)
			}
			for range 20 { // so that few are few
				l.remember(t, fmt.Sprintf("User has number %d", len(ids)))
				ids[fmt.Sprint(len(ids))] = ""
			}
			closed(t, l)
			for to, path := range files {
				text := strings.Replace(string(readFile(t, path)), "status: active", "status: "+to, 1)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			l = vaultAt(t, dir)
			closed(t, l)
			for _, name := range gone {
				if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			for to, path := range files { // and once more from the files alone
				if text, err := os.ReadFile(path); err == nil && to != "superseded" && strings.Contains(string(text), "status: active") {
					t.Errorf("%s was not taken over:\n%s", to, text)
				}
			}
			l = vaultAt(t, dir)
			defer closed(t, l)
			for _, to := range []memory.Status{memory.Retired, memory.Rejected, memory.Pending} {
				if got := l.fact(t, ids[string(to)]).Status; got != to {
					t.Errorf("written %s, it is %s", to, got)
				}
			}
			if told := l.findings(t); len(told) != 1 || !strings.Contains(told[0], "which only Loci makes it") {
				t.Errorf("doctor: %q", told)
			}
		})
	}
}

// TestStatusIsReadFromFilesAlone writes a status where nothing else is left to compare with.
func TestStatusIsReadFromFilesAlone(t *testing.T) {
	dir := t.TempDir()
	l := vaultAt(t, dir)
	fact := l.remember(t, "User plays chess")
	path, text := l.settledFile(t, fact.Content)
	closed(t, l)
	for _, name := range []string{"data", "vault/.loci"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte(strings.Replace(text, "status: active", "status: retired", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	l = vaultAt(t, dir)
	defer closed(t, l)
	if got := l.fact(t, fact.ID).Status; got != memory.Retired {
		t.Errorf("its file says retired, and it is %s", got)
	}
	if at, _ := l.settledFile(t, fact.Content); !strings.Contains(at, "deleted") {
		t.Errorf("its file is %s", at)
	}
	if told := l.findings(t); len(told) > 0 {
		t.Errorf("doctor: %q", told)
	}
}

// TestConfirmedDeletionsAreOneUndo deletes most files at once.
func TestConfirmedDeletionsAreOneUndo(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	l := vaultAt(t, dir)
	defer closed(t, l)
	var facts []memory.Fact
	for i := range 21 {
		facts = append(facts, l.remember(t, fmt.Sprintf("User owns %c%c", 'a'+i, 'k'+i/2)))
	}
	path, _ := l.settledFile(t, facts[20].Content)
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if told := l.findings(t); len(told) != 1 || !strings.Contains(told[0], "21 files are gone at once") {
		t.Fatalf("they wait, but: %q", told)
	}
	if told := l.findings(t, true); len(told) > 0 {
		t.Fatalf("confirmed, but: %q", told)
	}
	page, err := l.engine.Store.Changes(ctx, userOf("default"), memory.ChangeQuery{Limit: 1})
	if err != nil || page.Changes[0].Author != files.ByFile {
		t.Fatalf("the last change is %+v, %v", page.Changes, err)
	}
	if _, err := l.engine.Curate.Undo(ctx, userOf("default"), curate.UndoRequest{Run: page.Changes[0].Run}, byProgram); err != nil {
		t.Fatal(err)
	}
	for _, f := range facts {
		if got := l.fact(t, f.ID).Status; got != memory.Active {
			t.Errorf("%q is %s after one undo", f.Content, got)
		}
	}
	l.settledFile(t, facts[20].Content)
	if told := l.findings(t); len(told) > 0 {
		t.Errorf("after the undo: %q", told)
	}
}

// TestFrontMatterThatAPersonChanges changes one key of a file at a time: it is taken over, or
// written back, and file and memory say the same afterwards.
func TestFrontMatterThatAPersonChanges(t *testing.T) {
	dir := t.TempDir()
	l := vaultAt(t, dir)
	defer func() { closed(t, l) }()
	fact := l.remember(t, "User plays chess")
	is := func(do func(memory.Fact) any) func() any { return func() any { return do(l.fact(t, fact.ID)) } }
	category := is(func(f memory.Fact) any { return f.Category })
	for _, c := range []struct {
		line string
		is   func() any
		want any
	}{
		{"pinned: \"yes\"", is(func(f memory.Fact) any { return f.Pinned() }), true},
		{"pinned: no", is(func(f memory.Fact) any { return f.Pinned() }), false},
		{"core: never", is(func(f memory.Fact) any { return f.Core }), memory.CoreNever},
		{"core: auto", is(func(f memory.Fact) any { return f.Core }), memory.CoreAuto},
		{"tags: game, fun", is(func(f memory.Fact) any { return strings.Join(f.Tags, "|") }), "game|fun"},
		{"tags: game", is(func(f memory.Fact) any { return strings.Join(f.Tags, "|") }), "game"},
		{"category: health", category, "health"},
		{"confidence: 0.25", is(func(f memory.Fact) any { return f.Confidence }), 0.25},
		{"project: club", is(func(f memory.Fact) any { return f.Scope.Project }), "club"},
		{"project: other", is(func(f memory.Fact) any { return f.Scope.Project }), "other"},
		{"created_at: 2999-01-01", is(func(f memory.Fact) any { return f.CreatedAt.Year() < 2999 }), true},
		{"updated_at: 2999-01-01", is(func(f memory.Fact) any { return f.UpdatedAt.Year() < 2999 }), true},
		{"valid_to: 2999-01-01", is(func(f memory.Fact) any { return f.ValidTo.Year() }), 2999},
		{"source: me", is(func(f memory.Fact) any { return f.Source != "me" }), true},
		{"from_turns: [nobody]", is(func(f memory.Fact) any { return len(f.Provenance.Turns) }), 0},
		{"superseded_by: nobody", is(func(f memory.Fact) any { return f.SupersededBy }), ""},
	} {
		key, _, _ := strings.Cut(c.line, ":")
		path, text := l.settledFile(t, fact.Content)
		lines := strings.Split(text, "\n")
		kept := lines[:1:1]
		kept = append(kept, c.line)
		for _, line := range lines[1:] {
			if !strings.HasPrefix(line, key+":") {
				kept = append(kept, line)
			}
		}
		l.edited(t, path, strings.Join(kept, "\n"))
		l.settledFile(t, fact.Content)
		if got := c.is(); got != c.want {
			t.Errorf("%s: it is %v, want %v", c.line, got, c.want)
		}
		if told := l.findings(t); len(told) > 0 {
			t.Errorf("%s: doctor says %q", c.line, told)
		}
	}
	before := l.fact(t, fact.ID)
	l = l.restarted(t, dir, "data", "vault/.loci")
	if after := l.fact(t, fact.ID); after.Category != before.Category || after.Scope != before.Scope || after.Confidence != before.Confidence ||
		!after.ValidTo.Equal(before.ValidTo) || !after.CreatedAt.Equal(before.CreatedAt) || after.Source != before.Source || after.SupersededBy != "" {
		t.Errorf("from the files alone it is %+v, was %+v", after, before)
	}
}

// TestCopyInAnotherOwnersFolderIsTheirs copies a fact's file, and leaves the original as it is.
func TestCopyInAnotherOwnersFolderIsTheirs(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	l := vaultAt(t, dir)
	defer closed(t, l)
	fact := l.remember(t, "User plays chess")
	path, text := l.settledFile(t, fact.Content)
	bens := filepath.Join(dir, "vault", "users", "ben", "entries", "global", "facts", filepath.Base(path))
	if err := os.MkdirAll(filepath.Dir(bens), 0o700); err != nil {
		t.Fatal(err)
	}
	l.edited(t, bens, text)
	if got := l.fact(t, fact.ID); got.Status != memory.Active {
		t.Errorf("the original is %s", got.Status)
	}
	hits, err := l.Recall(ctx, "ben", "Do I play chess?")
	if err != nil || len(hits) != 1 {
		t.Errorf("ben is told %+v, %v", hits, err)
	}
	if told := l.findings(t); len(told) > 0 {
		t.Errorf("doctor: %q", told)
	}
}

// TestDeletedTogetherIsOneRun deletes so few files that nobody asks.
func TestDeletedTogetherIsOneRun(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	l := vaultAt(t, dir)
	defer closed(t, l)
	for i := range 16 {
		l.remember(t, fmt.Sprintf("User owns %c%c", 'a'+i, 'k'+i/2))
	}
	for _, words := range []string{"User owns ak", "User owns bk"} {
		path, _ := l.settledFile(t, words)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.vault.Look(ctx, vaultstore.ScanOptions{}); err != nil {
		t.Fatal(err)
	}
	page, err := l.engine.Store.Changes(ctx, userOf("default"), memory.ChangeQuery{Limit: 2})
	if err != nil || len(page.Changes) != 2 || page.Changes[0].Run != page.Changes[1].Run || page.Changes[1].Action != memory.ActionRetire {
		t.Errorf("two files were deleted, and the changes are %+v, %v", page.Changes, err)
	}
}

// TestStatusOfOtherThanFacts writes retired into files of each kind, and active again.
func TestStatusOfOtherThanFacts(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	l := vaultAt(t, dir)
	defer closed(t, l)
	owner := userOf("default")
	if _, err := l.Record(ctx, "default", "chat", Message{Role: memory.RoleUser, Content: "Which trains go to Porto?"}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.engine.SetProfile(ctx, owner, "timezone", "Europe/Lisbon", byProgram); err != nil {
		t.Fatal(err)
	}
	title, words := "Trains", "They go at noon."
	if _, err := l.engine.Curate.AddContext(ctx, owner, curate.ContextEdit{Title: &title, Content: &words}, byProgram); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"Which trains go to Porto?", "Europe/Lisbon", words} {
		for _, to := range []string{"retired", "active"} {
			path, text := l.settledFile(t, words)
			was := map[string]string{"retired": "active", "active": "retired"}[to]
			if !strings.Contains(text, "status: "+was+"\n") {
				t.Fatalf("%s says\n%s", path, text)
			}
			l.edited(t, path, strings.Replace(text, "status: "+was, "status: "+to, 1))
			path, text = l.settledFile(t, words)
			if strings.Contains(path, "deleted") != (to == "retired") || !strings.Contains(text, "status: "+to+"\n") {
				t.Errorf("to which a person writes %s it is %s:\n%s", to, path, text)
			}
		}
	}
	path, text := l.settledFile(t, "Which trains go to Porto?")
	l.edited(t, path, strings.Replace(text, "status: active", "status: replaced", 1))
	if told := l.findings(t); len(told) != 1 || !strings.Contains(told[0], "only Loci makes it") {
		t.Errorf("doctor: %q", told)
	}
}

// TestSupersededFactComesBackByItsStatus, in the place of what took its own.
func TestSupersededFactComesBackByItsStatus(t *testing.T) {
	dir := t.TempDir()
	l := vaultAt(t, dir)
	defer closed(t, l)
	old, next := l.remember(t, "User lives in Lisbon"), l.remember(t, "User lives in Porto")
	path, text := l.settledFile(t, old.Content)
	if !strings.Contains(text, "status: superseded\n") {
		t.Fatalf("%s says\n%s", path, text)
	}
	l.edited(t, path, strings.Replace(text, "status: superseded", "status: active", 1))
	if was, is := l.fact(t, next.ID), l.fact(t, old.ID); is.Status != memory.Active || is.SupersededBy != "" || was.Status != memory.Superseded {
		t.Errorf("it is %s, and what took its place %s", is.Status, was.Status)
	}
	if at, _ := l.settledFile(t, old.Content); strings.Contains(at, "deleted") {
		t.Errorf("its file is %s", at)
	}
	if told := l.findings(t); len(told) > 0 {
		t.Errorf("doctor: %q", told)
	}
}
