package assembly

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/curate"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/internal/vaultsync"
	"github.com/loci-memory/loci/memory"
)

// machine is a memory of its own whose vault is a clone of one that others have, too.
type machine struct {
	*Loci
	t    *testing.T
	name string
	dir  string
}

// machines are some that exchange a vault by git.
func machines(t *testing.T, names ...string) []*machine {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	hub := t.TempDir()
	if _, err := vaultsync.GitIn(t.Context(), hub, "init", "--quiet", "--bare", "--initial-branch", "main"); err != nil {
		t.Fatal(err)
	}
	var all []*machine
	for _, name := range names {
		home := t.TempDir()
		m := &machine{vaultAt(t, home), t, name, filepath.Join(home, "vault")}
		t.Cleanup(func() { closed(t, m.Loci) })
		m.git("init", "--quiet", "--initial-branch", "main")
		m.git("remote", "add", "hub", hub)
		put(t, filepath.Join(m.dir, ".gitignore"), ".loci\n")
		if len(all) > 0 {
			if err := os.Remove(filepath.Join(m.dir, ".gitignore")); err != nil {
				t.Fatal(err)
			}
			m.git("pull", "--quiet", "hub", "main")
		} else {
			m.git("add", "--all")
			m.git("commit", "--quiet", "--message", "begin")
			m.git("push", "--quiet", "hub", "main")
		}
		all = append(all, m)
	}
	return all
}

func (m *machine) git(args ...string) string {
	m.t.Helper()
	out, err := vaultsync.GitIn(context.Background(), m.dir, append([]string{"-c", "user.name=" + m.name, "-c", "user.email=x@localhost", "-c", "core.quotepath=off"}, args...)...)
	if err != nil {
		m.t.Fatalf("%s: git %s: %v", m.name, strings.Join(args, " "), err)
	}
	return out
}

// written takes over what files say, until they are as memory is.
func (m *machine) written() {
	m.t.Helper()
	for range 2 {
		if err := m.vault.Store.Settle(context.Background()); err != nil {
			m.t.Fatal(err)
		}
		m.look(m.t, vaultstore.ScanOptions{})
	}
	if err := m.vault.Store.Settle(context.Background()); err != nil {
		m.t.Fatal(err)
	}
}

// exchange commits what the machine has, takes over what the others have, and gives both to
// them. It returns how its files differ then from what was exchanged.
func (m *machine) exchange() string {
	m.t.Helper()
	m.written()
	m.git("add", "--all")
	m.git("commit", "--quiet", "--allow-empty", "--message", "by "+m.name)
	m.git("pull", "--quiet", "--no-rebase", "--no-edit", "hub", "main")
	m.git("push", "--quiet", "hub", "main")
	m.written()
	return m.git("status", "--porcelain") + m.git("diff")
}

