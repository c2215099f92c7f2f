package assembly

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/backup"
	"github.com/loci-memory/loci/internal/backup/archive"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/filelock"
	"github.com/loci-memory/loci/memory"
)

// filesIn are the files of a folder, by their paths, each as its hash; but for locks and what
// a store leaves beside its database.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "lock") || strings.HasSuffix(path, "-shm") {
			return err
		}
		text, err := os.ReadFile(path)
		sum := sha256.Sum256(text)
		name, _ := filepath.Rel(dir, path)
		out[name] = hex.EncodeToString(sum[:4])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// backedUp keeps a backup of a memory with one fact in a file, and returns all that can be
// taken away of it.
func backedUp(t *testing.T, c config.Config, file string) string {
	t.Helper()
	l := openAt(t, c)
	defer closed(t, l)
	l.remember(t, "User likes marzipan")
	l.backUp(t, file)
	return l.takeAway(t, "default")
}

// holds checks that a memory is sound and all that can be taken away of it is as it was.
func holds(t *testing.T, c config.Config, want string) {
	t.Helper()
	l := openAt(t, c)
	defer closed(t, l)
	l.fine(t)
	if got := l.takeAway(t, "default"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestKilledWhileRestoringIsOldOrNew kills the program at each step of a restore in the place
// of another memory, with a vault: the next start finds the old memory or the new one, whole;
// what was there before is there or set aside.
func TestKilledWhileRestoringIsOldOrNew(t *testing.T) {
	at := func(dir string) config.Config { return settingsAt(t, dir, "vault", filepath.Join(dir, "vault")) }
	file := filepath.Join(t.TempDir(), "b.zip")
	if dir := os.Getenv(childDir); dir != "" {
		o := backup.RestoreOptions{Replace: true, Point: diesAt(t)}
		if _, err := backup.Restore(t.Context(), at(dir), filepath.Join(dir, "b.zip"), o); err != nil {
			t.Fatal(err)
		}
		return
	}
	restored := backedUp(t, at(t.TempDir()), file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	olds, news := 0, 0
	for point := 1; ; point++ {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "b.zip"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		l := openAt(t, at(dir))
		l.remember(t, "User likes licorice")
		old := l.takeAway(t, "default")
		closed(t, l)
		lived := killed(t, dir, point)
		l = openAt(t, at(dir))
		l.fine(t)
		switch got := l.takeAway(t, "default"); {
		case got == old && !lived:
			olds++
		case got == restored:
			news++
			aside, err := filepath.Glob(filepath.Join(dir, "data", "memory.before-*"))
			if err != nil || len(aside) != 1 {
				t.Fatalf("step %d: set aside %q, %v", point, aside, err)
			}
			vault, err := filepath.Glob(filepath.Join(dir, "vault.before-*"))
			if err != nil || len(vault) != 1 {
				t.Fatalf("step %d: set aside %q, %v", point, vault, err)
			}
			if point%4 != 0 && !lived { // to look at some is enough
				break
			}
			before := settingsAt(t, dir, "data", aside[0], "vault", vault[0])
			was := openAt(t, before)
			if got := was.takeAway(t, "default"); got != old {
				t.Errorf("step %d: set aside was\n%s\nwant\n%s", point, got, old)
			}
			closed(t, was)
		default:
			t.Errorf("step %d: got\n%s\nwant the old memory or the restored one", point, got)
		}
		closed(t, l)
		for _, left := range []string{"data/" + backup.UnfinishedFolder, "data/" + backup.RestoringFolder} {
			if exists(filepath.Join(dir, left)) {
				t.Errorf("step %d: %s is still there", point, left)
			}
		}
		if lived {
			break
		}
	}
	if olds < 1 || news < 6 {
		t.Errorf("%d times the old memory and %d times the new one: there is nothing to see here", olds, news)
	}
}

// TestAlteredBackupChangesNothing alters a backup at random places, cuts it off, and tries
// what is none: the folder stays as it is.
func TestAlteredBackupChangesNothing(t *testing.T) {
	dir := t.TempDir()
	c, file := settingsAt(t, dir), filepath.Join(dir, "b.zip")
	backedUp(t, c, file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	chance := rand.New(rand.NewPCG(1, 2))
	before := filesIn(t, filepath.Join(dir, "data"))
	try := func(what string, altered []byte) {
		t.Helper()
		bad := filepath.Join(dir, "bad.zip")
		if err := os.WriteFile(bad, altered, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := backup.Check(t.Context(), bad, nil)
		if err == nil { // a byte that nobody reads: it is what it was
			return
		}
		_, err = backup.Restore(t.Context(), c, bad, backup.RestoreOptions{Replace: true})
		if !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), "bad.zip") && !strings.Contains(err.Error(), "backup") {
			t.Errorf("%s: %v, want it invalid", what, err)
		}
		if after := filesIn(t, filepath.Join(dir, "data")); len(after) != len(before) {
			t.Errorf("%s: the folder changed: %v, was %v", what, after, before)
		}
	}
	for range 200 {
		altered := slices.Clone(text)
		at := chance.IntN(len(altered))
		altered[at] ^= byte(1 + chance.IntN(255))
		try("altered", altered)
		try("cut off", text[:chance.IntN(len(text))])
	}
	try("empty", nil)
	if after := filesIn(t, filepath.Join(dir, "data")); len(after) != len(before) || after[databaseFile] != before[databaseFile] {
		t.Errorf("the folder changed: %v, was %v", after, before)
	}
}

func TestRestoreIsRefusedWhereItWouldDoHarm(t *testing.T) {
	dir := t.TempDir()
	vault := filepath.Join(dir, "vault")
	plain, withVault := settingsAt(t, dir), settingsAt(t, dir, "vault", vault)
	file, vaultFile := filepath.Join(t.TempDir(), "b.zip"), filepath.Join(t.TempDir(), "v.zip")
	l := openAt(t, plain)
	l.remember(t, "User likes marzipan")
	l.backUp(t, file)
	refused := func(what string, c config.Config, file string, o backup.RestoreOptions, code memory.Code, says string) {
		t.Helper()
		before := filesIn(t, dir)
		_, err := backup.Restore(t.Context(), c, file, o)
		if !errors.Is(err, code) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %s and %q", what, err, code, says)
		}
		if after := filesIn(t, dir); len(after) != len(before) {
			t.Errorf("%s: there are other files: %v, were %v", what, after, before)
		}
	}
	refused("a server runs", plain, file, backup.RestoreOptions{Replace: true}, memory.Conflict, "stop it first")
	closed(t, l)
	refused("there is memory", plain, file, backup.RestoreOptions{}, memory.Conflict, "--replace")
	other := settingsAt(t, t.TempDir(), "vault", filepath.Join(t.TempDir(), "vault"))
	l = openAt(t, other)
	l.remember(t, "User likes tea")
	l.backUp(t, vaultFile)
	closed(t, l)
	empty := settingsAt(t, t.TempDir())
	refused("no vault is set", empty, vaultFile, backup.RestoreOptions{}, memory.Invalid, "--set vault=")
	refused("a vault is set", withVault, file, backup.RestoreOptions{Replace: true}, memory.Invalid, "has no vault")
	if err := os.MkdirAll(filepath.Join(vault, ".loci"), 0o700); err != nil {
		t.Fatal(err)
	}
	free := settingsAt(t, t.TempDir(), "vault", vault)
	refused("the vault has something", free, vaultFile, backup.RestoreOptions{}, memory.Conflict, "not empty")
	unlock, err := filelock.Take(filepath.Join(vault, ".loci", "lock"), "x")
	if err != nil {
		t.Fatal(err)
	}
	refused("the vault is open", free, vaultFile, backup.RestoreOptions{Replace: true}, memory.Conflict, "stop it first")
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	around := settingsAt(t, dir, "data", filepath.Join(vault, "data"), "vault", vault)
	refused("the data folder is in the vault", around, vaultFile, backup.RestoreOptions{Replace: true}, memory.Invalid, "lies in the vault")
	refused("nothing stays", settingsAt(t, t.TempDir(), "store", "memory"), file, backup.RestoreOptions{}, memory.Invalid, "")
	refused("there is no file", empty, filepath.Join(dir, "gone"), backup.RestoreOptions{}, memory.NotFound, "gone")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := backup.Restore(cancelled, empty, file, backup.RestoreOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("broken off: %v", err)
	}
}

// rewritten is a backup with another manifest and, where change is given, another database.
func rewritten(t *testing.T, file string, manifest func(*backup.Manifest), change string) string {
	t.Helper()
	a, err := archive.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	if err := errors.Join(a.Unpack(t.Context(), archive.DataFolder, dir, nil), a.Close()); err != nil {
		t.Fatal(err)
	}
	if change != "" {
		db, err := sql.Open("sqlite", filepath.Join(dir, databaseFile))
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Exec(change)
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	to := filepath.Join(t.TempDir(), "b.zip")
	f, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	w := archive.NewWriter(f)
	for _, name := range archive.DataFiles {
		if err := backup.AddFile(w, archive.DataFolder+"/"+name, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	m := a.Manifest
	manifest(&m)
	_, err = w.Finish(m)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestSchemaOfABackup(t *testing.T) {
	file := filepath.Join(t.TempDir(), "b.zip")
	want := backedUp(t, settingsAt(t, t.TempDir()), file)
	newer := `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`
	for what, file := range map[string]string{
		"says so":      rewritten(t, file, func(m *backup.Manifest) { m.Schema = 9999 }, ""),
		"says nothing": rewritten(t, file, func(*backup.Manifest) {}, newer),
	} {
		to := t.TempDir()
		_, err := backup.Restore(t.Context(), settingsAt(t, to), file, backup.RestoreOptions{})
		if !errors.Is(err, memory.Unavailable) || !strings.Contains(err.Error(), "newer loci") {
			t.Errorf("newer, %s: %v; want to be told of a newer loci", what, err)
		}
		if left := filesIn(t, to); len(left) > 0 {
			t.Errorf("newer, %s: it left %v", what, left)
		}
	}
	older := rewritten(t, file, func(m *backup.Manifest) { m.Schema = 11 },
		`ALTER TABLE facts DROP COLUMN core_never; ALTER TABLE turns DROP COLUMN foreign_ranges;
		ALTER TABLE traces ADD COLUMN listed INTEGER NOT NULL DEFAULT 0; CREATE INDEX traces_unlisted ON traces (owner, id) WHERE listed = 0;
		CREATE TABLE feedback (owner TEXT); CREATE TABLE conversation_events (owner TEXT);
		UPDATE goose_db_version SET version_id = 11 WHERE version_id > 0`)
	to := settingsAt(t, t.TempDir())
	if _, err := backup.Restore(t.Context(), to, older, backup.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	holds(t, to, want)
}

// TestVaultThatCannotBeMovedKeepsEverythingAsItWas: the folder may be a mount point. Here it
// was empty when the restore was planned, and is not when it is decided.
func TestVaultThatCannotBeMovedKeepsEverythingAsItWas(t *testing.T) {
	from := t.TempDir()
	file := filepath.Join(from, "b.zip")
	backedUp(t, settingsAt(t, from, "vault", filepath.Join(from, "vault")), file)

	dir := t.TempDir()
	vault := filepath.Join(dir, "vault")
	l := openAt(t, settingsAt(t, dir))
	l.remember(t, "User likes licorice")
	closed(t, l)
	if err := os.Mkdir(vault, 0o700); err != nil {
		t.Fatal(err)
	}
	was := filesIn(t, dir)
	points := 0
	o := backup.RestoreOptions{Replace: true, Point: func() {
		if points++; points == 2 {
			if err := os.Mkdir(filepath.Join(vault, "in the way"), 0o700); err != nil {
				t.Error(err)
			}
		}
	}}
	_, err := backup.Restore(t.Context(), settingsAt(t, dir, "vault", vault), file, o)
	if !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("got %v, want to be told that nothing was changed", err)
	}
	if is := filesIn(t, dir); !maps.Equal(is, was) {
		t.Errorf("there is %v, was %v", is, was)
	}
	for _, left := range []string{"data/" + backup.UnfinishedFolder, "data/" + backup.RestoringFolder, "vault.restoring"} {
		if exists(filepath.Join(dir, left)) {
			t.Errorf("%s is still there", left)
		}
	}
}

// TestVaultBehindALinkIsRestoredWhereItLeads: the link may lead to a folder that is synced.
func TestVaultBehindALinkIsRestoredWhereItLeads(t *testing.T) {
	dir, away := t.TempDir(), realPath(t, t.TempDir())
	vault, real := filepath.Join(dir, "vault"), filepath.Join(away, "notes")
	if err := errors.Join(os.Mkdir(real, 0o700), os.Symlink(real, vault)); err != nil {
		t.Skip(err)
	}
	c, file := settingsAt(t, dir, "vault", vault), filepath.Join(dir, "b.zip")
	want := backedUp(t, c, file)
	done, err := backup.Restore(t.Context(), c, file, backup.RestoreOptions{Replace: true})
	if err != nil || done.Vault != real || len(done.Aside) != 2 || filepath.Dir(done.Aside[1]) != away {
		t.Fatalf("got %+v, %v; want it in %s", done, err, real)
	}
	if to, err := os.Readlink(vault); err != nil || to != real {
		t.Errorf("the link leads to %q, %v; want %s", to, err, real)
	}
	holds(t, c, want)
}

// TestVaultInTheDataFolderIsSetAsideByItself: profile agent-cli has it there.
func TestVaultInTheDataFolderIsSetAsideByItself(t *testing.T) {
	dir := t.TempDir()
	c, file := settingsAt(t, dir), filepath.Join(dir, "b.zip")
	c.Vault = filepath.Join(c.Data, "memory")
	backedUp(t, c, file)
	done, err := backup.Restore(t.Context(), c, file, backup.RestoreOptions{Replace: true})
	if err != nil || len(done.Aside) != 2 || done.Aside[0] == done.Aside[1] || !exists(c.Vault) {
		t.Errorf("set aside: %v, %v", done.Aside, err)
	}
}

// TestReplacedMemoryIsSetAside: nothing of it is lost, what else lies in the folder stays
// where it is, and a second restore has a folder of its own.
func TestReplacedMemoryIsSetAside(t *testing.T) {
	dir := t.TempDir()
	c, file := settingsAt(t, dir), filepath.Join(dir, "b.zip")
	backedUp(t, c, file)
	model := filepath.Join(dir, "data", "models", "m", "config.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(model), 0o700), os.WriteFile(model, []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	var asides []string
	for range 2 {
		was := filesIn(t, filepath.Join(dir, "data"))
		done, err := backup.Restore(t.Context(), c, file, backup.RestoreOptions{Replace: true})
		if err != nil || len(done.Aside) != 1 || slices.Contains(asides, done.Aside[0]) {
			t.Fatalf("%+v, %v", done, err)
		}
		asides = append(asides, done.Aside[0])
		for name, is := range filesIn(t, done.Aside[0]) {
			if was[name] != is {
				t.Errorf("set aside: %s is another than it was", name)
			}
		}
		if !exists(model) {
			t.Error("a model was moved away")
		}
	}
}
