package assembly

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/curate"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/internal/vaultsync"
	"github.com/loci-memory/loci/memory"
)

func init() { // nobody's own settings of git
	_, _ = os.Setenv("GIT_CONFIG_GLOBAL", os.DevNull), os.Setenv("GIT_CONFIG_NOSYSTEM", "1")
}

// git runs git in a folder and returns what it prints.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := vaultsync.RunGit(context.Background(), dir, append([]string{"-c", "user.name=ana", "-c", "user.email=ana@localhost"}, args...)...)
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// committed remembers facts, each in a run of the program whose vault git keeps.
func committed(t *testing.T, dir string, facts ...string) (first memory.Fact) {
	t.Helper()
	for _, fact := range facts {
		l := vaultAt(t, dir, "vault_git", "true")
		l.during(t, func() {
			if f := l.remember(t, fact); first.ID == "" {
				first = f
			}
		})
		closed(t, l)
	}
	return first
}

// TestGitHasTheLifeOfAFile: messages say what changed, and everything is committed.
func TestGitHasTheLifeOfAFile(t *testing.T) {
	needGit(t)
	dir := t.TempDir()
	vault := filepath.Join(dir, "vault")
	committed(t, dir, "User lives in Lisbon", "User plays chess", "User lives in Porto")
	want := "written: User lives in Porto (replaces User lives in Lisbon)\nwritten: User plays chess\nwritten: User lives in Lisbon\n" + vaultsync.FirstCommit
	if got := git(t, vault, "log", "--format=%s"); got != want {
		t.Errorf("the log is\n%s\nwant\n%s", got, want)
	}
	if left := git(t, vault, "status", "--short"); left != "" {
		t.Errorf("left over:\n%s", left)
	}
}

// TestGitCommitsNothingOfOthers, in a larger repository.
func TestGitCommitsNothingOfOthers(t *testing.T) {
	needGit(t)
	dir := t.TempDir()
	noError(t)(os.WriteFile(filepath.Join(dir, "theirs.txt"), []byte("x"), 0o600))
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", "theirs.txt")
	committed(t, dir, "User plays go")
	if staged, log := git(t, dir, "diff", "--cached", "--name-only"), git(t, dir, "log", "--format=%s"); staged != "theirs.txt" || log != "written: User plays go" {
		t.Errorf("staged is %q, and the log %q", staged, log)
	}
}

// TestGitThatFailsBlocksNothing starts where there is no git.
func TestGitThatFailsBlocksNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", t.TempDir())
	committed(t, dir, "User plays chess")
	l := vaultAt(t, dir)
	defer closed(t, l)
	if hits, err := l.Recall(t.Context(), "default", "Do I play chess?"); err != nil || len(hits) != 1 {
		t.Errorf("recalled %v, %v", hits, err)
	}
}

// TestAMergeUnderWayIsNotTaken: git's conflict marks are not words, and Loci does not end the merge.
func TestAMergeUnderWayIsNotTaken(t *testing.T) {
	needGit(t)
	ctx, dir := t.Context(), t.TempDir()
	l := vaultAt(t, dir, "vault_git", "true")
	defer closed(t, l)
	f := l.remember(t, "User owns a red bicycle")
	path, text := l.settledFile(t, f.Content)
	noError(t)(l.vault.Git.Commit(ctx))
	vault := filepath.Join(dir, "vault")
	git(t, vault, "checkout", "--quiet", "-b", "laptop")
	for _, colour := range []string{"blue", "green"} {
		noError(t)(os.WriteFile(path, []byte(strings.Replace(text, "red", colour, 1)), 0o600))
		git(t, vault, "commit", "--quiet", "--all", "--message", colour)
		git(t, vault, "checkout", "--quiet", map[string]string{"blue": "-", "green": "HEAD"}[colour])
	}
	if _, err := vaultsync.RunGit(ctx, vault, "-c", "user.name=x", "-c", "user.email=x@localhost", "merge", "laptop"); err == nil {
		t.Fatal("both merge")
	}
	if told := strings.Join(l.findings(t), "\n"); !strings.Contains(told, "conflict markers") {
		t.Errorf("the doctor says %q", told)
	}
	m, err := l.engine.Get(ctx, userNamed("default"), f.ID)
	if err != nil || strings.Contains(m.Content(), "<<<<") {
		t.Errorf("memory is %q, %v", m.Content(), err)
	}
	if err := l.vault.Git.Commit(ctx); err != nil || git(t, vault, "ls-files", "--unmerged") == "" {
		t.Errorf("the merge was ended, %v", err)
	}
}

