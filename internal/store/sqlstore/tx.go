package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/loci-memory/loci/memory"
)

// tx is a transaction as one call sees it.
type tx struct {
	ctx     context.Context
	session *session
	now     func() (time.Time, error) // the store's clock

	locked  *head        // of the owner that the transaction is for; nil: see the database
	headOf  memory.Owner // who was written for; "" for nobody
	head    int64        // the version since
	changed []string     // ids of memories that were written
	queued  []func(*due) // what was done to the queue
	raised  bool         // whether the version is another than before
	said    []said       // turns that were added
	only    bool         // and nothing else was written that recall may see
}

// head is an owner's version and the time of the last write.
type head struct {
	owner   memory.Owner
	version int64
	clock   time.Time
}

// time is the store's clock.
func (t *tx) time() (time.Time, error) {
	now, err := t.now()
	return memory.Time(now), err
}

// owner reads an owner's version and clock; both are zero for one never written.
func (t *tx) owner(owner memory.Owner) (head, error) {
	if t.locked != nil && t.locked.owner == owner {
		return *t.locked, nil
	}
	h := head{owner: owner}
	err := t.row(`SELECT version, clock FROM owners WHERE owner = ?`, []any{owner}, &h.version, asTime{&h.clock})
	if noRows(err) {
		err = nil
	}
	return h, wrap("read the owner's version", err)
}

// queue notes what the call does to the queue, should it be committed.
func (t *tx) queue(step func(*due)) { t.queued = append(t.queued, step) }

// exec runs a statement. Statements are prepared once and kept, so query must be
// one of a few fixed texts.
func (t *tx) exec(query string, args ...any) (sql.Result, error) {
	return t.session.exec(t.ctx, query, args...)
}

// query is exec for rows; they must be closed before the next statement.
func (t *tx) query(query string, args ...any) (rows, error) {
	return t.session.query(t.ctx, query, args...)
}

// row is a query for one row, which runs when it is scanned.
type row struct {
	tx    *tx
	query string
	args  []any
}

func (r row) Scan(into ...any) error { return r.tx.row(r.query, r.args, into...) }

// row scans the one row of a query; [sql.ErrNoRows] without one.
func (t *tx) row(query string, args []any, into ...any) error {
	found, err := t.query(query, args...)
	return only(found, err, into...)
}
