// Package backup creates and restores backups of all memory. For receipts of erasures it also lists
// the copies that may still contain erased text.
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
	config config.Config
	store  memory.Store
	Notes  *notes
	now    func() time.Time
	making sync.Mutex // held while UnfinishedFolder is in use
	Point  func()     // called between the steps, where a test can kill the process
}

// New reads the list of backups, and logs an error if the list is unreadable. At the first start after
// a restore it calls record with the restore's time and description.
func New(c config.Config, store memory.Store, now func() time.Time, log *slog.Logger, record func(at time.Time, what string) error) (*Maker, error) {
	n, err := notesOf(c)
	if err != nil {
		return nil, err
	}
	if err := n.start(record); err != nil {
		log.Warn("the list of backups is unreadable; no backup is possible until you move the file away", "err", err)
	}
	return &Maker{config: c, store: store, Notes: n, now: now, Point: func() {}}, nil
}

// tempBackup is a readable backup in UnfinishedFolder. Close deletes it.
type made struct {
	*os.File
	Size     int64 // bytes
	Manifest Manifest
	identity string // decrypts the backup; empty for an unencrypted backup
	close    func() error
}

// Close implements io.Closer.
func (m *made) Close() error { return errors.Join(m.File.Close(), m.close()) }

// CheckSupported returns an error if loci backup and loci restore do not support the settings.
func Backable(c config.Config) error {
	switch {
	case c.Store.Postgres():
		return memory.Errorf(memory.Invalid, "the store is a PostgreSQL server; use its own tools: pg_dump --format=custom --file=loci.dump '%s', "+
			"and pg_restore --clean --dbname='%s' loci.dump while no Loci server is running", c.Store, c.Store)
	case c.Store.Mongo():
		return memory.Errorf(memory.Invalid, "the store is a MongoDB server; use its own tools: mongodump --uri='%s' --archive=loci.archive, "+
			"and mongorestore --uri='%s' --drop --archive=loci.archive while no Loci server is running", c.Store, c.Store)
	case c.Store == "memory" && c.Vault == "":
		return memory.Errorf(memory.Invalid, "the store is memory, which is not saved; use loci export to export a user's memories")
	}
	return nil
}

// Create creates a consistent backup of all users' memory, and returns the complete backup and the size
// in bytes. Closing the backup deletes it. Chats and writes continue during the call; erasures wait.
//
// The text destination describes where the caller will store the backup, for receipts of erasures.
// Create returns [memory.Conflict] if another backup is in progress, and [memory.Invalid] if the store
// does not support backups.
func (b *Maker) Make(ctx context.Context, to string) (_ io.ReadCloser, size int64, err error) {
	m, err := b.make(ctx, to, "")
	if err != nil {
		return nil, 0, err
	}
	return m, m.Size, nil
}

func (b *Maker) make(ctx context.Context, to, recipient string) (_ *made, err error) {
	if err := Backable(b.config); err != nil {
		return nil, err
	}
	if !b.making.TryLock() {
		return nil, memory.Errorf(memory.Conflict, "another backup is in progress")
	}
	dir, err := b.config.DataDir()
	if err != nil {
		b.making.Unlock()
		return nil, err
	}
	folder := filepath.Join(dir, UnfinishedFolder)
	began := b.now()
	unlock := func() error { return nil }
	end := sync.OnceValue(func() error {
		defer b.making.Unlock()
		return errors.Join(os.RemoveAll(folder), unlock())
	})
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("back up: %w", err), b.Notes.drop(began), end())
		}
	}()
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o700)); err != nil {
		return nil, err
	}
	if b.config.Store == "memory" { // without a database, no other lock protects the folder
		if unlock, err = filelock.Take(filepath.Join(dir, config.DatabaseFile+".lock"), "has it open"); err != nil {
			unlock = func() error { return nil }
			return nil, err
		}
	}
	if err := b.Notes.begin(to, began); err != nil {
		return nil, err
	}
	b.Point()
	m, err := b.write(ctx, dir, folder, recipient, began)
	if err != nil {
		return nil, err
	}
	b.Point()
	if err := b.Notes.done(began, m.Manifest.At); err != nil {
		return nil, errors.Join(err, m.File.Close())
	}
	m.close = end
	return m, nil
}

