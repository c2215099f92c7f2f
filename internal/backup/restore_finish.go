package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/loci-memory/loci/internal/backup/archive"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/internal/filelock"
	"github.com/loci-memory/loci/memory"
)

// RestoringFolder is the name of a folder in the data folder, with the new files and the plan of a
// restore. It exists from the end of unpacking until the restore is complete.
const (
	RestoringFolder = "restoring"
	planFile        = "plan.json"
	asideDoneFile   = "aside" // name of a file in RestoringFolder, which exists once all previous memory is set aside
)

// memoryFiles lists the files of a data folder that a restore replaces.
var memoryFiles = []string{config.DatabaseFile, config.DatabaseFile + "-wal", config.DatabaseFile + "-shm", config.DatabaseFile + "-journal", BackupListFile, archive.SettingsFile, config.IndexFolder}

// restorePlan lists the remaining steps of a restore. Paths are absolute.
type restorePlan struct {
	DataAside    string `json:"data_aside,omitempty"` // folder for the previous memory; empty if no memory existed
	VaultDir     string `json:"vault,omitempty"`
	VaultStaging string `json:"vault_beside,omitempty"` // folder with the unpacked vault
	VaultAside   string `json:"vault_aside,omitempty"`
}

func (p restorePlan) asideFolders() (out []string) {
	for _, path := range []string{p.DataAside, p.VaultAside} {
		if path != "" {
			out = append(out, path)
		}
	}
	return out
}

// RecoverInterrupted completes a restore that a crash interrupted after unpacking, and removes unfinished
// backups and restores from the data folder. Call it before opening the memory.
func RecoverInterrupted(c config.Config) (err error) {
	dir, err := c.DataDir()
	if err != nil {
		return err
	}
	if !exists(filepath.Join(dir, RestoringFolder)) && !exists(filepath.Join(dir, UnfinishedFolder)) {
		return nil
	}
	unlock, err := filelock.Lock(filepath.Join(dir, config.DatabaseFile+".lock"), "has it open; only one process may write")
	if err != nil {
		return fmt.Errorf("open the memory in %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := os.RemoveAll(filepath.Join(dir, UnfinishedFolder)); err != nil {
		return fmt.Errorf("remove unfinished work: %w", err)
	}
	return finishRestore(dir, func() {})
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// finishRestore completes an unpacked restore. After an interruption at any step it can be called again.
// The caller must hold the lock of the folder.
func finishRestore(dir string, stepHook func()) error {
	restoring := filepath.Join(dir, RestoringFolder)
	if !exists(restoring) {
		return nil
	}
	var p restorePlan
	text, err := os.ReadFile(filepath.Join(restoring, planFile))
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if errors.Is(err, fs.ErrNotExist) { // all steps are done; only the folder remains
		return os.RemoveAll(restoring)
	}
	if err != nil {
		return fmt.Errorf("complete the interrupted restore: %w", err)
	}
	if !exists(filepath.Join(restoring, asideDoneFile)) {
		if err := p.setAside(dir, stepHook); err != nil {
			return fmt.Errorf("move existing memory to another folder: %w", p.cancel(dir, err))
		}
		if err := disk.ReplaceFile(filepath.Join(restoring, asideDoneFile), nil); err != nil {
			return err
		}
	}
	stepHook()
	if err := p.moveIntoPlace(dir, stepHook); err != nil {
		return fmt.Errorf("move the restored files into the data folder and the vault: %w", err)
	}
	if err := errors.Join(os.Remove(filepath.Join(restoring, planFile)), disk.SyncFolder(restoring)); err != nil {
		return err
	}
	stepHook()
	return errors.Join(os.RemoveAll(restoring), disk.SyncFolder(dir))
}

// setAside moves existing memory away. It moves the vault first: if that move fails, which is more likely than
// for the other files, nothing has changed.
func (p restorePlan) setAside(dir string, stepHook func()) error {
	if err := p.setVaultAside(stepHook); err != nil {
		return err
	}
	for _, name := range memoryFiles {
		at := filepath.Join(dir, name)
		if p.DataAside == "" || !exists(at) {
			continue
		}
		if err := os.MkdirAll(p.DataAside, 0o700); err != nil {
			return err
		}
		if err := os.Rename(at, filepath.Join(p.DataAside, name)); err != nil {
			return err
		}
		stepHook()
	}
	if p.DataAside == "" {
		return nil
	}
	return errors.Join(disk.SyncFolder(p.DataAside), disk.SyncFolder(dir))
}

func (p restorePlan) setVaultAside(stepHook func()) error {
	switch {
	case p.VaultDir == "" || !exists(p.VaultDir) || p.VaultAside != "" && exists(p.VaultAside):
		return nil
	case p.VaultAside == "": // the vault is empty
		return os.Remove(p.VaultDir)
	}
	if err := os.Rename(p.VaultDir, p.VaultAside); err != nil {
		return err
	}
	stepHook()
	return disk.SyncFolder(filepath.Dir(p.VaultDir))
}

// cancel cancels a restore if setAside has changed nothing, because otherwise every start would fail. A restore
// that has changed anything continues at the next start. cancel returns cause, the error of setAside.
func (p restorePlan) cancel(dir string, cause error) error {
	if p.VaultDir == "" || !exists(p.VaultDir) || p.VaultAside != "" && exists(p.VaultAside) || p.DataAside != "" && exists(p.DataAside) {
		return cause
	}
	discarded := filepath.Join(dir, UnfinishedFolder) // the next start removes this folder if this call cannot
	err := errors.Join(os.Rename(filepath.Join(dir, RestoringFolder), discarded), disk.SyncFolder(dir))
	if err == nil {
		err = errors.Join(os.RemoveAll(discarded), os.RemoveAll(p.VaultStaging))
	}
	return errors.Join(memory.Errorf(memory.Invalid, "nothing was changed: the vault's folder cannot be moved; for a mount point, set vault to a folder inside it: %w", cause), err)
}

func (p restorePlan) moveIntoPlace(dir string, stepHook func()) error {
	restored := filepath.Join(dir, RestoringFolder, archive.DataFolder)
	files, err := os.ReadDir(restored)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, f := range files {
		if err := os.Rename(filepath.Join(restored, f.Name()), filepath.Join(dir, f.Name())); err != nil {
			return err
		}
		stepHook()
	}
	if p.VaultStaging != "" && exists(p.VaultStaging) {
		if err := os.Rename(p.VaultStaging, p.VaultDir); err != nil {
			return err
		}
		if err := disk.SyncFolder(filepath.Dir(p.VaultDir)); err != nil {
			return err
		}
		stepHook()
	}
	return disk.SyncFolder(dir)
}
