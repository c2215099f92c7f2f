// Package backup creates and restores backups of all memory, and copies memory into another database
// ([Migrate]). For receipts of erasures it lists the copies that may still contain erased text.
package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/backup/archive"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/filelock"
	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/memory"
)

// Manifest describes the content of a backup.
type Manifest = archive.Manifest

// UnfinishedFolder is the name of a folder in the data folder, which exists while a backup is created or
// a restore unpacks. After a crash the next start removes the folder.
const UnfinishedFolder = "unfinished"

// Maker creates backups of an open memory.
type Maker struct {
	config     config.Config
	store      memory.Store
	List       *backupList
	now        func() time.Time
	inProgress sync.Mutex // held until the backup in progress is closed, because each backup uses UnfinishedFolder
	StepHook   func()     // called between the steps of a backup, where a test can kill the process
}

// New reads the list of backups, and logs an error if the list is unreadable. At the first start after
// a restore it calls recordRestore with the restore's time and description.
func New(c config.Config, store memory.Store, now func() time.Time, log *slog.Logger, recordRestore func(at time.Time, description string) error) (*Maker, error) {
	n, err := openList(c)
	if err != nil {
		return nil, err
	}
	if err := n.reconcile(recordRestore); err != nil {
		log.Warn("the list of backups is unreadable; no backup is possible until you move the file away", "err", err)
	}
	return &Maker{config: c, store: store, List: n, now: now, StepHook: func() {}}, nil
}

// tempBackup is a complete backup in UnfinishedFolder, open for reading. Close deletes the folder.
type tempBackup struct {
	*os.File
	Size     int64 // bytes
	Manifest Manifest
	identity string // age identity that decrypts the backup; empty for an unencrypted backup
	release  func() error
}

// Close implements io.Closer.
func (m *tempBackup) Close() error { return errors.Join(m.File.Close(), m.release()) }

// CheckSupported returns an error if loci backup and loci restore do not support the settings.
func CheckSupported(c config.Config) error {
	switch {
	case c.Store.IsPostgres():
		return memory.Errorf(memory.Invalid, "the store is a PostgreSQL server; use its own tools: pg_dump --format=custom --file=loci.dump '%s', "+
			"and pg_restore --clean --dbname='%s' loci.dump while no Loci server is running", c.Store, c.Store)
	case c.Store.IsMongo():
		return memory.Errorf(memory.Invalid, "the store is a MongoDB server; use its own tools: mongodump --uri='%s' --archive=loci.archive, "+
			"and mongorestore --uri='%s' --drop --archive=loci.archive while no Loci server is running", c.Store, c.Store)
	case c.Store == "memory" && c.Vault == "":
		return memory.Errorf(memory.Invalid, "the store is memory, which is not saved; use loci export to export a user's memories")
	}
	return nil
}

// Create creates a consistent backup of all users' memory, and returns a reader of the complete backup and
// its size in bytes. Closing the reader deletes the backup. Chats and writes continue during the call;
// erasures wait.
//
// The text destination describes where the caller will store the backup, for receipts of erasures.
// Create returns [memory.Conflict] if another backup is in progress, and [memory.Invalid] if the store
// does not support backups.
func (b *Maker) Create(ctx context.Context, destination string) (_ io.ReadCloser, size int64, err error) {
	m, err := b.create(ctx, destination, "")
	if err != nil {
		return nil, 0, err
	}
	return m, m.Size, nil
}

func (b *Maker) create(ctx context.Context, destination, recipient string) (_ *tempBackup, err error) {
	if err := CheckSupported(b.config); err != nil {
		return nil, err
	}
	if !b.inProgress.TryLock() {
		return nil, memory.Errorf(memory.Conflict, "another backup is in progress")
	}
	dir, err := b.config.DataDir()
	if err != nil {
		b.inProgress.Unlock()
		return nil, err
	}
	stagingDir := filepath.Join(dir, UnfinishedFolder)
	startedAt := b.now()
	unlock := func() error { return nil }
	release := sync.OnceValue(func() error {
		defer b.inProgress.Unlock()
		return errors.Join(os.RemoveAll(stagingDir), unlock())
	})
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("back up: %w", err), b.List.removeFailed(startedAt), release())
		}
	}()
	if err := errors.Join(os.RemoveAll(stagingDir), os.MkdirAll(stagingDir, 0o700)); err != nil {
		return nil, err
	}
	if b.config.Store == "memory" { // without a database, no other lock protects the folder
		if unlock, err = filelock.Lock(filepath.Join(dir, config.DatabaseFile+".lock"), "has it open"); err != nil {
			unlock = func() error { return nil }
			return nil, err
		}
	}
	if err := b.List.addStarted(destination, startedAt); err != nil {
		return nil, err
	}
	b.StepHook()
	m, err := b.writeArchive(ctx, dir, stagingDir, recipient, startedAt)
	if err != nil {
		return nil, err
	}
	b.StepHook()
	if err := b.List.setContentTime(startedAt, m.Manifest.ContentAt); err != nil {
		return nil, errors.Join(err, m.File.Close())
	}
	m.release = release
	return m, nil
}

