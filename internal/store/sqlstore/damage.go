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

// maxFaults limits the faults in a report: a torn file has thousands.
const maxFaults = 20

// damage records that the database file is damaged. From then on every write is refused: a write
// might spread the damage, and would be lost when a backup is restored.
type damage struct {
	path  string
	log   *slog.Logger // nil: no log
	found atomic.Bool
}

// unreadable is the error of a row with invalid values. It names columns and never quotes values,
// which may contain a user's text.
type unreadable struct{ what string }

func (u *unreadable) Error() string { return "a row cannot be read: " + u.what }

// errDamaged is the error for callers. It has no path, since anybody may query the health.
func errDamaged() error {
	return memory.Errorf(memory.Unavailable, "the database is damaged, so Loci writes nothing; loci doctor shows the damage; stop Loci and restore a backup: loci restore FILE --replace")
}

// err returns nil while no damage is recorded, and for a nil damage.
func (d *damage) err() error {
	if d == nil || !d.found.Load() {
		return nil
	}
	return errDamaged()
}

// note records err if it means damage, and returns the error for callers. Other errors are returned
// unchanged.
func (d *damage) note(err error) error {
	if d == nil || !meansDamage(err) {
		return err
	}
	d.report(err.Error())
	return errDamaged()
}

// report records and logs a fault, if it is the first.
func (d *damage) report(fault string) {
	if !d.found.Swap(true) && d.log != nil {
		d.log.Error("the database is damaged: Loci writes nothing until you restore a backup", "file", d.path, "fault", fault)
	}
}

func meansDamage(err error) bool {
	var row *unreadable
	if errors.As(err, &row) {
		return true
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	code := e.Code() & 0xff // the other bits are details
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// Size returns the file's size in bytes, 0 for a server's database.
func (s *Store) Size() int64 { return fileSize(s.path) }

// Check reads the whole file and returns at most maxFaults lines about faults: damaged pages, rows
// missing in an index and the reverse, unreadable rows. A large database takes seconds; reads and
// writes continue. A PostgreSQL server checks its database itself.
func (s *Store) Check(ctx context.Context) ([]string, error) {
	if s.damage == nil {
		return nil, nil
	}
	db, err := sql.Open("sqlite", dsn(s.path, fmt.Sprintf("_pragma=cache_size(-%d)&_pragma=query_only(1)", writeCache)))
	if err != nil {
		return nil, err
	}
	defer db.Close() //nolint:errcheck // the connection only read
	faults, err := faultsOf(ctx, db)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if meansDamage(err) {
		faults, err = append(faults, err.Error()), nil
	}
	if len(faults) > 0 {
		s.damage.report(faults[0])
	}
	return faults, wrap("check the database", err)
}

func faultsOf(ctx context.Context, db *sql.DB) ([]string, error) {
	found, err := db.QueryContext(ctx, fmt.Sprintf(`PRAGMA integrity_check(%d)`, maxFaults))
	faults, err := collect(rows{Rows: found}, err, scanText[string])
	if err != nil || len(faults) != 1 || faults[0] != "ok" {
		return faults, err
	}
	for _, from := range []source{facts, links, turns, summaries} {
		found, err := db.QueryContext(ctx, `SELECT `+from.columns+` FROM `+from.table)
		if err := eachRow(rows{Rows: found}, err, func(row scanner) error { _, err := from.scan("", row); return err }); err != nil {
			return nil, fmt.Errorf("%s: %w", from.table, err)
		}
	}
	return nil, nil
}

// asUnreadable turns a scan error ("sql: Scan error on column index 6, name "tags": …") into an
// unreadable error, without the row's values.
func asUnreadable(err error) error {
	what, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "sql: "), ": ")
	return &unreadable{what}
}
