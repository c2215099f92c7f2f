package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/loci-memory/loci/internal/backup/archive"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/internal/filelock"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
)

// RestoreOptions are options of a restore.
type RestoreOptions struct {
	Replace  bool             // move existing memory to another folder instead of refusing
	Identity string           // file of age identities, for an encrypted backup
	Now      func() time.Time // nil uses time.Now

	// Report, if not nil, receives the progress in bytes.
	Report func(done, of int64)

	Point func() // if not nil, called between the steps, where a test can kill the process
}

// RestoreResult describes the restored backup and its folders.
type Restored struct {
	Manifest
	Data  string   `json:"data"`
	Vault string   `json:"vault,omitempty"`
	Aside []string `json:"set_aside,omitempty"` // folders with the previous memory
}

// Check reads and checks a complete backup and returns its manifest. It returns the same errors as
// [Restore]. The file identity has age identities, for an encrypted backup.
func Check(ctx context.Context, file, identity string, report func(done, of int64)) (m Manifest, err error) {
	a, err := openBackup(file, identity)
	if err != nil {
		return m, err
	}
	m = a.Manifest
	return m, errors.Join(a.Check(ctx, report), a.Close())
}

// Restore restores a backup into the data folder, and into the vault's folder if the backup has a
// vault. It changes nothing before it has checked the complete backup. Then it restores everything or
// nothing: after a crash, the next start or the next Restore completes the work.
//
// It returns [memory.Conflict] if memory exists and Replace is not set or if a server is running,
// [memory.Invalid] if the file is no complete, unaltered backup or does not match the settings, and
// [memory.Unavailable] for a backup of a newer program.
func Restore(ctx context.Context, c config.Config, file string, o RestoreOptions) (out Restored, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Point == nil {
		o.Point = func() {}
	}
	if err := Backable(c); err != nil {
		return out, err
	}
	a, err := openBackup(file, o.Identity)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := fits(c, a.Manifest); err != nil {
		return out, err
	}
	r := &restoring{options: o, archive: a, file: file}
	if r.dir, err = c.DataDir(); err != nil {
		return out, err
	}
	if r.vault, err = c.VaultDir(); err != nil {
		return out, err
	}
	for _, path := range []*string{&r.file, &r.dir, &r.vault} {
		if *path != "" {
			if *path, err = filepath.Abs(*path); err != nil {
				return out, err
			}
		}
	}
	if r.vault != "" {
		r.vault = followed(r.vault) // a rename must affect the folder and not a link
	}
	plan, err := r.run(ctx)
	return Restored{Manifest: a.Manifest, Data: r.dir, Vault: r.vault, Aside: plan.asides()}, err
}

// openBackup opens a backup and checks that this program supports its version.
func openBackup(file, identity string) (*archive.Archive, error) {
	a, err := archive.Open(file, identity)
	if err == nil && a.Manifest.Schema > sqlstore.SQLiteSchema {
		err = memory.Errorf(memory.Unavailable, "%s: the database schema has version %d, but this program supports versions up to %d: use a newer version of loci", file, a.Manifest.Schema, sqlstore.SQLiteSchema)
		return nil, errors.Join(err, a.Close())
	}
	return a, err
}

// checkSettings returns an error if the settings and the backup do not match.
func fits(c config.Config, m Manifest) error {
	vault, database := m.Has(archive.VaultFolder), m.Has(archive.DataFolder+"/"+archive.Database)
	switch {
	case !vault && !database:
		return memory.Errorf(memory.Invalid, "the backup contains no memory")
	case vault && c.Vault == "":
		return memory.Errorf(memory.Invalid, "the backup contains a vault: name its folder with --set vault=FOLDER or the setting vault")
	case !vault && c.Vault != "":
		return memory.Errorf(memory.Invalid, "the backup contains no vault: restore it without the setting vault, and set vault afterwards")
	}
	return nil
}

// restoreJob is a restore in progress.
type restoring struct {
	options    RestoreOptions
	archive    *archive.Archive
	file       string
	dir, vault string // absolute paths; vault is empty without a vault
}

func (r *restoring) run(ctx context.Context) (plan restorePlan, err error) {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return plan, err
	}
	unlock, err := filelock.Take(filepath.Join(r.dir, config.DatabaseFile+".lock"), "has the folder open; stop that process first")
	if err != nil {
		return plan, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := finishRestore(r.dir, r.options.Point); err != nil { // complete an earlier restore
		return plan, err
	}
	if err := r.checkPlaces(); err != nil {
		return plan, err
	}
	if plan, err = r.unpack(ctx); err != nil {
		return plan, errors.Join(err, os.RemoveAll(filepath.Join(r.dir, UnfinishedFolder)), r.dropVault())
	}
	return plan, finishRestore(r.dir, r.options.Point)
}

