// Package backup makes backups of an open memory and puts them back, whole or not at all. Receipts of
// erasures learn from it which copies may still hold what was erased.
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

// Manifest says what a backup holds.
type Manifest = archive.Manifest

// UnfinishedFolder is in the data folder while a backup is made or a restore unpacks. What
// a crash left of it goes at the next start.
const UnfinishedFolder = "unfinished"

// Maker makes backups of a memory while it is open.
type Maker struct {
	config config.Config
	store  memory.Store
	Notes  *notes
	now    func() time.Time
	making sync.Mutex // held while there is an unfinishedFolder
	Point  func()     // called between the steps; tests kill there
}

// New reads which backups were made. A file of them that cannot be read is logged. record is told of
// a restore that this is the first start after.
func New(c config.Config, store memory.Store, now func() time.Time, log *slog.Logger, record func(at time.Time, what string) error) (*Maker, error) {
	n, err := notesOf(c)
	if err != nil {
		return nil, err
	}
	if err := n.start(record); err != nil {
		log.Warn("it is not known which backups were made; none can be made until that file is moved away", "err", err)
	}
	return &Maker{config: c, store: store, Notes: n, now: now, Point: func() {}}, nil
}

// made is a backup that is there to be read. Closing it takes it away.
type made struct {
	*os.File
	Size     int64 // bytes
	Manifest Manifest
	identity string // decrypts it, if it is encrypted
	close    func() error
}

// Close implements io.Closer.
func (m *made) Close() error { return errors.Join(m.File.Close(), m.close()) }

// Backable refuses what loci backup and loci restore are not for.
func Backable(c config.Config) error {
	switch {
	case c.Store.Postgres():
		return memory.Errorf(memory.Invalid, "memory is kept by a PostgreSQL server, which has its own means: pg_dump --format=custom --file=loci.dump '%s', "+
			"and pg_restore --clean --dbname='%s' loci.dump while no server of Loci's runs", c.Store, c.Store)
	case c.Store.Mongo():
		return memory.Errorf(memory.Invalid, "memory is kept by a MongoDB server, which has its own means: mongodump --uri='%s' --archive=loci.archive, "+
			"and mongorestore --uri='%s' --drop --archive=loci.archive while no server of Loci's runs", c.Store, c.Store)
	case c.Store == "memory" && c.Vault == "":
		return memory.Errorf(memory.Invalid, "store is memory, of which nothing stays; loci export takes one user's away")
	}
	return nil
}

// Make makes a backup of the memory of all users, as it is at one moment, and returns it
// to be read, with its size in bytes. It is there whole before anything is read of it, and
// gone once it is closed. Chats and writes go on meanwhile; erasures wait.
//
// to is where it is to be kept, in words or as a path: receipts of erasures name it from
// then on. [memory.Conflict]: another is being made; [memory.Invalid]: this memory is not
// one to be copied so.
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
		return nil, memory.Errorf(memory.Conflict, "a backup is being made already")
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
	if b.config.Store == "memory" { // then nobody else keeps others off the folder
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

// write puts the archive together in a folder.
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

// addMemory adds the vault and the database, as they are at one moment.
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
		if within != "" && (name == within || strings.HasPrefix(name, within+"/")) { // the data folder is not the vault's
			return nil
		}
		return w.Add(archive.VaultFolder+"/"+name, from)
	}, rest)
	if err != nil {
		return fmt.Errorf("copy the vault and what belongs to it: %w", err)
	}
	return nil
}

// addDatabase adds the database as a snapshot has it.
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

// inside is the path of a folder within another, with slashes, "" if it is not in it.
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

// followed is a path without links in it, or the path where there is nothing yet.
func followed(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// AddFile adds a file, if it is there.
func AddFile(w *archive.Writer, name, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it is only read
	return w.Add(name, f)
}

// CheckNotes reports, by its error, whether the file of the backups that were made can be read.
func (b *Maker) CheckNotes() error {
	_, err := b.Notes.Read()
	return err
}
