package assembly

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
	noError(t)(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "lock") || strings.HasSuffix(path, "-shm") {
			return err
		}
		text, err := os.ReadFile(path)
		sum := sha256.Sum256(text)
		name, _ := filepath.Rel(dir, path)
		out[name] = hex.EncodeToString(sum[:4])
		return err
	}))
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
		o := backup.RestoreOptions{Replace: true, StepHook: diesAt(t)}
		noError(t)(backup.Restore(t.Context(), at(dir), filepath.Join(dir, "b.zip"), o))
		return
	}
	restored := backedUp(t, at(t.TempDir()), file)
	text := try(os.ReadFile(file)).orFail(t)
	olds, news := 0, 0
	for point := 1; ; point++ {
		dir := t.TempDir()
		noError(t)(os.WriteFile(filepath.Join(dir, "b.zip"), text, 0o600))
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
	refused("a server runs", plain, file, backup.RestoreOptions{Replace: true}, memory.Conflict, "stop that process first")
	closed(t, l)
	cut := filepath.Join(t.TempDir(), "cut.zip")
	if text := readFile(t, file); os.WriteFile(cut, text[:len(text)-len(text)/3], 0o600) != nil {
		t.Fatal("no file")
	}
	refused("it is cut off", plain, cut, backup.RestoreOptions{Replace: true}, memory.Invalid, "cut.zip")
	refused("there is memory", plain, file, backup.RestoreOptions{}, memory.Conflict, "--replace")
	other := settingsAt(t, t.TempDir(), "vault", filepath.Join(t.TempDir(), "vault"))
	l = openAt(t, other)
	l.remember(t, "User likes tea")
	l.backUp(t, vaultFile)
	closed(t, l)
	empty := settingsAt(t, t.TempDir())
	refused("no vault is set", empty, vaultFile, backup.RestoreOptions{}, memory.Invalid, "--set vault=")
	refused("a vault is set", withVault, file, backup.RestoreOptions{Replace: true}, memory.Invalid, "contains no vault")
	noError(t)(os.MkdirAll(filepath.Join(vault, ".loci"), 0o700))
	free := settingsAt(t, t.TempDir(), "vault", vault)
	refused("the vault has something", free, vaultFile, backup.RestoreOptions{}, memory.Conflict, "not empty")
	unlock := try(filelock.Lock(filepath.Join(vault, ".loci", "lock"), "x")).orFail(t)
	refused("the vault is open", free, vaultFile, backup.RestoreOptions{Replace: true}, memory.Conflict, "stop that process first")
	noError(t)(unlock())
	around := settingsAt(t, dir, "data", filepath.Join(vault, "data"), "vault", vault)
	refused("the data folder is in the vault", around, vaultFile, backup.RestoreOptions{Replace: true}, memory.Invalid, "is inside the vault")
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
	a := try(archive.Open(file, "")).orFail(t)
	dir := filepath.Join(t.TempDir(), "data")
	noError(t)(errors.Join(a.Unpack(t.Context(), archive.DataFolder, dir, nil), a.Close()))
	if change != "" {
		db, err := sql.Open("sqlite", filepath.Join(dir, databaseFile))
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Exec(change)
		noError(t)(errors.Join(err, db.Close()))
	}
	to := filepath.Join(t.TempDir(), "b.zip")
	f, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	w := archive.NewWriter(f)
	for _, name := range archive.DataFiles {
		noError(t)(backup.AddFile(w, archive.DataFolder+"/"+name, filepath.Join(dir, name)))
	}
	m := a.Manifest
	manifest(&m)
	_, err = w.Finish(m)
	noError(t)(errors.Join(err, f.Close()))
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
		if !errors.Is(err, memory.Unavailable) || !strings.Contains(err.Error(), "use a newer") {
			t.Errorf("newer, %s: %v; want to be told of a newer loci", what, err)
		}
		if left := filesIn(t, to); len(left) > 0 {
			t.Errorf("newer, %s: it left %v", what, left)
		}
	}
	older := rewritten(t, file, func(m *backup.Manifest) { m.Schema = 11 },
		`ALTER TABLE facts DROP COLUMN core_never; ALTER TABLE turns DROP COLUMN foreign_ranges;
		ALTER TABLE traces ADD COLUMN listed INTEGER NOT NULL DEFAULT 0; CREATE INDEX traces_unlisted ON traces (owner, id) WHERE listed = 0;
		DROP TABLE audit; ALTER TABLE api_keys DROP COLUMN scope; CREATE TABLE feedback (owner TEXT); CREATE TABLE conversation_events (owner TEXT);
		UPDATE goose_db_version SET version_id = 11 WHERE version_id > 0`)
	to := settingsAt(t, t.TempDir())
	noError(t)(backup.Restore(t.Context(), to, older, backup.RestoreOptions{}))
	holds(t, to, want)
}