// checkTargets returns an error if the target folders contain memory, or if the vault is open.
func (r *restoring) checkPlaces() error {
	if r.vault != "" && (r.vault == followed(r.dir) || inside(r.vault, r.dir) != "") {
		return memory.Errorf(memory.Invalid, "the data folder %s is inside the vault; restore into another folder", r.dir)
	}
	if err := vaultFree(r.vault); err != nil {
		return err
	}
	if r.options.Replace {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(r.dir, config.DatabaseFile)); err == nil {
		return memory.Errorf(memory.Conflict, "%s contains memory already; --replace moves it to another folder", r.dir)
	}
	if r.vault == "" {
		return nil
	}
	if names, err := os.ReadDir(r.vault); err == nil && len(names) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(memory.Errorf(memory.Conflict, "the vault %s is not empty; --replace moves it to another folder", r.vault), err)
	}
	return nil
}

// checkVaultUnlocked returns an error if a process has the vault open.
func vaultFree(vault string) error {
	lock := filepath.Join(vault, ".loci", "lock")
	if _, err := os.Lstat(lock); vault == "" || err != nil {
		return nil
	}
	unlock, err := filelock.Take(lock, "has the vault open; stop that process first")
	if err != nil {
		return err
	}
	return unlock()
}

// vaultStaging returns the folder into which a vault is unpacked: on the same disk, for a rename.
func (r *restoring) vaultBeside() string { return r.vault + ".restoring" }

func (r *restoring) dropVault() error {
	if r.vault == "" {
		return nil
	}
	return os.RemoveAll(r.vaultBeside())
}

// unpack unpacks the backup next to existing memory, and writes a plan for replacing that memory. After
// the rename at its end, the restore will be completed even after a crash.
func (r *restoring) unpack(ctx context.Context) (plan restorePlan, err error) {
	folder := filepath.Join(r.dir, UnfinishedFolder)
	if err := errors.Join(os.RemoveAll(folder), r.dropVault(), os.Mkdir(folder, 0o700)); err != nil {
		return plan, err
	}
	data := filepath.Join(folder, archive.DataFolder)
	if err := r.archive.Unpack(ctx, archive.DataFolder, data, r.options.Report); err != nil {
		return plan, err
	}
	r.options.Point()
	if r.vault != "" {
		if err := os.MkdirAll(filepath.Dir(r.vault), 0o700); err != nil {
			return plan, err
		}
		if err := r.archive.Unpack(ctx, archive.VaultFolder, r.vaultBeside(), r.options.Report); err != nil {
			return plan, err
		}
		plan.Vault, plan.VaultBeside = r.vault, r.vaultBeside()
	}
	if r.archive.Manifest.Has(archive.DataFolder + "/" + archive.Database) {
		if err := sqlstore.CheckFile(ctx, filepath.Join(data, config.DatabaseFile)); err != nil {
			return plan, fmt.Errorf("check the database in the backup: %w", err)
		}
	}
	if err := r.plan(&plan); err != nil {
		return plan, err
	}
	if err := r.note(plan, data); err != nil {
		return plan, err
	}
	text, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		return plan, err
	}
	if err := disk.Replace(filepath.Join(folder, planFile), text); err != nil {
		return plan, err
	}
	r.options.Point()
	if err := os.Rename(folder, filepath.Join(r.dir, RestoringFolder)); err != nil {
		return plan, err
	}
	return plan, disk.SyncFolder(r.dir)
}

// planAside chooses the files to set aside, and the folders for them.
func (r *restoring) plan(p *restorePlan) error {
	stamp := ".before-" + r.options.Now().UTC().Format("2006-01-02T15-04-05.000000")
	for _, name := range memoryFiles {
		if _, err := os.Lstat(filepath.Join(r.dir, name)); err == nil {
			p.DataAside = filepath.Join(r.dir, "memory"+stamp)
		}
	}
	names, err := os.ReadDir(r.vault)
	if r.vault == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if len(names) > 0 {
		if p.VaultAside = r.vault + stamp; p.VaultAside == p.DataAside {
			p.VaultAside = r.vault + ".vault" + stamp
		}
	}
	return err
}

// writeList records the backup and the set-aside folders for receipts of erasures, together with the
// entries of the lists in the data folder and in the backup.
func (r *restoring) note(p restorePlan, data string) error {
	var all []note
	this := note{Path: r.file, Began: r.archive.Manifest.Began, At: r.archive.Manifest.At}
	have := map[note]bool{{Path: this.Path, Began: this.Began}: true}
	this.Restored = r.options.Now().UTC()
	all = append(all, this)
	for _, path := range []string{filepath.Join(data, NotesFile), filepath.Join(r.dir, NotesFile)} {
		is, err := (&notes{path: path}).Read()
		if err != nil && filepath.Dir(path) == data {
			return err // a damaged list in the data folder must not prevent the restore
		}
		for _, one := range is.Backups {
			if one.Began.Equal(this.Began) { // the list in the backup has the backup as unfinished
				one.Began, one.At = this.Began, this.At
			}
			same := note{Path: one.Path, Began: one.Began}
			if one.Aside {
				same.At = one.At
			}
			if !have[same] {
				have[same] = true
				all = append(all, one)
			}
		}
	}
	for _, path := range p.asides() {
		all = append(all, note{Path: path, At: r.options.Now().UTC(), Aside: true})
	}
	return noteList{all}.writeTo(filepath.Join(data, NotesFile))
}