// TestMachinesThatExchangeAVaultRewriteNothing lets two machines write memory and exchange it by
// git: each takes over what the other wrote, and no file is written anew for that.
func TestMachinesThatExchangeAVaultRewriteNothing(t *testing.T) {
	ctx, owner := context.Background(), userOf("default")
	all := machines(t, "a", "b")
	a, b := all[0], all[1]
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	round := func(what string) {
		t.Helper()
		for _, m := range []*machine{a, b, a, b} {
			if diff := m.exchange(); diff != "" {
				t.Errorf("%s: %s wrote anew:\n%s", what, m.name, diff)
			}
		}
		is, other := a.facts(), b.facts()
		for id, want := range is {
			if other[id] != want {
				t.Errorf("%s: a knows\n%s\nand b\n%s", what, want, other[id])
			}
		}
		if len(is) != len(other) {
			t.Errorf("%s: a knows %d facts, b %d", what, len(is), len(other))
		}
	}
	edit := func(m *machine, id string, e curate.Edit) {
		t.Helper()
		_, err := m.engine.Curate.EditFact(ctx, owner, id, e, byProgram)
		must(err)
	}
	var ids []string
	for _, what := range []string{"bread", "maps", "rain", "snow", "wind", "fog", "hail"} {
		ids = append(ids, a.remember(t, "User likes "+what).ID)
	}
	oslo := a.remember(t, "User lives in Oslo")
	a.say(t, "I have a dog named Rex.")
	a.waiting(t, "User plays the flute")
	round("what is new")

	words, tags, pinned := "User likes rye bread", []string{"food"}, memory.CoreAlways
	edit(b, ids[0], curate.Edit{Content: &words})
	edit(b, ids[1], curate.Edit{Tags: &tags})
	edit(a, ids[2], curate.Edit{Core: &pinned})
	round("what is edited")

	_, err := b.engine.Curate.Forget(ctx, owner, []string{ids[3]}, "asked", byProgram)
	must(err)
	round("what is forgotten")

	rome := b.remember(t, "User lives in Rome")
	round("what is replaced")
	if got := a.fact(t, oslo.ID); got.Status != memory.Superseded || got.SupersededBy != rome.ID {
		t.Errorf("what was replaced is %s by %q at a", got.Status, got.SupersededBy)
	}

	_, err = a.engine.Curate.Restore(ctx, owner, ids[3], "", byProgram)
	must(err)
	round("what is restored")

	dog := a.named(t, "User has a dog named Rex")
	edit(b, dog, curate.Edit{Tags: &tags})
	_, err = b.engine.SetProfile(ctx, owner, "timezone", "Europe/Oslo", byProgram)
	must(err)
	title, content := "Trip", "We fly on Monday."
	about, err := a.engine.Curate.AddContext(ctx, owner, curate.ContextEdit{Title: &title, Content: &content}, byProgram)
	must(err)
	round("what is beside facts")
	if got := a.fact(t, dog); got.Source != memory.Extracted || got.Trust != memory.TrustUser || len(got.Tags) != 1 {
		t.Errorf("at a, where it was learned, the dog is %s of %s, %q", got.Source, got.Trust, got.Tags)
	}
	content = "We fly on Tuesday."
	_, err = b.engine.Curate.EditContext(ctx, owner, about.ID, curate.ContextEdit{Content: &content}, byProgram)
	must(err)
	_, err = a.engine.SetProfile(ctx, owner, "timezone", "Europe/Rome", byProgram)
	must(err)
	round("what is edited beside facts")
	if got, err := a.engine.Context(ctx, owner, about.ID); err != nil || got.Content != content {
		t.Errorf("at a the context says %q, %v", got.Content, err)
	}
	_, err = b.engine.Curate.Forget(ctx, owner, []string{dog}, "asked", byProgram)
	must(err)
	_, err = b.engine.DropProfile(ctx, owner, "timezone", byProgram)
	must(err)
	b.exchange()
	if gone := a.exchange(); strings.Count(gone, "deleted file mode") != 1 || strings.Contains(gone, "facts") {
		t.Errorf("what the dog was learned from is to go at a with it, and nothing else:\n%s", gone)
	}
	round("what b forgets of a")

	open, stale := b.settledFile(t, "User likes fog")
	words = "User likes morning fog"
	edit(a, ids[5], curate.Edit{Content: &words})
	round("what is edited while it is open")
	put(t, open, strings.Replace(stale, "kind: fact\n", "kind: fact\ntags: [weather]\n", 1))
	b.written()
	round("what was open")
	if got := a.fact(t, ids[5]); got.Content != words || len(got.Tags) != 1 {
		t.Errorf("saved by who had it open before, it says %q %q", got.Content, got.Tags)
	}

	path, text := a.settledFile(t, "User likes wind")
	put(t, path, strings.Replace(text, "User likes wind", "User likes a breeze", 1))
	a.written()
	round("what a person wrote")
}

// named is the id of a fact that says something.
func (m *machine) named(t *testing.T, content string) string {
	t.Helper()
	for id := range m.facts() {
		if m.fact(t, id).Content == content {
			return id
		}
	}
	t.Fatalf("%s knows nothing of %q", m.name, content)
	return ""
}

// facts is how facts stand, by their ids, but for their versions. Where a machine knows a fact from
// a file alone that was learned from turns elsewhere, it says so.
func (m *machine) facts() map[string]string {
	out := m.everything(m.t)
	for id, text := range out {
		if !strings.HasPrefix(text, "{") {
			delete(out, id)
			continue
		}
		if m.fact(m.t, id).Model != "" {
			out[id] = strings.Replace(text, `"source":"file"`, `"source":"extracted"`, 1)
		}
	}
	return out
}