// writeArchive writes the archive into the folder stagingDir; dir is the data folder.
func (b *Maker) writeArchive(ctx context.Context, dir, stagingDir, recipient string, startedAt time.Time) (_ *tempBackup, err error) {
	f, err := os.OpenFile(filepath.Join(stagingDir, "backup.zip"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	w, identity, err := archive.NewEncrypted(f, recipient)
	if err != nil {
		return nil, err
	}
	m := Manifest{LociVersion: obs.Version(), StartedAt: startedAt.UTC()}
	if err := b.addMemory(ctx, w, &m, stagingDir); err != nil {
		return nil, err
	}
	if err := AddFile(w, archive.DataFolder+"/"+BackupListFile, filepath.Join(dir, BackupListFile)); err != nil {
		return nil, err
	}
	settings, err := b.config.PortableYAML()
	if err != nil {
		return nil, err
	}
	if err := w.Add(archive.DataFolder+"/"+archive.SettingsFile, bytes.NewReader(settings)); err != nil {
		return nil, err
	}
	if m, err = w.Finish(m); err != nil {
		return nil, err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	_, err = f.Seek(0, io.SeekStart)
	return &tempBackup{File: f, Size: size, Manifest: m, identity: identity}, err
}

// addMemory adds the vault and the database, both as they were at the same moment.
func (b *Maker) addMemory(ctx context.Context, w *archive.Writer, m *Manifest, stagingDir string) (err error) {
	store := b.store
	files, hasVault := store.(*vaultstore.Store)
	if hasVault {
		store = files.Store
	}
	var snapshot *sqlstore.Snapshot
	closeSnapshot := func() error { return nil }
	defer func() { err = errors.Join(err, closeSnapshot()) }()
	takeSnapshot := func() (err error) {
		if s, ok := store.(*sqlstore.Store); ok {
			if snapshot, err = s.Snapshot(ctx); err == nil {
				closeSnapshot = sync.OnceValue(snapshot.Close)
			}
		}
		m.ContentAt = b.now().UTC()
		return err
	}
	finishCopy := func() error {
		b.StepHook()
		return errors.Join(b.addDatabase(ctx, w, m, snapshot, stagingDir), closeSnapshot())
	}
	if !hasVault {
		if err := takeSnapshot(); err != nil {
			return err
		}
		return finishCopy()
	}
	data, err := b.config.DataDir()
	if err != nil {
		return err
	}
	dataPath := pathInside(files.Dir(), data)
	err = files.Copy(ctx, takeSnapshot, func(name string, content io.Reader) error {
		if dataPath != "" && (name == dataPath || strings.HasPrefix(name, dataPath+"/")) { // skip the data folder if it is inside the vault
			return nil
		}
		return w.Add(archive.VaultFolder+"/"+name, content)
	}, finishCopy)
	if err != nil {
		return fmt.Errorf("copy the vault and its database: %w", err)
	}
	return nil
}

func (b *Maker) addDatabase(ctx context.Context, w *archive.Writer, m *Manifest, snapshot *sqlstore.Snapshot, stagingDir string) (err error) {
	if m.Schema, err = snapshot.Schema(ctx); err != nil {
		return err
	}
	if m.Counts, err = snapshot.Counts(ctx); err != nil {
		return err
	}
	copied := filepath.Join(stagingDir, config.DatabaseFile)
	if err := snapshot.CopyTo(ctx, copied); err != nil {
		return err
	}
	b.StepHook()
	name := archive.DataFolder + "/" + archive.DatabaseFile
	if b.config.Store == "memory" {
		name = path.Join(archive.VaultFolder, vaultstore.OwnFolder, archive.DatabaseFile)
	}
	if err := AddFile(w, name, copied); err != nil {
		return err
	}
	b.StepHook()
	return os.Remove(copied)
}

// pathInside returns the slash-separated path of inner relative to outer, or "" if inner is not inside outer.
func pathInside(outer, inner string) string {
	outer, err := filepath.Abs(outer)
	if err != nil {
		return ""
	}
	if inner, err = filepath.Abs(inner); err != nil {
		return ""
	}
	path, err := filepath.Rel(resolveLinks(outer), resolveLinks(inner))
	if err != nil || path == "." || !filepath.IsLocal(path) {
		return ""
	}
	return filepath.ToSlash(path)
}

// resolveLinks resolves symbolic links in a path. A path that does not exist is returned unchanged.
func resolveLinks(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// AddFile adds the file at path, if the file exists, to a backup as the member name.
func AddFile(w *archive.Writer, name, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // the file was only read
	return w.Add(name, f)
}
