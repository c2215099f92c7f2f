package assembly

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/httpx"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/internal/vaultsync"
	"github.com/loci-memory/loci/memory"
)

// vaultAt opens a memory in a vault, with settings as key and value in turn.
func vaultAt(t *testing.T, dir string, settings ...string) *Loci {
	t.Helper()
	l, err := tryVault(t, dir, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func tryVault(t *testing.T, dir string, settings ...string) (*Loci, error) {
	t.Helper()
	flags := map[string]string{"vault": filepath.Join(dir, "vault"), "data": filepath.Join(dir, "data"), "log.level": "error"}
	for i := 0; i < len(settings); i += 2 {
		flags[settings[i]] = settings[i+1]
	}
	config, err := config.Load(config.Sources{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	return Open(context.Background(), config, Options{Log: t.Output()})
}

// during runs what goes on in the background while do does something.
func (l *Loci) during(t *testing.T, do func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	do()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func (l *Loci) remember(t *testing.T, content string) memory.Fact {
	t.Helper()
	f, err := l.Remember(context.Background(), "default", content)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func closed(t *testing.T, l *Loci) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestVaultThatIsHeldStopsTheStartAndSaysByWhom(t *testing.T) {
	for _, store := range []string{"sqlite", "memory"} {
		t.Run(store, func(t *testing.T) {
			dir := t.TempDir()
			l := vaultAt(t, dir, "store", store)
			defer closed(t, l)
			_, err := tryVault(t, dir, "store", store)
			if !errors.Is(err, memory.Conflict) || !strings.Contains(err.Error(), "process") || !strings.Contains(err.Error(), filepath.Join(dir, "vault")) {
				t.Errorf("opened twice: %v; want a conflict that names the process and the vault", err)
			}
		})
	}
}

func TestMemoryStaysInTheVaultAlone(t *testing.T) {
	dir := t.TempDir()
	l := vaultAt(t, dir, "store", "memory")
	fact := l.remember(t, "User plays the cello")
	closed(t, l)
	l = vaultAt(t, dir, "store", "memory")
	defer closed(t, l)
	hits, err := l.Recall(context.Background(), "default", "Which instrument do I play?")
	if err != nil || len(hits) != 1 || hits[0].Memory.ID() != fact.ID {
		t.Errorf("recalled %+v, %v; want the fact that the files have", hits, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "data", databaseFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a database: %v", err)
	}
}

// TestErasedWordsAreInNoFile erases a fact, by the engine's verb, and looks into the
// vault and the data folder.
func TestErasedWordsAreInNoFile(t *testing.T) {
	dir := t.TempDir()
	l := vaultAt(t, dir)
	defer closed(t, l)
	ctx := context.Background()
	if _, err := l.Record(ctx, "default", "chat", Message{Role: memory.RoleUser, Content: "I like marzipan very much."}); err != nil {
		t.Fatal(err)
	}
	l.remember(t, "User likes marzipan")
	l.remember(t, "User plays chess")
	if err := l.vault.Store.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	gone, _, err := l.engine.Curate.ForgetMatching(ctx, userOf("default"), curate.Matching{Query: "marzipan", Erase: true}, byProgram)
	if err != nil || len(gone) != 2 {
		t.Fatalf("erased %d memories, want the fact and what was said: %v", len(gone), err)
	}
	for began := time.Now(); len(l.database.MayHold()) > 0 && time.Since(began) < 10*time.Second; {
		time.Sleep(50 * time.Millisecond)
	}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "marzipan") {
			t.Errorf("%s has the word", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestDoctorTellsWhatIsWrongWithTheVault(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	l := vaultAt(t, dir)
	defer closed(t, l)
	for _, what := range []string{"tea", "rain", "bread", "maps"} {
		l.remember(t, "User likes "+what)
	}
	findings := func(confirm bool) []string {
		t.Helper()
		c, err := l.Doctor(ctx, confirm)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, f := range c.Findings {
			out = append(out, f.Part+" "+f.Path+": "+f.What)
		}
		return out
	}
	if err := l.vault.Store.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	if got := findings(false); len(got) > 0 {
		t.Errorf("nothing is wrong, but: %q", got)
	}
	facts := filepath.Join(dir, "vault", "entries", "global", "facts")
	for name, text := range map[string]string{"binary.md": "\xff\xfe", "half.md": "---\ntags: [a", "huge.md": strings.Repeat("x", 1<<20+1)} {
		if err := os.WriteFile(filepath.Join(facts, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := findings(false); len(got) != 3 || !strings.Contains(got[0], "binary.md: it is not UTF-8") || !strings.Contains(got[1], "half.md") || !strings.Contains(got[2], "huge.md") {
		t.Errorf("three files cannot be read, but: %q", got)
	}
	if err := os.WriteFile(filepath.Join(facts, "twin.md"), []byte("User likes tea"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := findings(false); len(got) != 4 || !strings.Contains(strings.Join(got, "\n"), "twin.conflict-") {
		t.Errorf("a fact that is there already is kept beside, but: %q", got)
	}
	if err := os.RemoveAll(filepath.Join(dir, "vault", "entries")); err != nil {
		t.Fatal(err)
	}
	if got := findings(false); len(got) != 1 || !strings.Contains(got[0], "4 files are gone at once") {
		t.Errorf("so many deletions wait, but: %q", got)
	}
	if hits, err := l.Recall(ctx, "default", "Do I like tea?"); err != nil || len(hits) == 0 {
		t.Errorf("they were forgotten without being asked: %v, %v", hits, err)
	}
	if got := findings(true); len(got) != 0 {
		t.Errorf("they are confirmed, but: %q", got)
	}
	if hits, err := l.Recall(ctx, "default", "Do I like tea?"); err != nil || len(hits) > 0 {
		t.Errorf("they are still recalled: %v, %v", hits, err)
	}
}

func TestGitHasACommitThatSaysWhatChanged(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	dir := t.TempDir()
	for _, fact := range []string{"User plays chess", "User lives in Lisbon", "User lives in Porto"} {
		l := vaultAt(t, dir, "vault_git", "true")
		l.during(t, func() { l.remember(t, fact) })
		closed(t, l)
	}
	out, err := exec.Command("git", "-C", filepath.Join(dir, "vault"), "log", "--format=%s").CombinedOutput()
	want := "written: User lives in Porto (replaces User lives in Lisbon)\nwritten: User lives in Lisbon\nwritten: User plays chess\nbegin the vault\n"
	if err != nil || string(out) != want {
		t.Errorf("the log is (%v):\n%s\nwant:\n%s", err, out, want)
	}
	out, err = exec.Command("git", "-C", filepath.Join(dir, "vault"), "status", "--short").CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("left over (%v):\n%s", err, out)
	}
}

// TestEmptyVaultBeginsInGit gives an empty vault its first commit, so that what is learned
// first has its own.
func TestEmptyVaultBeginsInGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	ctx, dir := context.Background(), t.TempDir()
	log := func(folder string) string {
		t.Helper()
		out, err := vaultsync.GitIn(ctx, folder, "log", "--format=%s")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	l := vaultAt(t, dir, "vault_git", "true")
	vault := filepath.Join(dir, "vault")
	if got := log(vault); got != vaultsync.FirstCommit {
		t.Errorf("the log is %q", got)
	}
	l.during(t, func() { l.remember(t, "User plays chess") })
	closed(t, l)
	l = vaultAt(t, dir, "vault_git", "true")
	closed(t, l)
	if got := log(vault); got != "written: User plays chess\n"+vaultsync.FirstCommit {
		t.Errorf("the log is %q", got)
	}

	// In a larger repository nothing of others is committed.
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "theirs.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "theirs.txt"}} {
		if _, err := vaultsync.GitIn(ctx, dir, args...); err != nil {
			t.Fatal(err)
		}
	}
	l = vaultAt(t, dir, "vault_git", "true")
	l.during(t, func() { l.remember(t, "User plays go") })
	closed(t, l)
	staged, err := vaultsync.GitIn(ctx, dir, "diff", "--cached", "--name-only")
	if err != nil || staged != "theirs.txt" || log(dir) != "written: User plays go" {
		t.Errorf("staged is %q, %v, and the log %q", staged, err, log(dir))
	}
}

// TestGitThatFailsBlocksNothing lets there be a repository that git cannot read.
func TestGitThatFailsBlocksNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", t.TempDir())
	l := vaultAt(t, dir, "vault_git", "true")
	l.during(t, func() { l.remember(t, "User plays chess") })
	closed(t, l)
	l = vaultAt(t, dir)
	defer closed(t, l)
	if hits, err := l.Recall(context.Background(), "default", "Do I play chess?"); err != nil || len(hits) != 1 {
		t.Errorf("recalled %v, %v", hits, err)
	}
}

// settledFile waits until the files are written and returns the one that says words.
func (l *Loci) settledFile(t *testing.T, words string) (path, text string) {
	t.Helper()
	if err := l.vault.Store.Settle(context.Background()); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(l.vault.Store.Dir(), func(at string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(at) != ".md" {
			return err
		}
		found, err := os.ReadFile(at)
		if strings.HasSuffix(string(found), "\n"+words+"\n") || string(found) == words+"\n" {
			path, text = at, string(found)
		}
		return err
	})
	if err != nil || path == "" {
		t.Fatalf("no file says %q: %v", words, err)
	}
	return path, text
}

// edited replaces a file and lets Loci look.
func (l *Loci) edited(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.vault.Look(context.Background(), vaultstore.ScanOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestRelationsAreLinksThatAPersonEdits(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	l := vaultAt(t, dir)
	chess, club := l.remember(t, "User plays chess"), l.remember(t, "User goes to a club on Tuesdays")
	related := func() int {
		t.Helper()
		ties, err := l.engine.Store.Relations(ctx, userOf("default"), chess.ID, memory.At{})
		if err != nil {
			t.Fatal(err)
		}
		return len(ties)
	}
	clubFile, _ := l.settledFile(t, club.Content)
	link := "refines: [\"[[" + strings.TrimSuffix(filepath.Base(clubFile), ".md") + "]]\"]\n"
	path, plain := l.settledFile(t, chess.Content)
	l.edited(t, path, strings.Replace(plain, "kind: fact\n", "kind: fact\nmine: 1 # of my own\n"+link, 1))
	if related() != 1 {
		t.Error("a link that was written into a file is not a relation")
	}
	if _, err := l.engine.Curate.Relate(ctx, userOf("default"), chess.ID, club.ID, memory.Follows, byProgram); err != nil {
		t.Fatal(err)
	}
	path, text := l.settledFile(t, chess.Content)
	if !strings.Contains(text, link) || !strings.Contains(text, "mine: 1 # of my own\n") || !strings.Contains(text, strings.Replace(link, "refines", "follows", 1)) {
		t.Errorf("the file had to have both links and what a person wrote:\n%s", text)
	}

	// What leads nowhere stays as it is written, and doctor tells of it.
	nobody := strings.Replace(link, "]\n", ", \"[[nobody]]\"]\n", 1)
	l.edited(t, path, strings.Replace(text, link, nobody, 1))
	c, err := l.Doctor(ctx, false)
	if err != nil || len(c.Findings) != 1 || !strings.Contains(c.Findings[0].What, "refines [[nobody]]") || related() != 2 {
		t.Errorf("a link to nothing: %+v, %v, %d relations", c.Findings, err, related())
	}
	if text = string(readFile(t, path)); !strings.Contains(text, nobody) {
		t.Errorf("the link is not as a person wrote it:\n%s", text)
	}
	link = nobody
	l.edited(t, path, strings.Replace(text, link, "", 1))
	if related() != 1 {
		t.Error("a link that was taken out of a file is a relation still")
	}
	closed(t, l)

	for _, gone := range []string{filepath.Join("vault", ".loci"), "data"} {
		if err := os.RemoveAll(filepath.Join(dir, gone)); err != nil {
			t.Fatal(err)
		}
	}
	l = vaultAt(t, dir)
	defer closed(t, l)
	if related() != 1 {
		t.Error("the files alone do not bring the relation back")
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestLinksAsObsidianWritesThem gives files other names and links other words, and nothing
// that a person wrote beside a link is lost by it.
func TestLinksAsObsidianWritesThem(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	l := vaultAt(t, dir)
	defer closed(t, l)
	rex, nurse, vet := l.remember(t, "User has a dog named Rex"), l.remember(t, "User works as a nurse"), l.remember(t, "User knows a vet in Porto")
	ties := func(f memory.Fact) (out []string) {
		t.Helper()
		found, err := l.engine.Store.Relations(ctx, userOf("default"), f.ID, memory.At{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range found {
			if r.From == f.ID {
				out = append(out, string(r.Kind)+" "+r.To)
			}
		}
		return out
	}
	named := func(path string) string { return strings.TrimSuffix(filepath.Base(path), ".md") }
	rexFile, _ := l.settledFile(t, rex.Content)
	nurseFile, _ := l.settledFile(t, nurse.Content)

	// An alias, a heading, folders; new words beside.
	link := "follows: [\"[[memory/entries/global/facts/" + named(rexFile) + "#Now|my dog]]\"]\n"
	path, text := l.settledFile(t, vet.Content)
	l.edited(t, path, strings.NewReplacer("kind: fact\n", "kind: fact\n"+link, vet.Content, "User knows a vet in Braga").Replace(text))
	if _, text = l.settledFile(t, "User knows a vet in Braga"); !strings.Contains(text, link) || len(ties(vet)) != 1 || ties(vet)[0] != "follows "+rex.ID {
		t.Errorf("a link with an alias makes %q:\n%s", ties(vet), text)
	}

	// Obsidian's rename: the file and the links to it have another name at once.
	mine := filepath.Join(filepath.Dir(rexFile), "My dog Rex.md")
	if err := os.Rename(rexFile, mine); err != nil {
		t.Fatal(err)
	}
	link = "follows: [\"[[My dog Rex]]\"]\n"
	front := text[:strings.Index(text, "follows:")] + link + text[strings.Index(text, "follows:")+strings.Index(text[strings.Index(text, "follows:"):], "\n")+1:]
	l.edited(t, path, strings.Replace(front, "Braga", "Faro", 1))
	if _, text = l.settledFile(t, "User knows a vet in Faro"); !strings.Contains(text, link) || len(ties(vet)) != 1 || ties(vet)[0] != "follows "+rex.ID {
		t.Errorf("a link to a name of a person's own makes %q:\n%s", ties(vet), text)
	}

	// One link leads nowhere: the other and the words are taken over.
	link = "contradicts: [\"[[" + named(nurseFile) + "]]\", \"[[nope]]\"]\n"
	l.edited(t, path, strings.NewReplacer("kind: fact\n", "kind: fact\n"+link, "Faro", "Evora").Replace(text))
	if _, text = l.settledFile(t, "User knows a vet in Evora"); !strings.Contains(text, link) || len(ties(vet)) != 2 {
		t.Errorf("with one link to nothing there are %q:\n%s", ties(vet), text)
	}
	page, err := l.engine.Store.Changes(ctx, userOf("default"), memory.ChangeQuery{Limit: 2})
	if err != nil || len(page.Changes) != 2 || page.Changes[0].Run != page.Changes[1].Run {
		t.Errorf("words and relations are not of one run: %+v, %v", page.Changes, err)
	}

	// New files that name each other, and one that leads nowhere.
	folder := filepath.Dir(mine)
	if err := os.WriteFile(filepath.Join(folder, "boat.md"), []byte("---\nrefines: [\"[[sail]]\"]\n---\nUser owns a boat\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.edited(t, filepath.Join(folder, "sail.md"), "---\nrefines: [\"[[boat]]\"]\nfollows: \"[[lost, at sea]]\"\n---\nUser learned to sail\n")
	for range 2 {
		if _, err := l.vault.Look(ctx, vaultstore.ScanOptions{}); err != nil {
			t.Fatal(err)
		}
		l.settledFile(t, "User owns a boat")
	}
	for _, file := range []string{"boat.md", "sail.md"} {
		if text := string(readFile(t, filepath.Join(folder, file))); !strings.Contains(text, "id: ") || !strings.Contains(text, "refines: [\"[[") {
			t.Errorf("%s says\n%s", file, text)
		}
	}
	c, err := l.Doctor(ctx, false)
	if err != nil || len(c.Findings) != 2 {
		t.Errorf("of two links that lead nowhere doctor tells %+v, %v", c.Findings, err)
	}
	totals, err := l.engine.Store.Totals(ctx)
	if err != nil || totals.Facts != 5 {
		t.Errorf("there are %d facts, %v", totals.Facts, err)
	}
	all := 0
	found, err := l.engine.List(ctx, userOf("default"), memory.Query{Limit: 10})
	for _, m := range found.Memories {
		all += len(ties(*m.Fact))
	}
	if err != nil || all != 4 {
		t.Errorf("there are %d relations, %v", all, err)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*.conflict-*")); len(left) > 0 {
		t.Errorf("something was refused: %q", left)
	}
}

// TestUndoOfWhatFilesMadeReachesTheFiles undoes an edit, an added file and a deleted one.
func TestUndoOfWhatFilesMadeReachesTheFiles(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	l := vaultAt(t, dir)
	defer closed(t, l)
	owner := userOf("default")
	undo := func() {
		t.Helper()
		page, err := l.engine.Store.Changes(ctx, owner, memory.ChangeQuery{Limit: 1})
		if err != nil || len(page.Changes) != 1 || page.Changes[0].Author.Name != "file" {
			t.Fatalf("the last change is not of a file: %+v, %v", page.Changes, err)
		}
		if _, err := l.engine.Curate.Undo(ctx, owner, curate.UndoRequest{Run: page.Changes[0].Run}, byProgram); err != nil {
			t.Fatal(err)
		}
	}
	deleted := string(filepath.Separator) + "deleted" + string(filepath.Separator)
	l.remember(t, "User lives in Lisbon")
	home, text := l.settledFile(t, "User lives in Lisbon")
	l.edited(t, home, strings.Replace(text, "Lisbon", "Porto", 1))
	undo()
	if again, _ := l.settledFile(t, "User lives in Lisbon"); again != home {
		t.Errorf("after the undo of an edit the file is %s, was %s", again, home)
	}

	l.edited(t, filepath.Join(filepath.Dir(home), "moved.md"), "User lives in Faro\n")
	if old, _ := l.settledFile(t, "User lives in Lisbon"); !strings.Contains(old, deleted) {
		t.Errorf("what was replaced is in %s", old)
	}
	undo()
	if old, _ := l.settledFile(t, "User lives in Lisbon"); old != home {
		t.Errorf("after the undo what was replaced is in %s, was in %s", old, home)
	}
	if added, _ := l.settledFile(t, "User lives in Faro"); !strings.Contains(added, deleted) {
		t.Errorf("after the undo the added file is in %s", added)
	}

	if err := os.Remove(home); err != nil {
		t.Fatal(err)
	}
	if _, err := l.vault.Look(ctx, vaultstore.ScanOptions{Confirm: true}); err != nil {
		t.Fatal(err)
	}
	undo()
	if again, _ := l.settledFile(t, "User lives in Lisbon"); again != home {
		t.Errorf("after the undo of a deletion the file is %s, was %s", again, home)
	}
	if c, err := l.Doctor(ctx, false); err != nil || len(c.Findings) > 0 {
		t.Errorf("something is wrong: %+v, %v", c.Findings, err)
	}
}

// TestTextForgesNoCommit remembers what looks like git's own output, and has a commit of
// somebody else's that does.
func TestTextForgesNoCommit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	ctx, dir := context.Background(), t.TempDir()
	vault := filepath.Join(dir, "vault")
	const forged = "\x1e0000000000000000000000000000000000000000\x1f2026-01-01T00:00:00Z\x1fMallory\x1fforged\x1f\nA\tnone.md"
	for _, fact := range []string{"User plays chess", "User's cat " + forged + "\x1b[31m", "User\x1fplays go"} {
		l := vaultAt(t, dir, "vault_git", "true")
		l.during(t, func() { l.remember(t, fact) })
		closed(t, l)
	}
	if err := os.WriteFile(filepath.Join(vault, "note.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"add", "note.txt"},
		{"-c", "user.name=ana", "-c", "user.email=ana@localhost", "commit", "--quiet", "--message", "mine " + forged},
	} {
		if _, err := vaultsync.GitIn(ctx, vault, args...); err != nil {
			t.Fatal(err)
		}
	}
	log, err := vaultsync.GitIn(ctx, vault, "log", "--format=%an%x09%B%x00")
	commits := strings.Split(strings.TrimRight(log, "\x00\n"), "\x00\n")
	if err != nil || len(commits) != 5 {
		t.Fatalf("of five commits there are %d: %q, %v", len(commits), commits, err)
	}
	for i, c := range commits {
		author, message, _ := strings.Cut(c, "\t")
		if author == "Mallory" || i > 0 && strings.ContainsFunc(message, func(r rune) bool { return r < ' ' && r != '\n' }) {
			t.Errorf("commit %d is %q", i, c)
		}
	}
}

// TestDoctorNamesAFileThatWaitsForItsUser, whose memory was erased and is closed.
func TestDoctorNamesAFileThatWaitsForItsUser(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	l := vaultAt(t, dir)
	defer closed(t, l)
	l.remember(t, "User likes tea")
	user := userOf(httpx.DefaultUser)
	if _, err := l.engine.Erase.EraseOwner(ctx, user, memory.Author{Kind: memory.ByPerson, Name: "admin"}); err != nil {
		t.Fatal(err)
	}
	facts := filepath.Join(dir, "vault", "entries", "global", "facts")
	if err := os.MkdirAll(facts, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(facts, "late.md"), []byte("User likes rain"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := l.Doctor(ctx, false)
	if err != nil || len(c.Findings) != 1 || !strings.Contains(c.Findings[0].Path, "late.md") || !strings.Contains(c.Findings[0].Do, "loci users open "+httpx.DefaultUser) {
		t.Errorf("a file of a user who is closed: %+v, %v", c.Findings, err)
	}
}

// eraseUser erases a user of whom there is a fact.
func (l *Loci) eraseUser(t *testing.T) {
	t.Helper()
	l.remember(t, "User likes tea")
	admin := memory.Author{Kind: memory.ByPerson, Name: "admin"}
	if _, err := l.engine.Erase.EraseOwner(context.Background(), userOf(httpx.DefaultUser), admin); err != nil {
		t.Fatal(err)
	}
}

// TestFilesOfWhoIsClosedComeBack takes away what is left of a user who was erased, as git does
// with an older state of the folder: they stay closed, and nothing is wrong.
func TestFilesOfWhoIsClosedComeBack(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	l := vaultAt(t, dir)
	defer closed(t, l)
	l.eraseUser(t)
	if err := l.vault.Store.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	profile := filepath.Join(dir, "vault", "entries", "global", "profile")
	for _, confirm := range []bool{false, true} {
		for _, gone := range []string{"loci.closed.md", "loci.pause.md"} {
			if err := os.Remove(filepath.Join(profile, gone)); err != nil {
				t.Fatal(err)
			}
		}
		if confirm {
			if err := os.RemoveAll(filepath.Join(dir, "vault", "entries")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.vault.Look(ctx, vaultstore.ScanOptions{Confirm: confirm}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if c, err := l.Doctor(ctx, confirm); err != nil || len(c.Findings) > 0 {
				t.Errorf("nothing is wrong, but %+v, %v", c.Findings, err)
			}
		}
	}
	for _, back := range []string{"loci.closed.md", "loci.pause.md"} {
		if _, err := os.Stat(filepath.Join(profile, back)); err != nil {
			t.Error(err)
		}
	}
	if _, err := l.Remember(ctx, httpx.DefaultUser, "User likes rain"); !errors.Is(err, memory.Gone) {
		t.Errorf("the user is closed, but %v", err)
	}
}

// TestWhatWaitsIsLoggedOnce looks again and again at a file of a user who is closed.
func TestWhatWaitsIsLoggedOnce(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	l := vaultAt(t, dir)
	defer closed(t, l)
	l.eraseUser(t)
	late := filepath.Join(dir, "vault", "entries", "global", "facts", "late.md")
	if err := os.MkdirAll(filepath.Dir(late), 0o700); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	l.vault.Log = slog.New(slog.NewTextHandler(&log, nil))
	waits := func() int {
		t.Helper()
		for range 3 {
			if _, err := l.vault.Look(ctx, vaultstore.ScanOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		return strings.Count(log.String(), "file=entries/global/facts/*.md")
	}
	l.edited(t, late, "User likes rain\n")
	if n := waits(); n != 1 {
		t.Errorf("it was logged %d times:\n%s", n, log.String())
	}
	if err := os.Remove(late); err != nil {
		t.Fatal(err)
	}
	waits()
	l.edited(t, late, "User likes rain\n")
	if n := waits(); n != 2 {
		t.Errorf("it went and came back, and was logged %d times:\n%s", n, log.String())
	}
}