// TestMachinesThatExchangeAVaultRewriteNothing lets two machines write memory and exchange it by
// git: each takes over what the other wrote, and no file is written anew for that.
func TestMachinesThatExchangeAVaultRewriteNothing(t *testing.T) {
	needGit(t)
	ctx, owner, hub := t.Context(), userNamed("default"), t.TempDir()
	git(t, hub, "init", "--quiet", "--bare", "--initial-branch", "main")
	var all [2]*Loci
	for i := range all {
		l := vaultAt(t, t.TempDir())
		defer closed(t, l)
		all[i] = l
		dir := l.vault.Store.Dir()
		git(t, dir, "init", "--quiet", "--initial-branch", "main")
		git(t, dir, "remote", "add", "hub", hub)
		if i > 0 {
			git(t, dir, "pull", "--quiet", "hub", "main")
			continue
		}
		noError(t)(os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(".loci\n"), 0o600))
		git(t, dir, "add", "--all")
		git(t, dir, "commit", "--quiet", "--message", "begin")
		git(t, dir, "push", "--quiet", "hub", "main")
	}
	a, b := all[0], all[1]
	taken := func(l *Loci) { // until files are as memory is
		for range 2 {
			noError(t)(l.vault.Store.Flush(ctx))
			l.look(t, vaultstore.ScanOptions{})
		}
		noError(t)(l.vault.Store.Flush(ctx))
	}
	known := func(l *Loci) (out map[string]string) { // where a fact was learned is known at home alone
		out = map[string]string{}
		for id, text := range l.everything(t) {
			if strings.HasPrefix(text, "{") {
				out[id] = strings.Replace(text, `"source":"extracted"`, `"source":"file"`, 1)
			}
		}
		return out
	}
	round := func(what string) {
		t.Helper()
		for _, l := range []*Loci{a, b, a, b} {
			dir := l.vault.Store.Dir()
			taken(l)
			git(t, dir, "add", "--all")
			git(t, dir, "commit", "--quiet", "--allow-empty", "--message", what)
			git(t, dir, "pull", "--quiet", "--no-rebase", "--no-edit", "hub", "main")
			git(t, dir, "push", "--quiet", "hub", "main")
			taken(l)
			if diff := git(t, dir, "status", "--porcelain") + git(t, dir, "diff"); diff != "" {
				t.Errorf("%s: written anew:\n%s", what, diff)
			}
		}
		is, other := known(a), known(b)
		for id, want := range is {
			if other[id] != want {
				t.Errorf("%s: a knows\n%s\nand b\n%s", what, want, other[id])
			}
		}
		if len(is) != len(other) {
			t.Errorf("%s: a knows %d facts, b %d", what, len(is), len(other))
		}
	}
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	for _, what := range []string{"bread", "maps", "rain", "snow", "wind", "fog", "hail"} {
		ids = append(ids, a.remember(t, "User likes "+what).ID)
	}
	a.remember(t, "User lives in Oslo")
	a.say(t, "I have a dog named Rex.")
	round("what is new")

	words, tags, core := "User likes rye bread", []string{"food"}, memory.CoreAlways
	must(b.engine.Curate.EditFact(ctx, owner, ids[0], curate.FactEdit{Content: &words}, byProgram))
	must(b.engine.Curate.EditFact(ctx, owner, ids[1], curate.FactEdit{Tags: &tags}, byProgram))
	must(a.engine.Curate.EditFact(ctx, owner, ids[2], curate.FactEdit{Core: &core}, byProgram))
	must(b.Forget(ctx, "default", ids[3]))
	must(a.engine.Curate.Relate(ctx, owner, ids[4], ids[5], memory.Refines, byProgram)) // which b does not know
	b.remember(t, "User lives in Rome")
	round("what is edited, forgotten and replaced")

	must(a.engine.Curate.Restore(ctx, owner, ids[3], "", byProgram))
	must(b.engine.SetProfileEntry(ctx, owner, "timezone", "Europe/Oslo", byProgram))
	title, content := "Trip", "We fly on Monday."
	must(a.engine.Curate.AddContext(ctx, owner, curate.ContextEdit{Title: &title, Content: &content}, byProgram))
	round("what is restored, and beside facts")

	path, text := a.settledFile(t, "User likes wind")
	noError(t)(os.WriteFile(path, []byte(strings.Replace(text, "User likes wind", "User likes a breeze", 1)), 0o600))
	round("what a person wrote")
}
