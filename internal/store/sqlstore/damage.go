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

// maxFaults bounds the faults in a report: a torn file has thousands.
const maxFaults = 20

// damage records that the database file is damaged. Nothing is written from then on: a write might
// spread the damage, and a restored backup would lack it.
type damage struct {
	path  string
	log   *slog.Logger // nil: none
	found atomic.Bool
}

// unreadable is the error of a row with invalid values. It names columns and never quotes values,
// which may be a user's text.
type unreadable struct{ what string }

func (u *unreadable) Error() string { return "a row cannot be read: " + u.what }

// errDamaged is the error for callers. It names no path, since anybody may ask for the health.
func errDamaged() error {
	return memory.Errorf(memory.Unavailable, "the database is damaged, so nothing is written; loci doctor says where; stop Loci and restore a backup: loci restore FILE --replace")
}

// err is nil while no damage is recorded. A nil damage never has any.
func (d *damage) err() error {
	if d == nil || !d.found.Load() {
		return nil
	}
	return errDamaged()
}

// note records an error that means damage and returns the error for callers; other errors are
// returned unchanged.
func (d *damage) note(err error) error {
	if d == nil || !meansDamage(err) {
		return err
	}
	d.report(err.Error())
	return errDamaged()
}

// report records and logs the first fault.
func (d *damage) report(fault string) {
	if !d.found.Swap(true) && d.log != nil {
		d.log.Error("the database is damaged: nothing is written any more; restore a backup", "file", d.path, "fault", fault)
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
	code := e.Code() & 0xff // the rest is detail
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// Size returns the file's size in bytes, 0 for a server's database.
func (s *Store) Size() int64 { return fileSize(s.path) }

// Check reads the whole file and returns its faults, at most maxFaults lines: damaged pages, rows
// missing in an index and the reverse, and unreadable rows. It takes seconds for a large database,
// without blocking reads and writes. A server checks its database itself.
func (s *Store) Check(ctx context.Context) ([]string, error) {
	if s.damage == nil {
		return nil, nil
	}
	db, err := sql.Open("sqlite", dsn(s.path, fmt.Sprintf("_pragma=cache_size(-%d)&_pragma=query_only(1)", writeCache)))
	if err != nil {
		return nil, err
	}
	defer db.Close() //nolint:errcheck // it was only read
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

// asUnreadable turns the error of a scan into one of the row, without its values: "sql: Scan error
// on column index 6, name "tags": …".
func asUnreadable(err error) error {
	what, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "sql: "), ": ")
	return &unreadable{what}
}
