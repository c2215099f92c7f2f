package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"modernc.org/sqlite"

	"github.com/loci-memory/loci/memory"
)

// snapshotPages is the number of pages, 8 MiB in all, that are copied between two checks of ctx.
const snapshotPages = 2048

// Snapshot is a consistent view of the database file, while reads and writes continue. While it is
// open, SQLite's log grows, and erasures wait, so that no copy contains text reported as erased.
type Snapshot struct {
	db      *sql.DB
	conn    *sql.Conn
	endCopy func()
}

// Snapshot returns a snapshot with every acknowledged commit. The caller must close it. With PostgreSQL
// it returns [memory.Invalid].
func (s *Store) Snapshot(ctx context.Context) (_ *Snapshot, err error) {
	w, ok := s.committer.(*writer)
	if !ok {
		return nil, memory.Errorf(memory.Invalid, "use the server's own tools to copy its database")
	}
	select {
	case w.copyToken <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p := &Snapshot{endCopy: func() { <-w.copyToken }}
	defer func() {
		if err != nil {
			err = errors.Join(explainSQLite(err), p.Close())
		}
	}()
	if p.db, err = sql.Open("sqlite", dsn(s.path, fmt.Sprintf("_pragma=cache_size(-%d)&_pragma=query_only(1)", writeCache))); err != nil {
		return nil, err
	}
	if p.conn, err = p.db.Conn(ctx); err != nil {
		return nil, err
	}
	if _, err := p.conn.ExecContext(ctx, `BEGIN`); err != nil {
		return nil, err
	}
	var tables int // the first read of the transaction takes the snapshot
	return p, p.conn.QueryRowContext(ctx, `SELECT COUNT(*) FROM sqlite_schema`).Scan(&tables)
}

// Close releases the snapshot.
func (p *Snapshot) Close() error {
	defer p.endCopy()
	var errs []error
	if p.conn != nil {
		_, err := p.conn.ExecContext(context.Background(), `ROLLBACK`)
		errs = append(errs, err, p.conn.Close())
	}
	if p.db != nil {
		errs = append(errs, p.db.Close())
	}
	return errors.Join(errs...)
}

// Schema returns the schema version of the database.
func (p *Snapshot) Schema(ctx context.Context) (int64, error) { return schemaVersion(ctx, p.conn) }

func schemaVersion(ctx context.Context, conn *sql.Conn) (version int64, err error) {
	err = conn.QueryRowContext(ctx, `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&version)
	return version, wrap("read the schema's version", err)
}

// kindTables lists the kinds that [Snapshot.Counts] counts, and their tables.
var kindTables = []struct{ kind, table string }{
	{"users", "owners"}, {"facts", "facts"}, {"turns", "turns"}, {"conversations", "conversations"}, {"summaries", "summaries"},
	{"profile", "profile"}, {"relations", "relations"}, {"contexts", "contexts"}, {"changes", "journal"}, {"jobs", "jobs"},
}

// Counts returns the number of rows of each kind, with any status.
func (p *Snapshot) Counts(ctx context.Context) (map[string]int64, error) {
	out := map[string]int64{}
	for _, c := range kindTables {
		var n int64
		if err := p.conn.QueryRowContext(ctx, `SELECT COUNT(*) FROM `+c.table).Scan(&n); err != nil {
			return nil, fmt.Errorf("count %s: %w", c.table, explainSQLite(err))
		}
		out[c.kind] = n
	}
	return out, nil
}

// CopyTo writes the database into a new file with mode 0600, which SQLite checks. The file is durable
// when CopyTo returns nil.
func (p *Snapshot) CopyTo(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := p.conn.Raw(func(c any) error { return copyPages(ctx, c, path) }); err != nil {
		return fmt.Errorf("copy the database: %w", explainSQLite(err))
	}
	if err := p.finishCopy(ctx, path); err != nil {
		return fmt.Errorf("check the copy of the database: %w", explainSQLite(err))
	}
	if f, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func copyPages(ctx context.Context, driverConn any, path string) (err error) {
	conn, ok := driverConn.(interface {
		NewBackup(to string) (*sqlite.Backup, error)
	})
	if !ok {
		return errors.New("the driver does not support backups")
	}
	b, err := conn.NewBackup(dsn(path, "_pragma=synchronous(off)"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Finish()) }()
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if more, err = b.Step(snapshotPages); err != nil {
			return err
		}
	}
	return nil
}

// finishCopy makes the copy a single file without a log, removes erased text from free pages, and
// checks the copy.
func (p *Snapshot) finishCopy(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", dsn(path, "_pragma=synchronous(off)"))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	defer db.Close() //nolint:errcheck // CopyTo syncs the file afterwards
	var mode, found string
	var marked int
	if err := db.QueryRowContext(ctx, `PRAGMA journal_mode = delete`).Scan(&mode); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&marked); err != nil {
		return err
	}
	if marked != 0 {
		for _, s := range []string{`VACUUM`, clearVacuumFlag} {
			if _, err := db.ExecContext(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
	}
	if err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return memory.Errorf(memory.Unavailable, "the database is damaged: %s", found)
	}
	return nil
}

// CheckFile returns an error unless a file is a Loci database that this program can open or migrate.
// It does not change the file, which no other process may have open.
func CheckFile(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", dsn(path, "immutable=1&mode=ro&_pragma=query_only(1)"))
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // a read-only connection
	conn, err := db.Conn(ctx)
	if err != nil {
		return explainSQLite(err)
	}
	defer conn.Close() //nolint:errcheck // a read-only connection
	var id int
	if err := conn.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&id); err != nil {
		return explainSQLite(err)
	}
	if id != applicationID {
		return memory.Errorf(memory.Invalid, "the file is a database of another program")
	}
	schema, err := schemaVersion(ctx, conn)
	if err != nil {
		return explainSQLite(err)
	}
	if schema > SQLiteSchema {
		return memory.Errorf(memory.Unavailable, "its schema has version %d, but this program supports versions up to %d: use a newer loci", schema, SQLiteSchema)
	}
	return nil
}
