package loci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/backup"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/filelock"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/memory"
)

// Manifest says what a backup holds.
type Manifest = backup.Manifest

// unfinishedFolder is in the data folder while a backup is made or a restore unpacks. What
// a crash left of it goes at the next start.
const unfinishedFolder = "unfinished"

// backups makes backups of a memory while it is open.
type backups struct {
	config config.Config
	store  memory.Store
	notes  *notes
	now    func() time.Time
	making sync.Mutex // held while there is an unfinishedFolder
	point  func()     // called between the steps; tests kill there
}

func newBackups(c config.Config, store memory.Store, now func() time.Time) (*backups, error) {
	n, err := notesOf(c)
	return &backups{config: c, store: store, notes: n, now: now, point: func() {}}, err
}

// made is a backup that is there to be read. Closing it takes it away.
type made struct {
	*os.File
	Size     int64 // bytes
	Manifest Manifest
	close    func() error
}

// Close implements io.Closer.
func (m *made) Close() error { return errors.Join(m.File.Close(), m.close()) }

// Backup makes a backup of the memory of all users, as it is at one moment, and returns it
// to be read, with its size in bytes. It is there whole before anything is read of it, and
// gone once it is closed. Chats and writes go on meanwhile; erasures wait.
//
// to is where it is to be kept, in words or as a path: receipts of erasures name it from
// then on. [memory.Conflict]: another is being made; [memory.Invalid]: this memory is not
// one to be copied so.
func (l *Loci) Backup(ctx context.Context, to string) (_ io.ReadCloser, size int64, err error) {
	m, err := l.backups.make(ctx, to)
	if err != nil {
		return nil, 0, err
	}
	return m, m.Size, nil
}

// backable refuses what loci backup and loci restore are not for.
func backable(c config.Config) error {
	switch {
	case c.Store.Postgres():
		return memory.Errorf(memory.Invalid, "memory is kept by a PostgreSQL server, which has its own means: pg_dump --format=custom --file=loci.dump '%s', "+
			"and pg_restore --clean --dbname='%s' loci.dump while no server of Loci's runs", c.Store, c.Store)
	case c.Store == "memory" && c.Vault == "":
		return memory.Errorf(memory.Invalid, "store is memory, of which nothing stays; loci export takes one user's away")
	}
	return nil
}

func (b *backups) make(ctx context.Context, to string) (_ *made, err error) {
	if err := backable(b.config); err != nil {
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
	folder := filepath.Join(dir, unfinishedFolder)
	began := b.now()
	unlock := func() error { return nil }
	end := sync.OnceValue(func() error {
		defer b.making.Unlock()
		return errors.Join(os.RemoveAll(folder), unlock())
	})
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("back up: %w", err), b.notes.drop(began), end())
		}
	}()
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o700)); err != nil {
		return nil, err
	}
	if b.config.Store == "memory" { // then nobody else keeps others off the folder
		if unlock, err = filelock.Take(filepath.Join(dir, databaseFile+".lock"), "has it open"); err != nil {
			unlock = func() error { return nil }
			return nil, err
		}
	}
	if err := b.notes.begin(to, began); err != nil {
		return nil, err
	}
	b.point()
	m, err := b.write(ctx, dir, folder, began)
	if err != nil {
		return nil, err
	}
	b.point()
	if err := b.notes.done(began, m.Manifest.At); err != nil {
		return nil, errors.Join(err, m.File.Close())
	}
	m.close = end
	return m, nil
}

// write puts the archive together in a folder.
func (b *backups) write(ctx context.Context, dir, folder string, began time.Time) (_ *made, err error) {
	f, err := os.OpenFile(filepath.Join(folder, "backup.zip"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	w := backup.NewWriter(f)
	m := Manifest{Loci: Version(), Began: began.UTC()}
	if err := b.addMemory(ctx, w, &m, folder); err != nil {
		return nil, err
	}
	for _, name := range []string{config.EmbeddersFile, notesFile} {
		if err := addFile(w, backup.DataFolder+"/"+name, filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	set, err := b.config.Portable()
	if err != nil {
		return nil, err
	}
	if err := w.Add(backup.DataFolder+"/"+backup.Settings, bytes.NewReader(set)); err != nil {
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
	return &made{File: f, Size: size, Manifest: m}, err
}

// addMemory adds the vault and the database, as they are at one moment.
func (b *backups) addMemory(ctx context.Context, w *backup.Writer, m *Manifest, folder string) (err error) {
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
		b.point()
		if snapshot == nil {
			return b.count(ctx, m)
		}
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
		return w.Add(backup.VaultFolder+"/"+name, from)
	}, rest)
	if err != nil {
		return fmt.Errorf("copy the vault and what belongs to it: %w", err)
	}
	return nil
}

// addDatabase adds the database as a snapshot has it.
func (b *backups) addDatabase(ctx context.Context, w *backup.Writer, m *Manifest, snapshot *sqlstore.Snapshot, folder string) (err error) {
	if m.Schema, err = snapshot.Schema(ctx); err != nil {
		return err
	}
	if m.Counts, err = snapshot.Counts(ctx); err != nil {
		return err
	}
	copied := filepath.Join(folder, databaseFile)
	if err := snapshot.CopyTo(ctx, copied); err != nil {
		return err
	}
	b.point()
	name := backup.DataFolder + "/" + backup.Database
	if b.config.Store == "memory" {
		name = path.Join(backup.VaultFolder, vaultstore.OwnFolder, databaseFile)
	}
	if err := addFile(w, name, copied); err != nil {
		return err
	}
	b.point()
	return os.Remove(copied)
}

// count is for who has no database.
func (b *backups) count(ctx context.Context, m *Manifest) error {
	totals, err := b.store.Totals(ctx)
	m.Counts = map[string]int64{"facts": int64(totals.Facts), "turns": int64(totals.Turns)}
	return err
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

// addFile adds a file, if it is there.
func addFile(w *backup.Writer, name, path string) error {
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
