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
	Replace        bool             // move existing memory to another folder instead of refusing
	IdentityOrPath string           // for an encrypted backup: an age identity, or the path of a file with identities
	Now            func() time.Time // nil uses time.Now

	// Report, if not nil, receives the progress in bytes.
	Report func(done, total int64)

	StepHook func() // if not nil, called between the steps, where a test can kill the process
}

// RestoreResult describes the restored backup and the folders that now have its content.
type RestoreResult struct {
	Manifest
	DataFolder   string   `json:"data"`
	VaultFolder  string   `json:"vault,omitempty"`
	AsideFolders []string `json:"set_aside,omitempty"` // folders to which Replace moved the previous memory
}

// Check reads and checks a complete backup and returns its manifest. For an invalid backup it returns the
// same errors as [Restore]. For an encrypted backup, identityOrPath is as in [archive.Open].
func Check(ctx context.Context, file, identityOrPath string, report func(done, total int64)) (m Manifest, err error) {
	a, err := openBackup(file, identityOrPath)
	if err != nil {
		return m, err
	}
	m = a.Manifest
	return m, errors.Join(a.Check(ctx, report), a.Close())
}

// Restore restores a backup into the data folder, and into the vault's folder if the backup has a
// vault. It changes nothing before it has checked the complete backup. Then it restores everything or
// nothing: after a crash, the next start or the next Restore completes the restore.
//
// It returns [memory.Conflict] if memory exists and Replace is not set or if a server is running,
// [memory.Invalid] if the file is no complete, unaltered backup or does not match the settings, and
// [memory.Unavailable] for a backup of a newer program.
func Restore(ctx context.Context, c config.Config, file string, o RestoreOptions) (result RestoreResult, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.StepHook == nil {
		o.StepHook = func() {}
	}
	if err := CheckSupported(c); err != nil {
		return result, err
	}
	a, err := openBackup(file, o.IdentityOrPath)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := checkSettings(c, a.Manifest); err != nil {
		return result, err
	}
	r := &restoreJob{options: o, archive: a, backupFile: file}
	if r.dataDir, err = c.DataDir(); err != nil {
		return result, err
	}
	if r.vaultDir, err = c.VaultDir(); err != nil {
		return result, err
	}
	for _, path := range []*string{&r.backupFile, &r.dataDir, &r.vaultDir} {
		if *path != "" {
			if *path, err = filepath.Abs(*path); err != nil {
				return result, err
			}
		}
	}
	if r.vaultDir != "" {
		r.vaultDir = resolveLinks(r.vaultDir) // a rename must affect the folder and not a link
	}
	plan, err := r.run(ctx)
	return RestoreResult{Manifest: a.Manifest, DataFolder: r.dataDir, VaultFolder: r.vaultDir, AsideFolders: plan.asideFolders()}, err
}

// openBackup opens a backup and checks that this program supports its version.
func openBackup(file, identityOrPath string) (*archive.Archive, error) {
	a, err := archive.Open(file, identityOrPath)
	if err == nil && a.Manifest.Schema > sqlstore.SQLiteSchema {
		err = memory.Errorf(memory.Unavailable, "%s: the database schema has version %d, but this program supports versions up to %d: use a newer version of loci", file, a.Manifest.Schema, sqlstore.SQLiteSchema)
		return nil, errors.Join(err, a.Close())
	}
	return a, err
}

