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

// RestoringFolder is in the data folder from when a restore is decided until it is done: the
// files that are to take their places, and the plan.
const (
	RestoringFolder = "restoring"
	planFile        = "plan.json"
	asideDone       = "aside" // there once all is set aside
)

// memoryFiles are what a data folder has of memory.
var memoryFiles = []string{config.DatabaseFile, config.DatabaseFile + "-wal", config.DatabaseFile + "-shm", config.DatabaseFile + "-journal", NotesFile, archive.Settings, config.IndexFolder}

// restorePlan is what is left to do of a restore that is decided. Paths are whole.
type restorePlan struct {
	DataAside   string `json:"data_aside,omitempty"` // folder that takes what was there; "": nothing was
	Vault       string `json:"vault,omitempty"`
	VaultBeside string `json:"vault_beside,omitempty"` // what takes its place
	VaultAside  string `json:"vault_aside,omitempty"`
}

func (p restorePlan) asides() (out []string) {
	for _, path := range []string{p.DataAside, p.VaultAside} {
		if path != "" {
			out = append(out, path)
		}
	}
	return out
}

// Finish ends, before anything is opened, what a crash cut short in the data folder: a
// restore that was decided is brought to its end, anything else is taken back.
func Finish(c config.Config) (err error) {
	dir, err := c.DataDir()
	if err != nil {
		return err
	}
	if !there(filepath.Join(dir, RestoringFolder)) && !there(filepath.Join(dir, UnfinishedFolder)) {
		return nil
	}
	unlock, err := filelock.Take(filepath.Join(dir, config.DatabaseFile+".lock"), "has it open; only one may write")
	if err != nil {
		return fmt.Errorf("open the memory in %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := os.RemoveAll(filepath.Join(dir, UnfinishedFolder)); err != nil {
		return fmt.Errorf("take away what was not finished: %w", err)
	}
	return finishRestore(dir, func() {})
}

// there reports whether there is something at a path.
func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// finishRestore does what is left of a restore that is decided. It may be done again after
// any of its steps. The folder is locked.
func finishRestore(dir string, point func()) error {
	from := filepath.Join(dir, RestoringFolder)
	if !there(from) {
		return nil
	}
	var p restorePlan
	text, err := os.ReadFile(filepath.Join(from, planFile))
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if errors.Is(err, fs.ErrNotExist) { // all was done, and this was to be taken away
		return os.RemoveAll(from)
	}
	if err != nil {
		return fmt.Errorf("finish the restore that broke off: %w", err)
	}
	if !there(filepath.Join(from, asideDone)) {
		if err := p.setAside(dir, point); err != nil {
			return fmt.Errorf("set aside what was there: %w", p.undecide(dir, err))
		}
		if err := disk.Replace(filepath.Join(from, asideDone), nil); err != nil {
			return err
		}
	}
	point()
	if err := p.putInPlace(dir, point); err != nil {
		return fmt.Errorf("put what is restored in its place: %w", err)
	}
	if err := errors.Join(os.Remove(filepath.Join(from, planFile)), disk.SyncFolder(from)); err != nil {
		return err
	}
	point()
	return errors.Join(os.RemoveAll(from), disk.SyncFolder(dir))
}

// setAside moves what was there away: the vault first, since that is what may not let itself
// be moved.
func (p restorePlan) setAside(dir string, point func()) error {
	if err := p.setVaultAside(point); err != nil {
		return err
	}
	for _, name := range memoryFiles {
		at := filepath.Join(dir, name)
		if p.DataAside == "" || !there(at) {
			continue
		}
		if err := os.MkdirAll(p.DataAside, 0o700); err != nil {
			return err
		}
		if err := os.Rename(at, filepath.Join(p.DataAside, name)); err != nil {
			return err
		}
		point()
	}
	if p.DataAside == "" {
		return nil
	}
	return errors.Join(disk.SyncFolder(p.DataAside), disk.SyncFolder(dir))
}

func (p restorePlan) setVaultAside(point func()) error {
	switch {
	case p.Vault == "" || !there(p.Vault) || p.VaultAside != "" && there(p.VaultAside):
		return nil
	case p.VaultAside == "": // it is empty
		return os.Remove(p.Vault)
	}
	if err := os.Rename(p.Vault, p.VaultAside); err != nil {
		return err
	}
	point()
	return disk.SyncFolder(filepath.Dir(p.Vault))
}

// undecide takes a restore back whose first step failed by an error, and returns that: else
// every start would fail by it. What has changed something goes on at the next start.
func (p restorePlan) undecide(dir string, cause error) error {
	if p.Vault == "" || !there(p.Vault) || p.VaultAside != "" && there(p.VaultAside) || p.DataAside != "" && there(p.DataAside) {
		return cause
	}
	away := filepath.Join(dir, UnfinishedFolder) // which the next start takes away, should this one not
	err := errors.Join(os.Rename(filepath.Join(dir, RestoringFolder), away), disk.SyncFolder(dir))
	if err == nil {
		err = errors.Join(os.RemoveAll(away), os.RemoveAll(p.VaultBeside))
	}
	return errors.Join(memory.Errorf(memory.Invalid, "nothing was changed: the folder of the vault cannot be moved; if it is a mount point, set vault to a folder in it: %w", cause), err)
}

// putInPlace moves what is restored to where it belongs.
func (p restorePlan) putInPlace(dir string, point func()) error {
	from := filepath.Join(dir, RestoringFolder, archive.DataFolder)
	files, err := os.ReadDir(from)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, f := range files {
		if err := os.Rename(filepath.Join(from, f.Name()), filepath.Join(dir, f.Name())); err != nil {
			return err
		}
		point()
	}
	if p.VaultBeside != "" && there(p.VaultBeside) {
		if err := os.Rename(p.VaultBeside, p.Vault); err != nil {
			return err
		}
		if err := disk.SyncFolder(filepath.Dir(p.Vault)); err != nil {
			return err
		}
		point()
	}
	return disk.SyncFolder(dir)
}
