package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/loci-memory/loci/internal/filelock"
	"github.com/loci-memory/loci/memory"
)

const (
	// busyTimeout is longer than a backup or checkpoint by another process takes.
	busyTimeout = 10 * time.Second
	// The number of connections for reads and for Since. Each connection has its own page cache.
	readConns, sinceConns = 8, 4
	// The size of the page cache of a reading and of the writing connection in KiB. Both are small, since
	// the operating system also caches the file; the larger one must hold a large transaction.
	readCache, writeCache = 320, 2000
	// applicationID is the application_id of Loci's databases; the first migration sets it.
	applicationID = 1282368361
	// hashIndexHint makes a query of active or pending facts use the index on hashes: without statistics,
	// SQLite may choose the index on statuses.
	hashIndexHint = " INDEXED BY facts_live"
)

// OpenSQLite opens the database in a file. It creates a missing file and folder with access for their
// owner only. It refuses, and does not change, a file of another program or a newer release, a damaged
// file and, with [memory.Conflict], a file that another process has open.
func OpenSQLite(ctx context.Context, path string, o Options) (*Store, error) {
	s, err := openSQLite(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("open the database %s: %w", path, err)
	}
	return s, nil
}

func openSQLite(ctx context.Context, path string, o Options) (_ *Store, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	s := &Store{
		cache: &memoryCache{}, path: path, damage: &damage{path: path, log: o.Log}, traceBytes: o.TraceBytes,
	}
	if s.unlockFile, err = filelock.Lock(path+".lock", "has it open; only one process may write"); err != nil {
		return nil, err
	}
	if err := s.connect(ctx, path, o); err != nil {
		return nil, errors.Join(err, s.unlockFile())
	}
	return s, nil
}

func (s *Store) connect(ctx context.Context, path string, o Options) error {
	hadData := !o.AllowEmpty && fileSize(path+markerSuffix) > 0
	if hadData && fileSize(path) == 0 {
		return lostDatabaseError(path)
	}
	// SQLite would create the file with the umask's mode. It gives its log the mode of the file.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	// Temporary data stays in memory: it is for savepoints, which are useless after a crash.
	db, err := sql.Open("sqlite", dsn(path, fmt.Sprintf("_pragma=cache_size(-%d)&_pragma=synchronous(full)&_pragma=temp_store(memory)&_pragma=secure_delete(1)", writeCache)))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	if err := prepareSQLite(ctx, db, path, hadData, o.Log); err != nil {
		return errors.Join(explainSQLite(err), db.Close())
	}
	w, err := startWriter(ctx, db, path, o, s.cache, s.damage)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	s.committer = w
	for _, pool := range []struct {
		to    **reader
		conns int
	}{{&s.reader, readConns}, {&s.sinceReader, sinceConns}} {
		db, err := sql.Open("sqlite", dsn(path, fmt.Sprintf("_pragma=cache_size(-%d)&_pragma=query_only(1)", readCache)))
		if err != nil {
			return err
		}
		*pool.to = newReader(db, pool.conns, nil)
		(*pool.to).damage = s.damage
	}
	w.reader = s.reader
	if s.pingDB, err = sql.Open("sqlite", dsn(path, "_pragma=query_only(1)")); err == nil {
		s.pingDB.SetMaxOpenConns(1)
	}
	return err
}

// dsn returns a connection string. It escapes the path, so that no part of the path becomes an option.
func dsn(path, options string) string {
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path)}
	return fmt.Sprintf("%s?_pragma=busy_timeout(%d)&%s", u.String(), busyTimeout.Milliseconds(), options)
}

// prepareSQLite checks that the database is empty or a Loci database, and updates its schema. If hadData
// is set, an empty database is an error.
func prepareSQLite(ctx context.Context, db *sql.DB, path string, hadData bool, log *slog.Logger) error {
	var id, tables int
	if err := db.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&id); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM sqlite_schema WHERE name NOT LIKE 'goose_%' AND name NOT LIKE 'sqlite_%'`).Scan(&tables); err != nil {
		return err
	}
	if id != applicationID && (id != 0 || tables > 0) {
		return memory.Errorf(memory.Invalid, "the file is a database of another program")
	}
	if hadData && tables == 0 {
		return lostDatabaseError(path)
	}
	// Set the journal mode after the checks, since this changes the file.
	if _, err := db.ExecContext(ctx, `PRAGMA journal_mode = wal`); err != nil {
		return err
	}
	if err := migrate(ctx, db, goose.DialectSQLite3, "sqlite", SQLiteSchema, log); err != nil {
		return err
	}
	return writeMarker(path)
}

// markerSuffix is the suffix of a marker file that the first start creates next to the database. If the
// database is missing or empty at a later start, the marker shows that the database was lost.
const markerSuffix = ".made"

const markerText = `Loci created a database here, loci.db. If the database is missing or empty, Loci does not start:
restore a backup, or delete this file to begin with an empty memory.
`

func writeMarker(path string) error {
	if fileSize(path+markerSuffix) > 0 {
		return nil
	}
	return os.WriteFile(path+markerSuffix, []byte(markerText), 0o600)
}

// fileSize returns a file's size, 0 if it is missing.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func lostDatabaseError(path string) error {
	return memory.Errorf(memory.Unavailable, "the database file is missing or empty, but had data before: restore a backup with loci restore FILE --replace; "+
		"to begin with an empty memory, delete %s", path+markerSuffix)
}

// explainSQLite returns an error for err that describes the failure of the file or disk, and the remedy.
func explainSQLite(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff { // the low byte is the primary result code
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return memory.Errorf(memory.Unavailable, "the file is damaged or not a database; nothing was changed: move the file away or restore a backup: %w", err)
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN:
		return memory.Errorf(memory.Unavailable, "the database cannot be written; is the disk full, or does another program use the file? %w", err)
	}
	return err
}
