package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/loci-memory/loci/memory"
)

// maxFaults limits the faults that Check returns; a truncated file has thousands.
const maxFaults = 20

// damage records that the database file is damaged. The store then refuses every write, since a write
// could spread the damage and would be lost when a backup is restored.
type damage struct {
	path     string
	log      *slog.Logger // nil disables the log
	detected atomic.Bool
}

// unreadableRowError reports a row with invalid values. The description names columns, but quotes no
// values, since values may contain a user's text.
type unreadableRowError struct{ description string }

func (u *unreadableRowError) Error() string { return "a row cannot be read: " + u.description }

// damagedError returns the error for callers, without the path, since the health check publishes it.
func damagedError() error {
	return memory.Errorf(memory.Unavailable, "the database is damaged, so Loci writes nothing; loci doctor shows the damage; stop Loci and restore a backup: loci restore FILE --replace")
}

// err returns an error if damage is recorded. A nil damage has no error.
func (d *damage) err() error {
	if d == nil || !d.detected.Load() {
		return nil
	}
	return damagedError()
}

// recordError records err if it means damage, and returns the error for callers. It returns other
// errors unchanged.
func (d *damage) recordError(err error) error {
	if d == nil || !isDamage(err) {
		return err
	}
	d.report(err.Error())
	return damagedError()
}

// report records and logs the first fault, and ignores later faults.
func (d *damage) report(fault string) {
	if !d.detected.Swap(true) && d.log != nil {
		d.log.Error("the database is damaged: Loci writes nothing until you restore a backup", "file", d.path, "fault", fault)
	}
}

func isDamage(err error) bool {
	var row *unreadableRowError
	if errors.As(err, &row) {
		return true
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	code := e.Code() & 0xff // the low byte is the primary result code
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// Size returns the size of the SQLite file in bytes, 0 with PostgreSQL.
func (s *Store) Size() int64 { return fileSize(s.path) }

// Check reads the whole SQLite file and describes at most maxFaults faults: damaged pages, rows
// without an index entry, index entries without a row, unreadable rows. A large database takes seconds;
// reads and writes continue. With PostgreSQL it returns nil.
func (s *Store) Check(ctx context.Context) ([]string, error) {
	if s.damage == nil {
		return nil, nil
	}
	db, err := sql.Open("sqlite", dsn(s.path, fmt.Sprintf("_pragma=cache_size(-%d)&_pragma=query_only(1)", writeCache)))
	if err != nil {
		return nil, err
	}
	defer db.Close() //nolint:errcheck // a read-only connection
	faults, err := findFaults(ctx, db)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if isDamage(err) {
		faults, err = append(faults, err.Error()), nil
	}
	if len(faults) > 0 {
		s.damage.report(faults[0])
	}
	return faults, wrap("check the database", err)
}

func findFaults(ctx context.Context, db *sql.DB) ([]string, error) {
	found, err := db.QueryContext(ctx, fmt.Sprintf(`PRAGMA integrity_check(%d)`, maxFaults))
	faults, err := collect(rows{Rows: found}, err, scanText[string])
	if err != nil || len(faults) != 1 || faults[0] != "ok" {
		return faults, err
	}
	for _, from := range []memoryTable{facts, links, turns, summaries} {
		found, err := db.QueryContext(ctx, `SELECT `+from.columns+` FROM `+from.name)
		if err := eachRow(rows{Rows: found}, err, func(row scanner) error { _, err := from.scan("", row); return err }); err != nil {
			return nil, fmt.Errorf("%s: %w", from.name, err)
		}
	}
	return nil, nil
}

// newUnreadableRowError removes the row's values from a scan error, such as
// `sql: Scan error on column index 6, name "tags": …`.
func newUnreadableRowError(err error) error {
	what, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "sql: "), ": ")
	return &unreadableRowError{what}
}