// checkSettings returns an error if the settings and the backup do not match.
func checkSettings(c config.Config, m Manifest) error {
	vault, database := m.Has(archive.VaultFolder), m.Has(archive.DataFolder+"/"+archive.DatabaseFile)
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

type restoreJob struct {
	options           RestoreOptions
	archive           *archive.Archive
	backupFile        string
	dataDir, vaultDir string // absolute paths; vaultDir is empty if the backup has no vault
}

func (r *restoreJob) run(ctx context.Context) (plan restorePlan, err error) {
	if err := os.MkdirAll(r.dataDir, 0o700); err != nil {
		return plan, err
	}
	unlock, err := filelock.Lock(filepath.Join(r.dataDir, config.DatabaseFile+".lock"), "has the folder open; stop that process first")
	if err != nil {
		return plan, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := finishRestore(r.dataDir, r.options.StepHook); err != nil { // complete an earlier restore
		return plan, err
	}
	if err := r.checkTargets(); err != nil {
		return plan, err
	}
	if plan, err = r.unpack(ctx); err != nil {
		return plan, errors.Join(err, os.RemoveAll(filepath.Join(r.dataDir, UnfinishedFolder)), r.removeVaultStaging())
	}
	return plan, finishRestore(r.dataDir, r.options.StepHook)
}

// checkTargets returns an error if the target folders contain memory, or if the vault is open.
func (r *restoreJob) checkTargets() error {
	if r.vaultDir != "" && (r.vaultDir == resolveLinks(r.dataDir) || pathInside(r.vaultDir, r.dataDir) != "") {
		return memory.Errorf(memory.Invalid, "the data folder %s is inside the vault; restore into another folder", r.dataDir)
	}
	if err := checkVaultUnlocked(r.vaultDir); err != nil {
		return err
	}
	if r.options.Replace {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(r.dataDir, config.DatabaseFile)); err == nil {
		return memory.Errorf(memory.Conflict, "%s contains memory already; --replace moves it to another folder", r.dataDir)
	}
	if r.vaultDir == "" {
		return nil
	}
	if names, err := os.ReadDir(r.vaultDir); err == nil && len(names) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(memory.Errorf(memory.Conflict, "the vault %s is not empty; --replace moves it to another folder", r.vaultDir), err)
	}
	return nil
}

// checkVaultUnlocked returns an error if a process has the vault open.
func checkVaultUnlocked(vaultDir string) error {
	lock := filepath.Join(vaultDir, ".loci", "lock")
	if _, err := os.Lstat(lock); vaultDir == "" || err != nil {
		return nil
	}
	unlock, err := filelock.Lock(lock, "has the vault open; stop that process first")
	if err != nil {
		return err
	}
	return unlock()
}

// vaultStaging returns the folder into which a vault is unpacked, next to the vault's folder, so that a
// rename can move it there.
func (r *restoreJob) vaultStaging() string { return r.vaultDir + ".restoring" }

func (r *restoreJob) removeVaultStaging() error {
	if r.vaultDir == "" {
		return nil
	}
	return os.RemoveAll(r.vaultStaging())
}

// unpack unpacks the backup next to existing memory, and writes a plan for replacing that memory. The last
// step of unpack is a rename; after a crash later than the rename, the next start completes the restore.
func (r *restoreJob) unpack(ctx context.Context) (plan restorePlan, err error) {
	folder := filepath.Join(r.dataDir, UnfinishedFolder)
	if err := errors.Join(os.RemoveAll(folder), r.removeVaultStaging(), os.Mkdir(folder, 0o700)); err != nil {
		return plan, err
	}
	data := filepath.Join(folder, archive.DataFolder)
	if err := r.archive.Unpack(ctx, archive.DataFolder, data, r.options.Report); err != nil {
		return plan, err
	}
	r.options.StepHook()
	if r.vaultDir != "" {
		if err := os.MkdirAll(filepath.Dir(r.vaultDir), 0o700); err != nil {
			return plan, err
		}
		if err := r.archive.Unpack(ctx, archive.VaultFolder, r.vaultStaging(), r.options.Report); err != nil {
			return plan, err
		}
		plan.VaultDir, plan.VaultStaging = r.vaultDir, r.vaultStaging()
	}
	if r.archive.Manifest.Has(archive.DataFolder + "/" + archive.DatabaseFile) {
		if err := sqlstore.CheckFile(ctx, filepath.Join(data, config.DatabaseFile)); err != nil {
			return plan, fmt.Errorf("check the database in the backup: %w", err)
		}
	}
	if err := r.planAside(&plan); err != nil {
		return plan, err
	}
	if err := r.writeBackupList(plan, data); err != nil {
		return plan, err
	}
	text, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		return plan, err
	}
	if err := disk.ReplaceFile(filepath.Join(folder, planFile), text); err != nil {
		return plan, err
	}
	r.options.StepHook()
	if err := os.Rename(folder, filepath.Join(r.dataDir, RestoringFolder)); err != nil {
		return plan, err
	}
	return plan, disk.SyncFolder(r.dataDir)
}

// planAside chooses the folders into which existing memory will be set aside.
func (r *restoreJob) planAside(p *restorePlan) error {
	stamp := ".before-" + r.options.Now().UTC().Format("2006-01-02T15-04-05.000000")
	for _, name := range memoryFiles {
		if _, err := os.Lstat(filepath.Join(r.dataDir, name)); err == nil {
			p.DataAside = filepath.Join(r.dataDir, "memory"+stamp)
		}
	}
	names, err := os.ReadDir(r.vaultDir)
	if r.vaultDir == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if len(names) > 0 {
		if p.VaultAside = r.vaultDir + stamp; p.VaultAside == p.DataAside {
			p.VaultAside = r.vaultDir + ".vault" + stamp
		}
	}
	return err
}

// writeBackupList writes the list of backups of the restored memory into newDataDir: the restored backup,
// the set-aside folders, and the entries of the lists in the backup and in the data folder.
func (r *restoreJob) writeBackupList(p restorePlan, newDataDir string) error {
	var entries []listEntry
	restored := listEntry{Path: r.backupFile, StartedAt: r.archive.Manifest.StartedAt, ContentAt: r.archive.Manifest.ContentAt}
	seen := map[listEntry]bool{{Path: restored.Path, StartedAt: restored.StartedAt}: true}
	restored.RestoredAt = r.options.Now().UTC()
	entries = append(entries, restored)
	for _, path := range []string{filepath.Join(newDataDir, BackupListFile), filepath.Join(r.dataDir, BackupListFile)} {
		is, err := (&backupList{path: path}).Read()
		if err != nil && filepath.Dir(path) == newDataDir {
			return err // a damaged list in the data folder must not prevent the restore
		}
		for _, entry := range is.Backups {
			if entry.StartedAt.Equal(restored.StartedAt) { // the list in the backup lists this backup as in progress
				entry.StartedAt, entry.ContentAt = restored.StartedAt, restored.ContentAt
			}
			key := listEntry{Path: entry.Path, StartedAt: entry.StartedAt}
			if entry.IsAside {
				key.ContentAt = entry.ContentAt
			}
			if !seen[key] {
				seen[key] = true
				entries = append(entries, entry)
			}
		}
	}
	for _, path := range p.asideFolders() {
		entries = append(entries, listEntry{Path: path, ContentAt: r.options.Now().UTC(), IsAside: true})
	}
	return listContent{entries}.writeTo(filepath.Join(newDataDir, BackupListFile))
}
