package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/loci-memory/loci/memory"
)

// tx is a transaction as one call sees it; several calls may share a transaction.
type tx struct {
	ctx     context.Context
	session *session
	now     func() (time.Time, error) // the store's clock

	unsentStatements []statement   // statements not yet sent to the server
	isBeginUnsent    bool          // unsentStatements contains BEGIN, so the transaction has not begun
	lockedOwner      *ownerVersion // owner whose row the transaction has locked, and the version; nil if no row is locked
	changedKeys      []memoryKey   // memories that the call wrote
	erasesText       bool          // the call erases text, so that other stores must be notified
	hasQueuedJob     bool          // the call queued a job
	needsVacuum      bool          // the call erased text, so the file must be rewritten
}

// ownerVersion is an owner's version and the time of the owner's last write.
type ownerVersion struct {
	owner     memory.Owner
	version   int64
	lastWrite time.Time
}

func (t *tx) currentTime() (time.Time, error) {
	if err := t.ensureBegun(); err != nil {
		return time.Time{}, err
	}
	now, err := t.now()
	return memory.Time(now), err
}

// readOwnerVersion returns an owner's version and the time of the last write, both zero before the
// first write.
func (t *tx) readOwnerVersion(owner memory.Owner) (ownerVersion, error) {
	if t.lockedOwner != nil && t.lockedOwner.owner == owner {
		err := t.ensureBegun()
		return *t.lockedOwner, err
	}
	h := ownerVersion{owner: owner}
	err := t.queryRow(`SELECT version, clock FROM owners WHERE owner = ?`, []any{owner}, &h.version, timeColumn{&h.lastWrite})
	if isNoRows(err) {
		err = nil
	}
	return h, wrap("read the owner's version", err)
}

// exec runs a statement. Statements are cached by their text, so pass values as args. With PostgreSQL
// the statement is sent with the next query or COMMIT, which then returns its error.
func (t *tx) exec(query string, args ...any) error {
	if t.session.translator != nil {
		t.unsentStatements = append(t.unsentStatements, newExecStatement(query, args...))
		return nil
	}
	_, err := t.session.exec(t.ctx, query, args...)
	return err
}

// runBatch runs the unsent statements and then statements, with PostgreSQL in one round trip.
func (t *tx) runBatch(statements ...statement) error {
	statements = append(t.unsentStatements, statements...)
	t.unsentStatements, t.isBeginUnsent = nil, false
	if len(statements) == 0 {
		return nil
	}
	return t.session.runBatch(t.ctx, statements...)
}

// ensureBegun sends BEGIN to PostgreSQL, unless a query has sent it already.
func (t *tx) ensureBegun() error {
	if !t.isBeginUnsent {
		return nil
	}
	return t.runBatch()
}

// execCount runs a statement at once and returns the number of changed rows.
func (t *tx) execCount(query string, args ...any) (int64, error) {
	if err := t.runBatch(); err != nil {
		return 0, err
	}
	done, err := t.session.exec(t.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

// query runs a statement that returns rows. Close the rows before the next statement.
func (t *tx) query(query string, args ...any) (rows, error) {
	if err := t.runBatch(); err != nil {
		return rows{}, err
	}
	return t.session.query(t.ctx, query, args...)
}

// queryRow scans the first row of a query into dest, or returns [sql.ErrNoRows].
func (t *tx) queryRow(query string, args []any, dest ...any) error {
	found := false
	err := t.runBatch(statement{query, args, func(row scanner) error {
		if found {
			return nil
		}
		found = true
		return row.Scan(dest...)
	}})
	if err == nil && !found {
		err = sql.ErrNoRows
	}
	return err
}