// writeArchive writes the archive into folder.
func (b *Maker) write(ctx context.Context, dir, folder, recipient string, began time.Time) (_ *made, err error) {
	f, err := os.OpenFile(filepath.Join(folder, "backup.zip"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
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
	m := Manifest{Loci: obs.Version(), Began: began.UTC()}
	if err := b.addMemory(ctx, w, &m, folder); err != nil {
		return nil, err
	}
	if err := AddFile(w, archive.DataFolder+"/"+NotesFile, filepath.Join(dir, NotesFile)); err != nil {
		return nil, err
	}
	set, err := b.config.Portable()
	if err != nil {
		return nil, err
	}
	if err := w.Add(archive.DataFolder+"/"+archive.Settings, bytes.NewReader(set)); err != nil {
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
	return &made{File: f, Size: size, Manifest: m, identity: identity}, err
}

// addMemory adds the vault and the database, both in the state of the same moment.
func (b *Maker) addMemory(ctx context.Context, w *archive.Writer, m *Manifest, folder string) (err error) {
	store := b.store
	files, inVault := store.(*vaultstore.Store)
	if inVault {
		store = files.Store
	}
	var snapshot *sqlstore.Snapshot
	letGo := func() error { return nil }
	defer func() { err = errors.Join(err, letGo()) }()
	take := func() (err error) {
		if s, ok := store.(*sqlstore.Store); ok {
			if snapshot, err = s.Snapshot(ctx); err == nil {
				letGo = sync.OnceValue(snapshot.Close)
			}
		}
		m.At = b.now().UTC()
		return err
	}
	rest := func() error {
		b.Point()
		return errors.Join(b.addDatabase(ctx, w, m, snapshot, folder), letGo())
	}
	if !inVault {
		if err := take(); err != nil {
			return err
		}
		return rest()
	}
	data, err := b.config.DataDir()
	if err != nil {
		return err
	}
	within := inside(files.Dir(), data)
	err = files.Copy(ctx, take, func(name string, from io.Reader) error {
		if within != "" && (name == within || strings.HasPrefix(name, within+"/")) { // skip the data folder if it is inside the vault
			return nil
		}
		return w.Add(archive.VaultFolder+"/"+name, from)
	}, rest)
	if err != nil {
		return fmt.Errorf("copy the vault and its database: %w", err)
	}
	return nil
}

// addDatabase adds the database from a snapshot.
func (b *Maker) addDatabase(ctx context.Context, w *archive.Writer, m *Manifest, snapshot *sqlstore.Snapshot, folder string) (err error) {
	if m.Schema, err = snapshot.Schema(ctx); err != nil {
		return err
	}
	if m.Counts, err = snapshot.Counts(ctx); err != nil {
		return err
	}
	copied := filepath.Join(folder, config.DatabaseFile)
	if err := snapshot.CopyTo(ctx, copied); err != nil {
		return err
	}
	b.Point()
	name := archive.DataFolder + "/" + archive.Database
	if b.config.Store == "memory" {
		name = path.Join(archive.VaultFolder, vaultstore.OwnFolder, archive.Database)
	}
	if err := AddFile(w, name, copied); err != nil {
		return err
	}
	b.Point()
	return os.Remove(copied)
}

// pathInside returns the slash-separated path of inner relative to outer, or "" if inner is not inside outer.
func inside(outer, inner string) string {
	outer, err := filepath.Abs(outer)
	if err != nil {
		return ""
	}
	if inner, err = filepath.Abs(inner); err != nil {
		return ""
	}
	path, err := filepath.Rel(followed(outer), followed(inner))
	if err != nil || path == "." || !filepath.IsLocal(path) {
		return ""
	}
	return filepath.ToSlash(path)
}

// resolveLinks resolves symbolic links in a path. It returns a path that does not exist unchanged.
func followed(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// AddFile adds a file to a backup, if the file exists.
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
